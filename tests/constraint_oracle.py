"""The rules for constraint weights once more, pair by pair in plain Python; imports nothing from the code it checks.

``must`` and ``cannot`` are lists of (i, j, weight); groups and labels are lists with None for unknown.
"""

from __future__ import annotations

from itertools import combinations
from math import inf


def distinct(pairs):
    """Each pair once, i < j, with its largest weight."""
    found = {}
    for i, j, weight in pairs:
        key = (min(i, j), max(i, j))
        found[key] = max(weight, found.get(key, 0.0))
    return found


def inside(groups, weight):
    """All pairs of rows in one group."""
    known = [] if groups is None else [row for row, group in enumerate(groups) if group is not None]
    return {(i, j): weight for i, j in combinations(known, 2) if groups[i] == groups[j]}


def between(labels, weight):
    """All pairs of rows with different known labels."""
    known = [] if labels is None else [row for row, label in enumerate(labels) if label is not None]
    return {(i, j): weight for i, j in combinations(known, 2) if labels[i] != labels[j]}


def components(n, sources, counts):
    """Component of each row over the pairs whose weight counts, by smallest row; lone rows have their own."""
    owner = list(range(n))
    for source in sources:
        for (i, j), weight in source.items():
            if counts(weight) and owner[i] != owner[j]:
                low, high = sorted((owner[i], owner[j]))
                owner = [low if x == high else x for x in owner]
    return owner


class Oracle:
    """Weights of all penalised pairs of one set of constraints."""

    def __init__(
        self,
        n,
        must,
        cannot,
        *,
        labels=None,
        must_groups=None,
        cannot_groups=None,
        group_weights=(1.0, 1.0),
        infer=True,
    ):
        self.n = n
        must_weight, cannot_weight = group_weights
        must_sources = [distinct(must), inside(must_groups, must_weight), inside(labels, must_weight)]
        class_pairs = between(labels, cannot_weight)
        cannot_sources = [distinct(cannot)]
        additive = [inside(cannot_groups, cannot_weight)]
        # Classes of weightless must-links tie nothing together: their cannot-links stay at the labelled rows.
        (cannot_sources if must_weight > 0 else additive).append(class_pairs)

        self.node = components(n, must_sources, lambda w: w == inf)
        self.component = components(n, must_sources, lambda w: w > 0)
        self.hard = {p for source in (*cannot_sources, *additive) for p, w in source.items() if w == inf}
        self.contradiction = any(self.node[i] == self.node[j] for i, j in self.hard)
        inner = self._inner(must_sources)
        cross = self._cross(cannot_sources, inner)
        self.must, self.cannot = {}, {}
        for i, j in combinations(range(n), 2):
            p, q = self.component[i], self.component[j]
            entailed = 0.0
            if infer:
                entailed = inner[p] if p == q else cross.get((min(p, q), max(p, q)), 0.0)
            if self.node[i] != self.node[j]:
                base = entailed if p == q and entailed < inf else 0.0
                self.must[i, j] = base + self._extra(must_sources, (i, j), base)
            base = entailed if p != q else 0.0
            self.cannot[i, j] = self._extra(additive, (i, j), 0.0)
            if base < inf:
                self.cannot[i, j] += base + self._extra(cannot_sources, (i, j), base)

    def _inner(self, sources):
        inner = dict.fromkeys(range(self.n), inf)
        for source in sources:
            for (i, j), weight in source.items():
                if weight > 0 and self.node[i] != self.node[j]:
                    inner[self.component[i]] = min(inner[self.component[i]], weight)
        return inner

    def _cross(self, sources, inner):
        joins = {}
        for source in sources:
            for (i, j), weight in source.items():
                p, q = sorted((self.component[i], self.component[j]))
                if weight > 0 and p != q:
                    joins.setdefault((p, q), []).append(weight)
        cross = {}
        for (p, q), weights in joins.items():
            lone = inner[p] == inf and inner[q] == inf
            cross[p, q] = inf if lone and inf in weights else min(*weights, inner[p], inner[q])
        return cross

    @staticmethod
    def _extra(sources, pair, base):
        return sum(source[pair] - base for source in sources if 0 < source.get(pair, 0) < inf)

    def total(self, labels):
        """Summed weight of the violated pairs under Potts penalties, inf if a hard constraint is violated."""
        if any(labels[i] != labels[self.node[i]] for i in range(self.n)):
            return inf
        if any(labels[i] == labels[j] for i, j in self.hard):
            return inf
        apart = sum(w for (i, j), w in self.must.items() if labels[i] != labels[j])
        return apart + sum(w for (i, j), w in self.cannot.items() if labels[i] == labels[j])


def graph_total(graph, labels):
    """The same total from a PenaltyGraph: listed pairs, blocks and links; labels of all rows of the data."""
    at = [labels[row] for row in graph.rows]
    for node in range(len(graph.node_ptr) - 1):
        rows = graph.node_rows[graph.node_ptr[node] : graph.node_ptr[node + 1]]
        if len({at[row] for row in rows}) > 1:
            return inf
        for end in graph.hard_node[graph.hard_ptr[node] : graph.hard_ptr[node + 1]]:
            if at[rows[0]] == at[graph.node_rows[graph.node_ptr[end]]]:
                return inf
    total = 0.0
    for i, j, kind, weight in zip(graph.pair_first, graph.pair_second, graph.pair_kind, graph.pair_weight, strict=True):
        total += weight * ((at[i] == at[j]) if kind < 0 else (at[i] != at[j]))
    blocks = [
        [at[row] for row in graph.block_rows[graph.block_ptr[b] : graph.block_ptr[b + 1]]]
        for b in range(len(graph.block_weight))
    ]
    for b, (mine, weight) in enumerate(zip(blocks, graph.block_weight, strict=True)):
        same = sum(x == y for x, y in combinations(mine, 2))
        total += weight * (len(mine) * (len(mine) - 1) // 2 - same) if weight > 0 else -weight * same
        for k in range(graph.link_ptr[b], graph.link_ptr[b + 1]):
            other = blocks[graph.link_block[k]]
            total += 0.5 * graph.link_weight[k] * sum(x == y for x in mine for y in other)
    return total
