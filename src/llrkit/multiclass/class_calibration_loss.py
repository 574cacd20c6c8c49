"""calibration_loss() of several classes: what calibrating log-likelihoods again would gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llrkit._random import RNG, seed_of
from llrkit.choose.fit_best import CrossCalibration
from llrkit.choose.methods import Fit
from llrkit.multiclass.class_counts_and_priors import Prior
from llrkit.multiclass.class_cross_validation import cross_calibrate
from llrkit.multiclass.class_map_base import ClassMap
from llrkit.multiclass.class_methods import prior_option
from llrkit.multiclass.class_metrics import cllr
from llrkit.scores.class_scores import ClassSource
from llrkit.trust.calibration.calibration_loss import CalibrationLoss as CalibrationLoss


def calibration_loss(
    source: ClassSource,
    method: str | Fit[ClassMap] = "scale-offset",
    *,
    groups: str | Sequence[str] | None = None,
    folds: int | str = 5,
    prior: Prior = "flat",
    rng: RNG = 0,
    metric: Callable[..., float] = cllr,
    **options: object,
) -> CalibrationLoss:
    """How much of a metric of several classes calibration loses, by cross-validation (Ferrer & Ramos 2025).

    The trials are calibrated by maps that have not seen them. Unlike the difference to a calibration on
    the same trials it is not biased upwards: for perfectly calibrated scores it is slightly below 0 on
    average, the price of estimating the calibration.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    method, prior, **options
        The calibrator, the prior it and the metric get, and its other options.
    groups, folds, rng
        As for :func:`cross_calibrate`; trials of the same source must share a fold (``groups``).
    metric
        Called as ``metric(source, prior=prior)``; lower must be better.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> labels = np.arange(600) % 3
    >>> scores = lk.ClassScores(9.0 * (rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[labels]), labels)
    >>> round(lk.multiclass.calibration_loss(scores).relative, 2)
    0.56
    """
    seed = seed_of(rng)
    options |= prior_option(method, prior)
    calibrate: Callable[..., CrossCalibration[ClassSource, ClassMap]] = cross_calibrate  # its own options too
    crossed = calibrate(source, method, groups=groups, folds=folds, rng=seed, **options)
    return CalibrationLoss(metric(source, prior=prior), metric(crossed.source, prior=prior))
