"""The parts of the page, each from the facts it shows. Whatever came from outside passes through ``escaped``."""

from __future__ import annotations

import numpy as np

from hmrf_fast.constraint_report import ConstraintReport
from hmrf_fast.contradictions import describe
from hmrf_fast.kernels.mahalanobis import LIFTED
from hmrf_fast.reporting import figures
from hmrf_fast.reporting.colors import cluster_color
from hmrf_fast.reporting.facts import Example, Facts
from hmrf_fast.reporting.links import Link
from hmrf_fast.reporting.markup import escaped, number, table
from hmrf_fast.reporting.terms import Term

CARDS = 200  # clusters told one by one
MATRIX_CLUSTERS, MATRIX_CLASSES = 60, 20
PAIRS, CHAINS = 25, 20
LONGEST = {"row": 300, "pair": 240, "name": 60}


def overview(facts: Facts) -> str:
    told = "".join(f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>" for name, value in facts.summary)
    return f'<dl class="facts">{told}</dl>'


def sizes(facts: Facts) -> str:
    """One line per cluster, the way into the cards."""
    largest, rows = max(int(facts.sizes.max(initial=0)), 1), []
    for cluster in facts.order[:CARDS].tolist():
        terms = ", ".join(escaped(term.name, LONGEST["name"]) for term in facts.terms[cluster].by_weight[:6])
        width = 100 * int(facts.sizes[cluster]) / largest
        bar = f'<span class="bar" style="width:{width:.1f}%;background:{cluster_color(cluster)}"></span>'
        rows.append((f'{_dot(cluster)}<a href="#c{cluster}">{cluster}</a>', f"{facts.sizes[cluster]:,}", bar, terms))
    return table(("cluster", "rows", "", "leading terms"), rows, "sizes") + _rest(facts)


def clusters(facts: Facts) -> str:
    by_weight = "difference from the mean" if facts.centred else "mean in the cluster"
    if facts.weights.learned:
        by_weight = f"learned weight × {by_weight}"
    by_lift = "standard deviations from the mean" if facts.centred else "times as much as in all rows"
    note = (
        f'<p class="soft">Terms by weight: {by_weight}. By lift: {by_lift}. Distances are to the cluster’s '
        "own centroid; a far row whose nearest centroid is another one is held by constraints, or lies in between.</p>"
    )
    cards = "".join(_card(facts, cluster) for cluster in facts.order[:CARDS].tolist())
    return f'{note}<div class="clusters">{cards}</div>{_rest(facts)}'


def _rest(facts: Facts) -> str:
    hidden = facts.order[CARDS:]
    if not hidden.size:
        return ""
    return f"<p>and {hidden.size:,} smaller clusters with {int(facts.sizes[hidden].sum()):,} rows</p>"


def _dot(cluster: int) -> str:
    return f'<span class="dot" style="background:{cluster_color(cluster)}"></span>'


def _card(facts: Facts, cluster: int) -> str:
    terms, rows = facts.terms[cluster], facts.examples[cluster]
    near = "".join(_example(facts, cluster, row) for row in rows.near)
    far = "".join(_example(facts, cluster, row) for row in rows.far)
    parts = [f"<h3>{_dot(cluster)}Cluster {cluster} <small>({facts.sizes[cluster]:,} rows)</small></h3>"]
    if terms.by_weight:
        parts.append(f"<h4>Terms by weight</h4>{_terms(terms.by_weight, 'salience')}")
    if terms.by_lift:
        parts.append(f"<h4>Terms by lift</h4>{_terms(terms.by_lift, 'lift')}")
    parts.append(f'<h4>Nearest rows</h4><ul class="rows">{near}</ul>')
    if far:
        parts.append(f'<h4>Farthest rows</h4><ul class="rows">{far}</ul>')
    color = cluster_color(cluster)
    return f'<section class="card" id="c{cluster}" style="border-top-color:{color}">{"".join(parts)}</section>'


def _terms(terms: tuple[Term, ...], by: str) -> str:
    told = "".join(
        f"<li><bdi>{escaped(term.name, LONGEST['name'])}</bdi> <small>{number(getattr(term, by))}</small></li>"
        for term in terms
    )
    return f'<ul class="terms">{told}</ul>'


def _example(facts: Facts, cluster: int, row: Example) -> str:
    elsewhere = f", nearest centroid {row.nearest}" if row.nearest != cluster else ""
    return f"<li>{_row(facts, row.row, 'row', f' {number(row.distance)}{elsewhere}')}</li>"


def _row(facts: Facts, row: int, kind: str, more: str = "") -> str:
    """A row's name, what else is to tell, and its text."""
    text, known = escaped(facts.names.text(row), LONGEST[kind]), facts.names.class_of(row)
    known = f" [{escaped(known, LONGEST['name'])}]" if known else ""
    told = f"<small><bdi>{escaped(facts.names.row(row), LONGEST['name'])}</bdi>{known}{more}</small>"
    return f"{told} <bdi>{text}</bdi>" if text else told


def objective(facts: Facts) -> str:
    first, last = facts.history[0], facts.history[-1]
    note = f"From {number(first, 6)} to {number(last, 6)} in {len(facts.steps)} sub-steps of the winning start."
    return f"<figure>{figures.objective(facts)}<figcaption>{note}</figcaption></figure>"


def weights(facts: Facts) -> str:
    learned = facts.weights
    if dict(facts.summary).get("metric") in LIFTED:
        return "<p>A matrix per cluster was learned in place of feature weights: <code>metric_matrix_</code>.</p>"
    if not learned.learned:
        return "<p>All features weigh the same: none were learned (<code>learn_weights=True</code> would).</p>"
    top = max((abs(weight) for _, weight in learned.highest), default=1.0) or 1.0
    columns = []
    for title, listed in (("Highest", learned.highest), ("Lowest", learned.lowest)):
        rows = [
            (f"<bdi>{escaped(name, LONGEST['name'])}</bdi>", number(weight), _bar(weight / top))
            for name, weight in listed
        ]
        if rows:
            columns.append(f"<div><h3>{title}</h3>{table(('feature', 'weight', ''), rows, 'weights')}</div>")
    return f'<div class="two">{"".join(columns)}</div>'


def _bar(share: float) -> str:
    return f'<span class="bar" style="width:{100 * min(max(share, 0.0), 1.0):.1f}%"></span>'


def constraints(facts: Facts) -> str:
    found = facts.constraints
    if not found.constrained.any():
        return "<p>The fit was given no constraints.</p>"
    parts = [_counts(found.report)]
    if found.violated or found.suspects:
        parts.append(
            '<p class="soft">The strain of a pair is what keeping it adds to the distances of its two rows, all other '
            "rows left aside.</p>"
        )
    if found.violated:
        total = _violated(found.report)
        parts.append(f"<h3>Violated pairs ({_of(min(len(found.violated), PAIRS), total)})</h3>")
        parts.append(_pairs(facts, found.violated[:PAIRS]))
    if found.contradictions:
        sentences = "".join(f"<li>{escaped(describe(one))}</li>" for one in found.contradictions[:CHAINS])
        shown = min(len(found.contradictions), CHAINS)
        parts.append(f"<h3>Contradictions ({_of(shown, found.report.n_contradictions)})</h3><ul>{sentences}</ul>")
    if found.suspects:
        shown = min(len(found.suspects), PAIRS)
        parts.append(
            f"<h3>Suspects ({_of(shown, found.n_suspects)})</h3>"
            '<p class="soft">Constraints that the rows themselves speak against, kept or not: their strain is above 0. '
            "A mistake among the constraints is most likely at the top.</p>" + _pairs(facts, found.suspects[:PAIRS])
        )
    return "".join(parts)


def _of(shown: int, total: int) -> str:
    return f"{shown:,}" if shown >= total else f"{shown:,} of {total:,}"


def _violated(report: ConstraintReport) -> int:
    return report.n_must_link_violated + report.n_cannot_link_violated + report.n_group_pairs_violated


def _counts(report: ConstraintReport) -> str:
    rows = [
        ("must-links", report.n_must_link, report.n_must_link_violated),
        ("must-links in groups and classes", report.n_must_link_in_groups, report.n_must_link_in_groups_violated),
        ("cannot-links", report.n_cannot_link, report.n_cannot_link_violated),
        ("cannot-links in groups and between classes", report.n_cannot_link_in_groups,
         report.n_cannot_link_in_groups_violated),
    ]  # fmt: skip
    told = [(name, f"{given:,}", f"{given - broken:,}", f"{broken:,}") for name, given, broken in rows if given]
    neighborhoods = ""
    if report.n_neighborhoods:
        neighborhoods = (
            f"<p>{report.n_neighborhoods:,} neighbourhoods of {report.smallest_neighborhood:,} to "
            f"{report.largest_neighborhood:,} rows that must-links tie together, median "
            f"{report.median_neighborhood:g}.</p>"
        )
    return table(("", "given", "kept", "violated"), told, "matrix") + neighborhoods


def _pairs(facts: Facts, links: tuple[Link, ...]) -> str:
    rows = []
    for link in links:
        style = "must" if link.kind == "must-link" else "cannot"
        state = "violated" if link.violated else "kept"
        price = "hard" if np.isinf(link.weight) else f"weight {link.weight:.4g}"
        told = [state, price, f"strain {number(link.strain)}", escaped(link.source, LONGEST["name"])]
        kind = f'<span class="{style}">{link.kind}</span> <small>{", ".join(filter(None, told))}</small>'
        rows.append((kind, _end(facts, link.first), _end(facts, link.second)))
    return table(("constraint", "first row", "second row"), rows, "pairs")


def _end(facts: Facts, row: int) -> str:
    cluster = int(facts.labels[row])
    return _row(facts, row, "pair", f' <a href="#c{cluster}">{_dot(cluster)}cluster {cluster}</a>')


def rows_map(facts: Facts) -> str:
    drawn = facts.map
    total = int(facts.sizes.sum())
    shown = f"{drawn.rows.size:,} of {total:,} rows, chosen at random" if drawn.rows.size < total else "all rows"
    keys = (
        '<p class="keys"><span class="key"><b class="must"></b>must-link</span><span class="key"><b class="cannot"></b>'
        'cannot-link</span><span class="key">bold: violated</span></p>'
        if drawn.links
        else ""
    )
    links = f"; {_of(len(drawn.links), drawn.n_links)} constraints" if drawn.links else ""
    how = (
        "The plane in which the centroids lie farthest apart. Axes are scaled to fill the frame."
        if drawn.plane
        else "Centroids keep their distances as well as a plane allows; a row lies between those it resembles."
    )
    note = (
        f"{how} Drawn: {shown}{links}. Numbers are clusters, each at the middle of its rows. Rows that are near here "
        "need not be near in all dimensions."
    )
    return f"<figure>{figures.rows_map(facts)}{keys}<figcaption>{note}</figcaption></figure>"


def agreement(facts: Facts) -> str:
    found = facts.agreement
    if found is None:
        return ""
    scores = [("all rows of known class", found.all_rows)]
    if found.free_rows is not None:
        scores.append(("those that no constraint touches", found.free_rows))
    told = [(name, f"{one.n_rows:,}", number(one.nmi), number(one.f_measure)) for name, one in scores]
    note = '<p class="soft">Scores on constrained rows flatter: constraints tell about them.</p>'
    head = ("", "rows", "NMI", "pairwise F")
    return table(head, told, "matrix") + (note if found.free_rows is not None else "") + _confusion(facts)


def _confusion(facts: Facts) -> str:
    """Rows by cluster and class, the largest of both."""
    found = facts.agreement
    assert found is not None
    totals = found.table.sum(axis=0)
    classes = np.argsort(-totals, kind="stable")[:MATRIX_CLASSES]
    classes = np.sort(classes)
    shown = facts.order[:MATRIX_CLUSTERS]
    rows = []
    for cluster in shown.tolist():
        counts = found.table[cluster]
        whole = max(int(counts.sum()), 1)
        cells = [_shaded(int(counts[c]), int(counts[c]) / whole) for c in classes]
        if classes.size < totals.size:
            other = int(counts.sum() - counts[classes].sum())
            cells.append(_shaded(other, other / whole))
        rows.append((f'{_dot(cluster)}<a href="#c{cluster}">{cluster}</a>', *cells))
    names = [escaped(found.classes[c], 40) for c in classes]
    if classes.size < totals.size:
        names.append(f"{totals.size - classes.size} others")
    left = facts.order.size - shown.size
    more = f"<p>and {left:,} smaller clusters</p>" if left else ""
    return f"<h3>Rows by cluster and class</h3>{table(('cluster', *names), rows, 'matrix')}{more}"


def _shaded(count: int, share: float) -> str:
    return f'<span class="cell" style="background:rgba(var(--shade),{0.55 * share:.2f})">{count:,}</span>'
