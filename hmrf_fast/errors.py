"""Errors and warnings of the library, each a subclass of the built-in a caller would expect."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from hmrf_fast.kernels.notices import CacheWarning, HMRFWarning

__all__ = [
    "CacheWarning",
    "ConstraintError",
    "ContradictionError",
    "ContradictionWarning",
    "ConvergenceWarning",
    "EmptyClusterWarning",
    "EmptyRowsWarning",
    "HMRFError",
    "HMRFWarning",
    "InfeasibleError",
    "InputError",
    "SampledConstraintsWarning",
]


class HMRFError(Exception):
    """Base of every error raised on purpose by this library."""


class ConstraintError(HMRFError, ValueError):
    """The constraints are malformed or do not fit the data."""


class ContradictionError(ConstraintError):
    """Hard constraints contradict one another; ``contradictions`` holds the proofs."""

    def __init__(self, message: str, contradictions: tuple = ()) -> None:
        super().__init__(message)
        self.contradictions = tuple(contradictions)


class InfeasibleError(ConstraintError):
    """No labelling with this number of clusters can satisfy the constraints."""


class InputError(HMRFError, ValueError):
    """The data matrix or a parameter is not usable."""


class ContradictionWarning(HMRFWarning):
    """Soft constraints contradict one another."""


class EmptyRowsWarning(HMRFWarning):
    """Some rows hold no non-zero value."""


class EmptyClusterWarning(HMRFWarning):
    """A cluster lost all its rows."""


class SampledConstraintsWarning(HMRFWarning):
    """Entailed constraints were sampled because there are too many to list."""
