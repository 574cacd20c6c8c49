"""fit_quality(): calibration of one score with columns that say something about the trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llrkit.calibrate.composite.fusion import fit_fusion
from llrkit.calibrate.composite.linear_map import LinearMap
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.option_checks import names_of
from llrkit.errors import InputError
from llrkit.scores import ScoreSource


@fits_map
def fit_quality(
    source: ScoreSource,
    *,
    columns: Sequence[str] | str,
    features: str = "linear",
    scaled: bool = False,
    prior: float = 0.5,
    regularization: float = 0.0,
) -> LinearMap:
    """Calibrate with side information: logistic regression on the score and functions of columns.

    ``features`` is ``linear`` (each column as it is), ``durations`` (two columns in seconds) or
    ``bilinear`` (qualities of one side, then of the other); ``scaled`` lets the slope depend on them too.
    The result is ``w_0 + w_1 s + Q(columns)`` (Mandasari et al. 2013; BOSARIS).

    Parameters
    ----------
    columns
        Columns with quality measures.
    features
        ``"linear"``, ``"durations"`` or another set of functions of the columns.
    scaled
        Let the columns change the slope, too.
    prior
        Where the fit should be best: the prior of a target, costs included (:term:`training prior`).
    regularization
        Weight of copies of the trials that say nothing and pull LLRs towards 0.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, 4.0], [-1.0, 0.0, 1.5, -2.0], {"snr": ([9, 20, 11], [15, 8, 21, 9])})
    >>> lk.fit_quality(scores, columns="snr", regularization=1).needs
    ('snr',)
    """
    wanted = names_of(columns, "columns")
    if not wanted:
        raise InputError("columns must name at least one column")
    fitted = fit_fusion(
        source,
        prior=prior,
        quality_columns=wanted,
        features=features,
        scaled=scaled,
        regularization=regularization,
    )
    return replace(fitted, method="quality")
