"""Which pairs are penalised by how much: given ones, and those that given ones entail.

Weights follow three rules. An entailed must-link weighs as much as the weakest given must-link of its neighbourhood; an
entailed cannot-link as much as the weakest of the given cannot-links that join its two neighbourhoods and of these
neighbourhoods' own must-links (a chain is as strong as its weakest link). A given pair weighs what was given; where
several sources name it (pair list, group, class), each adds what it has above the entailed weight. Cannot-link groups
stay at their rows: nothing is entailed from them, and they add to whatever else penalises a pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hmrf_fast.components import components, must_link_edges
from hmrf_fast.enumeration import Listed, join
from hmrf_fast.groups import Grouping
from hmrf_fast.neighborhoods import Resolved


class Layout(NamedTuple):
    """The rows that constraints of positive weight touch; everything else here counts positions among them."""

    rows: np.ndarray  # (r,) int64 ascending
    position: np.ndarray  # (n_rows,) int64, -1 for untouched rows
    node: np.ndarray  # (r,) int64: rows tied by hard must-links share one
    component: np.ndarray  # (r,) int64: rows tied by must-links of positive weight share one; lone rows have their own
    n_nodes: int
    n_components: int


class Family(NamedTuple):
    """Disjoint sets of rows, with a weight for all pairs inside a set and one for all cross pairs of two sets."""

    codes: np.ndarray  # (r,) the set of each row, or -1
    kind: int  # +1: pairs inside are must-links, -1: cannot-links
    weight: np.ndarray  # (s,) >= 0
    left: np.ndarray  # (l,) sets joined by cannot-links
    right: np.ndarray  # (l,)
    link_weight: np.ndarray  # (l,) >= 0


class _Closure(NamedTuple):
    """Entailed weights."""

    inner: np.ndarray  # (n_components,) float64, inf where all rows are one node
    key: np.ndarray  # (j,) int64 ascending, low component * n_components + high one, of joined components
    cross: np.ndarray  # (j,) float64, inf where a hard cannot-link says it all


def build_layout(resolved: Resolved) -> Layout:
    """Find the touched rows, their nodes and their components."""
    touched = _touched(resolved)
    rows = np.flatnonzero(touched)
    position = np.where(touched, np.cumsum(touched) - 1, -1)
    node, component = (
        components(resolved.n_rows, *must_link_edges(resolved, strength), touched)[rows].astype(np.int64)
        for strength in ("hard", "positive")
    )
    return Layout(rows, position, node, component, int(node.max(initial=-1)) + 1, int(component.max(initial=-1)) + 1)


def _touched(resolved: Resolved) -> np.ndarray:
    touched = np.zeros(resolved.n_rows, dtype=bool)
    touched[resolved.must_link[resolved.must_link_weight > 0]] = True
    touched[resolved.cannot_link[resolved.cannot_link_weight > 0]] = True
    must, cannot = resolved.must_link_group_weight, resolved.cannot_link_group_weight
    sets = ((resolved.must_link_groups, must), (resolved.labels, must), (resolved.cannot_link_groups, cannot))
    for grouping, weight in sets:
        if grouping is not None and weight > 0:
            known = grouping.codes >= 0
            counts = np.bincount(grouping.codes[known], minlength=grouping.ids.size)
            touched[known] |= counts[grouping.codes[known]] > 1
    if resolved.labels is not None and cannot > 0 and resolved.labels.ids.size > 1:
        touched |= resolved.labels.codes >= 0
    return touched


def penalised(resolved: Resolved, layout: Layout, infer: bool) -> tuple[Listed, list[Family]]:
    """Collect everything soft that costs something when violated.

    Parameters
    ----------
    resolved : Resolved
    layout : Layout
    infer : bool
        Whether entailed pairs are penalised.

    Returns
    -------
    listed : Listed
        Given pairs, with what they weigh beyond their entailed weight.
    families : list of Family
        Neighbourhoods, then classes, must-link groups and cannot-link groups with what they add.
    """
    closure = _closure(resolved, layout) if infer else None
    listed = join([_given_must_links(resolved, layout, closure), _given_cannot_links(resolved, layout, closure)])
    families = []
    if closure is not None:
        families.append(_neighbourhoods(layout, closure))
    for grouping, has_links in ((resolved.labels, True), (resolved.must_link_groups, False)):
        if grouping is not None:
            family = _must_link_family(resolved, layout, closure, grouping, has_links)
            if closure is not None and resolved.must_link_group_weight > 0:
                family = _absorb(layout, families[0], family)
            families.append(family)
    weight = resolved.cannot_link_group_weight
    if resolved.cannot_link_groups is not None and np.isfinite(weight):
        groups = resolved.cannot_link_groups
        families.append(_family(groups.codes[layout.rows], -1, np.full(groups.ids.size, weight)))
    return listed, families


def _family(codes: np.ndarray, kind: int, weight: np.ndarray) -> Family:
    return Family(codes, kind, weight, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def _soft(pairs: np.ndarray, weight: np.ndarray, layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    soft = (weight > 0) & np.isfinite(weight)
    first, second = layout.position[pairs[soft]].T
    return first, second, weight[soft]


def _given_must_links(resolved: Resolved, layout: Layout, closure: _Closure | None) -> Listed:
    first, second, weight = _soft(resolved.must_link, resolved.must_link_weight, layout)
    apart = layout.node[first] != layout.node[second]
    first, second, weight = first[apart], second[apart], weight[apart]
    if closure is not None:
        weight = weight - closure.inner[layout.component[first]]
    return Listed(first, second, np.ones(first.size, np.int8), weight)


def _given_cannot_links(resolved: Resolved, layout: Layout, closure: _Closure | None) -> Listed:
    first, second, weight = _soft(resolved.cannot_link, resolved.cannot_link_weight, layout)
    if closure is not None:
        weight = _beyond(weight, layout.component[first], layout.component[second], layout, closure)
    return Listed(first, second, np.full(first.size, -1, np.int8), weight)


def _keys(p: np.ndarray, q: np.ndarray, layout: Layout) -> np.ndarray:
    return np.minimum(p, q).astype(np.int64) * layout.n_components + np.maximum(p, q)


def _beyond(weight: np.ndarray, p: np.ndarray, q: np.ndarray, layout: Layout, closure: _Closure) -> np.ndarray:
    """What cannot-links between components p and q add to the entailed weight; inside one nothing is entailed."""
    extra = weight.copy()
    across = p != q
    entailed = closure.cross[np.searchsorted(closure.key, _keys(p[across], q[across], layout))]
    extra[across] = np.where(np.isinf(entailed), 0.0, weight[across] - entailed)
    return extra


def _first_position(codes: np.ndarray, n_sets: int) -> np.ndarray:
    """The first position of each set, 0 for sets without any."""
    first = np.zeros(n_sets, dtype=np.int64)
    known = np.flatnonzero(codes >= 0)[::-1]
    first[codes[known]] = known
    return first


def _spans_nodes(codes: np.ndarray, node: np.ndarray, n_sets: int) -> np.ndarray:
    """Whether a set holds rows of two or more nodes."""
    known = codes >= 0
    spans = np.zeros(n_sets, dtype=bool)
    of_first = node[_first_position(codes, n_sets)] if node.size else np.zeros(n_sets, np.int64)
    spans[codes[known][node[known] != of_first[codes[known]]]] = True
    return spans


def _closure(resolved: Resolved, layout: Layout) -> _Closure:
    inner = np.full(layout.n_components, np.inf)
    first, second, weight = _soft(resolved.must_link, resolved.must_link_weight, layout)
    apart = layout.node[first] != layout.node[second]
    np.minimum.at(inner, layout.component[first[apart]], weight[apart])
    group_weight = resolved.must_link_group_weight
    if 0 < group_weight < np.inf:
        for grouping in (resolved.labels, resolved.must_link_groups):
            if grouping is not None:
                codes = grouping.codes[layout.rows]
                spans = _spans_nodes(codes, layout.node, grouping.ids.size)
                home = layout.component[_first_position(codes, grouping.ids.size)[spans]]
                inner[home] = np.minimum(inner[home], group_weight)
    p, q, weight = _joins(resolved, layout)
    key = _keys(p, q, layout)
    order = np.argsort(key, kind="stable")
    key, weight = key[order], weight[order]
    start = np.flatnonzero(np.diff(key, prepend=-1))
    key = key[start]
    least = np.minimum.reduceat(weight, start) if start.size else np.empty(0)
    hard = np.isinf(np.maximum.reduceat(weight, start)) if start.size else np.empty(0, bool)
    links = np.minimum(inner[key // max(layout.n_components, 1)], inner[key % max(layout.n_components, 1)])
    # Between two nodes a hard cannot-link leaves nothing for soft ones to say.
    return _Closure(inner, key, np.where(hard & np.isinf(links), np.inf, np.minimum(least, links)))


def _joins(resolved: Resolved, layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of components joined by a cannot-link of positive weight, repetitions included."""
    positive = resolved.cannot_link_weight > 0
    ends = layout.component[layout.position[resolved.cannot_link[positive]]]
    left, right, weight = [ends[:, 0]], [ends[:, 1]], [resolved.cannot_link_weight[positive]]
    if _classes_propagate(resolved) and resolved.labels is not None:
        home = _class_homes(resolved.labels, layout)
        a, b = np.triu_indices(home.size, 1)
        left.append(home[a])
        right.append(home[b])
        weight.append(np.full(a.size, resolved.cannot_link_group_weight))
    p, q, w = np.concatenate(left), np.concatenate(right), np.concatenate(weight)
    across = p != q
    return p[across], q[across], w[across]


def _classes_propagate(resolved: Resolved) -> bool:
    # With must-links of weight 0 a class ties nothing together, and its cannot-links stay at the labelled rows.
    return resolved.must_link_group_weight > 0 and resolved.cannot_link_group_weight > 0


def _class_homes(labels: Grouping, layout: Layout) -> np.ndarray:
    codes = labels.codes[layout.rows]
    return layout.component[_first_position(codes, labels.ids.size)] if codes.size else np.empty(0, np.int64)


def _neighbourhoods(layout: Layout, closure: _Closure) -> Family:
    weight = np.where(np.isinf(closure.inner), 0.0, closure.inner)
    soft = np.isfinite(closure.cross)
    key = closure.key[soft]
    size = max(layout.n_components, 1)
    return Family(layout.component, 1, weight, key // size, key % size, closure.cross[soft])


def _must_link_family(
    resolved: Resolved, layout: Layout, closure: _Closure | None, grouping: Grouping, has_links: bool
) -> Family:
    """Classes or must-link groups, with what they add to the entailed weights."""
    must, cannot = resolved.must_link_group_weight, resolved.cannot_link_group_weight
    codes, n_sets = grouping.codes[layout.rows], grouping.ids.size
    weight = np.zeros(n_sets)
    if 0 < must < np.inf:
        spans = _spans_nodes(codes, layout.node, n_sets)
        entailed = 0.0 if closure is None else closure.inner[layout.component[_first_position(codes, n_sets)[spans]]]
        weight[spans] = must - entailed
    family = _family(codes, 1, weight)
    if not (has_links and 0 < cannot < np.inf) or n_sets < 2:
        return family
    a, b = np.triu_indices(n_sets, 1)
    link_weight = np.full(a.size, cannot)
    if closure is not None and _classes_propagate(resolved):
        home = _class_homes(grouping, layout)
        link_weight = _beyond(link_weight, home[a], home[b], layout, closure)
    return family._replace(left=a, right=b, link_weight=link_weight)


def _absorb(layout: Layout, neighbourhoods: Family, family: Family) -> Family:
    """Give the weights of sets that are whole neighbourhoods to these, and return what remains."""
    n_sets = family.weight.size
    if layout.rows.size == 0:
        return family
    home = layout.component[_first_position(family.codes, n_sets)]
    sizes = np.bincount(family.codes[family.codes >= 0], minlength=n_sets)
    whole = (sizes > 0) & (sizes == np.bincount(layout.component, minlength=layout.n_components)[home])
    np.add.at(neighbourhoods.weight, home[whole], family.weight[whole])
    both = whole[family.left] & whole[family.right] & (family.link_weight > 0)
    wanted = _keys(home[family.left[both]], home[family.right[both]], layout)
    np.add.at(
        neighbourhoods.link_weight,
        np.searchsorted(_keys(neighbourhoods.left, neighbourhoods.right, layout), wanted),
        family.link_weight[both],
    )
    return family._replace(
        weight=np.where(whole, 0.0, family.weight), link_weight=np.where(both, 0.0, family.link_weight)
    )
