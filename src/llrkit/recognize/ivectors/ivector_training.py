"""Training of the i-vector model by EM with minimum divergence, from sums that can be merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import blocks
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.errors import InputError
from llrkit.recognize.ivectors.baum_welch import Statistics
from llrkit.recognize.ivectors.diagonal_gmm import DiagonalGMM
from llrkit.recognize.ivectors.ivector_model import TotalVariability

_GAUSSIANS = 32  # Gaussians whose square matrices are in memory at a time


@dataclass(frozen=True, eq=False)
class FactorSums(FieldwiseSums):
    """What the next step needs to know of some utterances, given the model of the last one.

    ``squares[c]`` is ``sum_u N_uc E[w w']`` (lower triangle), ``products[c]`` is ``sum_u F_uc E[w]'``, F in
    standard deviations and counted from the means of the model; ``factors`` and ``factor_squares`` are sums
    of E[w] and of E[w w'].
    """

    n: float
    log_likelihood: float
    counts: FloatArray
    squares: FloatArray
    products: FloatArray
    factors: FloatArray
    factor_squares: FloatArray

    @classmethod
    def of(cls, statistics: Statistics, model: TotalVariability) -> FactorSums:
        """The sums over utterances, by matrix products over some of them at a time."""
        n_gaussians, _, n_factors = model.matrix.shape
        rows, columns = np.tril_indices(n_factors)
        squares = np.zeros((n_gaussians, len(rows)))
        products = np.zeros((model.variances.size, n_factors))
        factors, packed_sum, gain = np.zeros(n_factors), np.zeros(len(rows)), 0.0
        for utterances, posterior in model.posteriors(statistics):
            block = statistics.subset(range(utterances.start, utterances.stop))
            means = posterior.means
            packed = posterior.covariances[:, rows, columns] + means[:, rows] * means[:, columns]
            squares += block.zeroth.T @ packed
            products += model.deviations(block).T @ means
            factors += means.sum(axis=0)
            packed_sum += packed.sum(axis=0)
            gain += float(posterior.gains.sum())
        return cls(
            len(statistics),
            gain + _gain_of_offsets(statistics, model),
            statistics.zeroth.sum(axis=0),
            squares,
            products.reshape(model.matrix.shape),
            factors,
            packed_sum,
        )


def _gain_of_offsets(statistics: Statistics, model: TotalVariability) -> float:
    """Log-likelihood of w = 0 with the means of the model, beyond that with those of the background model."""
    counts, first = statistics.zeroth.sum(axis=0), statistics.first.sum(axis=0)
    terms = model.offsets * (first - 0.5 * counts[:, None] * model.offsets) / model.variances
    return float(terms.sum())


@takes(statistics=Statistics, gmm=DiagonalGMM)
def train_ivectors(
    statistics: Statistics,
    gmm: DiagonalGMM,
    n_factors: int = 200,
    *,
    iterations: int = 10,
    min_divergence: bool = True,
    rng: np.random.Generator | int = 0,
    report: Callable[[int, float], None] | None = None,
) -> TotalVariability:
    """Train the total-variability model of i-vectors by maximum likelihood.

    EM (Kenny, Boulianne & Dumouchel 2005) with a step of minimum divergence: w is given the mean and
    covariance it has in the training data, which are then absorbed by ``m`` and T, so that w is standard
    normal again. Both raise the likelihood of the statistics; the assignment of frames to Gaussians and the
    variances stay those of the background model.

    Parameters
    ----------
    statistics
        Baum-Welch statistics of the training utterances.
    gmm
        The background model they were made with.
    n_factors
        Length of an i-vector; at most the number of training utterances.
    iterations
        Steps of EM.
    min_divergence
        Whether to do the second part of each step.
    rng
        A generator or a seed for the start, a random matrix.
    report
        Called with the number of each step and the log-likelihood per utterance before it, counted from that
        of the background model.

    Examples
    --------
    >>> from llrkit.recognize.ivectors.baum_welch import baum_welch
    >>> rng = np.random.default_rng(1)
    >>> gmm = DiagonalGMM([1.0], [[0.0, 0.0]], [[1.0, 1.0]])
    >>> speakers = rng.normal(size=(300, 1)) * [[2.0, -1.0]]
    >>> frames = [mean + rng.normal(size=(20, 2)) for mean in speakers]
    >>> model = train_ivectors(baum_welch(frames, gmm), gmm, 1)
    >>> np.abs(model.matrix).round(2).ravel().tolist(), speakers.std(axis=0).round(2).tolist()
    ([1.85, 0.93], [1.84, 0.92])
    """
    if statistics.first.shape[1:] != gmm.means.shape:
        raise InputError(f"statistics for {statistics.first.shape[1:]}, a mixture of {gmm.means.shape}")
    most = min(len(statistics), gmm.means.size)
    if not 1 <= n_factors <= most:
        raise InputError(
            f"{n_factors} factors cannot be learnt from {len(statistics)} utterances and {gmm.means.size} "
            f"means; give 1 to {most}"
        )
    if iterations < 1:
        raise InputError(f"the training needs at least one step, got {iterations}")
    start = 0.1 * np.random.default_rng(rng).normal(size=(*gmm.means.shape, n_factors))
    start *= np.sqrt(gmm.variances)[:, :, None] / np.sqrt(n_factors)
    model = TotalVariability(start, gmm.variances, np.zeros_like(gmm.means))
    history = []
    for step in range(iterations):
        sums = FactorSums.of(statistics, model)
        history.append(sums.log_likelihood / sums.n)
        if report is not None:
            report(step, history[-1])
        model = _maximized_variability(sums, model, min_divergence)
    return TotalVariability(model.matrix, model.variances, model.offsets, np.array(history))


def _maximized_variability(
    sums: FactorSums, model: TotalVariability, min_divergence: bool
) -> TotalVariability:
    """The model that fits best given what is known of w; Gaussians without frames stay as they are."""
    n_factors = model.n_factors
    white = np.array(model.white)
    filled = np.flatnonzero(sums.counts > 1e-6)
    for block in blocks(len(filled), _GAUSSIANS):
        at = filled[block]
        squares = _unpacked_triangles(sums.squares[at], n_factors)
        white[at] = np.linalg.solve(squares, sums.products[at].transpose(0, 2, 1)).transpose(0, 2, 1)
    offsets = np.array(model.offsets)
    if min_divergence:
        mean = sums.factors / sums.n
        covariance = _unpacked_triangles(sums.factor_squares[None], n_factors)[0] / sums.n - np.outer(
            mean, mean
        )
        scales = np.sqrt(model.variances)
        offsets += scales * (white @ mean)
        white = white @ np.linalg.cholesky(covariance)
    matrix = white * np.sqrt(model.variances)[:, :, None]
    return TotalVariability(matrix, model.variances, offsets)


def _unpacked_triangles(packed: FloatArray, n: int) -> FloatArray:
    """Symmetric matrices from their lower triangles."""
    rows, columns = np.tril_indices(n)
    full = np.empty((len(packed), n, n))
    full[:, rows, columns] = packed
    full[:, columns, rows] = packed
    return full
