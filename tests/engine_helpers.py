"""Random problems in the engine's own types, so that tests of the engine stay short."""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pytest
from constraint_oracle import Oracle
from hypothesis import settings
from hypothesis import strategies as st
from oracle import CANNOT_LINK, METRICS, MUST_LINK, prepare
from scipy import sparse
from strategies import csr_matrices, feature_weights, label_vectors, pair_lists, sample_weights

from hmrf_fast import geometry, m_step, weight_step
from hmrf_fast.constraints import Constraints
from hmrf_fast.e_step import violations
from hmrf_fast.inputs import as_corpus
from hmrf_fast.kernels import pool
from hmrf_fast.kernels._jit import JIT_DISABLED
from hmrf_fast.kernels.metrics import data_cost
from hmrf_fast.neighborhoods import resolve
from hmrf_fast.penalties import Limits, plan

needs_compiler = pytest.mark.skipif(JIT_DISABLED, reason="takes minutes without the compiler")
# Limits at which even the smallest sets become implicit blocks and links.
TINY_LIMITS = (Limits(block_rows=2, link_factor=1), Limits(block_rows=1, link_factor=0))
NO_PRIOR = weight_step.Prior("none", 0.0)


def examples(count):
    """Settings of a property test with so many reproducible examples."""
    return settings(deadline=None, derandomize=True, max_examples=count)


class Instance(NamedTuple):
    """A random clustering problem with a labelling, in plain terms."""

    X: sparse.csr_matrix
    metric: str
    K: int
    labels: np.ndarray  # (n,) int32
    a: np.ndarray
    sample_weight: np.ndarray
    pairs: list  # (i, j, kind, weight)

    @property
    def rows(self):
        """The rows as the oracle wants them."""
        return prepare(self.X, self.metric)


@st.composite
def instances(draw, metrics=METRICS, n=(3, 14), d=(1, 10), K=(1, 4), max_pairs=12, zero_rows=None, zeros=False):
    """An `Instance`; zeros: some sample weights may be 0."""
    metric = draw(st.sampled_from(metrics))
    signed = False if metric == "i_divergence" else None
    X = draw(csr_matrices(n=n, d=d, signed=signed, zero_rows=zero_rows, density=(0.2, 0.9)))
    k = draw(st.integers(K[0], min(K[1], X.shape[0])))
    labels = draw(label_vectors(X.shape[0], k)).astype(np.int32)
    a = draw(feature_weights(X.shape[1]))
    weight = draw(sample_weights(X.shape[0], zeros=zeros))
    return Instance(X, metric, k, labels, a, weight, draw(pair_lists(X.shape[0], max_size=max_pairs)))


def constraints_of(pairs, **more):
    """The public object for [(i, j, kind, weight)]."""
    split = {kind: [p for p in pairs if p[2] == kind] for kind in (MUST_LINK, CANNOT_LINK)}
    given = {kind: [p[:2] for p in chosen] or None for kind, chosen in split.items()}
    weight = {f"{kind}_weight": [p[3] for p in chosen] if chosen else 1.0 for kind, chosen in split.items()}
    return Constraints(**given, **(weight | more))


def graph_of(n, pairs, *, infer=False, limits=None, enumerate_all=False, **more):
    """The penalty graph of [(i, j, kind, weight)], groups and labels over n rows."""
    resolved = resolve(constraints_of(pairs, **more), n, infer=infer)
    return plan(resolved, limits=limits, enumerate_all=enumerate_all)


def entailed_pairs(n, pairs):
    """All penalised pairs, the entailed ones included, by the pair-by-pair oracle of the weight rules."""
    must, cannot = ([(i, j, w) for i, j, kind, w in pairs if kind == wanted] for wanted in (MUST_LINK, CANNOT_LINK))
    told = Oracle(n, must, cannot, infer=True)
    both = ((MUST_LINK, told.must), (CANNOT_LINK, told.cannot))
    return [(i, j, kind, w) for kind, source in both for (i, j), w in source.items() if w > 0]


def problem_of(case, *, dtype=np.float64, graph=None, potts=False, n_threads=1, infer=False):
    """The engine's `Problem` of an instance, by default with its given pairs."""
    if graph is None:
        graph = graph_of(case.X.shape[0], case.pairs, infer=infer, enumerate_all=case.metric == "i_divergence")
    corpus = as_corpus(case.X.astype(dtype))
    return geometry.build_problem(
        corpus, case.metric, case.sample_weight, graph, case.K, potts=potts, n_threads=n_threads
    )


class State(NamedTuple):
    """A problem, its geometry, and the centroids that minimise J for the instance's labels."""

    problem: geometry.Problem
    geometry: geometry.Geometry
    labels: np.ndarray
    centers: np.ndarray
    alpha: float

    @property
    def clusters(self):
        """The centroids' parts of the distances."""
        return self.problem.metric.cluster_terms(self.centers, self.geometry.weights, self.alpha)

    @property
    def sums(self):
        """The statistics of the labels."""
        return m_step.statistics(self.problem, self.geometry, m_step.sum_rows(self.problem, self.geometry, self.labels))


def state_of(case, alpha=0.0, **more):
    """Measure an instance and take its centroids."""
    problem = problem_of(case, **more)
    measured = geometry.measure(problem, case.a)
    state = State(problem, measured, case.labels, np.zeros((case.K, case.X.shape[1])), alpha)
    return state._replace(centers=problem.metric.centers(state.sums, case.a, alpha))


def own_costs(problem, measured, clusters, labels):
    """(n,) distances of the rows to their own centroids in double precision, from the engine's parts of D."""
    corpus, terms = problem.corpus, measured.rows
    rows = sparse.csr_matrix(
        (corpus.values.astype(float), corpus.indices, corpus.indptr), (labels.size, corpus.n_features)
    )
    own, weighted = np.empty(labels.size), clusters.weighted
    for i, label in enumerate(labels):
        row = rows[i]
        shift = terms.shift[i] * clusters.cross[label] if terms.shift.size else 0.0
        product = np.sum(row.data * weighted[label, row.indices]) + shift
        own[i] = terms.base[i] + clusters.offset[label] + (terms.scale[i] * product if terms.scale[i] else 0.0)
    return own


def engine_objective(state, weights=None, prior=NO_PRIOR):
    """J added up row by row, under other feature weights if given, centroids held fixed."""
    if weights is not None:
        state = state._replace(geometry=geometry.measure(state.problem, weights))
    problem, measured = state.problem, state.geometry
    own = own_costs(problem, measured, state.clusters, state.labels)
    data = np.sum(problem.sample_weight * np.where(problem.sample_weight > 0, own, 0.0))
    broken = violations(problem, measured, state.labels)[0]
    return float(data + broken + weight_step.prior_cost(prior, measured.weights))


def objective_from_sums(state):
    """J without prior, its data term from the sums alone (what the history records)."""
    problem, measured = state.problem, state.geometry
    product, _ = problem.metric.products(state.sums, state.clusters, np.arange(problem.n_clusters))
    data = data_cost(problem.metric, measured.base, product, state.sums, state.clusters)
    return data + violations(problem, measured, state.labels)[0]


def engine_gradient(state):
    """dJ/da of the engine, centroids held fixed."""
    return weight_step.gradient(
        state.problem, state.geometry, state.centers, state.clusters, state.sums, state.labels, state.alpha
    )


@contextmanager
def busy_threads(chunk_entries=7):
    """Make even tiny matrices run in several chunks on real threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "SERIAL_WORK", 0)
        patch.setattr(pool, "CHUNK_ENTRIES", chunk_entries)
        yield


def assert_near(actual, expected, tolerance=1e-10):
    """Equal up to rounding relative to the largest finite number involved."""
    expected = np.asarray(expected, dtype=np.float64)
    finite = np.abs(expected[np.isfinite(expected)])
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * max(1.0, finite.max(initial=0.0)))
