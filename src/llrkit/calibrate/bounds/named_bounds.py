"""Bounds by name, as users type them, and what they rest on in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llrkit._arguments import takes
from llrkit._format import not_among, number
from llrkit._llr_units import LN10
from llrkit._plain import as_list, as_number, as_text
from llrkit._warn import warn_caller
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.bounds.bounding_methods import (
    bound_elub,
    bound_fixed,
    bound_invariance,
    bound_sources,
    training_gap,
)
from llrkit.calibrate.bounds.source_counts import SourceCounts
from llrkit.calibrate.composed_map import ComposedMap
from llrkit.calibrate.few_training_trials import few_to_train
from llrkit.calibrate.gap_between_classes import gap_sentence
from llrkit.calibrate.maps import Map
from llrkit.calibrate.option_checks import names_of
from llrkit.calibrate.poor_fit_guard import is_judged
from llrkit.calibrate.training_densities import with_group_spread
from llrkit.errors import InputError, NoOverlapWarning, ShapeWarning, UnknownNameError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source

BOUNDS = ("none", "elub", "invariance", "sources", "fixed:LOW,HIGH")
"""What :func:`bound_map` accepts."""

COUNTING = frozenset({"pav", "lineup"})
"""Methods whose LLRs rest on counts of trials, which bound them."""
OWN_SHAPES = frozenset({"gaussian", "student_t", "nig"})
"""Methods that give each class a density with a spread of its own, from its trials alone.

In 8 sets of 9 Gaussian targets and 300 non-targets, their strongest LLRs on these trials were 40, 41 and
1494; that of "logistic" was 19, and that of "bayes", which allows for few trials, 8.6.
"""


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
        low = high = float("nan")
    if not low <= 0.0 <= high:
        raise InputError(
            f"bound {bound!r}: write fixed:LOW,HIGH with two LLRs in nats (natural logarithms) and "
            "LOW <= 0 <= HIGH, such as fixed:-4.6,6.9"
        )
    return name, (low, high)


@takes(fitted=Map)
def bound_map(
    fitted: Map,
    source: ScoreSource,
    bound: str = "sources",
    *,
    speakers: str | Sequence[str] | None = None,
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

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(2, 1, 30), rng.normal(0, 1, 200))
    >>> bounded = lk.bound_map(lk.fit_cmlg(dev), dev)
    >>> bounded([-9.0, 0.9, 9.0]).round(2)
    array([-3.43, -0.13,  5.3 ])
    >>> print(lk.bound_sentence(bounded))
    LLRs are bounded to [-3.43, 5.30] (log10: -1.49, 2.30): 30 target trials, 200 non-target trials.
    """
    kind, limits = parse_bound(bound)
    if speakers is not None and kind != "sources":
        raise InputError(f"bound {kind!r} does not use speakers, only 'sources' does; leave the speakers out")
    if kind == "none":
        _warn_of_gap(fitted)
        _warn_of_few(fitted)
        return fitted
    if kind == "sources":
        if speakers is not None:  # by which a shift is told from other speakers
            fitted = with_group_spread(fitted, as_source(source), names_of(speakers, "speakers"))
        return bound_sources(fitted, as_source(source), speakers=speakers)
    if limits is not None:
        bounded = bound_fixed(fitted, *limits)
    else:
        bounded = (bound_elub if kind == "elub" else bound_invariance)(fitted, source)
    _, gap = training_gap(fitted, source)
    details = {**bounded.details, **gap, "passes": as_number(bounded.details.get("passes", 0)) + 1}
    return replace(bounded, details=details)


def _warn_of_gap(fitted: Map) -> None:
    """Nothing limits the LLRs of a map without bounds where its training scores do not overlap.

    Of reversed scores a fit warns already, fits that count trials have no more to say than these, and who
    asks for shrinkage knows.
    """
    known = fitted.provenance
    shrunk = any(fitted.options.get(name) for name in ("regularization", "robust"))
    if "gap" not in known or fitted.has_bounds or fitted.method in COUNTING or shrunk or not is_judged():
        return
    low, high = map(as_number, as_list(known["gap"]))
    if low < high and as_number(known["mean_target"]) > as_number(known["mean_nontarget"]):
        warn_caller(gap_sentence((low, high), bounded=False), NoOverlapWarning)


def _warn_of_few(fitted: Map) -> None:
    """Nothing limits the LLRs of two densities whose shapes few trials decide."""
    if fitted.method not in OWN_SHAPES:
        return
    from llrkit.calibrate.densities.density_ratio import RatioMap  # which most maps need not load

    known = fitted.provenance
    # a fusion by "gaussian" is linear, with one covariance for both classes
    if not isinstance(fitted, RatioMap) or fitted.has_bounds or "n_target" not in known or not is_judged():
        return
    few = few_to_train(int(as_number(known["n_target"])), int(as_number(known["n_nontarget"])))
    if few:
        warn_caller(few, ShapeWarning)


@takes(fitted=Map)
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
    >>> from llrkit.calibrate.maps import AffineMap
    >>> line = AffineMap(a=1.0, b=0.0)
    >>> print(bound_sentence(bound_sources(line, n_sources=(39, 780))))
    LLRs are bounded to [-3.69, 6.66] (log10: -1.60, 2.89): 39 target sources, 780 non-target sources.
    >>> bound_sentence(line)
    'LLRs are not bounded.'
    """
    while isinstance(fitted, ComposedMap):
        fitted = fitted.second
    if not isinstance(fitted, BoundedMap):
        return "LLRs are not bounded."
    nats, logs = (f"{number(fitted.low / unit, 2)}, {number(fitted.high / unit, 2)}" for unit in (1.0, LN10))
    details = fitted.details
    said = (
        f"LLRs are bounded to [{logs}] in log10 LR"
        if base_10
        else f"LLRs are bounded to [{nats}] (log10: {logs})"
    )
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
    >>> from llrkit.calibrate.maps import AffineMap
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
