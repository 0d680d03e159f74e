"""Active learning: which pairs are asked, what follows from the answers, and what is never asked."""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np
import pytest
from active_helpers import HALVES, LINE, Doubtful, Placing, check_session, closure, tasks
from hypothesis import given
from hypothesis import strategies as st
from oracle import METRICS
from sklearn.base import clone
from strategies import csr_matrices

from hmrf_fast import Constraints
from hmrf_fast.active import ActiveLearner, ExploreConsolidate, LabelOracle
from hmrf_fast.active.knowledge import Knowledge
from hmrf_fast.active.replay import Replay
from hmrf_fast.active.space import Space
from hmrf_fast.geometry import measure
from hmrf_fast.neighborhood_seeds import distances_to
from hmrf_fast.neighborhoods import resolve

# ---- awkward data (T23 of the small inputs)


@pytest.mark.parametrize("explore", ["farthest", "density"])
@pytest.mark.parametrize("seed", range(5))
def test_five_empty_rows(explore, seed):
    truth = [0, 1, 0, 1, 0]
    learner = ExploreConsolidate(2, budget=10, explore=explore, random_state=seed)
    assert learner.fit(np.zeros((5, 3)), oracle=LabelOracle(truth)) is learner
    check_session(learner, 5, truth)
    assert learner.n_queries_ == 4 == len(learner.pairs_)  # each row but the first against the other neighbourhood


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(5))
def test_six_numbers_end_by_themselves(metric, seed):
    learner = ExploreConsolidate(2, metric=metric, budget=1000, random_state=seed).fit(LINE, oracle=LabelOracle(HALVES))
    check_session(learner, 6, HALVES)
    assert learner.n_queries_ <= 15 and learner.stop_reason_ == "exhausted"
    assert {tuple(rows) for rows in map(np.ndarray.tolist, learner.neighborhoods_)} == {(0, 1, 2), (3, 4, 5)}


def test_a_budget_of_zero():
    learner = ExploreConsolidate(2, budget=0, random_state=0)
    assert learner.fit(LINE, oracle=LabelOracle(HALVES)) is learner
    assert learner.n_queries_ == 0 and learner.constraints_.is_empty and learner.stop_reason_ == "budget"
    assert learner.pairs_.shape == (0, 2) and learner.answers_.dtype == np.int8


@pytest.mark.parametrize("seed", range(5))
def test_fewer_classes_than_clusters(seed):
    learner = ExploreConsolidate(3, metric="sqeuclidean", budget=1000, random_state=seed)
    learner.fit(LINE, oracle=LabelOracle(HALVES))
    check_session(learner, 6, HALVES)
    assert len(learner.neighborhoods_) == 2 and learner.stop_reason_ == "exhausted"


def test_one_cluster_needs_no_question():
    learner = ExploreConsolidate(1, random_state=0).fit(LINE, oracle=LabelOracle([0] * 6))
    assert learner.n_queries_ == 0 and len(learner.neighborhoods_) == 1


# ---- properties


@given(tasks(), st.data())
def test_sessions(task, data):
    X, truth, learner = task
    n = X.shape[0]
    unsure = data.draw(st.sets(st.integers(0, n - 1), max_size=2))
    oracle = Doubtful(truth, unsure)
    learner.fit(X, oracle=oracle)
    check_session(learner, n, truth)
    assert oracle.asked == learner.n_queries_ == len(learner.pairs_)
    assert learner.budget is None or learner.n_queries_ <= learner.budget
    if learner.budget is None and not unsure:
        placed = np.concatenate(learner.neighborhoods_)
        if len(learner.neighborhoods_) == learner.n_clusters or learner.n_clusters is None:
            assert sorted(placed.tolist()) == list(range(n))
        assert len(learner.neighborhoods_) == len(set(truth))


@given(tasks(), st.data())
def test_neighbourhood_questions(task, data):
    X, truth, learner = task
    n = X.shape[0]
    oracle = Placing(truth, data.draw(st.sets(st.integers(0, n - 1), max_size=2)))
    learner.set_params(budget=data.draw(st.sampled_from([None, 4]))).fit(X, oracle=oracle)
    assert oracle.asked == learner.n_queries_ <= len(learner.pairs_) or learner.n_queries_ == 0
    assert learner.budget is None or learner.n_queries_ <= 4
    for i, j in learner.constraints_.cannot_link.tolist():
        assert truth[i] != truth[j]
    for i, j in learner.constraints_.must_link.tolist():
        assert truth[i] == truth[j]
    if learner.budget is None and not oracle.unsure:
        assert len(learner.neighborhoods_) == len(set(truth))
        assert learner.n_queries_ < n


@given(tasks(), st.data())
def test_earlier_knowledge_and_rows(task, data):
    X, truth, learner = task
    n = X.shape[0]
    rows = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    labels = [truth[i] if data.draw(st.booleans()) else -1 for i in range(n)]
    pairs = data.draw(st.lists(st.sampled_from(list(combinations(range(n), 2))), max_size=5, unique=True))
    same, different = ([p for p in pairs if (truth[p[0]] == truth[p[1]]) == kind] for kind in (True, False))
    known = Constraints(same, different, partial_labels=labels, must_link_weight=2.0)
    learner.fit(X, oracle=LabelOracle(truth), rows=rows, constraints=known)
    facts = [(i, j, int(truth[i] == truth[j])) for i, j in pairs]
    facts += [
        (i, j, int(labels[i] == labels[j])) for i, j in combinations(range(n), 2) if min(labels[i], labels[j]) >= 0
    ]
    check_session(learner, n, truth, known=facts, rows=rows)
    assert learner.constraints_.labels is known.labels
    assert learner.constraints_.must_link_group_weight == 2.0
    assert resolve(learner.constraints_, n).n_contradictions == 0


@given(tasks(), st.floats(0.05, 0.5), st.integers(0, 99))
def test_noise_never_contradicts_itself(task, noise, seed):
    X, truth, learner = task
    learner.fit(X, oracle=LabelOracle(truth, noise, seed))
    check_session(learner, X.shape[0])
    assert resolve(learner.constraints_, X.shape[0]).n_contradictions == 0


@given(tasks())
def test_step_by_step_is_fit(task):
    X, truth, learner = task
    whole = clone(learner).fit(X, oracle=LabelOracle(truth))
    learner.start(X)
    while len(pairs := learner.ask(learner.batch_size)):
        assert np.array_equal(pairs, learner.ask(learner.batch_size))  # the same until they are answered
        learner.tell(pairs, [truth[i] == truth[j] for i, j in pairs])
    assert np.array_equal(learner.pairs_, whole.pairs_)
    assert np.array_equal(learner.answers_, whole.answers_)
    assert [rows.tolist() for rows in learner.neighborhoods_] == [rows.tolist() for rows in whole.neighborhoods_]


@given(tasks(), st.data())
def test_open_questions_do_not_entail_one_another(task, data):
    X, truth, learner = task
    learner.set_params(batch_size=5, budget=None).start(X)
    while len(pairs := learner.ask(5)):
        order = data.draw(st.permutations(range(len(pairs))))
        for position in order:  # answers may come in any order, and whatever they are the others stay open
            i, j = pairs[position].tolist()
            assert learner._dialogue.board.knowledge.relation(i, j) is None
            learner.tell([(i, j)], [truth[i] == truth[j]])
    check_session(learner, X.shape[0], truth)


@given(tasks(), st.integers(1, 3))
def test_undo_is_as_if_nothing_was_said(task, count):
    X, truth, learner = task
    learner.start(X)
    history = []
    while len(pairs := learner.ask()):
        history.append((pairs.tolist(), [rows.tolist() for rows in learner.neighborhoods_]))
        learner.tell(pairs, [truth[i] == truth[j] for i, j in pairs])
    for pairs, neighborhoods in history[: -count - 1 : -1]:
        learner.undo()
        assert learner.ask().tolist() == pairs
        assert [rows.tolist() for rows in learner.neighborhoods_] == neighborhoods


@given(st.data())
def test_knowledge_is_the_closure(data):
    n = data.draw(st.integers(2, 9))
    truth = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    knowledge, facts = Knowledge(n), []
    for i, j in data.draw(st.lists(st.sampled_from(list(combinations(range(n), 2))), max_size=20)):
        facts.append((i, j, int(truth[i] == truth[j])))
        knowledge.add(*facts[-1])
    table = closure(n, facts)
    for i, j in combinations(range(n), 2):
        assert (-1 if knowledge.relation(i, j) is None else knowledge.relation(i, j)) == table[i, j]
        assert (j in knowledge.members(i)) == (table[i, j] == 1)


@given(st.sampled_from(METRICS), st.data())
def test_distances_are_the_engines(metric, data):
    X = data.draw(csr_matrices(signed=False if metric == "i_divergence" else None))
    space, weights = Space(X, metric, 1), np.ones(X.shape[1])
    row = data.draw(st.integers(0, X.shape[0] - 1))
    expected = distances_to(space.problem, measure(space.problem, weights).pairs, weights, row)
    expected[row] = 0.0
    np.testing.assert_allclose(space.to_row(row), expected, rtol=1e-9, atol=1e-9)


# ---- other strategies


class Sloppy(ActiveLearner):
    """Proposes every pair, again and again: known ones must cost nothing and reach no oracle."""

    def __init__(
        self, budget=None, n_clusters=2, metric="cosine", batch_size=1, on_contradiction="raise", n_threads=None,
        random_state=None,
    ):  # fmt: skip
        self.budget, self.n_clusters, self.metric, self.batch_size = budget, n_clusters, metric, batch_size
        self.on_contradiction, self.n_threads, self.random_state = on_contradiction, n_threads, random_state

    def _strategy(self, board):
        pairs = list(combinations(board.rows.tolist(), 2))
        for _ in range(2):
            self.received = yield pairs + [(j, i) for i, j in pairs]


@given(st.lists(st.integers(0, 2), min_size=2, max_size=8), st.integers(1, 6))
def test_any_strategy_asks_only_what_is_open(truth, batch_size):
    learner = Sloppy(batch_size=batch_size).fit(np.ones((len(truth), 1)), oracle=LabelOracle(truth))
    check_session(learner, len(truth), truth)
    expected = [int(truth[i] == truth[j]) for i, j in combinations(range(len(truth)), 2)]
    assert learner.received == expected * 2


@given(tasks(), st.integers(1, 4))
def test_undo_works_nothing_out_again(task, count):
    """What was prepared before the first answer is kept, and gone through again."""
    X, truth, learner = task
    learner.fit(X, oracle=LabelOracle(truth))
    pairs, space = learner.pairs_.tolist(), learner._dialogue.board.space
    looked = []
    to_row = space.to_row
    space.to_row = lambda row: looked.append(row) or to_row(row)
    for _ in range(min(count, learner.n_queries_)):
        learner.undo()
    assert not looked and learner._dialogue.board.space is space
    assert learner.pairs_.tolist() == pairs[: learner.n_queries_]


@given(st.lists(st.integers()), st.lists(st.one_of(st.integers(0, 6), st.none())))
def test_replays_yield_the_same_once_and_again(numbers, visits):
    """Also after an exception in the middle (None: the next number cannot be worked out)."""
    worked_out, broken = [], False

    def begin():
        for number in numbers:
            if broken:
                raise KeyboardInterrupt
            worked_out.append(number)
            yield number

    replay = Replay(begin)
    for visit in visits:
        broken = visit is None
        if not broken:
            assert list(islice(replay, visit)) == numbers[:visit]
        elif len(worked_out) < len(numbers):
            with pytest.raises(KeyboardInterrupt):
                list(replay)
    broken = False
    assert list(replay) == numbers == list(replay)
    if None not in visits:
        assert worked_out == numbers


@given(tasks())
def test_rows_in_neighbourhoods_weigh_double(task):
    X, truth, learner = task
    learner.fit(X, oracle=LabelOracle(truth))
    expected = np.ones(X.shape[0])
    for rows in learner.neighborhoods_:
        expected[rows] = 2.0
    np.testing.assert_array_equal(learner.sample_weight_, expected)
