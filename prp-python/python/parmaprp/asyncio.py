"""Streams and transports for asyncio.

open_connection() and start_server() have asyncio's StreamReader and StreamWriter, create_connection()
and create_server() the protocols of other libraries. They need no event loop of their own: they wait
by descriptors. With EventLoop (or run()) the loop's thread receives and sends the frames itself, and
a message passes through no other thread.
"""

from __future__ import annotations

import asyncio
import errno
import selectors
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from . import _native
from ._native import Listener, Stream, WaitSet

__all__ = [
    "EventLoop",
    "Server",
    "create_connection",
    "create_server",
    "open_connection",
    "run",
    "sock_accept",
    "sock_connect",
    "sock_recv_into",
    "sock_sendall",
    "start_server",
]

T = TypeVar("T")

#: The first of the numbers that stand for streams in an EventLoop, where others are descriptors.
_FIRST_KEY = 1 << 30

#: Streams that an EventLoop waits for itself; more of them are left to epoll, which looks only at
#: those that are ready.
_MOST = 64

#: Bytes received at once.
_ROOM = 256 * 1024


class Selector(selectors.EpollSelector):
    """epoll, with streams and listeners beside its descriptors."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting = WaitSet()
        self._objects: dict[int, Stream | Listener] = {}
        self._keys: dict[int, selectors.SelectorKey] = {}
        self._next = _FIRST_KEY
        self._has_found = False

    def key_of(self, object: Stream | Listener) -> int:
        """A number for the object, by which it is registered; or its descriptor."""
        if len(self._objects) >= _MOST:
            return object.fileno()
        key = self._next
        self._next += 1
        self._objects[key] = object
        return key

    def forget(self, key: int) -> None:
        """The object is closed."""
        self._objects.pop(key, None)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        object = self._objects.get(fileobj) if isinstance(fileobj, int) else None
        if object is None:
            return super().register(fileobj, events, data)
        if fileobj in self._keys:
            raise KeyError(f"{fileobj!r} is already registered")
        reads, writes = bool(events & selectors.EVENT_READ), bool(events & selectors.EVENT_WRITE)
        self._waiting.set(fileobj, object, reads, writes)
        key = selectors.SelectorKey(fileobj, fileobj, events, data)
        self._keys[fileobj] = key
        return key

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if isinstance(fileobj, int) and fileobj in self._keys:
            del self._keys[fileobj]
            return self.register(fileobj, events, data)
        return super().modify(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        if isinstance(fileobj, int) and fileobj in self._keys:
            self._waiting.discard(fileobj)
            return self._keys.pop(fileobj)
        return super().unregister(fileobj)

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        if isinstance(fileobj, int) and fileobj >= _FIRST_KEY:
            return self._keys[fileobj]
        return super().get_key(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if not self._keys:
            return super().select(timeout)
        if self._has_found and timeout is not None and timeout <= 0:
            # The loop has callbacks for what was found last: it looks again after them.
            self._has_found = False
            return []
        wait = None if timeout is None else max(timeout, 0.0)
        ready = []
        for number, read, write in self._waiting.wait(self.fileno(), wait):
            key = self._keys.get(number)
            if key is not None:
                events = read * selectors.EVENT_READ | write * selectors.EVENT_WRITE
                ready.append((key, events & key.events))
        ready += super().select(0)
        self._has_found = bool(ready)
        return ready

    def close(self) -> None:
        for number in list(self._keys):
            self.unregister(number)
        self._objects.clear()
        super().close()


class EventLoop(asyncio.SelectorEventLoop):
    """asyncio's event loop, whose thread receives and sends the frames of streams itself."""

    def __init__(self) -> None:
        super().__init__(Selector())


def run(main: Coroutine[Any, Any, T], *, debug: bool | None = None) -> T:
    """asyncio.run() with an EventLoop."""
    with asyncio.Runner(debug=debug, loop_factory=EventLoop) as runner:
        return runner.run(main)


class _Watch:
    """An object as its loop knows it: by a key of the loop's own selector, or its descriptor."""

    def __init__(self, loop: asyncio.AbstractEventLoop, object: Stream | Listener) -> None:
        self._loop = loop
        selector = getattr(loop, "_selector", None)
        self._selector = selector if isinstance(selector, Selector) else None
        if self._selector is not None:
            self.key = self._selector.key_of(object)
        else:
            self.key = object.fileno()

    def reader(self, callback: Callable[[], object] | None) -> None:
        if callback is None:
            self._loop.remove_reader(self.key)
        else:
            self._loop.add_reader(self.key, callback)

    def writer(self, callback: Callable[[], object] | None) -> None:
        if callback is None:
            self._loop.remove_writer(self.key)
        else:
            self._loop.add_writer(self.key, callback)

    def close(self) -> None:
        """The object is closed: nothing waits for it any more."""
        if self.key >= 0 and not self._loop.is_closed():
            self._loop.remove_reader(self.key)
            self._loop.remove_writer(self.key)
        self.release()

    def release(self) -> None:
        """Waits no longer; another task may wait by the same descriptor."""
        if self._selector is not None:
            self._selector.forget(self.key)
        self.key = -1


class Transport(asyncio.Transport):
    """A stream as a transport. get_extra_info() knows peername, sockname and stream."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stream: Stream,
        protocol: asyncio.BaseProtocol,
        server: Server | None = None,
    ) -> None:
        super().__init__(
            {
                "peername": stream.getpeername(),
                "sockname": stream.getsockname(),
                "stream": stream,
            }
        )
        stream.setblocking(False)
        self._loop = loop
        self._stream = stream
        self._server = server
        self._watch = _Watch(loop, stream)
        self._buffer: deque[memoryview] = deque()
        self._size = 0
        self._high, self._low = 64 * 1024, 16 * 1024
        self._protocol_paused = False
        self._reading = False
        self._paused = False
        self._closing = False
        self._lost = False
        self._eof = False
        self._room = bytearray(_ROOM)
        self.set_protocol(protocol)
        loop.call_soon(self._begin)
        if server is not None:
            server._attach(self)

    def _begin(self) -> None:
        self._protocol.connection_made(self)
        if not self._closing and not self._paused:
            self.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol: Any = protocol
        self._buffered = isinstance(protocol, asyncio.BufferedProtocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._protocol
        return protocol

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        self._paused = True
        if self._reading:
            self._reading = False
            self._watch.reader(None)

    def resume_reading(self) -> None:
        self._paused = False
        if not self._reading and not self._closing:
            self._reading = True
            self._watch.reader(self._on_readable)

    def _on_readable(self) -> None:
        if self._lost:
            return
        try:
            room = self._protocol.get_buffer(-1) if self._buffered else self._room
            size = self._stream.recv_into(room)
        except (BlockingIOError, InterruptedError):
            return
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._end(error)
            return
        if size == 0:
            self._on_eof()
        elif self._buffered:
            self._protocol.buffer_updated(size)
        else:
            self._protocol.data_received(bytes(memoryview(self._room)[:size]))

    def _on_eof(self) -> None:
        try:
            keep_open = self._protocol.eof_received()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._end(error)
            return
        if keep_open:
            self._reading = False
            self._watch.reader(None)
        else:
            self.close()

    def write(self, data: Any) -> None:
        if self._eof:
            raise RuntimeError("Cannot call write() after write_eof()")
        view = memoryview(data).cast("B")
        if not len(view) or self._lost:
            return
        if not self._buffer:
            try:
                sent = self._stream.send(view)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError as error:
                self._end(error)
                return
            view = view[sent:]
            if not len(view):
                return
            self._watch.writer(self._on_writable)
        # The caller may change its buffer once this returns.
        self._buffer.append(memoryview(bytes(view)))
        self._size += len(view)
        self._pause_if_full()

    def _pause_if_full(self) -> None:
        if self._size > self._high and not self._protocol_paused:
            self._protocol_paused = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def _on_writable(self) -> None:
        try:
            while self._buffer:
                sent = self._stream.send(self._buffer[0])
                self._size -= sent
                if sent < len(self._buffer[0]):
                    self._buffer[0] = self._buffer[0][sent:]
                else:
                    self._buffer.popleft()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._end(error)
            return
        if self._protocol_paused and self._size <= self._low:
            self._protocol_paused = False
            self._protocol.resume_writing()
        if not self._buffer:
            self._watch.writer(None)
            if self._closing:
                self._end(None)
            elif self._eof:
                self._shutdown()

    def _shutdown(self) -> None:
        try:
            self._stream.shutdown(1)
        except OSError:
            pass

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if self._eof or self._closing:
            return
        self._eof = True
        if not self._buffer:
            self._shutdown()

    def get_write_buffer_size(self) -> int:
        return self._size

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = 64 * 1024 if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._high, self._low = high, low
        self._pause_if_full()

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        self._reading = False
        self._watch.reader(None)
        if not self._buffer:
            self._end(None)

    def abort(self) -> None:
        self._end(None, abort=True)

    def _end(self, error: BaseException | None, abort: bool = False) -> None:
        if self._lost:
            return
        self._lost = self._closing = True
        self._reading = False
        self._buffer.clear()
        self._size = 0
        self._watch.close()
        self._loop.call_soon(self._finish, error, abort)

    def _finish(self, error: BaseException | None, abort: bool) -> None:
        try:
            self._protocol.connection_lost(error)
        finally:
            # The peer must not take what has come for all there is.
            if abort or error is not None:
                self._stream.abort()
            else:
                self._stream.close()
            if self._server is not None:
                self._server._detach(self)
                self._server = None


class Server(asyncio.AbstractServer):
    """A listener whose connections get protocols."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: Listener,
        factory: Callable[[], asyncio.BaseProtocol],
    ) -> None:
        listener.setblocking(False)
        self._loop = loop
        self._factory = factory
        self._watch: _Watch | None = None
        self._transports: set[Transport] = set()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._forever: asyncio.Future[None] | None = None
        self.listener = listener

    @property
    def address(self) -> tuple[int, int]:
        """Node and port."""
        return self.listener.getsockname()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_serving(self) -> bool:
        return self._watch is not None

    async def start_serving(self) -> None:
        if self._watch is None:
            self._watch = _Watch(self._loop, self.listener)
            self._watch.reader(self._on_connection)

    async def serve_forever(self) -> None:
        await self.start_serving()
        self._forever = self._loop.create_future()
        try:
            await self._forever
        finally:
            self.close()
            await self.wait_closed()

    def _on_connection(self) -> None:
        for _ in range(100):
            try:
                stream, _peer = self.listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                self._report(error)
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
                    # Connections wait until there is room again.
                    if self._watch is not None:
                        self._watch.reader(None)
                        self._loop.call_later(1, self._go_on)
                return
            try:
                Transport(self._loop, stream, self._factory(), self)
            except OSError as error:
                # No descriptor is left to wait by: to the peer a close would be an end in order.
                stream.abort()
                self._report(error)

    def _report(self, error: OSError) -> None:
        self._loop.call_exception_handler({"message": "accept failed", "exception": error})

    def _go_on(self) -> None:
        if self._watch is not None:
            self._watch.reader(self._on_connection)

    def _attach(self, transport: Transport) -> None:
        self._transports.add(transport)

    def _detach(self, transport: Transport) -> None:
        self._transports.discard(transport)
        self._settle()

    def _settle(self) -> None:
        if self.listener.closed and not self._transports and not self._closed.done():
            self._closed.set_result(None)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self.listener.close()
        if self._forever is not None and not self._forever.done():
            self._forever.cancel()
        self._settle()

    async def wait_closed(self) -> None:
        await self._closed


async def _ready(watch: _Watch, loop: asyncio.AbstractEventLoop, writes: bool) -> None:
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    arm = watch.writer if writes else watch.reader
    arm(wake)
    try:
        await waiter
    finally:
        arm(None)


async def sock_connect(address: Any, **options: Any) -> Stream:
    """Connects without waiting in the loop; a nonblocking stream."""
    loop = asyncio.get_running_loop()
    stream = _native.connect(address, blocking=False, **options)
    watch = _Watch(loop, stream)
    try:
        await _ready(watch, loop, True)
        error = stream.take_error()
        if error is not None:
            raise type(error)(error.errno, f"connect to {address}: {error.strerror}")
    except BaseException:
        watch.release()
        stream.close()
        raise
    watch.release()
    return stream


async def sock_accept(listener: Listener) -> Stream:
    """Accepts a connection from a nonblocking listener."""
    loop = asyncio.get_running_loop()
    watch = None
    try:
        while True:
            try:
                stream, _peer = listener.accept()
            except BlockingIOError:
                if watch is None:
                    watch = _Watch(loop, listener)
                await _ready(watch, loop, False)
            else:
                stream.setblocking(False)
                return stream
    finally:
        if watch is not None:
            watch.release()


async def sock_recv_into(stream: Stream, buffer: Any) -> int:
    """Receives from a nonblocking stream straight into the buffer: how many bytes, 0 at the end."""
    watch = None
    try:
        while True:
            try:
                return stream.recv_into(buffer)
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                if watch is None:
                    watch = _Watch(loop, stream)
                await _ready(watch, loop, False)
    finally:
        if watch is not None:
            watch.release()


async def sock_sendall(stream: Stream, data: Any) -> None:
    """Sends all of the data by a nonblocking stream, straight from its memory."""
    view = memoryview(data).cast("B")
    watch = None
    try:
        while len(view):
            try:
                view = view[stream.send(view) :]
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                if watch is None:
                    watch = _Watch(loop, stream)
                await _ready(watch, loop, True)
    finally:
        if watch is not None:
            watch.release()


async def create_connection(
    protocol_factory: Callable[[], asyncio.BaseProtocol], address: Any, **options: Any
) -> tuple[Transport, asyncio.BaseProtocol]:
    """As loop.create_connection(): a transport and its protocol."""
    loop = asyncio.get_running_loop()
    stream = await sock_connect(address, **options)
    protocol = protocol_factory()
    transport = Transport(loop, stream, protocol)
    # connection_made() comes before this returns.
    await asyncio.sleep(0)
    return transport, protocol


async def create_server(
    protocol_factory: Callable[[], asyncio.BaseProtocol],
    address: Any,
    *,
    start_serving: bool = True,
    **options: Any,
) -> Server:
    """As loop.create_server()."""
    loop = asyncio.get_running_loop()
    server = Server(loop, Listener(address, **options), protocol_factory)
    if start_serving:
        await server.start_serving()
    return server


async def open_connection(
    address: Any, *, limit: int = 2**16, **options: Any
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """As asyncio.open_connection()."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await create_connection(lambda: protocol, address, **options)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def start_server(
    client_connected_cb: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any],
    address: Any,
    *,
    limit: int = 2**16,
    **options: Any,
) -> Server:
    """As asyncio.start_server()."""
    loop = asyncio.get_running_loop()

    def factory() -> asyncio.StreamReaderProtocol:
        reader = asyncio.StreamReader(limit=limit, loop=loop)
        return asyncio.StreamReaderProtocol(reader, client_connected_cb, loop=loop)

    return await create_server(factory, address, **options)
