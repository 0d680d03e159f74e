"""Fitted models <-> files that hold no code: the container is told in ``archive.py``, values in ``model_state.py``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hmrf_fast.archive import read_archive, write_archive
from hmrf_fast.errors import InputError, ModelFileError, in_short
from hmrf_fast.model_state import Decoder, Encoder
from hmrf_fast.version import __version__

__all__ = ["load_model", "save_model"]

FORMAT, VERSION = "hmrf_fast model", 1


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator; see :meth:`hmrf_fast.HMRFKMeans.save`."""
    check_is_fitted(model)
    if not type(model).__module__.startswith("hmrf_fast."):
        raise InputError(f"a {type(model).__name__} is no estimator of hmrf_fast and could not be loaded again")
    encoder, state = Encoder(), dict(model.__getstate__())
    parameters = {name: state.pop(name) for name in model.get_params(deep=False)}
    told = {}
    for name, value in parameters.items():
        # What is no data (callables, generators), or means nothing elsewhere, is left out: the loaded model has the
        # default in its place.
        if name != "checkpoint" and not (callable(value) and not isinstance(value, type)) and not _is_generator(value):
            told[name] = encoder.encode(value, name)
    attributes = {name: encoder.encode(value, name) for name, value in state.items()}
    content = {
        "estimator": type(model).__name__,
        "library": __version__,
        "parameters": told,
        "attributes": attributes,
    }
    write_archive(path, FORMAT, VERSION, content, encoder.arrays)


def load_model(path: str | os.PathLike[str], family: dict[str, type]) -> Any:
    """Read what `save_model` wrote; ``family`` are the estimators by name."""
    _, content, arrays = read_archive(path, FORMAT, VERSION)
    try:
        name = content["estimator"]
        if name not in family:
            raise ModelFileError(f"{path} holds a {name}, which this version of hmrf_fast does not have", "newer")
        decoder = Decoder(arrays)
        parameters = {key: decoder.decode(value) for key, value in content["parameters"].items()}
        attributes = {key: decoder.decode(value) for key, value in content["attributes"].items()}
        model: Any = family[name]()
        model.set_params(**{key: parameters[key] for key in model.get_params(deep=False) if key in parameters})
        for key in attributes:
            if not (key.endswith("_") or key.startswith("_")) or key.startswith("__"):
                raise ValueError(f"{key!r} is no attribute of a fitted model")
        model.__dict__.update(attributes)
        _check(model)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path} is damaged or was changed: {in_short(error)}; save it again from the original", "damaged"
        ) from error
    return model


def _is_generator(value: Any) -> bool:
    return isinstance(value, (np.random.Generator, np.random.RandomState, np.random.BitGenerator))


def _check(model: Any) -> None:
    """Arrays that kernels read without looking must fit together."""
    n_clusters, n_features = model.cluster_centers_.shape
    if model.cluster_centers_.dtype != np.float64 or not np.isfinite(model.cluster_centers_).all():
        raise ValueError("the centroids are no finite numbers")
    for name, dtype, shape in (
        ("feature_weights_", np.float64, (n_features,)),
        ("merged_into_", np.int32, (n_clusters,)),
        ("labels_", np.int32, model.labels_.shape[:1]),
    ):
        array = getattr(model, name)
        if array.dtype != dtype or array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}, expected {shape} and {dtype}")
    for name in ("labels_", "merged_into_"):
        ids = getattr(model, name)
        if ids.size and not (ids.min() >= 0 and ids.max() < n_clusters):
            raise ValueError(f"{name} names clusters from {ids.min()} to {ids.max()}, there are {n_clusters}")
    if model.n_features_in_ != n_features or not isinstance(model.smoothing_, float):
        raise ValueError("the number of features or the smoothing does not fit the centroids")
    width = model.cluster_centers_.shape if model._frame is None else (n_clusters, model._frame.weights.size)
    if model._frame is not None and model._lifted_centers.shape != width:
        raise ValueError("the lifted centroids do not fit the coordinates")
    model.constraints_.check_rows(model.labels_.size)
    model._given.check_rows(model.labels_.size)
