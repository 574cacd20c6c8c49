"""Training of heavy-tailed PLDA by variational Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray, IntArray
from llrkit.core.bracketed_root import bracketed_root
from llrkit.errors import InputError
from llrkit.recognize.backends.speaker_scatter import SpeakerSums, rows_and_speakers, speaker_sums
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.plda.heavy_tailed_model import HeavyTailedPLDA
from llrkit.recognize.plda.plda_model import PLDA
from llrkit.recognize.plda.plda_training import starting_model

FEWEST_DEGREES, MOST_DEGREES = 0.1, 1e4
_FLOOR = 1e-3


class HeavyTailedTraining(NamedTuple):
    """A trained model, and the lower bound of its log-likelihood before each step and after the last."""

    model: HeavyTailedPLDA
    """The trained model."""
    lower_bound: FloatArray
    """Before each step and after the last; it never falls."""


def train_heavy_tailed_plda(
    vectors: Embeddings | npt.ArrayLike,
    speakers: npt.ArrayLike | None = None,
    *,
    rank: int | None = None,
    degrees: float | None = None,
    iterations: int = 20,
) -> HeavyTailedTraining:
    """Train heavy-tailed PLDA; the lower bound of the log-likelihood never falls.

    The posterior is taken for a product of a Gaussian for each speaker and a gamma distribution for the
    precision of each session. Speaker space and covariance are then found as in :func:`train_plda`, each
    session with its expected precision as a weight.

    Parameters
    ----------
    vectors, speakers
        One row per session and its speaker; the speakers of embeddings are those they carry.
    rank
        Dimensions in which speakers differ, less than those of the embeddings; by default half of them, or
        as many as there are speakers less one.
    degrees
        Degrees of freedom of the t; estimated by default.
    iterations
        How often to repeat.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> who, l = np.arange(2000) // 4, rng.gamma(2.0, 0.5, size=(2000, 1))
    >>> x = np.hstack([2.0 * rng.normal(size=(500, 2)), np.zeros((500, 8))])[who]
    >>> model, bound = train_heavy_tailed_plda(x + rng.normal(size=(2000, 10)) / np.sqrt(l), who, rank=2)
    >>> round(float(model.degrees)), bool((np.diff(bound) > -1e-6).all())
    (4, True)
    """
    whole_number(iterations, 0, "iterations")
    if degrees is not None and not 0.0 < degrees < np.inf:
        raise InputError(f"the degrees of freedom must be a positive number, got {degrees!r}")
    x, names = rows_and_speakers(vectors, speakers)
    sums = speaker_sums(x, names)
    if rank is None:
        rank = max(1, min(sums.dim // 2, len(sums.counts) - 1))
    if not (int(rank) == rank and 1 <= rank < sums.dim):
        raise InputError(f"rank must be a whole number from 1 to {sums.dim - 1}, got {rank!r}")
    codes = np.unique(names, return_inverse=True)[1]
    sessions = _TrainingSessions(x, codes, len(sums.counts), _scatter_penalty(sums))
    model = starting_model(sums, "moments", int(rank), floor=_FLOOR)
    n, precisions, history = 10.0 if degrees is None else float(degrees), np.ones(len(x)), []
    for step in range(int(iterations) + 1):
        latent = _LatentPosteriors.of(model, sessions, precisions, n, int(rank))
        history.append(latent.lower_bound(model, sessions, n))
        precisions = latent.precisions
        if step == iterations:
            break
        model = latent.maximized(model, sessions)
        if degrees is None:
            n = _best_degrees(float(np.mean(latent.log_precisions - precisions)))
    trained = HeavyTailedPLDA(model.mean, model.between, model.within, np.asarray(n))
    return HeavyTailedTraining(trained, np.array(history))


@dataclass(frozen=True, eq=False)
class _TrainingSessions:
    x: FloatArray
    codes: IntArray
    n_speakers: int
    penalty: float
    """What is added to every direction of the scatter within speakers, where sessions are few."""

    def by_speaker(self, rows: FloatArray) -> FloatArray:
        sums = np.zeros((self.n_speakers, *rows.shape[1:]))
        np.add.at(sums, self.codes, rows)
        return sums


@dataclass(frozen=True, eq=False)
class _LatentPosteriors:
    """Posteriors, in coordinates where the model is diagonal: sessions ``y``, speakers ``h``."""

    y: FloatArray
    ratios: FloatArray
    h: FloatArray
    uncertain: FloatArray
    precisions: FloatArray
    rates: FloatArray
    shape: float

    @classmethod
    def of(
        cls, model: PLDA, data: _TrainingSessions, precisions: FloatArray, n: float, rank: int
    ) -> _LatentPosteriors:
        ratios, basis = model.eigen
        ratios, y = np.maximum(ratios[:rank], 0.0), (data.x - model.mean) @ basis
        totals, weighted = data.by_speaker(precisions), data.by_speaker(precisions[:, None] * y)
        uncertain = 1.0 / (1.0 + totals[:, None] * ratios)
        h = uncertain * np.sqrt(ratios) * weighted[:, :rank]
        rest = y.copy()
        rest[:, :rank] -= (np.sqrt(ratios) * h)[data.codes]
        distance = np.einsum("nd,nd->n", rest, rest) + (ratios * uncertain).sum(axis=1)[data.codes]
        shape, rates = 0.5 * (n + y.shape[1]), 0.5 * (n + distance)
        return cls(y, ratios, h, uncertain, shape / rates, rates, shape)

    @property
    def log_precisions(self) -> FloatArray:
        return np.asarray(digamma(self.shape) - np.log(self.rates))

    def lower_bound(self, model: PLDA, data: _TrainingSessions, n: float) -> float:
        size, dim = self.y.shape
        log_within = float(np.linalg.slogdet(model.within)[1])
        log_p, p, half = self.log_precisions, self.precisions, 0.5 * n
        distance = 2.0 * self.rates - n
        sessions = -0.5 * size * (dim * np.log(2.0 * np.pi) + log_within)
        sessions += 0.5 * float(np.sum(dim * log_p - p * distance))
        speakers = 0.5 * float(
            np.sum(self.uncertain + self.h * self.h - 1.0 - np.log(self.uncertain))
        )  # Kullback-Leibler divergence from the prior
        own = self.shape * np.log(self.rates) - gammaln(self.shape) + (self.shape - 1.0) * log_p - self.shape
        prior = half * np.log(half) - gammaln(half) + (half - 1.0) * log_p - half * p
        penalty = 0.5 * data.penalty * float(np.sum(model.eigen[1] ** 2))
        return float(sessions - speakers - np.sum(own - prior) - penalty)

    def maximized(self, model: PLDA, data: _TrainingSessions) -> PLDA:
        """The regression of :func:`train_plda`, with weights, and its step of minimum divergence."""
        rank, basis = len(self.ratios), model.eigen[1]
        totals = data.by_speaker(self.precisions)[:, None]
        weighted = data.by_speaker(self.precisions[:, None] * self.y)
        known = np.column_stack([self.h, np.ones(len(self.h))])
        second, cross = (totals * known).T @ known, known.T @ weighted
        second[np.arange(rank), np.arange(rank)] += (totals * self.uncertain).sum(axis=0)
        regression = np.linalg.solve(second, cross).T
        loadings, center = regression[:, :rank], regression[:, rank]
        scatter = (self.precisions[:, None] * self.y).T @ self.y + data.penalty * basis.T @ basis
        within = (scatter - regression @ cross) / len(self.y)
        shift = self.h.mean(axis=0)
        covariance = (self.h - shift).T @ (self.h - shift) / len(self.h) + np.diag(
            self.uncertain.mean(axis=0)
        )
        between = loadings @ covariance @ loadings.T
        back = model.within @ basis  # the inverse of the transposed basis
        within = back @ (0.5 * (within + within.T)) @ back.T
        between = back @ between @ back.T
        mean = model.mean + back @ (center + loadings @ shift)
        return PLDA(mean, 0.5 * (between + between.T), 0.5 * (within + within.T))


def _scatter_penalty(sums: SpeakerSums) -> float:
    """As much as Gaussian PLDA adds to the scatter of too few sessions."""
    return sums.shrunk_by * float(np.trace(sums.scatter)) / sums.dim


def _best_degrees(mean: float) -> float:
    """Where the expected log-likelihood of the precisions is largest; ``mean`` is that of ``log l - l``."""

    def slope(n: float) -> float:
        return float(np.log(0.5 * n) + 1.0 - digamma(0.5 * n) + mean)

    if slope(MOST_DEGREES) >= 0.0:
        return MOST_DEGREES
    if slope(FEWEST_DEGREES) <= 0.0:
        return FEWEST_DEGREES
    return bracketed_root(slope, FEWEST_DEGREES, MOST_DEGREES, within=1e-12)
