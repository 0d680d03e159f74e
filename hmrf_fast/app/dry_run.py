"""What ``hmrf-fast fit --dry-run`` says."""

from __future__ import annotations

from typing import Any

import typer

__all__ = ["tell"]

UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))  # bytes


def tell(estimate: Any, matrix: Any) -> None:
    """Write down what a fit would take, a line each.

    Raises
    ------
    NotEnoughMemoryError
        If that is more memory than there is.
    """
    from hmrf_fast.errors import NotEnoughMemoryError
    from hmrf_fast.rows import Rows

    n_rows, n_features = estimate.shape
    where = "elsewhere" if isinstance(matrix, Rows) else "in memory"
    _line("data", f"{n_rows} rows x {n_features} features, {estimate.n_entries} values, {where}")
    _line("priced pairs", f"{estimate.n_pairs}, among {estimate.n_constrained} rows")
    if estimate.memory is None:
        _line("memory", "not known for this metric")
    else:
        _line("memory", f"{_told(estimate.memory.total)} beside the data, of which")
        for name, size in estimate.memory._asdict().items():
            _line(f"  for {name}", _told(size))
    if estimate.available is not None:
        _line("available", _told(estimate.available))
    if estimate.seconds is not None:
        _line("E-step", f"{estimate.seconds:.3g} s: one over all rows, measured with some; about one per iteration")
        _line("not timed", "the start (the search for initial centroids), M-steps, feature weights, constraints")
    else:
        _line("time", "not known")
    if not estimate.fits:
        raise NotEnoughMemoryError(
            f"this fit needs about {_told(estimate.memory.total)} of memory, {_told(estimate.available)} are available"
        )


def _line(name: str, told: str) -> None:
    typer.echo(f"{name:18} {told}")


def _told(size: int) -> str:
    return next((f"{size / unit:.1f} {name}" for unit, name in UNITS if size >= unit), f"{size} bytes")
