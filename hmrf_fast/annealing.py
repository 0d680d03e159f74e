"""Labels of a start annealed in the full space: soft memberships that harden step by step.

Hard assignments of sparse text freeze at once: a row is much nearer to the centroid that it is a part of than to any
other. With soft memberships (the mixture of von Mises-Fisher distributions of Banerjee, Dhillon, Ghosh and Sra, JMLR
2005, whose concentration rises as in Rose's deterministic annealing, 1998) rows follow what their cluster shares, and
must-link components, which move as one, and cannot-links, as mean fields, are heard before the labels have set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hmrf_fast.geometry import Problem
from hmrf_fast.penalties import first_of_component

STEPS = 16
# Log-odds that the mean gap between a row's nearest and second centroid makes at the first and at the last step: too
# soft, and clusters melt into one (from 1 on, 0.81 NMI in place of 0.97 on classic400); at the last, memberships are
# as good as hard.
SOFTEST, HARDEST = 3.0, 10.0
NATS_PER_CANNOT_LINK = 2.0
LARGEST = (
    1 << 22
)  # non-zeros, and rows times clusters: beyond it memberships and copies of the rows take too much memory


class Nodes(NamedTuple):
    """What moves as one: must-link components, and every other row alone."""

    of_row: np.ndarray  # (n,) int64
    member: sp.csr_matrix  # (m, n) float64: 1 for the rows of a node that count
    apart: sp.csr_matrix  # (m, m) float64, symmetric: nats that it costs two nodes to share a cluster
    prior: np.ndarray  # (m, K) float64: summed costs of label priors, in distances; length 0 if there are none


def affordable(problem: Problem) -> bool:
    """Whether memberships of all rows and two more copies of these are no burden."""
    return max(problem.n_entries, problem.n_rows * problem.n_clusters) <= LARGEST


def nodes_of(problem: Problem) -> Nodes:
    """The constraints of a problem between the things that move. Cost: rows plus listed constraints."""
    n_rows = problem.n_rows
    names, of_row = np.unique(first_of_component(problem.graph, n_rows), return_inverse=True)
    counts = (problem.sample_weight > 0).astype(np.float64)
    member = sp.csr_matrix((counts, (of_row, np.arange(n_rows))), shape=(names.size, n_rows))
    prior = np.zeros((0, problem.n_clusters))
    if problem.priors.rows.size:
        prior = np.zeros((names.size, problem.n_clusters))
        np.add.at(prior, of_row[problem.priors.rows], problem.priors.cost)
    return Nodes(of_row, member, _apart(problem, of_row, names.size), prior)


def _apart(problem: Problem, of_row: np.ndarray, count: int) -> sp.csr_matrix:
    """Cannot-links between nodes, each counted once however many pairs it stands for: those listed, the hard ones, and
    the links between implicit blocks. (Cannot-links inside a block are left to the E-step.)"""
    graph = problem.graph
    node = of_row[graph.rows[graph.node_rows[graph.node_ptr[:-1]]]]  # of the graph's nodes
    listed = graph.pair_kind < 0
    block = node[graph.node_of_row[graph.block_rows[graph.block_ptr[:-1]]]]
    first = [
        of_row[graph.rows[graph.pair_first[listed]]],
        np.repeat(node, np.diff(graph.hard_ptr)),
        np.repeat(block, np.diff(graph.link_ptr)),
    ]
    second = [of_row[graph.rows[graph.pair_second[listed]]], node[graph.hard_node], block[graph.link_block]]
    weight = [np.abs(graph.pair_weight[listed]), np.ones(graph.hard_node.size), graph.link_weight]
    ends = np.concatenate(first), np.concatenate(second)
    price = NATS_PER_CANNOT_LINK * np.minimum(np.concatenate(weight), 1.0)
    keep = ends[0] != ends[1]
    one_way = sp.coo_matrix((price[keep], (ends[0][keep], ends[1][keep])), shape=(count, count))
    return sp.csr_matrix(_once(one_way).maximum(_once(one_way.T)))


def _once(links: sp.coo_matrix) -> sp.csr_matrix:
    """The dearest of repeated entries."""
    order = np.lexsort((links.data, links.col, links.row))
    row, col, data = links.row[order], links.col[order], links.data[order]
    last = np.flatnonzero(np.append((np.diff(row) != 0) | (np.diff(col) != 0), True)[: row.size])
    return sp.csr_matrix((data[last], (row[last], col[last])), shape=links.shape)


class Annealer:
    """Anneals labellings of one problem; ``rows`` (n, d) have unit length."""

    def __init__(self, problem: Problem, rows: sp.csr_matrix):
        self.n_clusters = problem.n_clusters
        self.nodes = nodes_of(problem)
        self.mass = problem.sample_weight
        self.summed = sp.csr_matrix(self.nodes.member @ rows)
        weighted = self.nodes.member @ sp.diags_array(problem.sample_weight)
        self.weighted = sp.csr_matrix((weighted @ rows).T)

    def anneal(self, labels: np.ndarray) -> np.ndarray:
        """Labels (n,) int32 that the given ones soften and harden into; themselves if a cluster would be lost.

        Cost: two passes over the non-zeros times K per step.
        """
        count = np.unique(labels).size
        share = np.zeros((self.nodes.member.shape[0], self.n_clusters))
        np.add.at(share, (self.nodes.of_row, labels), 1.0)
        share /= share.sum(axis=1, keepdims=True)
        similarity = self._similarity(share)
        gap = self._gap(similarity)
        if count < 2 or not gap > 0:
            return labels
        for sharpness in np.geomspace(SOFTEST / gap, HARDEST / gap, STEPS):
            share = self._answer(similarity, share, sharpness)
            similarity = self._similarity(share)
        annealed = np.argmax(share, axis=1).astype(np.int32)[self.nodes.of_row]
        return annealed if np.unique(annealed).size >= count else labels

    def _similarity(self, share: np.ndarray) -> np.ndarray:
        """(m, K) summed cosines of each node's rows and the centroids that belong to the memberships (m, K)."""
        centers = self.weighted @ share
        norms = np.sqrt(np.einsum("ij,ij->j", centers, centers))
        return self.summed @ (centers / np.where(norms > 0, norms, 1.0))

    def _gap(self, similarity: np.ndarray) -> float:
        """How much nearer a row is to the nearest centroid than to the second, on average."""
        if self.n_clusters < 2:
            return 0.0
        top = np.partition(similarity, -2, axis=1)[:, -2:]
        return float((top[:, 1] - top[:, 0]).sum() / max(np.count_nonzero(self.mass > 0), 1))

    def _answer(self, similarity: np.ndarray, share: np.ndarray, sharpness: float) -> np.ndarray:
        """(m, K) memberships given the centroids and, for cannot-links, the memberships before."""
        logit = sharpness * similarity
        if self.nodes.prior.size:
            logit -= sharpness * self.nodes.prior
        if self.nodes.apart.nnz:
            logit -= self.nodes.apart @ share
        logit -= logit.max(axis=1, keepdims=True)
        np.exp(logit, out=logit)
        return logit / logit.sum(axis=1, keepdims=True)
