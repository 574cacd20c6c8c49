"""Frames of utterances, the front end that makes them, and the stages of a training.

Stages are kept in a folder, and used again while nothing before them has changed. Each stage is a file of
arrays with a key: the hash of everything that decides what is in it (contents of the recordings, options, the
key of the stage before). A file whose key differs, or that is broken, is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import overload

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, FloatArray
from llrkit.base.files import existing_file, file_sha256
from llrkit.base.options import documented
from llrkit.base.process import in_order, thread_count, warn_caller
from llrkit.base.text import counted
from llrkit.errors import FileFormatError, InputError, LlrkitError, SpeechWarning
from llrkit.io.array_files import read_arrays
from llrkit.speech.embeddings import load_arrays, save_arrays
from llrkit.speech.kaldi import index_scp, read_kaldi
from llrkit.speech.options import FrontEndOptions

FRAMES_PER_SECOND = 100
SILENCE_DB = -70.0
"""Below this level, in dB of full scale, nothing is speech."""
_SMOOTH = 11  # frames whose majority decides whether the middle one is speech


@documented(FrontEndOptions)
class FrontEnd(FrontEndOptions):
    """How speech becomes frames: one every 10 ms, from windows of 25 ms.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> FrontEnd(seconds=5).n_dimensions
    60
    >>> FrontEnd(normalize="whole")
    Traceback (most recent call last):
    llrkit.errors.OptionError: normalize='whole': expected one of utterance, sliding, none
    """

    @property
    def n_dimensions(self) -> int:
        """Numbers per frame."""
        return self.n_ceps * (1 + self.deltas)

    def frames(
        self, cepstra: Array, levels: FloatArray, name: str = "utterance", speech: Array | None = None
    ) -> Array:
        """Frames of an utterance from its cepstra and the level of each in dB of full scale.

        ``speech`` says which of them are speech, where that is known; otherwise it is found by the levels.

        Deltas are made before anything is cut, so that they never reach over a gap; frames that are not
        speech are dropped, then all beyond the first seconds, and only then is normalized: a short segment
        knows no more than itself.

        Parameters
        ----------
        cepstra
            Cepstra, shape (frames, coefficients).
        levels
            Level of each frame in dB of full scale.
        name
            Name of the utterance, for messages.
        speech
            Which frames are speech, if that is known.
        """
        # initial, so that an utterance without frames is silent and no error of NumPy.
        loudest = float(levels.max(initial=-np.inf))
        if loudest < SILENCE_DB:
            raise InputError(f"{name}: silent (loudest 25 ms at {loudest:.0f} dB of full scale)")
        kept = with_deltas(cepstra, self.deltas)
        if speech is not None:
            kept = kept[speech]
        elif self.speech_range is not None:
            kept = kept[is_speech(levels, self.speech_range)]
        if self.seconds is not None:
            kept = kept[: max(1, round(self.seconds * FRAMES_PER_SECOND))]
        if len(kept) < 2:
            raise InputError(f"{name}: no speech found in {counted(len(levels), 'frame')}")
        if self.normalize == "none":
            return np.ascontiguousarray(kept)
        return normalized(kept, self.window if self.normalize == "sliding" else None)


def with_deltas(cepstra: Array, order: int, *, reach: int = 2) -> Array:
    """Append time derivatives: the slope of a regression line over ``2 reach + 1`` frames, again and again.

    Examples
    --------
    >>> with_deltas(np.arange(5.0)[:, None] * 3.0, 1)[:, 1].round(6).tolist()
    [1.5, 2.4, 3.0, 2.4, 1.5]
    """
    orders = [cepstra]
    n, steps = len(cepstra), range(1, reach + 1)
    for _ in range(order):
        padded = np.pad(orders[-1], ((reach, reach), (0, 0)), mode="edge")
        slope = np.zeros_like(cepstra)
        for k in steps:
            slope = slope + k * (padded[reach + k : reach + k + n] - padded[reach - k : reach - k + n])
        orders.append((slope / (2.0 * sum(k * k for k in steps))).astype(cepstra.dtype))
    return np.concatenate(orders, axis=1)


def is_speech(levels: FloatArray, speech_range: float) -> Array:
    """Which frames are speech, from their level in dB of full scale.

    Those within ``speech_range`` dB of the loud ones (the 95th percentile), and louder than -70 dB;
    decided by the majority of the eleven frames around each, so that clicks are dropped and short gaps kept.

    Examples
    --------
    >>> levels = np.repeat([-80.0, -20.0, -75.0, -25.0], [20, 30, 3, 30])
    >>> int(is_speech(levels, 30.0).sum())
    63
    """
    # Not the maximum, which a single click would set.
    loud = float(np.percentile(levels, 95.0))
    above = levels > max(loud - speech_range, SILENCE_DB)
    half = _SMOOTH // 2
    votes = np.convolve(np.pad(above.astype(np.float64), half, mode="edge"), np.ones(_SMOOTH), mode="valid")
    return np.asarray(votes > _SMOOTH / 2)


def normalized(frames: Array, window: int | None = None) -> Array:
    """Mean 0 and variance 1 of each dimension over all frames, or over a window around each frame.

    At the ends the window is moved inside, so that it always holds as many frames. A dimension that does not
    vary becomes 0.

    Examples
    --------
    >>> normalized(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    x = frames.astype(np.float64)
    n = len(x)
    # About the mean first: running sums of squares lose digits where the mean is large.
    x -= x.mean(axis=0)
    size = n if window is None else min(window, n)
    start = np.clip(np.arange(n) - size // 2, 0, n - size)
    sums, squares = (
        np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(values, axis=0)]) for values in (x, x * x)
    )
    mean = (sums[start + size] - sums[start]) / size
    variance = (squares[start + size] - squares[start]) / size - mean**2
    steady = variance <= 1e-12 * (x * x).mean(axis=0)
    # Divided by infinity, a dimension that does not vary becomes 0.
    scale = np.where(steady, np.inf, np.sqrt(np.where(steady, 1.0, variance)))
    return np.asarray(((x - mean) / scale).astype(frames.dtype))


def level_range(levels: FloatArray) -> float:
    """How far the level of an utterance goes up and down: from its 5th to its 95th percentile, in dB.

    Examples
    --------
    >>> level_range(np.repeat([-40.0, -20.0], 50))
    20.0
    """
    low, high = np.percentile(np.maximum(levels, SILENCE_DB), [5.0, 95.0])
    return float(high - low)


def frame_levels(samples: Array, width: int, step: int) -> FloatArray:
    """Level of each window in dB of full scale (a square wave between -1 and 1 is at 0 dB).

    Examples
    --------
    >>> frame_levels(np.tile([1.0, -1.0], 16), 16, 8).round(2)
    array([0., 0., 0.])
    """
    x = samples.astype(np.float64)
    # Running sums give every window in two passes; the constant part of a recording is not sound.
    power = np.concatenate([[0.0], np.cumsum((x - x.mean()) ** 2)])
    starts = np.arange(0, len(x) - width + 1, step)
    # Digital silence has no logarithm; this floor is -200 dB.
    mean = np.maximum((power[starts + width] - power[starts]) / width, 1e-20)
    return np.asarray(10.0 * np.log10(mean))


KEPT_BYTES = 1 << 30
"""Frames are kept in memory up to this size; what is beyond is loaded every time it is needed."""


@dataclass(frozen=True, eq=False)
class Frames(Sequence[Array]):
    """Frames of several utterances, each an array of shape (frames, dimensions).

    Parameters
    ----------
    ids
        What each utterance is called, in messages and in trials.
    load
        ``load(i)`` gives the frames of utterance i.
    speakers
        Who speaks in each utterance, if that is known.
    ahead
        Whether loading takes time, so that threads load the next utterances while one is worked on.
    columns
        What else is known of each utterance: name -> one value each (gender, duration, ...).
    contents
        A hash of what each utterance was made from, if that is known.
    per_second
        Frames in a second, if that is known: of audio it is.
    marks
        A hash of where speech was said to be, if a file said so.
    remarks
        What looked wrong with utterances as they were loaded, by id.

    Examples
    --------
    >>> frames = Frames.of([np.zeros((3, 2)), np.ones((5, 2))], ids=["a", "b"], speakers=["s", "t"])
    >>> frames
    Frames(2 utterances of 2 speakers)
    >>> [len(utterance) for utterance in frames.first(4)]
    [3, 4]
    """

    ids: tuple[str, ...]
    load: Callable[[int], npt.ArrayLike]
    speakers: tuple[str, ...] | None = None
    ahead: bool = False
    columns: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    contents: tuple[str, ...] | None = None
    per_second: float | None = None
    remarks: Mapping[str, str] = field(default_factory=dict)
    marks: str = ""

    def __post_init__(self) -> None:
        for name, values in (*self.columns.items(), ("contents", self.contents or self.ids)):
            if len(values) != len(self.ids):
                raise InputError(f"{len(self.ids)} utterances but {len(values)} values of {name!r}")
        if self.speakers is not None and len(self.speakers) != len(self.ids):
            raise InputError(f"{len(self.ids)} utterances but {len(self.speakers)} speakers")

    @classmethod
    def of(
        cls,
        arrays: Sequence[npt.ArrayLike],
        *,
        ids: Sequence[str] | None = None,
        speakers: Sequence[object] | None = None,
    ) -> Frames:
        """Frames that are in memory; Frames are given back as they are.

        Parameters
        ----------
        arrays
            Frames of each utterance, shape (frames, dimensions).
        ids
            Identifiers, one per row.
        speakers
            The speaker of each utterance.
        """
        if isinstance(arrays, Frames):
            return arrays
        # An array of three axes has a length too, but its utterances would all be equally long: probably
        # a mistake.
        if hasattr(arrays, "ndim") or len(arrays) == 0:
            raise InputError("expected a list of utterances, each an array of shape (frames, dimensions)")
        places = (f"utterance {i}" for i in range(len(arrays)))
        names = tuple(places if ids is None else map(str, ids))
        if len(names) != len(arrays):
            raise InputError(f"{counted(len(arrays), 'utterance')} but {counted(len(names), 'id')}")
        return cls(names, arrays.__getitem__, None if speakers is None else tuple(map(str, speakers)))

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> Frames: ...
    def __getitem__(self, index: int | slice) -> Array | Frames:
        """The frames of one utterance, checked; of a slice, fewer utterances."""
        if isinstance(index, slice):
            return self.subset(range(len(self))[index])
        place = range(len(self))[index]
        return checked_frames(self.load(place), name=self.ids[place])

    def __iter__(self) -> Iterator[Array]:
        workers = thread_count()
        # Threads only where loading takes time: for arrays in memory they would only cost.
        if not self.ahead or workers == 1:
            yield from (self[i] for i in range(len(self)))
            return
        with ThreadPoolExecutor(workers) as pool:
            # Some utterances ahead of the consumer and no more, or all of them would be in memory.
            yield from in_order(pool, self.__getitem__, range(len(self)), 2 * workers)

    def subset(self, places: Sequence[int]) -> Frames:
        """The utterances at these places.

        Parameters
        ----------
        places
            Positions, from 0.
        """
        speakers = None if self.speakers is None else tuple(self.speakers[i] for i in places)
        ids = tuple(self.ids[i] for i in places)
        columns = {name: tuple(values[i] for i in places) for name, values in self.columns.items()}
        contents = None if self.contents is None else tuple(self.contents[i] for i in places)
        return replace(
            self, ids=ids, load=lambda i: self.load(places[i]), speakers=speakers, columns=columns,
            contents=contents,
        )  # fmt: skip

    def first(self, n_frames: int) -> Frames:
        """Every utterance cut to its first frames.

        Parameters
        ----------
        n_frames
            Number of frames to keep.
        """
        if n_frames < 1:
            raise InputError(f"an utterance must keep at least 1 frame, got {n_frames}")
        # The hash is that of the whole utterance, so it no longer says what these frames are.
        return replace(self, load=lambda i: self[i][:n_frames], contents=None)

    def with_columns(self, columns: Mapping[str, tuple[object, ...]]) -> Frames:
        """The same with more columns, or with others in their place.

        Parameters
        ----------
        columns
            Values by name of the column.
        """
        return replace(self, columns={**self.columns, **columns})

    @property
    def column_arrays(self) -> dict[str, Array]:
        """The columns as arrays."""
        return {name: np.asarray(values) for name, values in self.columns.items()}

    def kept(self, limit: int = KEPT_BYTES) -> Frames:
        """The same frames; those loaded once stay in memory, up to ``limit`` bytes of them.

        Parameters
        ----------
        limit
            Largest number of bytes to keep.
        """
        in_memory: dict[int, Array] = {}
        used, lock = 0, Lock()

        def load(i: int) -> Array:
            nonlocal used
            # Without the lock: at worst an utterance is loaded twice.
            if i in in_memory:
                return in_memory[i]
            array = self[i]
            with lock:
                if i not in in_memory and used + array.nbytes <= limit:
                    in_memory[i] = array
                    used += array.nbytes
            return array

        return replace(self, load=load)

    def __repr__(self) -> str:
        who = "" if self.speakers is None else f" of {counted(len(set(self.speakers)), 'speaker')}"
        return f"Frames({counted(len(self), 'utterance')}{who})"


def same_dimensions(frames: Frames, dimensions: int | None = None) -> Iterator[tuple[str, Array]]:
    """Id and frames of every utterance; one whose number of dimensions differs is refused by name."""
    first = "expected"
    for name, array in zip(frames.ids, frames, strict=True):
        if dimensions is None:
            dimensions, first = array.shape[1], f"but {name} has"
        if array.shape[1] != dimensions:
            raise InputError(f"{name}: frames of {array.shape[1]} dimensions, {first} {dimensions}")
        yield name, array


def frame_chunks(frames: Frames, size: int, dimensions: int | None = None) -> Iterator[Array]:
    """All frames in arrays of about ``size`` frames, whatever the length of the utterances."""
    waiting: list[Array] = []
    n = 0
    for _, array in same_dimensions(frames, dimensions):
        waiting.append(array)
        n += len(array)
        if n >= size:
            yield np.concatenate(waiting)
            waiting, n = [], 0
    if waiting:
        yield np.concatenate(waiting)


def checked_frames(frames: npt.ArrayLike, dimensions: int | None = None, name: str = "frames") -> Array:
    """Frames as an array of shape (T, D) of floats; what cannot be used is refused by name.

    Examples
    --------
    >>> checked_frames([[1.0, float("nan")]], name="a.wav")
    Traceback (most recent call last):
    llrkit.errors.InputError: a.wav: frame 0 holds nan; frames must be finite numbers
    """
    array = np.asarray(frames)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        got = f"got {array.dtype} of shape {array.shape}"
        raise InputError(f"{name}: frames must be numbers of shape (frames, dimensions), {got}")
    if len(array) == 0 or array.shape[1] == 0:
        raise InputError(f"{name}: there are no frames (shape {array.shape})")
    if dimensions is not None and array.shape[1] != dimensions:
        raise InputError(f"{name}: frames of {array.shape[1]} dimensions, expected {dimensions}")
    # Two types only, which decide the precision of all arithmetic on frames.
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    good = np.isfinite(array).all(axis=1)
    if not good.all():
        at = int(np.argmin(good))
        value = array[at][~np.isfinite(array[at])][0]
        raise InputError(f"{name}: frame {at} holds {value}; frames must be finite numbers")
    return array


def read_frames(path: str | PathLike[str], *, speakers: Mapping[str, str] | None = None) -> Frames:
    """Read frames from a Kaldi ark or scp file, or from an NPZ file with one array per utterance.

    Parameters
    ----------
    path
        The file; ``.ark`` and ``.scp`` are Kaldi's, anything else is read as NPZ. Each array has the shape
        (frames, dimensions), its name is the id of the utterance. Only what an scp file points to is loaded
        when it is needed; the others are read whole.
    speakers
        The speaker of each id, if they are known.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/frames.npz"
    >>> np.savez(file, utt1=np.zeros((5, 2)), utt2=np.ones((7, 2)))
    >>> frames = read_frames(file, speakers={"utt1": "a", "utt2": "b"})
    >>> frames, frames.ids
    (Frames(2 utterances of 2 speakers), ('utt1', 'utt2'))
    """
    file = existing_file(path)
    kind, archives = file.suffix.lower(), [file]
    if kind == ".scp":
        index = list(index_scp(file))
        loaders = [(name, load) for name, _, load in index]
        archives += dict.fromkeys(source for _, source, _ in index)
    else:
        arrays = read_kaldi(file) if kind == ".ark" else read_arrays(file).items()
        loaders = [(name, partial(np.asarray, array)) for name, array in arrays]
    if not loaders:
        raise FileFormatError(f"{file}: holds no frames")
    names, load = zip(*loaders, strict=True)
    if len(set(names)) < len(names):
        raise FileFormatError(f"{file}: {Counter(names).most_common(1)[0][0]!r} occurs more than once")
    unknown = next((name for name in names if speakers is not None and name not in speakers), None)
    if unknown is not None:
        raise FileFormatError(f"{file}: the speaker of {unknown!r} is not known")
    # which array of which file each utterance is; of an index the files that it points to count
    hashes = "+".join(file_sha256(archive)[:32] for archive in archives if archive.is_file())
    return Frames(
        names,
        lambda i: checked_frames(load[i](), name=f"{file}, {names[i]}"),
        None if speakers is None else tuple(speakers[name] for name in names),
        ahead=kind == ".scp",
        contents=tuple(f"frames:{hashes}#{name}" for name in names),
    )


SCHEMA = "llrkit.stage/1"
IVECTORS = "ivectors.npz"
"""In the folder too: the raw i-vectors of the training, a file of embeddings for other back-ends."""


@dataclass(frozen=True)
class Stages:
    """A folder of stages.

    Examples
    --------
    >>> import tempfile
    >>> stages = Stages(Path(tempfile.mkdtemp()))
    >>> stages.save("ubm", "some key", {"weights": np.ones(1)})
    >>> stages.load("ubm", "some key")["weights"], stages.load("ubm", "another key")
    (array([1.]), None)
    """

    folder: Path
    """Where the stages are kept, usually ``MODEL.stages``."""

    def load(self, name: str, key: str) -> dict[str, Array] | None:
        """The arrays of a stage; None if it has to be made.

        Parameters
        ----------
        name
            Name of the stage.
        key
            What the stage was made from; another key means it has to be made again.
        """
        file = self.folder / f"{name}.npz"
        if not file.is_file():
            return None
        try:
            arrays = dict(load_arrays(file, SCHEMA, ("key",)))
        except LlrkitError:
            return None  # broken: it is made again
        return arrays if str(arrays.pop("key")) == key else None

    def save(self, name: str, key: str, arrays: dict[str, Array]) -> None:
        """Keep the arrays of a stage.

        Parameters
        ----------
        name
            Name of the stage.
        key
            What the stage was made from.
        arrays
            Named arrays, as they were saved.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        save_arrays(self.folder / f"{name}.npz", SCHEMA, {"key": np.array(key), **arrays})


def staged(
    stages: Stages | None, name: str, key: str, make: Callable[[], dict[str, Array]]
) -> dict[str, Array]:
    """The arrays of a stage: those kept if it was made before, new ones, then kept, if not."""
    kept = None if stages is None else stages.load(name, key)
    if kept is not None:
        return kept
    arrays = make()
    if stages is not None:
        stages.save(name, key, arrays)
    return arrays


def stage_key(*parts: object) -> str:
    """The hash of what decides what is in a stage.

    Examples
    --------
    >>> stage_key("a", 1) == stage_key("a", 1), stage_key("a", 1) == stage_key("a", 2)
    (True, False)
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def input_key(frames: Frames, front_end: FrontEnd | None) -> str | None:
    """The hash of recordings, of where speech is said to be in them and of how frames are made of them.

    None where contents are not known.
    """
    if frames.contents is None:
        return None
    how = None if front_end is None else asdict(front_end)
    # Marks enter only where there are any, so that other keys do not depend on them.
    return stage_key(frames.ids, frames.contents, how, *([frames.marks] if frames.marks else []))


Watch = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is to do."""
SPEECH_SECONDS = "speech_seconds"
"""The column with the seconds of speech of each utterance."""


def load_all(
    frames: Frames, front_end: FrontEnd | None, bad_files: str, stages: Stages | None, watch: Watch
) -> Frames:
    """Load every utterance, and tell what is wrong with any of them.

    The frames stay in memory, up to a gigabyte. Those of audio get a column ``speech_seconds``.

    Parameters
    ----------
    front_end
        How the frames are made; utterances with less than half of the speech that it asks for are named.
    bad_files
        'error', or 'skip': utterances that cannot be used are left out, with a warning that names them.
    stages
        Where an earlier run noted what it saw of the same recordings with the same front end; they are then
        loaded only if their frames are needed.
    watch
        Called with what is being done, how much of it is done and how much there is.
    """
    kept = frames.kept()
    key = None if stages is None else input_key(frames, front_end)

    def length_or_problem(i: int) -> int | str:
        try:
            return len(kept[i])
        except InputError as error:
            if bad_files == "error":
                raise
            return str(error)

    def look_at_all() -> dict[str, Array]:
        seen: dict[int, int | str] = {}
        # One thread where frames are in memory already.
        with ThreadPoolExecutor(thread_count() if kept.ahead else 1) as pool:
            for found in in_order(pool, length_or_problem, range(len(kept)), 2 * thread_count()):
                seen[len(seen)] = found
                watch("frames", len(seen), len(kept))
        good = {i: n for i, n in seen.items() if not isinstance(n, str)}
        plain = {
            "good": list(good), "lengths": list(good.values()),
            "problems": [problem for problem in seen.values() if isinstance(problem, str)],
            "remarks": dict(kept.remarks),
        }  # fmt: skip
        # As JSON inside an array, since stages are files of arrays.
        return {"seen": np.array(json.dumps(plain))}

    # Without known contents nothing says whether an earlier result still holds.
    where = None if key is None else stages
    seen = json.loads(str(staged(where, "frames", stage_key("frames", key, bad_files), look_at_all)["seen"]))
    for problem in seen["problems"]:
        warn_caller(f"left out: {problem}", SpeechWarning)
    if not seen["good"]:
        raise FileFormatError(f"no file can be used; the first: {seen['problems'][0]}")
    if seen["problems"]:
        kept = kept.subset(seen["good"])
    for name in kept.ids:
        if name in seen["remarks"]:
            warn_caller(f"{name}: {seen['remarks'][name]}", SpeechWarning)
    kept = kept.with_columns({"frames": tuple(seen["lengths"])})
    if kept.per_second is None:
        return kept
    spoken = tuple(round(n / kept.per_second, 2) for n in seen["lengths"])
    seconds = None if front_end is None else front_end.seconds
    short = [pair for pair in zip(spoken, kept.ids, strict=True) if pair[0] < 0.5 * (seconds or 0.0)]
    if short:
        least, name = min(short)
        warn_caller(
            f"{len(short)} of {len(spoken)} utterances have less than half of the {seconds:g} s of speech "
            f"asked for; the least: {name} with {least:.2f} s",
            SpeechWarning,
        )
    return kept.with_columns({SPEECH_SECONDS: spoken})
