"""A fit that outlives its process: it is written down as it goes, and goes on from there."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hmrf_fast.atomic import file_at
from hmrf_fast.checkpoint_file import Place, read_place, write_place
from hmrf_fast.draws import Draws, generator
from hmrf_fast.em import Start
from hmrf_fast.errors import CheckpointError, CheckpointWarning, FileError
from hmrf_fast.outcomes import EMResult, Progress, keep_best
from hmrf_fast.signals import PatientSignals
from hmrf_fast.version import __version__

logger = logging.getLogger(__name__)


class Journey:
    """The starts of a fit on their way, and the best results so far; without a path nothing is written.

    Parameters
    ----------
    seed : int
    rng : Generator
        The source of the starts.
    """

    def __init__(self, seed: int) -> None:
        self.place = Place({}, seed)
        self.rng = generator(seed)
        self.watch: Callable[[Callable[[], Progress]], None] | None = None

    def run(self, chosen: Iterator[Start], one: Callable[[int, Start | Progress], EMResult]) -> EMResult:
        """The best result of ``one(number, start)`` over all starts."""
        place = self.place
        if place.progress is not None:
            self._keep(one(place.draws.drawn - 1, place.progress))
        while (start := self._next(chosen)) is not None:
            state = self.rng.bit_generator.state
            self.place = self.place._replace(draws=Draws(self.place.draws.drawn + 1, state))
            self._keep(one(self.place.draws.drawn - 1, start))
        self.place = self.place._replace(finished=True)
        return self.place.best[0]

    def _next(self, chosen: Iterator[Start]) -> Start | None:
        return None if self.place.finished else next(chosen, None)

    def _keep(self, result: EMResult) -> None:
        self.place = self.place._replace(best=tuple(keep_best(list(self.place.best), result)), progress=None)


class SavedJourney(Journey):
    """A journey that is written down every ``every`` seconds, and before the process ends by Ctrl-C or SIGTERM.

    Raises
    ------
    CheckpointError
        The file belongs to another fit, cannot be read, or no file can be written there.
    """

    def __init__(self, path: Path, every: float, fingerprint: dict[str, str], seed: int, any_seed: bool) -> None:
        found = read_place(path)
        if found is not None and any_seed:
            seed = found.seed
        here = Place(fingerprint, seed)
        if found is not None and (found.seed, found.fingerprint) == (seed, fingerprint):
            here = found
        elif found is not None and not found.finished:
            raise CheckpointError(f"{path} belongs to another fit: {_difference(found, here)}; name another file, or "
                                  "delete it to give that fit up")  # fmt: skip
        super().__init__(seed)
        self.path, self.every, self.place = path, every, here
        self.watch = self._watch
        self.signals = PatientSignals(self.save)
        self.latest = time.monotonic()

    def run(self, chosen: Iterator[Start], one: Callable[[int, Start | Progress], EMResult]) -> EMResult:
        """As of any journey; the file is kept at the end, with the results of all starts."""
        if not self.place.finished:
            self._write()  # if there is no way to write, say so before the work
        with self.signals:
            self.signals.deferring = True
            done = self.place.finished
            if done:
                logger.info("taken from %(checkpoint)s, which holds this finished fit", {"checkpoint": str(self.path)})
            elif self.place.draws.drawn:
                logger.info("going on from %(resumed)s", {"resumed": str(self.path)})
            result = super().run(chosen, one)
            if not done:
                self.save()
        return result

    def save(self) -> None:
        """Write down the place; if that fails, say so and go on."""
        try:
            self._write()
        except CheckpointError as error:
            warnings.warn(
                f"{error}; the fit goes on, and what was saved before is still there", CheckpointWarning, stacklevel=3
            )

    def _write(self) -> None:
        try:
            write_place(self.path, self.place, __version__)
        except (FileError, OSError) as error:
            raise CheckpointError(f"the checkpoint cannot be written: {error}") from error
        finally:
            self.latest = time.monotonic()

    def _watch(self, progress: Callable[[], Progress]) -> None:
        if self.signals.pending is None and time.monotonic() - self.latest < self.every:
            return
        before, self.place = self.place, self.place._replace(progress=progress())
        try:
            if self.signals.pending is None:
                self.save()
            else:
                self.signals.deliver()
        finally:
            self.place = before  # what the run shows is good until its next sub-step only

    def _next(self, chosen: Iterator[Start]) -> Start | None:
        """The search for a start can be cut short at any time: what was done before it is the place to go on from."""
        self.signals.deliver()
        self.signals.deferring = False
        try:
            return super()._next(chosen)
        finally:
            self.signals.deferring = True


def start_journey(
    path: Any, every: float, seed: int, any_seed: bool, fingerprint: Callable[[], dict[str, str]]
) -> Journey:
    """The journey of a fit, saved if there is a path; ``any_seed``: one that is going on keeps its seed."""
    if path is None:
        return Journey(seed)
    try:
        file_at(path)
    except OSError as error:
        raise CheckpointError(f"checkpoint={os.fspath(path)!r} {error.strerror}; name a file") from None
    return SavedJourney(Path(os.fspath(path)), float(every), fingerprint(), seed, any_seed)


def _difference(found: Place, here: Place) -> str:
    """What two fits do not have in common, in words."""
    names = sorted({*found.fingerprint, *here.fingerprint})
    for name in names:
        there, now = found.fingerprint.get(name), here.fingerprint.get(name)
        if there != now:
            short = max(len(str(there)), len(str(now))) < 60
            return f"{name} is {there} there and {now} here" if short else f"{name} is another"
    return f"random_state gives the seed {found.seed} there and {here.seed} here"
