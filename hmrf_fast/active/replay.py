"""A sequence that is worked out once, as far as somebody went, and gone through again from its beginning for free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice


class Replay:
    """Integers that a deterministic generator yields.

    Parameters
    ----------
    begin : callable
        Returns a new iterator over always the same integers; begun anew only after an exception ended one.
    """

    def __init__(self, begin: Callable[[], Iterator[int]]) -> None:
        self._begin = begin
        self._source: Iterator[int] | None = None
        self._seen: list[int] = []

    def __iter__(self) -> Iterator[int]:
        for position in count():
            if position == len(self._seen) and not self._go_on():
                return
            yield self._seen[position]

    def _go_on(self) -> bool:
        try:
            if self._source is None:
                self._source = islice(self._begin(), len(self._seen), None)
            self._seen.append(next(self._source))
        except StopIteration:
            return False
        except BaseException:  # also Ctrl-C
            self._source = None
            raise
        return True
