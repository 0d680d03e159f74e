"""Active learning: answers that contradict, that are none, or that do not come; and unusable input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from active_helpers import HALVES, LINE, Placing, check_session, tasks
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hmrf_fast import Constraints, HMRFKMeans
from hmrf_fast.active import ExploreConsolidate, LabelOracle
from hmrf_fast.errors import AnswerError, ContradictionError, ContradictionWarning, InputError, StopAsking


def test_a_contradiction_is_explained():
    learner = ExploreConsolidate(2, metric="sqeuclidean", random_state=0).start(LINE)
    learner.tell([(0, 1), (1, 2), (3, 4), (2, 3)], [True, True, True, False])
    with pytest.raises(ContradictionError, match=r"'different' to the pair \(0, 2\).*must-links 0-1-2"):
        learner.tell([(0, 2)], [False])
    with pytest.raises(
        ContradictionError, match=r"cannot-link \(2, 3\) contradicts the must-links 2-1-0-4-3"
    ) as caught:
        learner.tell([(0, 5), (0, 4)], [True, True])
    assert caught.value.contradictions[0].chain == (2, 1, 0, 4, 3)
    assert learner.pairs_.tolist() == [[0, 1], [1, 2], [3, 4], [2, 3], [0, 5]]  # the answer before it is kept
    learner.tell([(0, 2)], [True])  # entailed, but true


def test_a_contradicting_answer_can_be_dropped():
    learner = ExploreConsolidate(2, on_contradiction="warn", random_state=0).start(LINE)
    with pytest.warns(ContradictionWarning, match=r"must-links 0-1-2.*not among the constraints"):
        learner.tell([(0, 1), (1, 2), (0, 2)], [True, True, False])
    assert learner.answers_.tolist() == [1, 1, 0]
    assert learner.constraints_.must_link.tolist() == [[0, 1], [1, 2]] and len(learner.constraints_.cannot_link) == 0


def test_contradictory_earlier_knowledge():
    known = Constraints([(0, 1), (1, 2)], [(0, 2)])
    with pytest.raises(ContradictionError, match=r"contradict themselves: cannot-link \(0, 2\)"):
        ExploreConsolidate(2).start(LINE, constraints=known)
    with pytest.warns(ContradictionWarning, match="must-links count"):
        learner = ExploreConsolidate(2, on_contradiction="warn", random_state=0).start(LINE, constraints=known)
    assert sorted(learner.neighborhoods_[0].tolist()) == [0, 1, 2]


def test_cannot_link_groups_are_known():
    known = Constraints(cannot_link_groups=[0, 0, 0, -1, -1, -1])
    truth = [0, 1, 2, 0, 1, 2]
    learner = ExploreConsolidate(3, random_state=1).fit(LINE, oracle=LabelOracle(truth), constraints=known)
    check_session(learner, 6, truth, known=[(0, 1, 0), (0, 2, 0), (1, 2, 0)])


@pytest.mark.parametrize("answer", ["yes", 2, -1, 0.5, np.nan])
def test_an_answer_that_is_none(answer):
    truth, given_answers = HALVES, []

    def oracle(i, j):
        given_answers.append((i, j))
        return answer if len(given_answers) == 3 else truth[i] == truth[j]

    learner = ExploreConsolidate(2, random_state=0)
    with pytest.raises(AnswerError, match="must be True") as caught:
        learner.fit(LINE, oracle=oracle)
    assert str(given_answers[2]) in str(caught.value) and repr(answer) in str(caught.value)
    assert learner.pairs_.tolist() == [list(pair) for pair in given_answers[:2]]


@pytest.mark.parametrize("answer", ["first", 5, -2, True])
def test_a_neighbourhood_that_is_none(answer):
    class Wrong(Placing):
        def neighborhood(self, row, rows):
            return answer

    with pytest.raises(AnswerError, match=rf"neighbourhood of row \d is {answer!r}; it must be a position below 1"):
        ExploreConsolidate(2, random_state=0).fit(LINE, oracle=Wrong(HALVES))


def test_no_rows_to_ask_about():
    learner = ExploreConsolidate(2, random_state=0).fit(LINE, oracle=LabelOracle(HALVES), rows=[])
    assert learner.n_queries_ == 0 and learner.neighborhoods_ == [] and learner.stop_reason_ == "exhausted"


def test_numbers_are_answers_too():
    learner = ExploreConsolidate(2, random_state=0)
    learner.fit(LINE, oracle=lambda i, j: np.int64(HALVES[i] == HALVES[j]))
    check_session(learner, 6, HALVES)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_exception_loses_nothing(error):
    answered = []

    def oracle(i, j):
        if len(answered) == 2:
            raise error
        answered.append([i, j])
        return HALVES[i] == HALVES[j]

    learner = ExploreConsolidate(2, random_state=0)
    with pytest.raises(error):
        learner.fit(LINE, oracle=oracle)
    assert learner.pairs_.tolist() == answered and learner.n_queries_ == 2
    learner.tell(learner.ask(), [None])  # and it can go on
    assert learner.n_queries_ == 3


@given(tasks(), st.integers(0, 6))
def test_an_interruption_of_the_strategy_loses_nothing(task, when):
    X, truth, learner = task
    whole = clone(learner).fit(X, oracle=LabelOracle(truth))
    learner.start(X)
    dialogue, to_row, left = learner._dialogue, learner._dialogue.board.space.to_row, [when]

    def interrupted(row):
        left[0] -= 1
        if left[0] == -1:
            raise KeyboardInterrupt
        return to_row(row)

    dialogue.board.space.to_row = interrupted
    while True:
        try:
            pairs = learner.ask(learner.batch_size)
            if len(pairs) == 0:
                break
            for i, j in pairs.tolist():
                learner.tell([(i, j)], [truth[i] == truth[j]])
        except KeyboardInterrupt:
            assert learner.stop_reason_ in ("open", "budget")
    assert learner.pairs_.tolist() == whole.pairs_.tolist()
    assert [rows.tolist() for rows in learner.neighborhoods_] == [rows.tolist() for rows in whole.neighborhoods_]


def test_an_interrupted_undo_loses_nothing():
    learner = ExploreConsolidate(2, metric="sqeuclidean", random_state=0).fit(LINE, oracle=LabelOracle(HALVES))
    pairs, space = learner.pairs_.tolist(), learner._dialogue.board.space
    to_neighborhoods = space.to_neighborhoods

    def interrupted(*_):
        space.to_neighborhoods = to_neighborhoods
        raise KeyboardInterrupt

    space.to_neighborhoods = interrupted
    with pytest.raises(KeyboardInterrupt):
        learner.undo()
    assert learner.pairs_.tolist() == pairs[:-1]
    assert learner.ask().tolist() == pairs[-1:]


def test_an_oracle_can_stop():
    def oracle(i, j):
        raise StopAsking

    learner = ExploreConsolidate(2, random_state=0).fit(LINE, oracle=oracle)
    assert learner.stop_reason_ == "stopped" and learner.n_queries_ == 0


def test_a_stored_learner_keeps_its_answers():
    learner = ExploreConsolidate(2, budget=3, random_state=0).fit(LINE, oracle=LabelOracle(HALVES))
    copy = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(copy.pairs_, learner.pairs_) and copy.stop_reason_ == learner.stop_reason_
    assert np.array_equal(copy.constraints_.must_link, learner.constraints_.must_link)
    with pytest.raises(InputError, match="start it again"):
        copy.ask()


def test_the_answers_serve_the_clusterer():
    truth = [0, 0, 1, 1]
    X = [[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]]
    queries = ExploreConsolidate(2, random_state=0).fit(X, oracle=LabelOracle(truth))
    labels = HMRFKMeans(2, random_state=0).fit(X, constraints=queries.constraints_).labels_
    assert labels[0] == labels[1] != labels[2] == labels[3]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1, got 0"),
        ({"budget": -1}, "budget must be at least 0, got -1"),
        ({"budget": 1.5}, "budget must be an integer, got 1.5"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"metric": "euclid"}, "metric must be one of"),
        ({"explore": "nearest"}, "explore must be one of"),
        ({"on_contradiction": "ignore"}, "on_contradiction must be one of"),
        ({"n_threads": 0}, "n_threads must be at least 1, got 0"),
    ],
)
def test_bad_parameters(parameters, message):
    learner = ExploreConsolidate().set_params(**parameters)
    with pytest.raises(InputError, match=message):
        learner.fit(LINE, oracle=LabelOracle(HALVES))
    assert not hasattr(learner, "n_features_in_")


def test_bad_input():
    learner = ExploreConsolidate(2, random_state=0)
    for read in ("constraints_", "pairs_", "answers_", "n_queries_", "neighborhoods_", "stop_reason_"):
        with pytest.raises(NotFittedError, match="call fit or start"):
            getattr(learner, read)
    with pytest.raises(InputError, match="knows 5 rows, X has 6 rows"):
        learner.fit(LINE, oracle=LabelOracle([0] * 5))
    with pytest.raises(InputError, match="callable"):
        learner.fit(LINE, oracle=HALVES)
    with pytest.raises(InputError, match="rows holds 6, but X has rows 0 to 5"):
        learner.start(LINE, rows=[0, 6])
    with pytest.raises(InputError, match=r"Constraints, got list"):
        learner.start(LINE, constraints=[(0, 1)])
    with pytest.raises(InputError, match=r"Negative values.*X\[0, 0\] = -1"):
        ExploreConsolidate(2, metric="i_divergence").start([[-1.0], [1.0]])
    learner.start(LINE)
    with pytest.raises(InputError, match=r"pair \(1, 1\)"):
        learner.tell([(1, 1)], [True])
    with pytest.raises(InputError, match=r"pair \(0, 6\)"):
        learner.tell([(0, 6)], [True])
    for pairs, told in (([(0, 1, 2)], r"int64 of shape \(1, 3\)"), ([(0.0, 1.0)], r"float64 of shape \(1, 2\)")):
        with pytest.raises(InputError, match=rf"integers of shape \(q, 2\), got {told}"):
            learner.tell(pairs, [True])
    with pytest.raises(AnswerError, match="one for each pair, got True"):
        learner.tell([(0, 1)], True)
    for rows, told in (([0.5], "float64 of shape"), ([[0, 1]], r"int64 of shape \(1, 2\)")):
        with pytest.raises(InputError, match=f"rows must be one-dimensional integers, got {told}"):
            ExploreConsolidate(2).start(LINE, rows=rows)
    learner.tell([], [])
    assert learner.n_queries_ == 0
    with pytest.raises(AnswerError, match="1 answers to 2 pairs"):
        learner.tell([(0, 1), (1, 2)], [True])
    with pytest.raises(InputError, match="no answer to take back"):
        learner.undo()
