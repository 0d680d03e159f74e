"""The compiled core: NumPy and Numba only, imported as ``hmrf_fast.kernels``.

A map of the folder:

- ``_jit.py`` the ``kernel`` decorator: every Numba option, the cache stamp, the switches; ``notices.py`` its warnings.
- ``types.py`` the NamedTuples of arrays that cross the boundary to the Python layer.
- ``pool.py`` the threads that run serial kernels over chunks of rows.
- ``rng.py`` counter-based random numbers: a draw depends on seed and counter alone.
- ``prefetch.py`` rows asked for before they are needed.
- ``metrics.py`` the formulas of the distances, and nothing else; ``mahalanobis.py`` those of lifted rows.
- ``rows.py`` the register-blocked product of sparse rows with a table of centroids, whose instructions are in
  ``row_blocks.py``; ``keys.py`` the lowest of them.
- ``distances.py`` rows against centroids, and the nearest centroid; ``pruning.py`` the same without most centroids.
- ``sums.py`` centroid sums in fixed point: the same bits for any number of threads.
- ``centroids.py`` centroids from sums, and the table that distances read.
- ``moments.py`` norms of the rows, and rows scattered into a vector over the features.
- ``sketch.py`` products of the rows with narrow tables, for truncated SVDs.
- ``pairs.py`` distances between the two rows of a constrained pair; ``shared.py`` the same from what they share.
- ``icm.py`` what labels cost the constrained rows, and block moves; ``sweeps.py`` sweeps; ``exchange.py`` label swaps.
- ``closure.py`` neighbourhood sums that stand for entailed constraints without listing them; ``closure_energy.py`` what
  these violate.
- ``placement.py`` labels for rows under hard cannot-links.
"""

# numba finds compiled code again by file and module name. A kernel file imported under a second name would leave
# machine code in the same cache, and the next process would load functions that refer to modules it cannot import.
if __name__ != "hmrf_fast.kernels":
    raise ImportError(
        f"this folder is the package hmrf_fast.kernels and must not be imported as {__name__!r}: install the project "
        "(pip install -e .) and import hmrf_fast.kernels"
    )
