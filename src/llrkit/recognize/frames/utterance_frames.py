"""Frames of several utterances, with ids and speakers, loaded when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import overload

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit.errors import InputError
from llrkit.scores.source import in_order, thread_count

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
        if not self.ahead or workers == 1:
            yield from (self[i] for i in range(len(self)))
            return
        with ThreadPoolExecutor(workers) as pool:
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
        return replace(self, load=lambda i: self[i][:n_frames], contents=None)

    def with_columns(self, columns: Mapping[str, tuple[object, ...]]) -> Frames:
        """The same with more columns, or with others in their place.

        Parameters
        ----------
        columns
            Values by name of the column.
        """
        return replace(self, columns={**self.columns, **columns})

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
        raise InputError(
            f"{name}: frames must be numbers of shape (frames, dimensions), "
            f"got {array.dtype} of shape {array.shape}"
        )
    if len(array) == 0 or array.shape[1] == 0:
        raise InputError(f"{name}: there are no frames (shape {array.shape})")
    if dimensions is not None and array.shape[1] != dimensions:
        raise InputError(f"{name}: frames of {array.shape[1]} dimensions, expected {dimensions}")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    good = np.isfinite(array).all(axis=1)
    if not good.all():
        at = int(np.argmin(good))
        value = array[at][~np.isfinite(array[at])][0]
        raise InputError(f"{name}: frame {at} holds {value}; frames must be finite numbers")
    return array
