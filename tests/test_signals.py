"""Ctrl-C and SIGTERM while work must not be torn: what is prepared, when the handler hears of it, what is left as it
was."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from hmrf_fast.signals import PatientSignals

NUMBERS = [signal.SIGINT, signal.SIGTERM]


class Log:
    """What happened, in order; handles signals itself."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def handle(self, number, frame) -> None:
        self.told.append(number)

    def prepare(self) -> None:
        self.told.append("prepared")


@pytest.fixture(params=NUMBERS)
def number(request) -> int:
    return request.param


@pytest.fixture
def log(number) -> Iterator[Log]:
    log = Log()
    before = signal.signal(number, log.handle)
    yield log
    assert signal.getsignal(number) == log.handle, "the handler is not the one that there was before"
    signal.signal(number, before)


def test_outside_of_work_it_is_heard_at_once(log, number):
    with PatientSignals(log.prepare):
        signal.raise_signal(number)
        assert log.told == ["prepared", number]
        signal.raise_signal(number)
    assert log.told == ["prepared", number] * 2


def test_inside_of_work_it_waits_for_a_good_moment(log, number):
    with PatientSignals(log.prepare) as signals:
        signals.deferring = True
        signal.raise_signal(number)
        assert log.told == []
        signals.deliver()
        assert log.told == ["prepared", number] and signals.deferring
        signals.deliver()
    assert log.told == ["prepared", number], "one signal was heard of twice"


def test_a_second_one_goes_through_at_once(log, number):
    """Somebody who presses Ctrl-C twice does not want to wait."""
    with PatientSignals(log.prepare) as signals:
        signals.deferring = True
        signal.raise_signal(number)
        signal.raise_signal(number)
        assert log.told == [number]
        signals.deliver()
    assert log.told == [number, "prepared", number]


def test_what_comes_after_the_last_good_moment_is_not_lost(log, number):
    with PatientSignals(log.prepare) as signals:
        signals.deferring = True
        signal.raise_signal(number)
    assert log.told == [number]


def test_nobody_hears_twice_of_a_key_that_ended_the_work():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), PatientSignals(lambda: None) as signals:
            signals.deferring = True
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_work_ends_where_it_cannot_be_prepared_for(log, number):
    """A full disk at the last moment: the error is seen, and the next signal is handled as ever."""

    def prepare():
        raise OSError("No space left")

    with PatientSignals(prepare) as signals:
        signals.deferring = True
        signal.raise_signal(number)
        with pytest.raises(OSError, match="No space"):
            signals.deliver()
        assert signals.deferring and log.told == []


def test_whoever_ignores_signals_goes_on_ignoring_them(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with PatientSignals(lambda: pytest.fail("nothing was to be prepared for")):
            assert signal.getsignal(number) is signal.SIG_IGN
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_other_threads_leave_signals_alone(log, number):
    """Python hears signals in its main thread only, and refuses handlers set elsewhere."""
    seen = []

    def work():
        with PatientSignals(log.prepare):
            seen.append(signal.getsignal(number))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [log.handle]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="interrupts at odd moments need a timer")
def test_an_interrupt_at_any_moment_leaves_the_threads_fit_for_work():
    """Whatever is locked when Ctrl-C comes, also between the lines of the pool itself, is unlocked again."""
    script = """
import faulthandler, random, signal, time
import numpy as np
from hmrf_fast.kernels import pool

armed, heard, rounds = False, 0, 0

def interrupt(*_):
    if armed:
        raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
faulthandler.dump_traceback_later(60, exit=True)
while heard < 300 and rounds < 5000:
    rounds += 1
    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 2.5e-4))
    try:
        armed = True
        pool.run_chunks(lambda first, last: time.sleep(3e-4), np.arange(9), 2, 1e9)
        armed = False
    except KeyboardInterrupt:
        armed = False
        heard += 1
signal.setitimer(signal.ITIMER_REAL, 0)
assert pool.run_chunks(lambda first, last: first, np.arange(9), 2, 1e9) == list(range(8))
assert heard > 50
"""
    found = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
