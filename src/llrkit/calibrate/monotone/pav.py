"""PAV: the best non-decreasing map from score to LLR, made usable for scores it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypedDict

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.knot_map import MAX_KNOTS, thin_knots
from llrkit.calibrate.maps import Columns, Map
from llrkit.calibrate.option_checks import one_of
from llrkit.calibrate.training_checks import check_moments, provenance
from llrkit.core.moments import Moments
from llrkit.core.pav_and_hull import PavBlocks, pav_blocks
from llrkit.core.score_bins import ScoreBins
from llrkit.core.summary_algebra import both
from llrkit.core.threshold_grid import Grid, collect_again
from llrkit.core.trial_counts import count_on
from llrkit.errors import InputError, NotInvertibleError, SeparationError, SystemCountError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import as_source


def llr_blocks(bins: ScoreBins, laplace: str) -> tuple[PavBlocks, FloatArray]:
    """The PAV blocks and their LLRs; the trials Laplace added are counted but have no place."""
    offset = np.log(bins.n_target) - np.log(bins.n_nontarget)
    if laplace == "none":
        blocks = pav_blocks(bins)
        return blocks, blocks.llr
    # a target before a non-target is always pooled with it, so a pair is one bin of both
    first, last = ((1, 1), (1, 1)) if laplace == "pairs" else ((1, 0), (0, 1))
    if laplace == "misleading":
        offset = np.log(bins.n_target + 1) - np.log(bins.n_nontarget + 1)
    padded = ScoreBins(
        np.concatenate([first[:1], bins.target, last[:1]]),
        np.concatenate([first[1:], bins.nontarget, last[1:]]),
        np.concatenate([[-np.inf], bins.low, [np.inf]]),
        np.concatenate([[-np.inf], bins.high, [np.inf]]),
    )
    blocks = pav_blocks(padded)
    real = (blocks.high > -np.inf) & (blocks.low < np.inf)
    low, high = np.maximum(blocks.low, bins.low[0]), np.minimum(blocks.high, bins.high[-1])
    blocks = PavBlocks(blocks.target[real], blocks.nontarget[real], low[real], high[real])
    return blocks, np.log(blocks.target) - np.log(blocks.nontarget) - offset


class Knots(TypedDict):
    """Scores and LLRs of knots, and the LLRs beyond the first and the last."""

    x: FloatArray
    y: FloatArray
    below: float
    above: float


def tilted_knots(blocks: PavBlocks, llr: FloatArray, ends: str, tilt: float) -> Knots:
    """Knots of the tilted blocks, and the LLRs at and beyond the first and the last."""
    low, high = blocks.low.copy(), blocks.high.copy()
    finite = np.flatnonzero(np.isfinite(llr))
    pure_low, pure_high = llr[0] == -np.inf, llr[-1] == np.inf
    if len(finite) == 0:
        if ends == "nearest":
            raise SeparationError("the classes do not overlap: PAV has no finite LLR; use laplace=...")
        x, y = np.array([high[0], low[-1]]), np.array([-tilt, tilt])
        return {"x": x, "y": y, "below": -np.inf, "above": np.inf}
    if ends == "nearest":
        low[finite[0]], high[finite[-1]] = low[0], high[-1]
        pure_low = pure_high = False
    inner = llr[finite]
    room = np.diff(inner, prepend=-np.inf, append=np.inf) / 4.0
    lean = np.minimum(tilt, np.minimum(room[:-1], room[1:]))
    left, right = low[finite], high[finite]
    wide = right > left
    # a block of one score has one knot
    x = np.stack([left, right], axis=1)
    y = np.stack([np.where(wide, inner - lean, inner), inner + lean], axis=1)
    keep = np.stack([np.full(len(wide), True), wide], axis=1)
    x, y = x[keep], y[keep]
    below, above = float(y[0]), float(y[-1])
    if pure_low:
        x, y, below = np.append(high[0], x), np.append(inner[0] - 2.0 * tilt, y), -np.inf
    if pure_high:
        x, y, above = np.append(x, low[-1]), np.append(y, inner[-1] + 2.0 * tilt), np.inf
    return {"x": x, "y": y, "below": below, "above": above}


LAPLACE = ("none", "pairs", "misleading")
ENDS = ("infinite", "nearest")
OUTSIDE = ("clip", "tilt", "refuse")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PavMap(Map):
    """Straight lines between knots ``(x, y)``, with a policy beyond them.

    Scores at or below ``x[0]`` get ``below``, scores at or above ``x[-1]`` get ``above`` (infinite for
    the pure end blocks of plain PAV). ``low`` and ``high`` are the range of the training scores.

    Examples
    --------
    >>> steps = PavMap(x=np.array([0.0, 2.0]), y=np.array([-1.0, 1.0]), below=-1.0, above=1.0,
    ...                low=0.0, high=2.0)
    >>> steps([-5.0, 1.5, 9.0]), steps.inverse(0.5)
    (array([-1. ,  0.5,  1. ]), 1.5)
    """

    x: FloatArray
    y: FloatArray
    below: float
    above: float
    low: float
    high: float
    outside: str = "clip"
    tilt: float = 0.0

    kind: ClassVar[str] = "pav"
    may_be_infinite: ClassVar[frozenset[str]] = frozenset({"y", "below", "above", "low", "high"})

    def __post_init__(self) -> None:
        """Check the knots, and keep them from being written to."""
        for name in ("x", "y"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if (
            self.x.ndim != 1
            or self.x.shape != self.y.shape
            or len(self.x) < 2
            or np.any(np.diff(self.x) <= 0)
        ):
            raise InputError("a PAV map needs at least two knots with increasing scores")

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The polyline, and the policy outside the training range."""
        if self.outside == "refuse":
            wrong = (scores < self.low) | (scores > self.high)
            if wrong.any():
                i = int(np.argmax(wrong))
                raise InputError(
                    f"the score {scores[i]:g} at index {i} is outside the training range, "
                    f"{self.low:g} to {self.high:g}"
                )
        llr = np.interp(scores, self.x, self.y)
        low, high = scores <= self.x[0], scores >= self.x[-1]
        llr[low], llr[high] = self.below, self.above
        if self.outside == "tilt":
            # rises for ever, but by less than one more tilt: u / (1 + u), u = 0 at the end of the range
            width = self.x[-1] - self.x[0]
            llr[low] -= self.tilt * (1.0 - 1.0 / (1.0 + (self.x[0] - scores[low]) / width))
            llr[high] += self.tilt * (1.0 - 1.0 / (1.0 + (scores[high] - self.x[-1]) / width))
        return llr

    def _tried(self, scores: FloatArray) -> FloatArray:
        return super()._tried(np.clip(scores, self.low, self.high))

    def back_to_scores(self) -> PavMap:
        """The polyline read the other way; LLRs beyond the ends give the scores at the ends."""
        if not np.all(np.diff(self.y) > 0):
            raise NotInvertibleError("the map is not strictly increasing (tilt = 0) and has no inverse")
        first, last = float(self.x[0]), float(self.x[-1])
        return PavMap(
            x=self.y, y=self.x, below=first, above=last, low=float(self.y[0]), high=float(self.y[-1]),
            method=f"inverse of {self.method}",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"PavMap({len(self.x)} knots, llr from {self.below:.4g} to {self.above:.4g})"


@fits_map
def fit_pav(
    source: ScoreSource,
    *,
    laplace: str = "misleading",
    ends: str = "infinite",
    outside: str = "clip",
    tilt: float = 1e-6,
    max_knots: int = MAX_KNOTS,
) -> PavMap:
    """Optimal non-decreasing calibration of the training scores, by pooling adjacent violators.

    Scores are pooled into blocks whose share of targets increases; the LLR of a block is
    ``log(targets / N_target) - log(nontargets / N_nontarget)``. Tied scores are pooled whatever their
    order. Exact, from two passes (a third where the larger class was guessed wrong).

    New scores must not tie where training scores were pooled: a block's LLR rises from ``-tilt`` to
    ``+tilt`` (less where blocks are closer), and blocks are joined by straight lines in the LLR. So
    training scores get their PAV LLR up to ``tilt``.

    Parameters
    ----------
    laplace
        ``"none"``; ``"pairs"``: one extra target and one extra non-target at each end of the scores,
        the prior log-odds left as they are (``opt_loglr(..., 'laplace')`` of BOSARIS); ``"misleading"``:
        one extra target below and one extra non-target above all scores, both counted in the prior
        (``pav_calibration`` of BOSARIS). With either all LLRs are finite.
    ends
        What a block of one class gets, which only plain PAV has, at the ends: ``"infinite"`` LLRs (from
        the last pure score on; the empty gap before it belongs to the next block, or is neutral when the
        classes do not overlap), or the LLR of the ``"nearest"`` block with both classes.
    outside
        Scores beyond the training range: ``"clip"`` to the LLR at its end, ``"tilt"`` to keep rising by
        at most another ``tilt``, ``"refuse"``.
    tilt
        In nats; 0 leaves plateaus, and no inverse.
    max_knots
        More knots than this are thinned; ``details["thinning_error"]`` is the largest LLR error made.

    References
    ----------
    Brümmer & du Preez, Computer Speech & Language 20 (2006) 230; BOSARIS Toolkit 1.06.

    Examples
    --------
    >>> scores = Scores([-1.0, 0.5, 2.0, 3.0], [-3.0, -2.0, -1.0, 0.0, 1.0])
    >>> fit_pav(scores, laplace="none")([-2.0, 0.5, 2.0]).round(4)
    array([  -inf, 0.2231,    inf])
    >>> fit_pav(scores, laplace="pairs")([-2.0, 0.5, 2.0]).round(4)
    array([-0.8755,  0.2231,  1.3218])
    """
    one_of(laplace, LAPLACE, "laplace")
    one_of(ends, ENDS, "ends")
    one_of(outside, OUTSIDE, "outside")
    if not (isinstance(tilt, (int, float)) and 0.0 <= tilt <= 0.1):
        raise InputError(f"tilt must be between 0 and 0.1, got {tilt!r}")
    whole_number(max_knots, 4, "max_knots")
    moments, grid = as_source(source).reduce(both(_moments_of_one_system, Grid.of)).summaries
    check_moments(source, moments)
    bins = source.reduce(count_on(collect_again(source, grid))).bins()
    blocks, llr = llr_blocks(bins, laplace)
    knots = tilted_knots(blocks, llr, ends, float(tilt))
    x, y, error = thin_knots(knots["x"], knots["y"], max_knots)
    low, high = moments.extremes
    details: dict[str, Json] = {
        "blocks": len(llr), "knots": len(x), "thinning_error": error, "passes": 2 + (grid.points is None),
        "llr_lowest": float(llr[0]), "llr_highest": float(llr[-1]),
    }  # fmt: skip
    options = {"laplace": laplace, "ends": ends, "outside": outside, "tilt": tilt, "max_knots": max_knots}
    return PavMap(
        x=x, y=y, below=knots["below"], above=knots["above"], low=low, high=high, outside=outside,
        tilt=float(tilt), method="pav", options=options, details=details, provenance=provenance(moments),
    )  # fmt: skip


def _moments_of_one_system(chunk: Scores) -> Moments:
    if chunk.n_systems != 1:
        raise SystemCountError(f"one system expected, got {chunk.n_systems}; use fit_fusion")
    return Moments.of(chunk)
