"""UBM-GMM scoring: speaker models adapted from the background model, and the mean log-ratio of frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes, whole_number
from llrkit._arrays import Array, FloatArray
from llrkit.core.elementary_functions import blocks
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.errors import InputError
from llrkit.recognize.frames.utterance_frames import Frames, same_dimensions
from llrkit.recognize.ivectors.baum_welch import Statistics
from llrkit.recognize.ivectors.diagonal_gmm import DiagonalGMM, log_sum_exp, pieces

_MODELS = 64  # speaker models scored at a time


@dataclass(frozen=True, eq=False)
class SpeakerGMMs(ReadOnlyArrays):
    """Means of the background model adapted to each of several speakers, shape (S, C, D)."""

    ids: tuple[str, ...]
    """The name of each speaker model."""
    means: FloatArray
    """Shape (speakers, Gaussians, dimensions)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", np.asarray(self.means, dtype=np.float64))
        super().__post_init__()
        if self.means.ndim != 3 or len(self.means) != len(self.ids):
            raise InputError(f"{len(self.ids)} speaker models need means (S, C, D), got {self.means.shape}")

    def __len__(self) -> int:
        return len(self.ids)


@takes(statistics=Statistics, gmm=DiagonalGMM)
def adapt_means(statistics: Statistics, gmm: DiagonalGMM, *, relevance: float = 16.0) -> SpeakerGMMs:
    """One model per utterance: the means moved towards its frames, the more the more frames there are.

    ``m_c + n_c / (n_c + r) * (E_c[x] - m_c)``, the maximum a posteriori estimate with relevance factor r
    (Reynolds, Quatieri & Dunn 2000). For one model per speaker give ``statistics.by_speaker()``.

    Parameters
    ----------
    statistics
        Baum-Welch statistics of utterances.
    gmm
        The background model.
    relevance
        Number of frames at which a mean moves half the way.

    Examples
    --------
    >>> from llrkit.recognize.ivectors.baum_welch import baum_welch
    >>> gmm = DiagonalGMM([1.0], [[0.0]], [[1.0]])
    >>> adapt_means(baum_welch([[[3.0]] * 16], gmm), gmm).means
    array([[[1.5]]])
    """
    if not relevance > 0:
        raise InputError(f"the relevance factor must be positive, got {relevance}")
    if statistics.first.shape[1:] != gmm.means.shape:
        raise InputError(f"statistics for {statistics.first.shape[1:]}, a mixture of {gmm.means.shape}")
    return SpeakerGMMs(
        statistics.ids, gmm.means + statistics.first / (statistics.zeroth[:, :, None] + relevance)
    )


@takes(models=SpeakerGMMs, gmm=DiagonalGMM)
def gmm_scores(
    models: SpeakerGMMs,
    frames: Sequence[npt.ArrayLike],
    gmm: DiagonalGMM,
    *,
    top: int | None = 5,
    report: Callable[[int, int], None] | None = None,
) -> FloatArray:
    """Mean over the frames of ``log p(x | speaker) - log p(x | background)``, models by utterances.

    Frames are not independent, so the sum would be far too sure of itself; the mean is on no scale at all.
    Either way the scores need calibration.

    Parameters
    ----------
    models
        Speaker models, from :func:`adapt_means` with the same background model.
    frames
        The test utterances: Frames, or a list of arrays of shape (frames, dimensions).
    gmm
        The background model.
    top
        In each frame only this many Gaussians count, those which fit best in the background model; None for
        all of them.
    report
        Called after each utterance with how many are done and how many there are.

    Examples
    --------
    >>> gmm = DiagonalGMM([1.0], [[0.0]], [[1.0]])
    >>> gmm_scores(SpeakerGMMs(("a", "b"), [[[1.0]], [[-1.0]]]), [[[2.0], [1.0]]], gmm)
    array([[ 1.],
           [-2.]])
    """
    means = models.means
    if means.shape[1:] != gmm.means.shape:
        raise InputError(f"speaker models of {means.shape[1:]}, a background model of {gmm.means.shape}")
    if top is not None:
        whole_number(top, 1, "top")
    utterances = Frames.of(frames)
    # With common variances the log-ratio of a Gaussian is linear in the frame: slope . x + offset,
    # x being counted from the center of the background model.
    moved = means - gmm.center
    still = gmm.means - gmm.center
    slopes = (moved - still) / gmm.variances
    offsets = -0.5 * ((moved**2 - still**2) / gmm.variances).sum(axis=2)
    few = top if top is not None and top < gmm.n_gaussians else None
    scores = np.zeros((len(means), len(utterances)))
    for u, (_, utterance) in enumerate(same_dimensions(utterances, gmm.n_dimensions)):
        for piece in pieces(utterance):
            wide = gmm.expanded(piece)
            joint, x = gmm.joint(wide), wide[:, : gmm.n_dimensions]
            log_ratio = _all_gaussians if few is None else _few_gaussians
            scores[:, u] += log_ratio(joint, x, slopes, offsets, few or 0) / len(utterance)
        if report is not None:
            report(u + 1, len(utterances))
    return scores


def _all_gaussians(joint: Array, x: Array, slopes: FloatArray, offsets: FloatArray, few: int) -> FloatArray:
    background = log_sum_exp(joint.copy()).sum(dtype=np.float64)
    sums = np.empty(len(slopes))
    for s, (slope, offset) in enumerate(zip(slopes.astype(x.dtype), offsets.astype(x.dtype), strict=True)):
        sums[s] = log_sum_exp(joint + (x @ slope.T + offset)).sum(dtype=np.float64) - background
    return sums


def _few_gaussians(joint: Array, x: Array, slopes: FloatArray, offsets: FloatArray, few: int) -> FloatArray:
    """Each Gaussian meets all its frames and all models in one matrix product."""
    n = len(joint)
    best = np.argpartition(joint, -few, axis=1)[:, -few:].ravel()
    kept = np.take_along_axis(joint, best.reshape(n, few), axis=1)
    background = log_sum_exp(kept.copy()).sum(dtype=np.float64)
    order = np.argsort(best, kind="stable")  # (frame, rank) pairs, those of one Gaussian together
    used, starts = np.unique(best[order], return_index=True)
    groups = np.split(order, starts[1:])
    sums = np.empty(len(slopes))
    for block in blocks(len(slopes), _MODELS):
        slope, offset = slopes[block].astype(x.dtype), offsets[block].astype(x.dtype)
        terms = np.empty((n * few, len(slope)), x.dtype)
        for c, pairs in zip(used, groups, strict=True):
            terms[pairs] = x[pairs // few] @ slope[:, c].T + offset[:, c]
        terms = terms.reshape(n, few, -1) + kept[:, :, None]
        largest = terms.max(axis=1)
        total = np.exp(terms - largest[:, None]).sum(axis=1)
        sums[block] = (largest + np.log(total)).sum(axis=0, dtype=np.float64) - background
    return sums
