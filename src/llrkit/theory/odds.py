"""Probabilities, odds and likelihood ratios: Bayes' rule in the log-odds domain."""

from __future__ import annotations

from typing import overload

import numpy as np

from llrkit._arrays import FloatArray, Numbers, number_or_array
from llrkit.core.elementary_functions import logit, probability, sigmoid
from llrkit.errors import InputError


@overload
def log_odds(p: float) -> float: ...
@overload
def log_odds(p: Numbers) -> FloatArray: ...
def log_odds(p: float | Numbers) -> float | FloatArray:
    """Log-odds of a probability, ``log(p / (1 - p))`` in nats; infinite at 0 and 1.

    Parameters
    ----------
    p
        Probabilities.

    Examples
    --------
    >>> log_odds(0.5), round(log_odds(0.01), 6)
    (0.0, -4.59512)
    """
    return number_or_array(logit(_checked_probabilities(p)))


@overload
def probability_from_log_odds(x: float) -> float: ...
@overload
def probability_from_log_odds(x: Numbers) -> FloatArray: ...
def probability_from_log_odds(x: float | Numbers) -> float | FloatArray:
    """Probability with given log-odds, ``1 / (1 + e^-x)``.

    Parameters
    ----------
    x
        Log-odds in nats.

    Examples
    --------
    >>> round(probability_from_log_odds(log_odds(0.3)), 15)
    0.3
    """
    return number_or_array(sigmoid(x))


@overload
def posterior(llr: float, prior: float) -> float: ...
@overload
def posterior(llr: Numbers, prior: float) -> FloatArray: ...
def posterior(llr: float | Numbers, prior: float) -> float | FloatArray:
    """Posterior probability of a target, ``P r / (P r + 1 - P) = sigmoid(llr + logit P)``.

    The likelihood ratio is sufficient: whatever was observed, its LLR and the prior are all that matters.

    Parameters
    ----------
    llr
        LLRs in nats.
    prior
        Prior probability of a target.

    Examples
    --------
    >>> posterior(np.log(99.0), 0.01)
    0.5
    """
    return number_or_array(sigmoid(np.asarray(llr, dtype=np.float64) + log_odds(probability(prior, "prior"))))


@overload
def llr_from_posterior(p: float, prior: float) -> float: ...
@overload
def llr_from_posterior(p: Numbers, prior: float) -> FloatArray: ...
def llr_from_posterior(p: float | Numbers, prior: float) -> float | FloatArray:
    """LLR in nats that takes a prior to a posterior, ``logit p - logit P``; the inverse of :func:`posterior`.

    Parameters
    ----------
    p
        Posterior probabilities of a target.
    prior
        Prior probability of a target.

    Examples
    --------
    >>> round(llr_from_posterior(0.5, 0.01), 12)  # log 99
    4.595119850135
    """
    return number_or_array(logit(_checked_probabilities(p)) - log_odds(probability(prior, "prior")))


@overload
def posterior_log_odds(llr: float, prior: float) -> float: ...
@overload
def posterior_log_odds(llr: Numbers, prior: float) -> FloatArray: ...
def posterior_log_odds(llr: float | Numbers, prior: float) -> float | FloatArray:
    """Posterior log-odds, the odds form of Bayes' rule: ``llr + logit P``.

    Parameters
    ----------
    llr
        LLRs in nats.
    prior
        Prior probability of a target.

    Examples
    --------
    >>> posterior_log_odds(2.0, 0.5)
    2.0
    """
    return number_or_array(np.asarray(llr, dtype=np.float64) + log_odds(probability(prior, "prior")))


def _checked_probabilities(p: float | Numbers) -> FloatArray:
    values = np.asarray(p, dtype=np.float64)
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise InputError(f"a probability must lie between 0 and 1, got {p!r}")
    return values
