"""Calls that wait, each until another thread does something; for half a minute at most."""

import asyncio
import contextlib
import sys

import parmaprp
import parmaprp.asyncio

#: Seconds after which a call fails that nothing has ended.
MOST = 30


class Scene:
    """A stream, of which the one end does not read, and a listener."""

    def __init__(self):
        # What is sent fills the buffers, and is more than the peer has room for.
        self.listener = parmaprp.Listener("self:0", recv_buffer=1 << 16)
        self.client = parmaprp.connect(self.listener.getsockname(), send_buffer=1 << 18)
        self.server, _ = self.listener.accept()
        for each in (self.listener, self.client, self.server):
            each.settimeout(MOST)

    def full(self):
        """The stream, which takes no more."""
        self.client.setblocking(False)
        # Acknowledgements make room, until the peer has none either.
        sent = 1
        while sent or parmaprp.select([], [self.client], 0.1)[1]:
            sent = 0
            with contextlib.suppress(BlockingIOError):
                while True:
                    sent += self.client.send(bytes(1 << 16))
        # One that reports no room has some: less than is worth a wake-up.
        with contextlib.suppress(BlockingIOError):
            while True:
                self.client.send(bytes(1))
        self.client.settimeout(MOST)
        return self.client

    def lingering(self):
        stream = self.full()
        stream.set_linger(MOST)
        return stream

    def endless(self):
        """A full stream without a timeout, with which a signal may cut a message short."""
        self.full().settimeout(None)

    async def read(self):
        self.server.setblocking(False)
        async with asyncio.timeout(MOST):
            return await parmaprp.asyncio.sock_recv_into(self.server, bytearray(1))


#: What each call needs before it waits, and the call.
CALLS = {
    "accept": (None, lambda scene: scene.listener.accept()),
    "asyncio_read": (None, lambda scene: parmaprp.asyncio.run(scene.read())),
    "asyncio_sleep": (None, lambda _scene: parmaprp.asyncio.run(asyncio.sleep(MOST))),
    "close": (Scene.lingering, lambda scene: scene.client.close()),
    "connect": (None, lambda _scene: parmaprp.connect("silent:80", connect_timeout=MOST)),
    "recv": (None, lambda scene: scene.server.recv(1)),
    "recv_into": (None, lambda scene: scene.server.recv_into(bytearray(1))),
    "recv_message": (None, lambda scene: scene.server.recv_message()),
    "recv_message_into": (None, lambda scene: scene.server.recv_message_into(bytearray(1))),
    "select": (None, lambda scene: parmaprp.select([scene.server], [], MOST)),
    "send": (Scene.full, lambda scene: scene.client.send(bytes(1))),
    "sendmsg": (Scene.full, lambda scene: scene.client.sendmsg([bytes(1), bytes(1)])),
    "sendall": (Scene.full, lambda scene: scene.client.sendall(bytes(1 << 20))),
    "send_message": (Scene.endless, lambda scene: scene.client.send_message(bytes(1 << 20))),
    "wait_delivered": (Scene.full, lambda scene: scene.client.wait_delivered()),
}


def prepared(name):
    """The scene, and the call without arguments."""
    scene = Scene()
    prepare, call = CALLS[name]
    if prepare is not None:
        prepare(scene)
    return scene, lambda: call(scene)


if __name__ == "__main__":
    import signal

    # A background process of a shell ignores the signal, and so do its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _scene, call = prepared(sys.argv[1])
    print("on", flush=True)
    call()
