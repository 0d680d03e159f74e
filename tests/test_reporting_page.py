"""The page of a report: well-formed, self-contained, safe, complete. And the summary in notebooks."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from reporting_helpers import Page, fitted
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from hmrf_fast import HMRFKMeans
from hmrf_fast.reporting.colors import cluster_color
from hmrf_fast.reporting.markup import escaped, number

ATTACK = '<script>alert("x")</script><img src="http://example.org/x.png">&amp; \'"'
REMOTE = re.compile(r"https?:|//|url\(|@import|data:", re.IGNORECASE)


def test_the_page_needs_nothing_else():
    """Nothing that a browser would fetch or run stands in it, also where texts, names and ids ask for it."""
    model, X = fitted(learn_weights=True, n_pairs=30)
    names = [f"{ATTACK} {k}" for k in range(60)]
    html = model.report(X, names[:12], names, names, np.array(names[:4])[np.arange(60) % 4]).html
    page = Page(html)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "base", "form"}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    for attribute in ("src", "srcset", "style", "action"):
        assert not any(REMOTE.search(value) for value in page.values(attribute))
    assert all(value.startswith("#") for value in page.values("href"))
    assert not REMOTE.search(html[html.index("<style>") : html.index("</style>")])
    assert page.text.count("<script>alert(") > 60  # as text it is all there
    assert page.values("content")[0] == "default-src 'none'; style-src 'unsafe-inline'"


@pytest.mark.parametrize("learn_weights", [False, True])
def test_weights_are_called_learned_only_where_they_were(learn_weights):
    model, X = fitted(learn_weights=learn_weights)
    words = Page(model.report(X).html).text
    assert "Terms by weight" in words and "Terms by learned weight" not in words
    assert ("Terms by weight: learned weight × mean in the cluster." in words) == learn_weights
    assert ("Terms by weight: mean in the cluster." in words) != learn_weights


def test_the_page_tells_the_facts():
    model, X = fitted(n_pairs=30)
    texts = [f"text of {row}" for row in range(60)]
    classes = np.array(["first", "second", "third"])[np.arange(60) % 3]
    report = model.report(X, [f"term{k}" for k in range(12)], texts, [f"id{row}" for row in range(60)], classes)
    page, facts = Page(report.html), report.facts
    words = page.text
    for name, value in facts.summary:
        assert name in words and value in words
    for cluster in facts.order:
        assert f"Cluster {cluster} ({facts.sizes[cluster]} rows)" in words
        for told in (*facts.examples[cluster].near, *facts.examples[cluster].far):
            assert f"id{told.row} [{classes[told.row]}] {number(told.distance)}" in words
            assert f"text of {told.row}" in words
        for term in facts.terms[cluster].by_weight:
            assert f"{term.name} {number(term.salience)}" in words
    for link in facts.constraints.violated[:25]:
        assert f"violated, weight 1, strain {number(link.strain)}" in words
        assert f"text of {link.first}" in words and f"text of {link.second}" in words
    for sentence in model.constraint_report_.contradictions[:20]:
        assert sentence in words
    assert number(facts.agreement.all_rows.nmi) in words and number(facts.agreement.all_rows.f_measure) in words
    assert page.count("circle") == 60 + len(facts.history)
    assert page.count("line") >= len(facts.map.links)
    assert {value[1:] for value in page.values("href")} <= set(page.values("id"))


def test_violated_lines_are_bold_on_the_map():
    model, X = fitted(n_pairs=30)
    report = model.report(X)
    drawn = [
        attributes["class"] for tag, attributes in Page(report.html).tags if tag == "line" and "class" in attributes
    ]
    expected = [
        ("must" if link.kind == "must-link" else "cannot") + (" violated" if link.violated else "")
        for _, _, link in report.facts.map.links
    ]
    assert sorted(style for style in drawn if style != "grid") == sorted(expected)


@given(st.lists(st.text(st.characters(codec=None), max_size=40), min_size=12, max_size=12))
def test_any_text_makes_a_page_that_can_be_written(words):
    """Control characters and lone surrogates included."""
    model, X = fitted(n_rows=12, n_clusters=2, n_pairs=6)
    page = model.report(X, words, words, words).html
    Page(page.encode("utf-8").decode("utf-8"))


@given(st.text(st.characters(codec=None)), st.integers(1, 30))
def test_escaped_text_is_short_and_safe(text, longest):
    told = escaped(text, longest)
    assert not re.search("[<>\"'\x00-\x1f\ud800-\udfff]", told)
    assert len(re.sub("&[a-z0-9#]+;", "x", told)) <= longest + 1


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.0, "0"), (1234.5678, "1,235"), (0.25, "0.250"), (-2.5, "−2.50"), (1e-9, "1e−09"), (2.5e9, "2.5e+09"),
     (float("nan"), "–"), (float("inf"), "∞"), (-float("inf"), "−∞")],
)  # fmt: skip
def test_numbers_as_people_write_them(value, told):
    assert number(value) == told


def test_very_long_texts_are_cut():
    model, X = fitted()
    page = model.report(X, texts=["word " * 200_000] * 60, feature_names=["y" * 5000] * 12).html
    assert len(page) < 200_000 and "y" * 61 not in page


def test_hundreds_of_clusters_are_told_briefly():
    X = np.random.default_rng(0).random((900, 40))
    model = HMRFKMeans(250, init="k-means++", n_init=1, max_iter=50, tol=1.0, random_state=0).fit(X)
    report = model.report(X, labels=np.arange(900) % 30)
    page = Page(report.html)
    hidden = report.facts.order[200:]
    assert f"and {hidden.size} smaller clusters with {report.facts.sizes[hidden].sum()} rows" in page.text
    assert page.values("class").count("card") == 200 and "10 others" in page.text
    assert len({cluster_color(cluster) for cluster in range(250)}) == 250


def test_rows_without_terms():
    """Nothing to tell is no reason to fail."""
    X = np.zeros((6, 3))
    X[0, 0] = 1.0
    with pytest.warns(Warning):
        model = HMRFKMeans(2, init="k-means++", n_init=1, random_state=0).fit(X)
    assert "Cluster" in Page(model.report(X).html).text
    one = HMRFKMeans(1, init="k-means++", n_init=1).fit([[1.0], [2.0]], cannot_link=[(0, 1)])
    assert "strain ∞" in Page(one.report().html).text


def test_the_file_is_the_page(tmp_path):
    model, X = fitted()
    path = tmp_path / "rapport é.html"
    report = model.report(X, texts=["überall 漢字 🦔"] * 60, path=path)
    assert path.read_text(encoding="utf-8") == report.html
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert "漢字 🦔" in report.html
    with pytest.raises(FileNotFoundError):
        report.save(tmp_path / "no such folder" / "page.html")


def test_the_page_is_the_same_on_any_number_of_threads():
    model, X = fitted(learn_weights=True)
    pages = {model.set_params(n_threads=count).report(X).html for count in (1, 2)}
    assert len(pages) == 1


def test_reports_in_notebooks_are_frames():
    model, X = fitted()
    report = model.report(X)
    page = Page(report._repr_html_())
    assert page.tags[0][0] == "iframe" and page.tags[0][1]["srcdoc"] == report.html
    assert repr(report).startswith("<Report: HMRFKMeans: 60 rows in 3 clusters; rows: 60;")


def test_estimators_in_notebooks_keep_their_diagram_and_tell_of_the_fit():
    model, _ = fitted()
    fresh = HMRFKMeans(3)
    assert "hmrf-fast-summary" not in fresh._repr_html_()
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in shown and shown.count("hmrf-fast-summary") == 1
    told = Page(model._summary_html()).text
    assert "objective J" in told and f"{model.objective_:.6g}" in told and "cannot-links" in told
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
    assert "hmrf-fast-summary" not in make_pipeline(MaxAbsScaler(), model)._repr_html_()
