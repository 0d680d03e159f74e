"""How much memory the cells of an Arrow array take, before they are made."""

from __future__ import annotations

from typing import Any

__all__ = ["CELL", "unpacked_bytes"]

CELL = 16  # bytes that a cell takes at least beside its value, in Arrow and as an object


def unpacked_bytes(column: Any) -> int:
    """Bytes of the cells of an Arrow array once they are objects. A small file may unpack to any size, since what
    repeats is written once, at any depth."""
    from pyarrow import compute, types

    kind, beside = column.type, CELL * len(column)
    if types.is_dictionary(kind):
        words, text = column.dictionary, kind.value_type
        if not (types.is_string(text) or types.is_large_string(text) or types.is_binary(text)):
            return beside + len(column) * (unpacked_bytes(words) // max(len(words), 1))
        sizes = compute.binary_length(words).cast("int64").take(column.indices)
        return beside + (compute.sum(sizes).as_py() or 0)
    if types.is_struct(kind):
        return beside + sum(map(unpacked_bytes, column.flatten()))
    if types.is_map(kind):
        return beside + unpacked_bytes(column.keys) + unpacked_bytes(column.items)
    if types.is_nested(kind) and hasattr(column, "flatten"):
        return beside + unpacked_bytes(column.flatten())
    return beside + int(column.nbytes)
