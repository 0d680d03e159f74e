"""The command ``hmrf-fast fit``: a matrix and a file of constraints in, a folder of results out."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from hmrf_fast.app.common import BadInput, Metric, NThreads, RandomState, exit_codes
from hmrf_fast.app.matrix_file import read_matrix
from hmrf_fast.app.pairs_file import PairTable, read_pairs
from hmrf_fast.app.results import open_folder, write_results

__all__ = ["HELP", "fit"]

HELP = """Cluster the rows of a matrix under must-link and cannot-link constraints.

\b
    hmrf-fast fit X.npz --constraints pairs.csv --n-clusters 20 --out result/

X.npz comes from scipy.sparse.save_npz, or holds a dense array named X. pairs.csv has one pair of rows per line, counted
from 0, with an optional weight (inf: must hold):

\b
    i,j,type,weight
    0,17,must,1
    3,250,cannot,inf

The folder gets labels.csv (row,label), model.npz (centroids, feature weights, settings; no pickles) and summary.json.
"""

_Matrix = Annotated[Path, typer.Argument(metavar="X.npz", help="The data, rows = items.")]
_Clusters = Annotated[int, typer.Option("--n-clusters", "-k", min=1, help="Number of clusters.")]
_Out = Annotated[Path, typer.Option(help="Folder for the results.")]
_Constraints = Annotated[Path | None, typer.Option(help="CSV file with columns i,j,type[,weight].")]
_Values = Annotated[
    str | None,
    typer.Option(help="Which values of a file with arrays indices, indptr, shape and both counts and tfidf."),
]
_Learn = Annotated[
    bool | None, typer.Option("--learn-weights/--no-learn-weights", help="Learn feature weights or not.")
]
_MustWeight = Annotated[
    float | None, typer.Option(help="Price of a violated must-link, times its weight in the file (1 if blank).")
]
_CannotWeight = Annotated[
    float | None, typer.Option(help="Price of a violated cannot-link, times its weight in the file (1 if blank).")
]
_Infer = Annotated[
    bool | None, typer.Option("--infer/--no-infer", help="Add the constraints that the given ones entail.")
]
_MaxIter = Annotated[int | None, typer.Option(min=1, help="Most iterations.")]
_NInit = Annotated[int | None, typer.Option(min=1, help="Number of random starts (of each rank, by default).")]
_Force = Annotated[bool, typer.Option("--force", help="Replace the results in a folder that is not empty.")]


def fit(
    matrix: _Matrix,
    n_clusters: _Clusters,
    out: _Out,
    constraints: _Constraints = None,
    metric: Annotated[Metric, typer.Option(help="Distance.")] = Metric.cosine,
    values: _Values = None,
    learn_weights: _Learn = None,
    must_link_weight: _MustWeight = None,
    cannot_link_weight: _CannotWeight = None,
    infer_constraints: _Infer = None,
    max_iter: _MaxIter = None,
    n_init: _NInit = None,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    force: _Force = False,
) -> None:
    """Run the command; options left out keep the defaults of :class:`hmrf_fast.HMRFKMeans`."""
    chosen = {
        "learn_weights": learn_weights,
        "must_link_weight": must_link_weight,
        "cannot_link_weight": cannot_link_weight,
        "infer_constraints": infer_constraints,
        "max_iter": max_iter,
        "n_init": n_init,
        "n_threads": n_threads,
    }
    settings: dict[str, Any] = {"n_clusters": n_clusters, "metric": metric.value, "random_state": random_state}
    settings |= {name: value for name, value in chosen.items() if value is not None}
    with exit_codes():
        data = read_matrix(matrix, values, metric.value)
        table = None if constraints is None else read_pairs(constraints, data.shape[0])
        open_folder(out, force)
        started = perf_counter()
        model = _fitted(data, table, settings)
        seconds = perf_counter() - started
        write_results(out, model.labels_, _model_arrays(model, settings), _summary(model, data, settings, seconds))
        report = model.constraint_report_
        typer.echo(f"{data.shape[0]} rows in {n_clusters} clusters: {model.n_iter_} iterations, {seconds:.2f} s")
        typer.echo(f"objective {model.objective_:.6g}, {'converged' if model.converged_ else 'stopped at max_iter'}")
        if table is not None:
            typer.echo(str(report))
        typer.echo(f"written to {out}: labels.csv, model.npz, summary.json")


def _fitted(data: Any, table: PairTable | None, settings: dict[str, Any]) -> Any:
    """Fit the estimator; what it finds wrong with the input is the caller's to mend."""
    from hmrf_fast import HMRFKMeans

    try:
        return HMRFKMeans(**settings).fit(data, **_constraint_arguments(table))
    except (ValueError, TypeError) as error:
        raise BadInput(str(error)) from error


def _constraint_arguments(table: PairTable | None) -> dict[str, Any]:
    """Return the pairs as arguments of ``fit``; those without weights of their own take the estimator's."""
    if table is None:
        return {}
    must, cannot = table.pairs[table.must], table.pairs[~table.must]
    if table.weights is None:
        return {"must_link": must, "cannot_link": cannot}
    from hmrf_fast import Constraints

    weights = {"must_link_weight": table.weights[table.must], "cannot_link_weight": table.weights[~table.must]}
    return {"constraints": Constraints(must, cannot, **weights)}


def _model_arrays(model: Any, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": "hmrf_fast model 1",
        "cluster_centers": model.cluster_centers_,
        "feature_weights": model.feature_weights_,
        "objective_history": model.objective_history_,
        **settings,
    }


def _numbers(report: Any) -> dict[str, float]:
    """Return every count that the report offers, by its name there."""
    public = {name: getattr(report, name) for name in dir(report) if not name.startswith("_")}
    return {name: value for name, value in public.items() if isinstance(value, (int, float))}


def _summary(model: Any, data: Any, settings: dict[str, Any], seconds: float) -> dict[str, Any]:
    packages = ("hmrf_fast", "numpy", "scipy", "numba", "scikit-learn")
    return {
        "n_samples": data.shape[0],
        "n_features": data.shape[1],
        "settings": settings,
        "objective": model.objective_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "seconds": seconds,
        "constraints": _numbers(model.constraint_report_),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }
