"""The compiled core: NumPy and Numba only, imported as ``hmrf_fast.kernels``.

A map of the folder, in the order in which its files may import one another:

- ``_jit.py`` the ``kernel`` decorator: every Numba option, the cache stamp, the switches.
- ``types.py`` the NamedTuples of arrays that cross the boundary to the Python layer.
- ``notices.py`` the warnings of kernels, free of numba.
- ``rng.py`` counter-based random numbers, one stream per row.
- ``prefetch.py`` rows asked for before they are needed.
- ``rows.py`` the register-blocked product of sparse rows with a table of centroids.
- ``metrics.py`` the formulas of the distances, and nothing else.
- ``distances.py`` rows against centroids, and the nearest centroid.
- ``sums.py`` centroid sums in fixed point: the same bits for any number of threads.
- ``moments.py`` norms of the rows, and rows scattered into a vector over the features.
- ``pairs.py`` distances between the two rows of a constrained pair.
- ``shared.py`` the same from lists of what the two rows share.
- ``closure.py`` neighbourhood sums that stand for entailed constraints without listing them.
- ``icm.py`` what labels cost the constrained rows, and block moves.
- ``sweeps.py`` sweeps over the constrained rows.
- ``placement.py`` labels for rows under hard cannot-links.
- ``weights.py`` gradients of the objective by feature weight.
- ``pool.py`` the threads that run serial kernels over chunks of rows.
"""

# numba finds compiled code again by file and module name. A kernel file imported under a second name would leave
# machine code in the same cache, and the next process would load functions that refer to modules it cannot import.
if __name__ != "hmrf_fast.kernels":
    raise ImportError(
        f"this folder is the package hmrf_fast.kernels and must not be imported as {__name__!r}: install the project "
        "(pip install -e .) and import hmrf_fast.kernels"
    )
