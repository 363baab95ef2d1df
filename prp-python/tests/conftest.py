"""Two nodes on the loopback device, of which this process is the first."""

import os
import subprocess
import sys
import tempfile

import pytest

_folder = tempfile.TemporaryDirectory()
_net = f"127.{128 | (os.getpid() >> 8 & 127)}.{os.getpid() & 255}"
_hosts = os.path.join(_folder.name, "prphosts")
with open(_hosts, "w") as file:
    file.write(f"1 udp:{_net}.1 alpha\n2 udp:{_net}.2 beta\n200 udp:{_net}.254 silent\n")
os.environ["PRP_HOSTS"] = _hosts
os.environ["PRP_NODE"] = "1"

import parmaprp  # noqa: E402  after the environment is set


@pytest.fixture
def listener():
    with parmaprp.Listener("self:0") as listener:
        yield listener


@pytest.fixture
def pair(listener):
    client = parmaprp.connect(listener.getsockname())
    server, _ = listener.accept()
    with client, server:
        yield client, server


@pytest.fixture
def run():
    """Runs Python text on node 2 to its end."""

    def run(text, *words, node=2, **options):
        environment = os.environ | {"PRP_NODE": str(node)}
        return subprocess.run(
            [sys.executable, "-c", text, *map(str, words)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            **options,
        )

    return run
