"""Super-instances: representative rows first, nothing wasted, and better than random pairs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from active_helpers import check_session
from hypothesis import given
from hypothesis import strategies as st
from oracle import METRICS
from sklearn.exceptions import NotFittedError
from strategies import csr_matrices

from hmrf_fast import Constraints, HMRFKMeans, datasets
from hmrf_fast.active import LabelOracle, SuperInstances
from hmrf_fast.active.coordinates import distances
from hmrf_fast.active.coverage import Coverage, by_coverage
from hmrf_fast.active.propagation import electorate, propagate
from hmrf_fast.protocol import draw_pairs, split_halves
from hmrf_fast.scores import normalized_mutual_information


@st.composite
def sessions(draw):
    """Rows (repeated and empty ones included), true classes, rows that may be asked about, a learner."""
    metric = draw(st.sampled_from(METRICS))
    X = draw(csr_matrices(n=(2, 16), d=(1, 130), signed=False if metric == "i_divergence" else None))
    n, k = X.shape[0], draw(st.integers(1, 4))
    truth = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    rows = draw(st.one_of(st.none(), st.lists(st.integers(0, n - 1), min_size=1, unique=True)))
    learner = SuperInstances(
        draw(st.sampled_from([k, None])),
        metric=metric,
        budget=draw(st.sampled_from([None, 0, 1, 3, 7, 20])),
        batch_size=draw(st.sampled_from([1, 1, 2, 5])),
        random_state=draw(st.integers(0, 9)),
    )
    return X, truth, rows, learner


def points(rng, n=40, r=3, directional=True):
    Z = rng.normal(size=(n, r))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True) if directional else Z


def affinities(Z, directional):
    """(n, n) by the definition."""
    if directional:
        return np.maximum(Z @ Z.T, 0.0) ** 2
    apart = np.linalg.norm(Z[:, None] - Z[None], axis=2)
    return apart.max() - apart


@given(sessions())
def test_questions_are_open_allowed_and_true(task):
    X, truth, rows, learner = task
    learner.fit(X, oracle=LabelOracle(truth), rows=rows)
    check_session(learner, X.shape[0], truth, rows=rows)
    assert learner.budget is None or learner.n_queries_ <= learner.budget
    if learner.budget is None:
        assert learner.stop_reason_ == "exhausted"
        asked_about = np.arange(X.shape[0]) if rows is None else np.unique(rows)
        assert np.array_equal(np.sort(np.concatenate(learner.neighborhoods_)), asked_about)


@given(sessions())
def test_labels_agree_with_the_answers(task):
    X, truth, rows, learner = task
    labels = learner.fit(X, oracle=LabelOracle(truth), rows=rows).labels_
    assert labels.shape == (X.shape[0],)
    assert labels.min() >= 0 and labels.max() < max(len(learner.neighborhoods_), 1)
    for position, neighborhood in enumerate(learner.neighborhoods_):
        assert (labels[neighborhood] == position).all()


@given(sessions())
def test_more_budget_only_goes_on(task):
    X, truth, rows, learner = task
    long = learner.set_params(budget=None).fit(X, oracle=LabelOracle(truth), rows=rows).pairs_
    half = len(long) // 2
    short = learner.set_params(budget=half).fit(X, oracle=LabelOracle(truth), rows=rows).pairs_
    assert np.array_equal(short, long[:half])


@pytest.mark.parametrize("directional", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_each_next_row_adds_most(directional, seed):
    Z = points(np.random.default_rng(seed), directional=directional)
    S, everyone = affinities(Z, directional), np.arange(len(Z))
    chosen, covered = [], np.zeros(len(Z))
    for row in Coverage(Z, everyone, everyone, directional):
        gains = np.maximum(S - covered, 0.0).sum(axis=1)
        gains[chosen] = -np.inf
        assert gains[row] >= gains.max() - 1e-6
        chosen.append(row)
        covered = np.maximum(covered, S[row])
    assert sorted(chosen) == everyone.tolist()


@pytest.mark.parametrize("directional", [True, False])
def test_greedy_covers_more_than_random_rows(directional):
    rng = np.random.default_rng(0)
    Z = points(rng, n=300, r=4, directional=directional)
    S, order = affinities(Z, directional), list(by_coverage(Z, np.arange(300), [], directional, rng))
    drawn = [S[rng.permutation(300)[:12]].max(axis=0).sum() for _ in range(50)]
    assert S[order[:12]].max(axis=0).sum() > max(drawn)


def test_rows_done_are_not_represented_again():
    """Three tight groups of which two are done: the third comes first."""
    Z = np.eye(3)[np.repeat([0, 1, 2], [9, 7, 3])]
    first = next(by_coverage(Z, np.arange(19), [0, 9], True, np.random.default_rng(0)))
    assert first >= 16


@pytest.mark.parametrize("seed", range(4))
def test_a_class_may_be_several_super_instances(seed):
    """No centroid per class tells the ends of a line from its middle; super-instances do."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(place, 0.1, (30, 2)) for place in (-4.0, 0.0, 4.0)])
    truth = np.repeat([0, 1, 0], 30)
    learner = SuperInstances(metric="sqeuclidean", budget=10, random_state=seed).fit(X, oracle=LabelOracle(truth))
    assert normalized_mutual_information(truth, learner.labels_) == 1.0


@pytest.mark.parametrize("n_equal", [1, 5])
def test_equal_rows_are_labelled_as_they_are_placed(n_equal):
    Z = np.repeat(np.array([[0.0], [1.0]]), n_equal, axis=0)
    labels = propagate(Z, [list(range(n_equal)), [n_equal]])
    assert np.array_equal(labels, np.repeat([0, 1], n_equal))


def test_known_classes_are_not_asked_again():
    X, y = datasets.load_iris(return_X_y=True)
    known = Constraints(partial_labels=np.where(np.arange(150) % 10 == 0, y, -1))
    learner = SuperInstances(3, metric="sqeuclidean", budget=12, random_state=0)
    learner.fit(X, oracle=LabelOracle(y), constraints=known)
    assert not (learner.pairs_ % 10 == 0).all(axis=1).any()
    assert len(learner.neighborhoods_) == 3
    assert min(map(len, learner.neighborhoods_)) >= 5


def test_a_copy_keeps_its_labels():
    X, y = datasets.load_iris(return_X_y=True)
    learner = SuperInstances(metric="sqeuclidean", budget=15, random_state=0).fit(X, oracle=LabelOracle(y))
    assert np.array_equal(pickle.loads(pickle.dumps(learner)).labels_, learner.labels_)


def test_an_undone_answer_leaves_no_trace():
    X, y = datasets.load_iris(return_X_y=True)
    learner = SuperInstances(metric="sqeuclidean", budget=15, random_state=0).start(X)
    truth, before = LabelOracle(y), []
    for _ in range(10):
        (pair,) = learner.ask()
        before.append((pair.tolist(), learner.labels_))
        learner.tell([pair], [truth(*pair)])
    learner.undo()
    (pair,), labels = learner.ask(), learner.labels_
    assert pair.tolist() == before[-1][0]
    assert np.array_equal(labels, before[-1][1])


def test_iris_without_the_number_of_clusters():
    """Twenty questions about one half label the other better than k-means with the true number of clusters."""
    X, y = datasets.load_iris(return_X_y=True)
    scores, plain = [], []
    for seed in range(5):
        training, test = split_halves(y, seed)
        learner = SuperInstances(metric="sqeuclidean", budget=20, random_state=seed)
        learner.fit(X, oracle=LabelOracle(y), rows=training)
        assert len(learner.neighborhoods_) == 3
        scores.append(normalized_mutual_information(y[test], learner.labels_[test]))
        model = HMRFKMeans(3, metric="sqeuclidean", random_state=seed).fit(X)
        plain.append(normalized_mutual_information(y[test], model.labels_[test]))
    assert np.mean(scores) > max(np.mean(plain), 0.87)


def test_weights_name_the_placed_rows():
    X, y = datasets.load_iris(return_X_y=True)
    learner = SuperInstances(metric="sqeuclidean", budget=9, random_state=0).fit(X, oracle=LabelOracle(y))
    placed = np.concatenate(learner.neighborhoods_)
    assert np.array_equal(np.flatnonzero(learner.sample_weight_ == 2.0), np.sort(placed))
    assert np.all(np.delete(learner.sample_weight_, placed) == 1.0)


@pytest.mark.parametrize("name", ["news_related_3", "news_similar_3"])  # the third is clustered well without any pair
def test_sixty_questions_teach_more_than_sixty_random_pairs(name):
    X, y = datasets.load(name, return_X_y=True)
    active, random = [], []
    for seed in range(8):
        training, test = split_halves(y, seed)
        learner = SuperInstances(3, budget=60, random_state=seed).fit(X, oracle=LabelOracle(y), rows=training)
        drawn = Constraints(*draw_pairs(y, training, 60, seed).first(60))
        for scores, known, weight in ((active, learner.constraints_, learner.sample_weight_), (random, drawn, None)):
            labels = HMRFKMeans(3, random_state=seed).fit(X, constraints=known, sample_weight=weight).labels_
            scores.append(normalized_mutual_information(y[test], labels[test]))
    assert np.mean(active) > np.mean(random) + 0.03


@given(sessions())
def test_predicted_labels_are_those_of_the_session_but_for_placed_rows(task):
    X, truth, rows, learner = task
    learner.fit(X, oracle=LabelOracle(truth), rows=rows)
    placed = np.concatenate([*learner.neighborhoods_, np.zeros(0, np.int64)]).astype(np.int64)
    differ = np.flatnonzero(learner.predict(X) != learner.labels_)
    if learner.neighborhoods_:  # a tie may go another way where a product of fewer rows rounds differently
        apart = electorate(learner._coordinates, learner._placed())
        seen = distances(
            learner._coordinates @ apart.lens if apart.lens.ndim else learner._coordinates * apart.lens, apart.points
        )
        two = np.sort(np.partition(seen, 1, axis=1)[:, :2], axis=1) if seen.shape[1] > 1 else np.empty((len(seen), 0))
        tied = np.flatnonzero(np.ptp(two, axis=1) <= 1e-6 * two[:, 1]) if two.shape[1] else np.zeros(0, np.int64)
        differ = np.setdiff1d(differ, tied)
    assert np.isin(differ, placed).all()


@pytest.mark.parametrize("metric", METRICS)
def test_new_rows_join_the_neighbourhood_of_rows_like_them(metric):
    X, y = datasets.load("news_different_3", values="counts", return_X_y=True)
    half = np.arange(0, 300, 2)
    learner = SuperInstances(3, metric=metric, budget=60, random_state=0).fit(X[half], oracle=LabelOracle(y[half]))
    placed = {row: code for code, rows in enumerate(learner.neighborhoods_) for row in rows.tolist()}
    copies = [row for row in placed]
    if metric != "sqeuclidean":  # whose first axis on raw counts is the length of the message
        new = np.arange(1, 300, 2)
        agreement = normalized_mutual_information(y[new], learner.predict(X[new]))
        assert agreement >= normalized_mutual_information(y[half], learner.labels_) - 0.25 and agreement > 0.3
    found = pickle.loads(pickle.dumps(learner)).predict(X[half][copies])
    np.testing.assert_array_equal(found, learner.predict(X[half])[copies])
    with pytest.raises(ValueError, match="3293"):
        learner.predict(X[:, :5])


def test_predict_before_any_session_and_any_answer():
    learner = SuperInstances(metric="sqeuclidean", budget=0, random_state=0)
    with pytest.raises(NotFittedError):
        learner.predict(np.eye(3))
    learner.fit(np.eye(4), oracle=LabelOracle([0, 0, 1, 1]))
    assert learner.predict(np.eye(4)).tolist() == learner.labels_.tolist()


def test_undo_keeps_coordinates_and_order():
    X, y = datasets.load("news_similar_3", return_X_y=True)
    learner = SuperInstances(budget=30, random_state=0).fit(X, oracle=LabelOracle(y))
    memo, pairs = dict(learner._dialogue.board.space.memo), learner.pairs_.tolist()
    for _ in range(3):
        learner.undo()
    after = learner._dialogue.board.space.memo
    assert set(after) == set(memo) >= {"coordinates", "order"} and all(after[name] is memo[name] for name in memo)
    for _ in range(3):
        (pair,) = learner.ask()
        learner.tell([pair], [bool(y[pair[0]] == y[pair[1]])])
    assert learner.pairs_.tolist() == pairs
