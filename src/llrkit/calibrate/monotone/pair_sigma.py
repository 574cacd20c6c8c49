"""The sigma of the calibrated Gaussian pair that performs as the training scores do."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.weighted_points import TrainingPoints
from llrkit.core.hull import PavBlocks, crossing, error_path
from llrkit.core.special import LN2, probit, sigmoid, softplus
from llrkit.errors import InputError, SeparationError
from llrkit.theory import sigma_from_cllr

_KAPPA = 0.01


def sigma_of_blocks(blocks: PavBlocks, sigma_from: str) -> float:
    """Sigma from the EER of the ROC convex hull, or from the Cllr after PAV."""
    if sigma_from == "eer":
        path = error_path(blocks)
        eer = crossing(path.p_miss, path.p_fa)
        if eer == 0.0:
            raise SeparationError("the classes do not overlap: an EER of 0 gives an infinite sigma")
        if eer >= 0.5:
            raise InputError("the EER is 50 %: the scores carry no information to calibrate")
        return -2.0 * float(probit(eer))
    llr = blocks.llr
    t, n = blocks.target > 0, blocks.nontarget > 0
    loss = float((blocks.target[t] * softplus(-llr[t])).sum()) / float(blocks.target.sum())
    loss += float((blocks.nontarget[n] * softplus(llr[n])).sum()) / float(blocks.nontarget.sum())
    return _sigma(0.5 * loss / LN2)


def _sigma(cllr: float) -> float:
    if cllr <= 0.0:
        raise SeparationError("the classes do not overlap: a Cllr of 0 gives an infinite sigma")
    if cllr >= 1.0:
        raise InputError("the Cllr is 1 bit: the scores carry no information to calibrate")
    return float(sigma_from_cllr(cllr))


def sigma_of_logistic(training: TrainingPoints) -> float:
    """Sigma from the Cllr after regularized logistic regression.

    Every trial counts once with its label, and ``kappa / (2 N_e)`` times with either label.
    """
    target, nontarget = training.standardized()
    t = np.concatenate([target.points, nontarget.points])
    w = 0.5 * np.concatenate([target.weights / target.total, nontarget.weights / nontarget.total])
    is_target = np.repeat([1.0, 0.0], [len(target.points), len(nontarget.points)])
    share = 0.5 * _KAPPA / target.total
    w_e, w_d = w * (is_target + share), w * (1.0 - is_target + share)

    def loss(x: FloatArray) -> float:
        z = x[0] * t + x[1]
        return float((w_e * softplus(-z) + w_d * softplus(z)).sum())

    x = np.zeros(2)
    for _ in range(200):
        p = sigmoid(x[0] * t + x[1])
        slope = w_d * p - w_e * (1.0 - p)
        curve = (w_e + w_d) * p * (1.0 - p)
        gradient = np.array([(slope * t).sum(), slope.sum()])
        cross = (curve * t).sum()
        step = np.linalg.solve(np.array([[(curve * t * t).sum(), cross], [cross, curve.sum()]]), -gradient)
        size, here = 1.0, loss(x)
        while loss(x + size * step) > here and size > 1e-9:
            size *= 0.5
        x = x + size * step
        if np.abs(step).max() < 1e-10 * (1.0 + np.abs(x).max()):
            break
    z = x[0] * t + x[1]
    return _sigma(float((w * (is_target * softplus(-z) + (1.0 - is_target) * softplus(z))).sum()) / LN2)
