"""A monitor of shift whose alarm may be looked at any time.

The evidence is an e-process against a mixture of two classes whose share may change with every batch. With
counts ``c_b`` of batch b in cells, the e-process is ``q(c) / sup L(c)``: the probability that a predictor
(Krichevsky and Trofimov's) gives the cells of all scores, which knows nothing of the null hypothesis, over
the largest likelihood under it. For whatever share of targets each batch has, it is at most a martingale that
starts at 1, so that Ville's inequality bounds how often it ever gets large (universal inference). The cells
of the training classes are not known exactly either: the supremum is over all that their own likelihood
leaves, by Lagrange's bound ``sup {f : l >= l_max - c} <= sup {f + l} - l_max + c``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, gammaln

from llrkit.base.arguments import FloatArray
from llrkit.base.process import warn_caller
from llrkit.base.text import counted
from llrkit.core.groups import GroupCells, ValueCounts
from llrkit.core.numerics import probability
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.errors import InputError, ShiftWarning
from llrkit.maps.map import Map
from llrkit.maps.training_range import TrainingDensities
from llrkit.scores import AnyTrials, Scores, ScoreSource
from llrkit.shift.ladder import all_scores
from llrkit.shift.shift_check import FEWEST, ShiftSetting, as_new_source, share_below

_FEW, _MANY = 60, 4_000
"""Steps of the maximization: to begin with, and where an alarm depends on it."""


@dataclass(frozen=True, eq=False)
class TrainedCells(ReadOnlyArrays):
    """Counts of both training classes in cells, as many as independent trials would be; rows are classes."""

    counts: FloatArray
    slack: float
    """How far below its maximum the likelihood of the training cells may be."""

    @classmethod
    def of(cls, counts: FloatArray, miss: float) -> TrainedCells:
        """With the probability ``miss`` that the true cells are not among those that are allowed for."""
        # free parameters of the filled cells of two classes, each of which sums to 1
        df = float((counts > 0.0).sum()) - 2.0
        return cls(counts, 0.5 * float(chdtri(max(df, 1.0), miss)))

    @property
    def maximum(self) -> float:
        """The largest log-likelihood of the training counts."""
        return sum(_log_likelihood_of_cells(row, row / row.sum()) for row in self.counts)

    def log_e(self, batches: FloatArray, enough: float = math.inf) -> float:
        """Log of the e-process after batches (rows of counts).

        Too few steps of the maximization make it too large, never too small; so they are few if it is below
        ``enough`` anyway.
        """
        # the predictor depends on the sum over batches; the supremum has a share for each of them
        top = log_predicted(batches.sum(axis=0)) + self.maximum - self.slack
        # a quarter of a trial in each cell, so that no cell starts at 0, where EM would stay
        classes = (self.counts + 0.25) / (self.counts + 0.25).sum(axis=1, keepdims=True)
        share = np.full(len(batches), 0.5)
        value, classes, share = self._climbed(batches, classes, share, _FEW)
        # more steps only near an alarm: an unfinished maximization errs on the side of one
        if top - value >= enough:
            value, *_ = self._climbed(batches, classes, share, _MANY)
        return top - value

    def _climbed(
        self, batches: FloatArray, classes: FloatArray, share: FloatArray, steps: int
    ) -> tuple[float, FloatArray, FloatArray]:
        """Expectation-maximization of the likelihood of batches and training together."""
        n, value = np.maximum(batches.sum(axis=1), 1.0), -math.inf
        for _ in range(steps):
            own = share[:, None] * classes[0]
            mixed = np.maximum(own + (1.0 - share[:, None]) * classes[1], 1e-300)
            before, value = value, float((batches * np.log(mixed)).sum())
            value += sum(map(_log_likelihood_of_cells, self.counts, classes))
            # EM never goes down; when it stands still there is nothing left to gain
            if value - before < 1e-6:
                break
            targets = batches * (own / mixed)
            share = targets.sum(axis=1) / n
            # training counts are part of the likelihood, as Lagrange's bound asks for
            full = self.counts + np.stack([targets.sum(axis=0), (batches - targets).sum(axis=0)])
            classes = full / full.sum(axis=1, keepdims=True)
        return value, classes, share


def _log_likelihood_of_cells(counts: FloatArray, cells: FloatArray) -> float:
    seen = counts > 0.0
    return float(counts[seen] @ np.log(np.maximum(cells[seen], 1e-300)))


def log_predicted(counts: FloatArray) -> float:
    """Log-probability that Krichevsky and Trofimov's predictor gives a sequence with these counts.

    Examples
    --------
    >>> round(math.exp(log_predicted(np.array([1.0, 1.0]))), 3)  # 1/2 for the first, 1/4 for the other one
    0.125
    """
    k = len(counts)
    return float(
        # Dirichlet with half a count in each cell, in closed form: order does not matter
        gammaln(0.5 * k) - gammaln(counts.sum() + 0.5 * k) + (gammaln(counts + 0.5) - gammaln(0.5)).sum()
    )


MOST_KEPT = 512
"""Batches that are remembered: a shift that goes back further has been seen, or is too small."""


class ShiftMonitor:
    """Watches unlabeled scores batch by batch, and gives an alarm when they are no longer those of training.

    The alarm may be looked at after every batch for as long as the system runs: if the scores remain mixtures
    of the training classes, the probability that it is ever given is at most ``level``. The share of targets
    may be another one in every batch. The first alarm is a :class:`llrkit.errors.ShiftWarning`, too.

    Scores are taken to be independent given their class unless speakers are given with every batch
    (:meth:`update`): without them, a few new speakers look like a shift. Batches of fewer than 200 scores are
    gathered until there are so many.

    Parameters
    ----------
    map_or_source
        A map, whose file holds the densities of its training scores; or training trials.
    level
        Probability of a false alarm over the whole run.

    References
    ----------
    Wasserman, Ramdas & Balakrishnan, "Universal inference", PNAS 117 (2020) 16880; Ramdas, Grünwald, Vovk &
    Shafer, "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38 (2023) 576.

    Examples
    --------
    >>> import warnings
    >>> import llrkit as lk
    >>> warnings.simplefilter("ignore", lk.errors.ShiftWarning)  # the alarm is looked at below
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(4.0, 1.0, 2_000), rng.normal(0.0, 1.0, 20_000))
    >>> monitor = lk.ShiftMonitor(lk.calibrate(dev).map)
    >>> for day in range(10):
    ...     monitor.update(np.append(rng.normal(4.0, 1.0, 50), rng.normal(0.0, 1.0, 950)))
    >>> monitor
    ShiftMonitor(10,000 scores, no alarm)
    >>> for day in range(10):  # the gain of a microphone has changed
    ...     monitor.update(1.3 * np.append(rng.normal(4.0, 1.0, 50), rng.normal(0.0, 1.0, 950)))
    >>> monitor.alarm, monitor.alarm_at < 13_000
    (True, True)
    """

    def __init__(self, map_or_source: Map | ScoreSource, *, level: float = 0.05) -> None:
        self.level = probability(level, "level")
        self._setting = ShiftSetting.of(map_or_source)
        densities = self._setting.densities
        self._cuts = densities.cuts
        # Ville's inequality at half the level
        self._enough = math.log(2.0 / self.level)
        # half of the level for what the training trials do not tell, half for the scores to come
        self._trained = TrainedCells.of(_trained_counts(densities), 0.5 * self.level)
        self.reset()

    def reset(self) -> None:
        """Start over, for instance after a repair; the level holds from then on."""
        self.n = 0
        """Scores so far."""
        self.n_speakers = 0
        """Speakers so far, where they are given."""
        self._seen: set[object] = set()
        self._by_speaker: bool | None = None
        self.alarm_at: int | None = None
        """Scores after which the alarm was given; None if there was none."""
        self._log_e = 0.0
        self._batches: list[FloatArray] = []
        self._first = 0  # the number of the first batch that is kept
        self._waiting = np.zeros(len(self._cuts) + 1)
        self._n_waiting = 0

    def update(self, scores: AnyTrials, speakers: str | Sequence[Hashable] | None = None) -> None:
        """Take a batch: an array of scores, or a source whose labels are not looked at.

        ``speakers`` is the column of the source, or values beside the array, that say on whom a score
        depends: a speaker, a device, a session. All scores of a speaker count as one then, each with an equal
        part, and a speaker who comes back in another batch is not counted again. However the scores of one
        speaker depend on each other, the level holds if speakers are drawn independently (Hölder's
        inequality). With the same speakers every day nothing is added after the first one: what these do from
        then on cannot be told from what they are.

        Parameters
        ----------
        scores
            An array of scores, or a source.
        speakers
            The column of the source, or values beside the array, that say on whom a score depends.
        """
        if self._by_speaker is not None and self._by_speaker != (speakers is not None):
            raise InputError("give speakers with every batch or with none; reset() starts over")
        self._by_speaker = speakers is not None
        source = as_new_source(self._setting.fitted, scores, self._setting.densities.of)
        n, counts = self._counted(source) if speakers is None else self._counted_once(source, speakers)
        self.n += n
        self._n_waiting += n
        self._waiting = self._waiting + counts
        # a batch too small to show anything would only add a free share of targets
        if self._n_waiting < FEWEST or not self._waiting.any():
            return
        self._batches.append(self._waiting)
        self._waiting, self._n_waiting = np.zeros_like(counts), 0
        if len(self._batches) > MOST_KEPT:
            del self._batches[0]
            # the number of a batch, not its place in the list, decides
            # its weight: forgetting must not change the level
            self._first += 1
        self._log_e = self._mixture()
        if self.alarm_at is None and self._log_e >= self._enough:
            self.alarm_at = self.n
            warn_caller(self.text, ShiftWarning)

    def _counted(self, source: ScoreSource) -> tuple[int, FloatArray]:
        """How many scores there are, and how many in each cell."""
        cuts = self._cuts

        def cells(chunk: Scores) -> FloatArray:
            cell = [np.searchsorted(cuts, scores, side="right") for scores in (chunk.target, chunk.nontarget)]
            return np.bincount(np.concatenate(cell), minlength=len(cuts) + 1).astype(np.float64)

        counts = source.reduce(cells)
        return round(float(counts.sum())), counts

    def _counted_once(
        self, source: ScoreSource, speakers: str | Sequence[Hashable]
    ) -> tuple[int, FloatArray]:
        """The same with one score, in parts, for each speaker who was not there before."""
        if not isinstance(speakers, str):
            if not isinstance(source, Scores):
                raise InputError("for trials, give the name of the column that holds the speakers")
            given = np.asarray(speakers).reshape(-1)
            if len(given) != len(source.target):
                n_speakers, n_scores = counted(len(given), "speaker"), counted(len(source.target), "score")
                raise InputError(f"{n_speakers} for {n_scores}")
            source = Scores.part(source.target, source.nontarget, {"speaker": (given, given[:0])})
            speakers = "speaker"
        column = speakers
        wide = source.with_columns(column)
        who = sorted(wide.reduce(lambda chunk: ValueCounts.of(chunk, column)).counts, key=str)
        if not who:
            return 0, np.zeros(len(self._cuts) + 1)
        numbers = {value: i for i, value in enumerate(who)}
        cells = wide.reduce(GroupCells.at([column], numbers, self._cuts))
        counts = cells.target + cells.nontarget
        fresh = [i for i, value in enumerate(who) if value not in self._seen]
        self._seen.update(who)
        self.n_speakers = len(self._seen)
        rows = counts[:-1][fresh]
        # Hölder: a speaker's scores share one unit of evidence, however they depend on each other
        once = (rows / rows.sum(axis=1, keepdims=True)).sum(axis=0)
        return round(float(counts[-1].sum())), np.asarray(once)

    @property
    def alarm(self) -> bool:
        """Whether the alarm was ever given."""
        return self.alarm_at is not None

    @property
    def e_value(self) -> float:
        """The evidence against "no shift" so far, an e-value that starts at 1; the alarm is at 2 / level."""
        return math.exp(min(self._log_e, 700.0))

    @property
    def text(self) -> str:
        """The state of the monitor in words."""
        once = f"{counted(self.n_speakers, 'speaker')}, each counted once"
        taken = once if self._by_speaker else "scores taken as independent"
        held = f"false alarms over the whole run: {self.level:g}; {taken}"
        if self.alarm_at is None:
            return f"No alarm after {counted(self.n, 'score')} ({held})."
        return (
            f"Alarm after {self.alarm_at:,} of {self.n:,} scores: they are no mixture of the training "
            f"classes ({held})."
        )

    def _mixture(self) -> float:
        """Log of the mean of e-processes that begin at different batches, with weights that sum to 1."""
        kept = np.array(self._batches)
        n, logs = len(kept), []
        for start in _starts_of_processes(n):
            number = self._first + start
            weight = -math.log((number + 1.0) * (number + 2.0))  # these sum to 1 over all batches
            # a nat of slack, because the other processes add to the mean
            logs.append(weight + self._trained.log_e(kept[start:], self._enough - weight - 1.0))
        # bets that have not begun still hold their stakes
        logs.append(-math.log(self._first + n + 1.0))
        return float(np.logaddexp.reduce(logs))

    def __repr__(self) -> str:
        state = f"alarm after {self.alarm_at:,}" if self.alarm_at is not None else "no alarm"
        return f"ShiftMonitor({counted(self.n, 'score')}, {state})"


def _starts_of_processes(n: int) -> list[int]:
    """Batches at which the e-processes that are followed begin: the first, and those 1, 2, 3, 4, 6, 8 ago."""
    ages = {n}
    # ages in steps of a half: a change is within a factor of 3/2 of some start
    for power in range(n.bit_length()):
        ages |= {1 << power, 3 << power >> 1}
    return sorted(n - age for age in ages if 0 < age <= n)


def _trained_counts(densities: TrainingDensities) -> FloatArray:
    """Training trials of each class in the cells; fewer where speakers make them depend on each other."""
    rows = []
    for i, one in enumerate((densities.histogram.target, densities.histogram.nontarget)):
        below = share_below(one, densities.cuts)
        cells = np.diff(below, prepend=0.0, append=1.0) * all_scores(one)
        if densities.spread is not None:
            alone = below * (1.0 - below) / one.total
            # fewer independent trials than counted, by the inflation that speakers cause
            cells = cells / max(float(np.trace(densities.spread.covariance[i]) / alone.sum()), 1.0)
        rows.append(np.maximum(cells, 0.0))
    return np.array(rows)
