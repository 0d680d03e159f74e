"""What implicit constraints cost, and their part of the gradient of the feature weights, from the sums of
``closure.py``."""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel
from hmrf_fast.kernels.closure import COUNT, LEAN, load_block, partner_sums, unload_block


@kernel
def block_partners(corpus, terms, weights, phi_max, graph, labels, own, links, count, phi_sum, cannot_weight):
    """Energy of all implicit constraints, and per touched row the sums its gradient needs.

    OUT count, phi_sum (r,) float64: sum of signed weights of violated partners, and of weight * phi (must-links +,
    cannot-links -); cannot_weight (1,) float64: summed weight of violated cannot-links. Returns the energy. Cost as
    ``sweep_blocks``.
    """
    n_clusters = own.shape[1]
    phi = np.empty(n_clusters)
    own_stats, link_stats = np.empty((4, n_clusters)), np.empty((4, n_clusters))
    count[:] = 0.0
    phi_sum[:] = 0.0
    cannot_weight[0] = 0.0
    for which in range(graph.block_ptr.size - 1):
        load_block(corpus, terms, graph, which, labels, own, own_stats, links, link_stats)
        strength = graph.block_weight[which]
        for place in range(graph.block_ptr[which], graph.block_ptr[which + 1]):
            position = graph.block_rows[place]
            row, label = graph.rows[position], labels[graph.node_of_row[position]]
            partner_sums(corpus, terms, weights, row, own, own_stats, phi)
            if strength > 0.0:
                count[position] += strength * (own_stats[COUNT].sum() - own_stats[COUNT, label])
                phi_sum[position] += strength * (phi.sum() - phi[label])
            elif strength < 0.0:
                cannot = -strength * (own_stats[COUNT, label] - 1.0)
                count[position] -= cannot
                cannot_weight[0] += 0.5 * cannot
                phi_sum[position] += strength * (phi[label] - _self_phi(corpus, terms, weights, row))
            partner_sums(corpus, terms, weights, row, links, link_stats, phi)
            count[position] -= link_stats[COUNT, label]
            cannot_weight[0] += 0.5 * link_stats[COUNT, label]
            phi_sum[position] -= phi[label]
        unload_block(corpus, graph, which, own, links)
    return 0.5 * phi_sum.sum() + phi_max * cannot_weight[0]


@kernel
def _self_phi(corpus, terms, weights, row):
    """What the sums count for a row as its own partner (0 but for empty rows and Potts penalties)."""
    square = 0.0
    if terms.degree != 0.0:
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            square += weights[corpus.indices[entry]] * corpus.values[entry] ** 2
    if terms.lean.size > 0:
        square += 2.0 * terms.lean[row] * terms.counter[row]
    return 2.0 * terms.centre[row] - terms.degree * terms.factor[row] ** 2 * square


@kernel
def add_block_products(corpus, terms, graph, labels, own, links, gradient):
    """gradient (d,) INOUT -= degree * sum over violated implicit pairs of weight f_i f_j z_i z_j, feature by feature.

    From S_h alone: must-links (S^2 - sum_h S_h^2)/2, cannot-links between blocks sum_h S_h S'_h, inside a block
    (sum_h S_h^2 - sum_i (f z)_i^2)/2. z = x + lean for centred rows, which fills all features: then the cost is d K
    per block.
    """
    n_clusters = own.shape[1]
    own_stats, link_stats = np.empty((4, n_clusters)), np.empty((4, n_clusters))
    centred = terms.lean.size > 0
    seen = np.zeros(gradient.size, np.bool_)
    for which in range(graph.block_ptr.size - 1):
        load_block(corpus, terms, graph, which, labels, own, own_stats, links, link_stats)
        strength = graph.block_weight[which]
        if centred:
            for feature in range(gradient.size):
                gradient[feature] -= terms.degree * _product(feature, strength, own, own_stats, links, link_stats)
        else:
            for place in range(graph.block_ptr[which], graph.block_ptr[which + 1]):
                row = graph.rows[graph.block_rows[place]]
                for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
                    feature = corpus.indices[entry]
                    if not seen[feature]:
                        seen[feature] = True
                        gradient[feature] -= terms.degree * _product(
                            feature, strength, own, own_stats, links, link_stats
                        )
        for place in range(graph.block_ptr[which], graph.block_ptr[which + 1]):
            row = graph.rows[graph.block_rows[place]]
            for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
                feature, x = corpus.indices[entry], corpus.values[entry]
                seen[feature] = False
                if strength < 0.0:
                    lean = terms.lean[row] if centred else 0.0
                    square = (x + lean) ** 2 - lean**2
                    gradient[feature] -= terms.degree * -strength * 0.5 * terms.factor[row] ** 2 * square
            if strength < 0.0 and centred:
                gradient -= terms.degree * -strength * 0.5 * (terms.factor[row] * terms.lean[row]) ** 2
        unload_block(corpus, graph, which, own, links)


@kernel
def _product(feature, strength, own, own_stats, links, link_stats):
    total = 0.0
    squares = 0.0
    crossed = 0.0
    for h in range(own.shape[1]):
        mine = own[feature, h] + own_stats[LEAN, h]
        total += mine
        squares += mine * mine
        crossed += mine * (links[feature, h] + link_stats[LEAN, h])
    inner = 0.5 * strength * (total * total - squares) if strength > 0.0 else 0.5 * strength * squares
    return inner - 0.5 * crossed
