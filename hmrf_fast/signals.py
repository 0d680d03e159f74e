"""Ctrl-C and SIGTERM that wait for a good moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

__all__ = ["PatientSignals"]

NAMES = ("SIGINT", "SIGTERM")


class PatientSignals:
    """While this context lasts, whoever handles these signals hears of them only after ``prepare`` has run.

    Inside ``deferring`` work a signal waits for the next call of `deliver`; a second one of its kind goes through at
    once. At other times it is delivered where it arrives. Where Python cannot handle signals (threads other than the
    main one) or somebody ignores them, nothing is changed.

    Parameters
    ----------
    prepare : callable
        What must be done before the process may end.
    """

    def __init__(self, prepare: Callable[[], Any]):
        self.prepare = prepare
        self.deferring = False
        self.pending: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> PatientSignals:
        if threading.current_thread() is threading.main_thread():
            for name in NAMES:
                number = getattr(signal, name)
                before = signal.getsignal(number)
                if before is not None and before is not signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}
        if self.pending is not None and not isinstance(error, KeyboardInterrupt):  # it came after the last good moment
            signal.raise_signal(self.pending)

    def deliver(self) -> None:
        """Hand on a signal that has come since the last call; Ctrl-C then raises ``KeyboardInterrupt`` here."""
        if self.pending is not None:
            (number, self.pending), (before, self.deferring) = (self.pending, None), (self.deferring, True)
            try:
                self.prepare()
            finally:
                self.deferring = before
            self._hand_on(number)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.pending == number:
            self._hand_on(number)
            return
        self.pending = number
        if not self.deferring:
            self.deliver()

    def _hand_on(self, number: int) -> None:
        """To whoever handled it before, under whose rule it may end the process; if not, work goes on."""
        signal.signal(number, self._before[number])
        try:
            signal.raise_signal(number)
        finally:
            signal.signal(number, self._hear)
