"""evaluate(): all numbers of a set of trials, with intervals if asked for; the result, and what it says."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar, Unpack

from llrkit import errors
from llrkit.base.arguments import seed_of
from llrkit.base.options import documented
from llrkit.base.process import cached_property, warn_caller
from llrkit.base.text import Json, counted, number, percent, table_beside
from llrkit.core.cells import Grid, collect_again
from llrkit.core.groups import bona_fide_and_spoofs, class_to_share, grouped, trials_with_values
from llrkit.core.summaries import Both, Moments, both
from llrkit.maps.training_range import gap_of_moments
from llrkit.metrics import measure as measuring
from llrkit.metrics.costs import nist_weights, scaled_to_size
from llrkit.metrics.curves import CrossEntropyCurve
from llrkit.metrics.discrimination import Separation, min_dcf_from_blocks, reversed_text
from llrkit.metrics.measure import FEWEST_AT_AN_END, SHARE_AT_AN_END, Measurements, PointResult, PrimaryResult
from llrkit.results.result import html_table, html_text, text_table
from llrkit.results.vocabulary import NATS, LlrUnit
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory.operating_points import AnyPoint, cost_of
from llrkit.trust import identity_tests
from llrkit.trust.calibration_check import Verdict, judge, separation_of
from llrkit.trust.influence import LARGEST_LOSS, REASONS, functionals
from llrkit.trust.jackknife import Uncertainty
from llrkit.trust.speakers import find_speakers, kind_asked_for, require_columns
from llrkit.verbs.options import INTERVALS, EvaluateOptions

if TYPE_CHECKING:
    from llrkit.keywords import EvaluateKeywords

HUGE = 1000.0
"""Largest over smallest score from which on positive scores may be likelihood ratios."""
LN10_BETWEEN = (2.2, 2.4)
LN10_LOOKED_FOR = (2.1, 2.5)
"""Outside of this the best slope is not close to ln 10, whether it is found from trials or from cells."""
NUMBERS = ("eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal")
"""The numbers of an evaluation that need no operating point."""
_HIGHER_IS_BETTER = ("auc",)
K = TypeVar("K", bound=Hashable)
CONVENTIONS: Mapping[str, str] = MappingProxyType(dict(table_beside(__file__, "conventions.txt")))


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Measurements):
    """The result of :func:`evaluate`: numbers, curves, conventions and, if asked for, intervals."""

    groups: Mapping[Hashable, Evaluation] = field(default_factory=lambda: MappingProxyType({}))
    """Evaluation of each group, if groups were asked for (``by=``)."""
    conventions: Mapping[str, str] = field(default_factory=lambda: CONVENTIONS)
    """The conventions behind the numbers, by name."""
    equalized: tuple[str, ...] = ()
    """Columns whose values were given the same weight."""
    condition_weights: Mapping[str, tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))
    """Weight of each target and of each non-target by condition, where conditions were equalized."""
    uncertainty: Uncertainty | None = None
    """Intervals of the numbers, if they were asked for."""
    tested: identity_tests.CalibrationTest | None = None
    """The test of calibration with speakers, if they are known."""
    information: tuple[float, float] = (1.0, 1.0)
    """Independent trials that say as much as one target and as one non-target, where trials are weighted."""

    @classmethod
    def from_measurements(cls, measurements: Measurements) -> Evaluation:
        """The same numbers, those of the groups included, without intervals.

        Parameters
        ----------
        measurements
            The numbers without intervals.
        """
        names = [item.name for item in fields(Measurements) if item.name != "groups"]
        values = {name: getattr(measurements, name) for name in names}
        groups = {name: cls.from_measurements(group) for name, group in measurements.groups.items()}
        return cls(groups=MappingProxyType(groups), **values)

    @property
    def cross_entropy_curve(self) -> CrossEntropyCurve | None:
        """The empirical cross-entropy over priors, also ``.ece``; None unless ``evaluate(..., ece=True)``."""
        return self.ece

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Lower and upper end by name of the number; empty unless ``evaluate(..., ci=...)`` was asked."""
        return MappingProxyType({}) if self.uncertainty is None else self.uncertainty.intervals

    def __getitem__(self, point: AnyPoint) -> PointResult | PrimaryResult:
        """What was measured at an operating point that was asked for, or the mean over those of a preset.

        Examples
        --------
        >>> import llrkit as lk
        >>> result = lk.evaluate([2.0, 1.0, -1.0], [1, 0, 0], points=["sre08", 0.5])
        >>> result["sre08"].act_dcf, result[0.5].p_miss
        (1.0, 0.0)
        """
        cost = cost_of(point, allow_unconfirmed=True)
        measured: PointResult | PrimaryResult | None
        if cost.averages:
            measured = {primary.name: primary for primary in self.primaries}.get(cost.name)
        else:
            # the same point, whatever it is called
            # compared without its name: "sre08" and a point with the same costs are the same point
            wanted = replace(cost.points[0], name="")
            measured = next((one for one in self.points if replace(one.point, name="") == wanted), None)
        if measured is None:
            names = [primary.name for primary in self.primaries] + [one.point.name for one in self.points]
            known = ", ".join(names) or "none"
            raise errors.UnknownNameError(
                f"{cost.name} was not measured: ask for it with points=; there are {known}"
            )
        return measured

    def __contains__(self, point: AnyPoint) -> bool:
        """Whether an operating point was asked for."""
        try:
            self[point]
        except errors.UnknownNameError:
            return False
        return True

    # without this, Python would iterate by __getitem__ with 0, 1, 2, ..., which are no operating points
    __iter__ = None
    """Operating points are asked for by name; going through them is ``for point in result.points``."""

    def min_dcf(self, point: AnyPoint) -> float:
        """Normalized cost at the best threshold, of any operating point or preset.

        Parameters
        ----------
        point
            Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the
            name of a preset.

        Examples
        --------
        >>> import llrkit as lk
        >>> lk.evaluate([2.0, 1.0, -1.0], [1, 0, 0]).min_dcf("voxceleb")
        0.0
        """
        points = cost_of(point).points
        return sum(min_dcf_from_blocks(self.summaries.blocks, one) for one in points) / len(points)

    def act_dcf(self, point: AnyPoint) -> float:
        """Normalized cost at the Bayes threshold, of an operating point or preset that was asked for.

        Parameters
        ----------
        point
            Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the
            name of a preset.

        Examples
        --------
        >>> import llrkit as lk
        >>> lk.evaluate([2.0, 1.0, -1.0], [1, 0, 0], points=["sre12", 0.5]).act_dcf("sre12")
        1.0
        """
        measured = self[point]
        return measured.act if isinstance(measured, PrimaryResult) else measured.act_dcf

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the scores can be read as LLRs, as far as the trials can tell."""
        return judge(self, self._test, auc_error=self._auc_error)

    @property
    def _auc_error(self) -> float:
        return 0.0 if self.uncertainty is None else self.uncertainty.standard_error.get("auc", 0.0)

    @property
    def apart(self) -> Separation:
        """Whether the scores tell the classes apart, and which way."""
        return separation_of(self, self._auc_error)

    @cached_property
    def _test(self) -> identity_tests.CalibrationTest:
        return self.tested or identity_tests.check_cells(self, self.information)

    @cached_property
    def suspicions(self) -> tuple[str, ...]:
        """What the scores may be instead of LLRs in nats; never more than a question.

        Examples
        --------
        >>> import llrkit as lk
        >>> import numpy as np
        >>> llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(500, 5000, np.random.default_rng(1))
        >>> posteriors = lk.Scores(*(1 / (1 + np.exp(-x)) for x in llrs))
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     lk.evaluate(posteriors).suspicions
        ('all scores are between 0 and 1: are they probabilities? See llrkit.theory.llr_from_posterior',)
        """
        other = other_quantity(*self.moments.extremes)
        # a cheap look at cells decides whether the test is worth making
        if not other and not self.summaries.slope_may_be(*LN10_LOOKED_FOR):
            return ()
        # last, and without what the test would have found: it takes a good part of a small evaluation's time
        brief = judge(self, self._test, auc_error=self._auc_error, sensitivity=False)
        if brief.outcome != "evidence":
            return ()
        if other:
            return (other,)
        line = self.best_line
        if line is not None and LN10_BETWEEN[0] <= line.a <= LN10_BETWEEN[1]:
            scale = f"the best scale is {line.a:.2f}, close to ln 10 = 2.30"
            return (f"{scale}: are these log10 LLRs? Then multiply them by ln 10 (--log10)",)
        return ()

    @property
    def sentence(self) -> str:
        """What the numbers mean, in plain words."""
        return sentence(self)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain: dict[str, Json] = {
            "n_target": self.n_target,
            "n_nontarget": self.n_nontarget,
            **{name: getattr(self, name) for name in (*NUMBERS, "prbep")},
            "det_slope": self.det_slope.slope,
            "points": [
                {**point.to_dict(), **self._uncertain(f"points.{i}.")} for i, point in enumerate(self.points)
            ],
            **self._uncertain(""),
        }
        if self.uncertainty is not None:
            plain["ci"] = self.uncertainty.settings()
        if self.primary is not None:
            rows = [
                {"name": p.name, "min": p.min, "act": p.act, **self._uncertain(f"primaries.{i}.")}
                for i, p in enumerate(self.primaries)
            ]
            plain |= {"primary": rows[0], "primaries": rows}
        if self.fixed is not None:
            fixed = self.fixed
            plain["fixed_threshold"] = {
                "threshold": fixed.threshold, "p_miss": fixed.p_miss, "p_fa": fixed.p_fa, "hter": fixed.hter,
                **self._uncertain("fixed_threshold."),
            }  # fmt: skip
        if self.equalized:
            weights = {name: list(pair) for name, pair in self.condition_weights.items()}
            plain["equalized"] = {"columns": list(self.equalized), "weights": weights}
        plain["conventions"] = dict(self.conventions)
        if self.loss_split is not None:
            plain["loss_split"] = self.loss_split.to_dict()
        plain["verdict"] = self.verdict.to_dict()
        plain["sentence"] = self.sentence
        if self.groups or self.skipped_groups:
            plain["groups"] = {group_name(key): group.to_dict() for key, group in self.groups.items()}
            plain["skipped_groups"] = {group_name(key): why for key, why in self.skipped_groups.items()}
        if self.groups:
            mean, worst = over_groups(self.groups)
            where: dict[str, Json] = {
                name: {"group": group, "value": value} for name, (group, value) in worst.items()
            }
            plain["over_groups"] = {"mean": mean, "worst": where}
        if self.shared is not None:
            plain["shared"] = self.shared.to_dict()
        return plain

    def _uncertain(self, prefix: str) -> dict[str, Json]:
        return {} if self.uncertainty is None else self.uncertainty.with_prefix(prefix)

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        """A row of all trials, and one for each group, whose values are in columns of their own."""
        if not self.groups:
            return [number_row(self)]
        rows: list[dict[str, object]] = [{**dict.fromkeys(self.by), **number_row(self)}]
        for key, group in self.groups.items():
            values = key if len(self.by) > 1 and isinstance(key, tuple) else (key,)
            rows.append({**dict(zip(self.by, values, strict=True)), **number_row(group)})
        return rows

    def __repr__(self) -> str:
        table, by = rows(self), ", ".join(self.by)
        first, second = (max(len(row[i]) for row in table) for i in (0, 1))
        lines = [f"{name:<{first}}  {value:>{second}}  {note}".rstrip() for name, value, note in table]
        if self.groups:
            lines += ["", text_table(*group_rows(self.groups, by)), "", on_groups(self.groups, by)]
        elif self.skipped_groups:
            lines.append("")
        lines += [f"{by} = {group_name(key)} left out: {why}" for key, why in self.skipped_groups.items()]
        return "\n".join([*lines, "", self.sentence])

    def _repr_html_(self) -> str:
        table = [(row.name, row.value, row.interval, row.note) for row in numbers_of_table(self)]
        table.insert(0, ("trials", f"{self.n_target:,} + {self.n_nontarget:,}", "", "target + non-target"))
        # a column of intervals only if there are any
        header = ["", "", "", ""]
        if self.uncertainty is not None and self.intervals:
            header[2] = f"{100 * self.uncertainty.level:g} % interval"
        else:
            table = [(name, value, note) for name, value, _, note in table]  # type: ignore[misc]
            header.pop()
        html, by = html_table(header, table, left=(0, len(header) - 1)), ", ".join(self.by)
        if self.groups:
            html += html_table(*group_rows(self.groups, by)) + html_text(on_groups(self.groups, by))
        if self.skipped_groups:
            left_out = (f"{group_name(key)}: {why}" for key, why in self.skipped_groups.items())
            html += html_text("Left out: " + "; ".join(left_out))
        return html + html_text(self.sentence)


def other_quantity(low: float, high: float) -> str:
    """What scores in this range may be that no straight line makes LLRs of; empty if nothing is suspected.

    Examples
    --------
    >>> other_quantity(0.001, 4000.0)
    'all scores are positive, from 0.001 to 4e+03: are they likelihood ratios, not LLRs?'
    >>> other_quantity(-1.0, 4000.0)
    ''
    """
    if low >= 0.0 and high <= 1.0:
        return "all scores are between 0 and 1: are they probabilities? See llrkit.theory.llr_from_posterior"
    if low > 0.0 and high / low > HUGE:
        return f"all scores are positive, from {low:.3g} to {high:.3g}: are they likelihood ratios, not LLRs?"
    return ""


def saturation(result: Measurements, source: ScoreSource) -> list[str]:
    """Shares of the trials that have exactly the highest or the lowest score, in words; empty if few do.

    The trials are looked at again only if the first or the last of the cells that were counted holds many.
    LLRs that a calibration wrote lie at its bounds, and nothing is said of them.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores([5.0] * 60 + [0.7, 0.9] * 20, np.linspace(-9.0, 4.0, 1001))
    >>> saturation(lk.evaluate(scores), scores)
    ['60.0 % of the target scores are exactly 5, the highest score: they are clipped or saturated']
    """
    if source.roles.calibrated:
        return []
    # counts at the outermost cuts are known already; exact ties are counted only if these hold many
    counts = result.summaries.at_llrs
    outermost = (
        (counts.n_miss[1], counts.n_target - counts.n_miss[-1], counts.n_target),
        (counts.n_nontarget - counts.n_fa[1], counts.n_fa[-1], counts.n_nontarget),
    )
    if not any(max(low, high) >= max(FEWEST_AT_AN_END, SHARE_AT_AN_END * n) for low, high, n in outermost):
        return []
    from llrkit.fits.training_checks import TiedScores

    return TiedScores.of_source(source).at_the_ends()


def warn_of(result: Evaluation) -> None:
    """Warn of reversed scores, and of what the scores may be instead of LLRs."""
    if result.apart.reversed:
        text = reversed_text(result.summaries.bins, result.auc)
        warn_caller(text, errors.ReversedScoresWarning)
    for text in result.suspicions:
        warn_caller(text, errors.ScaleWarning)


def group_name(key: object) -> str:
    """The value of a group as text; of several columns, with commas in between.

    Examples
    --------
    >>> group_name(30), group_name(("f", 5))
    ('30', 'f, 5')
    """
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def over_groups(groups: Mapping[K, Measurements]) -> tuple[dict[str, float], dict[str, tuple[str, float]]]:
    """Mean of each number over the groups, and the group where it is worst with its value there.

    Costs have names such as ``min_dcf sre08``. Each group counts the same, however many trials it has, and
    has a best threshold of its own.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([2.0, 3.0], [0.0, 2.5], {"attack": (["-", "-"], ["A01", "A02"])})
    >>> mean, worst = over_groups(lk.evaluate(scores, points=[0.1], by="attack").groups)
    >>> worst["eer_roc"], mean["eer_roc"]
    (('A02', 0.5), 0.25)
    """
    by_group: dict[str, dict[str, float]] = {}
    for key, group in groups.items():
        numbers = {name: float(getattr(group, name)) for name in NUMBERS}
        for point in group.points:
            numbers[f"min_dcf {point.point.name}"] = point.min_dcf
            numbers[f"act_dcf {point.point.name}"] = point.act_dcf
        by_group[group_name(key)] = numbers
    names = next(iter(by_group.values()))
    mean = {name: sum(numbers[name] for numbers in by_group.values()) / len(by_group) for name in names}
    worst = {}
    for name in names:
        values = {group: numbers[name] for group, numbers in by_group.items()}
        # of AUC the lowest is worst, of all other numbers the highest
        worst_group = (min if name in _HIGHER_IS_BETTER else max)(values, key=values.__getitem__)
        worst[name] = (worst_group, values[worst_group])
    return mean, worst


def sentence(result: Evaluation, verdict: Verdict | None = None) -> str:
    """What the numbers mean: how much is lost to what, and what the test of calibration says.

    ``verdict`` is that of a closer check of the same trials, if one was made.
    """
    verdict = verdict or result.verdict
    if verdict.outcome in ("reversed", "uninformative", "infinite"):
        bits = "infinite" if math.isinf(result.cllr) else f"{number(result.cllr)} bits"
        return f"Cllr is {bits}. {verdict.sentence}"
    lost = f"Of Cllr = {number(result.cllr)} bits, {number(result.min_cllr)} are lost to discrimination"
    # a share of a Cllr of 0 is not defined
    share = f"{100 * (1.0 - result.min_cllr / result.cllr):.0f} %" if result.cllr > 0 else "0 %"
    lost += f" and {number(result.cllr_cal)} ({share}) to calibration{_parts_of_loss(result)}."
    harm = " Read as LLRs they are worse than saying nothing (Cllr = 1)." if result.cllr >= 1.0 else ""
    return f"{lost}{harm} {verdict.sentence}"


def _parts_of_loss(result: Evaluation) -> str:
    """The loss to calibration in two parts, beside what it would be by chance."""
    split = result.loss_split
    if split is None:
        return f" (not split into scale and shape: {_why_not_split(result)})"
    # parts that are rounded add up to the whole that is rounded, with the decimals of the table
    # the rest of two rounded numbers, so that the parts in a sentence add up
    shape = float(number(result.cllr_cal)) - float(number(split.scale_and_offset))
    parts = f": {number(split.scale_and_offset)} to scale and offset, {number(max(shape, 0.0))} to shape"
    if result.tested is not None or result.equalized:  # expected of independent trials only
        return parts
    return f"{parts}, where calibrated LLRs would show about {number(split.chance)} together by chance"


def _why_not_split(result: Evaluation) -> str:
    gap = gap_of_moments(result.moments)
    if gap is not None:
        meet = f"share only the score {gap[0]:.4g}" if gap[0] == gap[1] else "do not overlap"
        return f"the classes {meet}, and no straight line is best"
    if result.best_line is None:
        return "no straight line is best"
    if result.best_line.a <= 0.0:
        return "the best straight line falls"
    return "the scores range too widely to find the best straight line closely enough"


class Row(NamedTuple):
    """A number of the table."""

    name: str
    key: str
    """Its name in the JSON, with the place in a list."""
    value: str
    interval: str
    """Empty where there is none."""
    note: str


def rows(result: Evaluation, unit: LlrUnit = NATS) -> list[tuple[str, str, str]]:
    """The table: name, value, and what it is."""
    of_spoofs = result.shared is not None and result.shared.of_kinds
    classes = "bona fide + spoof" if of_spoofs else "target + non-target"
    table = [("trials", f"{result.n_target:,} + {result.n_nontarget:,}", classes)]
    for row in numbers_of_table(result, unit):
        table.append((row.name, row.value, "  ".join(filter(None, (row.interval, row.note)))))
    return table


def numbers_of_table(result: Evaluation, unit: LlrUnit = NATS) -> list[Row]:
    """All numbers of the table but the counts; thresholds in a unit of LLRs."""
    table: list[Row] = []
    which = f" {unit.suffix}" if unit.base_10 else ""

    def row(name: str, key: str, value: float, note: str, show: Callable[[float], str] = number) -> None:
        interval = ""
        if key in result.intervals:
            low, high = result.intervals[key]
            interval = f"[{show(low).removesuffix(' %')}, {show(high)}]"
        elif result.uncertainty is not None and key in result.uncertainty.upper_bound:
            interval = f"at most {show(result.uncertainty.upper_bound[key])}"
        table.append(Row(name, key, show(value), interval, note))

    row("EER", "eer", result.eer, "ROC convex hull", percent)
    row("EER (ROC)", "eer_roc", result.eer_roc, "interpolated ROC", percent)
    row("AUC", "auc", result.auc, "", lambda value: number(value, 5))
    row("Cllr", "cllr", result.cllr, "bits")
    row("min Cllr", "min_cllr", result.min_cllr, "discrimination loss")
    row("Cllr - min", "cllr_cal", result.cllr_cal, "calibration loss")
    slope_note = "-1 for calibrated Gaussian LLRs"
    row("DET slope", "det_slope", result.det_slope.slope, slope_note, lambda value: number(value, 2))
    for i, point in enumerate(result.points):
        threshold = f"threshold {unit.of(point.point.threshold):.3f}{which}"
        row(f"min DCF {point.point.name}", f"points.{i}.min_dcf", point.min_dcf, "best threshold")
        row(f"act DCF {point.point.name}", f"points.{i}.act_dcf", point.act_dcf, threshold)
    for i, primary in enumerate(result.primaries):
        for kind, value in (("min", primary.min), ("act", primary.act)):
            row(f"{kind} C_primary {primary.name}", f"primaries.{i}.{kind}", value, "mean of its points")
    if result.fixed is not None:
        note = f"threshold {unit.of(result.fixed.threshold):.4f}{which} from development data"
        row("HTER", "fixed_threshold.hter", result.fixed.hter, note, percent)
    return table


def without_interval(
    uncertainty: Uncertainty, shown: Sequence[Row], *, but: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """The numbers without an interval, or with its upper end only, each reason once, but those in ``but``."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in shown:
        reason = uncertainty.no_interval.get(row.key, "")
        if reason and reason != but.get(row.key):
            what = "only an upper bound" if row.key in uncertainty.upper_bound else "no interval"
            by_reason.setdefault((what, reason), []).append(row.name)
    return [
        f"{what} for {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}: {why}"
        for (what, why), names in by_reason.items()
    ]


def group_rows(
    groups: Mapping[K, Evaluation], by: str, *, of_spoofs: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table with one line per group; classes may be bona fide trials and spoofs."""
    classes = ("bona fide", "spoof") if of_spoofs else ("target", "nontarget")
    header = [by, *classes, "EER", "Cllr", "min Cllr", "Cllr - min"]
    points = next(iter(groups.values())).points
    costs = [f"{kind} {point.point.name}" for point in points for kind in ("min", "act")]
    keys = ["eer", "cllr", "min_cllr", "cllr_cal"]
    keys += [f"points.{i}.{kind}_dcf" for i in range(len(points)) for kind in ("min", "act")]
    table = []
    for name, group in groups.items():
        shown = {row.key: f"{row.value} {row.interval}".rstrip() for row in numbers_of_table(group)}
        table.append(
            [group_name(name), f"{group.n_target:,}", f"{group.n_nontarget:,}", *(shown[key] for key in keys)]
        )
    return header + costs, table


def on_groups(groups: Mapping[K, Evaluation], by: str) -> str:
    """The mean and the worst of the groups, in words."""
    mean, worst = over_groups(groups)
    group, highest = worst["eer"]
    return (
        f"Mean EER over {counted(len(groups), 'group')} {percent(mean['eer'])}, "
        f"worst {percent(highest)} ({by} = {group})."
    )


def number_row(result: Evaluation) -> dict[str, object]:
    """Numbers by name; where there are intervals, each is followed by ``<name>_low`` and ``<name>_high``.

    Examples
    --------
    >>> import llrkit as lk
    >>> row = number_row(lk.evaluate([2.0, 1.0, -1.0], [1, 0, 0], points=["sre08"]))
    >>> row["n_nontarget"], row["act_dcf sre08"]
    (2, 1.0)
    """
    row: dict[str, object] = {"n_target": result.n_target, "n_nontarget": result.n_nontarget}

    def add(name: str, value: float, key: str = "") -> None:
        """A number; ``key`` is its name among the intervals, where that is another."""
        row[name] = value
        if result.uncertainty is not None:
            low, high = result.intervals.get(key or name, (None, None))
            row.update({f"{name}_low": low, f"{name}_high": high})

    for name in (*NUMBERS, "prbep"):
        add(name, getattr(result, name))
    add("det_slope", result.det_slope.slope)
    for i, point in enumerate(result.points):
        for kind in ("min_dcf", "act_dcf"):
            add(f"{kind} {point.point.name}", getattr(point, kind), f"points.{i}.{kind}")
    for i, primary in enumerate(result.primaries):
        for kind in ("min", "act"):
            add(f"{kind}_c_primary {primary.name}", getattr(primary, kind), f"primaries.{i}.{kind}")
    if result.fixed is not None:
        add("hter", result.fixed.hter, "fixed_threshold.hter")
    return row


def named_rows(title: str, results: Mapping[str, Evaluation]) -> list[dict[str, object]]:
    """A row for each result, which begins with its name."""
    return [{title: name, **number_row(result)} for name, result in results.items()]


@documented(EvaluateOptions)
def evaluate(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    options: EvaluateOptions | None = None,
    **changes: Unpack[EvaluateKeywords],
) -> Evaluation:
    """Evaluate scores read as natural-log LLRs: all metrics and curves, exactly, in two passes.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Notes
    -----
    Intervals (``ci``): ``"trial"`` takes trials as independent, which is too short where they share
    speakers; ``"speaker"`` is a jackknife, every number without each speaker, one more pass;
    ``"bootstrap"`` draws speakers with replacement, or trials where no speakers are given. By default
    ``"speaker"`` if ``speakers`` are given, otherwise ``"none"``.

    Groups (``by``) are in ``.groups``, whose keys are the values as they are, in their natural order; of
    several columns, tuples. With ``shared``, each attack is evaluated against all bona fide trials.
    Values that mark the shared class (``-``, ``bonafide``) do not form groups. If the labels distinguish
    targets, non-targets and spoofs, ``"bonafide"`` and ``"spoof"`` make two classes of them: targets and
    non-targets are bona fide. The class is chosen automatically if no group has both classes and one
    class has only its marker; ``.shared`` of the result says so.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), points=["sre08"])
    >>> print(f"EER {result.eer:.4f}, Cllr {result.cllr:.4f}, of it calibration {result.cllr_cal:.4f}")
    EER 0.2308, Cllr 0.7140, of it calibration 0.1786
    >>> result.points[0].act_dcf
    0.75
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> left, right = rng.integers(0, 40, 3000), rng.integers(0, 40, 3000)
    >>> trials = lk.Trials({"score": np.where(left == right, 2, -2) + 2 * rng.normal(size=3000),
    ...                     "label": left == right, "left": left, "right": right})
    >>> evaluation = lk.evaluate(trials, ci="speaker", speakers=("left", "right"))
    >>> [round(end, 3) for end in evaluation.intervals["cllr"]]
    [0.384, 0.509]
    """
    asked = EvaluateOptions.of(options, changes)
    source = as_source(source, labels)
    threshold_from = None if asked.threshold_from is None else as_source(asked.threshold_from)
    by, shared, equalize, speakers = asked.by, asked.shared, asked.equalize, asked.speakers
    ci = kind_asked_for(asked.ci, speakers, asked.otherwise)
    require_columns(ci, INTERVALS, speakers, asked.recordings, trials=True)
    # kinds of trials (spoofs) are regrouped first; the evaluation proper then sees two classes
    if shared is not None and by:
        regrouped = bona_fide_and_spoofs(source, shared)
        if regrouped is not source:
            if threshold_from is not None:
                threshold_from = bona_fide_and_spoofs(threshold_from, shared)
            with warnings.catch_warnings():  # of kinds that are taken as one: these are what they are
                warnings.simplefilter("ignore", errors.PooledClassesWarning)
                result = evaluate(
                    regrouped, options=asked, shared=class_to_share(shared), threshold_from=threshold_from
                )
            assert result.shared is not None
            return replace(result, shared=replace(result.shared, of_kinds=True))
    if not (by or speakers or equalize):
        source = source.in_order()  # no sum depends on how the trials came
    if equalize:
        if ci != "none":  # equalized evaluations have no intervals (docs/notes/decisions-statistics.md)
            raise asked.error("{} cannot be combined with {}", "equalize", "ci")
        result = equalized(source, asked)
    else:
        measured = measuring.measure(
            source, asked.points, by=by or None, shared=shared, threshold_from=threshold_from, ece=asked.ece,
            allow_unconfirmed=asked.allow_unconfirmed,
        )  # fmt: skip
        result = Evaluation.from_measurements(measured)
    if ci != "none":
        result = _with_intervals(result, source, ci, asked)
    warn_of(result)
    return result


def _with_intervals(result: Evaluation, source: ScoreSource, ci: str, asked: EvaluateOptions) -> Evaluation:
    """The evaluation and its groups with intervals and, where speakers are known, the test of calibration."""
    # imported here: half of what a small set takes to evaluate otherwise
    from llrkit.trust.bootstrap import bootstrap, speaker_resampling, trial_resampling
    from llrkit.trust.intervals import closed_form, intervals_and_cells

    speakers, recordings = asked.speakers, asked.recordings or None
    level, replicates, seed = asked.level, asked.replicates, seed_of(asked.rng)

    def of_trials(trials: ScoreSource, evaluation: Evaluation) -> Evaluation:
        if ci == "trial":
            return replace(evaluation, uncertainty=closed_form(trials, evaluation, None, level))
        if not speakers:  # a bootstrap of trials; those of a group are drawn with all others
            drawn = trial_resampling(source, seed)
            return replace(evaluation, uncertainty=bootstrap(trials, evaluation, drawn, level, replicates))
        # squares of losses beyond LARGEST_LOSS overflow, and the test rests on them
        testable = evaluation.cllr < LARGEST_LOSS
        cells = None
        if ci == "bootstrap":
            resampling = speaker_resampling(trials, speakers, recordings, seed)
            people = resampling.speakers
            uncertainty = bootstrap(trials, evaluation, resampling, level, replicates)
        else:
            people = find_speakers(trials, speakers)
            if testable:  # the pass for the intervals counts what the test needs
                inner = identity_tests.judged_edges(evaluation)[1:-1]
                uncertainty, cells = intervals_and_cells(trials, evaluation, people, level, inner)
            else:
                uncertainty = closed_form(trials, evaluation, people, level)
        evaluation = replace(evaluation, uncertainty=uncertainty)
        if not testable:
            return evaluation
        try:
            cells = cells or identity_tests.count_in_judged_cells(trials, evaluation, people)
            return replace(evaluation, tested=identity_tests.check_speakers(evaluation, cells))
        # intervals are known, the test is not: the verdict falls back on independent trials
        except errors.TooFewTrialsError:
            return evaluation

    groups = {}
    for name, group in result.groups.items():
        if result.shared is None:
            values = name if len(result.by) > 1 and isinstance(name, tuple) else (name,)
            trials = trials_with_values(source, result.by, values)
        else:
            trials = result.shared.trials_of(source, result.by[0], name)
        try:
            groups[name] = of_trials(trials, group)
        # a small group must not cost the others their intervals
        except errors.TooFewTrialsError as error:
            names = (number.name for number in functionals(group).numbers)
            none = Uncertainty(ci, level, {}, no_interval=REASONS | dict.fromkeys(names, str(error)))
            groups[name] = replace(group, uncertainty=none)
    return replace(of_trials(source, result), groups=MappingProxyType(groups))


def equalized(source: ScoreSource, asked: EvaluateOptions) -> Evaluation:
    """Evaluate with every value of a column, or combination of several, given the same weight in each class.

    Error counts and losses of each condition are weighted before they are added, so every number and
    curve is that of an evaluation in which all conditions have the same number of trials. Weights are
    those of NIST, scaled so that the weighted trials number as many as there are. Two passes.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> clean, noisy = [4.0, 3.0, 5.0, -1.0], [1.0]
    >>> condition = (["clean"] * 4 + ["noisy"], ["clean", "noisy"])
    >>> scores = Scores(clean + noisy, [-2.0, 0.0], {"condition": condition})
    >>> asked = EvaluateOptions(equalize="condition", points=[0.5])
    >>> equalized(scores, asked).points[0].p_miss  # one of 4 clean targets, no noisy one
    0.125
    """
    names = asked.equalize
    operating_points = measuring.resolve_points(asked.points, asked.allow_unconfirmed)
    wide = source.with_columns(*names)
    # the grid of all trials serves every condition, so that counts can be added after weighting
    moments, grid, groups = wide.reduce(both(Moments.of, Grid.of, grouped(Moments.of, names))).summaries
    grid = collect_again(source, grid)
    by_condition = wide.reduce(
        grouped(measuring.measurement_summarizer(moments, grid, operating_points), names)
    ).groups
    if not by_condition:
        raise errors.EmptyClassError("there are no trials")
    counts = {key: summaries.summaries[0] for key, summaries in by_condition.items()}
    sizes = {key: (float(count.n_target), float(count.n_nontarget)) for key, count in counts.items()}
    weights = scaled_to_size(nist_weights(sizes), sizes)
    first = reduce(add, (groups.groups[key].weighted(*weights[key]) for key in by_condition))
    second = reduce(
        add,
        (
            Both((counts[key].weighted(*weights[key]), look.summaries[1].weighted(*weights[key])))
            for key, look in by_condition.items()
        ),
    )
    measured = measuring.measurements_from_summaries(first, second, operating_points)
    measured = measuring.with_groups(
        measured, source, asked.by or None, asked.points, asked.allow_unconfirmed, asked.shared
    )

    # Kish: unequal weights say less than as many equal ones
    def information(of_class: int) -> float:
        """Effective trials of a class by Kish, (sum w)^2 / sum w^2, over their number."""
        w = [(weights[key][of_class], sizes[key][of_class]) for key in weights]
        total = sum(n * weight for weight, n in w)
        return float(total / sum(n * weight**2 for weight, n in w)) if total > 0.0 else 1.0

    by_name = {group_name(key): weights[key] for key in sorted(weights, key=str)}
    return replace(
        Evaluation.from_measurements(measured),
        equalized=names,
        condition_weights=MappingProxyType(by_name),
        information=(information(0), information(1)),
    )
