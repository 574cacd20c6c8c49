"""Frames of features without audio: every recording speaks from a Gaussian mixture of its own."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._atomic import replacing
from llrkit._cached import cached_property
from llrkit._random import checked_seed
from llrkit.errors import InputError
from llrkit.io.binary.numpy_files import write_arrays
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.kaldi_archives import write_kaldi
from llrkit.simulate.block_source import block_rng

FRAMES_PER_SECOND = 100
_MODEL, _SPEAKER, _RECORDING = range(3)  # first part of the spawn keys


@dataclass(frozen=True)
class FrameModel:
    """A universal Gaussian mixture, and how speakers and recordings move its means.

    Component c of a recording has mean ``m_c + T_c (y + e)`` and the universal variance; ``y`` is the
    speaker's factor, standard normal in ``rank`` dimensions, and ``e`` the recording's, with standard
    deviation ``channel``. This is the model that i-vector extraction assumes. ``strength`` is the standard
    deviation of a mean between speakers, in units of the component's own standard deviation.

    Examples
    --------
    >>> model = FrameModel(n_components=8, dim=4, rank=3, seed=1)
    >>> utterances = model.frames(n_speakers=2, n_sessions=3, seconds=2.0)
    >>> utterances, utterances[0].shape, utterances.ids[3], utterances.speakers[3]
    (Frames(6 utterances of 2 speakers), (200, 4), 'spk1-0', 'spk1')
    """

    n_components: int = 16
    """Number of Gaussians."""
    dim: int = 8
    """Number of features per frame."""
    rank: int = 6
    """Number of dimensions in which speakers differ."""
    strength: float = 0.4
    """How much the means differ between speakers."""
    channel: float = 0.4
    """Standard deviation of the recordings of a speaker; speakers have 1."""
    seed: int = 0
    """The same seed gives the same model and frames."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        checked_seed(self.seed)
        for name in ("n_components", "dim", "rank"):
            whole_number(getattr(self, name), 1, name)
        if not (self.strength > 0.0 and self.channel >= 0.0):
            raise InputError("strength must be above 0 and channel at least 0")

    @cached_property
    def universal(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights, means and variances of the universal mixture."""
        rng = block_rng(self.seed, _MODEL, 0)
        weights = rng.dirichlet(np.full(self.n_components, 5.0))
        means = 3.0 * rng.standard_normal((self.n_components, self.dim))
        return weights, means, rng.uniform(0.5, 1.5, (self.n_components, self.dim))

    @cached_property
    def loadings(self) -> FloatArray:
        """``T``: how a factor moves the means, shape ``(n_components, dim, rank)``."""
        drawn = block_rng(self.seed, _MODEL, 1).standard_normal((self.n_components, self.dim, self.rank))
        spread = np.sqrt(self.universal[2])[:, :, None]
        return np.asarray(self.strength / np.sqrt(self.rank) * spread * drawn)

    def speaker_factor(self, speaker: int) -> FloatArray:
        """The factor ``y`` of a speaker.

        Parameters
        ----------
        speaker
            Number of the speaker.
        """
        return block_rng(self.seed, _SPEAKER, speaker).standard_normal(self.rank)

    def recording(self, speaker: int, session: int, seconds: float) -> FloatArray:
        """The frames of one recording; a longer one begins with the frames of a shorter one.

        Parameters
        ----------
        speaker
            Number of the speaker.
        session
            Number of the session.
        seconds
            Duration in seconds.
        """
        if not 0.0 < seconds < np.inf:
            raise InputError(f"seconds must be a finite number above 0, got {seconds!r}")
        n = max(1, round(seconds * FRAMES_PER_SECOND))
        weights, means, variances = self.universal
        rng = block_rng(self.seed, _RECORDING, speaker, session)
        factor = self.speaker_factor(speaker) + self.channel * rng.standard_normal(self.rank)
        own = means + self.loadings @ factor
        # row by row: one uniform number for the component and the normal ones come from two streams
        components, noise = (np.random.default_rng(seed) for seed in rng.integers(0, 2**63, 2))
        chosen = np.searchsorted(np.cumsum(weights), components.random(n) * weights.sum(), side="right")
        chosen = np.minimum(chosen, self.n_components - 1)
        return np.asarray(own[chosen] + np.sqrt(variances[chosen]) * noise.standard_normal((n, self.dim)))

    def frames(self, *, n_speakers: int, n_sessions: int, seconds: float, first_speaker: int = 0) -> Frames:
        """Recordings of several speakers, made when they are needed; ids are speaker and session.

        Another ``first_speaker`` gives other people; even speakers are female, odd ones male.

        Parameters
        ----------
        n_speakers
            Number of speakers.
        n_sessions
            Number of sessions of each speaker.
        seconds
            Duration of each recording in seconds.
        first_speaker
            Number of the first speaker.
        """
        if n_speakers < 1 or n_sessions < 1:
            raise InputError(f"at least one speaker and session are needed, got {n_speakers}, {n_sessions}")
        speakers = range(first_speaker, first_speaker + n_speakers)
        recordings = [(speaker, session) for speaker in speakers for session in range(n_sessions)]
        return Frames(
            tuple(f"spk{speaker}-{session}" for speaker, session in recordings),
            lambda i: self.recording(*recordings[i], seconds),
            tuple(f"spk{speaker}" for speaker, _ in recordings),
        )


def write_frames(frames: Frames, path: str | PathLike[str]) -> None:
    """Write one array for each utterance: ``.npz``, or ``.ark`` with an ``.scp`` beside it.

    Examples
    --------
    >>> import tempfile
    >>> from llrkit.recognize import read_frames
    >>> file = tempfile.mkdtemp() + "/frames.npz"
    >>> write_frames(Frames.of([np.zeros((3, 2))], ids=["a"]), file)
    >>> read_frames(file)[0].shape
    (3, 2)
    """
    file = Path(path)
    if file.suffix.lower() == ".ark":
        write_kaldi(file, zip(frames.ids, frames, strict=True))
        return
    if file.suffix.lower() != ".npz":
        raise InputError(f"{file}: the ending must be .npz or .ark")
    with replacing(file) as temporary, temporary.open("wb") as raw:
        write_arrays(raw, dict(zip(frames.ids, frames, strict=True)))
