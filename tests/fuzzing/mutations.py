"""Files with a little of them changed: bytes anywhere, or what lies behind checksums and tables of contents."""

from __future__ import annotations

import io
import zipfile

import h5py
import numpy as np

_NUMBERS = [b"-1", b"0", b"9", b"99999999999", b"1e999", b"nan", b"2147483648", b"9223372036854775808", b"null", b"[]"]
_ARRAYS = (
    -1, 0, 10**12, np.nan, "text", b"\xff", [], [0, 1, 99], [1.5, -np.inf], [[1, 2], [3, 4]], ["a", "b"], [True, False],
    1j, np.array((1, 2.0), "i4,f8"), "csr_matrix", "csc_matrix", "array", "dataframe", "categorical", "string-array",
)  # fmt: skip
_LENGTHS = (0, 3, 12, 13, 10**6, 10**12)


def repacked(content: bytes, rng: np.random.Generator) -> bytes:
    """A zip file with a mutated member and a right checksum, so that what lies behind the checksum is reached."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            parts = {name: members.read(name) for name in members.namelist()}
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, RuntimeError, EOFError):
        return content
    if not parts:
        return content
    chosen, stream = list(parts)[rng.integers(len(parts))], io.BytesIO()
    with zipfile.ZipFile(stream, "w") as members:
        for name, part in parts.items():
            members.writestr(name, mutated(part, rng) if name == chosen else part)
    return stream.getvalue()


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, cut, repeated or put in; digits become other numbers, since readers trust these."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        place, kind = int(rng.integers(len(data) + 1)), int(rng.integers(6))
        length = int(rng.integers(1, 9))
        if kind == 0:
            data[place : place + length] = rng.bytes(length)
        elif kind == 1:
            del data[place : place + length]
        elif kind == 2:
            data[place:place] = data[max(0, place - length) : place]
        elif kind == 3:
            data = data[: max(1, place)]
        else:
            digits = [k for k, byte in enumerate(data) if 48 <= byte <= 57]
            if digits:
                spot = digits[int(rng.integers(len(digits)))]
                data[spot : spot + 1] = _NUMBERS[int(rng.integers(len(_NUMBERS)))]
    return bytes(data)


class Choices:
    """Bytes as a row of choices; where they end, always the first."""

    def __init__(self, content: bytes):
        self._left = iter(content)

    def of(self, count: int) -> int:
        """A number below ``count``, at most 256."""
        return next(self._left, 0) % count


def rewritten(content: bytes, choices: Choices) -> bytes:
    """An HDF5 file in which an array or an attribute is another, longer than it was, or gone.

    Bytes are not changed: the HDF5 library hangs on some files, and no reader above it can help that."""
    stream = io.BytesIO(content)
    with h5py.File(stream, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        if not names:
            return content
        name = names[choices.of(len(names))]
        one, value, kind = file[name], _ARRAYS[choices.of(len(_ARRAYS))], choices.of(5)
        told, array = dict(one.attrs), isinstance(one, h5py.Dataset)
        if kind < 2 and told:
            one.attrs[sorted(told)[choices.of(len(told))]] = value
        elif kind == 2 and array:
            dtype, length = one.dtype, _LENGTHS[choices.of(len(_LENGTHS))]
            del file[name]
            file.create_dataset(name, (length,), dtype, maxshape=(None,), chunks=(100,)).attrs.update(told)
        elif kind == 3:
            del file[name]
        elif array:
            del file[name]
            file[name] = value
            file[name].attrs.update(told)
        else:
            one["more"] = value
    return stream.getvalue()
