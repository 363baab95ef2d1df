"""The prp command, for what it measures and shows of other processes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from typing import Any


class CommandError(OSError):
    """The prp command has failed: errno is EIO, strerror what it said, returncode how it ended."""

    def __init__(self, text: str, returncode: int) -> None:
        super().__init__(errno.EIO, text)
        self.returncode = returncode


def prp(*words: str) -> Any:
    """Returns what `prp WORDS` prints as JSON. PRP_COMMAND names another program than PATH has."""
    program = os.environ.get("PRP_COMMAND") or shutil.which("prp")
    if program is None:
        text = "no prp command: install it, or name it by PRP_COMMAND"
        raise FileNotFoundError(errno.ENOENT, text, "prp")
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip() or f"prp: {done.returncode}"
        raise CommandError(text, done.returncode)
    return json.loads(done.stdout)
