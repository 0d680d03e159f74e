"""One pass over the non-zeros that gives every row its norms, and one that scatters rows into a feature vector."""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import kernel


@kernel
def row_moments(corpus, unit, weights, entropic, first, last, square, total, entropy):
    """Weighted moments of the rows unit * x: OUT square = sum a x^2, total = sum a x, entropy = sum a x ln x (all
    (n,)).

    ``entropy`` is computed for non-negative rows only when ``entropic``. Cost: nnz.
    """
    for row in range(first, last):
        squares = 0.0
        plain = 0.0
        logs = 0.0
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            x = corpus.values[entry] * unit[row]
            a = weights[corpus.indices[entry]]
            squares += a * x * x
            plain += a * x
            if entropic and x > 0.0:
                logs += a * x * np.log(x)
        square[row] = squares
        total[row] = plain
        entropy[row] = logs


@kernel
def row_norms(corpus, first, last, largest, square, absolute, total):
    """Unweighted norms, safe against overflow: OUT largest = max |x|, square = sum (x/largest)^2, absolute = sum
    |x/largest|, total = sum x/largest, all (n,) float64 and 0 for empty rows. Cost: nnz."""
    for row in range(first, last):
        peak = 0.0
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            peak = max(peak, abs(np.float64(corpus.values[entry])))
        squares = 0.0
        sizes = 0.0
        plain = 0.0
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            x = corpus.values[entry] / peak
            squares += x * x
            sizes += abs(x)
            plain += x
        largest[row] = peak
        square[row] = squares
        absolute[row] = sizes
        total[row] = plain


@kernel
def scatter_rows(corpus, square, linear, entropy, unit, first, last, out):
    """out (d,) INOUT += square[row] x^2 + linear[row] x + entropy[row] (ux) ln(ux) over rows [first, last).

    Coefficient arrays are (n,) or of length 0 where a metric has no such term. Cost: nnz.
    """
    for row in range(first, last):
        second = square[row] if square.size > 0 else 0.0
        first_order = linear[row] if linear.size > 0 else 0.0
        logs = entropy[row] if entropy.size > 0 else 0.0
        if second == 0.0 and first_order == 0.0 and logs == 0.0:
            continue
        for entry in range(corpus.indptr[row], corpus.indptr[row + 1]):
            x = np.float64(corpus.values[entry])
            part = second * x * x + first_order * x
            if logs != 0.0 and unit[row] * x > 0.0:
                part += logs * unit[row] * x * np.log(unit[row] * x)
            out[corpus.indices[entry]] += part


@kernel
def feature_extent(corpus, low, high, count):
    """Smallest and largest stored value and number of entries per feature: INOUT low, high (d,) float64, count (d,)
    int64."""
    for entry in range(corpus.indices.size):
        feature = corpus.indices[entry]
        x = np.float64(corpus.values[entry])
        low[feature] = min(low[feature], x)
        high[feature] = max(high[feature], x)
        count[feature] += 1
