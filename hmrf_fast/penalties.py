"""Constraints -> the one ``PenaltyGraph`` that the E-step works on."""

from __future__ import annotations

from functools import cache

import numpy as np

from hmrf_fast.closure import Layout, build_layout, penalised
from hmrf_fast.enumeration import Bundles, Listed, enumerate_pairs, join, pair_counts
from hmrf_fast.errors import ConstraintError
from hmrf_fast.groups import members_by_code
from hmrf_fast.implicit import Limits, adjacency, realise
from hmrf_fast.kernels.types import PenaltyGraph
from hmrf_fast.neighborhoods import Resolved, check_feasible, resolve
from hmrf_fast.sorting import stable_order
from hmrf_fast.violations import Violations, violations

__all__ = ["Limits", "Violations", "empty_graph", "plan", "violations"]

MAX_HARD_EDGES = 20_000_000


def plan(
    resolved: Resolved,
    *,
    infer: bool | None = None,
    enumerate_all: bool = False,
    n_clusters: int | None = None,
    random_state_seed: int = 0,
    limits: Limits | None = None,
) -> PenaltyGraph:
    """Decide how each constraint is penalised (Basu, Bilenko, Mooney 2004, section 4, with weights per pair).

    The rules for the weights stand at the top of ``closure.py``. Constraints of weight 0 are left out, hard must-links
    contract rows into nodes, hard cannot-links become edges between nodes. The result does not depend on the order or
    orientation in which constraints were given.

    Parameters
    ----------
    resolved : Resolved
    infer : bool, optional
        Whether entailed constraints are penalised too; default: as told to `resolve`.
    enumerate_all : bool, default=False
        List every penalised pair, for metrics without an implicit form; above a limit linear in the number of touched
        rows a deterministic sample stands for the rest.
    n_clusters : int, optional
        If given, constraints that need more clusters are refused, see `check_feasible`.
    random_state_seed : int, default=0
        Seed of that sample.
    limits : Limits, optional
        Where listing ends.

    Returns
    -------
    PenaltyGraph

    Raises
    ------
    InfeasibleError
        See `n_clusters`.
    ConstraintError
        If hard cannot-links between classes or inside groups would need too many edges.

    Warns
    -----
    SampledConstraintsWarning
        If pairs had to be sampled.
    """
    if n_clusters is not None:
        check_feasible(resolved, n_clusters)
    layout = build_layout(resolved)
    given, families = penalised(resolved, layout, resolved.infer if infer is None else infer)
    entailed, blocks = realise(families, layout, limits or Limits(), enumerate_all, random_state_seed)
    pairs = _merge(join([given, entailed]), layout)
    edge_ptr, edge_node, edge_pair = _edges(pairs, layout)
    hard_ptr, hard_node, _ = adjacency(*_hard_edges(resolved, layout), layout.n_nodes)
    node_ptr, node_rows = members_by_code(layout.node, layout.n_nodes)
    unit_ptr, unit_nodes = _units(layout)
    return PenaltyGraph(
        rows=layout.rows.astype(np.int64),
        node_of_row=layout.node.astype(np.int32),
        node_ptr=node_ptr,
        node_rows=node_rows.astype(np.int32),
        pair_first=pairs.first.astype(np.int32),
        pair_second=pairs.second.astype(np.int32),
        pair_kind=pairs.kind,
        pair_weight=pairs.weight,
        edge_ptr=edge_ptr,
        edge_node=edge_node.astype(np.int32),
        edge_pair=edge_pair,
        hard_ptr=hard_ptr,
        hard_node=hard_node.astype(np.int32),
        unit_ptr=unit_ptr,
        unit_nodes=unit_nodes.astype(np.int32),
        **blocks._asdict(),
    )


@cache
def empty_graph() -> PenaltyGraph:
    """The graph of no constraints at all; one object for all callers.

    Returns
    -------
    PenaltyGraph
    """
    return plan(resolve(None, 0))


def first_of_component(graph: PenaltyGraph, n_rows: int) -> np.ndarray:
    """(n,) int64 of every row: the row that names its must-link component, itself where no must-link touches it."""
    unit = np.arange(graph.node_ptr.size - 1)  # of a node: its component, named by its first node
    unit[graph.unit_nodes] = np.repeat(graph.unit_nodes[graph.unit_ptr[:-1]], np.diff(graph.unit_ptr))
    first_row = np.arange(n_rows)
    first_row[graph.rows] = graph.rows[graph.node_rows[graph.node_ptr[:-1]]][unit[graph.node_of_row]]
    return first_row


def _merge(listed: Listed, layout: Layout) -> Listed:
    """Name every pair of rows once per kind, weights summed; must-links inside a node cannot be violated and go."""
    low, high = np.minimum(listed.first, listed.second), np.maximum(listed.first, listed.second)
    matters = (listed.weight != 0) & ((listed.kind < 0) | (layout.node[low] != layout.node[high]))
    bits = int(layout.rows.size).bit_length()
    key = (((low[matters] << bits) | high[matters]) << 1) | (listed.kind[matters] > 0)
    order = stable_order(key, 1 << (2 * bits + 1))
    key = key[order]
    start = np.flatnonzero(np.diff(key, prepend=-1))
    weight = np.add.reduceat(listed.weight[matters][order], start) if start.size else np.empty(0)
    key = key[start][weight != 0]
    first, second = key >> (bits + 1), (key >> 1) & ((1 << bits) - 1)
    return Listed(first, second, (2 * (key & 1) - 1).astype(np.int8), weight[weight != 0])


def _edges(pairs: Listed, layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second = layout.node[pairs.first], layout.node[pairs.second]
    apart = np.flatnonzero(first != second)
    ptr, end, edge = adjacency(first[apart], second[apart], layout.n_nodes)
    return ptr, end, apart[edge]


def _units(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Must-link components of two or more nodes, as nodes."""
    component = np.empty(layout.n_nodes, dtype=np.int64)
    component[layout.node] = layout.component
    ptr, nodes = members_by_code(component, layout.n_components)
    sizes = np.diff(ptr)
    large = sizes > 1
    return np.concatenate([[0], np.cumsum(sizes[large])]), nodes[np.repeat(large, sizes)]


def _hard_edges(resolved: Resolved, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Distinct pairs of nodes that must not share a cluster."""
    pairs = layout.position[resolved.cannot_link[np.isinf(resolved.cannot_link_weight)]]
    ends = [layout.node[pairs]]
    if np.isinf(resolved.cannot_link_group_weight):
        for grouping, between in ((resolved.cannot_link_groups, False), (resolved.labels, True)):
            if grouping is not None and grouping.ids.size:
                ends.append(_set_edges(grouping.codes[layout.rows], grouping.ids.size, between, layout))
    nodes = np.concatenate(ends)
    size = max(layout.n_nodes, 1)
    keys = np.sort(nodes.min(axis=1, initial=size) * size + nodes.max(axis=1, initial=0))
    first, second = np.divmod(keys[np.diff(keys, prepend=-1) > 0], size)
    return first, second


def _set_edges(codes: np.ndarray, n_sets: int, between: bool, layout: Layout) -> np.ndarray:
    """Edges between the nodes inside each set, or between the nodes of different sets."""
    known = codes >= 0
    cells = np.unique(codes[known].astype(np.int64) * layout.n_nodes + layout.node[known])
    of_set, nodes = np.divmod(cells, max(layout.n_nodes, 1))
    ptr = np.zeros(n_sets + 1, dtype=np.int64)
    np.cumsum(np.bincount(of_set, minlength=n_sets), out=ptr[1:])
    left, right = np.triu_indices(n_sets, 1) if between else (np.arange(n_sets), np.arange(n_sets))
    bundles = Bundles(left, right, np.full(left.size, -1, np.int8), np.full(left.size, np.inf))
    n_edges = int(pair_counts(ptr, bundles).sum())
    if n_edges > MAX_HARD_EDGES:
        told = "classes with soft must-links: make must_link_weight infinite too" if between else "groups"
        raise ConstraintError(f"{n_edges} hard cannot-links (limit {MAX_HARD_EDGES}) between {told}")
    listed = enumerate_pairs(ptr, nodes, bundles)
    return np.column_stack([listed.first, listed.second])
