"""The prp command, for what it measures and shows of other processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any


def prp(*words: str) -> Any:
    """What `prp WORDS --json` prints. PRP_COMMAND names another program than the first in PATH."""
    program = os.environ.get("PRP_COMMAND") or shutil.which("prp")
    if program is None:
        raise FileNotFoundError(2, "no prp command: install it, or name it by PRP_COMMAND", "prp")
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace").strip() or f"prp: {done.returncode}")
    return json.loads(done.stdout)
