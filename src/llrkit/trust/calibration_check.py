"""Whether LLRs are calibrated: the tests, the loss, the verdict, and its words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from llrkit.base.arguments import RNG, seed_of, yes_or_no
from llrkit.base.text import Json, agreeing, chance, counted, number, p_at_level, p_words
from llrkit.core.histograms import DensityGrid
from llrkit.core.numerics import probability
from llrkit.metrics.costs import cross_entropy
from llrkit.metrics.discrimination import Separation, reversed_text, separation
from llrkit.metrics.loss_parts import FEWEST, detectable, misleading_p_value
from llrkit.metrics.measure import Measurements, measure
from llrkit.results.result import Result
from llrkit.results.vocabulary import NATS, Amount, LlrUnit, in_unit
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.trust import identity_tests
from llrkit.trust.influence import LARGEST_LOSS
from llrkit.trust.null import (
    JUDGED_CELLS,
    LOSSES,
    CalibrationNull,
    JudgedCells,
    LlrCurve,
    dev_pav_from_blocks,
    llr_curves,
    losses_of_counts,
    null_like,
)
from llrkit.trust.recalibration_line import Recalibration, cross_validated_loss
from llrkit.trust.speakers import SpeakerCells, find_speakers

if TYPE_CHECKING:
    from llrkit.fits.folds import Fit
    from llrkit.maps.map import Map


@dataclass(frozen=True)
class CalibrationLoss(Result):
    """A metric of scores as they are and after cross-validated calibration.

    Examples
    --------
    >>> CalibrationLoss(raw=0.5, calibrated=0.4).relative
    0.19999999999999996
    """

    raw: float
    """The metric of the scores as they are."""
    calibrated: float
    """The metric after cross-validated calibration."""

    @property
    def loss(self) -> float:
        """The part of the metric lost to calibration; slightly below zero if nothing is lost."""
        return self.raw - self.calibrated

    @property
    def relative(self) -> float:
        """The share of the metric that is lost to calibration."""
        return self.loss / self.raw


def calibration_loss(
    source: AnyTrials,
    labels: Labels | None = None,
    method: str | Fit[Map] = "logistic",
    *,
    groups: str | Sequence[str] | None = None,
    folds: int | str = 5,
    prior: float = 0.5,
    rng: RNG = 0,
    **options: Any,
) -> CalibrationLoss:
    """What calibrating the LLRs again would gain, by cross-validation (Ferrer & Ramos 2025).

    Unlike Cllr - min Cllr it is not too large by construction: for calibrated LLRs it is a little below
    zero, which is what fitting a map costs.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    method, **options
        The calibrator that is cross-validated, and its options.
    groups
        Columns with the speakers: folds keep them apart, see :func:`llrkit.cross_calibrate`.
    folds
        Number of folds of the cross-validation.
    prior
        Where the cross-entropy is taken, normalized by that of the prior; Cllr at 1/2.
    rng
        Seed of the random numbers; the same seed gives the same result.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.1)
    >>> target, nontarget = model.rvs(1000, 5000, np.random.default_rng(1))
    >>> gain = lk.trust.calibration_loss(lk.Scores(2 * target, 2 * nontarget))
    >>> round(gain.raw, 3), round(gain.calibrated, 3), f"{100 * gain.relative:.0f} %"
    (0.452, 0.359, '21 %')
    """
    source = as_source(source, labels)
    seed = seed_of(rng)
    from llrkit.fits.best import cross_calibrate  # an evaluation fits nothing and need not load the fits

    crossed = cross_calibrate(source, method=method, groups=groups, folds=folds, rng=seed, **options)
    return CalibrationLoss(cross_entropy(source, prior=prior), cross_entropy(crossed.source, prior=prior))


# of the test of slope and offset together; its two parts and the shape are judged more strictly (how often
# calibrated LLRs are rejected: docs/notes/calibration-check-measured.md)
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
        >>> from llrkit.results.vocabulary import LOG10
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
    tested: identity_tests.CalibrationTest | None = None,
    *,
    p_shape: float | None = None,
    level: float = LEVEL,
    auc_error: float = 0.0,
    sensitivity: bool = True,
) -> Verdict:
    """The verdict on a set of trials.

    Scale and offset are tested together at ``level`` (:mod:`llrkit.metrics.loss_parts`). If they are
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
    # from what makes any further test meaningless to what only the tests can show
    apart = separation_of(result, auc_error)
    if apart.reversed:
        text = f"reversed: {reversed_text(result.summaries.bins, result.auc)}"
        return Verdict("reversed", math.nan, level, "", text)
    if result.cllr >= LARGEST_LOSS:
        why = "no evidence is as strong as the wrong ones of them"
        if math.isinf(result.cllr):
            why = "at least one trial has an infinite LLR for the wrong side"
        return Verdict("infinite", math.nan, level, "", f"unusable as LLRs: {why}")
    # a small set cannot show that scores say nothing; it goes on to the tests, which say what it lacks
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
    tested = tested or identity_tests.check_cells(result)
    # the highest LLR of non-targets and the lowest of targets
    gap = float(result.moments.nontarget.high[0]), float(result.moments.target.low[0])
    strongest = Amount(max(gap[0], -gap[1]), ".4g")
    # bounds the chance of an LLR as misleading as the worst one; it holds for dependent trials too
    p_strongest = misleading_p_value(*gap, result.n_target, result.n_nontarget)
    if tested.test.n_effective < FEWEST:
        # hardly a trial is in doubt: all that can be wrong is an LLR that no calibrated system would give
        if p_strongest < level:
            kind, text, *amounts = _what_is_wrong(tested, gap)
            text = f"{text} ({p_at_level(p_strongest, level)}: an LLR of {strongest} for the wrong side)"
            return Verdict("evidence", p_strongest, level, kind, text, (*amounts, strongest))
        text = (
            "too few trials to tell whether the LLRs are calibrated: only difficult trials, whose LLR is "
            f"close to 0, can show it; these {result.n_target + result.n_nontarget:,} trials are worth "
            f"{tested.test.n_effective:.1f} of them, and at least {FEWEST:.0f} are needed"
        )
        return Verdict("too_few", math.nan, level, "", text)
    given = "" if tested.by_speaker else INDEPENDENT
    p = tested.test.p_value
    if p < level:
        kind, text, *amounts = _what_is_wrong(tested, gap)
        said = f"{text} ({p_at_level(p, level)}{given})"
        return Verdict("evidence", p, level, kind, said, tuple(amounts))
    # one extreme LLR swells the variance of the test that should find it
    if p_strongest < BEYOND_DOUBT:
        text = f"over-confident: an LLR of {strongest} for the wrong side ({p_at_level(p_strongest, level)})"
        return Verdict("evidence", p_strongest, level, "over-confident", text, (strongest,))
    # asked last: a wrong scale or offset also raises Cllr - min Cllr, and says more
    if p_shape is not None and p_shape <= SHAPE_LEVEL:
        text = "miscalibrated, but neither by a factor nor by an offset: look at the curves"
        return Verdict(
            "evidence", p_shape, SHAPE_LEVEL, "shape", f"{text} ({p_at_level(p_shape, SHAPE_LEVEL)}{given})"
        )
    text = f"no evidence of miscalibration ({p_at_level(p, level)}{given})"
    if not sensitivity:
        return Verdict("none_found", p, level, "", text)
    finds, *amounts = _sensitivity_of_test(tested, level)
    return Verdict("none_found", p, level, "", f"{text}; {finds}", tuple(amounts))


def _sensitivity_of_test(
    tested: identity_tests.CalibrationTest, level: float
) -> tuple[str, *tuple[Amount, ...]]:
    """What size of error the test finds in such sets, and the LLRs in these words."""
    if tested.test.n_effective < ENOUGH:
        return ("so few trials are in doubt that only a large error would have been found",)
    factor, offset = detectable(tested.null, tested.test, level)
    amount = Amount(offset)
    found = f"an offset of {amount} would have been found in about 80 % of such sets"
    if factor < LARGEST_FACTOR:
        return f"a factor {factor:.2f} or {found}", amount
    return f"{found}, but no factor up to {LARGEST_FACTOR:.0f}", amount


def _what_is_wrong(
    tested: identity_tests.CalibrationTest, gap: tuple[float, float]
) -> tuple[str, str, *tuple[Amount, ...]]:
    """Kind and text of what is wrong, given that something is, and the LLRs in the text.

    ``gap`` are the highest LLR of non-targets and the lowest of targets.
    """
    line = tested.line
    if line is None:  # the classes do not overlap: what is wrong, but not by how much
        slope, offset = tested.test.gradient
        # no line can be fitted, but the gradient at (1, 0) still says which of the two would help more
        if gap[0] <= 0.0 <= gap[1] and abs(slope) >= abs(offset):
            kind = text = "under-confident" if slope < 0.0 else "over-confident"
        else:  # an offset would make all decisions at 0 right, or help more than a factor
            kind = "target" if offset > 0.0 else "nontarget"
            text = f"biased towards {SIDES[kind]}"
        return kind, f"{text}; the classes do not overlap, so the size cannot be estimated from these trials"
    if abs(line.a) < FLAT:
        return "over-confident", "over-confident without limit: the best straight line is flat"
    tests = {"factor": line.p_factor, "bias": line.p_bias}
    # if neither is significant by itself, the further one is named: something is wrong after all
    named = [name for name, p in tests.items() if p <= PART_LEVEL] or [min(tests, key=tests.__getitem__)]
    parts, words = [], []
    if "factor" in named:
        over = line.factor > 1.0 or line.factor < 0.0
        parts.append("over-confident" if over else "under-confident")
        if line.a <= 0.0:
            words.append(WRONG_WAY)
        else:
            # the factor is shown as a number above 1, whichever way it goes
            words.append(f"{parts[-1]} by a factor {max(line.factor, 1.0 / line.factor):.1f}")
    if "bias" in named:
        parts.append("target" if line.bias > 0.0 else "nontarget")
        bias = Amount(abs(line.bias), ".1f")
        words.append(f"biased towards {SIDES[parts[-1]]} by {bias}")
        return " and ".join(parts), " and ".join(words), bias
    return " and ".join(parts), " and ".join(words)


WIDE_DEV_PAV = "the p-value of devPAV is conservative: rather too large"
_FEWEST = 5
"""Trials of a class below which no null distribution is drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCheck(Result):
    """What :func:`llrkit.check_calibration` found."""

    evaluation: Measurements
    """Metrics of the LLRs."""
    verdict: Verdict
    """The outcome of the test, in words too."""
    recalibration: Recalibration | None
    """None where the classes do not overlap, or Cllr is infinite."""
    identities: identity_tests.Identities
    """Quantities that calibration fixes, observed and expected."""
    dev_pav: float
    """Mean distance between the PAV curve and the identity, in log10."""
    loss: CalibrationLoss | None
    """Cross-validated: five random parts or, if speakers are known, each judged by the line of the others.
    None where it could not be made."""
    null: CalibrationNull | None
    """What calibrated LLRs of the same distribution, and of the same speakers if known, show by chance."""
    in_cells: Mapping[str, float]
    """The losses of the trials counted in cells, as those of the null distributions are."""
    curves: tuple[LlrCurve, ...]
    """The LLR of the LLR, estimated in several ways."""
    notes: tuple[str, ...]
    """Remarks, in words."""

    @property
    def _losses(self) -> dict[str, float]:
        """The losses that the null distributions are about, as far as there are any."""
        crossed = {} if self.loss is None else {"cv_loss": self.loss.loss}
        return {"cllr_cal": self.evaluation.cllr_cal, "dev_pav": self.dev_pav, **crossed}

    def p_value(self, name: str) -> float:
        """Chance that a calibrated system shows as much: ``"cllr_cal"``, ``"dev_pav"`` or ``"cv_loss"``.

        nan where there is no null distribution: that of ``cv_loss`` is known for independent trials only.

        Parameters
        ----------
        name
            ``"cllr_cal"``, ``"dev_pav"`` or ``"cv_loss"``.
        """
        observed = self.in_cells[name]
        return math.nan if self.null is None else self.null.p_value(name, observed)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, lists and words."""
        result = self.evaluation
        return {
            "verdict": self.verdict.to_dict(),
            "cllr": result.cllr,
            "min_cllr": result.min_cllr,
            "cllr_cal": result.cllr_cal,
            "dev_pav": self.dev_pav,
            "cv_loss": self.loss.loss if self.loss is not None else None,
            "p_values": {name: self.p_value(name) for name in LOSSES},
            "recalibration": self.recalibration.to_dict() if self.recalibration is not None else None,
            "null": self.null.to_dict() if self.null is not None else None,
            **self.identities.to_dict(),
            "curves": [curve.to_dict() for curve in self.curves],
            "notes": list(self.notes),
        }  # fmt: skip

    def __repr__(self) -> str:
        lines = [self.verdict.sentence]
        line = self.recalibration
        if line is not None:
            lines.append(
                f"LLR of the LLR: {line.a:.3f} x {line.b:+.3f} (errors {line.se_a:.3f}, {line.se_b:.3f}); "
                f"p = {line.p_value:.2g} for x itself"
            )
        for name, value in self._losses.items():
            chance = ""
            if self.null is not None and len(self.null.known(name)):
                usual = self.null.to_dict()[name]["mean"]
                chance = f"; by chance {number(usual)}, p = {self.p_value(name):.2g}"
            lines.append(f"{_NAMES[name]} {number(value)}{chance}")
        return "\n".join([*lines, *self.notes])


def check_calibration(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    speakers: str | Sequence[str] | None = None,
    level: float = LEVEL,
    replicates: int = 200,
    rng: RNG = 0,
    curves: bool = True,
) -> CalibrationCheck:
    """Test whether LLRs are what they claim to be: whether the LLR of the LLR is the LLR.

    A line is fitted to the LLRs by logistic regression; its slope and offset are tested together against 1
    and 0. Cllr - min Cllr, devPAV and the cross-validated loss come with what perfectly calibrated LLRs
    of the same distribution show by chance. Expectations, exceedances, signs and spreads are compared with
    what must hold. The verdict says no more than the trials do. Infinite LLRs do not enter means and spreads.
    If one is for the wrong side, the verdict is ``"infinite"``, and no line or null distribution is given.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    speakers
        The column, or the two columns, with the speakers of the two sides: trials that share one are not
        independent, which every test then takes into account: slope and offset by a jackknife over
        speakers, the shape by sets in which speakers count more or less.
    level
        Of the test of slope and offset.
    replicates
        Sets drawn for the null distributions; 0 leaves them out.
    rng
        Seed of the random numbers; the same seed gives the same result.
    curves
        Also estimate the LLR of the LLR as curves, with bands.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.05)
    >>> target, nontarget = model.rvs(300, 3000, np.random.default_rng(2))
    >>> lk.check_calibration(lk.Scores(target, nontarget), curves=False).verdict.outcome
    'none_found'
    >>> lk.check_calibration(lk.Scores(target + 1, nontarget + 1), curves=False).verdict.text
    'biased towards targets by 0.8 nats (p < 0.0001 at a level of 3 %, if trials are independent)'
    """
    source = as_source(source, labels)
    yes_or_no(curves, "curves")
    seed = seed_of(rng)
    probability(level, "level")
    from llrkit.trust.bootstrap import checked_replicates  # the verdict of an evaluation needs no bootstrap

    checked_replicates(replicates, 0)
    # infinite LLRs are allowed: the check reports them
    from llrkit.fits.training_checks import training_moments

    moments = training_moments(source, finite=False)
    result = measure(source)
    edges = identity_tests.judged_edges(result)
    by_speaker: SpeakerCells | None = None
    if speakers:
        known = find_speakers(source, speakers)
        by_speaker = identity_tests.count_in_judged_cells(source, result, known, identity_tests.TERMS)
        tested, counts = identity_tests.check_speakers(result, by_speaker), by_speaker.total.counts
        of_targets, of_nontargets = by_speaker.effective_speakers
        notes = [
            f"{known.n_speakers:,} speakers, as uneven as {of_targets:.0f} equal ones with targets and "
            f"{of_nontargets:.0f} with non-targets"
        ]
    else:
        # one pass counts what the null distributions and all curves are made of
        grid = source.reduce(DensityGrid.at(float(edges[0]), float(edges[-1]), JUDGED_CELLS))
        tested, counts = identity_tests.check_cells(result), (grid.target.count, grid.nontarget.count)
        notes = ["trials are taken as independent: give speakers if they share some"]
    if n_infinite := int(moments.n_infinite):
        are = agreeing(n_infinite, "is", "are")
        notes.append(
            f"{counted(n_infinite, 'LLR')} {are} infinite: means and spreads are those of the others"
        )
    found = identity_tests.identities(source, moments, by_speaker)
    of_pav = dev_pav_from_blocks(result.summaries.blocks)
    if math.isinf(result.cllr):
        # no line and no chance explain an infinite LLR for the wrong side; the cells do not even hold it
        in_cells = {"cllr_cal": math.inf, "dev_pav": math.inf, "cv_loss": math.nan}
        notes.append("Cllr is infinite: no line and no null distribution is given")
        return CalibrationCheck(
            result, judge(result, level=level), None, found, of_pav, None, None, MappingProxyType(in_cells),
            (), tuple(notes),
        )  # fmt: skip
    cells = JudgedCells(identity_tests.middles(edges), *(np.asarray(one, dtype=np.float64) for one in counts))
    enough = min(cells.size) >= _FEWEST
    null: CalibrationNull | None = None
    estimates: tuple[LlrCurve, ...] = ()
    if replicates and enough:
        # null sets are drawn from the same cells as the observed
        # losses below, so their error of rounding is the same
        null, llr, sets = null_like(cells, by_speaker, tested.test.df, replicates, seed)
        notes += [] if by_speaker is None else [WIDE_DEV_PAV]
        estimates = llr_curves(cells, llr, sets) if curves else ()
    # what straight lines fitted to other trials gain in Cllr
    # the cross-validated loss needs a line to start from; classes that do not overlap have none
    crossed, line = math.nan, tested.line if enough else None
    if line is not None and by_speaker is not None and tested.lines is not None:
        crossed = identity_tests.loss_without_own(cells.llr, by_speaker, tested.lines)
    elif line is not None:
        # a stream of its own: replicates and folds do not share random numbers
        rng_of_folds = np.random.default_rng([seed, 3])
        crossed = cross_validated_loss(
            cells.llr, cells.target, cells.nontarget, rng_of_folds, start=(line.a, line.b)
        )
    # losses of the counts, not of the trials: they are compared with null sets that are counted too
    loss, dev_pav, _ = losses_of_counts(cells.llr, cells.target, cells.nontarget)
    in_cells = {"cllr_cal": loss, "dev_pav": dev_pav, "cv_loss": crossed}
    p_shape = null.p_value("cllr_cal", loss) if null is not None else None
    return CalibrationCheck(
        result, judge(result, tested, p_shape=p_shape, level=level), tested.line, found, of_pav,
        None if math.isnan(crossed) else CalibrationLoss(result.cllr, result.cllr - crossed),
        null, MappingProxyType(in_cells), estimates, tuple(notes),
    )  # fmt: skip


HEADER = ("", "value", "if calibrated", "p", "level")
LEGEND = (
    "± is followed by the standard error. The column 'if calibrated' has the mean of calibrated LLRs of the "
    "same distribution, drawn at random; p is the probability of a loss at least this large if the LLRs were "
    "calibrated; the verdict judges it at the level, if there is one."
)
_JUDGED = {"cllr_cal": SHAPE_LEVEL}
_NAMES = {"cllr_cal": "Cllr - min Cllr", "dev_pav": "devPAV", "cv_loss": "cross-validated loss"}


def rows_of_tests(check: CalibrationCheck, unit: LlrUnit = NATS) -> list[tuple[str, str, str, str, str]]:
    """Each number beside what calibrated LLRs have, its p-value, and the level of the verdict."""
    line, rows = check.recalibration, []
    if line is not None:
        rows.append(("slope of the LLR of the LLR", f"{line.a:.3f} ± {line.se_a:.3f}", "1", "", ""))
        offset = f"{unit.of(line.b):.3f} ± {unit.of(line.se_b):.3f}"
        rows.append((f"offset ({unit.short})", offset, "0", "", ""))
        rows.append(("slope and offset together", "", "", chance(line.p_value), f"{100 * LEVEL:g} %"))
    usual = check.null.to_dict() if check.null is not None else None
    for key, value in check._losses.items():
        by_chance = ("", "", "")
        if usual is not None and not math.isnan(usual[key]["mean"]):
            level = f"{100 * _JUDGED[key]:g} %" if key in _JUDGED else "not judged"
            by_chance = (number(usual[key]["mean"]), chance(check.p_value(key)), level)
        rows.append((_NAMES[key], number(value), *by_chance))
    return rows


def p_with_level(check: CalibrationCheck, name: str) -> str:
    """How often a calibrated system shows as much, and at which level that is judged; empty if not known."""
    p = check.p_value(name)
    if math.isnan(p):
        return ""
    level = (
        f"level {100 * _JUDGED[name]:g} % in the verdict" if name in _JUDGED else "the limit decides, not p"
    )
    return f"{p_words(p)} if calibrated ({level})"
