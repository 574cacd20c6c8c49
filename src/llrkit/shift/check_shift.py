"""check_shift(): whether unlabeled scores still are what a calibration was trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit._results import Result
from llrkit.calibrate.affine.logistic_and_rules import fit_logistic
from llrkit.calibrate.maps import Map
from llrkit.calibrate.training_densities import TrainingDensities
from llrkit.core.score_histogram import ScoreHistogram
from llrkit.errors import InputError
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.shift.class_density import ClassDensity
from llrkit.shift.expected_loss import Llrs
from llrkit.shift.ladder import Climb, climb
from llrkit.shift.moved_mixture import RUNGS, SHARES
from llrkit.shift.new_scores import NO_DENSITIES, NewScores, as_new_source, counted_map, densities_of
from llrkit.shift.reasons_against_rungs import infinite_edge
from llrkit.shift.shift_test import ALPHA, ShiftTest, shift_test
from llrkit.shift.shift_words import shift_text


@dataclass(frozen=True)
class ClassMove:
    """How far a class has moved, in standard deviations of training, and how many times it spreads as far."""

    offset: float
    spread: float


@dataclass(frozen=True)
class ShiftCheck(Result):
    """What unlabeled scores tell of a shift."""

    n: int
    """Scores, infinite ones included."""
    n_infinite: int
    """Infinite ones among them: the test counts them, no move describes them."""
    p_value: float
    """Probability of so poor a fit by any mixture of the training classes, if only the share had changed."""
    share: float
    """Estimated share of targets; where no model is trusted, that of the training classes as they are."""
    share_interval: tuple[float, float]
    """Interval of the share of targets."""
    target: ClassMove
    """How the targets moved."""
    nontarget: ClassMove
    """How the non-targets moved."""
    harm: float
    """Bits that the calibration as it is loses more than it need to; nan where no model tells."""
    harm_interval: tuple[float, float]
    """Over all moves on the ladder that describe the scores; if none of them is the truth, it may miss."""
    rung: str
    """Of the ladder: what describes the scores."""
    distances: tuple[float, float, float]
    """Kolmogorov-Smirnov distances between that and the scores: of all, of targets, of non-targets."""
    refusal: str
    """Why the scores do not tell how they moved; empty if they do."""
    no_harm: str
    """Why there is no harm where nothing speaks against the scores: a class is too rare; else empty."""
    by_groups: bool
    """Whether the speakers (or other groups) of the new scores were taken into account."""
    trained_by_groups: bool
    """Whether those of the training trials were; without both, new speakers look like a shift."""

    @property
    def is_shifted(self) -> bool:
        """Whether there is a shift beyond chance."""
        return self.p_value < ALPHA

    @property
    def is_harmful(self) -> bool:
        """Whether there is a shift that a move certainly undoes, or that no move describes."""
        return self.is_shifted and (bool(self.refusal) or self.rung != RUNGS[0])

    @property
    def text(self) -> str:
        """All of it in words."""
        return shift_text(self)

    def to_dict(self) -> dict[str, Json]:
        """Plain values."""
        return {
            **asdict(self),
            "is_shifted": self.is_shifted,
            "is_harmful": self.is_harmful,
            "text": self.text,
        }

    def __repr__(self) -> str:
        return self.text


@takes_labels
def check_shift(
    map_or_source: Map | ScoreSource,
    scores: ScoreSource | npt.ArrayLike,
    *,
    speakers: str | Sequence[str] | None = None,
    share: float | Sequence[float] | None = None,
) -> ShiftCheck:
    """Whether unlabeled scores fit any mixture of the classes that a calibration was trained on.

    Nothing is assumed of the share of targets. One pass over the scores, and two more with ``speakers``.

    Parameters
    ----------
    map_or_source
        A map, whose file holds the densities of its training scores; or training trials, for which logistic
        regression is fitted.
    scores
        Unlabeled scores, as the training file held them; or trials, whose labels are not looked at.
    speakers
        The column, or the two columns, with the speakers of a trial: trials that share one are not
        independent, and without this the test finds a shift wherever other people speak. The training
        trials have them in the same columns, or the map was fitted with ``speakers=`` and ``bound="sources"``
        or ``groups=``.
    share
        The share of targets, or a range of it, if something is known.

    References
    ----------
    Anderson & Darling, "A test of goodness of fit", JASA 49 (1954) 765; Saerens, Latinne & Decaestecker,
    "Adjusting the outputs of a classifier to new a priori probabilities", Neural Computation 14 (2002) 21.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(4.0, 1.0, 2_000), rng.normal(0.0, 1.0, 2_000))
    >>> same = np.append(rng.normal(4.0, 1.0, 100), rng.normal(0.0, 1.0, 1_900))
    >>> check = lk.check_shift(lk.fit_logistic(dev), same)
    >>> check.is_shifted, round(check.share, 2)
    (False, 0.05)
    >>> moved = lk.check_shift(dev, 1.5 * same + 2.0)
    >>> moved.is_shifted, moved.rung, round(moved.target.spread, 1)
    (True, 'common move', 1.5)
    """
    setting = ShiftSetting.of(map_or_source, speakers)
    return check_from(setting, *setting.climbed(scores, speakers, shares_of(share), harm=True))


@dataclass(frozen=True, eq=False)
class ShiftSetting:
    """A map with its training densities: everything that new scores are compared with."""

    fitted: Map
    densities: TrainingDensities

    @classmethod
    def of(cls, given: Map | ScoreSource, speakers: str | Sequence[str] | None = None) -> ShiftSetting:
        """Of a map, or of training trials."""
        if isinstance(given, Map):
            known = densities_of(given)
            if known is None:
                raise InputError(f"the calibration does not hold {NO_DENSITIES}, or give the training trials")
            return cls(given, known)
        if as_source(given).roles.n_systems > 1:
            raise InputError("the training trials have the scores of several systems: fuse them first")
        fitted = fit_logistic(given)
        known = densities_of(fitted)
        if known is None:  # a fit inside of another one is not looked at
            known = TrainingDensities(as_source(given).reduce(ScoreHistogram.of))
        if speakers is not None:
            columns = (speakers,) if isinstance(speakers, str) else tuple(speakers)
            known = known.with_groups(given, columns)
        return cls(fitted, known)

    @property
    def llrs(self) -> Llrs:
        """The map as a function of what was counted."""
        if self.densities.of == "LLRs":
            after = counted_map(self.fitted)[1]
            return lambda values: after.llr(values, {})

        def llrs(values: FloatArray) -> FloatArray:
            return self.fitted.llr(values, {})

        return llrs

    def climbed(
        self,
        scores: ScoreSource | npt.ArrayLike,
        speakers: str | Sequence[str] | None,
        shares: tuple[float, float],
        *,
        harm: bool,
    ) -> tuple[NewScores, ShiftTest, Climb]:
        """New scores, the test, and the rung that describes them; with ``harm`` one above "no shift", too."""
        source = as_new_source(self.fitted, scores, self.densities.of)
        new = NewScores.of(source, self.densities.cuts, speakers)
        test = shift_test(self.densities, new)
        return new, test, self.climb(new, test, shares, harm=harm)

    def climb(self, new: NewScores, test: ShiftTest, shares: tuple[float, float], *, harm: bool) -> Climb:
        """The rung that describes scores after the test."""
        counted = self.densities.histogram
        return climb(
            self.llrs,
            (ClassDensity.of(counted.target), ClassDensity.of(counted.nontarget)),
            new.histogram,
            inflation=test.inflation,
            n_training=counted.target.total + counted.nontarget.total,
            shares=shares,
            is_shifted=test.p_value < ALPHA,
            look_up=harm,
            edge=infinite_edge(new.histogram, (counted.target, counted.nontarget)),
        )


def check_from(setting: ShiftSetting, new: NewScores, test: ShiftTest, reached: Climb) -> ShiftCheck:
    """The result, from the scores, the test and the rung that was reached."""
    last = reached.last
    mixture = last.mixture
    climbed = len(reached.steps) > 1
    moves = []
    for move, counts in zip(
        (mixture.target, mixture.nontarget),
        (setting.densities.histogram.target, setting.densities.histogram.nontarget),
        strict=True,
    ):
        trained = ClassDensity.of(counts)
        moved = move.offset + (move.spread - 1.0) * (trained.mean - move.center)
        moves.append(ClassMove(float(moved / trained.sd), float(move.spread)))
    harm, interval = last.harm, reached.harms or last.gain
    if not climbed and reached.above is not None:  # no move is needed; what one would gain is the harm
        low, high = (max(end, 0.0) for end in reached.above.gain)
        harm, interval = min(max(reached.above.harm, 0.0, low), high), (low, high)
    if reached.refusal or (not climbed and reached.above is None):
        harm, interval = math.nan, (math.nan, math.nan)
    share, share_interval = test.share, (test.share_low, test.share_high)
    if climbed and not reached.refusal:
        share, share_interval = mixture.share, last.shares
    return ShiftCheck(
        n=round(new.n),
        n_infinite=round(new.n - new.histogram.total),
        p_value=test.p_value,
        share=share,
        share_interval=share_interval,
        target=moves[0],
        nontarget=moves[1],
        harm=harm,
        harm_interval=interval,
        rung=reached.name,
        distances=mixture.distances(),
        refusal=reached.refusal,
        no_harm=reached.too_few,
        by_groups=test.by_groups,
        trained_by_groups=test.trained_by_groups,
    )


def shares_of(share: float | Sequence[float] | None) -> tuple[float, float]:
    """The range in which the share of targets is looked for.

    Examples
    --------
    >>> shares_of(0.1), shares_of((0.01, 0.2)), shares_of(None)
    ((0.1, 0.1), (0.01, 0.2), (0.0001, 0.9999))
    """
    if share is None:
        return SHARES
    ends = (share, share) if isinstance(share, (int, float)) else share
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        low = high = math.nan
    if not 0.0 < low <= high < 1.0 or isinstance(share, (bool, str)):
        raise InputError(f"share must be a number above 0 and below 1, or two, lower first; got {share!r}")
    return low, high
