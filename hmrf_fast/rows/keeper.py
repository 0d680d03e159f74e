"""What stands on a worker of a cluster: its partitions, and the arrays by row that passes need again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.kernels.types import Corpus
from hmrf_fast.rows.block import rows_between, some_rows
from hmrf_fast.rows.interface import make_block
from hmrf_fast.rows.window import SHORTEST, Place, Window, holds

MOST_CELLS = 4  # one in so many: more cost as much as the whole table


class Ref(NamedTuple):
    """An array of a message, by its place in the message's list."""

    number: int


class Part(NamedTuple):
    """The parts of an array by row that belong to the partitions of one keeper.

    ``refs`` are one array per partition; () where the keeper holds it under its ``token`` already. ``sparse``: only the
    rows looked at are there.
    """

    token: int | None
    refs: tuple[Ref, ...]
    sparse: bool = False


class Cells(NamedTuple):
    """A table that is zero but for some cells, by their numbers in row order."""

    where: np.ndarray
    values: np.ndarray


class Order(NamedTuple):
    """One pass over the partitions of a keeper; see ``Rows.map`` and ``Rows.add``."""

    task: Callable
    chosen: tuple[int, ...]  # numbers of partitions, counted among the keeper's
    wanted: Part | None
    inputs: tuple
    outputs: tuple
    shared: tuple
    total: tuple | None  # shape and dtype of a sum
    waits: bool  # whether the sum stays here until another keeper fetches it
    common: str | None  # the key of the first arrays of the message, where every worker has got them already
    forget: tuple[int, ...]  # tokens that nobody will name again


def replaced(values: Any, leaf: Callable[[Any], Any]) -> Any:
    """Nested tuples and lists with ``leaf`` applied to arrays, refs and parts."""
    if isinstance(values, (np.ndarray, Ref, Part)):
        return leaf(values)
    if isinstance(values, list):
        return [replaced(one, leaf) for one in values]
    if isinstance(values, tuple):
        parts = (replaced(one, leaf) for one in values)
        return type(values)(*parts) if hasattr(values, "_fields") else tuple(parts)
    return values


class Packet:
    """A message: nested tuples with refs, and the arrays that they name."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []

    def add(self, values: Any) -> Any:
        """The values with their arrays taken out."""
        return replaced(values, self._put)

    def _put(self, array: Any) -> Any:
        if not isinstance(array, np.ndarray):
            return array
        self.arrays.append(array)
        return Ref(len(self.arrays) - 1)


def carried(packets: list[Packet], window: Window | None, skipped: int = 0) -> list[list]:
    """The arrays of each packet as messages carry them, without the first ``skipped``: through the window, if there is
    one and room in it, what several packets have in common once."""
    arrays = [packet.arrays[skipped:] for packet in packets]
    long = {id(one): one for each in arrays for one in each if one.nbytes >= SHORTEST}
    places = window.store(long.values()) if window is not None else None
    if places is None:
        return arrays
    where = dict(zip(long, places, strict=True))
    return [[where.get(id(one), one) for one in each] for each in arrays]


class Keeper:
    """Some partitions and what belongs to their rows; an actor, so that passes go straight to it.

    Parameters
    ----------
    firsts : list of int
        The number of each partition's first row in X.
    corpora : list of Corpus
    """

    def __init__(self, firsts: list[int], corpora: list[Corpus]):
        from distributed import get_worker

        blocks = (make_block(_mine(corpus), first) for first, corpus in zip(firsts, corpora, strict=True))
        self._blocks = [block._replace(n_threads=get_worker().state.nthreads) for block in blocks]
        self._held: dict[int, list[np.ndarray]] = {}
        self._incoming: Window | None = None
        self._outgoing: Window | None = None
        self._waiting: np.ndarray | None = None

    def share(self, mark: bytes, incoming: str, outgoing: str) -> bool:
        """Open the windows of the client, if this is the same machine; returns whether it is."""
        if not (holds(incoming, mark) and holds(outgoing, mark)):
            return False
        self._incoming, self._outgoing = Window(incoming), Window(outgoing)
        return True

    def run(self, order: Order, arrays: list) -> tuple[Any, list]:
        """The results of a pass, packed: (result, outputs) per partition, or the sum of integers, or floating-point
        sums per partition, since their order matters."""
        if order.common is not None:
            from distributed import get_worker

            common: Any = get_worker().data[order.common]
            arrays = [*common, *arrays]
        arrays = [self._incoming.at(one) if isinstance(one, Place) else _mine(one) for one in arrays]  # type: ignore[union-attr]
        for token in order.forget:
            self._held.pop(token, None)
        for spec in (order.wanted, order.inputs, order.outputs):
            replaced(spec, lambda part: self._hold(part, arrays))
        found: Any = self._map(order, arrays) if order.total is None else self._add(order, arrays)
        if order.waits:
            self._waiting, found = found, None
        elif isinstance(found, np.ndarray):
            found = _without_zeros(found)
        packet = Packet()
        return packet.add(found), carried([packet], self._outgoing)[0]

    def _hold(self, part: Any, arrays: list[np.ndarray]) -> None:
        if isinstance(part, Part) and part.token is not None and part.refs:
            self._held[part.token] = [arrays[ref.number].copy() for ref in part.refs]

    def _map(self, order: Order, arrays: list[np.ndarray]) -> list[tuple]:
        found = []
        for place, number in enumerate(order.chosen):
            given = _Given(self, order, arrays, place, number)
            outputs = given.of(order.outputs)
            arguments = (*given.of(order.inputs), *outputs, *given.of(order.shared))
            result = order.task(self._blocks[number], given.numbers, *arguments)
            found.append((result, outputs))
        return found

    def _add(self, order: Order, arrays: list[np.ndarray]) -> Any:
        assert order.total is not None
        tables: list[np.ndarray] = []
        for place, number in enumerate(order.chosen):
            given = _Given(self, order, arrays, place, number)
            shared, fresh = given.of(order.shared), not tables or tables[0].dtype.kind == "f"
            if fresh:
                tables.append(np.zeros(*order.total))
            order.task(self._blocks[number], given.numbers, *given.of(order.inputs), *shared, tables[-1], fresh)
        return tables if tables[0].dtype.kind == "f" else tables[0]

    def held(self, token: int, number: int) -> np.ndarray:
        """What belongs to a partition of an array that was held before."""
        return self._held[token][number]

    def n_rows(self, number: int) -> int:
        """Number of rows of a partition."""
        return self._blocks[number].n_rows

    def waiting(self) -> np.ndarray | None:
        """The sum that waits here."""
        table, self._waiting = self._waiting, None
        return table

    def absorb(self, other: Any) -> None:
        """Add the sum that waits at another keeper to the one that waits here."""
        assert self._waiting is not None
        self._waiting += other.waiting().result()


class _Given:
    """The arguments of a task for one partition, ``place``-th of those chosen, ``number``-th of the keeper's."""

    def __init__(self, keeper: Keeper, order: Order, arrays: list[np.ndarray], place: int, number: int):
        self._keeper, self._arrays, self._place, self._number = keeper, arrays, place, number
        self.numbers: Any = None
        self.numbers = self.leaf(order.wanted) if order.wanted is not None else None

    def of(self, values: Any) -> Any:
        """Arrays by row cut to the partition."""
        return replaced(values, self.leaf)

    def leaf(self, value: Any) -> np.ndarray:
        """The array that a ref or part stands for."""
        if isinstance(value, Ref):
            return self._arrays[value.number]
        if isinstance(value, np.ndarray):
            return value
        if value.token is not None:
            return self._keeper.held(value.token, self._number)
        found = self._arrays[value.refs[self._place].number]
        if not value.sparse:
            return found
        whole = np.empty(self._keeper.n_rows(self._number), found.dtype)
        whole[self.numbers] = found
        return whole


def _without_zeros(table: np.ndarray) -> np.ndarray | Cells:
    """Where few rows moved, few cells are worth a message."""
    filled = table.ravel() != 0  # of truth values, unlike of numbers, numpy finds and counts those set in no time
    if MOST_CELLS * np.count_nonzero(filled) > table.size:
        return table
    where = np.flatnonzero(filled)
    return Cells(where, table.ravel()[where])


def rows_of(corpus: Corpus, which: Any) -> Corpus:
    """All rows of a partition, a slice of them, or some by number."""
    if which is None:
        return corpus
    if isinstance(which, slice):
        return rows_between(corpus, which.start, which.stop)
    return some_rows(corpus, which)


def _mine(values: Any) -> Any:
    """Arrays that a kernel may write into: those that arrive in messages are read-only, and aligned as it comes."""
    return replaced(values, lambda array: np.require(array, requirements=["C", "A", "W"]))
