"""The nodes of prphosts, as data."""

from __future__ import annotations

from os import PathLike
from typing import Any

from ._native import hosts, resolve

__all__ = ["nodes", "resolve"]


def nodes(path: str | PathLike[str] | None = None) -> list[dict[str, Any]]:
    """A dict for each node: node, names, mtu and routes.

    A route has metric, and address and device, udp, unix or via. path is that of another prphosts
    than the one in force.
    """
    return hosts(path)
