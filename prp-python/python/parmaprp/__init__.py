"""PRP for Python: byte streams and messages between the nodes of a cluster.

    import parmaprp

    with parmaprp.connect("2:7000") as stream:
        stream.sendall(b"hello")
        print(stream.recv(100))

    for stream in parmaprp.Listener("self:7000"):
        ...

A Stream has the methods of socket.socket, and messages. parmaprp.asyncio has streams and transports
for asyncio. Errors are OSError with errno, in the subclass that Python has for it.
"""

from socket import MSG_PEEK, SHUT_RD, SHUT_RDWR, SHUT_WR

from . import hosts, perf, stat
from ._command import CommandError
from ._native import Listener, Stream, connect, openmetrics, resolve, select

__all__ = [
    "MSG_PEEK",
    "SHUT_RD",
    "SHUT_RDWR",
    "SHUT_WR",
    "CommandError",
    "Listener",
    "Stream",
    "connect",
    "hosts",
    "openmetrics",
    "perf",
    "resolve",
    "select",
    "stat",
]

__version__ = "0.1.0"
