"""Total variability: the model, its training, and the extractor of i-vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import count
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack

from llrkit.base.arguments import RNG, Array, FloatArray, of_kind, whole_number, yes_or_no
from llrkit.base.process import at_once, cached_property, one_blas_thread
from llrkit.core.numerics import blocks
from llrkit.core.summaries import FieldwiseSums
from llrkit.errors import InputError
from llrkit.io.array_files import part_of, prefixed
from llrkit.speech.embeddings import Arrays, Embeddings, SavedModel, arrays_hash
from llrkit.speech.frames import Frames, FrontEnd, Stages, Watch, input_key, stage_key, staged
from llrkit.speech.models.gmm import DiagonalGMM, Statistics, baum_welch, train_ubm, training_steps

_BLOCK_BYTES = 1 << 26  # precision matrices in memory at a time
_GAUSSIANS = 32  # Gaussians whose square matrices are in memory at a time


@dataclass(frozen=True, eq=False)
class TotalVariability(SavedModel):
    """The model ``M = m + T w``, w ~ N(0, I), of the means M of an utterance, and its posterior of w.

    Given the statistics N_c and F_c of an utterance, w is Gaussian with precision
    ``L = I + sum_c N_c T_c' inv(V_c) T_c`` and mean ``inv(L) sum_c T_c' inv(V_c) F_c``: the i-vector (Dehak,
    Kenny, Dehak, Dumouchel & Ouellet 2011). V_c are the variances of the background model, F_c is counted
    from m_c.

    Parameters
    ----------
    matrix
        T, shape (C, D, R): Gaussians, dimensions of a frame, factors.
    variances
        V, shape (C, D).
    offsets
        The mean ``m`` minus the means of the background model, shape (C, D).
    log_likelihoods
        Of the training, before each of its steps: log-likelihood per utterance beyond that of the
        background model.

    Examples
    --------
    >>> model = TotalVariability(matrix=[[[1.0]]], variances=[[1.0]], offsets=[[0.0]])
    >>> counts, sums = np.array([[1.0], [9.0]]), np.array([[[2.0]], [[18.0]]])
    >>> statistics = Statistics(("a", "b"), counts, sums, log_likelihood=np.zeros(2))
    >>> ivectors = model.extract(statistics, covariances=True)
    >>> ivectors.vectors.ravel(), ivectors.covariances.ravel()
    (array([1. , 1.8]), array([0.5, 0.1]))
    """

    matrix: FloatArray
    variances: FloatArray
    offsets: FloatArray
    log_likelihoods: FloatArray = field(default_factory=lambda: np.empty(0))

    schema: ClassVar[str] = "llrkit.ivectors/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = self.matrix.shape
        if len(shape) != 3 or self.variances.shape != shape[:2] or self.offsets.shape != shape[:2]:
            got = f"{shape}, {self.variances.shape} and {self.offsets.shape}"
            raise InputError(f"expected a matrix (C, D, R), variances (C, D) and offsets (C, D), got {got}")
        if not (self.variances > 0).all() or not np.isfinite(self.matrix).all():
            raise InputError("the variances must be positive and the matrix finite")

    @property
    def n_factors(self) -> int:
        """Numbers in an i-vector."""
        return int(self.matrix.shape[2])

    @cached_property
    def white(self) -> FloatArray:
        """T in units of the standard deviations of the background model, shape (C, D, R)."""
        return self.matrix / np.sqrt(self.variances)[:, :, None]

    @cached_property
    def _squares(self) -> FloatArray:
        """``T_c' inv(V_c) T_c`` of each Gaussian, lower triangle, shape (C, R (R + 1) / 2)."""
        # The matrices are symmetric: their lower triangles halve the memory and the product with the
        # counts.
        lower = np.tril_indices(self.n_factors)
        squares = np.empty((len(self.matrix), len(lower[0])))
        for gaussians in blocks(len(squares), _GAUSSIANS):
            square = self.white[gaussians].transpose(0, 2, 1) @ self.white[gaussians]
            squares[gaussians] = square[:, lower[0], lower[1]]
        return squares

    def deviations(self, statistics: Statistics) -> FloatArray:
        """``inv(sqrt(V)) (F - N offset)`` of each utterance as one long row, shape (U, C D).

        Parameters
        ----------
        statistics
            Baum-Welch statistics of utterances.
        """
        if statistics.first.shape[1:] != self.variances.shape:
            raise InputError(
                f"statistics for {statistics.first.shape[1:]}, a model for {self.variances.shape}"
            )
        white = statistics.first - statistics.zeroth[:, :, None] * self.offsets
        white /= np.sqrt(self.variances)
        return white.reshape(len(white), -1)

    def posteriors(
        self, statistics: Statistics
    ) -> Iterator[tuple[slice, FloatArray, FloatArray, FloatArray]]:
        """Posteriors of w, some utterances at a time: which, means (U, R), covariances (U, R, R) and gains.

        With the precision L and ``b = L mean``, the gain ``(b' inv(L) b - log det L) / 2`` is the log-ratio
        of the marginal likelihood to that of w = 0.

        Parameters
        ----------
        statistics
            Baum-Welch statistics of utterances.
        """
        size = max(1, at_once(_BLOCK_BYTES) // (8 * self.n_factors**2))
        rows, columns = np.tril_indices(self.n_factors)
        flat = self.white.reshape(-1, self.n_factors)
        for utterances in blocks(len(statistics), size):
            block = statistics.subset(range(utterances.start, utterances.stop))
            linear = self.deviations(block) @ flat
            precisions = np.zeros((len(block), self.n_factors, self.n_factors))
            # All precisions of the block in one product: they are linear in the counts.
            precisions[:, rows, columns] = block.zeroth @ self._squares
            precisions[:, range(self.n_factors), range(self.n_factors)] += 1.0
            log_determinants = np.empty(len(block))
            for u, precision in enumerate(precisions):
                # a row-major lower triangle is a column-major upper one, which LAPACK inverts in its place
                factor, failed = lapack.dpotrf(precision.T, lower=0, overwrite_a=1, clean=0)
                if failed:
                    raise InputError(
                        "a precision matrix is not positive definite: the statistics are unusable"
                    )
                log_determinants[u] = 2.0 * np.log(factor.diagonal()).sum()
                precision[:] = lapack.dpotri(factor, lower=0, overwrite_c=1)[0].T
                # dpotri fills one triangle only.
                precision += np.tril(precision, -1).T
            means = (precisions @ linear[:, :, None])[:, :, 0]
            yield utterances, means, precisions, 0.5 * ((means * linear).sum(axis=1) - log_determinants)

    def extract(self, statistics: Statistics, *, covariances: bool = False) -> Embeddings:
        """The i-vector of every utterance, if asked for with its posterior covariance.

        Ids, speakers and the number of frames (column ``frames``) come from the statistics.

        Parameters
        ----------
        statistics
            Baum-Welch statistics of utterances.
        covariances
            Also compute posterior covariances.
        """
        vectors = np.empty((len(statistics), self.n_factors))
        spread = np.empty((len(statistics), self.n_factors, self.n_factors)) if covariances else None
        for utterances, means, posterior_covariances, _ in self.posteriors(statistics):
            vectors[utterances] = means
            if spread is not None:
                spread[utterances] = posterior_covariances
        return Embeddings(
            vectors, np.array(statistics.ids),
            None if statistics.speakers is None else np.array(statistics.speakers),
            # Posteriors of a frame sum to one up to rounding, so the sums are whole numbers up to
            # rounding.
            {"frames": np.rint(statistics.n_frames).astype(np.int64)}, spread,
        )  # fmt: skip


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
        for utterances, means, covariances, gains in model.posteriors(statistics):
            block = statistics.subset(range(utterances.start, utterances.stop))
            # E[w w'] is the posterior covariance plus the square of the posterior mean.
            packed = covariances[:, rows, columns] + means[:, rows] * means[:, columns]
            squares += block.zeroth.T @ packed
            products += model.deviations(block).T @ means
            factors += means.sum(axis=0)
            packed_sum += packed.sum(axis=0)
            gain += float(gains.sum())
        # what the offsets of the means gain over those of the mixture
        counts, first = statistics.zeroth.sum(axis=0), statistics.first.sum(axis=0)
        of_offsets = model.offsets * (first - 0.5 * counts[:, None] * model.offsets) / model.variances
        gain += float(of_offsets.sum())
        return cls(
            len(statistics), gain, counts, squares, products.reshape(model.matrix.shape), factors, packed_sum
        )


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
    >>> from llrkit.speech.models.gmm import baum_welch
    >>> rng = np.random.default_rng(1)
    >>> gmm = DiagonalGMM([1.0], [[0.0, 0.0]], [[1.0, 1.0]])
    >>> speakers = rng.normal(size=(300, 1)) * [[2.0, -1.0]]
    >>> frames = [mean + rng.normal(size=(20, 2)) for mean in speakers]
    >>> model = train_ivectors(baum_welch(frames, gmm), gmm, 1)
    >>> np.abs(model.matrix).round(2).ravel().tolist(), speakers.std(axis=0).round(2).tolist()
    ([1.85, 0.93], [1.84, 0.92])
    """
    of_kind(statistics, Statistics, "statistics")
    of_kind(gmm, DiagonalGMM, "gmm")
    yes_or_no(min_divergence, "min_divergence")
    if statistics.first.shape[1:] != gmm.means.shape:
        raise InputError(f"statistics for {statistics.first.shape[1:]}, a mixture of {gmm.means.shape}")
    most = min(len(statistics), gmm.means.size)
    if not 1 <= n_factors <= most:
        there = f"{len(statistics)} utterances and {gmm.means.size} means"
        raise InputError(f"{n_factors} factors cannot be learnt from {there}; give 1 to {most}")
    if iterations < 1:
        raise InputError(f"the training needs at least one step, got {iterations}")
    # Scaled so that T w has a hundredth of the variance of a frame, whatever the number of factors: EM
    # cannot leave a matrix of zeros, and starts from an uninformative one.
    start = 0.1 * np.random.default_rng(rng).normal(size=(*gmm.means.shape, n_factors))
    start *= np.sqrt(gmm.variances)[:, :, None] / np.sqrt(n_factors)
    model = TotalVariability(start, gmm.variances, np.zeros_like(gmm.means))
    history = []
    for step in range(iterations):
        sums = FactorSums.of(statistics, model)
        history.append(sums.log_likelihood / sums.n)
        if report is not None:
            report(step, history[-1])
        # The model that fits best given what is known of w; Gaussians without frames stay as they are.
        white, offsets = np.array(model.white), np.array(model.offsets)
        # A Gaussian without frames has equations without a solution.
        filled = np.flatnonzero(sums.counts > 1e-6)
        for block in blocks(len(filled), _GAUSSIANS):
            at = filled[block]
            # By blocks: all full matrices together would take C R^2 numbers.
            squares = _unpacked_triangles(sums.squares[at], n_factors)
            white[at] = np.linalg.solve(squares, sums.products[at].transpose(0, 2, 1)).transpose(0, 2, 1)
        if min_divergence:
            mean = sums.factors / sums.n
            squares = _unpacked_triangles(sums.factor_squares[None], n_factors)[0]
            covariance = squares / sums.n - np.outer(mean, mean)
            offsets += np.sqrt(model.variances) * (white @ mean)
            # Any square root would do, since the factors are determined up to a rotation only; Cholesky is
            # the cheapest.
            white = white @ np.linalg.cholesky(covariance)
        model = replace(model, matrix=white * np.sqrt(model.variances)[:, :, None], offsets=offsets)
    return replace(model, log_likelihoods=np.array(history))


def _unpacked_triangles(packed: FloatArray, n: int) -> FloatArray:
    """Symmetric matrices from their lower triangles."""
    rows, columns = np.tril_indices(n)
    full = np.empty((len(packed), n, n))
    full[:, rows, columns] = packed
    full[:, columns, rows] = packed
    return full


@dataclass(frozen=True, eq=False)
class Extractor:
    """A background model, the total-variability model if there is one, and how audio becomes frames."""

    ubm: DiagonalGMM
    """The background model."""
    model: TotalVariability | None = None
    """The total-variability model; None for UBM-GMM scoring."""
    front_end: FrontEnd | None = None
    """How audio becomes frames; None if frames were made elsewhere."""

    def statistics(self, frames: Frames, watch: Watch | None = None) -> Statistics:
        """Baum-Welch statistics of utterances.

        Parameters
        ----------
        frames
            The frames.
        watch
            Function that is told of the progress.
        """
        return baum_welch(frames, self.ubm, report=None if watch is None else partial(watch, "statistics"))

    @cached_property
    def fingerprint(self) -> str:
        """What tells this extractor from others; embeddings that it makes carry it."""
        return arrays_hash(self.arrays())

    def embed(self, frames: Frames, *, covariances: bool = False, watch: Watch | None = None) -> Embeddings:
        """I-vectors of utterances.

        Parameters
        ----------
        frames
            Frames of the utterances.
        covariances
            Also compute posterior covariances.
        watch
            Function that is told of the progress.
        """
        if self.model is None:
            raise InputError("the model has no i-vectors: it was trained for UBM-GMM scoring")
        statistics = self.statistics(frames, watch)
        return self.model.extract(statistics, covariances=covariances).replace(origin=self.fingerprint)

    def arrays(self) -> dict[str, Array]:
        """What is saved."""
        arrays = prefixed("ubm.", self.ubm.arrays())
        if self.model is not None:
            arrays |= prefixed("ivectors.", self.model.arrays())
        if self.front_end is not None:
            arrays["front_end"] = np.array(json.dumps(asdict(self.front_end)))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Extractor | None:
        """The extractor that :meth:`arrays` described; None where there is none.

        Parameters
        ----------
        arrays
            Named arrays, as they were saved.
        """
        ubm, factors = part_of(arrays, "ubm."), part_of(arrays, "ivectors.")
        if "means" not in ubm:
            return None
        model = TotalVariability.from_arrays(factors) if "matrix" in factors else None
        front_end = FrontEnd(**json.loads(str(arrays["front_end"]))) if "front_end" in arrays else None
        return cls(DiagonalGMM.from_arrays(ubm), model, front_end)


# Chunks of frames are spread over threads, in which BLAS threads would only wait for each other
# (docs/notes/decisions-interfaces.md).
@one_blas_thread()
def train_extractor(
    frames: Frames,
    *,
    n_gaussians: int = 512,
    n_factors: int | None = 200,
    iterations: int = 10,
    front_end: FrontEnd | None = None,
    rng: RNG = 0,
    watch: Watch | None = None,
    stages: Stages | None = None,
) -> tuple[Extractor, Statistics]:
    """Train a background model and the total-variability model; gives the statistics of the training too.

    Parameters
    ----------
    frames
        The training utterances; they are kept in memory up to a gigabyte.
    n_gaussians, n_factors
        Sizes; without factors there is a background model only.
    iterations
        Steps of EM of both models.
    front_end
        How the frames were made, kept with the model so that others are made likewise.
    rng
        A generator or a seed.
    watch
        Called with what is being done, how much of it is done and how much there is.
    stages
        Where the background model, the statistics and the total-variability model are kept, and taken from if
        nothing they depend on has changed; needs a seed as ``rng`` and utterances whose contents are known.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> frames = Frames.of([rng.normal(m, 1.0, size=(40, 2)) for m in rng.normal(size=(20, 2))])
    >>> extractor, _ = train_extractor(frames, n_gaussians=2, n_factors=2)
    >>> extractor.embed(frames)
    Embeddings(20 rows of 2 dimensions; columns frames)
    """
    whole_number(n_gaussians, 1, "n_gaussians")
    inputs = None if stages is None else input_key(frames, front_end)
    # Only a seed is in a key: with a generator that the caller has drawn from, or other numbers each time,
    # nothing may be taken from an earlier run.
    if inputs is None or rng is None or isinstance(rng, np.random.Generator):
        stages = None
    generator = np.random.default_rng(rng)
    kept = frames.kept()
    told = watch or (lambda what, done, total: None)

    def ubm_arrays() -> dict[str, Array]:
        for i, _ in enumerate(kept, 1):  # load them once, with threads
            # load_all makes this column and has reported the progress of loading already.
            if "frames" not in kept.columns:
                told("frames", i, len(kept))
        steps, total = count(1), training_steps(n_gaussians, iterations)
        trained = train_ubm(
            kept, n_gaussians, iterations=iterations, rng=generator,
            report=lambda size, step, value: told("background model", next(steps), total),
        )  # fmt: skip
        # Kept with the stage, so that a resumed run starts the factors where an uninterrupted one does.
        state = np.array(json.dumps(generator.bit_generator.state))
        return {**prefixed("ubm.", trained.arrays()), "generator": state}

    def statistics_arrays() -> dict[str, Array]:
        of_all = extractor.statistics(kept, watch)
        return {name: getattr(of_all, name) for name in ("zeroth", "first", "log_likelihood")}

    def factor_arrays() -> dict[str, Array]:
        assert n_factors is not None
        return train_ivectors(
            statistics, extractor.ubm, n_factors, iterations=iterations, rng=generator,
            report=lambda step, value: told("factors", step + 1, iterations),
        ).arrays()  # fmt: skip

    key = stage_key("ubm", inputs, n_gaussians, iterations, str(rng))
    arrays = staged(stages, "ubm", key, ubm_arrays)
    generator.bit_generator.state = json.loads(str(arrays["generator"]))
    extractor = Extractor(DiagonalGMM.from_arrays(part_of(arrays, "ubm.")), None, front_end)
    # The statistics depend on nothing but the background model and its inputs, so they share its key.
    sums = staged(stages, "statistics", key, statistics_arrays)
    statistics = Statistics(kept.ids, **sums, speakers=kept.speakers)
    if n_factors is None:
        return extractor, statistics
    arrays = staged(stages, "factors", stage_key("factors", key, n_factors), factor_arrays)
    return replace(extractor, model=TotalVariability.from_arrays(arrays)), statistics
