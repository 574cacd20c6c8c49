"""Bounds by groups: no LLR is stronger than the attacks, speakers or devices of training can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.bounds.bounding_methods import bound_by_counts, training_gap
from llrkit.calibrate.bounds.source_counts import SourceCounts, count_sources
from llrkit.calibrate.maps import Map
from llrkit.calibrate.option_checks import names_of
from llrkit.core.column_values import ValueCounts
from llrkit.core.moments import Moments
from llrkit.errors import InputError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source

_bounding: ContextVar[bool] = ContextVar("bounding", default=False)


def groups_bound_llrs() -> bool:
    """Whether the groups that a fit is given bound its LLRs, and not only deal its folds."""
    return _bounding.get()


@contextmanager
def bounding_groups(wanted: bool) -> Iterator[None]:
    """Tell the fit inside whether its groups bound LLRs."""
    token = _bounding.set(wanted)
    try:
        yield
    finally:
        _bounding.reset(token)


def count_groups(
    source: ScoreSource,
    groups: str | Sequence[str],
    speakers: str | Sequence[str] | None = None,
    *,
    moments: Moments | None = None,
) -> SourceCounts:
    """The independent sources of each class: its groups, where it has several; else its speakers or trials.

    In spoofing the attacks are groups of one class, and the other class, bona fide speech, is one group: it
    is counted by ``speakers``, or by trials where these are not given. Two columns are the two sides of a
    trial, as in :func:`count_sources`.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> attacks = {"attack": (["-", "-", "-"], ["A01", "A01", "A02"])}
    >>> print(count_groups(Scores([2.0, 1.0, 1.5], [-1.0, 0.5, -3.0], attacks), "attack"))
    3 target trials, 2 groups (attack) with non-target trials
    """
    columns = names_of(groups, "groups")
    if len(columns) == 2:
        return count_sources(source, columns, moments=moments)
    if len(columns) != 1:
        raise InputError(f"groups are one or two columns (the two sides of a trial), got {groups!r}")
    counts = count_sources(source, speakers, moments=moments)
    wide = as_source(source).with_columns(*columns)
    values = wide.reduce(lambda chunk: ValueCounts.of(chunk, *columns)).counts
    n = [sum(1 for trials in values.values() if trials[i] > 0) for i in (0, 1)]
    if max(n) < 2:
        raise InputError(f"all trials are of one group in {columns[0]!r}; at least two groups are needed")
    word = f"groups of {columns[0]}"
    if n[0] > 1:
        counts = replace(counts, n_target=n[0], target=word)
    if n[1] > 1:
        counts = replace(counts, n_nontarget=n[1], nontarget=word)
    return replace(counts, passes=counts.passes + 1)


def bound_groups(
    fitted: Map,
    source: ScoreSource,
    groups: str | Sequence[str],
    speakers: str | Sequence[str] | None = None,
) -> BoundedMap:
    """Clip LLRs to what the groups of the training data can show: ``log(1 + groups)`` of the other class.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> from llrkit.scores import Scores
    >>> attacks = {"attack": (["-"] * 20, ["A01", "A02"] * 50)}
    >>> trials = Scores([3.0] * 20, [-3.0] * 100, attacks)
    >>> bounded = bound_groups(AffineMap(a=9.0, b=0.0), trials, "attack")
    >>> round(bounded.low, 2), round(bounded.high, 2)  # -log(1 + 20 trials), log(1 + 2 attacks)
    (-3.04, 1.1)
    """
    moments, gap = training_gap(fitted, source)
    counts = count_groups(source, groups, speakers, moments=moments)
    bounded = bound_by_counts(fitted, replace(counts, passes=counts.passes + 1), gap)
    return replace(bounded, details={**fitted.details, **bounded.details})  # a choice stays in sight
