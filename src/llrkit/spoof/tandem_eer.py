"""The tandem equal error rate (t-EER) of ASV and CM systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray, IntArray
from llrkit.core.counting import count_bins
from llrkit.core.pav_and_hull import ErrorPath, error_path
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve
from llrkit.spoof.kind_counts import KindBins, count_kinds
from llrkit.spoof.spoof_trials import SpoofTrials
from llrkit.spoof.t_dcf_costs import cm_source

_HALVINGS = 60


@dataclass(frozen=True)
class TandemPoint:
    """Where the error rates of a tandem are equal, whatever the prevalence of spoofs."""

    t_eer: float
    p_miss_asv: float
    p_fa_asv: float
    p_fa_spoof_asv: float
    p_miss_cm: float
    p_fa_cm: float


@dataclass(frozen=True, eq=False)
class TandemEerPath(Curve):
    """For one prevalence of spoofs: at every threshold of the ASV system the tandem's equal error rate."""

    prevalence: float
    """Share of spoofs among the trials that should be rejected."""
    asv_threshold: FloatArray
    """Thresholds of the ASV system."""
    cm_threshold: FloatArray
    """For each of them, the CM threshold at which targets are rejected as often as others are accepted."""
    t_eer: FloatArray
    """The equal error rate there."""

    @property
    def min(self) -> float:
        """The smallest equal error rate on the path."""
        return float(np.nanmin(self.t_eer)) if len(self.t_eer) else float("nan")


@takes(trials=SpoofTrials)
def t_eer(trials: SpoofTrials) -> float:
    """Concurrent tandem equal error rate, a share: the same whatever the prevalence of spoofs.

    The thresholds of both systems are where three rates are equal: that of rejected targets,
    ``Pmiss_cm + (1 - Pmiss_cm) Pmiss_asv``, of accepted non-targets, ``(1 - Pmiss_cm) Pfa_asv``, and of
    accepted spoofs, ``Pfa_cm Pfa_spoof``. Error rates go in straight lines between thresholds at the
    scores of targets (ASV) and at all scores (CM), ties pooled. :func:`t_eer_nearest` takes
    observed thresholds as the organizers do.

    Parameters
    ----------
    trials
        The trials.

    References
    ----------
    Kinnunen, Lee, Tak, Evans & Nautsch, "t-EER: parameter-free tandem evaluation of countermeasures and
    biometric comparators", IEEE TPAMI 46, 2024.

    Examples
    --------
    >>> trials = SpoofTrials({"asv": [3.0, 2.0, -1.0, 2.5], "cm": [1.0, 2.0, 3.0, -1.0],
    ...                       "label": ["target", "target", "nontarget", "spoof"]})
    >>> t_eer(trials)
    0.0
    """
    cm = error_path(count_bins(cm_source(trials)))
    return t_eer_from_bins(count_kinds(trials, "asv").bins(), cm).t_eer


def t_eer_from_bins(asv: KindBins, cm: ErrorPath) -> TandemPoint:
    """The concurrent t-EER of counted ASV scores and the errors of the CM system."""
    path = asv.path()
    if not all(asv.n):
        raise InputError("the t-EER needs targets, non-targets and spoofs with ASV scores")
    countermeasure = CmRoc.of(cm)
    # from the equal error rate of the ASV system on, it alone rejects targets too often
    end = int(np.argmax(path.p_miss >= path.p_fa))
    rates = np.stack([rate[: end + 1] for rate in (path.p_miss, path.p_fa, path.p_fa_spoof)])
    if end > 0:
        crossed = _crossing_between(rates[:, end - 1], rates[:, end])
        rates = np.column_stack([rates[:, :end], crossed])
    else:
        rates = rates[:, :1]
    gaps = _gap_of_tandem(rates, countermeasure)
    # from "all pass the ASV system" on; where the CM system alone does worse, its rates are equal first
    changes = np.flatnonzero((gaps[:-1] > 0.0) & (gaps[1:] <= 0.0))
    if gaps[0] <= 0.0:
        return _tandem_point(rates[:, 0], countermeasure)
    if len(changes) == 0:  # spoofs are no danger: targets and non-targets alone decide
        return _tandem_point(rates[:, -1], countermeasure)
    roots = (_root_of_gap(rates[:, i], rates[:, i + 1], countermeasure) for i in changes)
    return min((_tandem_point(root, countermeasure) for root in roots), key=lambda point: point.t_eer)


def _cm_miss(rates: FloatArray) -> FloatArray:
    """The miss rate of the CM system at which rejected targets are as frequent as accepted non-targets."""
    ahead = np.maximum(rates[1] - rates[0], 0.0)
    return np.asarray(ahead / (1.0 + ahead))


@dataclass(frozen=True, eq=False)
class CmRoc:
    """The ROC of the CM system: one false-alarm rate for each miss rate, the lowest where it is steep."""

    p_miss: FloatArray
    p_fa: FloatArray

    @classmethod
    def of(cls, path: ErrorPath) -> CmRoc:
        """From all of its vertices."""
        last = np.append(path.n_miss[1:] != path.n_miss[:-1], True)
        return cls(path.p_miss[last], path.p_fa[last])

    def false_alarms(self, p_miss: FloatArray) -> FloatArray:
        """False-alarm rate at these miss rates."""
        return np.asarray(np.interp(p_miss, self.p_miss, self.p_fa))


def _gap_of_tandem(rates: FloatArray, cm: CmRoc) -> FloatArray:
    """Accepted non-targets less accepted spoofs, where rejected targets are as frequent as the first."""
    p_miss = _cm_miss(rates)
    return np.asarray((1.0 - p_miss) * rates[1] - cm.false_alarms(p_miss) * rates[2])


def _root_of_gap(start: FloatArray, stop: FloatArray, cm: CmRoc) -> FloatArray:
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        at = start + middle * (stop - start)
        if _gap_of_tandem(at[:, None], cm)[0] > 0.0:
            low = middle
        else:
            high = middle
    return np.asarray(start + high * (stop - start))


def _crossing_between(start: FloatArray, stop: FloatArray) -> FloatArray:
    before, after = start[1] - start[0], stop[0] - stop[1]
    share = before / (before + after) if before + after > 0.0 else 0.0
    return np.asarray(start + share * (stop - start))


def _tandem_point(rates: FloatArray, cm: CmRoc) -> TandemPoint:
    p_miss_cm = float(_cm_miss(rates))
    p_fa_cm = float(cm.false_alarms(np.array([p_miss_cm]))[0])
    missed = p_miss_cm + (1.0 - p_miss_cm) * float(rates[0])
    p_miss, p_fa, p_fa_spoof = rates.tolist()
    return TandemPoint(missed, p_miss, p_fa, p_fa_spoof, p_miss_cm, p_fa_cm)


@takes(trials=SpoofTrials)
def t_eer_paths(trials: SpoofTrials, prevalences: Sequence[float] = (0.0, 0.5, 1.0)) -> list[TandemEerPath]:
    """For each prevalence of spoofs, the tandem's equal error rate at every threshold of the ASV system.

    At a threshold of the ASV system, that of the CM system is chosen so that rejected targets are as frequent
    as accepted others, of which ``prevalence`` are spoofs. Paths of all prevalences meet in the concurrent
    t-EER. ASV thresholds that reject more targets than they accept others have no such point.

    Parameters
    ----------
    trials
        The trials.
    prevalences
        Shares of spoofs among the trials that should be rejected.

    Examples
    --------
    >>> trials = SpoofTrials({"asv": [3.0, 2.0, -1.0, 2.5], "cm": [1.0, 2.0, 3.0, -1.0],
    ...                       "label": ["target", "target", "nontarget", "spoof"]})
    >>> [path.min for path in t_eer_paths(trials, (0.0, 1.0))]
    [0.0, 0.0]
    """
    asv = count_kinds(trials, "asv").bins().path()
    cm = error_path(count_bins(cm_source(trials)))
    rates = np.stack([asv.p_miss, asv.p_fa, asv.p_fa_spoof])
    for prevalence in prevalences:
        if not 0.0 <= prevalence <= 1.0:
            raise InputError(f"prevalence must be between 0 and 1, got {prevalence!r}")
    return [_tandem_eer_path(rates, asv.threshold, cm, float(prevalence)) for prevalence in prevalences]


def _tandem_eer_path(
    rates: FloatArray, thresholds: FloatArray, cm: ErrorPath, prevalence: float
) -> TandemEerPath:
    accepted = (1.0 - prevalence) * rates[1] + prevalence * rates[2]
    kept = rates[0] <= accepted
    m, f, s = rates[:, kept]

    def gap(vertex: IntArray) -> FloatArray:
        p_miss, p_fa = cm.p_miss[vertex], cm.p_fa[vertex]
        missed = p_miss + (1.0 - p_miss) * m
        return np.asarray(missed - (1.0 - prevalence) * (1.0 - p_miss) * f - prevalence * p_fa * s)

    # the gap rises along the path of the CM system: the first vertex where it is not negative
    low, high = np.zeros(len(m), dtype=np.intp), np.full(len(m), len(cm.threshold) - 1, dtype=np.intp)
    while (low < high).any():
        middle = (low + high) // 2
        over = gap(middle) >= 0.0
        high, low = np.where(over, middle, high), np.where(over, low, np.minimum(middle + 1, high))
    before = np.maximum(low - 1, 0)
    below, above = -gap(before), gap(low)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where((low > 0) & (below + above > 0.0), below / (below + above), 1.0)
    p_miss = cm.p_miss[before] + share * (cm.p_miss[low] - cm.p_miss[before])
    return TandemEerPath(prevalence, thresholds[kept], cm.threshold[low], p_miss + (1.0 - p_miss) * m)
