"""The connections of this node's processes, as data."""

from __future__ import annotations

from typing import Any

from ._command import prp

__all__ = ["node"]


def node(*filter: str) -> Any:
    """What `prp stat --json` has: the processes of this node with their connections.

    filter is in the words of ss, as in node("state", "estab", "dport", "7000").
    """
    return prp("stat", "--all", "--json", *filter)
