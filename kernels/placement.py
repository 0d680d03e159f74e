"""A first labelling that no hard cannot-link forbids: greedy by saturation, then repair by exchange.

Finding one is graph colouring, so the general problem is hard; the order of Brelaz (1979), most restricted node
first, is exact for two clusters and rarely fails otherwise. What it leaves in conflict is repaired by min-conflicts
moves with a short tabu memory.
"""

from __future__ import annotations

import heapq

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.rng import below


@kernel
def place_by_saturation(block, graph, labels):
    """Label every node with a hard cannot-link, most restricted first, cheapest free label; labels (u,) OUT.

    Nodes already labelled stay. Returns the number of nodes that found no free label (they get the least conflicting
    one). Cost: (nodes + hard links) log nodes + nodes * K.
    """
    n_nodes, n_clusters = block.shape
    taken = np.zeros((n_nodes, n_clusters), np.int32)
    saturation = np.zeros(n_nodes, np.int64)
    heap = [(np.int64(0), np.int64(0), np.int64(-1))]
    heap.pop()
    for node in range(n_nodes):
        degree = graph.hard_ptr[node + 1] - graph.hard_ptr[node]
        if degree > 0:
            heapq.heappush(heap, (np.int64(0), np.int64(-degree), np.int64(node)))
    stuck = 0
    while len(heap) > 0:
        key, _, node = heapq.heappop(heap)
        if labels[node] >= 0 or -key != saturation[node]:
            continue
        best = 0
        for h in range(1, n_clusters):
            fewer = taken[node, h] < taken[node, best]
            if fewer or (taken[node, h] == taken[node, best] and block[node, h] < block[node, best]):
                best = h
        stuck += taken[node, best] > 0
        labels[node] = best
        for edge in range(graph.hard_ptr[node], graph.hard_ptr[node + 1]):
            other = graph.hard_node[edge]
            if taken[other, best] == 0:
                saturation[other] += 1
                if labels[other] < 0:
                    degree = graph.hard_ptr[other + 1] - graph.hard_ptr[other]
                    heapq.heappush(heap, (-saturation[other], np.int64(-degree), np.int64(other)))
            taken[other, best] += 1
    return stuck


@kernel
def repair(block, graph, labels, seed, max_steps):
    """Min-conflicts search: a node in conflict takes the label with the fewest conflicting partners, of these the
    cheapest, recent ones barred.

    IN block (u, K) float64: costs; INOUT labels (u,) int32. Returns the number of nodes still in conflict. Cost per
    step: the node's links plus K.
    """
    n_nodes, n_clusters = block.shape
    barred = np.zeros((n_nodes, n_clusters), np.int64)
    held = np.empty(n_clusters, np.int64)
    for step in range(1, max_steps + 1):
        conflicts = _in_conflict(graph, labels)
        if conflicts.size == 0:
            return 0
        node = conflicts[below(seed, np.uint64(step), conflicts.size)]
        held[:] = 0
        for edge in range(graph.hard_ptr[node], graph.hard_ptr[node + 1]):
            held[labels[graph.hard_node[edge]]] += 1
        best = -1
        for h in range(n_clusters):
            if h == labels[node] or barred[node, h] > step:
                continue
            if best < 0 or held[h] < held[best] or (held[h] == held[best] and block[node, h] < block[node, best]):
                best = h
        if best < 0:
            best = np.argmin(barred[node])  # the one that has been barred for longest
        barred[node, labels[node]] = step + 10 + conflicts.size
        labels[node] = best
    return _in_conflict(graph, labels).size


@kernel
def _in_conflict(graph, labels):
    found = np.empty(labels.size, np.int64)
    count = 0
    for node in range(labels.size):
        for edge in range(graph.hard_ptr[node], graph.hard_ptr[node + 1]):
            if labels[graph.hard_node[edge]] == labels[node]:
                found[count] = node
                count += 1
                break
    return found[:count]


@kernel
def place_exactly(graph, n_clusters, nodes, labels, max_steps):
    """Depth-first colouring of one connected set of nodes without recursion; labels of ``nodes`` OUT.

    Tries labels up to one above the highest in use, which removes the symmetry between clusters. Returns 1 = found,
    0 = proven impossible, -1 = gave up after max_steps.
    """
    depth = 0
    for node in nodes:
        labels[node] = -1
    highest = np.zeros(nodes.size + 1, np.int64)
    steps = 0
    while True:
        if depth == nodes.size:
            return 1
        steps += 1
        if steps > max_steps:
            return -1
        node = nodes[depth]
        label = labels[node] + 1
        limit = min(n_clusters, highest[depth] + 1)
        labels[node] = -1
        while label < limit and _held(graph, labels, node, label):
            label += 1
        if label < limit:
            labels[node] = label
            highest[depth + 1] = max(highest[depth], label + 1)
            depth += 1
        elif depth == 0:
            return 0
        else:
            depth -= 1


@kernel
def _held(graph, labels, node, label):
    for edge in range(graph.hard_ptr[node], graph.hard_ptr[node + 1]):
        if labels[graph.hard_node[edge]] == label:
            return True
    return False
