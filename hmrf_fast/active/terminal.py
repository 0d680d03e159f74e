"""A person at a terminal who answers questions about pairs of rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp

from hmrf_fast.errors import InputError, StopAsking, TakeBack

_KEYS = {
    "s": True, "same": True, "y": True, "yes": True,
    "d": False, "different": False, "n": False, "no": False,
    "?": None, "x": None, "don't know": None, "dont know": None,
}  # fmt: skip
_HELP = "s = same, d = different, ? = don't know, u = undo the last answer, q = quit (everything is saved)"


def top_terms(X: Any, feature_names: Sequence[str], n_terms: int = 12) -> list[str]:
    """Rows as their features of largest value, for people.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d)
    feature_names : sequence of d str
    n_terms : int, default=12

    Returns
    -------
    list of n str
        Terms by falling value, ties in column order.

    Raises
    ------
    InputError
        If there are not d names.
    """
    matrix = sp.csr_matrix(X)
    if len(feature_names) != matrix.shape[1]:
        raise InputError(f"there are {len(feature_names)} feature names for {matrix.shape[1]} features")
    texts = []
    for first, last in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        order = np.lexsort((matrix.indices[first:last], -matrix.data[first:last]))[:n_terms]
        texts.append(", ".join(str(feature_names[column]) for column in matrix.indices[first:last][order]))
    return texts


class TerminalOracle:
    """Shows both rows of a pair and reads one key.

    Keys, each followed by Enter: ``s`` same, ``d`` different, ``?`` don't know, ``u`` undo the last answer (also one
    of an earlier part of the session), ``q`` quit. The end of the input quits as well. Words are understood too
    ("same", "different", "don't know", "undo", "quit"), and ``y`` or "yes" for same, ``n`` or "no" for different,
    ``x`` for don't know.

    Parameters
    ----------
    texts : sequence of n str
        What is shown of each row: its text, or the terms of `top_terms`.
    input, output : text streams, optional
        Default: standard input and standard output.
    width : int, default=600
        Characters shown of a text.

    Examples
    --------
    >>> import io
    >>> from hmrf_fast.active import TerminalOracle
    >>> TerminalOracle(["moon, orbit", "pitcher, inning"], input=io.StringIO("d"), output=io.StringIO())(0, 1)
    False
    """

    def __init__(
        self, texts: Sequence[str], *, input: TextIO | None = None, output: TextIO | None = None, width: int = 600
    ) -> None:
        self._texts = texts
        self._input = input
        self._output = output
        self._width = width
        self._n_asked = 0

    @property
    def n_rows(self) -> int:
        """Number of texts."""
        return len(self._texts)

    def __call__(self, i: int, j: int) -> bool | None:
        """Ask about two rows.

        Raises
        ------
        StopAsking
            The person quits.
        TakeBack
            The person takes the last answer back.
        """
        if max(i, j) >= len(self._texts):
            raise InputError(f"the pair ({i}, {j}) was asked, but there are {len(self._texts)} texts")
        self._n_asked += 1
        if self._n_asked == 1:
            self._show(f"Do the two belong together? {_HELP}")
        self._show(f"\n[row {i}] {self._text(i)}\n[row {j}] {self._text(j)}")
        while True:
            key = self._read()
            if key in _KEYS:
                return _KEYS[key]
            if key in ("q", "quit"):
                raise StopAsking("the person quit")
            if key in ("u", "undo"):
                raise TakeBack("the person took the last answer back")
            self._show(f"{key!r} is no answer. {_HELP}")

    def _text(self, row: int) -> str:
        text = " ".join(str(self._texts[row]).split())
        shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
        return shown if len(shown) <= self._width else shown[: self._width] + " ..."

    def _read(self) -> str:
        self._show("same, different, ? > ", end="")
        line = (self._input or sys.stdin).readline()
        return line.strip().lower() if line else "quit"

    def _show(self, text: str, end: str = "\n") -> None:
        stream = self._output or sys.stdout
        stream.write(text + end)
        stream.flush()
