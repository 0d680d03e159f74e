"""``hmrf-fast`` as processes of their own, forked from one that has the libraries loaded: to import them for each of
hundreds of commands would be most of the suite's time."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# -P: the working directory, maybe a checkout without hmrf_fast.kernels, must not come before the installed package.
PYTHON = (sys.executable, "-P", "-W", "error")
COMMAND = (*PYTHON, "-m", "hmrf_fast.app.cli")
FORKS = hasattr(os, "fork")
PATIENCE = 300.0  # seconds


def run_command(
    *arguments: object, text: str = "", cwd: str | os.PathLike[str] | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess:
    """Run a command with a text as its standard input; its environment, if it is given, holds from the very start."""
    told = [str(argument) for argument in arguments]
    if env is not None or not FORKS:
        call = [*COMMAND, *told]
        return subprocess.run(call, input=text, capture_output=True, text=True, timeout=PATIENCE, cwd=cwd, env=env)
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("stdin", "stdout", "stderr")]
        Path(files[0]).write_text(text)
        place = {"cwd": os.fspath(cwd or os.getcwd()), "environment": dict(os.environ)}
        code = _nursery().run({"arguments": told, "files": files, "timeout": PATIENCE, **place})
        out, err = (Path(path).read_text() for path in files[1:])
    return subprocess.CompletedProcess([*COMMAND, *told], code, out, err)


class _Nursery:
    """The process that waits with everything loaded, see ``command_nursery.py``."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("command_nursery.py")
        self._process = subprocess.Popen(
            [*PYTHON, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        atexit.register(self._end)

    def run(self, request: dict[str, Any]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        return int(self._process.stdout.readline())

    def _end(self) -> None:
        self._process.communicate()


@functools.cache
def _nursery() -> _Nursery:
    return _Nursery()
