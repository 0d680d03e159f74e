"""Code in a process of its own, which meets nothing that earlier code left behind."""

from __future__ import annotations

import os
import subprocess
import sys


def child(code: str, *arguments: str, **settings: str) -> str:
    """Run code in a fresh interpreter and return what it prints; ``settings`` are environment variables.

    ``-P``: the folder it starts in stays out of its import path.
    """
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, env=os.environ | settings, check=True, capture_output=True, text=True).stdout
