"""Bands around the score-to-LLR curve of any calibrator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit._progress import tracked
from llrkit.calibrate.maps import Map
from llrkit.choose.methods import METHODS, fit_of
from llrkit.core.elementary_functions import probability
from llrkit.core.moments import Moments
from llrkit.errors import InputError, LlrkitWarning, TooFewTrialsError
from llrkit.metrics.curve_base import Curve
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.trust.intervals.jackknife import Jackknife
from llrkit.trust.intervals.resampling import FEWEST_SPEAKERS
from llrkit.trust.intervals.speakers import GROUPS, Speakers, find_speakers


@dataclass(frozen=True, eq=False)
class LlrBand(Curve):
    """The LLR a calibrator gives to scores, and between which values leaving speakers out says it lies."""

    method: str
    level: float
    score: FloatArray
    llr: FloatArray
    lower: FloatArray
    upper: FloatArray


@takes_labels
def llr_band(
    source: ScoreSource,
    method: str | Callable[[ScoreSource], Map] = "logistic",
    *,
    speakers: str | Sequence[str],
    at: npt.ArrayLike | None = None,
    level: float = 0.95,
    **options: object,
) -> LlrBand:
    """Band around the score-to-LLR curve of any calibrator, fitted again without each speaker.

    More than 100 speakers are left out in 100 groups. The band lies around the curve; ``nan`` where an LLR is
    infinite.

    Parameters
    ----------
    method
        A calibrator by name, or a function that makes a map of a source; ``options`` go to it.
    speakers
        The column, or the two columns, with the speakers of the two sides, as in :func:`evaluate`.
    at
        Scores at which the curve is wanted; by default 101 even ones between the extremes.
    level
        Confidence level, between 0 and 1.
    **options
        Keywords of the calibrator.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> left, right = rng.integers(0, 30, 4000), rng.integers(0, 30, 4000)
    >>> trials = lk.Trials({"score": np.where(left == right, 2, -2) + 2 * rng.normal(size=4000),
    ...                     "label": left == right, "left": left, "right": right})
    >>> band = lk.llr_band(trials, "cmlg", speakers=("left", "right"), at=[2.0])
    >>> bool(band.lower[0] < band.llr[0] < band.upper[0])
    True
    """
    source = as_source(source)
    probability(level, "level")
    fit = partial(fit_of(method, METHODS), **options)
    if at is None:
        low, high = source.reduce(Moments.of).extremes
        at = np.linspace(low, high, 101)
    scores = np.atleast_1d(np.asarray(at, dtype=np.float64))
    groups = find_speakers(source, speakers).grouped(most=GROUPS)
    if groups.n < FEWEST_SPEAKERS:
        raise TooFewTrialsError(
            f"there are only {counted(groups.n, 'speaker')} in {' and '.join(groups.columns)}; "
            f"a band needs at least {FEWEST_SPEAKERS}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        llr = np.asarray(fit(source)(scores))
        without = []
        for group in tracked(range(groups.n), "fitting again", groups.n, "fits"):
            try:
                without.append(np.asarray(fit(_trials_to_fit_band_without(source, groups, group))(scores)))
            except InputError as error:  # a class is gone, or the classes do not overlap
                raise TooFewTrialsError(
                    f"no map can be fitted when one of the speakers is left out: {error}"
                ) from None
    names = tuple(map(str, range(len(scores))))
    curve = Jackknife(names, llr, np.array(without), blocks=groups.blocks)
    lower, upper = curve.interval(level, center=llr)
    name = method if isinstance(method, str) else getattr(method, "__name__", "a function")
    return LlrBand(name, level, scores, llr, lower, upper)


def _trials_to_fit_band_without(source: ScoreSource, groups: Speakers, group: int) -> DerivedSource:
    """The trials that do not involve one speaker, or a group of them."""

    def kept(chunk: Scores) -> Scores:
        sides = (groups.of(chunk, i) for i in (0, 1))
        return chunk.select(*((first != group) & (second != group) for first, second in sides))

    return DerivedSource(source, kept, groups.columns)
