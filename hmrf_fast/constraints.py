"""What the caller knows about the rows: pairs, groups and labels -> one validated, immutable object."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hmrf_fast.errors import ConstraintError
from hmrf_fast.groups import Grouping, common_length, encode_groups
from hmrf_fast.pairs import distinct_pairs, id_lookup, parse_pairs, parse_weights, signed_entries

_KINDS = ("must_link", "cannot_link")


class Constraints:
    """Must-links, cannot-links, groups and partial labels over the rows of one data set.

    The object is immutable, copies what it is given and can be pickled. Row numbers are compared with the number of
    rows when the constraints are used; everything else is checked here.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (m, 2), iterable of pairs, or tuple of two index arrays, optional
        Pairs of row numbers (integers), or of ids if `row_ids` is given. A *tuple* of exactly two arrays or lists is
        read as first ends and second ends; every other form, a list of two arrays included, lists pairs. Order,
        orientation and repetition do not matter; a pair given with several weights counts with the largest.
    must_link_weight, cannot_link_weight : float or array-like of shape (m,), default=1.0
        Price of a violated pair, >= 0; ``inf`` makes it hard, 0 keeps it out of the objective. A scalar also holds for
        groups and labels of its kind. Beside per-pair weights, groups and labels weigh 1.0, or are hard if every pair
        is.
    partial_labels : array-like of shape (n,), optional
        Known classes: integers of any width, integral floats or strings; unknown is -1, NaN or None. -1 is never a
        class (but the strings "-1", "nan" and "" are: turn them into None first). Rows of one class are must-linked,
        rows of different classes cannot-linked.
    must_link_groups : array-like of shape (n,), optional
        Group ids, unknown as above; all rows of a group are must-linked.
    cannot_link_groups : array-like of shape (n,), optional
        Group ids, unknown as above; all rows of a group are mutually cannot-linked.
    row_ids : sequence of n distinct hashables, optional
        If given, the pairs hold these ids instead of row numbers. Messages and reports name row numbers.

    Attributes
    ----------
    must_link, cannot_link : ndarray of shape (m, 2), int64
        Distinct pairs with i < j, sorted.
    must_link_weight, cannot_link_weight : ndarray of shape (m,), float64
    must_link_group_weight, cannot_link_group_weight : float
        The weights that groups and labels carry.
    labels, must_link_groups, cannot_link_groups : Grouping or None
        ``codes`` (n,) int32 with -1 for unknown and sorted ``ids``.
    n_rows : int or None
        The number of rows, where labels, groups or ids tell it.

    Raises
    ------
    ConstraintError
        If anything is malformed; the message names the pair's position and the offending value.

    Examples
    --------
    >>> from hmrf_fast.constraints import Constraints
    >>> Constraints(must_link=[(2, 0), (0, 2)], cannot_link=[(1, 2)], cannot_link_weight=float("inf"))
    Constraints(1 must-link, 1 cannot-link)
    """

    must_link: np.ndarray
    cannot_link: np.ndarray
    must_link_weight: np.ndarray
    cannot_link_weight: np.ndarray
    must_link_group_weight: float
    cannot_link_group_weight: float
    labels: Grouping | None
    must_link_groups: Grouping | None
    cannot_link_groups: Grouping | None
    n_rows: int | None
    _positions: tuple[np.ndarray, np.ndarray]

    def __init__(
        self,
        must_link: Any = None,
        cannot_link: Any = None,
        *,
        must_link_weight: ArrayLike = 1.0,
        cannot_link_weight: ArrayLike = 1.0,
        partial_labels: ArrayLike | None = None,
        must_link_groups: ArrayLike | None = None,
        cannot_link_groups: ArrayLike | None = None,
        row_ids: Sequence[Hashable] | None = None,
    ) -> None:
        lookup = None if row_ids is None else id_lookup(row_ids)
        state: dict[str, Any] = {}
        positions = []
        given = ((must_link, must_link_weight), (cannot_link, cannot_link_weight))
        for kind, (pairs, weight) in zip(_KINDS, given, strict=True):
            rows = parse_pairs(pairs, kind, lookup)
            weights, state[f"{kind}_group_weight"] = parse_weights(weight, rows, f"{kind}_weight")
            state[kind], state[f"{kind}_weight"], position = distinct_pairs(rows, weights)
            positions.append(position)
        state["_positions"] = tuple(positions)
        state["labels"] = _encode(partial_labels, "partial_labels")
        state["must_link_groups"] = _encode(must_link_groups, "must_link_groups")
        state["cannot_link_groups"] = _encode(cannot_link_groups, "cannot_link_groups")
        lengths = {} if lookup is None else {"row_ids": len(lookup)}
        for key, name in (("labels", "partial_labels"), *((f"{kind}_groups", f"{kind}_groups") for kind in _KINDS)):
            if state[key] is not None:
                lengths[name] = state[key].codes.size
        state["n_rows"] = common_length(lengths)
        self.__setstate__(state)

    @classmethod
    def from_adjacency(cls, A: Any) -> Constraints:
        """Read constraints from a signed weight matrix.

        Parameters
        ----------
        A : sparse or dense matrix of shape (n, n)
            A positive value is a must-link, a negative one a cannot-link, the absolute value its weight (``inf`` =
            hard); zeros are no constraint. Upper, lower or both triangles may be filled. Where both orientations of a
            pair are given they must agree in sign, and the larger weight counts. Repeated COO entries add up.

        Returns
        -------
        Constraints

        Raises
        ------
        ConstraintError
            If `A` is not square or not numeric, or holds NaN, a diagonal value, or opposite signs for one pair.
        """
        entries = signed_entries(A)
        rows = np.column_stack([entries.row, entries.col]).astype(np.int64)
        positive = entries.data > 0
        weights = np.abs(entries.data)
        one, other = weights[positive], weights[~positive]
        built = cls(rows[positive], rows[~positive], must_link_weight=one, cannot_link_weight=other)
        built.__dict__["n_rows"] = entries.shape[0]
        return built

    @property
    def classes(self) -> np.ndarray:
        """The known classes, ascending; empty without labels."""
        return np.empty(0, dtype=np.int64) if self.labels is None else self.labels.ids

    @property
    def codes(self) -> np.ndarray | None:
        """The class code of each row, (n,) int32 with -1 for unknown; None without labels."""
        return None if self.labels is None else self.labels.codes

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        sets = (self.labels, self.must_link_groups, self.cannot_link_groups)
        return not (len(self.must_link) or len(self.cannot_link) or any(s is not None and s.ids.size for s in sets))

    def scaled(self, must_link_factor: float, cannot_link_factor: float) -> Constraints:
        """The same constraints with all weights of a kind multiplied; 0 times ``inf`` is 0, so 0 switches a kind off.

        Parameters
        ----------
        must_link_factor, cannot_link_factor : float
            At least 0; ``inf`` makes every constraint of positive weight hard.

        Returns
        -------
        Constraints
        """
        state = dict(self.__dict__)
        for kind, factor in zip(_KINDS, (must_link_factor, cannot_link_factor), strict=True):
            for name in (f"{kind}_weight", f"{kind}_group_weight"):
                weight = np.asarray(state[name], dtype=np.float64)
                product = np.multiply(weight, factor, out=np.zeros_like(weight), where=(weight != 0) & (factor != 0))
                state[name] = product if product.ndim else float(product)
        return self._copy(state)

    def with_pairs(self, must_link: Any = None, cannot_link: Any = None, weight: ArrayLike = 1.0) -> Constraints:
        """The same constraints and further pairs of row numbers.

        Parameters
        ----------
        must_link, cannot_link : pairs as for the class, optional
        weight : float or array-like of shape (m,), default=1.0
            Of the further pairs; a pair that is there already counts with the larger weight.

        Returns
        -------
        Constraints

        Raises
        ------
        ConstraintError
            If a pair is malformed.
        """
        state, positions = dict(self.__dict__), list(self._positions)
        for number, (kind, pairs) in enumerate(zip(_KINDS, (must_link, cannot_link), strict=True)):
            if pairs is not None:
                further = parse_pairs(pairs, kind)
                told = np.concatenate([state[f"{kind}_weight"], parse_weights(weight, further, "weight")[0]])
                found = distinct_pairs(np.concatenate([state[kind], further]), told)
                state[kind], state[f"{kind}_weight"], positions[number] = found
        return self._copy(state | {"_positions": tuple(positions)})

    def kept(self, must_link: np.ndarray, cannot_link: np.ndarray) -> Constraints:
        """The same constraints with some of the pairs only.

        Parameters
        ----------
        must_link, cannot_link : ndarray of shape (m,) and (c,), bool
            True where a pair stays.

        Returns
        -------
        Constraints
        """
        masks, state = (must_link, cannot_link), dict(self.__dict__)
        for kind, mask in zip(_KINDS, masks, strict=True):
            state |= {name: state[name][mask] for name in (kind, f"{kind}_weight")}
        places = tuple(place[mask] for place, mask in zip(self._positions, masks, strict=True))
        return self._copy(state | {"_positions": places})

    def restricted(self, rows: ArrayLike) -> Constraints:
        """What they say about some of the rows, which are counted anew from 0.

        Parameters
        ----------
        rows : array-like of shape (r,), int
            Distinct row numbers, ascending.

        Returns
        -------
        Constraints
        """
        rows = np.asarray(rows, dtype=np.int64)
        must_link, cannot_link = (np.isin(pairs, rows).all(axis=1) for pairs in (self.must_link, self.cannot_link))
        state = dict(self.kept(np.asarray(must_link), np.asarray(cannot_link)).__dict__)
        state |= {kind: np.searchsorted(rows, state[kind]) for kind in _KINDS}
        for name in ("labels", "must_link_groups", "cannot_link_groups"):
            if state[name] is not None:
                state[name] = state[name].restricted(rows)
        return self._copy(state | {"n_rows": rows.size})

    def _copy(self, state: dict[str, Any]) -> Constraints:
        copy = object.__new__(type(self))
        copy.__setstate__(state)
        return copy

    def check_rows(self, n_rows: int) -> None:
        """Compare with the number of rows of the data.

        Parameters
        ----------
        n_rows : int
            Rows of the data set.

        Raises
        ------
        ConstraintError
            If labels, groups or ids have another length, or a pair names a row that does not exist.
        """
        if self.n_rows is not None and self.n_rows != n_rows:
            raise ConstraintError(f"the constraints are for {self.n_rows} rows, the data has {n_rows}")
        for kind, position in zip(_KINDS, self._positions, strict=True):
            outside = getattr(self, kind)[:, 1] >= n_rows
            if outside.size and outside.any():
                found = np.flatnonzero(outside)[np.argmin(position[outside])]  # of several, the one given first
                row = getattr(self, kind)[found, 1]
                raise ConstraintError(f"{kind} pair {position[found]} names row {row}, but there are {n_rows} rows")

    def __setattr__(self, name: str, *value: Any) -> None:
        raise AttributeError(f"Constraints cannot be changed (attribute {name!r})")

    __delattr__ = __setattr__

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled arrays come back writeable, hence frozen here and not in __init__.
        for value in state.values():
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)
        self.__dict__.update(state)

    def __repr__(self) -> str:
        parts = []
        ties, bars = (0 if sets is None else sets.ids.size for sets in (self.must_link_groups, self.cannot_link_groups))
        labelled = 0 if self.labels is None else int((self.labels.codes >= 0).sum())
        counts = (len(self.must_link), len(self.cannot_link), labelled, ties, bars)
        nouns = ("must-link", "cannot-link", "labelled row", "must-link group", "cannot-link group")
        for count, noun in zip(counts, nouns, strict=True):
            if count:
                parts.append(f"{count} {noun}{'' if count == 1 else 's'}")
        return f"Constraints({', '.join(parts)})"


def _encode(values: ArrayLike | None, name: str) -> Grouping | None:
    return None if values is None else encode_groups(values, name)
