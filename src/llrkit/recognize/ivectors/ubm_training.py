"""Training of the universal background model: EM for a diagonal mixture that grows by splitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from operator import add

import numpy as np
import numpy.typing as npt

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit.errors import InputError
from llrkit.recognize.frames.utterance_frames import Frames, frame_chunks
from llrkit.recognize.ivectors.baum_welch import FrameSums
from llrkit.recognize.ivectors.diagonal_gmm import FRAMES_AT_ONCE, DiagonalGMM
from llrkit.scores.source import in_order, thread_count

Report = Callable[[int, int, float], None]


def train_ubm(
    frames: Sequence[npt.ArrayLike],
    n_gaussians: int = 512,
    *,
    iterations: int = 10,
    split_iterations: int = 4,
    variance_floor: float = 0.01,
    rng: np.random.Generator | int = 0,
    report: Report | None = None,
) -> DiagonalGMM:
    """Train a mixture of Gaussians with diagonal covariances by maximum likelihood.

    It starts from one Gaussian, the heaviest are split in two along a random diagonal until there are
    enough, and EM follows every split (Linde, Buzo & Gray 1980; Dempster, Laird & Rubin 1977). No step of EM
    lowers the likelihood, the floor of the variances included, which is part of what is maximized over.

    Parameters
    ----------
    frames
        Frames, or a list of arrays of shape (frames, dimensions), one per utterance.
    n_gaussians
        How many Gaussians, usually a power of two.
    iterations, split_iterations
        Steps of EM with all Gaussians, and after each earlier split.
    variance_floor
        No variance is below this part of the variance of all frames.
    rng
        A generator or a seed for the directions of the splits.
    report
        Called after each step with the number of Gaussians, that of the step and the mean log-likelihood of a
        frame before it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> frames = [rng.normal(size=(500, 1)), rng.normal(5.0, 2.0, size=(500, 1))]
    >>> ubm = train_ubm(frames, 2, iterations=50)
    >>> ubm.means.round(1).ravel().tolist(), np.sqrt(ubm.variances).round(1).ravel().tolist()
    ([-0.1, 4.8], [0.9, 2.1])
    """
    whole_number(n_gaussians, 1, "n_gaussians")
    whole_number(iterations, 1, "iterations")
    whole_number(split_iterations, 1, "split_iterations")
    if not 0.0 < variance_floor < 1.0:
        raise InputError(f"the floor of the variances must be between 0 and 1, got {variance_floor}")
    utterances, generator = Frames.of(frames), np.random.default_rng(rng)
    gmm, n_frames = _one_gaussian(utterances)
    if n_frames < 2 * n_gaussians:
        raise InputError(f"{n_frames} frames are too few for {n_gaussians} Gaussians; give two each at least")
    floor = variance_floor * gmm.variances[0]
    while gmm.n_gaussians < n_gaussians:
        gmm = _split_gaussians(gmm, min(2 * gmm.n_gaussians, n_gaussians), generator)
        if gmm.n_gaussians < n_gaussians:
            gmm, _ = _em_of_mixture(utterances, gmm, floor, split_iterations, report)
    gmm, history = _em_of_mixture(utterances, gmm, floor, iterations, report)
    return DiagonalGMM(gmm.weights, gmm.means, gmm.variances, history)


def training_steps(n_gaussians: int, iterations: int, split_iterations: int = 4) -> int:
    """How many steps of EM the training takes.

    Examples
    --------
    >>> training_steps(512, 10)
    42
    """
    splits = max(0, (n_gaussians - 1).bit_length() - 1)
    return splits * split_iterations + iterations


def _one_gaussian(frames: Frames) -> tuple[DiagonalGMM, int]:
    """Mean and variance of all frames, in two passes: squares of large numbers lose digits."""
    n, total = 0, np.zeros(1)
    for chunk in frame_chunks(frames, FRAMES_AT_ONCE):
        n, total = n + len(chunk), total + chunk.sum(axis=0, dtype=np.float64)
    mean = total / n
    squares = np.zeros_like(mean)
    for chunk in frame_chunks(frames, FRAMES_AT_ONCE):
        squares += ((chunk - mean) ** 2).sum(axis=0)
    variance = squares / n
    if not (variance > 0).all():
        at = int(np.argmin(variance))
        raise InputError(f"dimension {at} is the same in all {counted(n, 'frame')}; leave it out")
    return DiagonalGMM(np.ones(1), mean[None], variance[None]), n


def _split_gaussians(gmm: DiagonalGMM, n: int, rng: np.random.Generator) -> DiagonalGMM:
    """Two Gaussians in place of each of the heaviest ones, a fifth of a standard deviation to either side."""
    chosen = np.sort(np.argsort(-gmm.weights, kind="stable")[: n - gmm.n_gaussians])
    signs = rng.choice([-1.0, 1.0], size=(len(chosen), gmm.n_dimensions))
    step = 0.2 * np.sqrt(gmm.variances[chosen]) * signs
    weights, means = gmm.weights.copy(), gmm.means.copy()
    weights[chosen] /= 2.0
    means[chosen] -= step
    return DiagonalGMM(
        np.concatenate([weights, weights[chosen]]),
        np.concatenate([means, gmm.means[chosen] + step]),
        np.concatenate([gmm.variances, gmm.variances[chosen]]),
    )


def _em_of_mixture(
    frames: Frames, gmm: DiagonalGMM, floor: FloatArray, iterations: int, report: Report | None
) -> tuple[DiagonalGMM, FloatArray]:
    history = []
    for step in range(iterations):
        sums = _frame_sums(frames, gmm)
        history.append(sums.log_likelihood / sums.n_frames)
        if report is not None:
            report(gmm.n_gaussians, step, history[-1])
        gmm = _maximized_mixture(sums, gmm, floor)
    return gmm, np.array(history)


def _frame_sums(frames: Frames, gmm: DiagonalGMM) -> FrameSums:
    chunks = frame_chunks(frames, FRAMES_AT_ONCE, gmm.n_dimensions)
    workers = thread_count()
    with ThreadPoolExecutor(workers) as pool:  # merged in their order, so that threads change no digit
        return reduce(add, in_order(pool, partial(FrameSums.of, gmm=gmm, second=True), chunks, 2 * workers))


def _maximized_mixture(sums: FrameSums, gmm: DiagonalGMM, floor: FloatArray) -> DiagonalGMM:
    """The mixture that fits best given which frames belong to which Gaussian."""
    n = sums.zeroth[:, None]
    filled = n > 1e-6  # a Gaussian without frames stays where it is, at next to no weight
    safe = np.where(filled, n, 1.0)
    shift = sums.first / safe
    spread = sums.second / safe - shift**2
    # The likelihood has one maximum in each variance, so the floor is the best value where that is below it.
    return DiagonalGMM(
        sums.zeroth / sums.zeroth.sum(),
        np.where(filled, gmm.means + shift, gmm.means),
        np.where(filled, np.maximum(spread, floor), gmm.variances),
    )
