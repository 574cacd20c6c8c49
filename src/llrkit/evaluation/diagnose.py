"""diagnose(): what the scores look like, in words and numbers, and which methods fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from llrkit._format import agreeing, counted, number
from llrkit._plain import Json
from llrkit._results import Result
from llrkit.calibrate.affine.gaussian_tests import shape_problems, shape_statistics
from llrkit.calibrate.tied_scores import TiedScores
from llrkit.evaluation.advice import (
    FEW,
    advice_for,
    is_separable,
    overlap_problems,
    short_class,
)
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.gaussian_check import GaussianCheck, check_from_moments, check_trials
from llrkit.evaluation.tied_advice import advice_for_ties, cost_of_ties
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.theory import GaussianLLR
from llrkit.theory.presets import AnyPoint, cost_of


@dataclass(frozen=True, eq=False)
class Diagnosis(Result):
    """What the scores look like, and what follows for calibration."""

    evaluation: Evaluation
    """Metrics of the scores as they are."""
    shape: dict[str, float]
    """Skewness, excess kurtosis and the ratio of the spreads, by name."""
    problems: tuple[str, ...]
    """In words, what is unlike Gaussian scores of equal spread, or keeps the trials from showing it."""
    advice: tuple[tuple[str, bool, str], ...]
    """Method, whether it is advised, and why."""
    cllr_from_eer: float
    """The Cllr that Gaussian LLRs with this EER would have."""
    notes: tuple[str, ...] = ()
    """In words, what was noticed and speaks against no method."""
    check: GaussianCheck = field(default_factory=GaussianCheck)
    """Tests of two Gaussians of equal spread, and what CMLG costs beside logistic regression."""

    def advised(self, method: str) -> bool:
        """Whether a method is advised for these scores.

        Parameters
        ----------
        method
            Name of the calibrator.
        """
        return {name: good for name, good, _ in self.advice}[method]

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers and sentences."""
        return {
            "n_target": self.evaluation.n_target,
            "n_nontarget": self.evaluation.n_nontarget,
            "eer": self.evaluation.eer,
            "cllr": self.evaluation.cllr,
            "min_cllr": self.evaluation.min_cllr,
            "cllr_from_eer": self.cllr_from_eer,
            "det_slope": self.evaluation.det_slope.slope,
            **self.shape,
            **self.check.to_dict(),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "advice": [{"method": name, "advised": good, "why": why} for name, good, why in self.advice],
        }

    def __repr__(self) -> str:
        e, lines = self.evaluation, []
        lines.append(
            f"{e.n_target:,} target and {e.n_nontarget:,} non-target trials, EER {100 * e.eer:.2f} %"
        )
        lines.append(
            f"DET slope {number(e.det_slope.slope, 2)}, min Cllr {e.min_cllr:.4f} "
            f"(Gaussian LLRs with this EER would have {self.cllr_from_eer:.4f})"
        )
        for name in ("target", "nontarget"):
            skew, kurtosis = self.shape[f"skewness_{name}"], self.shape[f"kurtosis_{name}"]
            lines.append(f"{name:<9} scores: skewness {skew:+.2f}, excess kurtosis {kurtosis:+.2f}")
        lines.append(f"spread of non-target over target scores: {self.shape['sd_ratio']:.2f}")
        lines += self.check.lines()
        lines += self.notes
        lines += [f"! {problem}" for problem in self.problems]
        reasons = {why for _, _, why in self.advice}
        if len(reasons) == 1 and not any(good for _, good, _ in self.advice):
            return "\n".join([*lines, f"no method is advised yet; {reasons.pop()}"])
        lines += [f"{'use' if good else 'avoid':<5} {name:<10} {why}" for name, good, why in self.advice]
        return "\n".join(lines)


@takes_labels
def diagnose(source: ScoreSource, *, point: AnyPoint | None = None) -> Diagnosis:
    """Describe the scores and say which calibrators suit them.

    Skewness, excess kurtosis, the ratio of the spreads and the slope of the DET are compared with limits,
    see ``shape_problems`` and ``advice``. The
    shape of a class with fewer than 100 trials is not judged. Classes that do not overlap fit any slope that
    is steep enough. The shares of clipped, saturated and tied scores are reported; if a straight line loses
    to PAV because of them, on trials left out, PAV or another scale is advised.

    The Gaussian assumption of CMLG is tested (``gaussian_tests``;
    one Gaussian pair against a mixture by the gain in likelihood), and what it costs is measured on the
    trials: Cllr of CMLG and of logistic regression, and with ``point`` their costs there. A DET with a slope
    of -1 does not replace that: every increasing map of the scores has the same DET.

    Parameters
    ----------
    point
        The operating point of the decision, if there is one.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.05)
    >>> target, nontarget = model.rvs(3000, 30000, np.random.default_rng(1))
    >>> diagnosis = lk.diagnose(lk.Scores(3 * target + 7, 3 * nontarget + 7))
    >>> diagnosis.problems, diagnosis.advised("cmlg")
    ((), True)
    """
    cost = None if point is None else cost_of(point)
    result, tied = evaluate(source), TiedScores.of_source(source)
    check = check_trials(source, result.moments, cost) if can_be_checked(result) else None
    diagnosis = diagnosis_of(result, check, tied=tied)
    if cost is None or (check is not None and check.costs is not None):
        return diagnosis
    why = short_class(result, FEW) or "see the lines below"
    more = f"CMLG and logistic regression are not compared at {cost.name}: {why}"
    return replace(diagnosis, notes=(*diagnosis.notes, more))


def can_be_checked(result: Evaluation) -> bool:
    """Whether the trials show the shape of both classes: enough of each, finite, and overlapping."""
    finite = not (result.moments.target.n_infinite or result.moments.nontarget.n_infinite)
    return (
        finite
        and not (is_separable(result) or short_class(result, FEW))
        and all(math.isfinite(value) for value in shape_statistics(result.moments).values())
    )


def diagnosis_of(
    result: Evaluation, check: GaussianCheck | None = None, *, tied: TiedScores | None = None
) -> Diagnosis:
    """What follows from an evaluation without another look at the trials, unless they were checked.

    ``tied`` says which scores occur often, where they were counted.
    """
    line = check.costs.cllr_logistic if check is not None and check.costs is not None else _line_cllr(result)
    if check is None:
        check = check_from_moments(result.moments) if can_be_checked(result) else GaussianCheck()
    problems = shape_problems(result.moments)
    if result.verdict.outcome in ("reversed", "uninformative"):
        problems.insert(0, f"the scores are {result.verdict.text}")
    problems[:0] = result.suspicions
    infinite = int(result.moments.n_infinite)
    if infinite:
        are = agreeing(infinite, "is", "are")
        problems.append(f"{counted(infinite, 'score')} {are} infinite, which no fit accepts")
    if any(math.isnan(value) for value in shape_statistics(result.moments).values()):
        problems.append("the scores are too large for their moments to be computed")
    problems += overlap_problems(result)
    problems += check.problems(min(result.n_target, result.n_nontarget))
    # PAV does not mind what tied scores are, but which way they point
    may_follow_ties = not (is_separable(result) or result.verdict.outcome in ("reversed", "uninformative"))
    cost = cost_of_ties(line, result.summaries.blocks) if may_follow_ties else None
    told = tied.sentences() if tied is not None else []
    if told and cost is not None:
        told.append(cost.sentence)
    costly = cost is None or cost.measurable
    problems += told if costly else []
    return Diagnosis(
        evaluation=result,
        shape=shape_statistics(result.moments),
        problems=tuple(problems),
        advice=tuple(advice_for_ties(tied if may_follow_ties else None, cost, advice_for(result, problems))),
        cllr_from_eer=GaussianLLR.from_eer(result.eer).cllr
        if 0.0 < result.eer < 0.5
        else float(result.eer > 0),
        notes=() if costly else tuple(told),
        check=check,
    )


def _line_cllr(result: Evaluation) -> float | None:
    """Cllr of the best straight line from the cells of the evaluation, where these are narrow enough."""
    line = result.best_line if result.loss_split is not None else None
    return None if line is None else line.cllr
