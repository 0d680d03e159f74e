"""The order in which constrained rows are visited: it follows from what they hold and from what is said of them, not
from where they stand.

Sweeps, block moves and placements go through nodes, components and pairs one after the other, so their results depend
on an order. Rows are put in order by a hash of their content; rows that are equal by their constraint partners, the
partners of these, and so on (Weisfeiler and Leman 1968). Only rows that are still equal then, so that nothing tells
them apart but their number, or so deep in a chain of equal rows that it takes more rounds than ``ROUNDS``, keep the
order in which they were given.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.components import smallest_first
from hmrf_fast.groups import Grouping
from hmrf_fast.kernels.rng import mix
from hmrf_fast.neighborhoods import Resolved
from hmrf_fast.pairs import pair_order
from hmrf_fast.rows.interface import Rows
from hmrf_fast.rows.keys import row_keys

ROUNDS = 8


def canonical_order(rows: Rows, resolved: Resolved, sample_weight: np.ndarray, n_threads: int) -> np.ndarray:
    """(n,) row numbers, those that constraints name first, in an order that does not depend on where they stand.

    Cost: non-zeros of these rows, and constraints; a few times as much where some of them are equal.
    """
    named = named_rows(resolved)
    wanted = np.flatnonzero(named)
    content = row_keys(rows, n_threads, wanted)[wanted]
    keys = mix(content, sample_weight[wanted].view(np.uint64))
    order, distinct = _sorted(keys)
    for _ in range(ROUNDS):
        if distinct == keys.size:
            break
        keys = _told_apart(keys, wanted, resolved)
        before = distinct
        order, distinct = _sorted(keys)
        if distinct == before:
            break
    return np.concatenate([wanted[order], np.flatnonzero(~named)])


def _sorted(keys: np.ndarray) -> tuple[np.ndarray, int]:
    """The order of keys (w,), and how many of them are different."""
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    return order, int(np.count_nonzero(ascending[1:] != ascending[:-1])) + min(keys.size, 1)


def named_rows(resolved: Resolved) -> np.ndarray:
    """(n,) bool: the rows that any constraint names, whatever its weight."""
    named = np.zeros(resolved.n_rows, bool)
    named[resolved.must_link] = named[resolved.cannot_link] = True
    for grouping in (resolved.labels, resolved.must_link_groups, resolved.cannot_link_groups):
        if grouping is not None:
            named |= grouping.codes >= 0
    return named


def _told_apart(keys: np.ndarray, wanted: np.ndarray, resolved: Resolved) -> np.ndarray:
    """(w,) keys that hold what each row's partners were known by; sums of hashes do not depend on any order."""
    position = np.full(resolved.n_rows, -1)
    position[wanted] = np.arange(wanted.size)
    heard = np.zeros(keys.size, np.uint64)
    links = ((resolved.must_link, resolved.must_link_weight), (resolved.cannot_link, resolved.cannot_link_weight))
    for salt, (pairs, weight) in enumerate(links):
        strength = mix(np.ascontiguousarray(weight, np.float64).view(np.uint64), np.uint64(salt))
        for here, there in ((0, 1), (1, 0)):
            np.add.at(heard, position[pairs[:, here]], mix(strength, keys[position[pairs[:, there]]]))
    groupings = (resolved.labels, resolved.must_link_groups, resolved.cannot_link_groups)
    for salt, grouping in enumerate(groupings, 2):
        if grouping is not None:
            codes = grouping.codes[wanted]
            known = codes >= 0
            total = np.zeros(grouping.ids.size, np.uint64)
            np.add.at(total, codes[known], mix(keys[known], np.uint64(salt)))
            heard[known] += mix(total[codes[known]], np.uint64(salt))
    return mix(keys, heard)


def in_order(resolved: Resolved, order: np.ndarray) -> Resolved:
    """The same constraints over rows renumbered so that row ``order[k]`` is row k; classes and groups are numbered by
    their first rows, so that their names do not matter either. What neighbourhoods a class seeds is left as it was."""
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    must, must_weight = _ranked(resolved.must_link, resolved.must_link_weight, rank)
    cannot, cannot_weight = _ranked(resolved.cannot_link, resolved.cannot_link_weight, rank)
    return resolved._replace(
        must_link=must,
        must_link_weight=must_weight,
        cannot_link=cannot,
        cannot_link_weight=cannot_weight,
        labels=_regrouped(resolved.labels, order),
        must_link_groups=_regrouped(resolved.must_link_groups, order),
        cannot_link_groups=_regrouped(resolved.cannot_link_groups, order),
    )


def neighborhoods_in_order(resolved: Resolved, order: np.ndarray) -> Resolved:
    """The same constraints over the same rows, with neighbourhoods numbered by the first of their rows in ``order``."""
    rank = smallest_first(resolved.component[order])
    return resolved._replace(
        component=_renumbered(resolved.component, rank),
        component_sizes=resolved.component_sizes[np.argsort(rank)],
        class_component=rank[resolved.class_component],
    )


def _ranked(pairs: np.ndarray, weight: np.ndarray, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = rank[pairs[:, 0]], rank[pairs[:, 1]]
    low, high = np.minimum(first, second), np.maximum(first, second)
    order = pair_order(low, high)
    return np.column_stack([low[order], high[order]]), weight[order]


def _regrouped(grouping: Grouping | None, order: np.ndarray) -> Grouping | None:
    if grouping is None:
        return None
    codes = grouping.codes[order]
    return Grouping(_renumbered(codes, smallest_first(codes, grouping.ids.size)), grouping.ids)


def _renumbered(codes: np.ndarray, rank: np.ndarray) -> np.ndarray:
    known, result = codes >= 0, np.full(codes.size, -1, np.int32)
    result[known] = rank[codes[known]]
    return result
