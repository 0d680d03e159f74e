"""The E-step over rows that constraints touch: what labels cost a node, and block moves of whole neighbourhoods.

A node is one row, or several tied by hard must-links. All costs are finite numbers except that a label held by a hard
cannot-link partner costs infinity; a node whose label is feasible therefore never leaves the feasible set. Every
accepted move lowers the objective strictly, so all loops end.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import inlined, kernel
from hmrf_fast.kernels.prefetch import prefetch_line, prefetch_span
from hmrf_fast.kernels.rng import random_order

UNLABELLED = -1
ALONE, UNIT = np.uint8(1), np.uint8(2)  # bits of ``stirred``: what has to be looked at again


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
def weigh_nodes(block, weight, rows, node_ptr, node_rows, highest, costs):
    """costs (u, K) OUT: distances of each node's rows times their weights, summed.

    IN block (r, K): distances of the constrained rows, those above ``highest`` count as that: infinity stands for what
    hard cannot-links forbid; weight (n,); rows (r,), node_ptr, node_rows: see ``PenaltyGraph``. Cost: r K.
    """
    for node in range(costs.shape[0]):
        mine = costs[node]
        mine[:] = 0.0
        for position in range(node_ptr[node], node_ptr[node + 1]):
            row = node_rows[position]
            heaviness = weight[rows[row]]
            theirs = block[row]
            for h in range(mine.size):
                mine[h] += min(theirs[h], highest) * heaviness


@inlined
def stir(node, links, stirred):
    """A node moved: its partners want a new look, alone and with their components, and its own component does."""
    stirred[node] |= UNIT
    for edge in range(links.edge_ptr[node], links.edge_ptr[node + 1]):
        stirred[links.edge_node[edge]] = ALONE | UNIT
    for edge in range(links.hard_ptr[node], links.hard_ptr[node + 1]):
        stirred[links.hard_node[edge]] = ALONE | UNIT


@kernel
def cheapest(costs):
    """The lowest index among the smallest costs."""
    best = 0
    for h in range(1, costs.size):
        if costs[h] < costs[best]:
            best = h
    return best


@kernel
def block_moves(block, links, unit_ptr, unit_nodes, labels, movable, stirred, seed):
    """Move whole must-link components to the label that is cheapest for all their nodes together, where that pays.

    Reaches optima that no sequence of improving single moves can, such as two far rows under one heavy must-link.
    Components around which nothing moved since the last call are skipped, see ``sweeps``. INOUT labels (u,) int32, all
    set; stirred (u,) uint8. Returns the number of components moved. Cost: K per node plus edges.
    """
    n_clusters = block.shape[1]
    n_units = unit_ptr.size - 1
    costs = np.empty(n_clusters)
    together = np.empty(n_clusters)
    stamp, order = np.empty(block.shape[0], np.int64), np.empty(n_units, np.int64)
    for node in range(stamp.size):
        stamp[node] = -1
    random_order(order, seed)
    moves = 0
    for place in range(n_units):
        unit = order[place]
        if place + 1 < n_units:
            _ask_for(order[place + 1], block, links, unit_ptr, unit_nodes)
        nodes = unit_nodes[unit_ptr[unit] : unit_ptr[unit + 1]]
        if movable[nodes[0]] == 0 or not _is_stirred(nodes, stirred):
            continue
        for node in nodes:
            stamp[node] = unit
            stirred[node] &= ALONE
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
                stir(node, links, stirred)
            for node in nodes:
                stirred[node] &= ALONE
    return moves


@inlined
def _ask_for(unit, block, links, unit_ptr, unit_nodes):
    """Ask for what a look at a unit reads."""
    for place in range(unit_ptr[unit], unit_ptr[unit + 1]):
        node = unit_nodes[place]
        begin, end = links.edge_ptr[node], links.edge_ptr[node + 1]
        prefetch_span(links.edge_node, begin, end)
        prefetch_span(links.edge_price, begin, end)
        prefetch_line(block, node, 0, block.shape[1])


@kernel
def _is_stirred(nodes, stirred):
    for node in nodes:
        if stirred[node] & UNIT:
            return True
    return False


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
        total += pair_cost[pair] if same != (kind[pair] > 0) else 0.0  # no jump, which nothing could foretell
    return total
