"""The harness of benchmarks/quality: draws, table and statistics. It is no part of the installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "quality"


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    """Its modules import each other by bare names, as scripts do."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == FOLDER:
            del sys.modules[name]


def test_draws_are_nested_and_apart_from_the_test_rows():
    import sets

    corpus = sets.load("iris")
    few, many = (sets.draw(corpus, 3, count) for count in (20, 300))
    assert np.array_equal(few.pairs, many.pairs[:20]) and np.array_equal(few.test, many.test)
    assert len(np.unique(many.pairs, axis=0)) == 300
    assert not np.isin(many.pairs, many.test).any()
    assert np.array_equal(np.sort(np.r_[many.training, many.test]), np.arange(150))
    swapped = sets.draw(corpus, 3, 20, fold=1)
    assert np.array_equal(swapped.test, many.training)
    must_link, cannot_link = many.first(100)
    assert len(must_link) + len(cannot_link) == 100
    assert np.all(corpus.y[must_link[:, 0]] == corpus.y[must_link[:, 1]])


def test_fixed_draws_are_continued(tmp_path):
    """Stored pairs come first; more than there are stored are drawn from the same rows, none of them twice."""
    import sets

    corpus, rng = sets.load("iris"), np.random.default_rng(0)
    held_out = np.zeros((1, 150), np.uint8)
    held_out[0, :15] = 1
    i, j = np.triu_indices(10)
    i, j = 20 + i[i != j], 20 + j[i != j]
    order = rng.permutation(i.size)
    (tmp_path / "constraints").mkdir()
    np.savez(tmp_path / "constraints" / "pairs_iris.npz", test=held_out, i=i[order][None], j=j[order][None])
    drawn = sets.draw(corpus, 0, 200, str(tmp_path))
    assert np.array_equal(drawn.pairs[: i.size], np.column_stack([i, j])[order])
    assert len(np.unique(drawn.pairs, axis=0)) == 200 and drawn.pairs.min() >= 15
    assert sets.draw(corpus, 0, 200, str(tmp_path), halves=True).test.size == 75


def test_noise_is_nested_and_of_the_wanted_share():
    import sets

    drawn = sets.draw(sets.load("iris"), 0, 1000)
    wrong = sets.flipped(drawn, 0.2, 0, 0).same_class != drawn.same_class
    assert 0.15 < wrong.mean() < 0.25
    shorter = drawn._replace(pairs=drawn.pairs[:100], same_class=drawn.same_class[:100])
    assert np.array_equal(sets.flipped(shorter, 0.2, 0, 0).same_class != shorter.same_class, wrong[:100])


def test_table_forgets_a_line_that_was_broken_off(tmp_path):
    import table

    job = table.Job("iris", "default", 50, 0.2, "halves", 1, 0)
    path = tmp_path / "sub" / "t.csv"
    writer = table.Writer(path)
    writer.write({**job._asdict(), "status": "ok", "nmi": "0.75"})
    writer.close()
    with path.open("a") as file:
        file.write("iris,default,100")
    writer = table.Writer(path)
    writer.write({**job._asdict(), "run": 2, "status": "timeout"})
    writer.close()
    rows = table.read(path)
    assert [table.job_of(row) for row in rows] == [job, job._replace(run=2)]
    assert rows[0]["nmi"] == 0.75 and np.isnan(rows[1]["nmi"])


def test_ranks_and_tests():
    import ranks

    rng = np.random.default_rng(0)
    scores = np.column_stack([rng.uniform(0.5, 0.6, 12), rng.uniform(0.7, 0.8, 12), rng.uniform(0.3, 0.4, 12)])
    found = ranks.rank(scores, 1)
    assert found.mean_rank.tolist() == [2.0, 1.0, 3.0]
    assert found.friedman == pytest.approx(stats.chi2.sf(24.0, 2))  # chi2 = 12 N / (k (k + 1)) sum (rank - 2)^2
    assert found.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 12)), abs=1e-3)  # Demsar, table 5
    smallest = 2.0 / 2**12  # Wilcoxon's p when all 12 differences have one sign
    assert found.adjusted[[0, 2]] == pytest.approx([2 * smallest, 2 * smallest])
    assert np.isnan(found.adjusted[1]) and found.gap[1] == 0
    assert found.gap[0] == np.max(scores[:, 1] - scores[:, 0])
    assert ranks.holm(np.array([0.01, 0.04, 1.0, 0.03]), 2)[[0, 1, 3]] == pytest.approx([0.03, 0.06, 0.06])
    assert ranks.falls(np.array([0.1, 0.5, 0.3, 0.6, 0.2])) == (pytest.approx(0.4), 3, 4)
