"""What estimators tell of themselves: a report, and a summary in notebooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from hmrf_fast.reporting.page import Report


class Reported(BaseEstimator):
    """``report`` and the notebook view of a fitted estimator."""

    def report(
        self,
        X: Any = None,
        feature_names: Any = None,
        texts: Any = None,
        ids: Any = None,
        labels: Any = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Report:
        """Show what the fit found: sizes, terms, rows, constraints, weights, objective, a map, agreement with classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), optional
            The rows of the fit. Left out, those that the model still holds; a model that was unpickled or copied holds
            none.
        feature_names : sequence of d str, optional
            Terms in the order of the columns. Left out: the columns of the data frame of the fit, or numbers.
        texts : sequence of n str, optional
            What a row says; shown shortened. None where there is none.
        ids : sequence of length n, optional
            What rows are called; numbers from 0 if left out.
        labels : array-like of shape (n,), optional
            Known classes to compare with; -1, NaN or None where unknown.
        path : path-like, optional
            Write the page there: one HTML file that needs nothing else.

        Returns
        -------
        Report
            ``html`` is the page, ``facts`` are its numbers; :mod:`hmrf_fast.plotting` draws them.

        Raises
        ------
        InputError
            If X are not the rows of the fit, or there are more or fewer names than rows or features.
        ConstraintError
            If `labels` are neither integers nor strings.
        OSError
            If the file cannot be written.
        """
        from hmrf_fast.reporting.page import report_of

        made = report_of(self, X, feature_names, texts, ids, labels)
        if path is not None:
            made.save(path)
        return made

    def _summary_html(self) -> str:
        """A few lines on the fit; nothing before it."""
        if not hasattr(self, "labels_"):
            return ""
        from hmrf_fast.reporting.facts import summarize
        from hmrf_fast.reporting.markup import escaped

        cell = 'style="text-align:left"'
        lines = ((escaped(name), escaped(value)) for name, value in summarize(self))
        told = [f"<tr><th {cell}>{name}</th><td {cell}>{value}</td></tr>" for name, value in lines]
        return f'<table class="hmrf-fast-summary">{"".join(told)}</table>'

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._summary_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:  # scikit-learn's setting display="text" leaves it out
            shown["text/html"] += self._summary_html()
        return shown
