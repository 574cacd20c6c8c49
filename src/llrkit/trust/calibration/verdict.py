"""The verdict on LLRs, in words that the trials bear: the only one, wherever it is shown."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

from llrkit._format import p_at_level
from llrkit._llr_units import Amount, LlrUnit, in_unit
from llrkit._plain import Json
from llrkit.metrics.identity_test import FEWEST, IdentityTest, detectable, misleading_p_value
from llrkit.metrics.measurements import Measurements
from llrkit.metrics.separation import Separation, reversed_text, separation
from llrkit.trust.calibration.recalibration_line import Recalibration
from llrkit.trust.calibration.scale_and_offset_test import CalibrationTest, check_cells
from llrkit.trust.intervals.influence_functions import LARGEST_LOSS

LEVEL = 0.03
PART_LEVEL = SHAPE_LEVEL = 0.01
SIDES = {"target": "targets", "nontarget": "non-targets"}
"""The words of a text for a ``kind``: texts are in NIST's words, which vocabularies translate."""
WRONG_WAY = "pointing the wrong way: higher LLRs belong to non-targets"
INDEPENDENT = ", if trials are independent"
TELLING_AUC = 0.75
"""A set that could not even tell this AUC from 1/2 is too small to say that scores are uninformative."""

BEYOND_DOUBT = 1e-6
"""A chance of so misleading an LLR that condemns it whatever the test says, whose error it may swell."""

ENOUGH = 10.0
"""Effective trials from which on the power of the test can be predicted."""
LARGEST_FACTOR = 3.0
"""Beyond this the straight-line approximation of the power is no longer right."""

FLAT = 1e-6
"""A slope below this is none: its factor and offset have no size."""

OUTCOMES = ("evidence", "none_found", "too_few", "reversed", "uninformative", "infinite")


@dataclass(frozen=True)
class Verdict:
    """What is wrong with scores read as LLRs, as far as the trials can tell.

    The outcome is ``"evidence"`` of miscalibration; ``"none_found"``, which is no proof of calibration;
    ``"too_few"`` trials to tell; ``"reversed"`` scores; ``"uninformative"`` ones, which do not tell the
    classes apart; or ``"infinite"``, an infinite (or nearly infinite) LLR for the wrong side.
    """

    outcome: str
    p_value: float
    """Of the test of scale and offset, or of shape if that is what is wrong; nan if none was made."""
    level: float
    kind: str
    """What is wrong: ``"over-confident"``, ``"under-confident"``, ``"target"``, ``"nontarget"``
    (biased towards it), two of them joined by ``" and "``, or ``"shape"``; empty unless there is evidence."""
    text: str
    """LLRs in it are in nats."""
    amounts: tuple[Amount, ...] = ()
    """The LLRs in the text, in their order."""

    def __str__(self) -> str:
        return self.text

    @property
    def sentence(self) -> str:
        """The text as a sentence of its own."""
        end = "" if self.text.endswith("?") else "."
        return f"{self.text[0].upper()}{self.text[1:]}{end}"

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers and words."""
        plain = asdict(self) | {"p_value": None if math.isnan(self.p_value) else self.p_value}
        del plain["amounts"]
        return plain

    def in_unit(self, unit: LlrUnit) -> Verdict:
        """The same verdict with the LLRs of its text in another unit.

        Examples
        --------
        >>> from llrkit._llr_units import LOG10
        >>> offset = Amount(0.8123, ".1f")
        >>> found = Verdict("evidence", 0.001, 0.03, "target", f"biased by {offset}", (offset,))
        >>> found.in_unit(LOG10).text
        'biased by 0.4 in log10 LR'
        """
        return replace(self, text=in_unit(self.text, self.amounts, unit)) if self.amounts else self


def separation_of(result: Measurements, auc_error: float = 0.0) -> Separation:
    """Whether the scores tell the classes apart; a standard error of the AUC may be known to be larger."""
    apart = separation(result.summaries.ranking, result.auc)
    return Separation(apart.auc, max(apart.standard_error, auc_error))


def judge(
    result: Measurements,
    tested: CalibrationTest | None = None,
    *,
    p_shape: float | None = None,
    level: float = LEVEL,
    auc_error: float = 0.0,
    sensitivity: bool = True,
) -> Verdict:
    """The verdict on a set of trials.

    Scale and offset are tested together at ``level`` (:mod:`llrkit.metrics.identity_test`). If they are
    wrong, those of the two that are wrong by themselves at 1 % are named, or else the one that is further
    off. If they are not, a Cllr - min Cllr beyond 99 % of its null distribution (``p_shape``) says that the
    LLRs are off in another way.

    Parameters
    ----------
    tested
        The test, where it takes more than the counts of the evaluation: with speakers.
    auc_error
        Standard error of the AUC, if it is known to be larger than that of independent trials.
    sensitivity
        Whether the words say which errors would have been found, where none was.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> target, nontarget = lk.theory.GaussianLLR.from_eer(0.05).rvs(500, 5000, np.random.default_rng(1))
    >>> judge(lk.evaluate(lk.Scores(2 * target, 2 * nontarget))).text
    'over-confident by a factor 1.9 (p < 0.0001 at a level of 3 %, if trials are independent)'
    """
    apart = separation_of(result, auc_error)
    if apart.reversed:
        text = f"reversed: {reversed_text(result.summaries.bins, result.auc)}"
        return Verdict("reversed", math.nan, level, "", text)
    if math.isinf(result.cllr):
        text = "unusable as LLRs: at least one trial has an infinite LLR for the wrong side"
        return Verdict("infinite", math.nan, level, "", text)
    if result.cllr >= LARGEST_LOSS:
        text = "unusable as LLRs: no evidence is as strong as the wrong ones of them"
        return Verdict("infinite", math.nan, level, "", text)
    if apart.none and apart.would_show < TELLING_AUC:
        low, high = result.moments.extremes
        why = (
            "all scores are the same"
            if low == high and not result.moments.n_infinite
            else f"the AUC of {result.auc:.3f} cannot be distinguished from 0.5 "
            f"(one of {apart.would_show:.3f} could)"
        )
        text = f"uninformative: {why}; are these the right labels and scores?"
        return Verdict("uninformative", math.nan, level, "", text)
    tested = tested or check_cells(result)
    if tested.test.n_effective < FEWEST:
        return _verdict_on_few_doubts(result, tested, level)
    given = "" if tested.by_speaker else INDEPENDENT
    p = tested.test.p_value
    if p < level:
        kind, text, *amounts = _what_is_wrong(tested.line, tested.test, _gap_of_llrs(result))
        said = f"{text} ({p_at_level(p, level)}{given})"
        return Verdict("evidence", p, level, kind, said, tuple(amounts))
    p_strongest = _p_of_strongest_wrong(result)
    if p_strongest < BEYOND_DOUBT:
        strongest = _strongest_wrong(result)
        text = f"over-confident: an LLR of {strongest} for the wrong side ({p_at_level(p_strongest, level)})"
        return Verdict("evidence", p_strongest, level, "over-confident", text, (strongest,))
    if p_shape is not None and p_shape <= SHAPE_LEVEL:
        text = "miscalibrated, but neither by a factor nor by an offset: look at the curves"
        return Verdict(
            "evidence", p_shape, level, "shape", f"{text} ({p_at_level(p_shape, SHAPE_LEVEL)}{given})"
        )
    text = f"no evidence of miscalibration ({p_at_level(p, level)}{given})"
    if not sensitivity:
        return Verdict("none_found", p, level, "", text)
    finds, *amounts = _sensitivity_of_test(tested, level)
    return Verdict("none_found", p, level, "", f"{text}; {finds}", tuple(amounts))


def _sensitivity_of_test(tested: CalibrationTest, level: float) -> tuple[str, *tuple[Amount, ...]]:
    """What size of error the test finds in such sets, and the LLRs in these words."""
    if tested.test.n_effective < ENOUGH:
        return ("so few trials are in doubt that only a large error would have been found",)
    factor, offset = detectable(tested.null, tested.test, level)
    amount = Amount(offset)
    found = f"an offset of {amount} would have been found in about 80 % of such sets"
    if factor < LARGEST_FACTOR:
        return f"a factor {factor:.2f} or {found}", amount
    return f"{found}, but no factor up to {LARGEST_FACTOR:.0f}", amount


def _verdict_on_few_doubts(result: Measurements, tested: CalibrationTest, level: float) -> Verdict:
    """Hardly a trial is in doubt: all that can be wrong is an LLR that no calibrated system would give."""
    p = _p_of_strongest_wrong(result)
    if p < level:
        kind, text, *amounts = _what_is_wrong(tested.line, tested.test, _gap_of_llrs(result))
        strongest = _strongest_wrong(result)
        text = f"{text} ({p_at_level(p, level)}: an LLR of {strongest} for the wrong side)"
        return Verdict("evidence", p, level, kind, text, (*amounts, strongest))
    text = (
        "too few trials to tell whether the LLRs are calibrated: only difficult trials, whose LLR is close "
        f"to 0, can show it; these {result.n_target + result.n_nontarget:,} trials are worth "
        f"{tested.test.n_effective:.1f} of them, and at least {FEWEST:.0f} are needed"
    )
    return Verdict("too_few", math.nan, level, "", text)


def _p_of_strongest_wrong(result: Measurements) -> float:
    """Bound on the chance of an LLR as misleading as the worst one; it holds for dependent trials too."""
    return misleading_p_value(*_gap_of_llrs(result), result.n_target, result.n_nontarget)


def _strongest_wrong(result: Measurements) -> Amount:
    return Amount(max(_gap_of_llrs(result)[0], -_gap_of_llrs(result)[1]), ".4g")


def _gap_of_llrs(result: Measurements) -> tuple[float, float]:
    """The highest LLR of non-targets and the lowest of targets."""
    return float(result.moments.nontarget.high[0]), float(result.moments.target.low[0])


def _what_is_wrong(
    line: Recalibration | None, test: IdentityTest, gap: tuple[float, float]
) -> tuple[str, str, *tuple[Amount, ...]]:
    """Kind and text of what is wrong, given that something is, and the LLRs in the text."""
    return _wrong_without_line(test, gap) if line is None else _wrong_with_line(line)


def _wrong_with_line(line: Recalibration) -> tuple[str, str, *tuple[Amount, ...]]:
    if abs(line.a) < FLAT:
        return "over-confident", "over-confident without limit: the best straight line is flat"
    tests = {"factor": line.p_factor, "bias": line.p_bias}
    named = [name for name, p in tests.items() if p <= PART_LEVEL] or [min(tests, key=tests.__getitem__)]
    parts, words = [], []
    if "factor" in named:
        over = line.factor > 1.0 or line.factor < 0.0
        parts.append("over-confident" if over else "under-confident")
        if line.a <= 0.0:
            words.append(WRONG_WAY)
        else:
            words.append(f"{parts[-1]} by a factor {max(line.factor, 1.0 / line.factor):.1f}")
    if "bias" in named:
        parts.append("target" if line.bias > 0.0 else "nontarget")
        bias = Amount(abs(line.bias), ".1f")
        words.append(f"biased towards {SIDES[parts[-1]]} by {bias}")
        return " and ".join(parts), " and ".join(words), bias
    return " and ".join(parts), " and ".join(words)


def _wrong_without_line(test: IdentityTest, gap: tuple[float, float]) -> tuple[str, str]:
    """The classes do not overlap: what is wrong, but not by how much."""
    slope, offset = test.gradient
    if gap[0] <= 0.0 <= gap[1] and abs(slope) >= abs(offset):
        kind = text = "under-confident" if slope < 0.0 else "over-confident"
    else:  # an offset would make all decisions at 0 right, or help more than a factor
        kind = "target" if offset > 0.0 else "nontarget"
        text = f"biased towards {SIDES[kind]}"
    return kind, f"{text}; the classes do not overlap, so the size cannot be estimated from these trials"
