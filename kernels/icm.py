"""The E-step over rows that constraints touch: sweeps that move one node, and block moves that move a neighbourhood.

A node is one row, or several tied by hard must-links. All costs are finite numbers except that a label held by a hard
cannot-link partner costs infinity; a node whose label is feasible therefore never leaves the feasible set. Every
accepted move lowers the objective strictly, so all loops end.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.rng import mix, shuffle

UNLABELLED = -1


@kernel
def label_costs(node, block, links, labels, stamp, mark, costs):
    """costs (K,) OUT of giving ``node`` each label, all other nodes fixed, up to a constant.

    IN block (u, K) float64: distances of nodes to centroids; links: Links; labels (u,) int32, -1 = none yet; nodes
    with stamp[node] == mark are left out (mark -1: nobody is). A violated must-link is written as a credit for
    agreement. Cost: K plus the node's edges.
    """
    for h in range(costs.size):
        costs[h] = block[node, h]
    for edge in range(links.edge_ptr[node], links.edge_ptr[node + 1]):
        other = links.edge_node[edge]
        label = labels[other]
        if label == UNLABELLED or (mark >= 0 and stamp[other] == mark):
            continue
        costs[label] += links.edge_price[edge]
    for edge in range(links.hard_ptr[node], links.hard_ptr[node + 1]):
        other = links.hard_node[edge]
        if labels[other] != UNLABELLED and not (mark >= 0 and stamp[other] == mark):
            costs[labels[other]] = np.inf


@kernel
def better(candidate, current, scale):
    """Whether a cost is lower by more than rounding; ``scale`` is the size of the numbers that were summed."""
    return candidate < current - 1e-12 * scale


@kernel
def sweeps(block, links, labels, movable, seed, max_sweeps):
    """Iterated conditional modes: every node in a fresh random order to its cheapest label, until nothing changes.

    Nodes none of whose partners moved since their last visit are skipped: same result, fewer visits. Nodes with
    movable 0 are handled elsewhere. INOUT labels (u,) int32. Returns the number of moves. Cost per sweep: u K plus
    edges at most. Source: KDD 2004, section 3.4 (Besag 1986).
    """
    n_nodes, n_clusters = block.shape
    costs = np.empty(n_clusters)
    order = np.arange(n_nodes)
    dirty = np.empty(n_nodes, np.uint8)
    for node in range(n_nodes):
        dirty[node] = movable[node]
    nobody = np.empty(0, np.int64)
    moves = 0
    for sweep in range(max_sweeps):
        shuffle(order, mix(seed, np.uint64(sweep)))
        changed = 0
        for node in order:
            if dirty[node] == 0:
                continue
            dirty[node] = 0
            label_costs(node, block, links, labels, nobody, np.int64(-1), costs)
            best = cheapest(costs)
            old = labels[node]
            if best == old or costs[best] == np.inf:
                continue
            if old != UNLABELLED and not better(costs[best], costs[old], abs(costs[old]) + abs(block[node, old])):
                continue
            labels[node] = best
            changed += 1
            for edge in range(links.edge_ptr[node], links.edge_ptr[node + 1]):
                dirty[links.edge_node[edge]] = movable[links.edge_node[edge]]
            for edge in range(links.hard_ptr[node], links.hard_ptr[node + 1]):
                dirty[links.hard_node[edge]] = movable[links.hard_node[edge]]
        moves += changed
        if changed == 0:
            break
    return moves


@kernel
def cheapest(costs):
    """The lowest index among the smallest costs."""
    best = 0
    for h in range(1, costs.size):
        if costs[h] < costs[best]:
            best = h
    return best


@kernel
def block_moves(block, links, unit_ptr, unit_nodes, labels, movable, seed):
    """Move whole must-link components to the label that is cheapest for all their nodes together, where that pays.

    Reaches optima that no sequence of improving single moves can, such as two far rows under one heavy must-link.
    INOUT labels (u,) int32, all set. Returns the number of components moved. Cost: K per node plus edges.
    """
    n_clusters = block.shape[1]
    n_units = unit_ptr.size - 1
    costs = np.empty(n_clusters)
    together = np.empty(n_clusters)
    stamp = np.full(block.shape[0], -1, np.int64)
    order = np.arange(n_units)
    shuffle(order, seed)
    moves = 0
    for unit in order:
        nodes = unit_nodes[unit_ptr[unit] : unit_ptr[unit + 1]]
        if movable[nodes[0]] == 0:
            continue
        for node in nodes:
            stamp[node] = unit
        now, then, impossible = _inner_costs(nodes, links, labels, stamp, unit)
        if impossible:
            continue
        for h in range(n_clusters):
            together[h] = then
        for node in nodes:
            label_costs(np.int64(node), block, links, labels, stamp, unit, costs)
            now += costs[labels[node]]
            for h in range(n_clusters):
                together[h] += costs[h]
        best = cheapest(together)
        if together[best] < np.inf and better(together[best], now, abs(now) + abs(together[best])):
            moves += 1
            for node in nodes:
                labels[node] = best
    return moves


@kernel
def _inner_costs(nodes, links, labels, stamp, unit):
    """Price of the pairs inside a unit now and if it were together, in the credit form of ``label_costs``, and
    whether a hard cannot-link inside makes that impossible; each pair is met from both ends."""
    now = 0.0
    together = 0.0
    for node in nodes:
        for edge in range(links.hard_ptr[node], links.hard_ptr[node + 1]):
            if stamp[links.hard_node[edge]] == unit:
                return now, together, True
        for edge in range(links.edge_ptr[node], links.edge_ptr[node + 1]):
            other = links.edge_node[edge]
            if stamp[other] == unit:
                price = 0.5 * links.edge_price[edge]
                together += price
                if labels[other] == labels[node]:
                    now += price
    return now, together, False


@kernel
def violation_cost(kind, first, second, pair_cost, row_labels):
    """Summed price of the listed pairs that the labels (r,) of the touched rows violate; cost m."""
    total = 0.0
    for pair in range(first.size):
        same = row_labels[first[pair]] == row_labels[second[pair]]
        if same != (kind[pair] > 0):
            total += pair_cost[pair]
    return total
