"""The client's side of the keepers: who holds which partitions, what they were told before, and new ones for lost
ones."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.rows.interface import numbers_in
from hmrf_fast.rows.keeper import Cells, Keeper, Order, Packet, Part, carried, replaced
from hmrf_fast.rows.window import Place, Window, new_file

FEW = 4  # keepers up to which tables go straight to each and come back from each
MOST_LOSSES = 20  # of keepers, in one pass


class Pass(NamedTuple):
    """What a pass is about; see ``Rows.map`` and ``Rows.add``."""

    task: Callable
    inputs: tuple
    outputs: tuple
    shared: tuple
    wanted: np.ndarray | None
    stays: bool
    total: tuple | None = None


class Hand:
    """A keeper, seen from the client."""

    def __init__(self, future: Any, numbers: list[int]):
        self.future, self.numbers = future, numbers
        self.actor = future.result()
        self.held: set[int] = set()
        self.incoming: Window | None = None
        self.outgoing: Window | None = None

    def unpacked(self, reply: tuple[Any, list]) -> Any:
        """What a reply says; good until the keeper gives the next one."""
        skeleton, arrays = reply
        found = [self.outgoing.at(one) if isinstance(one, Place) else one for one in arrays]  # type: ignore[union-attr]
        return replaced(skeleton, lambda one: one if isinstance(one, np.ndarray) else found[one.number])


class _Tokens:
    """Names for arrays as long as they live."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref, int]] = {}
        self.gone: set[int] = set()
        self._next = 0

    def of(self, array: np.ndarray) -> int:
        found = self._known.get(id(array))
        if found is not None and found[0]() is array:
            return found[1]
        token, self._next, place, known, gone = self._next, self._next + 1, id(array), self._known, self.gone

        def forget(_: weakref.ref) -> None:
            gone.add(token)
            if place in known and known[place][1] == token:
                del known[place]

        known[place] = weakref.ref(array, forget), token
        return token


class Crew:
    """The keepers of a set of partitions.

    Parameters
    ----------
    client : distributed.Client
    parts : list of Future
        One corpus each.
    bounds : ndarray of shape (p + 1,)
        Rows of the partitions.
    """

    def __init__(self, client: Any, parts: list[Any], bounds: np.ndarray):
        self.client, self.parts, self.bounds = client, parts, bounds.tolist()
        self._hands: list[Hand] = []
        self._tokens = _Tokens()
        self._lock = threading.Lock()

    def run(self, what: Pass) -> list[Any]:
        """Results of the partitions that hold any of the wanted rows, in order; outputs are written."""
        with self._lock:
            results = {}
            for hand, chosen, reply in self._ask(what, self._chosen(what.wanted), False):
                for number, (result, changed) in zip(chosen, hand.unpacked(reply), strict=True):
                    results[number] = replaced(result, np.copy)
                    for values, part in zip(what.outputs, changed, strict=True):
                        if values.size:
                            values[self.bounds[number] : self.bounds[number + 1]] = part
            return [results[number] for number in sorted(results)]

    def add(self, what: Pass, total: np.ndarray) -> None:
        """Add the sums of all those partitions to a table."""
        with self._lock:
            for table in self._sums(what, total):
                if isinstance(table, Cells):
                    total.reshape(-1)[table.where] += table.values
                else:
                    total += table

    def _sums(self, what: Pass, total: np.ndarray) -> Iterator[np.ndarray | Cells]:
        """Tables to add in this order."""
        chosen, losses = self._chosen(what.wanted), 0
        whole = total.dtype.kind != "f"
        while True:
            waits = whole and len(self._staff(chosen)) > FEW
            replies = self._ask(what, chosen, waits)
            if not waits:
                break
            try:
                return iter([self._meet([hand for hand, _, _ in replies])])
            except (OSError, RuntimeError, KeyError):
                losses += 1
                if losses > MOST_LOSSES:
                    raise
                self._hands = []
        if whole:
            return iter([hand.unpacked(reply) for hand, _, reply in replies])
        tables = {n: one for hand, mine, reply in replies for n, one in zip(mine, hand.unpacked(reply), strict=True)}
        return iter([tables[number] for number in sorted(tables)])

    def _meet(self, hands: list[Hand]) -> np.ndarray:
        """The sum of the tables that wait at keepers, by pairwise additions among these."""
        while len(hands) > 1:
            calls = [one.actor.absorb(other.actor) for one, other in zip(hands[::2], hands[1::2], strict=False)]
            for call in calls:
                call.result()
            hands = hands[::2]
        return hands[0].actor.waiting().result()

    def _chosen(self, wanted: np.ndarray | None) -> list[int]:
        """Partitions that hold any of the wanted rows."""
        spans = list(zip(self.bounds[:-1], self.bounds[1:], strict=True))
        seen = np.ones(len(spans), bool) if wanted is None else np.diff(np.searchsorted(wanted, self.bounds)) > 0
        return [number for number, (first, last) in enumerate(spans) if last > first and seen[number]]

    def _ask(self, what: Pass, chosen: list[int], waits: bool) -> list[tuple[Hand, list[int], tuple]]:
        """Replies of the keepers of the chosen partitions; who lost one asks a new keeper for what it was to do."""
        left, replies, losses = set(chosen), [], 0
        while left:
            work = [(hand, sorted(left.intersection(hand.numbers))) for hand in self._staff(sorted(left))]
            for hand, mine, call in self._send(what, work, waits):
                try:
                    replies.append((hand, mine, call.result()))
                    left.difference_update(mine)
                except BaseException as error:
                    losses += 1
                    if losses > MOST_LOSSES or not _is_lost(hand, error):
                        self._hands = []  # who knows what they hold now, and whether they still read their windows
                        raise
                    self._hands.remove(hand)
        return replies

    def _staff(self, numbers: list[int]) -> list[Hand]:
        """The keepers of the given partitions, made where there are none."""
        missing = sorted(set(numbers).difference(*(hand.numbers for hand in self._hands)))
        if missing:
            self._hands += self._hire(missing)
        return [hand for hand in self._hands if not set(numbers).isdisjoint(hand.numbers)]

    def _hire(self, numbers: list[int]) -> list[Hand]:
        """One keeper per worker that has any of the given partitions."""
        from distributed import wait

        futures = [self.parts[number] for number in numbers]
        wait(futures)
        where = self.client.who_has(futures)
        groups: dict[str, list[int]] = {}
        for number, future in zip(numbers, futures, strict=True):
            groups.setdefault(min(where.get(future.key) or [""]), []).append(number)
        submitted = []
        for address, mine in groups.items():
            firsts, corpora = [self.bounds[number] for number in mine], [self.parts[number] for number in mine]
            place = {"workers": [address], "allow_other_workers": True} if address else {}
            submitted.append((self.client.submit(Keeper, firsts, corpora, actor=True, pure=False, **place), mine))
        hands = [Hand(future, mine) for future, mine in submitted]
        _open_windows(hands)
        return hands

    def _send(self, what: Pass, work: list[tuple[Hand, list[int]]], waits: bool) -> list[tuple[Hand, list[int], Any]]:
        """Give their orders to all keepers; returns the calls to wait for."""
        packets, orders = [], []
        for hand, mine in work:
            packet = Packet()
            shared, n_shared = packet.add(what.shared), len(packet.arrays)
            orders.append(self._order(what, hand, mine, packet, waits)._replace(shared=shared))
            packets.append(packet)
        self._tokens.gone.intersection_update(set().union(*(hand.held for hand in self._hands)))
        calls, groups = [], {hand.incoming for hand, _ in work}
        for window in groups:
            which = [k for k, (hand, _) in enumerate(work) if hand.incoming is window]
            common = None
            if window is None and len(which) > FEW and n_shared:
                # From worker to worker, instead of from here to each.
                common = self.client.scatter([packets[which[0]].arrays[:n_shared]], broadcast=True, hash=False)[0]
            skipped = n_shared if common is not None else 0
            for k, arrays in zip(which, carried([packets[k] for k in which], window, skipped), strict=True):
                order = orders[k]._replace(common=None if common is None else common.key)
                calls.append((*work[k], _Call(work[k][0], order, arrays, common)))
        return calls

    def _order(self, what: Pass, hand: Hand, mine: list[int], packet: Packet, waits: bool) -> Order:
        spans = {number: (self.bounds[number], self.bounds[number + 1]) for number in hand.numbers}
        forget = tuple(hand.held & self._tokens.gone)
        hand.held.difference_update(forget)
        numbers = {number: numbers_in(what.wanted, *spans[number]) for number in hand.numbers}

        def part(array: np.ndarray, keep: bool) -> Any:
            if not array.size:
                return array
            token = self._tokens.of(array) if keep else None
            if token in hand.held:
                return Part(token, ())
            sparse = token is None and what.wanted is not None
            parts = (array[slice(*spans[number])] for number in (mine if token is None else hand.numbers))
            if sparse:
                parts = (one[numbers[number]] for one, number in zip(parts, mine, strict=True))
            refs = tuple(packet.add(one) for one in parts)
            if token is not None:
                hand.held.add(token)
            return Part(token, refs, sparse)

        wanted = None
        if what.wanted is not None:
            token = self._tokens.of(what.wanted)
            fresh = token not in hand.held
            wanted = Part(token, tuple(packet.add(numbers[number]) for number in hand.numbers) if fresh else ())
            hand.held.add(token)
        return Order(
            task=what.task,
            chosen=tuple(hand.numbers.index(number) for number in mine),
            wanted=wanted,
            inputs=replaced(what.inputs, lambda array: part(array, array.dtype.kind == "f")),
            outputs=replaced(what.outputs, lambda array: part(array, what.stays)),
            shared=(),
            total=what.total,
            waits=waits,
            common=None,
            forget=forget,
        )


class _Call:
    """A keeper at work; an error already in the asking shows when the result is asked for."""

    def __init__(self, hand: Hand, order: Order, arrays: list, common: Any):
        self._common, self._error = common, None
        try:
            self._call = hand.actor.run(order, arrays)
        except RuntimeError as error:  # the worker is known to be lost
            self._error = error

    def result(self) -> tuple[Any, list]:
        if self._error is not None:
            raise self._error
        return self._call.result()


def _is_lost(hand: Hand, error: BaseException) -> bool:
    """Whether the keeper is gone, not merely its task in trouble."""
    return isinstance(error, OSError | KeyError) or (isinstance(error, RuntimeError) and "Actor" in str(error))


def _open_windows(hands: list[Hand]) -> None:
    """Let the keepers on this machine and the client share memory."""
    mark, paths = os.urandom(16), []
    try:
        paths = [new_file(mark) for _ in range(len(hands) + 1)]
        if None in paths:
            return
        calls = [hand.actor.share(mark, paths[-1], path) for hand, path in zip(hands, paths[:-1], strict=True)]
        incoming = Window(str(paths[-1]))
        for hand, path, call in zip(hands, paths[:-1], calls, strict=True):
            with contextlib.suppress(OSError, RuntimeError, KeyError):  # a keeper lost already is missed soon enough
                if call.result():
                    hand.incoming, hand.outgoing = incoming, Window(str(path))
    finally:
        for path in paths:
            if path is not None:
                os.unlink(path)
