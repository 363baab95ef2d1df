"""What the package takes from the prp command, which PRP_COMMAND names or PATH has."""

import errno
import os
import shutil
import subprocess

import pytest

import parmaprp.perf
import parmaprp.stat

PRP = os.environ.get("PRP_COMMAND") or shutil.which("prp")
needs_prp = pytest.mark.skipif(PRP is None, reason="no prp command: PRP_COMMAND names one")


@needs_prp
def test_stat(pair):
    client, server = pair
    processes = parmaprp.stat.node()["processes"]
    mine = [process for process in processes if process["pid"] == os.getpid()]
    ends = {(row["local_node"], row["local_port"]) for row in mine[0]["connections"]}
    assert {client.getsockname(), server.getsockname()} <= ends


@needs_prp
def test_perf():
    server = subprocess.Popen(
        [PRP, "perf", "serve"], env=os.environ | {"PRP_NODE": "2"}, stderr=subprocess.PIPE
    )
    try:
        assert b"listening" in server.stderr.readline()
        found = parmaprp.perf.run("latency", "beta", "--time", "0.05", "--rounds", "1")
        assert found["results"]["prp"]["p50_us"]["median"] > 0
    finally:
        server.kill()
        server.communicate()


@needs_prp
def test_command_that_fails():
    with pytest.raises(parmaprp.CommandError) as raised:
        parmaprp.perf.run("latency", "nowhere")
    assert isinstance(raised.value, OSError) and raised.value.errno == errno.EIO
    assert "nowhere" in raised.value.strerror and raised.value.returncode == 5


def test_without_the_command(monkeypatch):
    monkeypatch.delenv("PRP_COMMAND", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FileNotFoundError):
        parmaprp.stat.node()
