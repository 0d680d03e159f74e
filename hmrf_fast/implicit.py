"""Which sets of pairs are listed, which stay implicit as blocks and links, and which must be sampled."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from hmrf_fast.closure import Family, Layout
from hmrf_fast.enumeration import Bundles, Listed, enumerate_pairs, join, no_bundles, pair_counts, sample_pairs
from hmrf_fast.errors import SampledConstraintsWarning
from hmrf_fast.groups import members_by_code
from hmrf_fast.sorting import stable_order


class Limits(NamedTuple):
    """How far pairs are listed; all bounds are linear in the number of rows."""

    block_rows: int = 64  # a set of at most so many rows is listed
    link_factor: int = 32  # p x q cross pairs are listed up to link_factor * (p + q)
    pairs_per_row: int = 64  # all entailed pairs together: listed up to pairs_per_row * rows + pairs_base ...
    pairs_base: int = 100_000  # ... and sampled above


class Blocks(NamedTuple):
    """Implicit blocks and links, as in ``PenaltyGraph``."""

    block_ptr: np.ndarray
    block_rows: np.ndarray
    block_weight: np.ndarray
    link_ptr: np.ndarray
    link_block: np.ndarray
    link_weight: np.ndarray
    node_block: np.ndarray


class _Parts(NamedTuple):
    """The sets of one family, each cut into the rows that may form a block and the rest."""

    ptr: np.ndarray
    members: np.ndarray
    free: np.ndarray  # (s,) bool
    bundles: Bundles


class _Chosen(NamedTuple):
    """Implicit blocks of one family."""

    ptr: np.ndarray
    members: np.ndarray
    weight: np.ndarray
    links: Bundles  # numbered by block


def realise(
    families: list[Family], layout: Layout, limits: Limits, enumerate_all: bool, seed: int
) -> tuple[Listed, Blocks]:
    """Turn weights on sets into listed pairs and implicit blocks.

    A row lies in one implicit block at most, and so does a node; a large set that overlaps an earlier block keeps the
    rows it can, and the pairs that reach its other rows are listed or sampled.

    Parameters
    ----------
    families : list of Family
        In the order in which they may claim rows.
    layout : Layout
    limits : Limits
    enumerate_all : bool
        List or sample everything; no blocks.
    seed : int
        For the sample.

    Returns
    -------
    listed : Listed
    blocks : Blocks

    Warns
    -----
    SampledConstraintsWarning
        If pairs had to be sampled; the message holds both numbers.
    """
    node_block = np.full(layout.n_nodes, -1, dtype=np.int32)
    chosen: list[_Chosen] = []
    pieces: list[tuple[np.ndarray, np.ndarray, Bundles]] = []
    n_blocks = 0
    for family in families:
        parts = _cut(family, layout, node_block)
        rest = parts.bundles
        if not enumerate_all:
            picked, rest = _choose(parts, layout, limits)
            node_block[layout.node[picked.members]] = np.repeat(
                np.arange(n_blocks, n_blocks + picked.weight.size), np.diff(picked.ptr)
            )
            n_blocks += picked.weight.size
            chosen.append(picked)
        pieces.append((parts.ptr, parts.members, rest))
    return _list_or_sample(*_stack(pieces), layout.rows.size, limits, seed), _pack(chosen, node_block)


def _cut(family: Family, layout: Layout, node_block: np.ndarray) -> _Parts:
    n_sets = family.weight.size
    codes = family.codes.astype(np.int64)
    # The kernels move nodes: all rows of a node must lie in the block, or none.
    low = np.full(layout.n_nodes, n_sets, dtype=np.int64)
    high = np.full(layout.n_nodes, -1, dtype=np.int64)
    np.minimum.at(low, layout.node, codes)
    np.maximum.at(high, layout.node, codes)
    may = ((low == high) & (node_block < 0))[layout.node]
    part = np.where(codes < 0, -1, 2 * codes + ~may)
    ptr, members = members_by_code(part, 2 * n_sets)
    both = np.arange(n_sets)
    inside = [(2 * both, 2 * both), (2 * both + 1, 2 * both + 1), (2 * both, 2 * both + 1)]
    bundles = [Bundles(a, b, np.full(n_sets, family.kind, np.int8), family.weight) for a, b in inside]
    for i in (0, 1):
        for j in (0, 1):
            kind = np.full(family.left.size, -1, np.int8)
            bundles.append(Bundles(2 * family.left + i, 2 * family.right + j, kind, family.link_weight))
    joined = join(bundles)
    keep = (joined.weight > 0) & (pair_counts(ptr, joined) > 0)
    return _Parts(ptr, members, np.tile([True, False], n_sets), joined.take(keep))


def _choose(parts: _Parts, layout: Layout, limits: Limits) -> tuple[_Chosen, Bundles]:
    """Pick the large bundles among free sets as blocks and links; the second result is what remains."""
    bundles, sizes = parts.bundles, np.diff(parts.ptr)
    p, q = sizes[bundles.left], sizes[bundles.right]
    clique = bundles.left == bundles.right
    free = parts.free[bundles.left] & parts.free[bundles.right]
    link = free & ~clique & (bundles.kind < 0) & (p * q > limits.link_factor * (p + q))
    is_block = np.zeros(sizes.size, dtype=bool)
    is_block[bundles.left[free & clique & (p > limits.block_rows)]] = True
    is_block[bundles.left[link]] = True
    is_block[bundles.right[link]] = True
    inner = clique & is_block[bundles.left]

    number = np.cumsum(is_block) - 1
    sets = np.flatnonzero(is_block)
    weight = np.zeros(sets.size)
    weight[number[bundles.left[inner]]] = bundles.kind[inner] * bundles.weight[inner]
    of_set = np.repeat(np.arange(sizes.size), sizes)
    mine = is_block[of_set]
    members, owner = parts.members[mine], of_set[mine]
    members = members[np.lexsort((members, layout.node[members], owner))]
    ptr = np.concatenate([[0], np.cumsum(sizes[sets])])
    links = bundles.take(link)
    links = links._replace(left=number[links.left], right=number[links.right])
    return _Chosen(ptr, members, weight, links), bundles.take(~inner & ~link)


def _stack(pieces: list[tuple[np.ndarray, np.ndarray, Bundles]]) -> tuple[np.ndarray, np.ndarray, Bundles]:
    """Lay the sets of all families behind one another."""
    ptrs, members, bundles = [np.zeros(1, np.int64)], [np.empty(0, np.int64)], [no_bundles()]
    n_sets, n_members = 0, 0
    for ptr, rows, bundle in pieces:
        ptrs.append(ptr[1:] + n_members)
        members.append(rows)
        bundles.append(bundle._replace(left=bundle.left + n_sets, right=bundle.right + n_sets))
        n_sets += ptr.size - 1
        n_members += rows.size
    return np.concatenate(ptrs), np.concatenate(members), join(bundles)


def _list_or_sample(
    ptr: np.ndarray, members: np.ndarray, bundles: Bundles, n_rows: int, limits: Limits, seed: int
) -> Listed:
    counts = pair_counts(ptr, bundles)
    # One pair for every bundle is always affordable: there are no more of those than given constraints.
    limit = limits.pairs_per_row * n_rows + limits.pairs_base + counts.size
    total = int(counts.sum())
    if total <= limit:
        return enumerate_pairs(ptr, members, bundles)
    order = np.argsort(counts, kind="stable")
    few = np.zeros(counts.size, dtype=bool)
    few[order] = np.cumsum(counts[order]) <= limit // 2
    listed = enumerate_pairs(ptr, members, bundles.take(few))
    n_draws = min(limit - listed.first.size, total - listed.first.size)
    drawn = sample_pairs(ptr, members, bundles.take(~few), n_draws, seed)
    warnings.warn(
        f"{total - listed.first.size} entailed pairs are too many to list: {drawn.first.size} of them were drawn and"
        " re-weighted to the same total",
        SampledConstraintsWarning,
        stacklevel=2,
    )
    return join([listed, drawn])


def _pack(chosen: list[_Chosen], node_block: np.ndarray) -> Blocks:
    empty = _Chosen(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0), no_bundles())
    n_blocks, n_rows = 0, 0
    ptrs, links = [empty.ptr], [no_bundles()]
    for one in chosen:
        ptrs.append(one.ptr[1:] + n_rows)
        links.append(one.links._replace(left=one.links.left + n_blocks, right=one.links.right + n_blocks))
        n_blocks += one.weight.size
        n_rows += one.members.size
    joined = join(links)
    link_ptr, end, which = adjacency(joined.left, joined.right, n_blocks)
    return Blocks(
        block_ptr=np.concatenate(ptrs).astype(np.int64),
        block_rows=np.concatenate([empty.members, *(one.members for one in chosen)]).astype(np.int32),
        block_weight=np.concatenate([empty.weight, *(one.weight for one in chosen)]),
        link_ptr=link_ptr,
        link_block=end.astype(np.int32),
        link_weight=joined.weight[which],
        node_block=node_block,
    )


def adjacency(first: np.ndarray, second: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List undirected edges under both ends.

    Parameters
    ----------
    first, second : ndarray of shape (e,), int
        The ends of each edge.
    n : int
        Number of vertices.

    Returns
    -------
    ptr : ndarray of shape (n + 1,), int64
    end : ndarray of shape (2 e,), int64
        The vertex at the other end.
    edge : ndarray of shape (2 e,), int64
        The edge, ascending for each vertex.
    """
    source = np.column_stack([first, second]).astype(np.int64, copy=False).ravel()  # ends of edge k at 2k and 2k + 1
    half = stable_order(source, max(n - 1, 0))
    ptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=ptr[1:])
    return ptr, source[half ^ 1], half >> 1
