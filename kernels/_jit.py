"""The one decorator behind every kernel: numba's options, the cache and its stamp.

numba decides whether machine code on disk is stale by looking at the file of the kernel that was called, not at the
files of the kernels it calls. A digest of all kernel sources is therefore made part of every kernel's name: editing any
of them gives new names, hence new cache entries.
"""

from __future__ import annotations

import functools
import hashlib
import warnings
from pathlib import Path

import numba
import numpy as np
from numba.core.caching import FunctionCache

from hmrf_fast.kernels.notices import CacheWarning

JIT_DISABLED = bool(numba.config.DISABLE_JIT)


def _source_stamp() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    digest.update(f"boundscheck={numba.config.BOUNDSCHECK}".encode())
    return digest.hexdigest()[:12]


STAMP = _source_stamp()
_warned = False

# Where the errors come from that reading a torn or foreign cache file raises.
_READERS = {"builtins", "pickle", "_pickle", "struct", "numba", "llvmlite"}


def _warn_once(reason: object) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled kernels cannot be cached on disk ({reason}); they are compiled in memory in every process. "
            "Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
            CacheWarning,
            stacklevel=2,
        )


class _ForgivingCache(FunctionCache):
    """A function cache whose failures cost time, never a fit: full disks, torn files and missing rights are
    survived."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            if not _is_of_the_cache(error):
                raise
            return None  # compiling anew is always right

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except Exception as error:
            if not _is_of_the_cache(error):
                raise
            if isinstance(error, OSError):
                _warn_once(error)
            else:  # the index on disk is torn: begin a new one
                self._begin_anew(sig, data)

    def _begin_anew(self, sig, data):
        try:
            self.flush()
            super().save_overload(sig, data)
        except RuntimeError:  # Ctrl-C during the compilation has left nothing to save
            return
        except Exception as error:
            if not _is_of_the_cache(error):
                raise
            _warn_once(error)


def _is_of_the_cache(error):
    """Whether an error comes from reading or writing files, not from a signal's handler that ran meanwhile: those
    raise errors of their own kinds, or a TimeoutError that no system call has numbered."""
    handled = isinstance(error, TimeoutError) and error.errno is None
    return not handled and type(error).__module__.partition(".")[0] in _READERS


def kernel(function):
    """Compile ``function`` lazily, without the interpreter lock, and keep the machine code on disk where possible.

    Only contraction of a multiplication and an addition is allowed to the compiler: it never changes results between
    calls or thread counts, while flags that assume away NaN or infinity would.
    """
    return _compiled(function, {"contract"})


def summing_kernel(function):
    """A kernel whose sums the compiler may split into several partial ones, as vector instructions want them.

    How it splits them depends on the processor and on the number of terms, never on threads: only for sums whose
    bounds are not chosen by a chunk grid.
    """
    return _compiled(function, {"contract", "reassoc", "nsz"})


def inlined(function):
    """A part of kernels that is copied into each of them, for steps so short that a call would be felt."""
    return numba.njit(nogil=True, error_model="numpy", inline="always")(function)


def lean_kernel(function):
    """A kernel that makes no array, for loops whose turns are so short that the counting of references to arrays, which
    numba does for each of them, would be most of the work."""
    return _compiled(function, {"contract"}, _nrt=False)


def _compiled(function, flags: set[str], **options):
    if JIT_DISABLED:
        return _without_floating_warnings(function)
    function.__qualname__ = f"{function.__qualname__}-{STAMP}"
    dispatcher = numba.njit(nogil=True, error_model="numpy", fastmath=flags, **options)(function)
    try:
        dispatcher._cache = _ForgivingCache(function)
    except (RuntimeError, OSError) as error:
        _warn_once(error)
    return dispatcher


def _without_floating_warnings(function):
    """Machine code wraps integers around and divides by zero in silence; where kernels run as plain Python (the
    environment variable NUMBA_DISABLE_JIT), NumPy would warn of each."""

    @functools.wraps(function)
    def run(*arguments):
        with np.errstate(all="ignore"):
            return function(*arguments)

    return run
