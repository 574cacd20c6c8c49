"""diagnose(): what the scores look like, in words and numbers, and which methods fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from llrkit._format import number
from llrkit.calibrate.affine.cmlg import shape_problems, shape_statistics
from llrkit.evaluation.advice import advice_for, overlap_problems
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.result import Evaluation
from llrkit.scores import ScoreSource
from llrkit.scores.labeled import takes_labels
from llrkit.theory import GaussianLLR


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the scores look like, and what follows for calibration."""

    evaluation: Evaluation
    shape: dict[str, float]
    problems: tuple[str, ...]
    """In words, what is unlike Gaussian scores of equal spread, or keeps the trials from showing it."""
    advice: tuple[tuple[str, bool, str], ...]
    """Method, whether it is advised, and why."""
    cllr_from_eer: float
    """The Cllr that Gaussian LLRs with this EER would have."""

    def advised(self, method: str) -> bool:
        """Whether a method is advised for these scores."""
        return {name: good for name, good, _ in self.advice}[method]

    def to_dict(self) -> dict[str, Any]:
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
            "problems": list(self.problems),
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
        lines += [f"! {problem}" for problem in self.problems]
        lines += [f"{'use' if good else 'avoid':<5} {name:<10} {why}" for name, good, why in self.advice]
        return "\n".join(lines)


@takes_labels
def diagnose(source: ScoreSource) -> Diagnosis:
    """Say what the scores look like and which calibrators suit them.

    Skewness, excess kurtosis, the ratio of the spreads and the slope of the DET are compared with limits, see
    :func:`llrkit.calibrate.affine.cmlg.shape_problems` and :mod:`llrkit.evaluation.advice`. The shape of
    a class with fewer than 100 trials is not judged. Classes that do not overlap fit any slope that is steep
    enough.

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
    return diagnosis_of(evaluate(source))


def diagnosis_of(result: Evaluation) -> Diagnosis:
    """What follows from an evaluation, without another look at the trials."""
    problems = shape_problems(result.moments)
    if result.verdict.outcome in ("reversed", "uninformative"):
        problems.insert(0, f"the scores are {result.verdict.text}")
    infinite = int(result.moments.target.n_infinite + result.moments.nontarget.n_infinite)
    if infinite:
        problems.append(f"{infinite:,} scores are infinite, which no fit accepts")
    if any(math.isnan(value) for value in shape_statistics(result.moments).values()):
        problems.append("the scores are too large for their moments to be computed")
    problems += overlap_problems(result)
    return Diagnosis(
        evaluation=result,
        shape=shape_statistics(result.moments),
        problems=tuple(problems),
        advice=tuple(advice_for(result, problems)),
        cllr_from_eer=GaussianLLR.from_eer(result.eer).cllr
        if 0.0 < result.eer < 0.5
        else float(result.eer > 0),
    )
