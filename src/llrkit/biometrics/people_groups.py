"""Error rates of groups of people at one threshold, and how unequal they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import BoolArray, FloatArray, IntArray, seed_of
from llrkit.base.options import documented
from llrkit.base.text import Json, number, p_words
from llrkit.biometrics.verification import small_rate
from llrkit.core.counting import count_bins
from llrkit.core.groups import plain_value, positions_by_code
from llrkit.core.numerics import probability
from llrkit.core.summaries import Grouped
from llrkit.errors import EmptyClassError, InputError, TooFewTrialsError
from llrkit.metrics.discrimination import Curve, Range, threshold_for_false_alarms
from llrkit.results.result import text_table
from llrkit.scores import DerivedSource, Scores, ScoreSource, as_source
from llrkit.trust.differences import holm
from llrkit.trust.intervals import curve_rates
from llrkit.trust.speakers import Columns, clopper_pearson, find_speakers
from llrkit.verbs.options import DifferentialOptions

if TYPE_CHECKING:
    from llrkit.keywords import DifferentialKeywords


@dataclass(frozen=True)
class GroupRate:
    """Both error rates of a group at the threshold."""

    fmr: float
    fnmr: float
    fmr_interval: Range | None
    fnmr_interval: Range | None
    n_fmr: int
    n_fnmr: int
    """Non-mated and mated comparisons."""
    errors_fmr: int
    errors_fnmr: int
    effective_fmr: float
    effective_fnmr: float
    """Independent comparisons that know the rates as well."""


class Inequity(NamedTuple):
    """A measure of how unequal rates are, its interval, and what equal groups exceed rarely by chance."""

    value: float
    interval: Range
    by_chance: float


@dataclass(frozen=True, eq=False, repr=False)
class DifferentialPerformance(Curve):
    """The result of :func:`llrkit.biometrics.differential`."""

    columns: tuple[str, ...]
    """Columns that hold the groups."""
    threshold: float
    """The threshold of all groups."""
    factor: float
    """What scores of the file were multiplied by: -1 for distances."""
    groups: Mapping[str, GroupRate]
    """Error rates of each group."""
    measures: Mapping[str, Mapping[str, Inequity]]
    """By rate (``fmr``, ``fnmr``) and name of the measure."""
    joined: Mapping[str, float]
    """GARBE, FDR and the inequity rate, both rates counting half."""
    p_values: Mapping[str, Mapping[str, float]]
    """By rate and group: against all other groups, corrected for the number of groups (Holm)."""
    level: float
    """Confidence level of the intervals."""
    by_subject: bool
    """Whether subjects were taken into account."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "by": list(self.columns), "threshold": self.threshold / self.factor,
            "groups": {name: asdict(one) for name, one in self.groups.items()},
            "measures": {
                rate: {name: one._asdict() for name, one in own.items()}
                for rate, own in self.measures.items()
            },
            "joined": dict(self.joined),
            "p_values": {rate: dict(own) for rate, own in self.p_values.items()},
            "level": self.level, "by_subject": self.by_subject, "sentence": self.sentence,
        }  # fmt: skip

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows with one line for each group."""
        halves = ["non-mated", "FMR", "", "p (Holm)", "mated", "FNMR", "", "p (Holm)"]
        rows = [[name, *self._half(name, "fmr"), *self._half(name, "fnmr")] for name in self.groups]
        return [" | ".join(self.columns), *halves], rows

    def _half(self, name: str, rate: str) -> list[str]:
        one = self.groups[name]
        n, ends = getattr(one, f"n_{rate}"), getattr(one, f"{rate}_interval")
        if not n:
            return ["0", "-", "", "-"]
        p = self.p_values.get(rate, {}).get(name)
        shown = "-" if p is None else p_words(p).removeprefix("p ").removeprefix("= ")
        interval = f"[{small_rate(ends[0])}, {small_rate(ends[1])}]"
        return [f"{n:,}", small_rate(getattr(one, rate)), interval, shown]

    def measure_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows with one line for each measure."""
        header = ["", "FMR", "", "by chance", "FNMR", "", "by chance"]
        rows = []
        for name, (words, _) in MEASURES.items():
            row = [words]
            for rate in ("fmr", "fnmr"):
                one = self.measures.get(rate, {}).get(name)
                if one is None:
                    row += ["-", "", "-"]
                    continue
                low, high = map(number, one.interval)
                row += [number(one.value), f"[{low}, {high}]", number(one.by_chance)]
            rows.append(row)
        return header, rows

    @property
    def sentence(self) -> str:
        """Which groups differ, in words."""
        alpha = 1.0 - self.level
        told = []
        for rate, word in (("fmr", "FMR"), ("fnmr", "FNMR")):
            if rate not in self.p_values:
                told.append(f"{word}: only one group has comparisons")
                continue
            differ = [name for name, p in self.p_values[rate].items() if p < alpha]
            ratio = self.measures[rate]["max_over_min"]
            worst = max((n for n in self.p_values[rate]), key=lambda name: getattr(self.groups[name], rate))
            what = f"differs for {', '.join(differ)}" if differ else "no difference shown"
            chance = f"equal groups reach {number(ratio.by_chance, 2)} by chance"
            told.append(f"{word}: {what}; highest for {worst}, max / min {number(ratio.value, 2)} ({chance})")
        how = "" if self.by_subject else ", if comparisons are independent"
        return f"{'. '.join(told)} (level {100 * alpha:g} %, Holm's correction{how})."

    def __repr__(self) -> str:
        return "\n".join([text_table(*self.table(), left=()), "", self.sentence])


BETWEEN = " | "
"""Between the groups of the two sides of a comparison, where they differ."""


def positions_by_group(chunk: Scores, columns: tuple[str, ...], class_index: int) -> dict[str, IntArray]:
    """Where the comparisons of each group are: of a value, or of the values of both sides where they differ.

    Examples
    --------
    >>> chunk = Scores([1.0, 2.0], [0.0, 0.5], {"a": (["f", "m"], ["f", "m"]), "b": (["f", "m"], ["m", "f"])})
    >>> list(positions_by_group(chunk, ("a", "b"), 0)), list(positions_by_group(chunk, ("a", "b"), 1))
    (['f', 'm'], ['f | m'])
    """
    codes, names = [], []
    for column in columns:
        distinct, code = np.unique(chunk.columns[column][class_index], return_inverse=True)
        words = chunk.categories.get(column)
        values = distinct.tolist() if words is None else [words[value] for value in distinct]
        names.append([str(plain_value(value)) for value in values])
        codes.append(code)
    # one column is as good as two that agree
    both = codes[0] * len(names[-1]) + codes[-1]
    groups: dict[str, list[IntArray]] = {}
    for value, own in positions_by_code(both).items():
        pair = names[0][value // len(names[-1])], names[-1][value % len(names[-1])]
        # Sorted, so that f | m and m | f are one group: a comparison has no direction here.
        group = pair[0] if pair[0] == pair[1] else BETWEEN.join(sorted(pair))
        groups.setdefault(group, []).append(own)
    return {group: np.sort(np.concatenate(own)) for group, own in groups.items()}


def group_errors(threshold: float, columns: tuple[str, ...]) -> Callable[[Scores], Grouped[str, FloatArray]]:
    """A summarizer by group: mated comparisons, false non-matches, non-mated comparisons, false matches."""

    def make(chunk: Scores) -> Grouped[str, FloatArray]:
        def counted(wrong: BoolArray, class_index: int) -> dict[str, tuple[int, int]]:
            places = positions_by_group(chunk, columns, class_index)
            return {group: (len(own), int(np.count_nonzero(wrong[own]))) for group, own in places.items()}

        # A match is a score at or above the threshold.
        mated, nonmated = counted(chunk.target < threshold, 0), counted(chunk.nontarget >= threshold, 1)
        none = 0, 0
        # Groups that have comparisons of one class only are kept.
        rows = {group: (*mated.get(group, none), *nonmated.get(group, none)) for group in mated | nonmated}
        return Grouped({group: np.array(row, dtype=np.float64) for group, row in rows.items()})

    return make


def worst_ratio(rates: npt.ArrayLike) -> FloatArray:
    """Largest over smallest rate; along the last axis. Infinite if only some groups have errors, 1 if none.

    Examples
    --------
    >>> float(worst_ratio([0.01, 0.02, 0.04])), float(worst_ratio([0.0, 0.1])), float(worst_ratio([0.0, 0.0]))
    (4.0, inf, 1.0)
    """
    x = np.asarray(rates, dtype=np.float64)
    return _ratio_of_rates(x.max(axis=-1), x.min(axis=-1))


def over_geometric_mean(rates: npt.ArrayLike) -> FloatArray:
    """Largest rate over the geometric mean of all, the inequity measure of NIST FRTE (NIST IR 8429).

    Examples
    --------
    >>> float(over_geometric_mean([0.01, 0.02, 0.04]))
    2.0
    """
    x = np.asarray(rates, dtype=np.float64)
    with np.errstate(divide="ignore"):
        mean = np.exp(np.log(x).mean(axis=-1))
    return _ratio_of_rates(x.max(axis=-1), mean)


def gini(rates: npt.ArrayLike) -> FloatArray:
    """Gini coefficient with the correction ``n / (n - 1)`` for few groups: 0 for equal rates, at most 1.

    ``n / (n - 1) sum_ij |x_i - x_j| / (2 n^2 mean)``, as in GARBE (Howard et al. 2022).

    Examples
    --------
    >>> round(float(gini([0.01, 0.01, 0.01])), 12), round(float(gini([0.0, 0.0, 0.3])), 12)
    (0.0, 1.0)
    """
    x = np.asarray(rates, dtype=np.float64)
    n = x.shape[-1]
    # All pairs, counted twice; the 2 in the denominator makes up for it.
    apart = np.abs(x[..., :, None] - x[..., None, :]).sum(axis=(-2, -1))
    mean = x.mean(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = n / (n - 1.0) * apart / (2.0 * n**2 * mean)
    return np.asarray(np.where(mean > 0.0, value, 0.0))


def spread(rates: npt.ArrayLike) -> FloatArray:
    """Largest less smallest rate, of which the fairness discrepancy rate (FDR) is made.

    Examples
    --------
    >>> round(float(spread([0.01, 0.02, 0.04])), 12)
    0.03
    """
    x = np.asarray(rates, dtype=np.float64)
    return np.asarray(x.max(axis=-1) - x.min(axis=-1))


def _ratio_of_rates(top: FloatArray, bottom: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = top / bottom
    # No errors in any group: all rates are equal.
    return np.asarray(np.where(top == 0.0, 1.0, ratio))


DRAWS = 4000
MEASURES: Mapping[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {
    "max_over_min": ("max / min", worst_ratio),
    "max_over_geometric_mean": ("max / geometric mean", over_geometric_mean),
    "gini": ("Gini", gini),
    "range": ("max - min", spread),
}
"""Each measure in words, and the function that makes it of rates."""


@documented(DifferentialOptions, without=("by",))
def differential(
    source: ScoreSource,
    by: Columns | None = None,
    *,
    options: DifferentialOptions | None = None,
    **changes: Unpack[DifferentialKeywords],
) -> DifferentialPerformance:
    """FMR and FNMR of each group of people at one threshold for all, and how unequal they are.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    by
        The column with the group of a comparison, or the two columns with the groups of its two sides; a
        comparison between two groups is then a group of its own (``f | m``).
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

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
    from scipy.stats import fisher_exact  # takes longer to import than all of llrkit

    asked = DifferentialOptions.of(options, changes if by is None else {**changes, "by": by})
    seed, columns, threshold, level = seed_of(asked.rng), asked.by, asked.threshold, asked.level
    probability(level, "level")
    source = as_source(source)
    if threshold is None:
        # One threshold for all groups, as in use.
        fmr = 1e-3 if asked.fmr is None else asked.fmr
        threshold = threshold_for_false_alarms(source, count_bins(source), fmr)
    counts = source.with_columns(*columns).reduce(group_errors(threshold, columns)).groups
    if len(counts) < 2:
        raise InputError(f"there is only one group in {' and '.join(columns)}; at least 2 are needed")
    groups = {}
    for group in sorted(counts):
        effects = 1.0, 1.0
        if asked.speakers:

            def of_group(chunk: Scores, group: str = group) -> Scores:
                none = np.empty(0, dtype=np.intp)
                return chunk.select(*(positions_by_group(chunk, columns, i).get(group, none) for i in (0, 1)))

            own = DerivedSource(source, of_group, columns)
            # A group with too few subjects or errors is taken as independent comparisons.
            with suppress(TooFewTrialsError, EmptyClassError, ZeroDivisionError):
                rates = curve_rates(own, [threshold], find_speakers(own, asked.speakers), 0.95)
                effects = rates.design_effect(0, 0), rates.design_effect(1, 0)
        groups[group] = _group_rate(counts[group], effects, level)
    rng = np.random.default_rng(seed)
    measures: dict[str, dict[str, Inequity]] = {}
    p_values, tail = {}, 0.5 - 0.5 * level
    for rate in ("fmr", "fnmr"):
        have = {name: one for name, one in groups.items() if getattr(one, f"n_{rate}") > 0}
        if len(have) < 2:
            continue
        values, sizes = (
            np.array([getattr(one, name) for one in have.values()], dtype=np.float64)
            for name in (rate, f"effective_{rate}")
        )
        # Effective numbers are fractions, and binomial draws need whole ones.
        errors, whole = values * sizes, np.maximum(np.round(sizes), 1).astype(np.int64)
        # Jeffreys' prior (1/2, 1/2): rates of no errors are not drawn as exactly 0.
        drawn = rng.beta(errors + 0.5, sizes - errors + 0.5, (DRAWS, len(have)))
        # What chance makes of groups that all have the rate of the whole.
        equal = rng.binomial(whole, errors.sum() / sizes.sum(), (DRAWS, len(have))) / whole
        measures[rate] = {}
        for name, (_, make) in MEASURES.items():
            low, high = np.quantile(make(drawn), [tail, 1.0 - tail]).tolist()
            # "lower" takes a value that was drawn: ratios may be infinite, and a mean of two would be too.
            by_chance = float(np.quantile(make(equal), level, method="lower"))
            # a group without errors: no rate above 0, however small, is known to be too small
            high = math.inf if math.isinf(value := float(make(values))) else high
            measures[rate][name] = Inequity(value, (low, high), by_chance)
        # Each group against all others, by effective numbers; never more errors than there are comparisons.
        wrong = np.minimum(np.round(errors).astype(int), whole)
        right = whole - wrong
        p = [
            float(fisher_exact(np.array([[k, m], [wrong.sum() - k, right.sum() - m]]))[1])
            for k, m in zip(wrong, right, strict=True)
        ]
        p_values[rate] = dict(zip(have, holm(p), strict=True))
    return DifferentialPerformance(
        columns=columns,
        threshold=threshold,
        factor=source.roles.factor,
        groups=MappingProxyType(groups),
        measures=MappingProxyType(measures),
        joined=MappingProxyType(_joined_measures(measures)),
        p_values=MappingProxyType(p_values),
        level=level,
        by_subject=bool(asked.speakers),
    )


def _group_rate(counts: FloatArray, effects: tuple[float, float], level: float) -> GroupRate:
    def rate(errors: float, n: float) -> float:
        return errors / n if n else math.nan

    def interval(errors: float, n: float, effect: float) -> Range | None:
        """Clopper & Pearson's interval of an effective number of comparisons."""
        # Both numbers are divided by the design effect, so that the rate stays what it is.
        size = max(round(n / effect), 1)
        return clopper_pearson(min(round(errors / effect), size), size, level) if n else None

    n_mated, false_nonmatches, n_nonmated, false_matches = counts.tolist()
    mated, nonmated = (false_nonmatches, n_mated), (false_matches, n_nonmated)
    return GroupRate(
        n_fnmr=round(mated[1]), errors_fnmr=round(mated[0]), effective_fnmr=mated[1] / effects[0],
        fnmr=rate(*mated), fnmr_interval=interval(*mated, effects[0]),
        n_fmr=round(nonmated[1]), errors_fmr=round(nonmated[0]), effective_fmr=nonmated[1] / effects[1],
        fmr=rate(*nonmated), fmr_interval=interval(*nonmated, effects[1]),
    )  # fmt: skip


def _joined_measures(measures: dict[str, dict[str, Inequity]]) -> dict[str, float]:
    """Measures of both rates in one number, each counting half."""
    if len(measures) < 2:
        return {}
    fmr, fnmr = measures["fmr"], measures["fnmr"]
    return {
        "garbe": 0.5 * (fmr["gini"].value + fnmr["gini"].value),
        # FDR is one less the weighted ranges: 1 for equal groups.
        "fdr": 1.0 - 0.5 * (fmr["range"].value + fnmr["range"].value),
        # The inequity rate multiplies ratios, so its mean is geometric.
        "inequity_rate": math.sqrt(fmr["max_over_min"].value * fnmr["max_over_min"].value),
    }
