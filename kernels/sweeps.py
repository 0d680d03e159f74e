"""Sweeps of the E-step: one node after the other to its cheapest label (iterated conditional modes).

Visits are so short that each must cost what changed around a node, not the number of clusters; see ``cheapest_move``.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import inlined, kernel, lean_kernel
from hmrf_fast.kernels.icm import ALONE, UNIT, UNLABELLED, better, cheapest, label_costs, stir
from hmrf_fast.kernels.keys import two_lowest, vector_buffer
from hmrf_fast.kernels.prefetch import prefetch_line, prefetch_span
from hmrf_fast.kernels.rng import mix, random_order, shuffle
from hmrf_fast.kernels.row_blocks import VECTOR_BYTES

STRETCH = 256  # nodes that are visited together
CROWD = 2  # partners per cluster from which on a visit looks at all labels: they meet most of them anyway
WHOLE = 32  # clusters up to which all of a node's distances are asked for


@kernel
def cheapest_pairs(block, near):
    """near (u, 2) int32 OUT: every node's two cheapest labels by its own distances, the lower label first among equals;
    the second is -1 if there is one label only. Cost: u K."""
    n_clusters = block.shape[1]
    lanes = VECTOR_BYTES // 8
    keys = vector_buffer(-(-n_clusters // lanes) * lanes, block, np.inf)
    for node in range(block.shape[0]):
        for h in range(n_clusters):
            keys[h] = block[node, h]
        _, next_low, best = two_lowest(keys)
        other = 0
        while other < n_clusters and (other == best or keys[other] != next_low):
            other += 1
        near[node, 0] = best
        near[node, 1] = other if n_clusters > 1 else -1


@inlined
def cheapest_move(node, block, near, links, labels, mark, seen, met, costs):
    """The cheapest label of a node, all others fixed; ties go to the lowest. Returns (label, its cost, cost of the
    present label), costs up to a constant as in ``label_costs``.

    Only labels that partners have differ from the node's own distances: among all others its two nearest decide, so a
    visit costs its edges, and K only if partners have both. INOUT seen (K,) int64 stamps, no two visits may share a
    mark; met (K,) int64, costs (K,): scratch.
    """
    old, present = labels[node], np.inf
    if links.edge_ptr[node + 1] - links.edge_ptr[node] >= CROWD * costs.size:
        label_costs(node, block, links, labels, seen, np.int64(-1), costs)
        best = np.int64(cheapest(costs))
        low = costs[best]
        if old != UNLABELLED:
            present = costs[old]
        return best, low, present
    count = _meet_partners(node, block, links, labels, mark, seen, met, costs)
    best = _lowest_unmet(node, block, near, mark, seen)
    low = block[node, best] if best >= 0 else np.inf
    for position in range(count):
        label = met[position]
        if best < 0 or costs[label] < low or (costs[label] == low and label < best):
            best, low = label, costs[label]
    if old != UNLABELLED:
        present = costs[old] if seen[old] == mark else block[node, old]
    return best, low, present


@inlined
def _meet_partners(node, block, links, labels, mark, seen, met, costs):
    """Costs of the labels that partners have; returns how many these are. See ``cheapest_move``."""
    count = 0
    for edge in range(links.edge_ptr[node], links.edge_ptr[node + 1]):
        label = labels[links.edge_node[edge]]
        if label != UNLABELLED:
            if seen[label] != mark:
                seen[label] = mark
                costs[label] = block[node, label]
                met[count] = label
                count += 1
            costs[label] += links.edge_price[edge]
    for edge in range(links.hard_ptr[node], links.hard_ptr[node + 1]):
        label = labels[links.hard_node[edge]]
        if label != UNLABELLED:
            if seen[label] != mark:
                seen[label] = mark
                met[count] = label
                count += 1
            costs[label] = np.inf
    return count


@inlined
def _lowest_unmet(node, block, near, mark, seen):
    """The nearest label that no partner has, or -1 if partners have all."""
    best = np.int64(near[node, 0])
    if seen[best] == mark:
        best = np.int64(near[node, 1])
        if best >= 0 and seen[best] == mark:
            best = np.int64(-1)
            for h in range(seen.size):
                if seen[h] != mark and (best < 0 or block[node, h] < block[node, best]):
                    best = np.int64(h)
    return best


@kernel
def sweeps(block, near, links, labels, movable, stirred, seed, max_sweeps):
    """Iterated conditional modes: every node in a fresh random order to its cheapest label, until nothing changes.

    IN near (u, 2): see ``cheapest_pairs``. Nodes none of whose partners moved since their last visit, which ``stirred``
    (u,) uint8 INOUT remembers, are skipped: same result, fewer visits. Nodes with movable 0 are handled elsewhere.
    INOUT labels (u,) int32. Returns the number of moves. Cost per sweep: u plus edges, K where partners have many
    labels. Source: KDD 2004, section 3.4 (Besag 1986).

    Stretches of neighbours come in random order and the neighbours of each are shuffled: what a stretch needs stays in
    the cache, where a plain shuffle would wait for memory at every node.
    """
    n_nodes, n_clusters = block.shape
    costs, met, seen = np.empty(n_clusters), np.empty(n_clusters, np.int64), np.empty(n_clusters, np.int64)
    for h in range(n_clusters):
        seen[h] = -1
    waiting, stretches = np.empty(n_nodes, np.int64), np.empty(n_nodes // STRETCH + 1, np.int64)
    moves, mark = 0, np.int64(0)
    for sweep in range(max_sweeps):
        sweep_seed = mix(seed, np.uint64(sweep))
        count = _list_waiting(movable, stirred, waiting)
        order = stretches[: -(-count // STRETCH)]
        random_order(order, sweep_seed)
        changed = 0
        for stretch in order:
            nodes = waiting[stretch * STRETCH : min((stretch + 1) * STRETCH, count)]
            _ask_for(nodes, block, near, links, labels)
            shuffle(nodes, mix(sweep_seed, np.uint64(stretch)))
            changed += _visit(nodes, block, near, links, labels, stirred, mark, seen, met, costs)
            mark += nodes.size
        moves += changed
        if changed == 0:
            break
    return moves


@lean_kernel
def _list_waiting(movable, stirred, waiting):
    """waiting (u,) int64 OUT: the nodes that want a visit; returns their number."""
    count = 0
    for node in range(movable.size):
        if movable[node] != 0 and stirred[node] & ALONE:
            waiting[count] = node
            count += 1
    return count


@lean_kernel
def _ask_for(nodes, block, near, links, labels):
    """Ask for what visits of the nodes will read, in the order in which it lies in memory."""
    for node in nodes:
        begin, end = links.edge_ptr[node], links.edge_ptr[node + 1]
        prefetch_span(links.edge_node, begin, end)
        prefetch_span(links.edge_price, begin, end)
        if block.shape[1] <= WHOLE:
            prefetch_line(block, node, 0, block.shape[1])
        else:
            prefetch_line(block, node, near[node, 0], near[node, 0] + 1)
            if labels[node] != UNLABELLED:
                prefetch_line(block, node, labels[node], labels[node] + 1)


@lean_kernel
def _visit(nodes, block, near, links, labels, stirred, mark, seen, met, costs):
    """Each of the nodes to its cheapest label; returns how many moved. See ``sweeps`` and ``cheapest_move``."""
    changed = 0
    for node in nodes:
        stirred[node] &= UNIT
        best, low, present = cheapest_move(node, block, near, links, labels, mark, seen, met, costs)
        mark += 1
        old = labels[node]
        if best != old and low < np.inf:
            if old == UNLABELLED or better(low, present, abs(present) + abs(block[node, old])):
                labels[node] = best
                changed += 1
                stir(node, links, stirred)
    return changed
