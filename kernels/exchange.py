"""Exchanges of labels between nodes that hard cannot-links tie together.

Where every cheaper label of a node is held by a hard partner, no single move is allowed, however much both would gain
from trading places. A chain of nodes linked by hard cannot-links and carrying one of two labels (Kempe 1879, for map
colours) can swap these labels as a whole and stays feasible.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.icm import UNLABELLED, better, label_costs
from hmrf_fast.kernels.rng import random_order


@kernel
def exchanges(block, links, soft, labels, movable, seed, longest):
    """Swap the two labels of every chain where that pays; INOUT labels (u,) int32, all set.

    IN links: Links; soft: the same without hard cannot-links; chains of more than ``longest`` nodes, or with a node of
    movable 0, are left alone. Returns the number of chains swapped. Cost: K plus edges per node with a hard link, and
    the edges of the chains tried.
    """
    n_nodes, n_clusters = block.shape
    costs, order = np.empty(n_clusters), np.empty(n_nodes, np.int64)
    stamp, chain = np.empty(n_nodes, np.int64), np.empty(longest, np.int64)
    for node in range(n_nodes):
        stamp[node] = -1
    nobody = np.empty(0, np.int64)
    random_order(order, seed)
    mark, moves = 0, 0
    for node in order:
        if links.hard_ptr[node + 1] == links.hard_ptr[node]:
            continue
        label_costs(node, block, soft, labels, nobody, np.int64(-1), costs)
        old = labels[node]
        for h in range(n_clusters):
            if h == old or not better(costs[h], costs[old], abs(costs[old]) + abs(block[node, old])):
                continue
            mark += 1
            size = _chain(node, old, h, links, labels, movable, stamp, mark, chain)
            if size == 0:
                continue
            change, scale = _change(chain[:size], old, h, block, links, labels, stamp, mark)
            if better(change, 0.0, scale):
                for member in chain[:size]:
                    labels[member] = h if labels[member] == old else old
                moves += 1
                break
    return moves


@kernel
def _chain(node, old, new, links, labels, movable, stamp, mark, chain):
    """All nodes with one of the two labels that hard links reach from ``node`` through such nodes; chain (longest,)
    OUT. Returns their number, or 0 if there are too many, or one that must not move."""
    size, head = 1, 0
    chain[0] = node
    stamp[node] = mark
    while head < size:
        member = chain[head]
        if movable[member] == 0:
            return 0
        head += 1
        for edge in range(links.hard_ptr[member], links.hard_ptr[member + 1]):
            other = links.hard_node[edge]
            if stamp[other] == mark or (labels[other] != old and labels[other] != new):
                continue
            if size == chain.size:
                return 0
            chain[size] = other
            stamp[other] = mark
            size += 1
    return size


@kernel
def _change(chain, old, new, block, links, labels, stamp, mark):
    """What swapping the labels of a chain adds to the objective, and the size of the numbers summed."""
    change, scale = 0.0, 0.0
    for member in chain:
        label = labels[member]
        swapped = new if label == old else old
        change += block[member, swapped] - block[member, label]
        scale += abs(block[member, swapped]) + abs(block[member, label])
        for edge in range(links.edge_ptr[member], links.edge_ptr[member + 1]):
            other = links.edge_node[edge]
            theirs = labels[other]
            if theirs == UNLABELLED or stamp[other] == mark:
                continue  # both ends swap: what was equal stays equal
            price = links.edge_price[edge]
            change += price * (int(theirs == swapped) - int(theirs == label))
            scale += abs(price)
    return change, scale
