"""WAV and FLAC files to frames: the only module that knows soundfile and kaldi-native-fbank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from llrkit._arrays import Array
from llrkit.errors import FileFormatError, InputError, LlrkitError
from llrkit.recognize.frames.front_end import FrontEnd, frame_levels
from llrkit.recognize.frames.utterance_frames import Frames

_WIDTH, _STEP = 0.025, 0.010  # seconds


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
    width, step = round(_WIDTH * rate), round(_STEP * rate)
    if len(samples) < width:
        raise FileFormatError(f"{path}: {len(samples)} samples are less than the {width} of one frame")
    levels = frame_levels(samples, width, step)
    try:
        return front_end.frames(mfcc(samples, rate, front_end), levels, str(path))
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
        samples, rate = soundfile.read(str(path), dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, OSError, ValueError) as error:
        words = str(error).rsplit(": ", 1)[-1].rstrip(".")
        raise FileFormatError(f"{path}: cannot be read as audio ({words}); WAV and FLAC can") from None
    return samples, int(rate)


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
