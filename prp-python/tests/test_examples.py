import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def start(name, *words, node):
    environment = os.environ | {"PRP_NODE": str(node)}
    command = [sys.executable, EXAMPLES / name, *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def ask(name, *words):
    """Runs the client until the server is there."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        client = start(name, *words, node=1)
        output, _ = client.communicate(timeout=60)
        if client.returncode == 0:
            return output
    raise AssertionError(f"no answer for {name}")


@pytest.fixture
def server():
    servers = []

    def run(name, *words):
        servers.append(start(name, *words, node=2))

    yield run
    for each in servers:
        each.kill()
        each.communicate()


@pytest.mark.parametrize("name", ["echo.py", "asyncio_echo.py"])
def test_echo(server, name):
    server(name)
    assert ask(name, "beta", "x" * 5000) == "x" * 5000 + "\n"


def test_messages(server):
    server("messages.py")
    answers = ask("messages.py", "beta", "one", "three")
    assert answers == "one: 3 bytes\nthree: 5 bytes\n"


def test_selectors(server, run):
    server("selectors_echo.py")
    text = """
import parmaprp
with parmaprp.connect("beta:7003") as stream:
    stream.sendall(b"hello")
    print(stream.recv(5))
"""
    end = time.monotonic() + 60
    while (done := run(text, node=1)).returncode and time.monotonic() < end:
        pass
    assert done.stdout == "b'hello'\n"


def test_selectors_with_a_peer_that_does_not_read(server, run):
    server("selectors_echo.py")
    text = """
import parmaprp
slow = parmaprp.connect("beta:7003", timeout=30)
slow.setblocking(False)
sent = 0
# Until neither the server nor what is between takes any more.
try:
    while True:
        parmaprp.select([], [slow], 1)
        sent += slow.send(bytes(1 << 16))
except BlockingIOError:
    pass
with parmaprp.connect("beta:7003", timeout=30) as other:
    other.sendall(b"hello")
    print(other.recv(5))
slow.settimeout(30)
slow.shutdown(parmaprp.SHUT_WR)
while data := slow.recv(1 << 16):
    sent -= len(data)
print(sent)
"""
    end = time.monotonic() + 60
    while (done := run(text, node=1)).returncode and time.monotonic() < end:
        pass
    assert done.stdout == "b'hello'\n0\n"


def test_latency_curve(server, tmp_path):
    pytest.importorskip("matplotlib")
    server("latency_curve.py", "serve", "127.0.0.1")
    path = tmp_path / "curve.svg"
    ask("latency_curve.py", "beta", "127.0.0.1", str(path))
    assert "<svg" in path.read_text()
