"""Evaluation: the result of evaluate(), the measurements with their intervals and what they mean in words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType

from llrkit._cached import cached_property
from llrkit._plain import Json
from llrkit.errors import UnknownNameError
from llrkit.evaluation import evaluation_words as words
from llrkit.evaluation.evaluation_rows import group_rows_of
from llrkit.evaluation.over_groups import group_name, over_groups
from llrkit.evaluation.suspicions import suspicions
from llrkit.metrics.curves import CrossEntropyCurve
from llrkit.metrics.discrimination import min_dcf_from_blocks
from llrkit.metrics.measurements import Measurements, PointResult, PrimaryResult
from llrkit.metrics.separation import Separation
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import AnyPoint, cost_of
from llrkit.trust.calibration.scale_and_offset_test import CalibrationTest, check_cells
from llrkit.trust.calibration.verdict import Verdict, judge, separation_of
from llrkit.trust.intervals.uncertainty_result import Uncertainty

CONVENTIONS: Mapping[str, str] = MappingProxyType(
    {
        "llr": "natural logarithm",
        "cllr": "bits",
        "decision": "accept when score >= threshold",
        "ties": "pooled",
        "eer": "on the ROC convex hull (ROCCH-EER)",
        "eer_roc": "on the interpolated ROC",
        "min_cllr": "after PAV on the same trials, no Laplace end points",
        "dcf": "divided by min(P Cmiss, (1 - P) Cfa)",
        "act_dcf": "at the Bayes threshold",
        "det_slope": "total least squares over the DET's crossings with probit Pmiss - probit Pfa = c, "
        "both rates in [0.001, 0.5]",
    }
)


def _same_point(one: OperatingPoint, other: OperatingPoint) -> bool:
    """Whether two operating points are the same, whatever they are called."""
    return (one.p_target, one.c_miss, one.c_fa) == (other.p_target, other.c_miss, other.c_fa)


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
    tested: CalibrationTest | None = None
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
            measured = next((one for one in self.points if _same_point(one.point, cost.points[0])), None)
        if measured is None:
            names = [primary.name for primary in self.primaries] + [one.point.name for one in self.points]
            known = ", ".join(names) or "none"
            raise UnknownNameError(
                f"{cost.name} was not measured: ask for it with points=; there are {known}"
            )
        return measured

    def __contains__(self, point: AnyPoint) -> bool:
        """Whether an operating point was asked for."""
        try:
            self[point]
        except UnknownNameError:
            return False
        return True

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
        return self._judged(sensitivity=True)

    @cached_property
    def _brief_verdict(self) -> Verdict:
        """The verdict in fewer words, for warnings; what would have been found takes as long as the rest."""
        return self._judged(sensitivity=False)

    def _judged(self, *, sensitivity: bool) -> Verdict:
        return judge(self, self._test, auc_error=self._auc_error, sensitivity=sensitivity)

    @property
    def _auc_error(self) -> float:
        return 0.0 if self.uncertainty is None else self.uncertainty.standard_error.get("auc", 0.0)

    @property
    def apart(self) -> Separation:
        """Whether the scores tell the classes apart, and which way."""
        return separation_of(self, self._auc_error)

    @cached_property
    def _test(self) -> CalibrationTest:
        return self.tested or check_cells(self, self.information)

    @cached_property
    def suspicions(self) -> tuple[str, ...]:
        """What the scores may be instead of LLRs in nats; never more than a question."""
        return suspicions(self, lambda: self._brief_verdict)

    @property
    def sentence(self) -> str:
        """What the numbers mean, in plain words."""
        return words.sentence(self)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain: dict[str, Json] = {
            "n_target": self.n_target,
            "n_nontarget": self.n_nontarget,
            "eer": self.eer,
            "eer_roc": self.eer_roc,
            "auc": self.auc,
            "cllr": self.cllr,
            "min_cllr": self.min_cllr,
            "cllr_cal": self.cllr_cal,
            "prbep": self.prbep,
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
            plain["over_groups"] = over_groups(self.groups).to_dict()
        if self.shared is not None:
            plain["shared"] = self.shared.to_dict()
        return plain

    def _uncertain(self, prefix: str) -> dict[str, Json]:
        return {} if self.uncertainty is None else self.uncertainty.with_prefix(prefix)

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        return group_rows_of(self)

    def __repr__(self) -> str:
        return words.plain_table(self)

    def _repr_html_(self) -> str:
        return words.html_page(self)
