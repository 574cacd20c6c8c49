"""WAV and FLAC files to frames: the only module that knows soundfile and kaldi-native-fbank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from llrkit._arrays import Array
from llrkit._memory import require_memory
from llrkit.errors import FileFormatError, InputError, LlrkitError
from llrkit.recognize.frames.front_end import FrontEnd, frame_levels
from llrkit.recognize.frames.utterance_frames import Frames

_WIDTH, _STEP = 0.025, 0.010  # seconds
SLOWEST_RATE, FASTEST_RATE = 1_000, 1_000_000
"""Samples a second; below, the mel bands have nothing to add up, and the library ends the whole program."""
_UNKNOWN_LENGTH = 0x7FFFF000


def audio_frames(
    files: Sequence[str | PathLike[str]],
    front_end: FrontEnd | None = None,
    *,
    ids: Sequence[str] | None = None,
    speakers: Sequence[str] | None = None,
) -> Frames:
    """Frames of WAV and FLAC files, each read when it is needed.

    Parameters
    ----------
    files
        The files; one that is missing, silent, unreadable or of another sample rate is refused by name.
    front_end
        How frames are made. Without a sample rate, that of the first file is required of all.
    ids, speakers
        Names of the utterances (by default the files as given) and who speaks.

    Examples
    --------
    >>> import tempfile, wave
    >>> file = tempfile.mkdtemp() + "/noise.wav"
    >>> samples = np.random.default_rng(1).normal(0.0, 3000.0, size=16000).astype("<i2")
    >>> with wave.open(file, "wb") as wav:
    ...     wav.setparams((1, 2, 16000, 16000, "NONE", ""))
    ...     wav.writeframes(samples.tobytes())
    >>> audio_frames([file])[0].shape
    (98, 60)
    """
    if len(files) == 0:
        raise InputError("there are no audio files")
    paths = [Path(file) for file in files]
    how = with_rate_of(paths[0], front_end or FrontEnd())
    names = tuple(map(str, files if ids is None else ids))
    known = None if speakers is None else tuple(speakers)
    return Frames(names, lambda i: read_audio_frames(paths[i], how), known, ahead=True)


def with_rate_of(file: str | PathLike[str], front_end: FrontEnd) -> FrontEnd:
    """The front end with the sample rate of a file, if it has none yet."""
    if front_end.sample_rate is not None:
        return front_end
    return replace(front_end, sample_rate=_read_samples(Path(file))[1])


def read_audio_frames(file: str | PathLike[str], front_end: FrontEnd) -> Array:
    """The frames of one file."""
    path = Path(file)
    samples, rate = read_audio(path, front_end)
    width, step = int(_WIDTH * rate), int(_STEP * rate)  # as Kaldi: 275 samples at 11,025 Hz
    if len(samples) < width:
        raise FileFormatError(f"{path}: {len(samples)} samples are less than the {width} of one frame")
    levels, cepstra = frame_levels(samples, width, step), mfcc(samples, rate, front_end)
    n = min(len(levels), len(cepstra))  # Kaldi's product may be a sample less, in 32 bits
    try:
        return front_end.frames(cepstra[:n], levels[:n], str(path))
    except InputError as error:
        raise FileFormatError(str(error)) from None


def read_audio(file: str | PathLike[str], front_end: FrontEnd) -> tuple[Array, int]:
    """The samples of the chosen channel, between -1 and 1, and the sample rate."""
    path = Path(file)
    samples, rate = _read_samples(path)
    if front_end.sample_rate is not None and rate != front_end.sample_rate:
        raise FileFormatError(
            f"{path}: {rate} samples a second, expected {front_end.sample_rate}; convert it first"
        )
    channels = samples.shape[1]
    if front_end.channel is None and channels > 1:
        raise FileFormatError(f"{path}: has {channels} channels; say which, from 0 to {channels - 1}")
    channel = front_end.channel or 0
    if channel >= channels:
        raise FileFormatError(f"{path}: there is no channel {channel}; it has {channels}")
    chosen = samples[:, channel]
    if len(chosen) == 0:
        raise FileFormatError(f"{path}: there are no samples in it")
    if not np.isfinite(chosen).all():
        raise FileFormatError(f"{path}: sample {int(np.argmin(np.isfinite(chosen)))} is not a finite number")
    return chosen, rate


def _read_samples(path: Path) -> tuple[Array, int]:
    soundfile = _import_extra("soundfile")
    if not path.is_file():
        raise FileFormatError(f"{path}: no such audio file")
    try:
        with soundfile.SoundFile(str(path)) as file:
            rate, announced = int(file.samplerate), int(file.frames)
            if not SLOWEST_RATE <= rate <= FASTEST_RATE:
                raise FileFormatError(
                    f"{path}: {rate} samples a second; expected {SLOWEST_RATE:,} to {FASTEST_RATE:,}"
                )
            require_memory(4.0 * announced * file.channels, str(path))
            samples = file.read(dtype="float32", always_2d=True)
        if len(samples) < announced or _is_cut_off(path):
            raise FileFormatError(f"{path}: ends before the samples that its header announces")
    except LlrkitError:
        raise
    except (soundfile.SoundFileError, OSError, ValueError) as error:
        words = str(error).rsplit(": ", 1)[-1].rstrip(".")
        raise FileFormatError(f"{path}: cannot be read as audio ({words}); WAV and FLAC can") from None
    return samples, rate


def _is_cut_off(path: Path) -> bool:
    """Whether a WAV file ends before its samples do; soundfile takes it for a shorter one."""
    size = path.stat().st_size
    with path.open("rb") as raw:
        head = raw.read(12)
        if head[:4] != b"RIFF" or head[8:] != b"WAVE":
            return False
        at = 12
        while at + 8 <= size:
            raw.seek(at)
            chunk = raw.read(8)
            length = int.from_bytes(chunk[4:], "little")
            if chunk[:4] == b"data":
                # programs that write to a pipe do not know the length, and write the largest there is
                return length < _UNKNOWN_LENGTH and at + 8 + length > size
            at += 8 + length + length % 2
    return False


def mfcc(samples: Array, rate: int, front_end: FrontEnd) -> Array:
    """Mel-frequency cepstral coefficients as Kaldi computes them, without dither, shape (T, n_ceps)."""
    fbank = _import_extra("kaldi_native_fbank")
    options = fbank.MfccOptions()
    options.frame_opts.samp_freq = rate
    options.frame_opts.frame_length_ms, options.frame_opts.frame_shift_ms = 1000 * _WIDTH, 1000 * _STEP
    options.frame_opts.dither = 0.0
    options.mel_opts.num_bins = front_end.n_bands
    options.num_ceps = front_end.n_ceps
    options.use_energy = False
    computer = fbank.OnlineMfcc(options)
    # Kaldi counts samples as 16-bit whole numbers
    computer.accept_waveform(rate, samples * np.float32(32768.0))
    computer.input_finished()
    return np.stack([computer.get_frame(i) for i in range(computer.num_frames_ready)])


def _import_extra(name: str) -> Any:
    try:
        if name == "soundfile":
            import soundfile

            return soundfile
        import kaldi_native_fbank

        return kaldi_native_fbank
    except ImportError:
        raise LlrkitError(f"audio needs the package {name}: pip install 'llrkit[audio]'") from None
