"""The densities of a calibrated pair as a curve object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.theory.calibrated_pair import CalibratedPair


@dataclass(frozen=True, eq=False)
class PairCurve(ReadOnlyArrays):
    """Densities of calibrated LLRs under both hypotheses."""

    llr: FloatArray
    target: FloatArray
    nontarget: FloatArray
    mean_target: float
    mean_nontarget: float
    eer: float
    """What the pair implies, as a fraction."""


def pair_curve(pair: CalibratedPair, llr: npt.ArrayLike | None = None) -> PairCurve:
    """The densities of a pair, by default from five standard deviations below to five above.

    Examples
    --------
    >>> from llrkit.theory import GaussianLLR
    >>> curve = pair_curve(GaussianLLR.from_eer(0.05), [-1.0, 0.0, 1.0])
    >>> np.log(curve.target / curve.nontarget).round(12).tolist()
    [-1.0, 0.0, 1.0]
    """
    target, nontarget = pair.target, pair.nontarget
    if llr is None:
        low = float(nontarget.mean()) - 5.0 * float(nontarget.std())
        high = float(target.mean()) + 5.0 * float(target.std())
        llr = np.linspace(low, high, 401)
    x = np.asarray(llr, dtype=np.float64)
    return PairCurve(
        llr=x,
        target=np.asarray(target.pdf(x)),
        nontarget=np.asarray(nontarget.pdf(x)),
        mean_target=float(target.mean()),
        mean_nontarget=float(nontarget.mean()),
        eer=pair.eer,
    )
