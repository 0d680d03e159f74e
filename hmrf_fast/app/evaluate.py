"""The command ``hmrf-fast evaluate``: how well clusters agree with known classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hmrf_fast.app.common import Config, Encoding, exit_codes

__all__ = ["HELP", "evaluate"]

HELP = """Compare the clusters of a fit with known classes.

\b
    hmrf-fast evaluate res
    hmrf-fast evaluate res --truth classes.csv

RES is the folder of a fit. The classes are those that came with its data (column label), or those of a table with id
(or row) and label; rows without a class are left out. Printed are normalised mutual information, the pairwise F-measure
and the adjusted Rand index, each 1 for equal partitions.

In Python: hmrf_fast.scores.agreement(classes, model.labels_).
"""


def evaluate(
    results: Annotated[Path, typer.Argument(metavar="RES", help="Folder of a fit.")],
    truth: Annotated[Path | None, typer.Option(help="Table with id (or row) and label.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    encoding: Encoding = "utf-8",
    config: Config = None,
) -> None:
    """Run the command."""
    with exit_codes():
        import numpy as np

        from hmrf_fast.errors import InputError
        from hmrf_fast.io import load_results, read_constraints
        from hmrf_fast.scores import agreement

        found = load_results(results)
        if truth is None:
            labels = found.data.labels
            known = [row for row, label in enumerate(labels or ()) if label is not None]
            classes = np.array([str(labels[row]) for row in known] if labels else [])
        else:
            told = read_constraints(truth, found.data.n_rows, found.data.ids, encoding=encoding)
            codes = np.full(found.data.n_rows, -1) if told.codes is None else told.codes
            known = np.flatnonzero(codes >= 0).tolist()
            classes = codes[known]
        if not known:
            raise InputError(
                f"{truth or results}: no row has a known class; give a table with id (or row) and label as --truth"
            )
        scores = {"n_rows": len(known), **agreement(classes, found.model.labels_[known])}
        if as_json:
            typer.echo(json.dumps(scores))
        else:
            for name, value in scores.items():
                typer.echo(f"{name.replace('_', ' ') + ':':31}{value if name == 'n_rows' else format(value, '.4f')}")
