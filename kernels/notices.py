"""Warnings that kernels can raise; free of numba so that importing them costs nothing."""

from __future__ import annotations


class HMRFWarning(UserWarning):
    """Base of every warning of this library's own."""


class CacheWarning(HMRFWarning):
    """Compiled code cannot be kept on disk, so every process compiles anew; set NUMBA_CACHE_DIR to a writable
    folder."""
