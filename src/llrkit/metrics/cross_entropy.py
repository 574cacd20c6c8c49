"""The empirical cross-entropy at every prior, of a source."""

from __future__ import annotations

import numpy.typing as npt
from numpy import asarray, float64

from llrkit.core.counting import count_blocks
from llrkit.metrics import curves
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source


@takes_labels
def cross_entropy_curve(
    source: ScoreSource, *, log_odds: npt.ArrayLike | None = None
) -> curves.CrossEntropyCurve:
    """Empirical cross-entropy in bits over prior log-odds: of the scores, after PAV, and of the prior alone.

    In the forensic literature it is called ECE (Ramos & Gonzalez-Rodriguez 2013), which elsewhere is the
    binned :func:`expected_calibration_error`. At log-odds 0 it is Cllr, and min Cllr after PAV. ``log_odds``
    are natural; by default 61 from -3 to 3 powers of ten.

    Parameters
    ----------
    log_odds
        Prior log-odds in nats; by default 61 of them.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([2.1, 3.5, 0.4, 1.7], [-2.2, -0.3, 0.6, -1.9, -3.1])
    >>> lk.cross_entropy_curve(scores, log_odds=[0.0]).system == lk.cllr(scores)
    array([ True])
    """
    odds = None if log_odds is None else asarray(log_odds, dtype=float64)
    return curves.cross_entropy_curve(as_source(source), count_blocks(source), odds)
