"""The command ``hmrf-fast fit``: rows and constraints in, a folder of results out."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from hmrf_fast.app.common import (
    Config,
    ConstraintFiles,
    Encoding,
    Force,
    Format,
    IdColumn,
    LabelColumn,
    NThreads,
    Quiet,
    RandomState,
    TextColumn,
    exit_codes,
    known_of,
    reading,
    saving,
)
from hmrf_fast.app.dry_run import tell
from hmrf_fast.app.estimators import EstimatorName, MetricOption, estimator_of
from hmrf_fast.app.logs import LogFile, Origin, heard, logged
from hmrf_fast.app.progress import ProgressOption, Show, progress

__all__ = ["HELP", "fit"]

HELP = """Cluster rows under must-link and cannot-link constraints.

\b
    hmrf-fast fit m --n-clusters 20 --out res
    hmrf-fast fit m --n-clusters 20 --constraints pairs.csv --out res
    hmrf-fast fit X.npz --n-clusters 20 --metric i_divergence --out res

DATA is a folder of vectorize; a store (rows on disk, read block by block; see convert); .npz (of
scipy.sparse.save_npz, or with a dense array X); .mtx; .svm (svmlight); .h5ad;
or a table as JSON lines, CSV or Parquet: of texts, which are vectorized first, or of numbers. - reads a table from
standard input.

The constraints (CSV, JSON lines or Parquet) name rows by number, from 0, or by the data's own ids. Pairs with an
optional weight (inf: must hold), or known classes, or groups:

\b
    i,j,type,weight        id,label        id,must_link_group,cannot_link_group
    0,17,must,1            msg-1,space     a7,g1,
    3,250,cannot,inf       msg-9,sports    a9,g1,source-3

--constraints may be given several times, for instance for pairs in one file and classes in another.

The folder gets labels.csv (id,label), model.npz (for predict, and hmrf_fast.load in Python), summary.json, whose
"classes" are those that clusters 0, 1, ... began with, and the data that predict and report need.

In Python: data = io.read("m"); known = io.read_constraints("pairs.csv", data.n_rows, data.ids);
HMRFKMeans(20).fit(data.matrix, constraints=known), with io and HMRFKMeans from hmrf_fast.
"""

_Data = Annotated[str, typer.Argument(metavar="DATA", help="The rows to cluster.")]
_Clusters = Annotated[int, typer.Option("--n-clusters", "-k", min=1, help="Number of clusters.")]
_Out = Annotated[Path, typer.Option(help="Folder for the results.")]
_SampleWeight = Annotated[
    Path | None, typer.Option(help="Table with id (or row) and weight: how much rows count; 1 where not named.")
]
_Values = Annotated[
    str | None,
    typer.Option(help="counts or tfidf, where there is a choice. [default: counts for i_divergence]"),
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
_W = Annotated[float | None, typer.Option(help="PCKMeans: price of a violated pair.")]
_Infer = Annotated[
    bool | None, typer.Option("--infer/--no-infer", help="Add the constraints that the given ones entail.")
]
_Init = Annotated[str | None, typer.Option(help="Start: auto, low_rank, neighborhoods, k-means++ or printed.")]
_MaxIter = Annotated[int | None, typer.Option(min=1, help="Most iterations.")]
_NInit = Annotated[int | None, typer.Option(min=1, help="Number of random starts (of each rank, by default).")]
_Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the fit down as it goes; if FILE is there, go on from it (exit code 75)."),
]
_Resume = Annotated[
    bool, typer.Option("--resume", help="Go on from the checkpoint, and do nothing if there is none (exit code 2).")
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything, say what memory and an E-step will take, and stop.")
]
_Every = Annotated[float | None, typer.Option(min=0.0, help="Seconds between two checkpoints. [default: 60]")]


def fit(
    data: _Data,
    n_clusters: _Clusters,
    out: _Out,
    constraints: ConstraintFiles = None,
    sample_weight: _SampleWeight = None,
    estimator: EstimatorName = "HMRFKMeans",
    metric: MetricOption = None,
    values: _Values = None,
    learn_weights: _Learn = None,
    must_link_weight: _MustWeight = None,
    cannot_link_weight: _CannotWeight = None,
    w: _W = None,
    infer_constraints: _Infer = None,
    init: _Init = None,
    max_iter: _MaxIter = None,
    n_init: _NInit = None,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    checkpoint: _Checkpoint = None,
    checkpoint_every: _Every = None,
    resume: _Resume = False,
    dry_run: _DryRun = False,
    text: TextColumn = None,
    id: IdColumn = None,
    label: LabelColumn = None,
    file_format: Format = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    quiet: Quiet = False,
    show: ProgressOption = Show.auto,
    log_json: LogFile = None,
    config: Config = None,
) -> None:
    """Run the command; options left out keep the defaults of the estimator."""
    chosen = {
        "n_clusters": n_clusters,
        "metric": None if metric is None else metric.value,
        "learn_weights": learn_weights,
        "must_link_weight": must_link_weight,
        "cannot_link_weight": cannot_link_weight,
        "w": w,
        "infer_constraints": infer_constraints,
        "init": init,
        "max_iter": max_iter,
        "n_init": n_init,
        "random_state": random_state,
        "n_threads": n_threads,
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "checkpoint_every": checkpoint_every,
    }
    settings = {name: value for name, value in chosen.items() if value is not None}
    with exit_codes() as naming, logged(log_json):
        from hmrf_fast.io import Results, read, read_weights
        from hmrf_fast.io.results import open_folder
        from hmrf_fast.resources import estimate_fit

        if resume:
            _refuse_without_checkpoint(checkpoint)
        model = estimator_of(estimator, settings)
        how = reading(text, id, label, file_format, encoding)
        rows = read(data, metric=getattr(model, "metric", "cosine"), values=values, **how)
        naming.ids = rows.ids
        known: dict[str, Any] = {}
        if constraints:
            known["constraints"] = known_of(constraints, rows.n_rows, rows.ids)
        if sample_weight is not None:
            known["sample_weight"] = read_weights(sample_weight, rows.n_rows, rows.ids)
        if dry_run:
            tell(estimate_fit(model, rows.matrix, known.get("constraints")), rows.matrix)
            return
        with open_folder(out, force):
            started = perf_counter()
            origin = Origin()
            with progress(show, quiet, model.max_iter) as callback, saving(checkpoint), heard(origin):
                model.set_params(callback=callback).fit(rows.matrix, **known)
            seconds = perf_counter() - started
            files = {
                "data": data,
                "constraints": [str(file) for file in constraints or ()],
                "sample_weight": None if sample_weight is None else str(sample_weight),
            }
            told = _summary(model, rows, settings, files, seconds)
            Results(model.set_params(callback=None), rows, told).save(out)
        if not quiet:
            if origin.finished:
                typer.echo(f"taken from {origin.finished}, which holds this finished fit")
            since = " since it was resumed" if origin.resumed else ""
            typer.echo(
                f"{rows.n_rows} rows in {n_clusters} clusters: {model.n_iter_} iterations, {seconds:.2f} s{since}"
            )
            typer.echo(
                f"objective {model.objective_:.6g}, {'converged' if model.converged_ else 'stopped at max_iter'}"
            )
            if constraints:
                typer.echo(naming.of(str(model.constraint_report_)))
            typer.echo(f"written to {out}: labels.csv, model.npz, summary.json, data")


def _refuse_without_checkpoint(checkpoint: Path | None) -> None:
    from hmrf_fast.checkpoint_file import has_place
    from hmrf_fast.errors import CheckpointError

    if checkpoint is None:
        raise CheckpointError("--resume needs --checkpoint FILE, to go on from")
    if not has_place(checkpoint):
        raise CheckpointError(f"{checkpoint}: there is no checkpoint to go on from; without --resume a new fit begins")


def _summary(model: Any, rows: Any, settings: dict[str, Any], files: dict[str, Any], seconds: float) -> dict[str, Any]:
    import numpy as np

    packages = ("hmrf_fast", "numpy", "scipy", "numba", "scikit-learn")
    report = model.constraint_report_
    public = {name: getattr(report, name) for name in dir(report) if not name.startswith("_")}
    return {
        "n_samples": rows.n_rows,
        "n_features": rows.matrix.shape[1],
        "estimator": type(model).__name__,
        "settings": settings,
        "files": files,
        "objective": model.objective_,
        "inertia": model.inertia_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "seconds": seconds,
        "cluster_sizes": np.bincount(model.labels_, minlength=model.n_clusters).tolist(),
        "constraints": {name: value for name, value in public.items() if isinstance(value, (int, float))},
        "classes": getattr(model, "classes_", np.zeros(0)).tolist(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }
