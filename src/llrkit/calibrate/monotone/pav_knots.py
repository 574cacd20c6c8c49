"""PAV blocks and their LLRs, with or without Laplace's extra trials, as the knots of a tilted polyline."""

from __future__ import annotations

from typing import Any

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.hull import PavBlocks, pav_blocks
from llrkit.core.score_bins import ScoreBins
from llrkit.errors import SeparationError


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


def tilted_knots(blocks: PavBlocks, llr: FloatArray, ends: str, tilt: float) -> dict[str, Any]:
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
