"""What ``hmrf-fast fit --dry-run`` says."""

from __future__ import annotations

from typing import Any

import typer

__all__ = ["tell"]

LARGEST = 10_000_000_000  # bytes from which on they are told in gigabytes


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
    typer.echo(f"rows          {n_rows} x {n_features}, {estimate.n_entries} values, {where}")
    typer.echo(f"constraints   {estimate.n_pairs} priced pairs, {estimate.n_constrained} rows")
    if estimate.memory is None:
        typer.echo("memory        not known for this metric")
    else:
        for name, size in estimate.memory._asdict().items():
            typer.echo(f"{name:13} {_told(size)}")
        typer.echo(f"memory        {_told(estimate.memory.total)} beside the rows")
    if estimate.available is not None:
        typer.echo(f"available     {_told(estimate.available)}")
    if estimate.seconds is not None:
        typer.echo(f"search        {estimate.seconds:.3g} s for all rows, at most once per iteration")
    if not estimate.fits:
        raise NotEnoughMemoryError(
            f"this fit needs about {_told(estimate.memory.total)} of memory, {_told(estimate.available)} are available"
        )


def _told(size: int) -> str:
    return f"{size / 1e9:.1f} GB ({size} bytes)" if size >= LARGEST else f"{size / 1e6:.1f} MB ({size} bytes)"
