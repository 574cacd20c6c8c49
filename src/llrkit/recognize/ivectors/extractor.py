"""From frames to i-vectors: front end, background model and total variability as one thing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import Array
from llrkit._blas import one_blas_thread
from llrkit._cached import cached_property
from llrkit.errors import InputError
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.ivectors.baum_welch import Statistics, baum_welch
from llrkit.recognize.ivectors.diagonal_gmm import DiagonalGMM
from llrkit.recognize.ivectors.ivector_model import TotalVariability
from llrkit.recognize.ivectors.ivector_training import train_ivectors
from llrkit.recognize.ivectors.ubm_training import train_ubm, training_steps
from llrkit.recognize.model_files import Arrays, arrays_hash
from llrkit.recognize.training_stages import Stages, input_key, stage_key

Watch = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is to do."""


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
        arrays = self.ubm.arrays("ubm.")
        if self.model is not None:
            arrays.update(self.model.arrays("ivectors."))
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
        if "ubm.means" not in arrays:
            return None
        ubm = DiagonalGMM.from_arrays(arrays, "ubm.")
        model = front_end = None
        if "ivectors.matrix" in arrays:
            model = TotalVariability.from_arrays(arrays, "ivectors.")
        if "front_end" in arrays:
            front_end = FrontEnd(**json.loads(str(arrays["front_end"])))
        return cls(ubm, model, front_end)


@one_blas_thread()
def train_extractor(
    frames: Frames,
    *,
    n_gaussians: int = 512,
    n_factors: int | None = 200,
    iterations: int = 10,
    front_end: FrontEnd | None = None,
    rng: np.random.Generator | int = 0,
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
    if inputs is None or isinstance(rng, np.random.Generator):
        stages = None
    generator = np.random.default_rng(rng)
    kept = frames.kept()
    key = stage_key("ubm", inputs, n_gaussians, iterations, str(rng))
    ubm = _kept_ubm(stages, key, generator)
    if ubm is None:
        ubm = _trained_ubm(kept, n_gaussians, iterations, generator, watch)
        if stages is not None:
            state = np.array(json.dumps(generator.bit_generator.state))
            stages.save("ubm", key, {**ubm.arrays("ubm."), "generator": state})
    extractor = Extractor(ubm, None, front_end)
    statistics = _kept_statistics(stages, key, kept)
    if statistics is None:
        statistics = extractor.statistics(kept, watch)
        if stages is not None:
            stages.save("statistics", key, {name: getattr(statistics, name) for name in _STATISTICS})
    if n_factors is None:
        return extractor, statistics
    key = stage_key("factors", key, n_factors)
    arrays = None if stages is None else stages.load("factors", key)
    if arrays is not None:
        return Extractor(ubm, TotalVariability.from_arrays(arrays), front_end), statistics

    def report_factors(step: int, value: float) -> None:
        if watch is not None:
            watch("factors", step + 1, iterations)

    model = train_ivectors(
        statistics, ubm, n_factors, iterations=iterations, rng=generator, report=report_factors
    )
    if stages is not None:
        stages.save("factors", key, model.arrays())
    return Extractor(ubm, model, front_end), statistics


_STATISTICS = ("zeroth", "first", "log_likelihood")


def _trained_ubm(
    frames: Frames, n_gaussians: int, iterations: int, generator: np.random.Generator, watch: Watch | None
) -> DiagonalGMM:
    for i, _ in enumerate(frames, 1):  # load them once, with threads
        if watch is not None and "frames" not in frames.columns:
            watch("frames", i, len(frames))
    total, done = training_steps(n_gaussians, iterations), 0

    def report(size: int, step: int, value: float) -> None:
        nonlocal done
        done += 1
        if watch is not None:
            watch("background model", done, total)

    return train_ubm(frames, n_gaussians, iterations=iterations, rng=generator, report=report)


def _kept_ubm(stages: Stages | None, key: str, generator: np.random.Generator) -> DiagonalGMM | None:
    """The background model of an earlier run; the generator is then where that run had it."""
    arrays = None if stages is None else stages.load("ubm", key)
    if arrays is None:
        return None
    generator.bit_generator.state = json.loads(str(arrays["generator"]))
    return DiagonalGMM.from_arrays(arrays, "ubm.")


def _kept_statistics(stages: Stages | None, key: str, frames: Frames) -> Statistics | None:
    arrays = None if stages is None else stages.load("statistics", key)
    if arrays is None:
        return None
    zeroth, first, log_likelihood = (arrays[name] for name in _STATISTICS)
    return Statistics(frames.ids, zeroth, first, log_likelihood, frames.speakers)
