"""A program of TCP that knows nothing of PRP: servers and clients for tests/tests/run.rs."""

import array
import asyncio
import ctypes
import errno
import os
import resource
import select
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import time

SIZE = 300_000


def pattern(size):
    return bytes(i * 7 % 251 for i in range(size))


def listening(listener):
    print("listening", listener.getsockname()[1], flush=True)


def take(connection, size):
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError(f"ended after {len(data)} of {size} bytes")
        data += part
    return bytes(data)


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)


def serve_forking(port):
    class Server(socketserver.ForkingTCPServer):
        allow_reuse_address = True
        request_queue_size = 128

    with Server(("", port), Echo) as server:
        listening(server.socket)
        server.serve_forever()


def serve_prefork(port):
    listener = socket.create_server(("", port), backlog=128)
    for _ in range(3):
        if os.fork() == 0:
            while True:
                connection, _ = listener.accept()
                connection.sendall(b"%d\n" % os.getpid())
                connection.close()
    listening(listener)
    signal.pause()


def serve_asyncio(port):
    async def echo(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def main():
        server = await asyncio.start_server(echo, None, port, backlog=256)
        listening(server.sockets[0])
        await server.serve_forever()

    asyncio.run(main())


def serve_exec(port):
    """As inetd: a program with the connection as its standard input and output."""
    listener = socket.create_server(("", port))
    listening(listener)
    while True:
        connection, _ = listener.accept()
        with connection:
            subprocess.Popen(["cat"], stdin=connection, stdout=connection)


def serve_passing(port):
    """Passes each connection to another process by SCM_RIGHTS."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        while True:
            _, ancillary, _, _ = theirs.recvmsg(1, socket.CMSG_SPACE(4))
            numbers = array.array("i", ancillary[0][2][:4])
            with socket.socket(fileno=numbers[0]) as passed:
                while data := passed.recv(65536):
                    passed.sendall(data)
    listener = socket.create_server(("", port))
    listening(listener)
    while True:
        connection, _ = listener.accept()
        rights = array.array("i", [connection.fileno()])
        ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        connection.close()


def serve_file(port):
    """Sends a file by sendfile(2), and ends its direction."""
    listener = socket.create_server(("", port))
    listening(listener)
    while True:
        connection, _ = listener.accept()
        with connection, tempfile.TemporaryFile() as file:
            file.write(pattern(SIZE))
            file.seek(0)
            connection.sendfile(file)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""


def serve_silent(port):
    """Accepts, tells the addresses of both ends, and says nothing more."""
    listener = socket.create_server(("", port))
    listening(listener)
    kept = []
    while True:
        connection, peer = listener.accept()
        assert connection.getpeername() == peer, (connection.getpeername(), peer)
        print("accepted", connection.getsockname()[0], peer[0], flush=True)
        kept.append(connection)


def serve_resetting(port):
    """Closes each connection with bytes unread, after sending some."""
    listener = socket.create_server(("", port))
    listening(listener)
    while True:
        connection, _ = listener.accept()
        connection.sendall(b"part")
        connection.recv(1, socket.MSG_PEEK)
        connection.close()


def serve_interrupted(port):
    """Accepts while signals come all the time."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    listener = socket.create_server(("", port), backlog=128)
    listening(listener)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while True:
        connection, _ = listener.accept()
        connection.sendall(b"once\n")
        connection.close()


def serve_shared(port):
    """Listens where others may as well."""
    listener = socket.create_server(("", port), reuse_port=True)
    listening(listener)
    while True:
        connection, _ = listener.accept()
        with connection:
            while data := connection.recv(65536):
                connection.sendall(data)


def serve_ordered(port):
    """Tells each connection how many it has accepted before."""
    listener = socket.create_server(("", port))
    listening(listener)
    accepted = []
    for number in range(60):
        accepted.append(listener.accept()[0])
        accepted[-1].sendall(b"%d\n" % number)
    for connection in accepted:
        connection.recv(1)


def serve_flooding(port):
    """Sends until there is no room, then says on another connection how much that was."""
    listener = socket.create_server(("", port))
    listening(listener)
    connection, _ = listener.accept()
    connection.setblocking(False)
    sent, data = 0, pattern(251 * 400)
    while select.select([], [connection], [], 0.5)[1]:
        sent += connection.send(data[sent % 251 :])
    other, _ = listener.accept()
    other.sendall(b"%d\n" % sent)
    connection.close()
    other.close()


def linger_of_zero(connection, is_on):
    value = struct.pack("ii", is_on, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, value)


def serve_lingering(port):
    """Closes a connection that has the option from its listener, and one that has it no more; tells
    how two others end."""
    listener = socket.create_server(("", port))
    linger_of_zero(listener, True)
    listening(listener)
    for number in range(4):
        connection, _ = listener.accept()
        if number > 0:
            linger_of_zero(connection, False)
        connection.sendall(b"x")
        assert take(connection, 1) == b"x"
        if number >= 2:
            # A reset may take the place of what has not been read.
            connection.sendall(b"y")
            tell_end(connection)
        connection.close()


def serve_slow(port):
    """Accepts nobody for 6 s, with room for one in its queue."""
    listener = socket.create_server(("", port), backlog=0)
    listening(listener)
    select.select([listener], [], [])
    time.sleep(6)
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"x")


def serve_late(port):
    """Listens after a signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    print("waiting", flush=True)
    signal.sigwait([signal.SIGUSR1])
    serve_silent(port)


def confine(numbers):
    """Has this process be killed for the system call with the number of this machine in numbers."""

    class Filter(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

    # The number of the call; kill for that one, and allow others.
    number = numbers[os.uname().machine]
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7FFF0000)]
    steps = b"".join(struct.pack("HBBI", *step) for step in steps)
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    kept = Filter(len(steps) // 8, ctypes.cast(ctypes.c_char_p(steps), ctypes.c_void_p))
    assert libc.prctl(22, 2, ctypes.byref(kept), 0, 0) == 0


def serve_confined(port):
    """Closes files: with an error number that is to stay, and where getsockopt(2) is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    listener = socket.create_server(("", port))
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(2)]
    ctypes.set_errno(errno.EISDIR)
    assert libc.close(files[0]) == 0
    print(errno.errorcode[ctypes.get_errno()])
    confine({"x86_64": 55, "aarch64": 209})
    assert libc.close(files[1]) == 0
    print("closed")
    listener.close()


def serve_full(port):
    """Listens, and connects to itself, without a free descriptor, and says why that fails."""
    listener, client = socket.socket(), socket.socket()
    listener.bind(("", port))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            os.open("/dev/null", os.O_RDONLY)
    except OSError:
        pass
    for call in listener.listen, lambda: client.connect(("198.18.0.1", port)):
        try:
            call()
            print("done", flush=True)
        except OSError as e:
            print(errno.errorcode[e.errno], flush=True)


def serve_scarce(port):
    """Accepts with the last descriptor, and then with one more each time."""
    listener = socket.create_server(("", port))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    others = []
    try:
        while True:
            others.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        os.close(others.pop())
    listening(listener)
    while others:
        select.select([listener], [], [])
        try:
            connection, _ = listener.accept()
            break
        except OSError as e:
            assert e.errno == errno.EMFILE, e
            os.close(others.pop())
    connection.sendall(b"once\n")
    connection.close()


def serve_once(port):
    listener = socket.create_server(("", port))
    listening(listener)
    connection, _ = listener.accept()
    connection.sendall(b"once")


def serve_closing(port):
    """Closes its listener, and listens again, as the client is told."""
    listener = socket.create_server(("", port))
    listening(listener)
    connection, _ = listener.accept()
    for _ in range(5):
        listener.close()
        connection.sendall(b"closed")
        assert connection.recv(1)
        listener = socket.create_server(("", port))
        connection.sendall(b"listen")
        assert connection.recv(1)


def call_echo(host, port):
    """Sends and receives at once, ends its direction, and reads up to the end."""
    with socket.create_connection((host, port)) as connection:
        data = pattern(SIZE)
        if os.fork() == 0:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            os._exit(0)
        assert take(connection, SIZE) == data
        assert connection.recv(1) == b""
        os.wait()


def call_urgent(host, port):
    """Sends bytes with urgent data at their end, and in their midst, which come back whole."""
    with socket.create_connection((host, port)) as connection:
        for rest in (b"", b"after") * 50:
            try:
                connection.send(b"urgent", socket.MSG_OOB)
            except OSError as error:
                # By kernels before 5.15.
                assert error.errno == errno.EOPNOTSUPP, error
                connection.send(b"urgent")
            connection.sendall(rest)
            assert take(connection, 6 + len(rest)) == b"urgent" + rest


def call_many(host, port):
    async def one(number):
        reader, writer = await asyncio.open_connection(host, port)
        data = pattern(1000 + number)
        writer.write(data)
        writer.write_eof()
        assert await reader.read() == data
        writer.close()

    async def main():
        await asyncio.gather(*(one(number) for number in range(100)))

    asyncio.run(main())


def call_workers(host, port):
    seen = set()
    for _ in range(200):
        with socket.create_connection((host, port)) as connection:
            seen.add(connection.makefile().readline())
        if len(seen) > 1:
            return
    raise AssertionError(f"one worker has accepted all: {seen}")


def call_file(host, port):
    with socket.create_connection((host, port)) as connection:
        assert connection.makefile("rb").read() == pattern(SIZE)


def call_options(host, port):
    """Asks of a connection what programs ask of one of TCP."""
    with socket.create_connection((host, port)) as connection:
        # The address is passed over.
        assert connection.sendto(b"x", (host, port)) == 1
        assert connection.sendmsg([b"x", b"y"], [], 0, (host, port)) == 2
    call_names(host, port)


def call_names(host, port):
    with socket.create_connection((host, port)) as connection:
        domain = connection.getsockopt(socket.SOL_SOCKET, 39)
        protocol = connection.getsockopt(socket.SOL_SOCKET, 38)
        assert (domain, protocol) == (socket.AF_INET, socket.IPPROTO_TCP)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        # Erlang takes IP_TTL, IP_RECVTOS and IP_RECVTTL over from the listener.
        for option in (socket.IP_TOS, socket.IP_TTL, 13, 12):
            value = connection.getsockopt(socket.IPPROTO_IP, option)
            connection.setsockopt(socket.IPPROTO_IP, option, value)
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        assert info[0] == 1, info
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        assert connection.getpeername()[1] == port
        print(connection.getsockname()[0], connection.getpeername()[0])


def call_refused(host, port):
    with socket.socket() as blocking:
        assert blocking.connect_ex((host, port)) == errno.ECONNREFUSED
    with socket.socket() as nonblocking:
        nonblocking.setblocking(False)
        error = nonblocking.connect_ex((host, port))
        if error == errno.EINPROGRESS:
            select.select([], [nonblocking], [])
            error = nonblocking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        assert error == errno.ECONNREFUSED, error


def call_closing(host, port):
    with socket.create_connection((host, port)) as telling:
        for _ in range(5):
            assert take(telling, 6) == b"closed"
            call_refused(host, port)
            telling.sendall(b".")
            assert take(telling, 6) == b"listen"
            socket.create_connection((host, port)).close()
            telling.sendall(b".")


def call_six(host, port):
    """Has six connections at a time, and a byte of each."""
    connections = [socket.create_connection((host, port)) for _ in range(6)]
    print(b"".join(take(connection, 1) for connection in connections).decode())


def call_greeted(host, port):
    """Connects, and ends."""
    socket.create_connection((host, port)).close()


def call_timed(host, port):
    """Connects to a node that is not there, with a limited time."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 0, 300_000))
        print(errno.errorcode[connection.connect_ex((host, port))])


def call_unanswered(host, port):
    """Connects to a node that is not there."""
    with socket.socket() as connection:
        connection.setblocking(False)
        assert connection.connect_ex((host, port)) == errno.EINPROGRESS
        assert connection.connect_ex((host, port)) == errno.EALREADY
        poll = select.poll()
        poll.register(connection, select.POLLOUT)
        assert poll.poll(0) == []
        assert poll.poll() != []
        error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        assert connection.connect_ex((host, port)) == errno.ECONNREFUSED
        try:
            raise AssertionError(connection.getpeername())
        except OSError as e:
            assert e.errno == errno.ENOTCONN, e
        print(errno.errorcode[error])


def call_interrupted(host, port):
    """Connects to a node that is not there, while signals come all the time."""
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    with socket.socket() as connection:
        error = connection.connect_ex((host, port))
    # The interpreter gives up its handlers before it ends.
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert seen
    print(errno.errorcode[error])


def call_often(host, port):
    for _ in range(100):
        with socket.create_connection((host, port)) as connection:
            assert connection.makefile().readline() == "once\n"


def call_once(host, port):
    with socket.create_connection((host, port)) as connection:
        print(connection.makefile().readline(), end="")


def serve_greeting(port):
    try:
        listener = socket.create_server(("", port))
    except OSError as e:
        print(errno.errorcode[e.errno], flush=True)
        return
    listening(listener)
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            continue
        with connection:
            connection.sendall(b"hello\n")
            connection.recv(1)


def call_greeting(host, port):
    """Says how a connection to a server whose holder lacks descriptors ends."""
    try:
        with socket.create_connection((host, port)) as connection:
            print(connection.makefile().readline().strip() or "end of file")
    except OSError:
        print("error")


def call_ordered(host, port):
    connections = [socket.create_connection((host, port)) for _ in range(60)]
    numbers = [int(connection.makefile().readline()) for connection in connections]
    assert numbers == list(range(60)), numbers


def call_flooded(host, port):
    """Reads nothing until its peer has no room any more."""
    connection = socket.create_connection((host, port))
    with socket.create_connection((host, port)) as other:
        sent = int(other.makefile().readline())
    data = connection.makefile("rb").read()
    assert data == pattern(sent), (len(data), sent)


def tell_end(connection):
    try:
        print("end" if connection.recv(1) == b"" else "data", flush=True)
    except ConnectionResetError:
        print("reset", flush=True)


def call_lingering(host, port):
    for number in range(4):
        with socket.socket() as connection:
            if number == 2:
                linger_of_zero(connection, True)
            connection.connect((host, port))
            assert take(connection, 1) == b"x"
            connection.sendall(b"x")
            if number < 2:
                tell_end(connection)
            else:
                assert take(connection, 1) == b"y"
            if number == 3:
                linger_of_zero(connection, True)


def call_rights(host, port):
    """Sends descriptors along, of which TCP takes no notice."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))]
    with socket.create_connection((host, port)) as connection:
        for byte in (b"x", b"y", b"z"):
            assert connection.sendmsg([byte], rights) == 1
        assert take(connection, 3) == b"xyz"


def call_bound(host, port):
    """Connects from a socket that is bound to any address."""
    with socket.create_connection((host, port), source_address=("", 0)) as connection:
        connection.sendall(b"x")
        assert take(connection, 1) == b"x"


def call_registered(host, port):
    """Has the socket in a set of epoll before it connects."""
    with socket.socket() as connection, select.epoll() as events:
        connection.setblocking(False)
        events.register(connection, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        connection.connect_ex((host, port))
        found = 0
        while not found & select.EPOLLOUT:
            [(number, found)] = events.poll(10)
            assert number == connection.fileno()
        connection.send(b"x")
        while not found & select.EPOLLIN:
            [(number, found)] = events.poll(10)
        assert connection.recv(1) == b"x"


def call_renumbered(host, port):
    """A child connects a socket with the number of one that its parent has in a set of epoll."""
    first, second = socket.socketpair()
    answered, done = os.pipe(), os.pipe()
    with select.epoll() as events:
        events.register(first, select.EPOLLIN)
        if os.fork() == 0:
            number = first.detach()
            os.close(number)
            connection = socket.socket()
            assert connection.fileno() == number
            connection.connect((host, port))
            connection.sendall(b"x")
            select.select([connection], [], [])
            os.write(answered[1], b"x")
            os.read(done[0], 1)
            os._exit(0)
        assert os.read(answered[0], 1) == b"x"
        print(events.poll(0))
        second.sendall(b"x")
        print(events.poll(0) == [(first.fileno(), select.EPOLLIN)])
        os.write(done[1], b"x")
        assert os.wait()[1] == 0


def call_inherited(host, port):
    """As call_registered, but another program has made the set, and added the socket."""
    if connection := os.environ.get("CONNECTION"):
        connection = socket.socket(fileno=int(connection))
        events = select.epoll.fromfd(int(os.environ["EVENTS"]))
        connection.connect_ex((host, port))
        found = 0
        while not found & select.EPOLLOUT:
            [(number, found)] = events.poll(10)
            assert number == connection.fileno()
        return
    with socket.socket() as connection, select.epoll() as events:
        connection.setblocking(False)
        events.register(connection, select.EPOLLIN | select.EPOLLOUT)
        for descriptor in (connection, events):
            os.set_inheritable(descriptor.fileno(), True)
        os.environ["CONNECTION"] = str(connection.fileno())
        os.environ["EVENTS"] = str(events.fileno())
        os.execv(sys.executable, [sys.executable, *sys.argv])


def call_leaving(host, port):
    """Leaves connections that its peer keeps."""
    connections = [socket.create_connection((host, port)) for _ in range(60)]
    for connection in connections:
        connection.sendall(b"x")
    print("connected", flush=True)
    sys.stdin.readline()


def call_as_first(host, port):
    """Has a connection, and waits for all children, as the first process of a container does."""
    connection = socket.create_connection((host, port))
    if os.fork() == 0:
        os._exit(0)
    children = 0
    try:
        while True:
            os.wait()
            children += 1
    except ChildProcessError:
        connection.close()
        print(children, "child")
        sys.exit(7)


def call_confined(host, port):
    """Has a connection, and is killed for making another socket."""
    with socket.create_connection((host, port)) as connection:
        confine({"x86_64": 41, "aarch64": 198})
        if os.fork() == 0:
            sys.exit()
        assert os.wait()[1] == 0
        connection.sendall(b"x")
        assert take(connection, 1) == b"x"


def call_reset(host, port):
    with socket.create_connection((host, port)) as connection:
        connection.sendall(b"unread")
        data = b""
        try:
            while part := connection.recv(100):
                data += part
            print("end after", data)
        except ConnectionResetError:
            print("reset after", data.decode())


def call_waiting(host, port):
    """Waits for bytes that never come."""
    with socket.create_connection((host, port)) as connection:
        print("connected", flush=True)
        try:
            print("end", connection.recv(1))
        except ConnectionResetError:
            print("reset")


def call_when_told(host, port):
    """Sends once there is a line of input."""
    with socket.create_connection((host, port)) as connection:
        print("connected", flush=True)
        assert sys.stdin.readline() == "go on\n"
        connection.sendall(b"x")
        print("got", take(connection, 1).decode())


def call_loopback(_, port):
    """Both ends in one process, at the only addresses that test suites know."""
    for bound, host in [("127.0.0.1", "127.0.0.1"), ("", "0.0.0.0")]:
        with socket.create_server((bound, port)) as listener:
            with socket.create_connection((host, port)) as one:
                other, peer = listener.accept()
                assert peer == one.getsockname(), (peer, one.getsockname())
                assert one.getpeername() == ("127.0.0.1", port), one.getpeername()
                one.sendall(b"x")
                assert other.recv(1) == b"x"
                other.close()


def main():
    _, what, *rest = sys.argv
    if what.startswith("serve"):
        globals()[what](int(rest[0]))
    else:
        globals()[what](rest[0], int(rest[1]))


main()
