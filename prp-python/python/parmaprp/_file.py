"""File objects over a stream, as socket.socket.makefile() makes them."""

from __future__ import annotations

import io
from typing import IO, Any

from ._native import Stream


class StreamIO(io.RawIOBase):
    """A stream as an unbuffered binary file.

    Closing it leaves the stream open, and a stream that is closed before it stays open until then.
    """

    def __init__(self, stream: Stream, readable: bool, writable: bool) -> None:
        super().__init__()
        stream._hold()
        self._stream = stream
        self._readable = readable
        self._writable = writable

    def readable(self) -> bool:
        return self._readable

    def writable(self) -> bool:
        return self._writable

    def fileno(self) -> int:
        self._checkClosed()
        return self._stream.fileno()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._stream._let_go()

    def readinto(self, buffer: Any) -> int | None:
        self._checkClosed()
        if not self._readable:
            raise io.UnsupportedOperation("not open for reading")
        try:
            return self._stream.recv_into(buffer)
        except BlockingIOError:
            return None

    def write(self, data: Any) -> int | None:
        self._checkClosed()
        if not self._writable:
            raise io.UnsupportedOperation("not open for writing")
        try:
            return self._stream.send(data)
        except BlockingIOError:
            return None

    def _checkClosed(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


def makefile(
    stream: Stream,
    mode: str = "r",
    buffering: int = -1,
    *,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> IO[Any]:
    """A file object over the stream, with the parameters of socket.socket.makefile()."""
    if not set(mode) <= {"r", "w", "b"}:
        raise ValueError(f"invalid mode {mode!r} (only r, w, b allowed)")
    writing = "w" in mode
    reading = "r" in mode or not writing
    raw = StreamIO(stream, reading, writing)
    if buffering == 0:
        if "b" not in mode:
            raise ValueError("unbuffered streams must be binary")
        return raw  # type: ignore[return-value]
    size = buffering if buffering > 0 else io.DEFAULT_BUFFER_SIZE
    buffered: IO[bytes]
    if reading and writing:
        buffered = io.BufferedRWPair(raw, raw, size)  # type: ignore[assignment]
    elif reading:
        buffered = io.BufferedReader(raw, size)
    else:
        buffered = io.BufferedWriter(raw, size)
    if "b" in mode:
        return buffered
    text = io.TextIOWrapper(buffered, encoding, errors, newline)
    return text
