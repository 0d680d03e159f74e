"""One pass over the non-zeros that gives every row its norms, and one that scatters rows into a feature vector."""

from __future__ import annotations

import numpy as np

from hmrf_fast.kernels._jit import inlined, kernel
from hmrf_fast.kernels.prefetch import prefetch_visit


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
            a = weights[np.uint32(corpus.indices[entry])]
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


@inlined
def _turn(label, before, agreed, clusters, slots):
    """Lay out the table of a label, and take off the squares of the centroid before, see ``scatter_own``."""
    content, old, inverse = clusters.content[label], clusters.content[before], clusters.inverse[label]
    share = 0.5 * agreed * clusters.inverse[before] ** 2
    for m in range(slots.shape[0]):
        slots[m, 1] -= share * (old[m] * old[m])
        slots[m, 0] = clusters.weights[m] * (content[m] * inverse)


@kernel
def scatter_own(corpus, visits, terms, clusters, labels, first, last, mass, strength, square, linear, own, out):
    """Distances of the rows of visits[first:last] to their own centroids, and dJ/da without pairs, for directional
    metrics.

    Under the centroid c that minimises J, of length 1, a row of mass s at distance D adds s (1 - D) / 2 times (x^2 /
    |x|_a^2 - c^2) to it, since the s (1 - D) of a cluster add up to the length of its summed rows.
    IN visits: Visits of the rows sorted by label; in that order: terms: RowTerms; labels (n,) int32; mass, strength
    (n,): x enters with the power strength + mass * (1 - distance); square (n,), linear (n,) or length 0: coefficients
    at power 1, see ``scatter_rows``. IN clusters: ClusterTerms. OUT own (n,) float64, also in that order, out (d,).
    Cost: nnz of the rows, twice while they are in the cache, plus d per label. What a non-zero reads and what it
    changes lie side by side: one access to memory in place of two.
    """
    slots = np.zeros((out.size, 2))
    current, agreed = -1, 0.0
    for position in range(first, last):
        prefetch_visit(corpus, visits, position)
        label = labels[position]
        if label != current:
            _turn(label, max(current, 0), agreed, clusters, slots)
            current, agreed = label, 0.0
        total = 0.0
        other = 0.0
        begin = visits.begin[position]
        end = visits.end[position]
        entry = begin
        while entry + 1 < end:
            total += corpus.values[entry] * slots[np.uint32(corpus.indices[entry]), 0]
            other += corpus.values[entry + 1] * slots[np.uint32(corpus.indices[entry + 1]), 0]
            entry += 2
        if entry < end:
            total += corpus.values[entry] * slots[np.uint32(corpus.indices[entry]), 0]
        shift = terms.shift[position] if terms.shift.size > 0 else 0.0
        distance = terms.base[position] + clusters.offset[label]
        distance += terms.scale[position] * (total + other + shift * clusters.cross[label])
        own[position] = distance
        agreed += mass[position] * (1.0 - distance)
        power = strength[position] + mass[position] * (1.0 - distance)
        second = power * square[position]
        first_order = power * linear[position] if linear.size > 0 else 0.0
        for entry in range(begin, end):
            x = np.float64(corpus.values[entry])
            slots[np.uint32(corpus.indices[entry]), 1] += x * (second * x + first_order)
    _turn(max(current, 0), max(current, 0), agreed, clusters, slots)
    out[:] = slots[:, 1]


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
