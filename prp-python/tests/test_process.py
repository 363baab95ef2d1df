"""What becomes of streams when the interpreter exits, forks or has others within, and of memory."""

import errno
import os
import sys
import threading
from pathlib import Path

import pytest

import parmaprp
import waits

TESTS = Path(__file__).parent


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


DAEMON = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import waits
scene, call = waits.prepared(sys.argv[2])
waiting = threading.Event()

def wait():
    waiting.set()
    call()

# The thread runs until it waits.
sys.setswitchinterval(1000)
threading.Thread(target=wait, daemon=True).start()
waiting.wait()
"""


@pytest.mark.parametrize("name", waits.CALLS)
def test_interpreter_that_exits_while_a_daemon_thread_waits(run, name):
    done = run(DAEMON, TESTS, name)
    assert (done.returncode, done.stderr) == (0, "")


BUSY = """
import sys, threading, parmaprp
stream = parmaprp.connect(sys.argv[1])
received = threading.Event()

def receive():
    room = bytearray(1 << 16)
    while getattr(stream, sys.argv[2])(room):
        received.set()

threading.Thread(target=receive, daemon=True).start()
received.wait()
"""


@pytest.mark.parametrize("call", ["recv_into", "recv_message_into"])
def test_interpreter_that_exits_while_a_daemon_thread_receives(run, listener, call):
    node, port = listener.getsockname()

    def send():
        stream, _ = listener.accept()
        try:
            while True:
                stream.send_message(bytes(1000))
        except OSError:
            stream.close()

    for _ in range(10):
        thread = threading.Thread(target=send)
        thread.start()
        done = run(BUSY, f"{node}:{port}", call)
        assert (done.returncode, done.stderr) == (0, "")
        thread.join()


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


def test_fork_of_a_listener(listener):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            listener.accept()
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                # Closes the child's copy only.
                listener.close()
                with parmaprp.Listener("self:0") as own:
                    with parmaprp.connect(own.getsockname()):
                        own.accept()
                status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with parmaprp.connect(listener.getsockname()) as client:
        server, peer = listener.accept()
        assert peer == client.getsockname()
        server.close()


SUBINTERPRETER = """
import sys, parmaprp
own_lock = sys.argv[1] == "own"
text = '''
import parmaprp
with parmaprp.Listener("self:0") as l, parmaprp.connect(l.getsockname()) as a, l.accept()[0] as b:
    a.sendall(b"x")
    assert b.recv(1) == b"x"
print("done")
'''
if sys.version_info >= (3, 13):
    import _interpreters
    one = _interpreters.create("isolated" if own_lock else "legacy")
    failed = _interpreters.exec(one, text)
    if failed is not None:
        print(failed.formatted)
else:
    import _xxsubinterpreters as interpreters
    one = interpreters.create(isolated=own_lock)
    try:
        interpreters.run_string(one, text)
    except interpreters.RunFailedError as error:
        print(error)
"""


def test_subinterpreter_that_shares_the_lock(run):
    done = run(SUBINTERPRETER, "shared")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="all interpreters share one lock")
def test_subinterpreter_with_a_lock_of_its_own(run):
    done = run(SUBINTERPRETER, "own")
    assert done.returncode == 0 and "ImportError" in done.stdout and "done" not in done.stdout


MEMORY = """
import parmaprp

def resident():
    with open("/proc/self/status") as file:
        sizes = dict(line.split(":", 1) for line in file)
    return int(sizes["VmRSS"].split()[0]) * 1024

def rounds(count):
    for _ in range(count):
        with parmaprp.connect(address) as client:
            server, _peer = listener.accept()
            with server, client.makefile("rb") as file:
                client.sendall(b"bytes")
                assert server.recv(5) == b"bytes"
                client.send_message(b"message")
                assert server.recv_message() == b"message"
                server.sendall(b"line")
                assert file.read(4) == b"line"

with parmaprp.Listener("self:0") as listener:
    address = listener.getsockname()
    rounds(1000)
    before = resident()
    rounds(4000)
    print((resident() - before) // 4000)
"""


def test_memory_does_not_grow(run):
    done = run(MEMORY)
    assert done.returncode == 0, done.stderr
    # A stream with its buffers is larger.
    assert int(done.stdout) < 500
