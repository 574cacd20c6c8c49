"""What is left after the best affine calibration of these very trials: the counterpart of minimum Cllr."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray
from llrkit._format import not_among
from llrkit._results import Result
from llrkit.core.elementary_functions import LN2
from llrkit.errors import (
    ConstantScoreError,
    InfiniteScoreError,
    ReversedScoresWarning,
    SeparationError,
    UnknownNameError,
)
from llrkit.multiclass.class_counts_and_priors import Prior, class_prior, count_classes, entropy
from llrkit.multiclass.class_losses import ClassLosses
from llrkit.multiclass.class_map_base import ClassMap
from llrkit.multiclass.class_metrics import cllr_from_losses
from llrkit.multiclass.softmax_fits import fit_affine, fit_scale_offset, fit_temperature, fit_vector
from llrkit.scores.class_scores import ClassSource

REFINEMENTS = {
    "temperature": fit_temperature,
    "scale-offset": fit_scale_offset,
    "vector": fit_vector,
    "affine": fit_affine,
}
_SAFEGUARD = 0.01


@dataclass(frozen=True, eq=False)
class Refinement(Result):
    """A calibration trained on the trials it is applied to, or why there is none."""

    method: str
    map: ClassMap | None
    note: str = ""

    def on(self, source: ClassSource) -> ClassSource:
        """The refined trials."""
        return source if self.map is None else self.map.on(source)


def refine(source: ClassSource, *, prior: Prior = "flat", method: str = "scale-offset") -> Refinement:
    """Calibrate trials on themselves, to see what calibration could give at best.

    ``method`` is "temperature", "scale-offset" (default), "vector" or "affine". Trials that can be told apart
    without error get a slightly regularized fit; where no fit exists, ``map`` is None and ``note`` says why.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    method
        Name of the calibrator.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> refined = lk.multiclass.refine(scores, method="temperature").on(scores)
    >>> lk.multiclass.cllr(scores) > lk.multiclass.cllr(refined)
    True
    """
    if method not in REFINEMENTS:
        raise UnknownNameError(f"unknown refinement {not_among(method, REFINEMENTS)}")
    fit = REFINEMENTS[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReversedScoresWarning)
        try:
            return Refinement(method, fit(source, prior=prior))
        except SeparationError:
            fitted = fit(source, prior=prior, regularization=_SAFEGUARD)
            note = f"the classes hardly overlap: refined with regularization={_SAFEGUARD}"
            return Refinement(method, fitted, note)
        except (ConstantScoreError, InfiniteScoreError) as error:
            return Refinement(method, None, str(error))


@takes()
def refined_cllr(
    source: ClassSource, *, prior: Prior = "flat", method: str = "scale-offset", normalized: bool = False
) -> float:
    """Cllr after the best affine calibration of the same trials: the cost of imperfect discrimination.

    The counterpart of minimum Cllr, for which there is no isotonic regression with more than two classes.
    Biased low on small sets, more so the more parameters the ``method`` has.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.
    method
        Name of the calibrator.
    normalized
        Divide by the cost of deciding without scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> lk.multiclass.cllr(scores) > lk.multiclass.refined_cllr(scores)
    True
    """
    share = class_prior(prior, count_classes(source))
    refined = refine(source, prior=prior, method=method)
    if refined.map is None:
        return blind_or_missing(refined, share, normalized=normalized)
    losses = refined.on(source).reduce(ClassLosses.at(np.log(share)))
    return cllr_from_losses(losses, share, normalized=normalized)


def blind_or_missing(refined: Refinement, prior: FloatArray, *, normalized: bool = False) -> float:
    """Refined Cllr where there is no map: scores that are all alike leave the entropy of the prior."""
    if "infinite" in refined.note:
        return float("nan")
    return 1.0 if normalized else entropy(prior) / LN2
