"""Recordings to frames: the only module that knows kaldi-native-fbank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import cast

import numpy as np

from llrkit._arrays import Array
from llrkit.errors import FileFormatError, InputError, MissingPackageError
from llrkit.recognize.frames.audio_headers_and_samples import check_headers, read_samples
from llrkit.recognize.frames.front_end import FRAMES_PER_SECOND, FrontEnd, frame_levels, is_speech
from llrkit.recognize.frames.recording import Recording
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.frames.without_speech import remark_on

_WIDTH, _STEP = 0.025, 0.010  # seconds


def audio_frames(
    files: Sequence[str | PathLike[str] | Recording],
    front_end: FrontEnd | None = None,
    *,
    ids: Sequence[str] | None = None,
    speakers: Sequence[str] | None = None,
    columns: Mapping[str, Sequence[object]] | None = None,
) -> Frames:
    """Frames of audio files (WAV, FLAC, OGG, MP3), each read when it is needed.

    Parameters
    ----------
    files
        The files, or recordings that are parts of files. All headers are read at once: a file that is
        missing, unreadable or cut off is refused by name.
    front_end
        How frames are made. Without a sample rate, that of most files is taken; others are resampled, with a
        warning, unless the front end forbids it.
    ids, speakers
        Names of the utterances (by default the files as given) and who speaks.
    columns
        What else is known of each utterance.

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
    recordings = [file if isinstance(file, Recording) else Recording(Path(file)) for file in files]
    headers = check_headers(recordings, front_end or FrontEnd())
    if headers.problems:
        raise FileFormatError(with_others(headers.problems))
    names = tuple(map(str, [r.name for r in recordings] if ids is None else ids))
    return frames_of(recordings, headers.front_end, names, speakers, columns)


def frames_of(
    recordings: Sequence[Recording],
    how: FrontEnd,
    ids: Sequence[str],
    speakers: Sequence[str] | None,
    columns: Mapping[str, Sequence[object]] | None = None,
    contents: Sequence[str] | None = None,
) -> Frames:
    """Frames of recordings whose headers have been checked."""
    remarks: dict[str, str] = {}
    names = tuple(ids)

    def load(i: int) -> Array:
        frames, remark = frames_and_remark(recordings[i], how)
        if remark:
            remarks[names[i]] = remark
        return frames

    return Frames(
        names, load, None if speakers is None else tuple(speakers), ahead=True,
        columns={name: tuple(values) for name, values in (columns or {}).items()},
        contents=None if contents is None else tuple(contents), per_second=float(FRAMES_PER_SECOND),
        remarks=remarks,
    )  # fmt: skip


def with_others(problems: Sequence[str]) -> str:
    """The first of several problems, and how many more there are."""
    return problems[0] + (f" (and {len(problems) - 1} more such files)" if len(problems) > 1 else "")


def read_audio_frames(file: str | PathLike[str] | Recording, front_end: FrontEnd) -> Array:
    """The frames of one recording."""
    recording = file if isinstance(file, Recording) else Recording(Path(file))
    return frames_and_remark(recording, front_end)[0]


def frames_and_remark(recording: Recording, front_end: FrontEnd) -> tuple[Array, str]:
    """The frames of one recording, and what looks wrong with it, if anything does."""
    samples, rate = read_samples(recording, front_end)
    width, step = int(_WIDTH * rate), int(_STEP * rate)  # as Kaldi: 275 samples at 11,025 Hz
    if len(samples) < width:
        raise FileFormatError(
            f"{recording.name}: {len(samples)} samples are less than the {width} of one frame"
        )
    levels, cepstra = frame_levels(samples, width, step), mfcc(samples, rate, front_end)
    n = min(len(levels), len(cepstra))  # Kaldi's product may be a sample less, in 32 bits
    cepstra, levels, known = cepstra[:n], levels[:n], recording.speech_mask(n)
    try:
        frames = front_end.frames(cepstra, levels, recording.name, known)
    except FileFormatError:
        raise
    except InputError as error:
        raise FileFormatError(str(error)) from None
    used = is_speech(levels, front_end.speech_range or np.inf) if known is None else known
    return frames, remark_on(cepstra, levels, used)


def mfcc(samples: Array, rate: int, front_end: FrontEnd) -> Array:
    """Mel-frequency cepstral coefficients as Kaldi computes them, without dither, shape (T, n_ceps)."""
    try:
        import kaldi_native_fbank as fbank
    except ImportError:
        raise MissingPackageError.of_extra("audio needs kaldi-native-fbank", "audio") from None
    options = fbank.MfccOptions()
    options.frame_opts.samp_freq = rate
    options.frame_opts.frame_length_ms, options.frame_opts.frame_shift_ms = 1000 * _WIDTH, 1000 * _STEP
    options.frame_opts.dither = 0.0
    options.mel_opts.num_bins = front_end.n_bands
    options.num_ceps = front_end.n_ceps
    options.use_energy = False
    computer = fbank.OnlineMfcc(options)
    # Kaldi counts samples as 16-bit whole numbers. Its binding declares a list but takes any sequence; a list
    # would need 32 bytes a sample.
    computer.accept_waveform(rate, cast("list[float]", samples * np.float32(32768.0)))
    computer.input_finished()
    return np.stack([computer.get_frame(i) for i in range(computer.num_frames_ready)])
