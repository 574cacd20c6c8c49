"""Whether scores still are what a calibration was trained on, and how that is said.

The test asks whether unlabeled scores fit any mixture of the training classes. The shares of scores below
some cuts, ``F``, are compared with ``p F_t + (1 - p) F_n`` of the training classes at the share of targets
``p`` that fits best. The statistic is Anderson and Darling's: squares of what is left, each divided by ``F (1
- F)``. Under the null hypothesis it is a weighted sum of squares of normal variables; the weights follow from
the covariances of the three sets of shares, which groups of trials (speakers) make larger. Its distribution
is taken as Satterthwaite's, with an F in place of a chi-square where the covariances themselves come from few
groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import NotRequired, TypedDict, TypeGuard

import numpy as np
from scipy.special import fdtrc, gammaincc, stdtrit

from llrkit.base.arguments import FloatArray, names_of
from llrkit.base.text import Json, number, p_at_level
from llrkit.core.groups import group_cells, share_covariance
from llrkit.core.histograms import ClassDensity, ClassHistogram, ScoreHistogram
from llrkit.errors import InputError, NaNScoreError, OptionError, TooFewTrialsError
from llrkit.fits.judge import keeping_sample, with_densities
from llrkit.fits.logistic import fit_logistic
from llrkit.maps.bounds import BoundedMap
from llrkit.maps.map import AffineMap, Columns, ComposedMap, Map
from llrkit.maps.training_range import TrainingDensities
from llrkit.metrics.costs import cllr
from llrkit.metrics.discrimination import min_cllr
from llrkit.results.result import Result
from llrkit.scores import AnyTrials, DerivedSource, Scores, ScoreSource, as_source
from llrkit.scores.arrays import first_nan, number_array
from llrkit.shift.ladder import RUNGS, SHARES, Climb, Llrs, all_scores, climb

FEWEST = 200
"""Unlabeled scores from which on a shift is looked for."""
NO_DENSITIES = (
    "the densities of its training scores (an old file, a map per group, a fusion that takes missing scores, "
    "or one adapted by a few labels to scores that nothing describes): calibrate again"
)


def densities_of(fitted: Map) -> TrainingDensities | None:
    """What a map, or the map inside it, knows of its training scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> densities_of(lk.calibrate(lk.Scores([2.0, 4.0], [0.0, 2.0]), method="cmlg").map).of
    'scores'
    """
    # a bound adds nothing to what the map inside knows
    while fitted.densities is None and isinstance(fitted, BoundedMap):
        fitted = fitted.map
    return None if fitted.densities is None else TrainingDensities.from_plain(fitted.densities)


def counted_map(fitted: Map) -> tuple[Map, Map]:
    """For densities of LLRs: the map whose LLRs were counted, and what follows it.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> line = AffineMap(a=2.0, b=0.0)
    >>> counted, after = counted_map(BoundedMap(map=line, low=-1.0, high=1.0))
    >>> counted is line, after(5.0)
    (True, 1.0)
    """
    if isinstance(fitted, BoundedMap) and fitted.densities is None:
        counted, after = counted_map(fitted.map)
        return counted, BoundedMap(map=after, low=fitted.low, high=fitted.high)
    if isinstance(fitted, ComposedMap):  # adapted: its densities are those of what its first map says
        return fitted.first, fitted.second
    return fitted, AffineMap(a=1.0, b=0.0)


@dataclass(frozen=True, eq=False)
class NewScores:
    """Unlabeled scores: counts in cells, and the covariance of the shares below the cuts of the training."""

    histogram: ClassHistogram
    covariance: FloatArray
    df: float
    by_groups: bool

    @classmethod
    def of(
        cls, source: ScoreSource, cuts: FloatArray, speakers: str | Sequence[str] | None = None
    ) -> NewScores:
        """The scores of a source, whose labels are not looked at; two more passes with speakers."""
        histogram = source.reduce(ScoreHistogram.of).pooled
        if speakers is None:
            return cls.of_counts(histogram, cuts)
        _require_enough_scores(histogram)
        cells = group_cells(source, names_of(speakers, "speakers"), cuts)
        # labels are not looked at: both classes of a source are one set of scores
        covariance, df = share_covariance(cells.target + cells.nontarget)
        return cls(histogram, covariance, df, by_groups=True)

    @classmethod
    def of_counts(cls, histogram: ClassHistogram, cuts: FloatArray) -> NewScores:
        """Scores that were counted already, taken as independent."""
        _require_enough_scores(histogram)
        independent = _multinomial(share_below(histogram, cuts), histogram.total)
        return cls(histogram, independent, np.inf, by_groups=False)


def _require_enough_scores(histogram: ClassHistogram) -> None:
    if histogram.total < FEWEST:
        raise TooFewTrialsError(
            f"{histogram.total:,.0f} finite scores are too few to tell a shift from chance: "
            f"at least {FEWEST} are needed"
        )


def as_new_source(fitted: Map, scores: AnyTrials, of: str) -> ScoreSource:
    """Trials whose scores are what the map was trained on, as the map reads them; or its LLRs."""
    if isinstance(scores, (tuple, Mapping)) or hasattr(scores, "columns"):
        scores = as_source(scores)
    if not isinstance(scores, ScoreSource):
        if not hasattr(scores, "__len__"):
            raise InputError(f"expected an array of scores, or trials, got {type(scores).__name__}")
        if of == "LLRs":
            raise InputError("this map takes several scores of a trial: give trials, not an array of scores")
        if isinstance(scores, (str, PathLike)):
            raise InputError(f"{scores}: paths are not accepted here; give an array of scores, or trials")
        values = np.asarray(number_array(scores, "scores"), dtype=np.float64).reshape(-1)
        where = first_nan(values)
        if where is not None:
            raise NaNScoreError(f"the score at index {where[0]} is not a number")
        # arrays are in the unit that the map's users have; densities are in the unit of training
        values = values * fitted.input_factor if fitted.input_factor != 1.0 else values
        return Scores.part(values, values[:0])
    if of == "LLRs":
        return counted_map(fitted)[0].on(scores)
    # trials know their own unit, which may differ from that of training
    factor = fitted.input_factor / fitted._read_factor(scores)
    if factor == 1.0:
        return scores
    return DerivedSource(
        scores,
        lambda chunk: Scores.part(
            chunk.target * factor, chunk.nontarget * factor, chunk.columns, chunk.categories
        ),
    )


def share_below(histogram: ClassHistogram, cuts: FloatArray) -> FloatArray:
    """The share of scores below each cut; exact where a cut is the border of a cell.

    Examples
    --------
    >>> share_below(ClassHistogram.of(np.array([0.0, 1.0, 2.0, np.inf])), np.array([1.0, 64.0]))
    array([0.25, 0.75])
    """
    below = np.concatenate([[0.0], np.cumsum(histogram.count)]) + histogram.n_neg_inf
    place = cuts / histogram.width - histogram.first
    return np.asarray(np.interp(place, np.arange(len(below)), below) / all_scores(histogram))


ALPHA = 0.01
"""A shift is called one if chance makes as much with a smaller probability than this."""


@dataclass(frozen=True)
class ShiftTest:
    """The share of targets that fits best, its interval, and how well it fits."""

    p_value: float
    share: float
    share_interval: tuple[float, float]
    inflation: float
    """The variance of shares as a multiple of what independent trials would have; at least 1."""


def shift_test(densities: TrainingDensities, new: NewScores, confidence: float = 0.95) -> ShiftTest:
    """Test unlabeled scores against all mixtures of two training classes."""
    cuts = densities.cuts
    classes = densities.histogram.target, densities.histogram.nontarget
    target, nontarget = (share_below(one, cuts) for one in classes)
    seen = share_below(new.histogram, cuts)
    independent = [
        _multinomial(share, one.total) for share, one in zip((target, nontarget), classes, strict=True)
    ]
    spread = densities.spread
    of_class = independent if spread is None else list(spread.covariance)
    df = (math.inf, math.inf) if spread is None else spread.df
    apart = target - nontarget
    share, weight = 0.5, np.ones(len(cuts))
    for _ in range(8):  # the weights depend on the share, which hardly depends on them
        # shares of 0 or 1 would have no variance and infinite weight
        mixed = np.clip(share * target + (1.0 - share) * nontarget, 1e-9, 1.0 - 1e-9)
        # Anderson and Darling's weights, held where a share is below 1e-4
        weight = 1.0 / np.maximum(mixed * (1.0 - mixed), 1e-4)
        scale = float(apart @ (weight * apart))
        # weighted least squares for the share: the model is linear in it
        free = float(apart @ (weight * (seen - nontarget))) / scale if scale > 0.0 else 0.5
        share = min(max(free, 0.0), 1.0)
    # independent sources of error: the new scores, and each training class as far as its share counts
    parts = [new.covariance, share**2 * of_class[0], (1.0 - share) ** 2 * of_class[1]]
    covariance = np.sum(parts, axis=0)
    plain = (
        _multinomial(seen, all_scores(new.histogram))
        + share**2 * independent[0]
        + (1.0 - share) ** 2 * independent[1]
    )
    # how much speakers add to the variance; later steps divide the number of scores by it
    inflation = max(float((weight * np.diag(covariance)).sum() / (weight * np.diag(plain)).sum()), 1.0)
    traces = [float((weight * np.diag(part)).sum()) for part in parts]
    dfs = (new.df, *df)
    # Satterthwaite: degrees of freedom of a sum of variances, each known to its own
    loss = sum(trace**2 / each for trace, each in zip(traces, dfs, strict=True) if math.isfinite(each))
    df_error = sum(traces) ** 2 / loss if loss > 0.0 else math.inf
    # a share outside of [0, 1] is no mixture: then nothing is projected out
    inside = scale > 0.0 and 0.0 <= free <= 1.0
    # the fitted share has taken one direction out of what is left
    project = np.eye(len(cuts)) - np.outer(apart, weight * apart) / scale if inside else np.eye(len(cuts))
    left = seen - share * target - (1.0 - share) * nontarget
    statistic = float(left @ (weight * left))
    # eigenvalues of the weighted, projected covariance are the weights of the squared normal variables
    root = np.sqrt(weight)[:, None] * project
    values = np.maximum(np.linalg.eigvalsh(root @ covariance @ root.T), 0.0)
    p_value = _tail_of_squares(statistic, values, df_error)
    gain = apart * weight / scale if scale > 0.0 else np.zeros(len(cuts))
    student = float(stdtrit(min(df_error, 1e9), 0.5 + 0.5 * confidence))
    reach = math.sqrt(max(float(gain @ covariance @ gain), 0.0)) * student
    interval = max(share - reach, 0.0), min(share + reach, 1.0)
    return ShiftTest(p_value, share, interval, inflation)


def _multinomial(share: FloatArray, n: float) -> FloatArray:
    """Covariance of the shares of ``n`` independent scores below ascending cuts."""
    return np.asarray((np.minimum.outer(share, share) - np.outer(share, share)) / n)


def _tail_of_squares(statistic: float, values: FloatArray, df_error: float) -> float:
    """Probability that a weighted sum of squares of normal variables is larger."""
    total, squares = float(values.sum()), float((values**2).sum())
    if total <= 0.0:
        return 0.0 if statistic > 0.0 else 1.0
    # a scaled chi-square with the same mean and variance as the weighted sum
    df = total**2 / squares
    ratio = statistic / total
    if math.isinf(df_error):
        return float(gammaincc(0.5 * df, 0.5 * df * ratio))
    return float(fdtrc(df, df_error, ratio))


_TAKEN = {
    (True, True): "speakers taken into account",
    (True, False): "speakers taken into account, but those of training are not known",
    (False, True): "speakers of training taken into account, but not those of the scores",
    (False, False): "trials taken as independent",
}


class FewLabels(TypedDict):
    """What a map keeps of the few labels that it was adapted by."""

    n_target: int
    n_nontarget: int
    slope: float
    offset: float
    start: str
    unlabeled: NotRequired[str]
    low: NotRequired[float]
    high: NotRequired[float]


def is_few_labels(value: object) -> TypeGuard[FewLabels]:
    """Whether a detail of a map is this; those of a map that was adapted without labels are not."""
    return isinstance(value, Mapping) and "slope" in value


def _fit_in_words(check: ShiftCheck) -> str:
    """Whether the scores fit a mixture of the training classes."""
    taken = _TAKEN[check.by_groups, check.trained_by_groups]
    p = p_at_level(check.p_value, ALPHA)
    scores = f"{check.n:,} scores"
    if check.n_infinite:
        scores += f", {check.n_infinite:,} of them infinite,"
    head, which = ("A shift", "no") if check.is_shifted else ("No shift was found", "a")
    return f"{head}: the {scores} fit {which} mixture of the training classes ({p}, {taken})."


def _harm_in_words(check: ShiftCheck) -> str:
    if math.isnan(check.harm):
        return f"Expected harm: not estimated, because {check.no_harm}."
    low, high = check.harm_interval
    return f"Expected harm: {check.harm:.4f} bits of Cllr ({low:.4f} to {high:.4f})."


def _move_in_words(move: ClassMove) -> str:
    return f"{move.offset:+.2f} standard deviations, their spread is {move.spread:.2f} times that of training"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def labels_text(few: FewLabels) -> str:
    """What a few labels ask for, in words.

    Examples
    --------
    >>> few = {"n_target": 10, "n_nontarget": 20, "slope": 1.0, "offset": 0.0, "start": "as it was"}
    >>> labels_text(few)
    '30 labeled trials do not contradict the LLRs of the map as it was.'
    >>> labels_text({**few, "slope": 0.5, "low": -2.4, "high": 3.0})
    '30 labeled trials suggest 0.500 times the LLR of the map as it was +0.000, held from -2.4 to 3.'
    """
    n = few["n_target"] + few["n_nontarget"]
    start = "of the map as it was" if few["start"] == "as it was" else "after the move"
    held = f", held from {few['low']:.3g} to {few['high']:.3g}" if "low" in few and "high" in few else ""
    if few["slope"] == 1.0 and few["offset"] == 0.0:
        return f"{n:,} labeled trials do not contradict the LLRs {start}{held}."
    return (
        f"{n:,} labeled trials suggest {few['slope']:.3f} times the LLR {start} {few['offset']:+.3f}{held}."
    )


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
        said = _fit_in_words(self)
        if self.refusal and not self.is_shifted:
            only_labels = "either that is wrong, or they changed in a way that only labels show"
            return f"{said} But {self.refusal}: {only_labels}."
        if self.refusal:
            return (
                f"{said} How they changed, and what it costs, cannot be known without labels: "
                f"{self.refusal}. Label some trials of the new domain, or bound the LLRs by groups."
            )
        if self.is_shifted and self.rung == "no shift":
            out = f"{100.0 * max(self.distances):.1f} % of the scores of a class are out of place"
            said += f" It is small: at most {out}."
        elif self.is_shifted:
            target, nontarget = _move_in_words(self.target), _move_in_words(self.nontarget)
            said += f" Targets moved by {target}, non-targets by {nontarget} ({self.rung})."
        low, high = self.share_interval
        share = f"Estimated share of targets: {_percent(self.share)} ({_percent(low)} to {_percent(high)})."
        return f"{said} {share} {_harm_in_words(self)}"

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


def check_shift(
    map_or_source: Map | AnyTrials,
    scores: AnyTrials,
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
        trials have them in the same columns, or the map was made by :func:`llrkit.calibrate` with
        ``speakers=`` or ``groups=``.
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
    >>> check = lk.check_shift(lk.calibrate(dev).map, same)
    >>> check.is_shifted, round(check.share, 2)
    (False, 0.05)
    >>> moved = lk.check_shift(dev, 1.5 * same + 2.0)
    >>> moved.is_shifted, moved.rung, round(moved.target.spread, 1)
    (True, 'common move', 1.5)
    """
    setting = ShiftSetting.of(map_or_source, speakers)
    return check_from(setting, *setting.climbed(scores, speakers, shares_of(share)))


@dataclass(frozen=True, eq=False)
class ShiftSetting:
    """A map with its training densities: everything that new scores are compared with."""

    fitted: Map
    densities: TrainingDensities

    @classmethod
    def of(cls, given: Map | AnyTrials, speakers: str | Sequence[str] | None = None) -> ShiftSetting:
        """Of a map, or of training trials."""
        if isinstance(given, Map):
            known = densities_of(given)
            if known is None:
                raise InputError(
                    f"the calibration does not hold {NO_DENSITIES}, or give the training trials; "
                    "lk.calibrate(...).map records them, a map of a fit alone does not"
                )
            return cls(given, known)
        given = as_source(given)
        if given.roles.n_systems > 1:
            raise InputError("the training trials have the scores of several systems: fuse them first")
        kept = keeping_sample(given)  # files are not read once more for the densities
        fitted = with_densities(fit_logistic(kept), kept)
        known = TrainingDensities.from_plain(fitted.densities or {})
        if speakers is not None:
            known = known.with_groups(given, names_of(speakers, "speakers"))
        return cls(fitted, known)

    @property
    def llrs(self) -> Llrs:
        """The map as a function of what was counted."""
        after = counted_map(self.fitted)[1] if self.densities.of == "LLRs" else self.fitted
        return lambda values: after.llr(values, {})

    def climbed(
        self, scores: AnyTrials, speakers: str | Sequence[str] | None, shares: tuple[float, float]
    ) -> tuple[NewScores, ShiftTest, Climb]:
        """New scores, the test, and the rung that describes them, with one above "no shift", too."""
        source = as_new_source(self.fitted, scores, self.densities.of)
        new = NewScores.of(source, self.densities.cuts, speakers)
        test = shift_test(self.densities, new)
        return new, test, self.climb(new, test, shares, look_up=True)

    def climb(self, new: NewScores, test: ShiftTest, shares: tuple[float, float], *, look_up: bool) -> Climb:
        """The rung that describes scores after the test."""
        return climb(
            self.llrs,
            self.densities.histogram,
            new.histogram,
            inflation=test.inflation,
            shares=shares,
            is_shifted=test.p_value < ALPHA,
            look_up=look_up,
        )


def check_from(setting: ShiftSetting, new: NewScores, test: ShiftTest, reached: Climb) -> ShiftCheck:
    """The result, from the scores, the test and the rung that was reached."""
    last = reached.last
    mixture = last.mixture
    climbed = len(reached.steps) > 1
    counted, moves = setting.densities.histogram, []
    for move, counts in ((mixture.target, counted.target), (mixture.nontarget, counted.nontarget)):
        trained = ClassDensity.of(counts)
        # in the center of the class: a spread about another center moves the mean of the class too
        moved = move.offset + (move.spread - 1.0) * (trained.mean - move.center)
        moves.append(ClassMove(float(moved / trained.sd), float(move.spread)))
    harm, interval = last.harm, reached.harms or last.gain
    # nothing is moved, but the reader wants to know what is lost by that
    if not climbed and reached.above is not None:  # no move is needed; what one would gain is the harm
        low, high = (max(end, 0.0) for end in reached.above.gain)
        harm, interval = min(max(reached.above.harm, 0.0, low), high), (low, high)
    # without a trusted description no number is better than a wrong one
    if reached.refusal or (not climbed and reached.above is None):
        harm, interval = math.nan, (math.nan, math.nan)
    share, share_interval = test.share, test.share_interval
    # if nothing moved, the test's own share is the simplest estimate
    if climbed and not reached.refusal:
        share, share_interval = mixture.share, last.shares
    n = all_scores(new.histogram)
    return ShiftCheck(
        n=round(n),
        n_infinite=round(n - new.histogram.total),
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
        by_groups=new.by_groups,
        trained_by_groups=setting.densities.spread is not None,
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


@dataclass(frozen=True, eq=False)
class ShiftJudge:
    """Judges the scores that a map gets, once they are counted."""

    setting: ShiftSetting
    policy: str

    def values(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """What is counted of scores as files hold them."""
        fitted = self.setting.fitted
        if self.setting.densities.of == "scores":
            return scores * fitted.input_factor
        llrs: FloatArray = counted_map(fitted)[0](scores, columns, outside="ignore")
        return llrs

    def __call__(self, counts: ClassHistogram) -> str:
        """A note about scores that have moved so far that it costs, or "" if they have not.

        Speakers are not known here: the test alone would find a shift wherever other people speak, and what
        counts is a harm that is certain, or a move that nothing describes. With the policy "error" the scores
        are refused then.
        """
        try:
            # speakers are unknown here: a small p-value alone may only say that other people speak
            check = harmful_shift(NewScores.of_counts(counts, self.setting.densities.cuts), self.setting)
        except TooFewTrialsError as error:
            return f"no shift was looked for: {error}" if self.policy == "error" else ""
        if check is None:
            return ""
        if self.policy == "error":
            raise InputError(f"{check.text} Nothing is written (--shift error)")
        return check.text


def judge_for(fitted: Map, policy: str) -> ShiftJudge | None:
    """What judges the scores that a map gets; None where nobody asks, or the map cannot tell.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(4.0, 1.0, 500), rng.normal(0.0, 1.0, 500))
    >>> fitted = lk.calibrate(dev, method="cmlg", bound="none").map
    >>> new = np.append(rng.normal(4.0, 1.0, 500), rng.normal(0.0, 1.0, 500))
    >>> judge = judge_for(fitted, "warn")
    >>> judge(ClassHistogram.of(new))
    ''
    >>> judge(ClassHistogram.of(new + 2.0))[:20]
    'A shift: the 1,000 s'
    """
    if policy == "ignore":
        return None
    known = densities_of(fitted)
    if known is None:
        if policy == "error":
            text = f"the calibration does not hold {NO_DENSITIES}, or use"
            raise OptionError(
                f'shift="error": {text} shift="ignore"', f"--shift error: {text} --shift ignore"
            )
        return None
    return ShiftJudge(ShiftSetting(fitted, known), policy)


def shift_note(
    fitted: Map, scores: ScoreSource, llrs: ScoreSource, speakers: str | Sequence[str] | None = None
) -> str:
    """The note about labeled trials that a map made ``llrs`` of; "" if they did not move, or it cannot tell.

    Whether there is a shift is asked as of scores without labels, with their ``speakers`` where these are
    known; how they moved, and what the LLRs lose, is then read from the labels.
    """
    known = densities_of(fitted)
    if known is None:
        return ""
    try:
        new = NewScores.of(as_new_source(fitted, scores, known.of), known.cuts, speakers)
        check = harmful_shift(new, ShiftSetting(fitted, known))
    except TooFewTrialsError:
        # too few scores to look at: a note must not turn into an error
        return ""
    return "" if check is None else text_by_labels(fitted, check, scores, llrs)


def text_by_labels(fitted: Map, check: ShiftCheck, scores: ScoreSource, llrs: ScoreSource) -> str:
    """What was found of a shift, with the moves and the loss as the labels of the trials have them."""
    known = ShiftSetting.of(fitted).densities
    counts = as_new_source(fitted, scores, known.of).reduce(ScoreHistogram.of)
    target, nontarget = (
        ClassMove(float((new.mean - old.mean) / old.sd), float(new.sd / old.sd))
        for new, old in (
            (ClassDensity.of(counts.target), ClassDensity.of(known.histogram.target)),
            (ClassDensity.of(counts.nontarget), ClassDensity.of(known.histogram.nontarget)),
        )
    )
    whole = cllr(llrs)
    return (
        f"{_fit_in_words(check)} By their labels, targets moved by {_move_in_words(target)}, non-targets by "
        f"{_move_in_words(nontarget)}; of Cllr = {number(whole)} bits, their LLRs lose "
        f"{number(whole - min_cllr(llrs))} to calibration."
    )


def harmful_shift(new: NewScores, setting: ShiftSetting) -> ShiftCheck | None:
    """What scores tell of a shift that costs, or that nothing describes; None if there is none."""
    test = shift_test(setting.densities, new)
    if test.p_value >= ALPHA:
        return None
    # only harm is asked for, so nothing is fitted above an adequate "no shift"
    check = check_from(setting, new, test, setting.climb(new, test, SHARES, look_up=False))
    return check if check.is_harmful else None
