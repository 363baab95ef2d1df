"""One thread, many connections: an echo server on port 7003. Ask it by `prp cat NODE 7003`."""

import contextlib
import selectors

import parmaprp

#: Bytes kept for a peer that does not read, before no more are received from it.
MOST = 1 << 20


class Connection:
    def __init__(self, stream):
        stream.setblocking(False)
        self.stream = stream
        self.unsent = bytearray()
        self.ended = False

    def reads(self):
        return not self.ended and len(self.unsent) < MOST

    def events(self):
        reads, writes = self.reads(), bool(self.unsent)
        return reads * selectors.EVENT_READ | writes * selectors.EVENT_WRITE

    def go_on(self):
        """Receives and sends what it can; whether that was all."""
        with contextlib.suppress(BlockingIOError):
            if self.reads():
                data = self.stream.recv(65536)
                self.unsent += data
                self.ended = not data
        with contextlib.suppress(BlockingIOError):
            while self.unsent:
                del self.unsent[: self.stream.send(self.unsent)]
        return self.ended and not self.unsent


selector = selectors.DefaultSelector()
listener = parmaprp.Listener("self:7003")
listener.setblocking(False)
selector.register(listener, selectors.EVENT_READ)
while True:
    for key, _events in selector.select():
        if key.fileobj is listener:
            with contextlib.suppress(BlockingIOError):
                connection = Connection(listener.accept()[0])
                selector.register(connection.stream, connection.events(), connection)
            continue
        connection = key.data
        try:
            done = connection.go_on()
        except OSError:
            done = True
        if done:
            selector.unregister(connection.stream)
            connection.stream.close()
        elif connection.events() != key.events:
            selector.modify(connection.stream, connection.events(), connection)
