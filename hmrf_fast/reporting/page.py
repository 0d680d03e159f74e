"""The report of a fit as one page that needs nothing else."""

from __future__ import annotations

import html
import os
import tempfile
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from hmrf_fast.reporting import sections
from hmrf_fast.reporting.facts import Facts, gather
from hmrf_fast.reporting.markup import escaped
from hmrf_fast.version import __version__

# No script runs and nothing is fetched, whatever a text of the corpus holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Report:
    """What a fitted model found: as numbers, and as a page.

    Parameters
    ----------
    facts : Facts
    title : str

    Attributes
    ----------
    facts : Facts
        Every number that the page shows.
    html : str
        The page: one HTML document without script, which fetches nothing. It follows the reader's choice of light or
        dark, fits a telephone and can be printed.
    """

    def __init__(self, facts: Facts, title: str) -> None:
        self.facts = facts
        self.title = title

    @cached_property
    def html(self) -> str:
        facts, parts, ways = self.facts, [], []
        for name, title, part in (
            ("sizes", "Clusters", sections.sizes(facts)),
            ("map", "Map", sections.rows_map(facts)),
            ("terms", "Terms and rows", sections.clusters(facts)),
            ("constraints", "Constraints", sections.constraints(facts)),
            ("weights", "Feature weights", sections.weights(facts)),
            ("objective", "Objective", sections.objective(facts)),
            ("agreement", "Agreement with known classes", sections.agreement(facts)),
        ):
            if part:
                parts.append(f'<h2 id="{name}">{title}</h2>{part}')
                ways.append(f'<a href="#{name}">{title}</a>')
        style = (files("hmrf_fast.reporting") / "page.css").read_text(encoding="utf-8")
        title = escaped(self.title, 200)
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>\n{style}</style></head><body>"
            f"<h1>{title}</h1>{sections.overview(facts)}<nav>{''.join(ways)}</nav><main>{''.join(parts)}</main>"
            f"<footer>hmrf_fast {__version__}</footer></body></html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : path-like
            A file; it is replaced if it exists.

        Returns
        -------
        Path

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        path = Path(path)
        page = self.html.encode("utf-8")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(page)
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
        return path

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that neither its style nor the notebook's touches the other."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox style="width:100%;height:40rem;border:1px solid #8884">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return f"<Report: {self.title}; {'; '.join(f'{name}: {value}' for name, value in self.facts.summary)}>"


def report_of(model: Any, X: Any, feature_names: Any, texts: Any, ids: Any, labels: Any) -> Report:
    """Gather the facts of a fitted model; see ``model.report``."""
    facts = gather(model, X, feature_names, texts, ids, labels)
    n_live = facts.order.size
    title = f"{type(model).__name__}: {facts.sizes.sum():,} rows in {n_live:,} cluster{'' if n_live == 1 else 's'}"
    return Report(facts, title)
