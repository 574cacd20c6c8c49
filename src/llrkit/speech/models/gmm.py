"""UBM-GMM: the background model, Baum-Welch statistics, and the speaker models adapted from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, FloatArray, of_kind, positive, whole_number
from llrkit.base.process import cached_property, each_in_threads, in_order, thread_count
from llrkit.base.text import counted
from llrkit.core.numerics import blocks
from llrkit.core.summaries import FieldwiseSums, ReadOnlyArrays
from llrkit.errors import InputError
from llrkit.speech.embeddings import SavedModel
from llrkit.speech.frames import Frames, checked_frames, frame_chunks, same_dimensions

FRAMES_AT_ONCE = 4096
"""Frames whose posteriors are in memory at a time."""
_ROWS = 256  # rows of posteriors that stay in the cache of one core


@dataclass(frozen=True, eq=False)
class DiagonalGMM(SavedModel):
    """A mixture of C Gaussians with diagonal covariances in D dimensions.

    ``p(x) = sum_c w_c N(x; m_c, diag(v_c))``. As a universal background model it says what frames of speech
    look like, whoever speaks (Reynolds, Quatieri & Dunn 2000).

    Parameters
    ----------
    weights
        Shape (C,); they sum to one.
    means, variances
        Shape (C, D).
    log_likelihoods
        The mean log-likelihood of a frame before each step of the training with all Gaussians, shape
        (steps,); empty if the model was not trained here.

    Examples
    --------
    >>> gmm = DiagonalGMM(weights=[0.5, 0.5], means=[[0.0], [4.0]], variances=[[1.0], [1.0]])
    >>> gmm.log_density(np.array([[0.0], [2.0]])).round(4)
    array([-1.6118, -2.9189])
    >>> gmm.posteriors(np.array([[0.0], [2.0]])).round(4)
    array([[9.997e-01, 3.000e-04],
           [5.000e-01, 5.000e-01]])
    """

    weights: FloatArray
    means: FloatArray
    variances: FloatArray
    log_likelihoods: FloatArray = field(default_factory=lambda: np.empty(0))

    schema: ClassVar[str] = "llrkit.gmm/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = self.means.shape
        if len(shape) != 2 or self.variances.shape != shape or self.weights.shape != shape[:1]:
            got = f"{self.weights.shape}, {shape} and {self.variances.shape}"
            raise InputError(f"a mixture needs weights (C,), means (C, D) and variances (C, D), got {got}")
        if not (np.isfinite(self.means).all() and np.isfinite(self.variances).all()):
            raise InputError("a mean or variance of the mixture is not finite")
        if not (self.variances > 0).all() or not (self.weights >= 0).all():
            raise InputError("the variances of a mixture must be positive and its weights not negative")
        # Weights that were saved or divided elsewhere sum to one only up to rounding.
        if abs(self.weights.sum() - 1.0) > 1e-6:
            raise InputError(f"the weights of a mixture must sum to 1, got {self.weights.sum():.6g}")

    @property
    def n_gaussians(self) -> int:
        """How many Gaussians."""
        return len(self.weights)

    @property
    def n_dimensions(self) -> int:
        """Numbers per frame."""
        return int(self.means.shape[1])

    @cached_property
    def center(self) -> FloatArray:
        """The mean of the mixture; frames are counted from here, which saves digits in 32 bits."""
        return self.weights @ self.means

    @cached_property
    def _coefficients(self) -> FloatArray:
        """``log(w_c N(x; m_c, v_c))`` is linear in (x, x * x, 1), x counted from the center."""
        means = self.means - self.center
        precisions = 1.0 / self.variances
        with np.errstate(divide="ignore"):  # a Gaussian of weight 0 gets the log-density -inf
            constant = np.log(self.weights)
        constant = constant - 0.5 * (np.log(2.0 * np.pi * self.variances) + means**2 * precisions).sum(axis=1)
        return np.concatenate([(means * precisions).T, -0.5 * precisions.T, constant[None]])

    def expanded(self, frames: Array) -> Array:
        """Frames as (x, x * x, 1), x counted from the center; the type of the frames decides that of all.

        Parameters
        ----------
        frames
            The frames.
        """
        n, d = frames.shape
        # Frames of 32 bits stay in 32 bits, which halves the time of the matrix products.
        dtype = frames.dtype if frames.dtype == np.float32 else np.dtype(np.float64)
        wide = np.empty((n, 2 * d + 1), dtype)
        np.subtract(frames, self.center.astype(dtype), out=wide[:, :d])
        np.multiply(wide[:, :d], wide[:, :d], out=wide[:, d : 2 * d])
        wide[:, 2 * d] = 1.0
        return wide

    def joint(self, wide: Array) -> Array:
        """``log(w_c N(x; m_c, v_c))`` of expanded frames for every Gaussian, shape (T, C).

        Parameters
        ----------
        wide
            What ``expanded`` returned.
        """
        # one matrix product for all Gaussians; BLAS threads it
        return np.asarray(wide @ self._coefficients.astype(wide.dtype))

    def log_density(self, frames: npt.ArrayLike) -> FloatArray:
        """Log-density of each frame.

        Parameters
        ----------
        frames
            The frames.
        """
        checked = checked_frames(frames, self.n_dimensions)
        densities = [log_sum_exp(self.joint(self.expanded(piece))) for piece in pieces(checked)]
        return np.concatenate(densities).astype(np.float64)

    def posteriors(self, frames: npt.ArrayLike) -> FloatArray:
        """For each frame the probability of each Gaussian, shape (T, C).

        Parameters
        ----------
        frames
            The frames.
        """
        posteriors = []
        for piece in pieces(checked_frames(frames, self.n_dimensions)):
            joint = self.joint(self.expanded(piece))
            _, total = exponentiate(joint)
            posteriors.append(joint / total)
        return np.concatenate(posteriors).astype(np.float64)


def pieces(frames: Array) -> Iterator[Array]:
    """Some frames at a time, so that posteriors never fill the memory."""
    return (frames[rows] for rows in blocks(len(frames), FRAMES_AT_ONCE))


def exponentiate(joint: Array) -> tuple[Array, Array]:
    """Turn log-densities into ``exp(joint - largest of the row)`` in place; gives largest and row sum.

    Rows are shared among threads in blocks that stay in the cache. No BLAS is called here, whose threads
    would get in the way of ours.
    """
    largest, total = np.empty((len(joint), 1), joint.dtype), np.empty((len(joint), 1), joint.dtype)

    def work(rows: slice) -> None:
        block = joint[rows]
        # The largest is subtracted first, so that no exponential overflows and one of them is 1.
        np.max(block, axis=1, keepdims=True, out=largest[rows])
        np.subtract(block, largest[rows], out=block)
        np.exp(block, out=block)
        np.sum(block, axis=1, keepdims=True, out=total[rows])

    each_in_threads(work, list(blocks(len(joint), _ROWS)))
    return largest, total


def log_sum_exp(joint: Array) -> Array:
    """Log of the sum of the exponentials of each row; overwrites its argument."""
    largest, total = exponentiate(joint)
    return np.asarray((largest + np.log(total))[:, 0])


@dataclass(frozen=True, eq=False)
class FrameSums(FieldwiseSums):
    """What a mixture needs to know of some frames; sums of parts add up to those of the whole.

    With the posterior probabilities ``g_c(t)`` of the Gaussians, ``zeroth`` is ``sum_t g_c(t)``, ``first``
    and ``second`` are ``sum_t g_c(t) (x_t - m_c)`` and its square, deviations being counted from the means
    of the mixture. ``second`` has no rows where it was not asked for.
    """

    n_frames: float
    log_likelihood: float
    zeroth: FloatArray
    first: FloatArray
    second: FloatArray

    @classmethod
    def of(cls, frames: Array, gmm: DiagonalGMM, *, second: bool = False) -> FrameSums:
        """The sums over frames, whose type is that of the arithmetic; parts are added in 64 bits."""
        d, parts = gmm.n_dimensions, []
        shift = gmm.means - gmm.center
        for piece in pieces(frames):
            wide = gmm.expanded(piece)
            weights = gmm.joint(wide)
            largest, total = exponentiate(weights)
            log_likelihood = float(np.sum(largest + np.log(total), dtype=np.float64))
            # Dividing the frames by the row sums instead of the posteriors spares a pass over the larger
            # array; the column of ones gives the zeroth order in the same product.
            wide /= total
            # Without second order the columns of squares are left out of the product, which is nearly
            # half of it.
            sums = (weights.T @ (wide if second else wide[:, [*range(d), 2 * d]])).astype(np.float64)
            zeroth, about_center = sums[:, -1], sums[:, :d]
            squares = np.empty((0, d))
            if second:
                # From the center to each mean, in 64 bits: in 32 the difference of these sums would lose
                # digits.
                squares = sums[:, d : 2 * d] - 2.0 * shift * about_center + zeroth[:, None] * shift**2
            first = about_center - zeroth[:, None] * shift
            parts.append(cls(len(piece), log_likelihood, zeroth, first, squares))
        return reduce(add, parts)


@dataclass(frozen=True, eq=False)
class Statistics(ReadOnlyArrays):
    """Zeroth- and first-order statistics of several utterances for one mixture.

    ``zeroth[u, c]`` is the number of frames of utterance u that Gaussian c got, ``first[u, c]`` the sum of
    their deviations from the mean of c, ``log_likelihood[u]`` the mean log-density of the frames.

    Examples
    --------
    >>> gmm = DiagonalGMM([0.5, 0.5], [[0.0], [10.0]], [[1.0], [1.0]])
    >>> statistics = baum_welch([[[0.5], [9.0], [12.0]]], gmm)
    >>> statistics.zeroth.round(6), statistics.first.round(6).tolist()
    (array([[1., 2.]]), [[[0.5], [1.0]]])
    """

    ids: tuple[str, ...]
    """The name of each utterance."""
    zeroth: FloatArray
    """Shape (utterances, Gaussians)."""
    first: FloatArray
    """Shape (utterances, Gaussians, dimensions)."""
    log_likelihood: FloatArray
    """Shape (utterances,)."""
    speakers: tuple[str, ...] | None = None
    """The speaker of each utterance, if known."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_frames(self) -> FloatArray:
        """Frames of each utterance."""
        return np.asarray(self.zeroth.sum(axis=1))

    def subset(self, places: Sequence[int] | npt.NDArray[np.intp]) -> Statistics:
        """The utterances at these places.

        Parameters
        ----------
        places
            Positions, from 0.
        """
        at = [int(i) for i in places]
        return Statistics(
            tuple(self.ids[i] for i in at), self.zeroth[at], self.first[at], self.log_likelihood[at],
            None if self.speakers is None else tuple(self.speakers[i] for i in at),
        )  # fmt: skip

    def by_speaker(self) -> Statistics:
        """All utterances of a speaker as one, in the order in which the speakers first occur.

        Examples
        --------
        >>> gmm = DiagonalGMM([1.0], [[0.0]], [[1.0]])
        >>> frames = Frames.of([[[1.0]], [[2.0]], [[4.0]]], speakers=["b", "a", "b"])
        >>> pooled = baum_welch(frames, gmm).by_speaker()
        >>> pooled.ids, pooled.first[:, 0, 0], pooled.n_frames
        (('b', 'a'), array([5., 2.]), array([2., 1.]))
        """
        if self.speakers is None:
            raise InputError("statistics can be added by speaker only if the speakers are known")
        names = tuple(dict.fromkeys(self.speakers))
        # A matrix of zeros and ones, so that sums by speaker are matrix products.
        member = np.array([[who == name for who in self.speakers] for name in names], dtype=np.float64)
        n = member @ self.n_frames
        return replace(
            self,
            ids=names,
            speakers=names,
            zeroth=member @ self.zeroth,
            first=np.tensordot(member, self.first, 1),
            log_likelihood=member @ (self.n_frames * self.log_likelihood) / n,
        )


def baum_welch(
    frames: Sequence[npt.ArrayLike], gmm: DiagonalGMM, *, report: Callable[[int, int], None] | None = None
) -> Statistics:
    """Baum-Welch statistics of utterances for a mixture.

    All Gaussians take part: the posteriors of a frame are a dense row, since picking the few largest costs
    more than the two matrix products it would save.

    Parameters
    ----------
    frames
        Frames, or a list of arrays of shape (frames, dimensions). 32-bit frames are worked on in 32 bits and
        summed in 64.
    gmm
        The background model.
    report
        Called after each utterance with how many are done and how many there are.
    """
    of_kind(gmm, DiagonalGMM, "gmm")
    utterances = Frames.of(frames)
    sums: list[FrameSums] = []
    for name, array in same_dimensions(utterances, gmm.n_dimensions):
        sums.append(FrameSums.of(array, gmm))
        # In 32 bits squares of very large frames overflow; all statistics would be NaN.
        if not np.isfinite(sums[-1].log_likelihood):
            raise InputError(f"{name}: frames too far from the mixture for {array.dtype}")
        if report is not None:
            report(len(sums), len(utterances))
    zeroth, first = np.stack([one.zeroth for one in sums]), np.stack([one.first for one in sums])
    log_likelihood = np.array([one.log_likelihood / one.n_frames for one in sums])
    return Statistics(utterances.ids, zeroth, first, log_likelihood, utterances.speakers)


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
    n_frames, total = 0, np.zeros(1)
    for chunk in frame_chunks(utterances, FRAMES_AT_ONCE):
        # Frames may be of 32 bits, and there are millions of them.
        n_frames, total = n_frames + len(chunk), total + chunk.sum(axis=0, dtype=np.float64)
    if n_frames < 2 * n_gaussians:
        raise InputError(f"{n_frames} frames are too few for {n_gaussians} Gaussians; give two each at least")
    mean = total / n_frames
    squares = np.zeros_like(mean)
    for chunk in frame_chunks(utterances, FRAMES_AT_ONCE):
        # Squares about the mean in a second pass: the difference of two large sums would lose digits.
        squares += ((chunk - mean) ** 2).sum(axis=0)
    variance = squares / n_frames
    if not (variance > 0).all():
        at = int(np.argmin(variance))
        raise InputError(f"dimension {at} is the same in all {counted(n_frames, 'frame')}; leave it out")
    gmm, floor = DiagonalGMM(np.ones(1), mean[None], variance[None]), variance_floor * variance
    while gmm.n_gaussians < n_gaussians:
        gmm = _split_gaussians(gmm, min(2 * gmm.n_gaussians, n_gaussians), generator)
        # After the last split the loop below does more steps anyway.
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


def _split_gaussians(gmm: DiagonalGMM, n: int, rng: np.random.Generator) -> DiagonalGMM:
    """Two Gaussians in place of each of the heaviest ones, a fifth of a standard deviation to either side."""
    # Stable, so that of equal weights the first are split on every machine.
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
    history, workers = [], thread_count()
    for step in range(iterations):
        chunks = frame_chunks(frames, FRAMES_AT_ONCE, gmm.n_dimensions)
        sums_of = partial(FrameSums.of, gmm=gmm, second=True)
        # Each thread has its own matrix products; train_extractor holds BLAS to one thread meanwhile.
        with ThreadPoolExecutor(workers) as pool:  # merged in their order, so that threads change no digit
            sums = reduce(add, in_order(pool, sums_of, chunks, 2 * workers))
        history.append(sums.log_likelihood / sums.n_frames)
        if report is not None:
            report(gmm.n_gaussians, step, history[-1])
        # The mixture that fits best given which frames belong to which Gaussian.
        n = sums.zeroth[:, None]
        filled = n > 1e-6  # a Gaussian without frames stays where it is, at next to no weight
        # Any divisor will do where nothing is kept of the quotient.
        safe = np.where(filled, n, 1.0)
        shift = sums.first / safe
        # The likelihood has one maximum in each variance, so the floor is the best value where that is below.
        spread = np.maximum(sums.second / safe - shift**2, floor)
        means = np.where(filled, gmm.means + shift, gmm.means)
        variances = np.where(filled, spread, gmm.variances)
        gmm = DiagonalGMM(sums.zeroth / sums.zeroth.sum(), means, variances)
    return gmm, np.array(history)


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
    >>> from llrkit.speech.models.gmm import baum_welch
    >>> gmm = DiagonalGMM([1.0], [[0.0]], [[1.0]])
    >>> adapt_means(baum_welch([[[3.0]] * 16], gmm), gmm).means
    array([[[1.5]]])
    """
    of_kind(statistics, Statistics, "statistics")
    of_kind(gmm, DiagonalGMM, "gmm")
    positive(relevance, "relevance")
    if statistics.first.shape[1:] != gmm.means.shape:
        raise InputError(f"statistics for {statistics.first.shape[1:]}, a mixture of {gmm.means.shape}")
    # n / (n + r) (first / n), with n canceled, so that a Gaussian without frames needs no exception.
    moves = statistics.first / (statistics.zeroth[:, :, None] + relevance)
    return SpeakerGMMs(statistics.ids, gmm.means + moves)


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
    of_kind(models, SpeakerGMMs, "models")
    of_kind(gmm, DiagonalGMM, "gmm")
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
    # Speaker models share the variances of the background model, so squares of the frame cancel.
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
    # A copy, since log_sum_exp overwrites its argument and ``joint`` is needed for every model.
    background = log_sum_exp(joint.copy()).sum(dtype=np.float64)
    sums = np.empty(len(slopes))
    for s, (slope, offset) in enumerate(zip(slopes.astype(x.dtype), offsets.astype(x.dtype), strict=True)):
        sums[s] = log_sum_exp(joint + (x @ slope.T + offset)).sum(dtype=np.float64) - background
    return sums


def _few_gaussians(joint: Array, x: Array, slopes: FloatArray, offsets: FloatArray, few: int) -> FloatArray:
    """Each Gaussian meets all its frames and all models in one matrix product."""
    n = len(joint)
    # Which ones are best matters, not their order: a partition is enough.
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
        # Models are the last axis, so log_sum_exp, which works on rows, cannot be used here.
        terms = terms.reshape(n, few, -1) + kept[:, :, None]
        largest = terms.max(axis=1)
        total = np.exp(terms - largest[:, None]).sum(axis=1)
        sums[block] = (largest + np.log(total)).sum(axis=0, dtype=np.float64) - background
    return sums
