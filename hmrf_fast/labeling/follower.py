"""Work in the background that only cares about the newest input."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

PATIENCE = 3.0  # seconds that closing waits for the work to notice


class Closed(Exception):
    """Raised in the work to end it."""


class Follower:
    """A thread that calls ``work`` with the newest input; inputs that are overtaken while it works are never looked at.

    Parameters
    ----------
    work : callable
        Gets the input; it should call `check` now and then, and must not raise anything else than `Closed`.
    """

    def __init__(self, work: Callable[[Any], None]) -> None:
        self._work = work
        self._change = threading.Condition()
        self._waiting: list[Any] = []
        self._working = self._closed = False
        self._thread = threading.Thread(target=self._follow, name="hmrf_fast refit", daemon=True)
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether the newest input is not done yet."""
        with self._change:
            return self._working or bool(self._waiting)

    def put(self, newest: Any) -> None:
        """Hand in an input."""
        with self._change:
            self._waiting = [newest]
            self._change.notify_all()

    def check(self, *_: Any) -> None:
        """End the work if it is no longer wanted."""
        if self._closed:
            raise Closed

    def close(self) -> None:
        """End the thread; work that is under way is given up."""
        with self._change:
            self._closed = True
            self._waiting = []
            self._change.notify_all()
        self._thread.join(PATIENCE)

    def _follow(self) -> None:
        while True:
            with self._change:
                self._working = False
                self._change.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                newest, self._working = self._waiting.pop(), True
            try:
                self._work(newest)
            except Exception:  # a program that ends takes the work's threads away
                if not self._closed:
                    raise
                return
