"""Calls that wait: other threads run meanwhile, and signals end them, or they go on."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import parmaprp
import waits


@pytest.fixture
def no_switches():
    """A thread runs until it gives Python's lock away itself."""
    previous = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(previous)


def release(name, scene, thread, run):
    """Ends the call that the thread waits in."""
    if name == "accept":
        parmaprp.connect(scene.listener.getsockname()).close()
    elif name == "connect":
        text = "import parmaprp; parmaprp.Listener('self:80').accept()"
        assert run(text, node=200).stderr == ""
    elif name.startswith("recv_message"):
        scene.client.send_message(b"x")
    elif waits.CALLS[name][0] is None:
        scene.client.send(b"x")
    else:
        while thread.is_alive():
            if parmaprp.select([scene.server], [], 0.01)[0]:
                scene.server.recv(1 << 20)


@pytest.mark.parametrize("name", [name for name in waits.CALLS if name != "asyncio_sleep"])
def test_other_threads_run_while_one_waits(no_switches, name, run):
    scene, call = waits.prepared(name)
    failed = []
    waiting = threading.Event()

    def wait():
        try:
            waiting.set()
            call()
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.wait()
    # Would come to it too late, if the thread waited with Python's lock.
    release(name, scene, thread, run)
    thread.join()
    assert not failed


def test_other_threads_run_while_the_collector_closes_a_stream(no_switches):
    scene = waits.Scene()
    scene.lingering()
    go = threading.Event()
    sizes = []

    def read():
        go.wait()
        while piece := scene.server.recv(1 << 20):
            sizes.append(len(piece))

    class Cycle:
        pass

    cycle = Cycle()
    cycle.cycle, cycle.stream, scene.client = cycle, scene.client, None
    del cycle
    thread = threading.Thread(target=read)
    thread.start()
    go.set()
    gc.collect()
    # The wait has ended by the other thread, not by its time.
    assert sizes
    thread.join()
    assert sum(sizes) >= 1 << 18


@pytest.mark.parametrize("name", waits.CALLS)
def test_interrupted_by_a_signal(name):
    _scene, call = waits.prepared(name)

    class Stop(Exception):
        pass

    seen = []

    def handler(_number, _frame):
        seen.append(1)
        # The first ones return, and the call goes on.
        if len(seen) == 4:
            raise Stop

    previous = signal.signal(signal.SIGUSR1, handler)
    done = threading.Event()

    def interrupt():
        while not done.wait(0.01):
            os.kill(os.getpid(), signal.SIGUSR1)

    thread = threading.Thread(target=interrupt)
    try:
        with pytest.raises(Stop):
            thread.start()
            call()
    finally:
        done.set()
        thread.join()
        signal.signal(signal.SIGUSR1, previous)


@pytest.mark.parametrize("name", waits.CALLS)
def test_ctrl_c(name):
    process = subprocess.Popen(
        [sys.executable, Path(__file__).parent / "waits.py", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"on\n"
    # Again and again: one that comes right before the call waits does not interrupt it.
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    assert b"KeyboardInterrupt" in process.communicate()[1]
