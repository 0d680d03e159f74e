"""The NamedTuples that cross the boundary between the Python layer and the kernels.

Every hand-over is one of these tuples of plain arrays, so that numba sees one stable type per argument.
``r`` rows are touched by a constraint, ``u`` nodes are what moves as one thing, ``m`` pairs are penalised one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Corpus(NamedTuple):
    """Rows in CSR form: indices sorted within each row, no duplicates, no stored zeros."""

    indptr: np.ndarray  # (n + 1,) int64
    indices: np.ndarray  # (nnz,) int32
    values: np.ndarray  # (nnz,) float32 or float64
    n_features: int


class Visits(NamedTuple):
    """Where the non-zeros of rows begin and end, in the order in which a pass visits the rows. Whatever else it needs
    of each comes in that order, too: looked up by row number, at random places, it would be waited for."""

    begin: np.ndarray  # (n,) int64
    end: np.ndarray  # (n,) int64


class PenaltyGraph(NamedTuple):
    """Everything the E-step must know about constraints; built once per fit.

    A *node* is a set of rows that hard must-links tie together (mostly a single row). Soft constraints are either
    listed as row pairs (given ones, and entailed ones where a neighbourhood is small enough to enumerate) or kept
    implicit as *blocks*: sets of rows all of whose pairs carry one weight, with *links* between two blocks all of
    whose cross pairs are cannot-links of one weight. All row numbers below are positions in ``rows``.
    """

    rows: np.ndarray  # (r,) int64: the rows of X that a constraint touches, in an order of their own
    node_of_row: np.ndarray  # (r,) int32
    node_ptr: np.ndarray  # (u + 1,) int64 into node_rows
    node_rows: np.ndarray  # (r,) int32
    pair_first: np.ndarray  # (m,) int32
    pair_second: np.ndarray  # (m,) int32
    pair_kind: np.ndarray  # (m,) int8, +1 must-link, -1 cannot-link
    pair_weight: (
        np.ndarray
    )  # (m,) float64, finite; negative where a given weight is below the entailed one of its block
    edge_ptr: np.ndarray  # (u + 1,) int64: the pairs between two different nodes, listed under both
    edge_node: np.ndarray  # (e,) int32, the node at the other end
    edge_pair: np.ndarray  # (e,) int64 into the pair arrays
    hard_ptr: np.ndarray  # (u + 1,) int64: hard cannot-links between nodes, listed under both
    hard_node: np.ndarray  # (f,) int32
    unit_ptr: np.ndarray  # (v + 1,) int64: must-link components of two or more nodes, moved as one by block moves
    unit_nodes: np.ndarray  # (.,) int32
    block_ptr: np.ndarray  # (b + 1,) int64: implicit blocks, as rows
    block_rows: np.ndarray  # (.,) int32, grouped by node inside a block
    block_weight: (
        np.ndarray
    )  # (b,) float64: > 0 every inner pair is a must-link, < 0 a cannot-link, 0 inner pairs are free
    link_ptr: np.ndarray  # (b + 1,) int64: implicit cannot-links between blocks, listed under both
    link_block: np.ndarray  # (.,) int32
    link_weight: np.ndarray  # (.,) float64, > 0
    node_block: np.ndarray  # (u,) int32, the block a node lies in, or -1


class Links(NamedTuple):
    """The part of a ``PenaltyGraph`` that sweeps read, with prices in the order in which they read them: fewer arrays
    per call make kernels compile twice as fast."""

    edge_ptr: np.ndarray
    edge_node: np.ndarray
    edge_price: np.ndarray  # (e,) float64: what it adds to J if both ends share a label; credits are negative
    hard_ptr: np.ndarray
    hard_node: np.ndarray


class RowTerms(NamedTuple):
    """The parts of a row's distance that do not depend on the centroid, see ``distances.py``; all (n,) float64."""

    base: np.ndarray
    scale: np.ndarray
    shift: np.ndarray  # length 0 for metrics without rank-one terms


class PairTerms(NamedTuple):
    """The parts of a pair's distance that belong to one row, see ``pairs.py``; all (n,) float64."""

    centre: np.ndarray
    factor: np.ndarray
    lean: np.ndarray  # length 0 for metrics without rank-one terms
    counter: np.ndarray
    degree: float


class PairSide(NamedTuple):
    """Rows that stand on one side of pairs."""

    corpus: Corpus
    terms: PairTerms
    unit: np.ndarray  # (n,) float64 row normaliser


class Shared(NamedTuple):
    """The features that both rows of each of m pairs have, and what they add to the overlap at weight 1, see
    ``pairs.py``."""

    ptr: np.ndarray  # (m + 1,) int64
    features: np.ndarray  # (s,) int32
    parts: np.ndarray  # (s,) float64


class Moments(NamedTuple):
    """What one pass over the rows under the current feature weights gives; all (n,) float64, of the normalised rows."""

    square: np.ndarray
    total: np.ndarray
    entropy: np.ndarray
    mean: np.ndarray  # plain mean of the row as given over all features; length 0 unless the metric centres rows


class Sums(NamedTuple):
    """Sufficient statistics of a labelling."""

    linear: np.ndarray  # (K, d) int64 or float64: sum of factor * x over the rows of each cluster, times a scale
    lean: np.ndarray  # (K,) float64: sum of factor * shift, zeros for metrics without rank-one terms
    mass: np.ndarray  # (K,) float64: summed sample weights
    inverse: np.ndarray = np.zeros(0)  # (d,) float64: one over the scale of each feature; length 0 for all 1


class ClusterTerms(NamedTuple):
    """What distances need to know of the centroids, see ``distances.py``."""

    content: np.ndarray  # (K, d) float64: the centroids or their logarithms, shared with whoever holds the centroids
    inverse: np.ndarray  # (K,) float64
    offset: np.ndarray  # (K,) float64
    cross: np.ndarray  # (K,) float64
    weights: np.ndarray  # (d,) float64: the feature weights a; the table holds a * content * inverse

    @property
    def weighted(self) -> np.ndarray:
        """(K, d) float64: the table's content, cluster-major."""
        parts = np.zeros_like(self.content)
        return np.multiply(self.weights, self.content * self.inverse[:, None], out=parts, where=self.weights > 0)


class Tops(NamedTuple):
    """What bounds the keys of groups of columns of a table, see ``pruning.py``."""

    groups: np.ndarray  # (g,) int64, ascending: their numbers, counted in whole vectors of columns
    places: np.ndarray  # (g,) int64: where in the flat table each of them begins for feature 0
    table: (
        np.ndarray
    )  # (tiles, d, width): per group and feature the largest of its entries, rounded up to half its size
    offset: np.ndarray  # (lanes of it,): the lowest offset of each group, infinite in lanes without a group
    lowest: np.ndarray  # (lanes,): the lowest cross term of each group; length 0 without those
    highest: np.ndarray  # (lanes,): the highest
