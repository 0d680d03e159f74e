"""Cannot-links inside a must-link component, each with the chain of given must-links that proves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from hmrf_fast.components import Strength, has_strength, must_link_sets

if TYPE_CHECKING:
    from hmrf_fast.groups import Grouping
    from hmrf_fast.neighborhoods import Resolved

MAX_CHAINS = 100
MAX_CHAIN_ROWS = 100_000  # all chains together: thousand-row chains are proofs nobody reads
_SHOWN = 12


class Contradiction(NamedTuple):
    """A cannot-link whose two rows given must-links tie together."""

    pair: tuple[int, int]  # the cannot-linked rows i < j
    chain: tuple[int, ...]  # rows from i to j along given must-links, as few as possible
    hard: bool  # the cannot-link and every link of the chain are hard
    cannot_link: str  # "" for a given pair, else the group or the classes that say so
    steps: tuple[str, ...]  # for each link of the chain "" for a given pair, else its group or class


def describe(contradiction: Contradiction) -> str:
    """Tell a contradiction in one sentence.

    Parameters
    ----------
    contradiction : Contradiction

    Returns
    -------
    str
        For example ``"cannot-link (0, 2) contradicts the must-links 0-1-2"``. Long chains are shortened.
    """
    (i, j), chain = contradiction.pair, contradiction.chain
    subject = f"cannot-link ({i}, {j})" + (f" of {contradiction.cannot_link}" if contradiction.cannot_link else "")
    if len(chain) > _SHOWN:
        shown = "-".join(map(str, chain[:5])) + "-...-" + "-".join(map(str, chain[-3:])) + f" ({len(chain)} rows)"
    else:
        shown = "-".join(map(str, chain))
    told = [f"{a}-{b} by {step}" for a, b, step in zip(chain, chain[1:], contradiction.steps, strict=False) if step]
    origin = f" ({', '.join(told[:5])}{', ...' if len(told) > 5 else ''})" if told else ""
    return f"{subject} contradicts the must-link{'s' if len(chain) > 2 else ''} {shown}{origin}"


def find_contradictions(
    given: Resolved, component: np.ndarray, strength: Strength
) -> tuple[tuple[Contradiction, ...], int]:
    """List cannot-links inside must-link components.

    A given pair is one contradiction; a cannot-link group is one per component that holds two or more of its rows; of c
    classes tied together, c - 1 pairs of neighbouring classes are named.

    Parameters
    ----------
    given : Resolved
    component : ndarray of shape (n,), int32
        Components of the must-links of this strength.
    strength : {"given", "positive", "hard"}
        Which must-links and which cannot-links to look at; "hard" means both are hard.

    Returns
    -------
    contradictions : tuple of Contradiction
        The first ``MAX_CHAINS`` of them, given pairs first.
    count : int
        How many there are.
    """
    candidates = [_inside_pairs(given, component, strength)]
    if has_strength(given.cannot_link_group_weight, strength):
        if given.cannot_link_groups is not None:
            candidates.append(_inside_groups(given.cannot_link_groups, component))
        if given.labels is not None:
            candidates.append(_tied_classes(given.labels, component))
    shown: list[tuple[tuple[int, int], str]] = []
    for candidate in candidates:
        shown += [candidate.told(k) for k in range(min(len(candidate.pairs), MAX_CHAINS - len(shown)))]
    chains = _chains(given, [pair for pair, _ in shown], strength) if shown else []
    found = (
        Contradiction(pair, chain, strength == "hard", source, steps)
        for (pair, source), (chain, steps) in zip(shown, chains, strict=False)
    )
    return tuple(found), sum(len(candidate.pairs) for candidate in candidates)


class _Candidates(NamedTuple):
    """Cannot-links inside a component, from one source."""

    pairs: np.ndarray  # (k, 2) rows
    codes: np.ndarray  # (k, 1) the group, or (k, 2) the two classes, or (k, 0)
    grouping: Grouping | None

    def told(self, k: int) -> tuple[tuple[int, int], str]:
        low, high = sorted(self.pairs[k].tolist())
        if self.grouping is None:
            return (low, high), ""
        names = [self.grouping.name(code) for code in self.codes[k]]
        return (low, high), f"group {names[0]}" if len(names) == 1 else f"classes {names[0]} and {names[1]}"


def _inside_pairs(given: Resolved, component: np.ndarray, strength: Strength) -> _Candidates:
    first, second = given.cannot_link.T
    inside = (component[first] == component[second]) & (component[first] >= 0)
    pairs = given.cannot_link[inside & has_strength(given.cannot_link_weight, strength)]
    return _Candidates(pairs, np.empty((len(pairs), 0), dtype=np.int64), None)


def _by_cell(major: np.ndarray, minor: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows known on both sides, sorted by (major, minor, row), with the two codes."""
    rows = np.flatnonzero((major >= 0) & (minor >= 0))
    rows = rows[np.lexsort((minor[rows], major[rows]))]
    return rows, major[rows], minor[rows]


def _inside_groups(groups: Grouping, component: np.ndarray) -> _Candidates:
    rows, code, inside = _by_cell(groups.codes, component)
    same = (code[1:] == code[:-1]) & (inside[1:] == inside[:-1])
    start = np.ones(rows.size, dtype=bool)
    start[1:] = (code[1:] != code[:-1]) | (inside[1:] != inside[:-1])
    at = np.flatnonzero(same & start[:-1])  # the first two rows of a cell prove it; more would only repeat it
    return _Candidates(np.column_stack([rows[at], rows[at + 1]]), code[at, None], groups)


def _tied_classes(labels: Grouping, component: np.ndarray) -> _Candidates:
    rows, inside, code = _by_cell(component, labels.codes)
    start = np.ones(rows.size, dtype=bool)
    start[1:] = (code[1:] != code[:-1]) | (inside[1:] != inside[:-1])
    rows, inside, code = rows[start], inside[start], code[start]
    at = np.flatnonzero(inside[1:] == inside[:-1])
    pairs = np.column_stack([rows[at], rows[at + 1]])
    return _Candidates(pairs, np.column_stack([code[at], code[at + 1]]), labels)


def _link_graph(given: Resolved, strength: Strength) -> tuple[sp.csr_array, list[str]]:
    """Must-links as a symmetric graph in which every group and class is a hub node after the rows."""
    pairs = given.must_link[has_strength(given.must_link_weight, strength)]
    names: list[str] = []
    first, second = [pairs[:, 0]], [pairs[:, 1]]
    for noun, grouping in must_link_sets(given, strength):
        rows = np.flatnonzero(grouping.codes >= 0)
        first.append(rows)
        second.append(given.n_rows + len(names) + grouping.codes[rows])
        names += [f"{noun} {grouping.name(code)}" for code in range(grouping.ids.size)]
    left, right = np.concatenate(first), np.concatenate(second)
    size = given.n_rows + len(names)
    ends = (np.concatenate([left, right]), np.concatenate([right, left]))
    return sp.csr_array((np.ones(2 * left.size), ends), shape=(size, size)), names


def _chains(
    given: Resolved, pairs: list[tuple[int, int]], strength: Strength
) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    graph, hubs = _link_graph(given, strength)
    n_rows = graph.shape[0] - len(hubs)
    chains, total, source, parent = [], 0, -1, np.empty(0)
    for i, j in pairs:
        if i != source:
            source = i
            _, parent = breadth_first_order(graph, i, directed=True)
        chain, steps, node, step = [j], [], j, ""
        while node != i:
            node = int(parent[node])
            if node >= n_rows:
                step = hubs[node - n_rows]
            else:
                chain.append(node)
                steps.append(step)
                step = ""
        chains.append((tuple(reversed(chain)), tuple(reversed(steps))))
        total += len(chain)
        if total > MAX_CHAIN_ROWS:
            break
    return chains
