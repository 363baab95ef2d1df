import contextlib
import errno
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import parmaprp


def test_bytes_and_ends(pair):
    client, server = pair
    client.sendall(b"hello")
    assert server.recv(100) == b"hello"
    client.shutdown(parmaprp.SHUT_WR)
    assert server.recv(100) == b""
    with pytest.raises(BrokenPipeError) as raised:
        client.send(b"x")
    assert raised.value.errno == errno.EPIPE


def test_buffers_are_filled_in_place(pair):
    client, server = pair
    numpy = pytest.importorskip("numpy")
    sent = numpy.arange(300_000, dtype=numpy.float64)
    received = numpy.zeros_like(sent)
    thread = threading.Thread(target=client.sendall, args=(sent,))
    thread.start()
    view = memoryview(received).cast("B")
    while len(view):
        view = view[server.recv_into(view) :]
    thread.join()
    assert (received == sent).all()
    with pytest.raises((BufferError, ValueError)):
        client.send(sent[::2])
    with pytest.raises((BufferError, TypeError)):
        server.recv_into(b"constant")
    with pytest.raises(ValueError):
        server.recv_into(bytearray(1), 2)


def test_recv_has_what_came_and_no_more(pair):
    client, server = pair
    for size in (0, 1, 10, 4096):
        client.sendall(bytes(range(256)) * 16)
        got = b""
        while len(got) < 4096:
            piece = server.recv(max(size, 1))
            assert 0 < len(piece) <= max(size, 1)
            got += piece
        assert got == bytes(range(256)) * 16
    client.send(b"ab")
    assert server.recv(1, socket.MSG_PEEK) == b"a"
    assert server.recv(0) == b""
    assert server.recv(5) == b"ab"


def test_messages(pair):
    client, server = pair
    for message in (b"", b"one", bytes(200_000)):
        thread = threading.Thread(target=client.send_message, args=(message,))
        thread.start()
        assert server.recv_message() == message
        thread.join()
    client.send_message(b"abcdef")
    room = bytearray(4)
    assert server.recv_message_into(room) == (4, False) and room == b"abcd"
    size, end = server.recv_message_into(room)
    assert room[:size] == b"ef" and (end or server.recv_message_into(room) == (0, True))
    client.shutdown(parmaprp.SHUT_WR)
    assert server.recv_message() is None


MESSAGE = bytes(range(251)) * 40_000


def test_message_of_streams_that_do_not_wait(pair):
    client, server = pair
    client.setblocking(False)
    server.setblocking(False)
    taken = client.send_message(MESSAGE)
    assert 0 < taken < len(MESSAGE)
    received = None
    while received is None:
        if taken < len(MESSAGE):
            with contextlib.suppress(BlockingIOError):
                taken += client.send_message(memoryview(MESSAGE)[taken:])
        with contextlib.suppress(BlockingIOError):
            received = server.recv_message()
    assert received == MESSAGE


@pytest.mark.parametrize("how", ["recv", "recv_into", "recv_message_into"])
def test_what_has_come_of_a_message_is_kept(pair, how):
    client, server = pair
    client.setblocking(False)
    taken = client.send_message(MESSAGE)
    server.settimeout(0.02)
    with pytest.raises(TimeoutError) as raised:
        server.recv_message()
    assert raised.value.errno == errno.ETIMEDOUT
    room = memoryview(bytearray(taken))
    filled = 0
    while filled < taken:
        if how == "recv":
            assert server.recv(10, socket.MSG_PEEK) == MESSAGE[filled : filled + 10]
            piece = server.recv(taken - filled)
            room[filled : filled + len(piece)] = piece
            filled += len(piece)
        elif how == "recv_into":
            filled += server.recv_into(room[filled:])
        else:
            size, end = server.recv_message_into(room[filled:])
            assert not end
            filled += size
    assert room == MESSAGE[:taken]


@pytest.mark.parametrize("accepted", [True, False])
def test_messages_that_fail(accepted):
    with parmaprp.Listener("self:0", max_message=8192) as listener:
        client = parmaprp.connect(listener.getsockname(), max_message=8192)
        server, _ = listener.accept()
        if not accepted:
            client, server = server, client
        with client, server:
            client.send_message(bytes(8192))
            assert server.recv_message() == bytes(8192)
            client.send_message(bytes(8193))
            with pytest.raises(OSError) as raised:
                server.recv_message()
            assert raised.value.errno == errno.EMSGSIZE
            assert server.recv_message() == bytes(1)
            client.setblocking(False)
            assert client.send_message(MESSAGE) < len(MESSAGE)
            client.shutdown(parmaprp.SHUT_WR)
            room = bytearray(1 << 20)
            while server.recv_message_into(room)[0] == len(room):
                pass
            assert server.recv_message() is None


def test_end_of_the_stream_within_a_message(pair):
    client, server = pair
    client.setblocking(False)
    assert client.send_message(MESSAGE) < len(MESSAGE)
    client.shutdown(parmaprp.SHUT_WR)
    with pytest.raises(OSError) as raised:
        server.recv_message()
    assert raised.value.errno == errno.ENODATA
    assert server.recv_message() is None


def test_pickles_go_by_their_buffers(pair):
    client, server = pair
    numpy = pytest.importorskip("numpy")
    sent = numpy.arange(1000.0)
    buffers = []
    client.send_message(pickle.dumps(sent, protocol=5, buffer_callback=buffers.append))
    assert client.sendmsg([buffer.raw() for buffer in buffers]) == sent.nbytes
    head = server.recv_message()
    assert len(head) < 1000
    room = bytearray(sent.nbytes)
    view = memoryview(room)
    while len(view):
        view = view[server.recv_into(view) :]
    received = pickle.loads(head, buffers=[room])
    assert (received == sent).all()
    assert numpy.shares_memory(received, numpy.frombuffer(room))


def test_buffers_are_let_go(pair):
    client, server = pair
    data, room = bytearray(1000), bytearray(1000)
    counts = sys.getrefcount(data), sys.getrefcount(room)
    for _ in range(100):
        client.sendall(data)
        client.sendmsg([data, data])
        client.send_message(data)
        left = 4000
        while left:
            left -= server.recv_into(room)
    server.setblocking(False)
    for call in (server.recv_into, server.recv_message_into):
        with pytest.raises(BlockingIOError):
            call(room)
    client.close()
    with pytest.raises(OSError):
        client.send(data)
    assert (sys.getrefcount(data), sys.getrefcount(room)) == counts
    # Not while something refers to their memory.
    data.extend(b"x")
    room.extend(b"x")


def test_descriptors_are_closed(listener):
    def one():
        client = parmaprp.connect(listener.getsockname())
        server, _ = listener.accept()
        with client, server:
            assert client.fileno() >= 0 and server.fileno() >= 0

    def count():
        return len(os.listdir("/proc/self/fd"))

    one()
    before, end = count(), time.monotonic() + 60
    for _ in range(20):
        one()
    while count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert count() <= before


def test_files(pair):
    client, server = pair
    with client.makefile("w", encoding="utf-8", newline="\n") as file:
        print("first", file=file)
        print("zweite Zeile: ä", file=file)
    client.shutdown(parmaprp.SHUT_WR)
    with server.makefile(encoding="utf-8") as file:
        assert file.readlines() == ["first\n", "zweite Zeile: ä\n"]
    server.sendall(b"raw")
    assert client.makefile("rb", buffering=0).read(3) == b"raw"


def test_timeouts(pair, listener):
    client, _server = pair
    assert client.gettimeout() is None and client.getblocking()
    client.settimeout(0.02)
    with pytest.raises(TimeoutError):
        client.recv(1)
    client.setblocking(False)
    with pytest.raises(BlockingIOError) as raised:
        client.recv(1)
    assert raised.value.errno == errno.EAGAIN and client.timeout == 0
    listener.settimeout(0.02)
    with pytest.raises(TimeoutError):
        listener.accept()
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_errors_are_those_of_os():
    with pytest.raises(ConnectionRefusedError) as raised:
        parmaprp.connect("self:1")
    assert raised.value.errno == errno.ECONNREFUSED and "self:1" in raised.value.strerror
    with pytest.raises(FileNotFoundError):
        parmaprp.connect("nowhere:80")
    with pytest.raises(OSError) as raised:
        parmaprp.connect("no address")
    assert raised.value.errno == errno.EINVAL
    with pytest.raises(TimeoutError) as raised:
        parmaprp.connect("silent:80", timeout=0.05)
    assert raised.value.errno == errno.ETIMEDOUT
    with pytest.raises(OSError) as raised:
        parmaprp.Listener("silent:80")
    assert raised.value.errno == errno.EADDRNOTAVAIL
    with pytest.raises(TypeError):
        parmaprp.connect("self:1", no_such_option=1)
    with pytest.raises(TypeError):
        parmaprp.connect(80)


def test_closed(pair, listener):
    client, server = pair
    client.close()
    client.close()
    assert client.closed and client.fileno() == -1 and "closed" in repr(client)
    for call in (lambda: client.recv(1), lambda: client.send(b"x"), client.getpeername):
        with pytest.raises(OSError) as raised:
            call()
        assert raised.value.errno == errno.EBADF
    assert server.recv(1) == b""
    server.abort()
    listener.close()
    with pytest.raises(OSError):
        listener.accept()


def test_options_and_counters(listener):
    with parmaprp.connect(
        listener.getsockname(), reliability="go-back-n", spin=0, keepalive=(5, 1, 3)
    ) as stream:
        assert stream.terms()["reliability"] == "go-back-n"
        assert stream.terms()["security"] == "off" and stream.terms()["key_id"] is None
        stream.sendall(b"hello")
        stream.wait_delivered()
        assert stream.stats()["bytes_sent"] == 5
        assert parmaprp.openmetrics().endswith("# EOF\n")


def test_nodes():
    nodes = {node["node"]: node for node in parmaprp.hosts.nodes()}
    assert nodes[1]["names"] == ["alpha"] and "udp" in nodes[1]["routes"][0]
    assert parmaprp.resolve("beta:7") == (2, 7) == parmaprp.resolve((2, 7))


def test_select(pair, listener):
    client, server = pair
    assert parmaprp.select([server, listener], [], 0) == ([], [])
    assert parmaprp.select([], [client], 0) == ([], [client])
    client.send(b"x")
    assert parmaprp.select([server, listener], [client], None)[1] == [client]
    readable, _ = parmaprp.select([listener, server], [])
    assert readable == [server]


def test_other_threads_run_while_one_waits(pair):
    client, server = pair
    received = []
    thread = threading.Thread(target=lambda: received.append(server.recv(5)))
    thread.start()
    # Would never come to it, if the thread waited with Python's lock.
    client.sendall(b"hello")
    thread.join(30)
    assert received == [b"hello"]


@pytest.mark.parametrize("call", ["accept", "recv", "connect", "select"])
def test_interrupted_by_a_signal(pair, listener, call):
    _client, server = pair
    calls = {
        "accept": listener.accept,
        "recv": lambda: server.recv(1),
        "connect": lambda: parmaprp.connect("silent:80"),
        "select": lambda: parmaprp.select([server], []),
    }

    class Stop(Exception):
        pass

    seen = []

    def handler(_number, _frame):
        seen.append(1)
        # The first ones return, and the call goes on.
        if len(seen) > 3:
            raise Stop

    previous = signal.signal(signal.SIGUSR1, handler)
    done = threading.Event()

    def interrupt():
        while not done.wait(0.01):
            os.kill(os.getpid(), signal.SIGUSR1)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(Stop):
            calls[call]()
    finally:
        done.set()
        thread.join()
        signal.signal(signal.SIGUSR1, previous)


def test_ctrl_c():
    # A background process of a shell ignores the signal, and so do its children.
    text = """
import signal, parmaprp
signal.signal(signal.SIGINT, signal.default_int_handler)
listener = parmaprp.Listener("self:0")
print("on", flush=True)
listener.accept()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"on\n"
    # Again and again: one that comes right before the call waits does not interrupt it.
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            pass
    assert b"KeyboardInterrupt" in process.stderr.read()


def test_interpreter_that_exits_delivers(listener, run):
    text = "import sys, parmaprp; s = parmaprp.connect(sys.argv[1]); s.sendall(bytes(2 << 20))"
    node, port = listener.getsockname()
    sizes = []

    def receive():
        stream, _ = listener.accept()
        size = 0
        while piece := stream.recv(1 << 16):
            size += len(piece)
        sizes.append(size)

    thread = threading.Thread(target=receive)
    thread.start()
    done = run(text, f"{node}:{port}")
    thread.join(30)
    assert (done.returncode, done.stderr, sizes) == (0, "", [2 << 20])


def test_fork(pair, listener):
    client, server = pair
    child = os.fork()
    if child == 0:
        status = 1
        try:
            client.send(b"x")
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                with parmaprp.connect(listener.getsockname()) as stream:
                    stream.sendall(b"child")
                    stream.wait_delivered()
                status = 0
        finally:
            os._exit(status)
    stream, _ = listener.accept()
    assert stream.recv(5) == b"child"
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    client.send(b"parent")
    assert server.recv(6) == b"parent"


def test_subinterpreters_work_or_are_refused(run):
    text = """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    sys.exit(5)
import parmaprp
one = interpreters.create()
try:
    interpreters.run_string(one, '''
import parmaprp
with parmaprp.Listener("self:0") as l, parmaprp.connect(l.getsockname()) as a, l.accept()[0] as b:
    a.sendall(b"x")
    assert b.recv(1) == b"x"
''')
except Exception as error:
    sys.exit(0 if "ImportError" in repr(error) + str(error) else 1)
"""
    code = run(text).returncode
    if code == 5:
        pytest.skip("this Python has no such module")
    assert code == 0
