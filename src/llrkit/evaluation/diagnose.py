"""diagnose(): what the scores look like, in words and numbers, and which methods fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from llrkit.calibrate.affine.cmlg import shape_problems, shape_statistics
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.result import Evaluation
from llrkit.scores import ScoreSource
from llrkit.theory import GaussianLLR


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the scores look like, and what follows for calibration."""

    evaluation: Evaluation
    shape: dict[str, float]
    problems: tuple[str, ...]
    """In words, what is unlike calibrated Gaussian LLRs."""
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
            f"DET slope {e.det_slope.slope:.2f}, min Cllr {e.min_cllr:.4f} "
            f"(Gaussian LLRs with this EER would have {self.cllr_from_eer:.4f})"
        )
        for name in ("target", "nontarget"):
            skew, kurtosis = self.shape[f"skewness_{name}"], self.shape[f"kurtosis_{name}"]
            lines.append(f"{name:<9} scores: skewness {skew:+.2f}, excess kurtosis {kurtosis:+.2f}")
        lines.append(f"spread of non-target over target scores: {self.shape['sd_ratio']:.2f}")
        lines += [f"! {problem}" for problem in self.problems]
        lines += [f"{'use' if good else 'avoid':<5} {name:<10} {why}" for name, good, why in self.advice]
        return "\n".join(lines)


def diagnose(source: ScoreSource) -> Diagnosis:
    """Say what the scores look like and which calibrators suit them.

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
    slope = result.det_slope.slope
    if abs(slope + 1.0) > 0.25:
        problems.append(f"the DET slope is {slope:.2f}, not -1")
    separable = result.eer == 0.0
    few = min(result.n_target, result.n_nontarget) < 100
    return Diagnosis(
        evaluation=result,
        shape=shape_statistics(result.moments),
        problems=tuple(problems),
        advice=tuple(_advice(result, problems, separable, few)),
        cllr_from_eer=GaussianLLR.from_eer(result.eer).cllr
        if 0.0 < result.eer < 0.5
        else float(result.eer > 0),
    )


def _advice(
    result: Evaluation, problems: list[str], separable: bool, few: bool
) -> list[tuple[str, bool, str]]:
    unequal = any("spread" in problem or "DET slope" in problem for problem in problems)
    many = min(result.n_target, result.n_nontarget) >= 1000
    shaped = any("skew" in problem or "kurtosis" in problem for problem in problems)
    return [
        (
            "cmlg",
            not problems,
            "see the lines above" if problems else "both classes look Gaussian with the same spread",
        ),
        (
            "logistic",
            not separable,
            "the classes do not overlap: give regularization=0.01"
            if separable
            else "assumes only that the LLR is a straight line of the score",
        ),
        (
            "gaussian",
            unequal and not shaped,
            "the classes look Gaussian with different spreads"
            if unequal and not shaped
            else ("the classes are not Gaussian" if shaped else "the spreads are the same: no need for it"),
        ),
        (
            "nig",
            shaped and not few,
            "skewed or heavy-tailed classes" if shaped else "no need for skewed or heavy-tailed densities",
        ),
        (
            "bayes",
            few and not shaped,
            "few trials: shrinks where the data say little"
            if few and not shaped
            else ("the classes are not Gaussian" if shaped else "enough trials: no need for it"),
        ),
        (
            "pav",
            many,
            "enough trials to let the data speak" if many else "too few trials: it would follow the noise",
        ),
    ]
