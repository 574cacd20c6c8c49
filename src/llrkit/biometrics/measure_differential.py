"""Differential performance (ISO/IEC 19795-10): error rates of groups of people at one threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from llrkit._arguments import number
from llrkit._arrays import FloatArray
from llrkit._random import RNG, seed_of
from llrkit.biometrics import inequity
from llrkit.biometrics.differential_result import DifferentialPerformance, GroupRate, Inequity
from llrkit.biometrics.group_errors import GroupErrors, trials_of_group
from llrkit.core.counting import count_bins
from llrkit.core.elementary_functions import probability
from llrkit.errors import EmptyClassError, InputError, TooFewTrialsError
from llrkit.metrics.threshold_choice import threshold_for_false_alarms
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source
from llrkit.trust.differences.compare_many_systems import holm
from llrkit.trust.intervals.curve_rates import curve_rates
from llrkit.trust.intervals.interval_formulas import clopper_pearson
from llrkit.trust.intervals.speakers import Columns, find_speakers

DRAWS = 4000
MEASURES: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {
        "max_over_min": inequity.worst_ratio,
        "max_over_geometric_mean": inequity.over_geometric_mean,
        "gini": inequity.gini,
        "range": inequity.spread,
    }
)


def differential(
    source: ScoreSource,
    by: Columns,
    *,
    fmr: float = 1e-3,
    threshold: float | None = None,
    speakers: Columns | None = None,
    level: float = 0.95,
    rng: RNG = 0,
) -> DifferentialPerformance:
    """FMR and FNMR of each group of people at one threshold for all, and how unequal they are.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    by
        The column with the group of a comparison, or the two columns with the groups of its two sides; a
        comparison between two groups is then a group of its own (``f | m``).
    fmr, threshold
        The threshold for all groups: the lowest one with at most this FMR over all comparisons, or a number
        fixed elsewhere.
    speakers
        The column, or the two columns, with the subjects of the two sides; without them comparisons are taken
        as independent.
    level, rng
        Of the intervals and of the draws behind those of the measures.

    Returns
    -------
    DifferentialPerformance
        Rates with intervals by group; max / min, max / geometric mean (NIST IR 8429), the Gini coefficient
        and the range of each rate with intervals and what chance alone makes of equal groups; GARBE, FDR
        and the inequity rate, which join both rates; p-values of each group against the others, with
        Holm's correction.

    Examples
    --------
    >>> import llrkit as lk
    >>> rng = np.random.default_rng(1)
    >>> group, mated = rng.choice(["f", "m"], 40000), rng.random(40000) < 0.2
    >>> shift = np.where((group == "f") & ~mated, 0.8, 0.0)
    >>> trials = lk.Trials({"score": np.where(mated, 4.0, 0.0) + shift + rng.normal(size=40000),
    ...                     "label": mated, "sex": group})
    >>> result = differential(trials, "sex", fmr=0.01)
    >>> {group: round(rate.fmr, 4) for group, rate in result.groups.items()}
    {'f': 0.0177, 'm': 0.0021}
    >>> result.p_values["fmr"]["f"] < 0.001, result.p_values["fnmr"]["f"] > 0.05
    (True, True)
    """
    seed = seed_of(rng)
    columns = (by,) if isinstance(by, str) else tuple(by)
    if len(columns) not in (1, 2):
        raise InputError(f"groups are in one column, or in two for the two sides; got {list(columns)}")
    probability(level, "level")
    source = as_source(source)
    if threshold is None:
        if not 0.0 <= fmr <= 1.0:
            raise InputError(f"an FMR is between 0 and 1, got {fmr!r}")
        threshold = threshold_for_false_alarms(source, count_bins(source), fmr)
    number(threshold, "threshold")
    counts = source.with_columns(*columns).reduce(GroupErrors.at(threshold, columns)).counts
    if len(counts) < 2:
        raise InputError(f"there is only one group in {' and '.join(columns)}; at least 2 are needed")
    effects = {
        group: _design_effects_of_group(source, columns, group, threshold, speakers)
        if speakers is not None
        else (1.0, 1.0)
        for group in counts
    }
    groups = {
        group: _group_rate(counts[group], effects[group], level) for group in sorted(counts)
    }  # fmt: skip
    rng = np.random.default_rng(seed)
    measures, p_values, drawn = {}, {}, {}
    for rate in ("fmr", "fnmr"):
        have = {name: one for name, one in groups.items() if getattr(one, f"n_{rate}") > 0}
        if len(have) < 2:
            continue
        errors, sizes = (
            np.array([getattr(one, f"{kind}_{rate}") for one in have.values()], dtype=np.float64)
            for kind in ("effective_errors", "effective")
        )
        drawn[rate] = rng.beta(errors + 0.5, sizes - errors + 0.5, (DRAWS, len(have)))
        equal = rng.binomial(np.maximum(np.round(sizes), 1).astype(np.int64), errors.sum() / sizes.sum(),
                             (DRAWS, len(have))) / np.maximum(np.round(sizes), 1)  # fmt: skip
        values = np.array([getattr(one, rate) for one in have.values()])
        measures[rate] = {
            name: _inequity_of_rates(make, values, drawn[rate], equal, level)
            for name, make in MEASURES.items()
        }
        p_values[rate] = _tests_of_groups(list(have), errors, sizes)
    return DifferentialPerformance(
        columns=columns,
        threshold=threshold,
        factor=source.roles.factor,
        groups=MappingProxyType(groups),
        measures=MappingProxyType(measures),
        joined=MappingProxyType(_joined_measures(measures)),
        p_values=MappingProxyType(p_values),
        level=level,
        by_subject=speakers is not None,
    )


def _design_effects_of_group(
    source: ScoreSource, columns: tuple[str, ...], group: str, threshold: float, speakers: Columns
) -> tuple[float, float]:
    """Design effects of FNMR and FMR in a group: what sharing subjects multiplies the variance by."""
    own = trials_of_group(source, columns, group)
    try:
        rates = curve_rates(own, [threshold], find_speakers(own, speakers), 0.95)
    except (TooFewTrialsError, EmptyClassError, ZeroDivisionError):
        return 1.0, 1.0
    effects = []
    for i, one in enumerate((rates.miss, rates.fa)):
        rate, n = float(one.rate[0]), rates.n[i]
        if not n or not 0.0 < rate < 1.0 or rates.by_speaker is None:
            effects.append(1.0)
            continue
        variance = float(rates.by_speaker[i].standard_error[0]) ** 2
        variance *= float(rates.counted_once[0]) if i == 1 else 1.0
        effect = variance * n / (rate * (1.0 - rate))
        effects.append(max(1.0, effect) if math.isfinite(effect) else 1.0)
    return effects[0], effects[1]


def _group_rate(
    counts: tuple[float, float, float, float], effects: tuple[float, float], level: float
) -> GroupRate:
    n_fnmr, errors_fnmr, n_fmr, errors_fmr = counts
    of_fnmr, of_fmr = effects

    def rate(errors: float, n: float) -> float:
        return errors / n if n else math.nan

    def interval(errors: float, n: float, effect: float) -> tuple[float, float] | None:
        return _exact_interval_of_group(errors / effect, n / effect, level) if n else None

    return GroupRate(
        n_fnmr=round(n_fnmr), errors_fnmr=round(errors_fnmr), effective_fnmr=n_fnmr / of_fnmr,
        fnmr=rate(errors_fnmr, n_fnmr), fnmr_interval=interval(errors_fnmr, n_fnmr, of_fnmr),
        n_fmr=round(n_fmr), errors_fmr=round(errors_fmr), effective_fmr=n_fmr / of_fmr,
        fmr=rate(errors_fmr, n_fmr), fmr_interval=interval(errors_fmr, n_fmr, of_fmr),
    )  # fmt: skip


def _exact_interval_of_group(errors: float, n: float, level: float) -> tuple[float, float]:
    """Clopper & Pearson's interval of an effective number of comparisons."""
    size = max(round(n), 1)
    return clopper_pearson(min(round(errors), size), size, level)


def _inequity_of_rates(
    make: Callable[[FloatArray], FloatArray], values: FloatArray, drawn: FloatArray, equal: FloatArray,
    level: float,
) -> Inequity:  # fmt: skip
    tail = 0.5 - 0.5 * level
    low, high = np.quantile(make(drawn), [tail, 1.0 - tail])
    by_chance = float(np.quantile(make(equal), level, method="lower"))
    value = float(make(values))
    # a group without errors: no rate above 0, however small, is known to be too small
    return Inequity(value, (float(low), math.inf if math.isinf(value) else float(high)), by_chance)


def _tests_of_groups(names: list[str], errors: FloatArray, sizes: FloatArray) -> dict[str, float]:
    """Each group against all others (Fisher's exact test), corrected for the number of groups."""
    from scipy.stats import fisher_exact  # takes longer to import than all of llrkit

    p = []
    wrong, n = np.round(errors).astype(int), np.maximum(np.round(sizes), 1).astype(int)
    wrong = np.minimum(wrong, n)
    for i in range(len(names)):
        rest = int(wrong.sum() - wrong[i]), int(n.sum() - n[i])
        table = [[wrong[i], n[i] - wrong[i]], [rest[0], rest[1] - rest[0]]]
        p.append(float(fisher_exact(np.array(table))[1]))
    return dict(zip(names, holm(p), strict=True))


def _joined_measures(measures: dict[str, dict[str, Inequity]]) -> dict[str, float]:
    """Measures of both rates in one number, each counting half."""
    if len(measures) < 2:
        return {}
    fmr, fnmr = measures["fmr"], measures["fnmr"]
    return {
        "garbe": 0.5 * (fmr["gini"].value + fnmr["gini"].value),
        "fdr": 1.0 - 0.5 * (fmr["range"].value + fnmr["range"].value),
        "inequity_rate": math.sqrt(fmr["max_over_min"].value * fnmr["max_over_min"].value),
    }
