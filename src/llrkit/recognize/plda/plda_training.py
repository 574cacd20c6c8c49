"""Estimating a two-covariance PLDA model: from moments, and by maximum likelihood with EM."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit.errors import InputError, UnknownNameError
from llrkit.recognize.backends.speaker_scatter import SpeakerSums, speaker_sums
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.plda.plda_model import PLDA

STARTS = ("moments",)
_FLOOR = 1e-3  # smallest ratio between/within that EM starts from: from zero it could never grow


class PLDATraining(NamedTuple):
    """A trained model, and the log-likelihood of its training data at the start and after each iteration."""

    model: PLDA
    """The trained model."""
    log_likelihood: FloatArray
    """At the start and after each iteration; it never falls."""


def train_plda(
    vectors: Embeddings | npt.ArrayLike,
    speakers: npt.ArrayLike | None = None,
    *,
    start: str | PLDA = "moments",
    iterations: int = 20,
    rank: int | None = None,
    shrinkage: float = 0.0,
) -> PLDATraining:
    """Train a PLDA model by expectation-maximization.

    The speaker space is found by regression on the latent variables, followed by a minimum-divergence step,
    which needs far fewer iterations than the textbook updates of the two covariances and has the same
    optimum; the log-likelihood never falls. EM cannot leave a direction in which speakers do not differ at
    all, so from the moments it starts with at least a thousandth of the variance within speakers in every
    direction.

    Parameters
    ----------
    vectors, speakers
        One row per session and its speaker; the speakers of embeddings are those they carry.
    start
        'moments' (see :func:`moment_estimate`), or a model.
    iterations
        How often to repeat; 0 gives the start itself.
    rank
        Dimensions of the space in which speakers differ; all of them by default.
    shrinkage
        Adds this share of the mean variance within speakers to that variance in every direction, for
        embeddings some of whose directions do not vary. The log-likelihood then includes the penalty that
        this amounts to.

    References
    ----------
    Brümmer & de Villiers, "The speaker partitioning problem", Odyssey 2010 (two-covariance model);
    Brümmer, "EM for probabilistic LDA", 2010 (regression and minimum divergence).

    Examples
    --------
    >>> rng = np.random.default_rng(4)
    >>> speakers = np.repeat(np.arange(500), 4)
    >>> vectors = 2.0 * rng.normal(size=(500, 1))[speakers] + rng.normal(size=(2000, 1))
    >>> model, log_likelihood = train_plda(vectors, speakers, iterations=10)
    >>> round(float(model.between[0, 0]), 1), round(float(model.within[0, 0]), 1)
    (4.0, 1.0)
    >>> bool((np.diff(log_likelihood) >= -1e-9).all())
    True
    """
    whole_number(iterations, 0, "iterations")
    sums = speaker_sums(vectors, speakers, shrinkage=shrinkage)
    if rank is not None and not (int(rank) == rank and 1 <= rank <= sums.dim):
        raise InputError(f"rank must be a whole number from 1 to {sums.dim}, got {rank!r}")
    model = starting_model(sums, start, rank, floor=_FLOOR if iterations else 0.0)
    history = [log_likelihood(model, sums)]
    for _ in range(int(iterations)):
        model = _plda_em_step(model, sums, sums.dim if rank is None else int(rank))
        history.append(log_likelihood(model, sums))
    return PLDATraining(model, np.array(history))


def moment_estimate(
    vectors: Embeddings | npt.ArrayLike, speakers: npt.ArrayLike | None = None, *, shrinkage: float = 0.0
) -> PLDA:
    """Analysis of variance: the within-speaker covariance, and what is left over it between speaker means.

    ``within = S_w / (N - K)``, ``between = (S_b / (K - 1) - within) / n0`` with
    ``n0 = (N - sum n_i^2 / N) / (K - 1)``; negative variances between speakers are set to zero. Unbiased
    for any number of sessions per speaker, apart from that.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.
    speakers
        The speaker of each row; by default that of the embeddings.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> moment_estimate([[0.0], [2.0], [6.0], [8.0]], ["a", "a", "b", "b"]).between
    array([[17.]])
    """
    return _moments_of_speakers(speaker_sums(vectors, speakers, shrinkage=shrinkage))


def _moments_of_speakers(sums: SpeakerSums) -> PLDA:
    n, k = sums.counts, len(sums.counts)
    total = sums.sessions
    within = sums.within
    mean = n @ sums.means / total
    centered = sums.means - mean
    n0 = (total - (n @ n) / total) / (k - 1)
    between = ((centered * n[:, None]).T @ centered / (k - 1) - within) / n0
    return _plda_with_ratios(PLDA(mean, np.zeros_like(within), within), between, floor=0.0, rank=None)


def _plda_with_ratios(base: PLDA, between: FloatArray, floor: float, rank: int | None) -> PLDA:
    """A model with this covariance between speakers, its ratios to the one within made at least ``floor``."""
    ratios, basis = eigh(between, base.within)
    ratios = np.maximum(ratios, floor)
    if rank is not None:
        ratios[: len(ratios) - rank] = 0.0
    back = base.within @ basis  # the inverse of the transposed basis
    return PLDA(base.mean, (back * ratios) @ back.T, base.within)


def starting_model(sums: SpeakerSums, start: str | PLDA, rank: int | None, floor: float) -> PLDA:
    """The model that EM starts from; its ratios are ``floor`` at least."""
    if isinstance(start, PLDA):
        if start.dim != sums.dim:
            raise InputError(f"the start has {start.dim} dimensions, the embeddings {sums.dim}")
        return start if rank is None else _plda_with_ratios(start, start.between, 0.0, rank)
    if start not in STARTS:
        raise UnknownNameError(f"start={start!r}: expected {', '.join(STARTS)} or a model")
    estimate = _moments_of_speakers(sums)
    unchanged = rank is None and floor == 0.0
    return estimate if unchanged else _plda_with_ratios(estimate, estimate.between, floor, rank)


def log_likelihood(model: PLDA, sums: SpeakerSums) -> float:
    """Log-likelihood of the training vectors, from their sums."""
    ratios, basis = model.eigen
    n = sums.counts
    y = (sums.means - model.mean) @ basis
    spread = 1.0 + n[:, None] * np.maximum(ratios, 0.0)
    log_within = float(np.linalg.slogdet(model.within)[1])
    squares = float(np.sum(n[:, None] * y * y / spread)) + float(np.sum((sums.scatter @ basis) * basis))
    constant = sums.sessions * (sums.dim * np.log(2.0 * np.pi) + log_within)
    return float(-0.5 * (constant + np.sum(np.log(spread)) + squares))


def _plda_em_step(model: PLDA, sums: SpeakerSums, rank: int) -> PLDA:
    """One iteration, in coordinates where the model is diagonal: ``x = center + loadings h + e``."""
    n, k = sums.counts[:, None], len(sums.counts)
    ratios, basis = model.eigen
    y = (sums.means - model.mean) @ basis
    ratios = np.maximum(ratios[:rank], 0.0)
    uncertain = 1.0 / (1.0 + n * ratios)  # of the latent variables h, whose prior variance is one
    h = n * np.sqrt(ratios) * y[:, :rank] * uncertain
    known = np.column_stack([h, np.ones(k)])
    second, cross = (n * known).T @ known, (n * known).T @ y
    second[np.arange(rank), np.arange(rank)] += (n * uncertain).sum(axis=0)
    regression = np.linalg.solve(second, cross).T
    loadings, center = regression[:, :rank], regression[:, rank]
    within = (basis.T @ sums.scatter @ basis + (n * y).T @ y - regression @ cross) / sums.sessions
    # minimum divergence: give the latent variables back their mean of zero and their unit covariance
    shift = h.mean(axis=0)
    covariance = (h - shift).T @ (h - shift) / k + np.diag(uncertain.mean(axis=0))
    between = loadings @ covariance @ loadings.T
    back = model.within @ basis  # the inverse of the transposed basis
    within = 0.5 * (within + within.T)
    return PLDA(
        model.mean + back @ (center + loadings @ shift), back @ between @ back.T, back @ within @ back.T
    )
