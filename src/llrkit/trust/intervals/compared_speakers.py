"""Who is compared with whom: speakers fall into blocks, such as genders, that are never compared.

Where there are a few large blocks, how many speakers each has was decided by whoever collected the trials.
What is the same for all speakers of a block is then no chance, and does not belong into an error.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from llrkit._arrays import FloatArray, IntArray
from llrkit.core.column_values import numbered
from llrkit.scores import Scores

Partition = tuple[frozenset[Hashable], ...]
"""Values of speakers, those that are compared with each other together."""

FEWEST_IN_BLOCK = 5
MOST_BLOCKS = 4
"""More blocks than these, or smaller ones, are themselves a matter of chance."""
_SAMPLED = 8
"""Trials for each speaker that are looked at first: mostly they connect all speakers already."""


def compared(chunk: Scores, columns: Sequence[str], values: Sequence[Hashable]) -> Partition:
    """The values of two columns, in sets that no trial of the chunk connects.

    Examples
    --------
    >>> sides = {"left": (["a"], ["a", "c"]), "right": (["a"], ["b", "d"])}
    >>> sorted(map(sorted, compared(Scores([1.0], [0.0, 0.0], sides), ("left", "right"), "abcd")))
    [['a', 'b'], ['c', 'd']]
    """
    number_of = {value: i for i, value in enumerate(values)}
    labels: IntArray = np.arange(len(values))
    if len(columns) == 1:
        return (frozenset(values),)
    for class_index in (1, 0):
        size = len((chunk.target, chunk.nontarget)[class_index])
        for step in sorted({max(1, size // (_SAMPLED * len(values))), 1}, reverse=True):
            if labels.max(initial=0) > 0:
                labels = _connect_sets(
                    labels, *_speakers_on_both_sides(chunk, columns, class_index, number_of, step)
                )
    order = np.argsort(labels, kind="stable")
    sets = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return tuple(frozenset(values[i] for i in members) for members in sets if len(members))


def _speakers_on_both_sides(
    chunk: Scores, columns: Sequence[str], class_index: int, number_of: dict[Hashable, int], step: int
) -> tuple[IntArray, IntArray]:
    """The numbers of both speakers of every ``step``-th trial."""
    sliced = {}
    for name in columns:
        target, nontarget = chunk.columns[name]
        sliced[name] = (target[::step], nontarget[::step])
    some = Scores.part(chunk.target[::step], chunk.nontarget[::step], sliced, chunk.categories)
    first, second = (numbered(some, name, class_index, number_of) for name in columns)
    return first, second


def _connect_sets(labels: IntArray, first: IntArray, second: IntArray) -> IntArray:
    """Labels of sets after some of their members were connected."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    a, b = labels[first], labels[second]
    apart = a != b
    if not apart.any():
        return labels
    n = int(labels.max()) + 1
    graph = coo_array((np.ones(int(apart.sum()), dtype=np.int8), (a[apart], b[apart])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1][labels], dtype=np.int64)


def connected(first: Partition, second: Partition) -> Partition:
    """The finest sets that hold those of both partitions.

    Examples
    --------
    >>> sets = connected((frozenset("ab"), frozenset("c")), (frozenset("bd"), frozenset("e")))
    >>> sorted(map(sorted, sets))
    [['a', 'b', 'd'], ['c'], ['e']]
    """
    if len(first) == len(second) == 1 and not first[0].isdisjoint(second[0]):
        return (first[0] | second[0],)
    values = list(frozenset().union(*first, *second))
    if not values:  # two chunks without trials
        return first
    number_of = {value: i for i, value in enumerate(values)}
    labels: IntArray = np.arange(len(values))
    members = [np.array([number_of[value] for value in one], dtype=np.int64) for one in (*first, *second)]
    ends = [(one[:-1], one[1:]) for one in members if len(one)]
    labels = _connect_sets(labels, *(np.concatenate(side) for side in zip(*ends, strict=True)))
    order = np.argsort(labels, kind="stable")
    sets = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return tuple(frozenset(values[i] for i in some) for some in sets)


def blocks_of(order: Sequence[Hashable], partition: Partition) -> tuple[int, ...]:
    """The block of each speaker, small ones put together; empty where there is one, or too many to be fixed.

    Examples
    --------
    >>> blocks_of("abcdefghijk", (frozenset("abcdef"), frozenset("ghijk")))
    (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
    >>> blocks_of("abcdef", (frozenset("abc"), frozenset("def")))
    ()
    """
    large = sorted((one for one in partition if len(one) >= FEWEST_IN_BLOCK), key=len, reverse=True)
    rest = len(order) - sum(map(len, large))
    if len(large) > MOST_BLOCKS or len(large) + (rest >= FEWEST_IN_BLOCK) < 2:
        return ()
    # a few left over are too few for a block of their own
    other = len(large) if rest >= FEWEST_IN_BLOCK else 0
    place = {value: i for i, one in enumerate(large) for value in one}
    found = [place.get(value, other) for value in order]
    numbers = {block: i for i, block in enumerate(dict.fromkeys(found))}
    return tuple(numbers[block] for block in found)


def count_blocks(blocks: tuple[int, ...]) -> int:
    """How many blocks there are; no numbers of blocks stand for a single one.

    Examples
    --------
    >>> count_blocks((0, 0, 1, 1, 2)), count_blocks(())
    (3, 1)
    """
    return max(blocks, default=0) + 1


def centered(values: FloatArray, blocks: tuple[int, ...]) -> FloatArray:
    """Values by speaker less their mean in each block, with the sum of squares one mean would leave.

    Examples
    --------
    >>> centered(np.array([1.0, 2.0, 3.0]), ())
    array([-1.,  0.,  1.])
    >>> apart = centered(np.array([1.0, 2.0, 3.0, 11.0, 12.0, 13.0]), (0, 0, 0, 1, 1, 1))
    >>> round(float((apart**2).sum()), 6)  # 4 times 3/2 for the means of two blocks, less 5/6 for one
    5.0
    """
    if not blocks:
        return np.asarray(values - values.mean(axis=0))
    result, n = np.array(values), len(values)
    place = np.asarray(blocks)
    for block in range(count_blocks(blocks)):
        own = place == block
        size = float(own.sum())
        scale = math.sqrt(size / (size - 1.0) * (n - 1.0) / n)
        result[own] = scale * (values[own] - values[own].mean(axis=0))
    return result


def centered_pairs(values: FloatArray, blocks: tuple[int, ...]) -> FloatArray:
    """Values by pair of speakers (the last two axes) less their mean over the pairs in each block.

    Examples
    --------
    >>> pairs = np.array([[[5.0, 1.0], [3.0, 5.0]]])
    >>> centered_pairs(pairs, (0, 0))
    array([[[ 5., -1.],
            [ 1.,  5.]]])
    """
    result, place = np.array(values), np.asarray(blocks)
    same = (place[:, None] == place[None, :]) & ~np.eye(len(place), dtype=bool)
    for block in range(count_blocks(blocks)):
        own = same & (place == block)[:, None]
        result[:, own] -= values[:, own].mean(axis=1, keepdims=True)
    return result
