"""Compound LLRs: against another enrolled speaker or an unknown one, as in SRE12."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.errors import InputError


def compound_llr(llr: npt.ArrayLike, p_known: float = 0.5) -> FloatArray:
    """LLRs against "another enrolled speaker or an unknown one", from LLRs against "unknown".

    ``L'_i = L_i / [p_known / (N - 1) sum_{j != i} L_j + (1 - p_known)]`` for the N enrolled speakers in
    the last axis, computed in the log domain.

    Parameters
    ----------
    llr
        LLRs of each segment against all models, the models along the last axis.
    p_known
        Prior probability that an impostor is one of the enrolled speakers.

    Examples
    --------
    >>> compound_llr([2.0, -1.0, -3.0], p_known=0.0)
    array([ 2., -1., -3.])
    """
    x = np.asarray(llr, dtype=np.float64)
    if x.ndim == 0 or x.shape[-1] < 2:
        raise InputError(
            f"compound_llr needs the LLRs of at least two enrolled speakers, got shape {x.shape}"
        )
    if np.isnan(x).any() or (x == np.inf).any():
        raise InputError("compound_llr: an LLR is NaN or +inf")
    if not 0.0 <= p_known <= 1.0:
        raise InputError(f"p_known must be between 0 and 1, got {p_known!r}")
    n = x.shape[-1]
    # each sum leaves one speaker out: summed over the others, never by subtraction, which would cancel
    others = np.broadcast_to(x[..., None, :], (*x.shape, n))[..., ~np.eye(n, dtype=bool)].reshape(
        *x.shape, n - 1
    )
    with np.errstate(divide="ignore"):  # log(0) = -inf drops that term
        log_known = np.log(p_known) - np.log(n - 1) + np.logaddexp.reduce(others, axis=-1)
        log_unknown = np.log1p(-p_known)
    return np.asarray(x - np.logaddexp(log_known, log_unknown))
