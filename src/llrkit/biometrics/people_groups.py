"""Error rates of groups of people, and how unequal they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import RNG, Array, FloatArray, IntArray, real_number, seed_of
from llrkit.base.text import Json, number, p_words
from llrkit.biometrics.verification import small_rate
from llrkit.core.counting import count_bins
from llrkit.core.functions import probability
from llrkit.core.groups import plain_value, positions_by_code
from llrkit.core.summaries import SummaryBase
from llrkit.errors import EmptyClassError, InputError, TooFewTrialsError
from llrkit.metrics.discrimination import Curve, Range, threshold_for_false_alarms
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import DerivedSource, as_source
from llrkit.trust.differences import holm
from llrkit.trust.intervals import curve_rates
from llrkit.trust.speakers import Columns, clopper_pearson, find_speakers

WORDS = {
    "max_over_min": "max / min",
    "max_over_geometric_mean": "max / geometric mean",
    "gini": "Gini",
    "range": "max - min",
}


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

    @property
    def effective_errors_fmr(self) -> float:
        """Errors among so many independent comparisons."""
        return self.fmr * self.effective_fmr

    @property
    def effective_errors_fnmr(self) -> float:
        """The same of false non-matches."""
        return self.fnmr * self.effective_fnmr


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
        header = [
            " | ".join(self.columns),
            "non-mated",
            "FMR",
            "",
            "p (Holm)",
            "mated",
            "FNMR",
            "",
            "p (Holm)",
        ]
        return header, [[name, *self._half(name, "fmr"), *self._half(name, "fnmr")] for name in self.groups]

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
        for name, words in WORDS.items():
            row = [words]
            for rate in ("fmr", "fnmr"):
                one = self.measures.get(rate, {}).get(name)
                low, high = ("", "") if one is None else map(number, one.interval)
                row += ["-", "", "-"] if one is None else [
                    number(one.value), f"[{low}, {high}]", number(one.by_chance)
                ]  # fmt: skip
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
        header, rows = self.table()
        widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
                 for line in (header, *rows)]  # fmt: skip
        return "\n".join([*lines, "", self.sentence])


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
    sides = [np.unique(chunk.columns[name][class_index], return_inverse=True) for name in columns]
    names = [_group_names(chunk, name, distinct) for name, (distinct, _) in zip(columns, sides, strict=True)]
    code = sides[0][1] if len(sides) == 1 else sides[0][1] * len(names[1]) + sides[1][1]
    groups: dict[str, list[IntArray]] = {}
    for value, own in positions_by_code(code).items():
        if len(sides) == 1:
            group = names[0][value]
        else:
            pair = names[0][value // len(names[1])], names[1][value % len(names[1])]
            group = pair[0] if pair[0] == pair[1] else BETWEEN.join(sorted(pair))
        groups.setdefault(group, []).append(own)
    return {group: np.sort(np.concatenate(own)) for group, own in groups.items()}


def _group_names(chunk: Scores, column: str, codes: Array) -> list[str]:
    names = chunk.categories.get(column)
    return [str(plain_value(code if names is None else names[code])) for code in codes.tolist()]


def trials_of_group(source: ScoreSource, columns: tuple[str, ...], group: str) -> ScoreSource:
    """The comparisons of one group."""

    def chosen(chunk: Scores) -> Scores:
        masks = []
        for i, n in enumerate((len(chunk.target), len(chunk.nontarget))):
            mask = np.zeros(n, dtype=bool)
            mask[positions_by_group(chunk, columns, i).get(group, np.empty(0, dtype=np.intp))] = True
            masks.append(mask)
        return chunk.select(*masks)

    return DerivedSource(source, chosen, columns)


@dataclass(frozen=True, eq=False)
class GroupErrors(SummaryBase):
    """By group: mated comparisons, false non-matches, non-mated comparisons, false matches."""

    counts: dict[str, tuple[float, float, float, float]]

    @classmethod
    def at(cls, threshold: float, columns: tuple[str, ...]) -> Callable[[Scores], GroupErrors]:
        """A summarizer."""

        def make(chunk: Scores) -> GroupErrors:
            counts: dict[str, list[float]] = {}
            wrong = (chunk.target < threshold, chunk.nontarget >= threshold)
            for i in (0, 1):
                for group, own in positions_by_group(chunk, columns, i).items():
                    row = counts.setdefault(group, [0, 0, 0, 0])
                    row[2 * i] += len(own)
                    row[2 * i + 1] += int(np.count_nonzero(wrong[i][own]))
            return cls({group: (n[0], n[1], n[2], n[3]) for group, n in counts.items()})

        return make

    def __add__(self, other: GroupErrors) -> GroupErrors:
        merged = dict(self.counts)
        for group, more in other.counts.items():
            have = merged.get(group, (0.0, 0.0, 0.0, 0.0))
            merged[group] = (have[0] + more[0], have[1] + more[1], have[2] + more[2], have[3] + more[3])
        return GroupErrors(merged)

    def __mul__(self, weight: float) -> GroupErrors:
        return GroupErrors({g: (a * weight, b * weight, c * weight, d * weight)
                            for g, (a, b, c, d) in self.counts.items()})  # fmt: skip


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
    return np.asarray(np.where(top == 0.0, 1.0, ratio))


DRAWS = 4000
MEASURES: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {
        "max_over_min": worst_ratio,
        "max_over_geometric_mean": over_geometric_mean,
        "gini": gini,
        "range": spread,
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
    real_number(threshold, "threshold")
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
