"""Entailed constraints without listing pairs: sums over the rows of each label stand for all partners at once.

With S_h = sum of factor_j x_j, n_h, C_h, B_h, E_h = sums of 1, centre_j, factor_j lean_j, factor_j counter_j over the
members labelled h,

    Phi_h(i) = sum_j phi(i, j) = n_h centre_i + C_h - degree factor_i (<a x_i, S_h> + lean_i E_h + counter_i B_h),

so a sweep over a neighbourhood costs its non-zeros times K, whatever its number of pairs. Potts penalties are the
case centre = 1/2, degree = 0. Blocks and links are those of ``PenaltyGraph``; tables are scratch, all zeros before
and after every call.
"""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.icm import UNLABELLED, better, cheapest, label_costs
from hmrf_fast.kernels.rng import mix, shuffle

COUNT, CENTRE, LEAN, COUNTER = 0, 1, 2, 3


@kernel
def _add_row(corpus, terms, row, label, strength, table, stats):
    factor = terms.factor[row] * strength
    stats[COUNT, label] += strength
    stats[CENTRE, label] += strength * terms.centre[row]
    if terms.lean.size > 0:
        stats[LEAN, label] += factor * terms.lean[row]
        stats[COUNTER, label] += factor * terms.counter[row]
    if terms.degree != 0.0:
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            table[np.uint32(corpus.indices[entry]), label] += factor * corpus.values[entry]


@kernel
def _add_block(corpus, terms, graph, which, labels, strength, table, stats):
    for place in range(graph.block_ptr[which], graph.block_ptr[which + 1]):
        position = graph.block_rows[place]
        label = labels[graph.node_of_row[position]]
        if label != UNLABELLED:
            _add_row(corpus, terms, graph.rows[position], label, strength, table, stats)


@kernel
def _clear(corpus, graph, which, table):
    """The whole table where that is less than what the block's rows have written."""
    entries = 0
    for place in range(graph.block_ptr[which], graph.block_ptr[which + 1]):
        row = graph.rows[graph.block_rows[place]]
        entries += corpus.indptr[row + 1] - corpus.indptr[row]
    if entries >= table.shape[0]:
        table[:] = 0.0
        return
    for place in range(graph.block_ptr[which], graph.block_ptr[which + 1]):
        row = graph.rows[graph.block_rows[place]]
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            table[corpus.indices[entry], :] = 0.0


@kernel
def load_block(corpus, terms, graph, which, labels, own, own_stats, links, link_stats):
    """Fill the sums of a block's own members and, weighted, of the blocks it is linked to."""
    own_stats[:] = 0.0
    link_stats[:] = 0.0
    _add_block(corpus, terms, graph, which, labels, 1.0, own, own_stats)
    for link in range(graph.link_ptr[which], graph.link_ptr[which + 1]):
        _add_block(corpus, terms, graph, graph.link_block[link], labels, graph.link_weight[link], links, link_stats)


@kernel
def unload_block(corpus, graph, which, own, links):
    """Set the scratch tables back to zero; cost: non-zeros of the block and its linked blocks times K."""
    _clear(corpus, graph, which, own)
    for link in range(graph.link_ptr[which], graph.link_ptr[which + 1]):
        _clear(corpus, graph, graph.link_block[link], links)


@kernel
def partner_sums(corpus, terms, weights, row, table, stats, phi):
    """phi (K,) OUT: Phi_h(row) for all labels; cost: non-zeros of the row times K."""
    phi[:] = 0.0
    if terms.degree != 0.0:
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            feature = np.uint32(corpus.indices[entry])
            scaled = weights[feature] * corpus.values[entry]
            for h in range(phi.size):
                phi[h] += scaled * table[feature, h]
    for h in range(phi.size):
        product = phi[h]
        if terms.lean.size > 0:
            product += terms.lean[row] * stats[COUNTER, h] + terms.counter[row] * stats[LEAN, h]
        product *= terms.degree * terms.factor[row]
        phi[h] = stats[COUNT, h] * terms.centre[row] + stats[CENTRE, h] - product


@kernel
def _add_implicit_costs(corpus, terms, weights, phi_max, strength, row, own, own_stats, links, link_stats, phi, costs):
    partner_sums(corpus, terms, weights, row, own, own_stats, phi)
    for h in range(costs.size):
        costs[h] += -strength * phi[h] if strength >= 0.0 else -strength * (own_stats[COUNT, h] * phi_max - phi[h])
    if link_stats[COUNT].any():
        partner_sums(corpus, terms, weights, row, links, link_stats, phi)
        for h in range(costs.size):
            costs[h] += link_stats[COUNT, h] * phi_max - phi[h]


@kernel
def _block_nodes(graph, which):
    """The distinct nodes of a block; their rows are grouped."""
    found = np.empty(graph.block_ptr[which + 1] - graph.block_ptr[which], np.int64)
    count = 0
    for place in range(graph.block_ptr[which], graph.block_ptr[which + 1]):
        node = graph.node_of_row[graph.block_rows[place]]
        if count == 0 or found[count - 1] != node:
            found[count] = node
            count += 1
    return found[:count]


@kernel
def sweep_blocks(corpus, terms, weights, phi_max, block, graph, edges, labels, seed, own, links):
    """One randomised sweep over the nodes of all implicit blocks; returns the number of moves.

    INOUT labels (u,) int32; own, links (d, K) float64 scratch. Cost: non-zeros of blocks and of linked blocks, times K.
    """
    n_clusters = block.shape[1]
    costs, phi, stamp = np.empty(n_clusters), np.empty(n_clusters), np.empty(0, np.int64)
    own_stats, link_stats = np.empty((4, n_clusters)), np.empty((4, n_clusters))
    moves = 0
    for which in range(graph.block_ptr.size - 1):
        load_block(corpus, terms, graph, which, labels, own, own_stats, links, link_stats)
        nodes = _block_nodes(graph, which)
        shuffle(nodes, mix(seed, np.uint64(which)))
        for node in nodes:
            old = labels[node]
            label_costs(node, block, edges, labels, stamp, np.int64(-1), costs)
            rows = graph.rows[graph.node_rows[graph.node_ptr[node] : graph.node_ptr[node + 1]]]
            for row in rows:
                if old != UNLABELLED:
                    _add_row(corpus, terms, row, old, -1.0, own, own_stats)
            for row in rows:
                _add_implicit_costs(
                    corpus,
                    terms,
                    weights,
                    phi_max,
                    graph.block_weight[which],
                    row,
                    own,
                    own_stats,
                    links,
                    link_stats,
                    phi,
                    costs,
                )
            best = cheapest(costs)
            move = costs[best] < np.inf and (
                old == UNLABELLED or better(costs[best], costs[old], abs(costs[old]) + abs(block[node, old]))
            )
            if move and best != old:
                labels[node] = best
                moves += 1
            for row in rows:
                if labels[node] != UNLABELLED:
                    _add_row(corpus, terms, row, labels[node], 1.0, own, own_stats)
        unload_block(corpus, graph, which, own, links)
    return moves


@kernel
def move_blocks(corpus, terms, weights, phi_max, block, graph, edges, labels, own, links):
    """Move whole implicit must-link blocks to the label that is cheapest for all members; returns the number moved."""
    n_clusters = block.shape[1]
    costs, phi, together = np.empty(n_clusters), np.empty(n_clusters), np.empty(n_clusters)
    own_stats, link_stats = np.empty((4, n_clusters)), np.empty((4, n_clusters))
    stamp = np.empty(labels.size, np.int64)
    for node in range(stamp.size):
        stamp[node] = -1
    moves = 0
    for which in range(graph.block_ptr.size - 1):
        if graph.block_weight[which] <= 0.0:
            continue
        load_block(corpus, terms, graph, which, labels, own, own_stats, links, link_stats)
        nodes = _block_nodes(graph, which)
        stamp[nodes] = which
        together[:] = 0.0
        now = 0.0
        for node in nodes:
            label_costs(node, block, edges, labels, stamp, which, costs)
            for place in range(graph.node_ptr[node], graph.node_ptr[node + 1]):
                row = graph.rows[graph.node_rows[place]]
                partner_sums(corpus, terms, weights, row, own, own_stats, phi)
                now += 0.5 * graph.block_weight[which] * (phi.sum() - phi[labels[node]])
                partner_sums(corpus, terms, weights, row, links, link_stats, phi)
                for h in range(n_clusters):
                    costs[h] += link_stats[COUNT, h] * phi_max - phi[h]
            now += costs[labels[node]]
            together += costs
        now += _inner_listed(nodes, edges, labels, stamp, which, False)
        together += _inner_listed(nodes, edges, labels, stamp, which, True)
        best = cheapest(together)
        if together[best] < np.inf and better(together[best], now, abs(now) + abs(together[best])):
            moves += 1
            labels[nodes] = best
        unload_block(corpus, graph, which, own, links)
    return moves


@kernel
def _inner_listed(nodes, edges, labels, stamp, mark, together):
    """Price of listed pairs inside a block; a hard cannot-link inside makes moving together impossible."""
    total = 0.0
    for node in nodes:
        for edge in range(edges.edge_ptr[node], edges.edge_ptr[node + 1]):
            other = edges.edge_node[edge]
            if stamp[other] == mark and (together or labels[other] == labels[node]):
                total += 0.5 * edges.edge_price[edge]
        if together:
            for edge in range(edges.hard_ptr[node], edges.hard_ptr[node + 1]):
                if stamp[edges.hard_node[edge]] == mark:
                    return np.inf
    return total
