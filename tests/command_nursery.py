"""Runs commands that ``commands.py`` asks for, each in a fork of this process, and answers with exit codes."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import time
import traceback
from typing import Any

import sklearn.feature_extraction.text  # noqa: F401

import hmrf_fast
import hmrf_fast.app.application
from hmrf_fast.app.cli import main


def child(request: dict[str, Any]) -> int:
    """Become the command."""
    for number, path in enumerate(request["files"]):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
    sys.stdin = open(0, closefd=False)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.argv = ["hmrf-fast", *request["arguments"]]
    code: Any = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


def watch(pid: int, timeout: float) -> int:
    """The exit code of a child, which is killed when its time is over."""
    end = time.monotonic() + timeout
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


if __name__ == "__main__":
    for name in hmrf_fast.__all__:  # loaded lazily
        getattr(hmrf_fast, name)
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(child(request))
        print(watch(pid, request["timeout"]), flush=True)
