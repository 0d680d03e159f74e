"""The state of an estimator as JSON values and arrays, and back; of Python objects only those named here are built.

JSON values stand for themselves; everything else is an object with one key that tells its kind:

- ``{"float": "inf"}``: a number that JSON does not have;
- ``{"tuple": [...]}``, ``{"dict": {...}}``;
- ``{"array": name}``: an array; ``{"strings": name}``: one of text that is an array of Python objects in memory;
- ``{"dtype": "float32"}``;
- ``{"type": name, "fields": {...}}``: one of the library's records. Fields that a reader does not know are passed over;
  those that it misses take their defaults. So files outlive most changes of the library.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from hmrf_fast.constraint_report import ConstraintReport
from hmrf_fast.constraints import Constraints
from hmrf_fast.editing import Training
from hmrf_fast.edits import Edit
from hmrf_fast.em import Options
from hmrf_fast.evidence import Judge
from hmrf_fast.full_matrices import Frame
from hmrf_fast.groups import Grouping
from hmrf_fast.settings import Settings
from hmrf_fast.weight_step import Prior

__all__ = ["Decoder", "Encoder"]

RECORDS: dict[str, Any] = {
    record.__name__: record
    for record in (Constraints, ConstraintReport, Edit, Frame, Grouping, Judge, Options, Prior, Settings, Training)
}
DTYPES = ("float32", "float64")


class Encoder:
    """Values -> JSON values; the arrays are collected by name.

    Attributes
    ----------
    arrays : dict of str to ndarray
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}  # the same array under two attributes is stored once

    def encode(self, value: Any, name: str) -> Any:
        """Encode one value; ``name`` is where it stands.

        Raises
        ------
        TypeError
            For what is neither data nor one of the library's records.
        """
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, type) or isinstance(value, np.dtype):
            return {"dtype": np.dtype(value).name}
        if RECORDS.get(type(value).__name__) is type(value):
            return {"type": type(value).__name__, "fields": self._all(_fields(value), name)}
        if isinstance(value, dict):
            return {"dict": self._all(value, name)}
        if isinstance(value, tuple):
            return {"tuple": [self.encode(inner, f"{name}.{k}") for k, inner in enumerate(value)]}
        if isinstance(value, list):
            return [self.encode(inner, f"{name}.{k}") for k, inner in enumerate(value)]
        if hasattr(value, "__array__"):
            return self._array(value, name)
        raise TypeError(f"{name} is a {type(value).__name__}, which is not stored")

    def _all(self, values: dict[str, Any], name: str) -> dict[str, Any]:
        return {str(key): self.encode(value, f"{name}.{key}") for key, value in values.items()}

    def _array(self, value: Any, name: str) -> dict[str, str]:
        array = np.asarray(value)
        kind = "strings" if array.dtype.hasobject else "array"
        if id(value) not in self._names:
            if array.dtype.hasobject:
                if not all(isinstance(one, str) for one in array.ravel()):
                    raise TypeError(f"{name} holds Python objects, which are not stored")
                array = array.astype(str)
            self._names[id(value)] = name
            self.arrays[name] = array
        return {kind: self._names[id(value)]}


class Decoder:
    """JSON values and arrays -> values."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays

    def decode(self, value: Any) -> Any:
        """Decode one value.

        Raises
        ------
        ValueError, TypeError, KeyError
            If it is not what `Encoder` writes.
        """
        if isinstance(value, list):
            return [self.decode(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"type", "fields"}:
            return _built(RECORDS[value["type"]], {name: self.decode(one) for name, one in value["fields"].items()})
        ((kind, inner),) = value.items()
        if kind == "float" and inner in ("inf", "-inf", "nan"):
            return float(inner)
        if kind == "tuple":
            return tuple(self.decode(one) for one in inner)
        if kind == "dict":
            return {name: self.decode(one) for name, one in inner.items()}
        if kind == "array":
            return self._arrays[inner]
        if kind == "strings":
            return self._arrays[inner].astype(object)
        if kind == "dtype" and inner in DTYPES:
            return np.dtype(inner).type
        raise ValueError(f"{kind!r} is no kind of value")


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, Constraints):
        return value.__getstate__()
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value._asdict()


def _built(record: Any, fields: dict[str, Any]) -> Any:
    if record is Constraints:
        return _constraints(fields)
    known = [field.name for field in dataclasses.fields(record)] if dataclasses.is_dataclass(record) else record._fields
    return record(**{name: fields[name] for name in known if name in fields})


def _constraints(fields: dict[str, Any]) -> Constraints:
    for kind in ("must_link", "cannot_link"):
        pairs, weight = fields[kind], fields[f"{kind}_weight"]
        if pairs.dtype != np.int64 or pairs.ndim != 2 or pairs.shape[1] != 2 or weight.shape != pairs[:, 0].shape:
            raise ValueError(f"{kind} is no list of pairs and weights")
        if not ((pairs[:, 0] >= 0).all() and (pairs[:, 0] < pairs[:, 1]).all() and (weight >= 0).all()):
            raise ValueError(f"{kind} holds what is no pair or no weight")
    for name in ("labels", "must_link_groups", "cannot_link_groups"):
        grouping = fields[name]
        if grouping is not None and not (
            grouping.codes.min(initial=-1) >= -1 and grouping.codes.max(initial=-1) < grouping.ids.size
        ):
            raise ValueError(f"{name} names groups that do not exist")
    built = object.__new__(Constraints)
    built.__setstate__(fields)
    return built
