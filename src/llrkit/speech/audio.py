"""From recordings to cepstra, without the parts that hold no speech."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from llrkit.base.arguments import Array, FloatArray
from llrkit.base.process import needed_package, require_memory, warn_caller
from llrkit.errors import FileFormatError, InputError, LlrkitError, SpeechWarning
from llrkit.speech.frames import FRAMES_PER_SECOND, Frames, FrontEnd, frame_levels, is_speech, level_range

if TYPE_CHECKING:
    from soundfile import SoundFile

_WIDTH, _STEP = 0.025, 0.010  # seconds
_MOST_EXTRA = 3
"""Frames by which a speech file may differ from the audio: programs treat the last window differently."""


@dataclass(frozen=True, eq=False)
class Recording:
    """An audio file, or the part of it from ``start`` to ``end`` seconds.

    Parameters
    ----------
    path
        The file.
    start, end
        The part that is meant; to the end of the file by default.
    turns
        Where somebody speaks, as pairs of start and end in seconds from the start of the *file* (RTTM).
    speech
        Which frames of the part are speech, one every 10 ms (a voice activity file of Kaldi).

    Examples
    --------
    >>> talk = Recording(Path("a.wav"), 10.0, 12.0, turns=((10.5, 11.0),))
    >>> mask = talk.speech_mask(198)
    >>> int(mask.sum()), int(np.argmax(mask))
    (50, 49)
    """

    path: Path
    start: float = 0.0
    end: float | None = None
    turns: tuple[tuple[float, float], ...] | None = None
    speech: Array | None = None

    def __post_init__(self) -> None:
        if not (self.start >= 0.0 and (self.end is None or self.end > self.start)):
            raise FileFormatError(f"{self.path}: there is nothing from {self.start} s to {self.end} s")

    @property
    def name(self) -> str:
        """What messages call it."""
        if self.start == 0.0 and self.end is None:
            return str(self.path)
        return f"{self.path} from {self.start:g} s" + ("" if self.end is None else f" to {self.end:g} s")

    def speech_mask(self, n_frames: int) -> Array | None:
        """Which of the frames are speech; None where that has to be found out.

        Parameters
        ----------
        n_frames
            Number of frames of the recording.
        """
        if self.speech is not None:
            if abs(len(self.speech) - n_frames) > _MOST_EXTRA:
                raise FileFormatError(
                    f"{self.name}: {n_frames} frames, but its voice activity has {len(self.speech)}"
                )
            # Frames beyond the file are no speech.
            return np.asarray(np.pad(self.speech, (0, _MOST_EXTRA))[:n_frames] > 0)
        if self.turns is None:
            return None
        # A frame counts by the middle of its window; turns are in seconds of the file, so the start of
        # the part is added.
        middle = self.start + _WIDTH / 2.0 + _STEP * np.arange(n_frames)
        mask = np.zeros(n_frames, dtype=bool)
        for start, end in self.turns:
            mask |= (middle >= start) & (middle < end)
        return mask


SLOWEST_RATE, FASTEST_RATE = 1_000, 1_000_000
"""Samples a second; below, the mel bands have nothing to add up, and the library ends the whole program."""
_UNKNOWN_LENGTH = 0x7FFFF000
_LONGEST_OGG_PAGE = 27 + 255 + 255 * 255
_LAST_OGG_PAGE = 4
"""The bit of a page's sixth byte that says that the stream ends with it."""
_CUT_OFF = "ends before the samples that its header announces"
_EMPTY = "there are no samples in it"
_KINDS = "WAV, FLAC, OGG and MP3 can"


def read_samples(recording: Recording, front_end: FrontEnd) -> tuple[Array, int]:
    """The samples of the chosen channel, between -1 and 1, and the sample rate, after resampling."""
    path, wanted = recording.path, front_end.sample_rate
    with _open_audio(path) as (file, rate):
        announced = int(file.frames)
        problem = _problem_of_header(recording, rate, int(file.channels), announced / rate, front_end)
        if problem is not None:
            raise FileFormatError(problem)
        first = min(round(recording.start * rate), announced)
        last = announced if recording.end is None else min(round(recording.end * rate), announced)
        whole = recording.end is None and first == 0
        # Four bytes a sample and channel: soundfile reads all channels, also where one is used.
        require_memory(4.0 * (last - first) * file.channels, str(path))
        file.seek(first)
        # -1 reads to the end, whatever the header announces; fewer samples than announced are an error
        # below.
        samples = file.read(-1 if whole else last - first, dtype="float32", always_2d=True)
        if len(samples) < last - first or _is_cut_off(path):
            raise FileFormatError(f"{path}: {_CUT_OFF}")
    chosen = np.asarray(samples[:, front_end.channel or 0])
    if len(chosen) == 0:
        raise FileFormatError(f"{recording.name}: {_EMPTY}")
    # Float WAV files can hold NaN, which would spread to every frame of the utterance.
    if not np.isfinite(chosen).all():
        raise FileFormatError(f"{path}: sample {int(np.argmin(np.isfinite(chosen)))} is not a finite number")
    if wanted is None or rate == wanted:
        return chosen, rate
    why = f"{path}: {rate} samples a second instead of {wanted}; resampling needs soxr"
    soxr = needed_package("soxr", why, "audio")
    return np.asarray(soxr.resample(np.ascontiguousarray(chosen), rate, wanted)), wanted


@contextmanager
def _open_audio(path: Path) -> Iterator[tuple[SoundFile, int]]:
    """An audio file and its sample rate; errors name the file."""
    soundfile = needed_package("soundfile", "audio needs soundfile", "audio")
    # soundfile's own message for a missing file does not say so plainly.
    if not path.is_file():
        raise FileFormatError(f"{path}: no such audio file")
    try:
        with soundfile.SoundFile(str(path)) as file:
            rate = int(file.samplerate)
            if not SLOWEST_RATE <= rate <= FASTEST_RATE:
                raise FileFormatError(
                    f"{path}: {rate} samples a second; expected {SLOWEST_RATE:,} to {FASTEST_RATE:,}"
                )
            yield file, rate
    except LlrkitError:
        raise
    except (soundfile.SoundFileError, OSError, ValueError) as error:
        # soundfile repeats the path in its message, which ours begins with.
        words = str(error).rsplit(": ", 1)[-1].rstrip(".")
        raise FileFormatError(f"{path}: cannot be read as audio ({words}); {_KINDS}") from None


def _is_cut_off(path: Path) -> bool:
    """Whether a WAV or OGG file ends before its samples do; soundfile takes it for a shorter one."""
    size = path.stat().st_size
    with path.open("rb") as raw:
        head = raw.read(12)
        if head[:4] == b"OggS":
            # The last page tells whether the stream is complete, and no page is longer than this.
            raw.seek(max(0, size - _LONGEST_OGG_PAGE))
            tail = raw.read()
            page = tail[max(tail.rfind(b"OggS"), 0) :]
            # Byte 5 holds the flags of a page and byte 26 the number of its segments, whose sizes
            # follow.
            if len(page) < 27 or not page[5] & _LAST_OGG_PAGE:
                return True
            sizes = page[27 : 27 + page[26]]
            return len(page) < 27 + page[26] + sum(sizes)
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
            # Chunks of RIFF are padded to an even length.
            at += 8 + length + length % 2
    return False


def check_headers(
    recordings: Sequence[Recording], front_end: FrontEnd, *, require: bool = True
) -> tuple[FrontEnd, dict[int, float], list[str]]:
    """Look at every file: it can be read, is whole, has the channel and, unless resampled, the sample rate.

    Returns the front end, the seconds of each usable recording by its place, before silence is dropped, and
    what is wrong with the others. Without a sample rate in the front end it becomes that of most files, of
    the first one if there is a tie.
    """
    headers: dict[Path, tuple[int, int, float] | str] = {}
    # Files that several recordings are parts of are opened once.
    for path in dict.fromkeys(recording.path for recording in recordings):
        try:
            with _open_audio(path) as (file, rate):
                n = int(file.frames)
                # After the header could be parsed: a file of another kind is refused with its own message.
                if n <= 0 or _is_cut_off(path):
                    raise FileFormatError(f"{path}: {_CUT_OFF if _is_cut_off(path) else _EMPTY}")
                headers[path] = rate, int(file.channels), n / rate
        except FileFormatError as error:
            headers[path] = str(error)
    rates = Counter(found[0] for found in headers.values() if not isinstance(found, str))
    how = front_end
    if how.sample_rate is None and rates:
        how = replace(how, sample_rate=rates.most_common(1)[0][0])
    seconds: dict[int, float] = {}
    problems = []
    for i, recording in enumerate(recordings):
        found = headers[recording.path]
        problem = found if isinstance(found, str) else _problem_of_header(recording, *found, how)
        if problem is None:
            assert not isinstance(found, str)
            # Without an end the recording goes to the end of the file.
            seconds[i] = min(found[2], recording.end or found[2]) - recording.start
        else:
            problems.append(problem)
    others = {rate: n for rate, n in sorted(rates.items()) if rate != how.sample_rate}
    if others and how.resample:
        which = ", ".join(f"{n} of {rate} Hz" for rate, n in others.items())
        slower = any(rate < (how.sample_rate or 0) for rate in others)
        empty = "; those of lower rates have nothing in the upper bands" if slower else ""
        warn_caller(f"files resampled to {how.sample_rate} Hz: {which}{empty}", SpeechWarning)
    problems = list(dict.fromkeys(problems))
    if problems and require:
        more = f" (and {len(problems) - 1} more such files)" if len(problems) > 1 else ""
        raise FileFormatError(problems[0] + more)
    return how, seconds, problems


def _problem_of_header(
    recording: Recording, rate: int, channels: int, seconds: float, how: FrontEnd
) -> str | None:
    path = recording.path
    if not how.resample and how.sample_rate not in (None, rate):
        wanted = f"expected {how.sample_rate}; convert it first, or let it be resampled"
        return f"{path}: {rate} samples a second, {wanted}"
    if how.channel is None and channels > 1:
        return f"{path}: has {channels} channels; say which (--channel), from 0 to {channels - 1}"
    if how.channel is not None and how.channel >= channels:
        return f"{path}: there is no channel {how.channel}; it has {channels}"
    # Ends in lists are often rounded; half a tenth of a second beyond the file is let pass.
    if recording.start >= seconds or (recording.end is not None and recording.end > seconds + 0.05):
        return f"{recording.name}: the file has {seconds:.2f} s only"
    return None


STEADY_DB = 4.0
"""Speech goes up and down by more than this; white noise by about 1 dB, a tone by less."""
STEADY_SHAPE = 3.0
"""Cepstra of speech, averaged over 0.1 s, vary by 10 to 20 (by 4 as loud as the noise it is in), those of
white, pink and brown noise by 1 to 3, whatever happens to the level."""
_BLOCK = 10  # frames
_FEWEST_BLOCKS = 5
_SHAPE = slice(1, 13)  # without the zeroth, which is the level


def shape_change(cepstra: Array) -> float | None:
    """How much the shape of the spectrum changes: standard deviation of cepstra averaged over 0.1 s.

    The mean over twelve coefficients; None of less than half a second.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> vowels = np.repeat(20.0 * rng.normal(size=(10, 20)), 20, axis=0)
    >>> noise = 5.0 * rng.normal(size=(200, 20))
    >>> bool(shape_change(vowels + noise) > 10), bool(shape_change(noise) < STEADY_SHAPE)
    (True, True)
    """
    blocks = len(cepstra) // _BLOCK
    if blocks < _FEWEST_BLOCKS:
        return None
    # Averages over 0.1 s: single frames of noise vary as much as those of speech.
    means = cepstra[: blocks * _BLOCK, _SHAPE].astype(np.float64).reshape(blocks, _BLOCK, -1).mean(axis=1)
    return float(means.std(axis=0).mean()) if means.shape[1] else None


def remark_on(cepstra: Array, levels: FloatArray, speech: Array) -> str:
    """What speaks against speech in a recording, if anything does; ``speech`` are the frames that are used.

    Examples
    --------
    >>> frames, levels = np.zeros((200, 20)), np.repeat([-20.0, -40.0], 100)
    >>> remark_on(frames, levels, np.ones(200, dtype=bool))
    'its spectrum hardly changes shape, as that of noise or of a tone whose level changes, not of speech'
    """
    swing, like = level_range(levels), "as that of noise or of a tone"
    if swing < STEADY_DB:
        return f"its level hardly changes ({swing:.1f} dB), {like}, not of speech"
    change = shape_change(cepstra[speech])
    if change is not None and change < STEADY_SHAPE:
        return f"its spectrum hardly changes shape, {like} whose level changes, not of speech"
    return ""


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
    how, _, _ = check_headers(recordings, front_end or FrontEnd())
    names = tuple(map(str, [r.name for r in recordings] if ids is None else ids))
    return frames_of(recordings, how, names, speakers, columns)


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
        recording = recordings[i]
        samples, rate = read_samples(recording, how)
        width, step = int(_WIDTH * rate), int(_STEP * rate)  # as Kaldi: 275 samples at 11,025 Hz
        if len(samples) < width:
            raise FileFormatError(
                f"{recording.name}: {len(samples)} samples are less than the {width} of one frame"
            )
        levels, cepstra = frame_levels(samples, width, step), mfcc(samples, rate, how)
        n = min(len(levels), len(cepstra))  # Kaldi's product may be a sample less, in 32 bits
        cepstra, levels, known = cepstra[:n], levels[:n], recording.speech_mask(n)
        try:
            frames = how.frames(cepstra, levels, recording.name, known)
        except InputError as error:
            raise FileFormatError(str(error)) from None
        # What counts as speech for the remark is what the front end has kept.
        used = is_speech(levels, how.speech_range or np.inf) if known is None else known
        # Loaded by threads, each of which writes an entry of its own; a dict is safe for that.
        if remark := remark_on(cepstra, levels, used):
            remarks[names[i]] = remark
        return frames

    return Frames(
        names, load, None if speakers is None else tuple(speakers), ahead=True,
        columns={name: tuple(values) for name, values in (columns or {}).items()},
        contents=None if contents is None else tuple(contents), per_second=float(FRAMES_PER_SECOND),
        remarks=remarks,
    )  # fmt: skip


def mfcc(samples: Array, rate: int, front_end: FrontEnd) -> Array:
    """Mel-frequency cepstral coefficients as Kaldi computes them, without dither, shape (T, n_ceps)."""
    fbank = needed_package("kaldi_native_fbank", "audio needs kaldi-native-fbank", "audio")
    options = fbank.MfccOptions()
    options.frame_opts.samp_freq = rate
    options.frame_opts.frame_length_ms, options.frame_opts.frame_shift_ms = 1000 * _WIDTH, 1000 * _STEP
    # Dither adds random numbers, and the same recording must give the same frames.
    options.frame_opts.dither = 0.0
    options.mel_opts.num_bins = front_end.n_bands
    options.num_ceps = front_end.n_ceps
    # The zeroth cepstrum, not the energy of the window: FrontEnd finds speech by levels of its own.
    options.use_energy = False
    computer = fbank.OnlineMfcc(options)
    # Kaldi counts samples as 16-bit whole numbers. Its binding declares a list but takes any sequence; a list
    # would need 32 bytes a sample.
    computer.accept_waveform(rate, samples * np.float32(32768.0))
    computer.input_finished()
    return np.stack([computer.get_frame(i) for i in range(computer.num_frames_ready)])
