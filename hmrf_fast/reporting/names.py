"""The caller's names for rows, features and classes, checked once; numbers where nothing was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hmrf_fast.errors import InputError
from hmrf_fast.groups import Grouping, encode_groups


class Names(NamedTuple):
    """How rows and features are called."""

    features: Sequence[Any] | None
    texts: Sequence[Any] | None
    ids: Sequence[Any] | None
    classes: Grouping | None

    def feature(self, number: int) -> str:
        return f"feature {number}" if self.features is None else str(self.features[number])

    def row(self, number: int) -> str:
        return f"row {number}" if self.ids is None else str(self.ids[number])

    def text(self, number: int) -> str:
        """The row's text, "" where there is none."""
        told = None if self.texts is None else self.texts[number]
        return "" if told is None or told != told else str(told)

    def class_of(self, number: int) -> str:
        """The class a row is known to have, "" where none is."""
        if self.classes is None or self.classes.codes[number] < 0:
            return ""
        return str(self.classes.ids[self.classes.codes[number]])


def check_names(model: Any, shape: tuple[int, int], feature_names: Any, texts: Any, ids: Any, labels: Any) -> Names:
    """Compare the lengths with the data.

    Raises
    ------
    InputError
        If there are more or fewer names than rows or features.
    ConstraintError
        If the labels are neither integers nor strings.
    """
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    listed = {"feature_names": feature_names, "texts": texts, "ids": ids, "labels": labels}
    for name, values in listed.items():
        expected, what = (shape[1], "features") if name == "feature_names" else (shape[0], "rows")
        if isinstance(values, (str, bytes)):
            raise InputError(f"{name} must be a sequence with one entry per {what[:-1]}, got one string")
        listed[name] = _sequence(values)
        if values is not None and len(listed[name]) != expected:
            raise InputError(f"{name} has {len(listed[name])} entries, but X has {expected} {what}")
    classes = None if labels is None else encode_groups(listed["labels"], "labels")
    return Names(listed["feature_names"], listed["texts"], listed["ids"], classes)


def _sequence(values: Any) -> Any:
    """Counted from 0 whatever a table's index says."""
    if values is None or isinstance(values, (list, tuple, np.ndarray)):
        return values
    return values.to_numpy() if hasattr(values, "to_numpy") else list(values)
