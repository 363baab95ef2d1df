"""Dask's comm backend for addresses prp://NODE:PORT.

The package registers it: Scheduler(protocol="prp"), Worker("prp://2:8786"). Buffers of NumPy arrays
and pickles of more than 64 KiB go from their memory without a copy in Python; smaller ones are
joined. All are received into the memory in which they stay.
"""

from __future__ import annotations

import asyncio
import struct
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import dask
from distributed.comm.core import BaseListener, Comm, CommClosedError, Connector
from distributed.comm.registry import Backend
from distributed.comm.utils import from_frames, to_frames
from distributed.protocol.utils import host_array
from distributed.utils import ensure_memoryview, nbytes

from . import asyncio as prp
from ._native import Listener, Stream, resolve

__all__ = ["PRPBackend"]

#: Bytes of small frames that are sent together with what comes before them.
_JOINED = 64 * 1024


def _text(address: tuple[int, int]) -> str:
    return f"{address[0]}:{address[1]}"


class PRPComm(Comm):
    """A connection of Dask's over a stream."""

    max_shard_size = dask.utils.parse_bytes(dask.config.get("distributed.comm.shard"))

    def __init__(self, stream: Stream, deserialize: bool = True) -> None:
        super().__init__(deserialize=deserialize)
        self._stream: Stream | None = stream
        self._local_addr = "prp://" + _text(stream.getsockname())
        self._peer_addr = "prp://" + _text(stream.getpeername())
        # A comm that nothing refers to any more closes its connection.
        self._finalizer = weakref.finalize(self, stream.close)
        self._finalizer.atexit = False
        self._waiting: deque[memoryview] = deque()
        self._sender: asyncio.Task[None] | None = None

    @property
    def local_address(self) -> str:
        return self._local_addr

    @property
    def peer_address(self) -> str:
        return self._peer_addr

    def _open(self) -> Stream:
        if self._stream is None:
            raise CommClosedError(f"{self!r} is closed")
        return self._stream

    async def _fill(self, stream: Stream, buffer: memoryview) -> None:
        while len(buffer):
            size = await prp.sock_recv_into(stream, buffer)
            if size == 0:
                raise EOFError("the peer has closed the connection")
            buffer = buffer[size:]

    async def read(self, deserializers: Any = None) -> Any:
        stream = self._open()
        try:
            head = bytearray(8)
            await self._fill(stream, memoryview(head))
            (count,) = struct.unpack("<Q", head)
            lengths = bytearray(8 * count)
            await self._fill(stream, memoryview(lengths))
            frames: list[Any] = []
            for (length,) in struct.iter_unpack("<Q", lengths):
                frame = host_array(length)
                await self._fill(stream, ensure_memoryview(frame))
                frames.append(frame)
        except (OSError, EOFError) as error:
            self.abort()
            raise CommClosedError(f"in {self!r}: {type(error).__name__}: {error}") from error
        except BaseException:
            # What has come of the message is not known: the stream is of no use any more.
            self.abort()
            raise
        try:
            return await from_frames(
                frames,
                deserialize=self.deserialize,
                deserializers=deserializers,
                allow_offload=self.allow_offload,
            )
        except EOFError:
            self.abort()
            raise CommClosedError("aborted stream on truncated data") from None

    async def write(self, msg: Any, serializers: Any = None, on_error: str = "message") -> int:
        self._open()
        frames = await to_frames(
            msg,
            allow_offload=self.allow_offload,
            serializers=serializers,
            on_error=on_error,
            context={
                "sender": self.local_info,
                "recipient": self.remote_info,
                **self.handshake_options,
            },
            frame_split_size=self.max_shard_size,
        )
        stream = self._open()
        lengths = [nbytes(frame) for frame in frames]
        joined = bytearray(struct.pack(f"<Q{len(frames)}Q", len(frames), *lengths))
        for frame, length in zip(frames, lengths):
            if length + len(joined) <= _JOINED:
                joined += frame
                continue
            if joined:
                self._waiting.append(memoryview(joined))
                joined = bytearray()
            if length:
                self._waiting.append(ensure_memoryview(frame))
        if joined:
            self._waiting.append(memoryview(joined))
        if self._sender is None:
            try:
                self._send(stream)
            except OSError as error:
                self.abort()
                raise CommClosedError(f"in {self!r}: {type(error).__name__}: {error}") from error
            if self._waiting:
                # As over TCP a write does not wait: both ends may write before they read.
                self._sender = asyncio.create_task(self._send_all(stream))
        return sum(lengths)

    def _send(self, stream: Stream) -> None:
        """Sends what fits."""
        while self._waiting:
            try:
                sent = stream.send(self._waiting[0])
            except BlockingIOError:
                return
            if sent < len(self._waiting[0]):
                self._waiting[0] = self._waiting[0][sent:]
            else:
                self._waiting.popleft()

    async def _send_all(self, stream: Stream) -> None:
        try:
            while self._waiting:
                part = self._waiting.popleft()
                await prp.sock_sendall(stream, part)
        except OSError:
            self.abort()
        finally:
            self._sender = None

    async def close(self) -> None:
        if self._stream is not None and self._sender is not None:
            await asyncio.wait([self._sender])
        stream, self._stream = self._stream, None
        if stream is not None:
            self._finalizer.detach()
            # A reader of this end ends, and the peer has what was sent.
            try:
                stream.shutdown(2)
            except OSError:
                pass
            stream.close()

    def abort(self) -> None:
        stream, self._stream = self._stream, None
        self._waiting.clear()
        if self._sender is not None:
            self._sender.cancel()
        if stream is not None:
            self._finalizer.detach()
            stream.abort()

    def closed(self) -> bool:
        return self._stream is None


class PRPConnector(Connector):
    """Makes connections."""

    comm_class = PRPComm

    async def connect(self, address: str, deserialize: bool = True, **_options: Any) -> PRPComm:
        try:
            stream = await prp.sock_connect(address)
        except OSError as error:
            text = f"in {type(self).__name__}: {type(error).__name__}: {error}"
            raise CommClosedError(text) from error
        return PRPComm(stream, deserialize)


class PRPListener(BaseListener):
    """Accepts connections."""

    prefix = "prp"

    def __init__(
        self,
        address: str,
        comm_handler: Callable[[PRPComm], Awaitable[None]],
        deserialize: bool = True,
        allow_offload: bool = True,
        default_port: int = 0,
        **_options: Any,
    ) -> None:
        super().__init__()
        node, _, port = address.rpartition(":")
        if not node:
            node, port = address, ""
        self._wanted = f"{node or 'self'}:{port or default_port}"
        self._handler = comm_handler
        self.deserialize = deserialize
        self.allow_offload = allow_offload
        self._listener: Listener | None = None
        self._task: asyncio.Task[None] | None = None
        self._handlers: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._listener = Listener(self._wanted)
        self._listener.setblocking(False)
        self._address = _text(self._listener.getsockname())
        self._task = asyncio.create_task(self._accept(self._listener))

    async def _accept(self, listener: Listener) -> None:
        while not listener.closed:
            try:
                stream = await prp.sock_accept(listener)
            except OSError:
                if listener.closed:
                    return
                await asyncio.sleep(0.1)
                continue
            task = asyncio.create_task(self._handle(stream))
            self._handlers.add(task)
            task.add_done_callback(self._handlers.discard)

    async def _handle(self, stream: Stream) -> None:
        try:
            comm = PRPComm(stream, self.deserialize)
            comm.allow_offload = self.allow_offload
            await self.on_connection(comm)
        except (OSError, CommClosedError):
            stream.abort()
            return
        await self._handler(comm)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _require_started(self) -> None:
        if self._listener is None:
            raise ValueError("invalid operation on non-started PRPListener")

    @property
    def listen_address(self) -> str:
        self._require_started()
        return f"prp://{self._address}"

    @property
    def contact_address(self) -> str:
        return self.listen_address


class PRPBackend(Backend):
    """What distributed.comm.registry has of prp://."""

    def get_connector(self) -> PRPConnector:
        return PRPConnector()

    def get_listener(
        self,
        loc: str,
        handle_comm: Callable[[PRPComm], Awaitable[None]],
        deserialize: bool,
        **connection_args: Any,
    ) -> PRPListener:
        return PRPListener(loc, handle_comm, deserialize, **connection_args)

    def get_address_host(self, loc: str) -> str:
        return loc.rpartition(":")[0] or loc

    def get_address_host_port(self, loc: str) -> tuple[str, int]:
        node, _, port = loc.rpartition(":")
        return node, int(port)

    def resolve_address(self, loc: str) -> str:
        return _text(resolve(loc if ":" in loc else f"{loc}:0"))

    def get_local_address_for(self, loc: str) -> str:
        return str(resolve("self:0")[0])
