"""Measurements between two nodes, as data. `prp perf serve` runs on the other node."""

from __future__ import annotations

from typing import Any

from ._command import prp

__all__ = ["run"]


def run(kind: str, node: int | str, *words: str) -> Any:
    """What `prp perf KIND NODE --json` has, as in run("latency", 2, "--size", "64")."""
    return prp("perf", kind, str(node), "--quiet", "--json", "-", *words)
