"""select-k, bench, weights of rows, logs and Mahalanobis distances on the command line, as real processes."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
from test_cli import refused, run
from text_corpus import json_lines

from hmrf_fast import Constraints, HMRFKMeans, datasets, selection
from hmrf_fast import io as files
from hmrf_fast.app.logs import heard
from hmrf_fast.artificial import zipf_texts
from hmrf_fast.errors import FileError, InputError
from hmrf_fast.timing import time_fit


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """Iris as CSV with ids, pairs of both kinds, and weights."""
    folder, flowers = tmp_path_factory.mktemp("iris"), datasets.load_iris()
    lines = [f"f{row},{','.join(map(str, values))}" for row, values in enumerate(flowers.data)]
    (folder / "iris.csv").write_text("id,a,b,c,d\n" + "\n".join(lines) + "\n")
    pairs = [(0, 1), (50, 51), (100, 101), (2, 3), (60, 70), (120, 121), (0, 50), (50, 100), (3, 149), (60, 130)]
    told = [f"f{i},f{j},{'must' if flowers.target[i] == flowers.target[j] else 'cannot'}" for i, j in pairs]
    (folder / "pairs.csv").write_text("i,j,type\n" + "\n".join(told) + "\n")
    (folder / "weights.csv").write_text("id,weight\nf0,3\nf149,0\nf5,\n")
    return folder


SELECT = ("select-k", "iris.csv", "--candidates", "2,3-4", "--metric", "sqeuclidean", "--n-init", 2)


def test_select_k(iris):
    chosen = (*SELECT, "--constraints", "pairs.csv", "--n-resamples", 2)
    done = run(*chosen, "--json", "--out", "scores.csv", "--progress", "json", cwd=iris)
    told = json.loads(done.stdout)
    data = files.read(iris / "iris.csv")
    known = files.read_constraints(iris / "pairs.csv", data.n_rows, data.ids)
    found = selection.select_n_clusters(
        data.matrix, [2, 3, 4], constraints=known, estimator=HMRFKMeans(metric="sqeuclidean", n_init=2), n_resamples=2,
        random_state=0,
    )  # fmt: skip
    assert told["chosen"] == found.n_clusters and told["n_clusters"] == [2, 3, 4]
    np.testing.assert_allclose(told["score"], found.score)
    np.testing.assert_allclose(told["agreement"], found.agreement)
    steps = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(step["what"], step["done"], step["total"]) for step in steps] == [
        (f"{k} clusters", fit, 6) for fit, k in enumerate((2, 2, 3, 3, 4, 4), start=1)
    ]
    rows = (iris / "scores.csv").read_text().splitlines()
    assert rows[0] == "n_clusters,score,stability,agreement,chosen" and len(rows) == 4
    assert [row.split(",")[0] for row in rows[1:] if row.endswith("True")] == [str(found.n_clusters)]


def test_constraints_from_several_files(iris):
    """Pairs, pairs of another price, and labels, which tell from where on numbers of clusters are compared, too."""
    (iris / "more.csv").write_text("i,j,type,weight\nf7,f8,must,3\nf9,f99,cannot,inf\n")
    (iris / "labels.csv").write_text("id,label\nf10,setosa\nf60,versicolor\nf110,virginica\n")
    given = [part for name in ("pairs", "labels", "more") for part in ("--constraints", f"{name}.csv")]
    fit = ("fit", "iris.csv", "--n-clusters", 3, "--metric", "sqeuclidean", "--out", "several")
    run(*fit, *given, cwd=iris)
    results = files.load_results(iris / "several")
    told = results.summary["constraints"]
    assert (told["n_must_link"], told["n_cannot_link"]) == (7, 5)
    assert results.summary["files"]["constraints"] == ["pairs.csv", "labels.csv", "more.csv"]
    assert results.summary["classes"] == ["setosa", "versicolor", "virginica"]
    assert results.model.labels_[[10, 60, 110]].tolist() == [0, 1, 2]
    data = files.read(iris / "iris.csv")
    pairs, labels, more = (
        files.read_constraints(iris / f"{one}.csv", 150, data.ids) for one in ("pairs", "labels", "more")
    )
    known = Constraints(
        np.vstack([pairs.must_link, more.must_link]), np.vstack([pairs.cannot_link, more.cannot_link]),
        must_link_weight=[1.0] * 6 + [3.0], cannot_link_weight=[1.0] * 4 + [np.inf],
        partial_labels=[None if code < 0 else labels.classes[code] for code in labels.codes],
    )  # fmt: skip
    model = HMRFKMeans(3, metric="sqeuclidean", random_state=0).fit(data.matrix, constraints=known)
    np.testing.assert_array_equal(model.labels_, results.model.labels_)

    twice = (iris / "labels.csv").read_text().replace("f10", "f11")
    (iris / "again.csv").write_text(twice)
    again = ("--force", "--constraints", "labels.csv", "--constraints", "again.csv")
    told = run(*fit, *again, cwd=iris, code=2).stderr
    assert "again.csv: labels or groups are in a file before it, too; put them into one table" in told
    (iris / "select.toml").write_text(
        '[select-k]\nconstraints = "labels.csv"\n[fit]\nconstraints = ["pairs.csv", "more.csv"]\n'
    )
    chosen = ("select-k", "iris.csv", "--metric", "sqeuclidean", "--n-init", 1, "--n-resamples", 2, "--json")
    assert json.loads(run(*chosen, "--config", "select.toml", cwd=iris).stdout)["n_clusters"] == list(range(3, 12))
    run(*fit, "--force", "--config", "select.toml", "--quiet", cwd=iris)
    assert files.load_results(iris / "several").summary["constraints"]["n_must_link"] == 7


def test_select_k_as_a_table(iris):
    done = run(*SELECT, "--n-resamples", 2, "--out", "scores.json", "--progress", "none", cwd=iris)
    (marked,) = [line for line in done.stdout.splitlines() if "<- chosen" in line]
    told = json.loads((iris / "scores.json").read_text())
    assert f" {told['chosen']} " in marked and told["agreement"] == [None] * 3 and done.stderr == ""
    assert "choice" in done.stdout and "agreement" not in done.stdout  # there are no pairs to agree with
    reason = "the most clusters whose stability is within 0.02 of the highest"
    assert done.stdout.splitlines()[-1] == f"Chosen: {told['chosen']} clusters, {reason}."
    done = run(*SELECT, "--n-resamples", 2, "--constraints", "pairs.csv", "--progress", "none", cwd=iris)
    assert "agreement" in done.stdout and done.stdout.endswith(" clusters, the highest score.\n")


@pytest.mark.parametrize(
    ("candidates", "told"),
    [
        ("2-x", "'2-x' is neither a number nor a range as 2-10"),
        ("", "'' is neither a number nor a range"),
        ("9-3", "names no number; say for instance 2-10,15,20"),
        ("1-3", "candidates must lie within 2 and 120 (80 % of the rows), got 1"),
    ],
)
def test_select_k_of_nothing(iris, candidates, told):
    assert told in refused("select-k", iris / "iris.csv", "--candidates", candidates)


def test_a_callback_may_end_the_search():
    def stop(n_clusters, fits):
        raise KeyboardInterrupt(f"{fits} fit to {n_clusters} clusters")

    with pytest.raises(KeyboardInterrupt, match="1 fit to 2 clusters"):
        selection.select_n_clusters(datasets.load_iris().data, [3, 2], n_resamples=2, callback=stop)


def test_bench(iris):
    told = json.loads(run("bench", "iris.csv", "-k", 3, "--metric", "sqeuclidean", "--json", cwd=iris).stdout)
    assert (told["n_rows"], told["n_features"], told["n_clusters"]) == (150, 4, 3)
    assert set(told["steps"]) == {"assign rows", "centroids"} and told["rival"] > 0 and told["memory"] > 0
    assert told["rows_per_second"] == pytest.approx(150 / told["per_iteration"])
    assert told["entries_per_second"] == pytest.approx(told["n_entries"] / told["per_iteration"])
    made = ("bench", "--rows", 300, "--features", 200, "--entries", 10, "-k", 5, "--learn-weights", "--no-rival")
    lines = run(*made, "--metric", "i_divergence", "--max-iter", 3).stdout
    assert "300 rows, 200 features" in lines and "feature weights: first" in lines and "scikit-learn" not in lines
    assert "ask for fewer" in refused("bench", iris / "iris.csv", "-k", 151)


def test_timing_takes_constraints_and_every_metric():
    from hmrf_fast import Constraints

    texts = zipf_texts(200, 150, 10, 4)
    known = Constraints([(0, 1)], [(2, 3)])
    for metric in ("cosine", "i_divergence", "sqeuclidean", "pearson"):
        timing = time_fit(texts.counts, 4, metric=metric, constraints=known, max_iter=3, n_threads=1)
        assert 1 <= timing.n_iter <= 3 and timing.rival_n_iter <= 3 and timing.n_threads == 1
        assert {step.name for step in timing.steps} == {"assign rows", "centroids"}
    with pytest.raises(InputError, match="n_samples=200 should be >= n_clusters=201"):
        time_fit(texts.counts, 201)


def test_made_up_texts_are_the_same_again():
    one, other = zipf_texts(100, 80, 12, 3, seed=5), zipf_texts(100, 80, 12, 3, seed=5)
    assert (one.counts != other.counts).nnz == 0 and one.counts.shape == (100, 80)
    np.testing.assert_array_equal(one.target, other.target)
    lengths = np.sqrt(np.asarray(one.tfidf.multiply(one.tfidf).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths, 1.0)
    assert 0.5 < one.counts.nnz / 100 / 12 < 1.6


def test_weights_of_rows(iris):
    fit = ("fit", "iris.csv", "-k", 3, "--metric", "sqeuclidean", "--sample-weight", "weights.csv", "--out", "res")
    run(*fit, "--force", cwd=iris)
    data = files.read(iris / "iris.csv")
    weights = files.read_weights(iris / "weights.csv", data.n_rows, data.ids)
    assert weights[[0, 149, 5, 6]].tolist() == [3, 0, 1, 1]
    model = HMRFKMeans(3, metric="sqeuclidean", random_state=0).fit(data.matrix, sample_weight=weights)
    results = files.load_results(iris / "res")
    np.testing.assert_array_equal(results.model.labels_, model.labels_)
    assert results.summary["files"]["sample_weight"] == "weights.csv"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("id,weight\nf0,-1\n", "line 2: weight '-1' is not a number of at least 0"),
        ("id,weight\nf0,inf\n", "line 2: a row cannot weigh inf"),
        ("id,weight\nf0,1\nf0,2\n", r"line 3: row f0 was named before"),
        ("id,weight\nf0,1\nf999,2\n", "line 3: the data have no row with the id 'f999'"),
        ("", "holds no weights; expected id .or row. and weight"),
        ("id,heavy\nf0,1\n", "has the columns id, heavy; expected id .or row. and weight"),
        ("row,weight\n150,1\n", "line 2: row 150 is out of range"),
    ],
)
def test_bad_weights(tmp_path, content, told):
    path = tmp_path / "w.csv"
    path.write_text(content)
    with pytest.raises(FileError, match=told):
        files.read_weights(path, 150, [f"f{row}" for row in range(150)])


@pytest.mark.parametrize("ids", [None, ["a", "b", "c"]])
def test_written_weights_are_read_back(tmp_path, ids):
    weights = np.array([1.0, 2.0, 0.1])
    files.write_weights(tmp_path / "w.csv", weights, ids)
    np.testing.assert_array_equal(files.read_weights(tmp_path / "w.csv", 3, ids), weights)
    files.write_weights(tmp_path / "w.csv", np.ones(3), ids)
    np.testing.assert_array_equal(files.read_weights(tmp_path / "w.csv", 3, ids), np.ones(3))


def test_mahalanobis(iris):
    fit = ("fit", "iris.csv", "-k", 3, "--metric", "mahalanobis", "--constraints", "pairs.csv", "--out", "res-m")
    run(*fit, cwd=iris)
    model = files.load_results(iris / "res-m").model
    assert model.metric == "mahalanobis" and model.metric_matrix_.shape == (3, 4, 4)
    run("predict", "res-m", "iris.csv", "--out", "labels.csv", cwd=iris)
    assert "150 rows in 3 clusters" in run("report", "res-m", cwd=iris).stdout
    assert "metric must be one of" in refused(
        "fit", iris / "iris.csv", *fit[2:6], "--estimator", "PCKMeans", "--out", "x"
    )


def test_log_as_json_lines(iris, tmp_path):
    log = tmp_path / "fit.log"
    fit = ("fit", iris / "iris.csv", "-k", 3, "--metric", "sqeuclidean", "--progress", "none", "--log-json", log)
    run(*fit, "--out", tmp_path / "res")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    objective = files.load_results(tmp_path / "res").model.objective_
    assert min(line["objective"] for line in lines if "iteration" in line) == pytest.approx(objective)
    assert all(line["logger"] == "hmrf_fast" for line in lines)
    refused("fit", iris / "iris.csv", "-k", 151, "--log-json", log, "--out", tmp_path / "none")
    last = json.loads(log.read_text().splitlines()[-1])
    assert (
        last["level"] == "ERROR"
        and "n_clusters=151" in last["reason"]
        and len(lines) < len(log.read_text().splitlines())
    )
    to_stderr = run(*fit[:-1], "-", "--out", tmp_path / "res2").stderr
    assert [json.loads(line)["level"] for line in to_stderr.splitlines()]
    assert "the log cannot be written there" in refused(*fit[:-1], tmp_path / "no" / "log", "--out", tmp_path / "x")


def test_what_is_heard_leaves_the_logger_as_it_was():
    logger = logging.getLogger("hmrf_fast")
    before = logger.level, logger.propagate, list(logger.handlers)
    with heard(logging.NullHandler()):
        assert logger.isEnabledFor(logging.DEBUG)
    assert (logger.level, logger.propagate, logger.handlers) == before


def test_the_search_for_a_start_shows_that_it_goes_on(tmp_path):
    (tmp_path / "texts.jsonl").write_bytes(json_lines())
    fit = ("fit", "texts.jsonl", "-k", 3, "--out", "res", "--n-init", 3, "--progress", "json")
    lines = [json.loads(line) for line in run(*fit, cwd=tmp_path).stderr.splitlines()]
    search = [line for line in lines if "runs" in line]
    assert lines[0] in search and {line["run"] for line in search} == {1, 2, 3}
    assert {"start", "rank", "run", "runs", "objective", "rate", "seconds_left"} == set(search[0])
    for line in search:  # nothing is known after the first run, and nothing is left after the last
        assert (line["seconds_left"] is None) == (line["run"] == 1) and (line["run"] < 3 or line["seconds_left"] == 0)
