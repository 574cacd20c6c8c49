"""Bounds of LLRs: from the number of sources, from groups, ELUB, invariance, or fixed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import FloatArray, names_of, of_kind, positive, whole_number, yes_or_no
from llrkit.base.text import Json, as_list, as_number, as_text, not_among, number
from llrkit.core.cells import require_both_classes
from llrkit.core.groups import DistinctNumbers, JoinedNumbers, ValueCounts, numbered
from llrkit.core.losses import LossSums
from llrkit.core.summaries import Moments, both
from llrkit.errors import InputError, NotInvertibleError, UnknownNameError
from llrkit.maps.map import Columns, ComposedMap, Map, MapOfMaps
from llrkit.maps.training_range import gap_of_moments, gap_sentence, highest_score, lowest_score
from llrkit.results.vocabulary import LN10
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import as_source


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BoundedMap(MapOfMaps):
    """Another map whose LLRs are clipped to ``low`` (at most 0) and ``high`` (at least 0), in nats.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> BoundedMap(map=AffineMap(a=1.0, b=0.0), low=-2.0, high=3.0)([-9.0, 1.0, 9.0])
    array([-2.,  1.,  3.])
    """

    map: Map
    low: float
    high: float

    kind: ClassVar[str] = "bounded"
    may_be_infinite: ClassVar[frozenset[str]] = frozenset({"low", "high"})

    def __post_init__(self) -> None:
        if self.reading is None:  # it takes what the map inside takes
            object.__setattr__(self, "reading", self.map.reading)

    @property
    def inner_maps(self) -> tuple[Map, ...]:
        """The map inside."""
        return (self.map,)

    @property
    def has_bounds(self) -> bool:
        """They are what it is for."""
        return True

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The clipped LLRs."""
        return np.clip(self.map.checked(scores, columns), self.low, self.high)

    def _tried(self, scores: FloatArray) -> FloatArray:
        return np.clip(self.map._tried(scores), self.low, self.high)

    def back_to_scores(self) -> Map:
        """None: many scores share a bound."""
        raise NotInvertibleError("a bounded map has no inverse; use that of the map inside: .map.inverse")

    def __repr__(self) -> str:
        return f"BoundedMap({self.map!r}, llr from {self.low:.4g} to {self.high:.4g})"


BOUNDS = ("none", "elub", "invariance", "sources", "fixed:LOW,HIGH")
"""What :func:`bound_map` accepts."""


def parse_bound(bound: str) -> tuple[str, tuple[float, float] | None]:
    """The name of a bound, and the two limits (in nats) of a fixed one; anything else is refused.

    Examples
    --------
    >>> parse_bound("elub"), parse_bound("fixed:-3,4.5")
    (('elub', None), ('fixed', (-3.0, 4.5)))
    >>> parse_bound("tight")
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: unknown bound 'tight'; known are none, elub, invariance, sources,
    fixed:LOW,HIGH (natural logarithms)
    """
    typed = bound.strip().lower() if isinstance(bound, str) else ""
    if typed in BOUNDS[:-1]:
        return typed, None
    name, _, rest = typed.partition(":")
    if name != "fixed":
        raise UnknownNameError(f"unknown bound {not_among(bound, BOUNDS)} (natural logarithms)")
    try:
        low, high = (float(text) for text in rest.split(","))
    except ValueError:
        # nan fails the comparison below, so malformed text and bad limits share one message
        low = high = float("nan")
    if not low <= 0.0 <= high:
        raise InputError(
            f"bound {bound!r}: write fixed:LOW,HIGH with two LLRs in nats (natural logarithms) and "
            "LOW <= 0 <= HIGH, such as fixed:-4.6,6.9"
        )
    return name, (low, high)


def bound_map(
    fitted: Map,
    source: ScoreSource,
    bound: str = "sources",
    *,
    speakers: str | Sequence[str] | None = None,
    groups: str | Sequence[str] | None = None,
) -> Map:
    """Bound the LLRs of a map by the data it was trained on.

    The ``details`` of the bounded map hold ``bound``, ``low`` and ``high`` in nats, ``low_log10`` and
    ``high_log10``, what was counted, and ``gap`` if the classes do not overlap in the training scores;
    those of the fit are in ``bounded.map.details``. :func:`bound_sentence` says the same in words.

    Parameters
    ----------
    fitted
        The map whose LLRs are bounded.
    source
        The training data.
    bound
        ``"sources"``: :func:`bound_sources`. ``"elub"``: :func:`bound_elub`. ``"invariance"``:
        :func:`bound_invariance`. ``"fixed:LOW,HIGH"``: :func:`bound_fixed`, in nats (natural logarithms, as
        all LLRs here). ``"none"``: the map itself.
    speakers
        For ``"sources"``: the column, or the two columns, with the speakers of the two sides of a trial.
    groups
        For ``"sources"``: the column with what may be new in use: attacks, devices, speakers. LLRs are
        bounded by ``log(1 + groups)`` of the other class, where that has several groups, else by its speakers
        or trials.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(2, 1, 30), rng.normal(0, 1, 200))
    >>> bounded = lk.maps.bound_map(lk.fit_cmlg(dev), dev)
    >>> bounded([-9.0, 0.9, 9.0]).round(2)
    array([-3.43, -0.13,  5.3 ])
    >>> print(lk.maps.bound_sentence(bounded))
    LLRs are bounded to [-3.43, 5.30] (log10: -1.49, 2.30): 30 target trials, 200 non-target trials.
    """
    of_kind(fitted, Map, "fitted")
    kind, limits = parse_bound(bound)
    # groups are a way to count sources; with another bound they would silently do nothing
    if groups is not None and kind != "sources":
        raise InputError(f"groups bound the LLRs: leave out bound={bound!r} or the groups")
    if speakers is not None and kind != "sources":
        raise InputError(f"bound {kind!r} does not use speakers, only 'sources' does; leave the speakers out")
    if kind == "none":
        return fitted
    source = as_source(source)
    if groups is not None:
        return bound_groups(fitted, source, groups, speakers)
    if kind == "sources":
        return bound_sources(fitted, source, speakers=speakers)
    if limits is not None:
        bounded = bound_fixed(fitted, *limits)
    else:
        bounded = (bound_elub if kind == "elub" else bound_invariance)(fitted, source)
    # ELUB and invariance look at LLRs; whether classes overlap is asked of the training scores, one pass more
    _, gap = training_gap(fitted, source)
    details = {**bounded.details, **gap, "passes": as_number(bounded.details.get("passes", 0)) + 1}
    return replace(bounded, details=details)


def bound_sentence(fitted: Map, *, base_10: bool = False) -> str:
    """The bounds of a map and what they rest on, in words.

    Parameters
    ----------
    fitted
        A map with bounds.
    base_10
        Show them to base ten only, not in nats.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> line = AffineMap(a=1.0, b=0.0)
    >>> print(bound_sentence(bound_sources(line, n_sources=(39, 780))))
    LLRs are bounded to [-3.69, 6.66] (log10: -1.60, 2.89): 39 target sources, 780 non-target sources.
    >>> bound_sentence(line)
    'LLRs are not bounded.'
    """
    of_kind(fitted, Map, "fitted")
    base_10 = yes_or_no(base_10, "base_10")
    # after a composition the last map decides which LLRs come out
    while isinstance(fitted, ComposedMap):
        fitted = fitted.second
    if not isinstance(fitted, BoundedMap):
        return "LLRs are not bounded."
    nats, logs = (f"{number(fitted.low / unit, 2)}, {number(fitted.high / unit, 2)}" for unit in (1.0, LN10))
    details = fitted.details
    said = f"LLRs are bounded to {f'[{logs}] in log10 LR' if base_10 else f'[{nats}] (log10: {logs})'}"
    why = counted_for_bounds(fitted)
    said += f": {why}." if why else "."
    gap = ""
    if "gap" in details:
        low, high = map(as_number, as_list(details["gap"]))
        gap = gap_sentence((low, high), as_text(details["gap_of"]))
    return f"{said} {gap[0].upper()}{gap[1:]}." if gap else said


def counted_for_bounds(bounded: BoundedMap) -> str:
    """What the bounds of a map rest on, in words; empty where it is not known.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> counted_for_bounds(bound_sources(AffineMap(a=1.0, b=0.0), n_sources=(39, 780)))
    '39 target sources, 780 non-target sources'
    """
    kind, details = bounded.method.rpartition("+")[2], bounded.details
    if kind == "sources" and "target_sources" in details:
        n_target, n_nontarget = (as_number(details[f"n_{name}_sources"]) for name in ("target", "nontarget"))
        target, nontarget = (as_text(details[f"{name}_sources"]) for name in ("target", "nontarget"))
        return str(SourceCounts(n_target, n_nontarget, target, nontarget, details["exact"] is True))
    if kind in ("elub", "invariance") and "n_target" in details:
        method = "empirical lower and upper bounds" if kind == "elub" else "invariance verification"
        return f"{method}, {details['n_target']:,} target and {details['n_nontarget']:,} non-target trials"
    return "as given" if kind == "fixed" else ""


ONE = "trials of one speaker"


@dataclass(frozen=True)
class SourceCounts:
    """The number of independent sources of each class, and what was counted."""

    n_target: float
    n_nontarget: float
    target: str = "trials"
    """What was counted: "speakers", "trials", or "trials of one speaker", who says nothing of others; "groups
    of attack" where that column has them."""
    nontarget: str = "trials"
    """The same, or "pairs" of speakers."""
    exact: bool = True
    """Whether pairs were counted one by one; there may be too many, and their number is an estimate then."""
    passes: int = 0

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        of_targets, of_nontargets = (f"{_whole_count(n):,}" for n in (self.n_target, self.n_nontarget))
        return (
            f"{of_targets} {_words_for_sources(self.target, 'target', self.n_target)}, "
            f"{about}{of_nontargets} {_words_for_sources(self.nontarget, 'non-target', self.n_nontarget)}"
        )

    def details(self) -> dict[str, Json]:
        """Plain values for the details of a map."""
        return {
            "n_target_sources": _whole_count(self.n_target),
            "n_nontarget_sources": _whole_count(self.n_nontarget),
            "target_sources": self.target,
            "nontarget_sources": self.nontarget,
            "exact": self.exact,
            "passes": self.passes,
        }


def _words_for_sources(counted: str, name: str, n: float) -> str:
    many = "" if n == 1 else "s"
    if counted == "pairs":
        return f"pair{many} of speakers with {name} trials"
    if counted.startswith("groups of "):
        return f"group{many} ({counted.removeprefix('groups of ')}) with {name} trials"
    if counted == "speakers":
        return f"speaker{many} with {name} trials"
    kind, _, rest = counted.partition("s ")  # "trials of one speaker"
    return f"{name} {kind.removesuffix('s')}{many}" + (f" {rest}" if rest else "")


def _whole_count(n: float) -> float:
    return int(n) if n == int(n) else n  # trials may have weights


def count_sources(
    source: ScoreSource, speakers: str | Sequence[str] | None = None, *, moments: Moments | None = None
) -> SourceCounts:
    """Count the independent sources of each class, as far as the trials show them.

    Without ``speakers``, trials. With one column, the distinct speakers of the trials of each class. With two
    columns (the two sides), the distinct speakers of the target trials and the distinct unordered pairs of
    speakers of the non-target trials. A class of one speaker is counted by its trials, a class of one pair by
    the two speakers.

    The values of both columns are one set of names. Two values that share a target trial are one speaker, so
    columns with models and test segments may stand for speakers.

    Parameters
    ----------
    moments
        Those of the trials, if they are known already; saves a pass.

    Examples
    --------
    >>> sides = {"left": (["a", "b", "b"], ["a", "b", "a"]), "right": (["a", "b", "b"], ["b", "a", "c"])}
    >>> scores = Scores([2.0, 1.0, 1.5], [-1.0, 0.5, -3.0], sides)
    >>> print(count_sources(scores, ("left", "right")))  # a-b is seen twice
    2 speakers with target trials, 2 pairs of speakers with non-target trials
    >>> print(count_sources(scores, "left"))
    2 speakers with target trials, 2 speakers with non-target trials
    >>> print(count_sources(scores))
    3 target trials, 3 non-target trials
    """
    # a pass for moments is spared where the caller has them
    source, passes = as_source(source), 0
    if moments is None:
        moments, passes = source.reduce(Moments.of), 1
    trials = moments.target.count, moments.nontarget.count
    require_both_classes(*trials)
    if speakers is None:
        return SourceCounts(*trials, passes=passes)
    columns = names_of(speakers, "speakers")
    if len(columns) not in (1, 2):
        raise InputError(f"speakers are one or two columns (the two sides of a trial), got {speakers!r}")
    wide = source.with_columns(*columns)
    values = wide.reduce(lambda chunk: ValueCounts.of(chunk, *columns)).counts
    # a missing speaker would be counted as one person
    if None in values:
        raise InputError(f"a trial has no value in {' or '.join(columns)}: every trial needs its speakers")
    # one column cannot tell pairs; a class of a single speaker
    # says nothing of others, so its trials are counted
    of_class = [[value for value, n in values.items() if n[i] > 0] for i in (0, 1)]
    if len(columns) == 1:
        target, nontarget = (
            (len(seen), "speakers") if len(seen) > 1 else (n, ONE)
            for seen, n in zip(of_class, trials, strict=True)
        )
        return SourceCounts(target[0], nontarget[0], target[1], nontarget[1], passes=passes + 1)

    numbers = {value: i for i, value in enumerate(values)}

    def joined_by_targets(chunk: Scores) -> JoinedNumbers:
        return JoinedNumbers.of(len(values), *(numbered(chunk, name, 0, numbers) for name in columns))

    def pairs_of_sources(chunk: Scores) -> DistinctNumbers:
        left, right = (numbered(chunk, name, 1, numbers) for name in columns)
        # unordered: (p, q) and (q, p) are the same two people
        return DistinctNumbers.of(np.minimum(left, right) * len(values) + np.maximum(left, right))

    joined, pairs = wide.reduce(both(joined_by_targets, pairs_of_sources)).summaries
    # enrollment models and test segments of the same person share target trials; joined, they are speakers
    if joined.any_joined:  # the values are not speakers: those that share a target trial are one
        numbers = {value: int(joined.lowest[i]) for value, i in numbers.items()}  # pairs are of these now
        pairs, passes = wide.reduce(pairs_of_sources), passes + 1
    n_speakers = [len({numbers[value] for value in seen}) for seen in of_class]
    target = (n_speakers[0], "speakers") if n_speakers[0] > 1 else (trials[0], ONE)
    nontarget = (pairs.count, "pairs")
    # one pair is two speakers, which is more than one source
    if pairs.count == 1:
        nontarget = (n_speakers[1], "speakers") if n_speakers[1] > 1 else (trials[1], ONE)
    return SourceCounts(target[0], nontarget[0], target[1], nontarget[1], pairs.exact, passes + 2)


def bound_fixed(fitted: Map, low: float, high: float) -> BoundedMap:
    """Clip LLRs to given bounds, in nats: ``low <= 0 <= high``.

    Parameters
    ----------
    fitted
        The map whose LLRs are bounded.
    low
        Lower bound in nats, at most 0.
    high
        Upper bound in nats, at least 0.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> bound_fixed(AffineMap(a=1.0, b=0.0), -1.0, 2.0)([-3.0, 3.0])
    array([-1.,  2.])
    """
    of_kind(fitted, Map, "fitted")
    if not (isinstance(low, (int, float)) and isinstance(high, (int, float)) and low <= 0.0 <= high):
        raise InputError(f"bounds must be numbers with low <= 0 <= high, got {low!r} and {high!r}")
    return _bounded_by_method(fitted, float(low), float(high), "fixed", {}, {})


def bound_sources(
    fitted: Map,
    source: ScoreSource | int | None = None,
    *,
    speakers: str | Sequence[str] | None = None,
    n_sources: int | tuple[int, int] | None = None,
) -> BoundedMap:
    """Clip LLRs to what the independent sources of the training data can show.

    The upper limit is ``log(1 + non-target sources)``, the lower one ``-log(1 + target sources)``: had one
    more source been seen beyond all others, the rate of such sources would be about one in so many. A source
    of the non-targets is a pair of speakers, one of the targets a speaker, both only as far as the trials
    show them; without ``speakers`` every trial is a source (``count_sources``). One pass, and
    one to three more with ``speakers``.

    Parameters
    ----------
    fitted
        The map whose LLRs are bounded.
    source
        The training data; or the number of sources of each class.
    speakers
        The column, or the two columns, with the speakers of the two sides of a trial. With one column the
        sources of both classes are its values. A class of one speaker is counted by its trials.
    n_sources
        In place of ``source``: a number for both classes, or two, of target and of non-target sources.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> from llrkit.scores import Scores
    >>> line = AffineMap(a=1.0, b=0.0)
    >>> bounded = bound_sources(line, Scores([9.0] * 30, [-9.0] * 200))
    >>> round(bounded.low, 2), round(bounded.high, 2)  # -log(31), log(201)
    (-3.43, 5.3)
    >>> sides = {"left": (["a", "b"], ["a", "a", "b"]), "right": (["a", "b"], ["b", "c", "c"])}
    >>> scores = Scores([9.0, 8.0], [-7.0, -9.0, -8.0], sides)
    >>> bounded = bound_sources(line, scores, speakers=("left", "right"))
    >>> bounded.details["n_target_sources"], bounded.details["n_nontarget_sources"]
    (2, 3)
    >>> round(bound_sources(line, 99).high / LN10, 12)
    2.0
    """
    of_kind(fitted, Map, "fitted")
    if source is not None and not isinstance(source, ScoreSource):
        if n_sources is not None:
            raise InputError("give the training data or n_sources, not both")
        source, n_sources = None, source
    if source is None:
        if speakers is not None:
            raise InputError("speakers are counted in the training data: give these, not n_sources")
        pair = n_sources if isinstance(n_sources, (tuple, list)) else (n_sources, n_sources)
        if len(pair) != 2:
            raise InputError(f"n_sources must be one number or two (target, non-target), got {n_sources!r}")
        n_target, n_nontarget = (whole_number(n, 1, "n_sources") for n in pair)
        return bound_by_counts(fitted, SourceCounts(n_target, n_nontarget, "sources", "sources"), {})
    if n_sources is not None:
        raise InputError("give the training data or n_sources, not both")
    moments, gap = training_gap(fitted, source)
    counts = count_sources(source, speakers, moments=moments)
    return bound_by_counts(fitted, replace(counts, passes=counts.passes + 1), gap)


def bound_by_counts(fitted: Map, counts: SourceCounts, gap: Mapping[str, object]) -> BoundedMap:
    """Clip LLRs to ``-log(1 + target sources)`` and ``log(1 + non-target sources)``."""
    # log1p of the counts: no source beyond the bound was seen
    # among n, so one in n + 1 is the most that can be said
    low, high = -math.log1p(counts.n_target), math.log1p(counts.n_nontarget)
    return _bounded_by_method(fitted, low, high, "sources", {}, {**counts.details(), **gap})


def training_gap(fitted: Map, source: ScoreSource) -> tuple[Moments, dict[str, Json]]:
    """Moments of the training scores, and the details to keep if they separate the classes; one pass.

    With several systems, those of the LLRs.
    """
    of = "scores" if fitted.n_systems == 1 else "LLRs"
    # systems of a fusion may each separate the classes or not; the LLR is what matters
    trials = as_source(source) if fitted.n_systems == 1 else fitted.on(source)
    moments = trials.reduce(Moments.of)
    gap = gap_of_moments(moments)
    return moments, {} if gap is None else {"gap": list(gap), "gap_of": of}


def bound_elub(fitted: Map, source: ScoreSource, *, misleading: int = 1, step: float = 0.01) -> BoundedMap:
    """Clip LLRs to the empirical lower and upper bounds of Vergeer et al. (2016).

    At an LR threshold ``theta`` the cost is ``Pmiss + theta Pfa``, counted with ``misleading`` extra
    targets that are always rejected and as many extra non-targets that are always accepted: one set of
    extra trials for each threshold, never accumulated from one to the next. An LR of 1 for every trial
    costs ``min(1, theta)``. The bounds are the last thresholds, going out from 1, at which the system is
    not the more expensive; none is beyond the number of trials plus one. Here ``llr > log theta``
    accepts, as in LiR. Two passes over the LLRs of ``fitted`` for ``source``.

    Parameters
    ----------
    fitted
        The map whose LLRs are bounded.
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    misleading
        Number of misleading trials that are added in each class.
    step
        Distance of the thresholds in log10.

    References
    ----------
    Vergeer, van Es, de Jongh, Alberink & Stoel, Science & Justice 56 (2016) 482.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> from llrkit.scores import Scores
    >>> bounded = bound_elub(AffineMap(a=1.0, b=0.0), Scores([9.0] * 3, [-9.0] * 3))
    >>> bounded.details["low_log10"], bounded.details["high_log10"]  # log10(3) = 0.477
    (-0.47, 0.47)
    """
    of_kind(fitted, Map, "fitted")
    whole_number(misleading, 1, "misleading")
    step = positive(step, "step")
    llrs, moments, lowest, highest = _llrs_and_range(fitted, source)
    n_t, n_n = moments.target.count, moments.nontarget.count
    # extra misleading trials limit the bounds anyway; thresholds further out need not be tried
    lowest, highest = max(lowest, -math.log10(n_t + 1)), min(highest, math.log10(n_n + 1))
    steps = np.arange(min(0, math.floor(lowest / step)), max(0, math.floor(highest / step) + 1) + 1)
    # llr > t is llr >= the next number above t
    # nextafter turns >= into >, which accepts as LiR does
    counts = llrs.reduce(LossSums.at(thresholds=np.nextafter(steps * (step * LN10), np.inf)))
    theta = 10.0 ** (steps * step)
    # the extra trials are added at every threshold anew, not accumulated
    p_miss = (counts.n_miss + misleading) / (n_t + misleading)
    p_fa = (counts.n_fa + misleading) / (n_n + misleading)
    worse = np.minimum(1.0, theta) < p_miss + theta * p_fa
    # the innermost threshold at which the system is more expensive ends the range on each side
    low = int(np.max(steps[worse & (steps <= 0)] + 1, initial=steps[0]))
    high = int(np.min(steps[worse & (steps >= 0)] - 1, initial=steps[-1]))
    # rounded to well below a step, so multiples of the step print as such
    decimals = 2 - math.floor(math.log10(step))
    bounds = round(min(low, 0) * step, decimals), round(max(high, 0) * step, decimals)
    options = {"misleading": misleading, "step": step}
    return _bounded_by_trials(fitted, bounds, "elub", options, moments)


def bound_invariance(
    fitted: Map,
    source: ScoreSource,
    *,
    thresholds: npt.ArrayLike | None = None,
    step: float = 0.001,
    limit: float = 20.0,
) -> BoundedMap:
    """Clip LLRs to where they stop being no stronger than what the tails say (Alberink et al. 2025).

    For a calibrated LR, trials beyond a threshold are together at least as strong as the threshold. With
    ``p = (count + 1/2) / (n + 1)`` (Jeffreys), at thresholds ``t`` in log10:
    ``D_up(t) = log10 p(x >= t | target) - log10 p(x >= t | nontarget) - t`` and
    ``D_low(t) = t - log10 p(x < t | target) + log10 p(x < t | nontarget)``. The upper bound is the last
    threshold before ``D_up`` first is negative, the lower bound the first one after ``D_low`` last is;
    where neither ever is, the largest target and the smallest non-target LLR. Two passes.

    Parameters
    ----------
    fitted
        The map whose LLRs are bounded.
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    thresholds
        Candidates in log10, increasing; otherwise the multiples of ``step`` in the range of the LLRs.
    step
        Distance in nats between the LLRs that are tried.
    limit
        No threshold and no bound is further than this from 0, in log10.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> from llrkit.scores import Scores
    >>> bounded = bound_invariance(AffineMap(a=1.0, b=0.0), Scores([np.inf], [-np.inf]))
    >>> bounded.details["low_log10"], bounded.details["high_log10"]
    (-0.477, 0.477)
    """
    of_kind(fitted, Map, "fitted")
    step, limit = positive(step, "step"), positive(limit, "limit")
    llrs, moments, lowest, highest = _llrs_and_range(fitted, source)
    n_t, n_n = moments.target.count, moments.nontarget.count
    if thresholds is None:
        first = math.floor(min(0.0, max(lowest, -limit)) / step)
        last = math.ceil(max(0.0, min(highest, limit)) / step)
        # rounded so that multiples of a decimal step are exact decimals
        t = np.round(np.arange(first, last + 1) * step, 3 - math.floor(math.log10(step)))
    else:
        t = np.asarray(thresholds, dtype=np.float64)
        if t.ndim != 1 or len(t) == 0 or not np.isfinite(t).all() or np.any(np.diff(t) <= 0):
            raise InputError("thresholds must be finite, increasing and at least one")
    counts = llrs.reduce(LossSums.at(thresholds=t * LN10))
    # Jeffreys: half a trial on either side, so no logarithm of 0
    above_t, above_n = n_t - counts.n_miss + 0.5, counts.n_fa + 0.5
    level = math.log10(n_n + 1) - math.log10(n_t + 1)
    up = np.log10(above_t) - np.log10(above_n) + level - t
    low = t - np.log10(n_t + 1 - above_t) + np.log10(n_n + 1 - above_n) - level
    negative_up, negative_low = np.flatnonzero(up < 0), np.flatnonzero(low < 0)
    highest, lowest = highest_score(moments.target) / LN10, lowest_score(moments.nontarget) / LN10
    if len(negative_up):  # a first threshold that fails leaves nothing above 0
        highest = t[negative_up[0] - 1] if negative_up[0] > 0 else 0.0
    if len(negative_low):
        lowest = t[negative_low[-1] + 1] if negative_low[-1] + 1 < len(t) else 0.0
    # 0 must stay inside: a bound never turns evidence around
    bounds = float(np.clip(lowest, -limit, 0.0)), float(np.clip(highest, 0.0, limit))
    options = {"step": step, "limit": limit, "thresholds": "given" if thresholds is not None else "multiples"}
    return _bounded_by_trials(fitted, bounds, "invariance", options, moments)


def _llrs_and_range(fitted: Map, source: ScoreSource) -> tuple[ScoreSource, Moments, float, float]:
    """The LLRs of a map, their moments, and the lowest and the highest of them in log10."""
    llrs = fitted.on(source)
    moments = llrs.reduce(Moments.of)
    classes = moments.target, moments.nontarget
    require_both_classes(*(one.count for one in classes))
    return llrs, moments, min(map(lowest_score, classes)) / LN10, max(map(highest_score, classes)) / LN10


def _bounded_by_trials(
    fitted: Map, log10: tuple[float, float], how: str, options: Mapping[str, object], moments: Moments
) -> BoundedMap:
    counts = {"n_target": moments.target.count, "n_nontarget": moments.nontarget.count, "passes": 2}
    return _bounded_by_method(fitted, log10[0] * LN10, log10[1] * LN10, how, options, counts)


def _bounded_by_method(
    fitted: Map, low: float, high: float, how: str, options: Mapping[str, object], more: Mapping[str, object]
) -> BoundedMap:
    return BoundedMap(
        map=fitted, low=low, high=high, method=f"{fitted.method}+{how}", options=options,
        details={
            "bound": how, "low": low, "high": high,
            "low_log10": round(low / LN10, 12), "high_log10": round(high / LN10, 12), **more,
        },
        provenance=fitted.provenance,
    )  # fmt: skip


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
    # a class with one group (bona fide speech) keeps the count of its speakers or trials
    if n[0] > 1:
        counts = replace(counts, n_target=n[0], target=word)
    if n[1] > 1:
        counts = replace(counts, n_nontarget=n[1], nontarget=word)
    return replace(counts, passes=counts.passes + 1)


def bound_groups(
    fitted: Map, source: ScoreSource, groups: str | Sequence[str], speakers: str | Sequence[str] | None = None
) -> BoundedMap:
    """Clip LLRs to what the groups of the training data can show: ``log(1 + groups)`` of the other class.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
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
