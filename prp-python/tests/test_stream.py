import contextlib
import errno
import http.client
import http.server
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


def test_files_outlive_the_stream(pair):
    client, server = pair
    first, second = client.makefile("rb"), client.makefile("wb", buffering=0)
    client.close()
    assert client.closed
    server.sendall(b"line\n")
    assert first.readline() == b"line\n"
    first.close()
    first.close()
    second.write(b"answer")
    assert server.recv(6) == b"answer"
    second.close()
    assert server.recv(1) == b"" and client.fileno() == -1
    # One that nothing refers to any more is closed.
    with server.makefile("rb"):
        server.makefile("rb")
        server.close()
        assert server.fileno() >= 0
    assert server.fileno() == -1


def test_http(listener):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            # Without a length the response ends with the connection, which http.client closes
            # before it reads.
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.path.encode() * 10_000)

        def log_message(self, *_words):
            pass

    def serve():
        stream, peer = listener.accept()
        with stream:
            Handler(stream, peer, None)

    class Connection(http.client.HTTPConnection):
        def connect(self):
            self.sock = parmaprp.connect(listener.getsockname())

    thread = threading.Thread(target=serve)
    thread.start()
    connection = Connection("self")
    connection.request("GET", "/path")
    response = connection.getresponse()
    assert response.status == 200 and connection.sock is None
    assert response.read() == b"/path" * 10_000
    thread.join()


def test_timeouts(pair, listener):
    client, _server = pair
    assert client.gettimeout() is None and client.getblocking()
    assert listener.timeout is None and listener.getblocking()
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
    assert listener.timeout == 0.02 and listener.getblocking()
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert listener.timeout == 0 and not listener.getblocking()


@pytest.mark.parametrize("options", [{"timeout": 0}, {"blocking": False}])
def test_connect_that_does_not_wait(listener, options):
    with parmaprp.connect("silent:80", **options) as stream:
        assert not stream.getblocking() and stream.take_error() is None
        assert parmaprp.select([], [stream], 0) == ([], [])
    with parmaprp.connect("self:1", **options) as stream:
        parmaprp.select([], [stream])
        assert isinstance(stream.take_error(), ConnectionRefusedError)
    with parmaprp.connect(listener.getsockname(), **options) as stream:
        parmaprp.select([], [stream])
        assert stream.take_error() is None and stream.send(b"x") == 1


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


def test_message_that_is_reset(pair):
    client, server = pair
    client.setblocking(False)
    message = bytes(range(256)) * 48 * 1024
    assert 0 < client.send_message(message) < len(message)
    client.abort()
    room = bytearray(len(message))
    with pytest.raises(ConnectionResetError):
        server.recv_message_into(room)
    # What has come before it stays.
    size, is_whole = server.recv_message_into(room)
    assert (is_whole, room[:size]) == (False, message[:size]) and size > 0
    assert server.recv_message_into(room) is None


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


def test_peers_of_1997_and_routers(pair, listener):
    client, _server = pair
    with parmaprp.connect(listener.getsockname(), classic="allow") as stream:
        assert stream.terms()["reliability"] == "selective-repeat"
    # The listener refuses those.
    with pytest.raises(OSError):
        parmaprp.connect(listener.getsockname(), classic="only", timeout=0.05)
    with pytest.raises(ValueError):
        parmaprp.connect("self:1", classic="yes")
    client.set_ttl(3)
    assert client.ttl() == 3
    with pytest.raises(OSError) as raised:
        client.set_ttl(0)
    assert raised.value.errno == errno.EINVAL


def test_nodes(tmp_path):
    nodes = {node["node"]: node for node in parmaprp.hosts.nodes()}
    assert nodes[1]["names"] == ["alpha"] and "udp" in nodes[1]["routes"][0]
    path = tmp_path / "prphosts"
    path.write_text("1 unix:/tmp/nodes alpha\n")
    routes = parmaprp.hosts.nodes(path)[0]["routes"]
    assert routes[0]["unix"] == "/tmp/nodes" and "metric" in routes[0]
    assert parmaprp.resolve("beta:7") == (2, 7) == parmaprp.resolve((2, 7))


def test_select(pair, listener):
    client, server = pair
    assert parmaprp.select([server, listener], [], 0) == ([], [])
    assert parmaprp.select([], [client], 0) == ([], [client])
    client.send(b"x")
    assert parmaprp.select([server, listener], [client], None)[1] == [client]
    readable, _ = parmaprp.select([listener, server], [])
    assert readable == [server]
