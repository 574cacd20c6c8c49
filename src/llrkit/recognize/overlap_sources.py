"""What models, segments and cohorts were made from, so that nothing is used on both sides unnoticed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit.errors import InputError
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.model_files import Arrays


@dataclass(frozen=True)
class Sources:
    """Ids of utterances, their speakers if known, and hashes of what they were made from if known.

    A hash says of what it is in front, ``audio:`` or ``vector:``; only hashes of one kind are compared, and
    ids otherwise.

    Examples
    --------
    >>> one = Sources(("a", "b"), ("x", "y"), ("vector:1", "vector:2"))
    >>> one.segments_shared_with(Sources(("c", "b"), None, ("vector:1", "vector:3")))
    ['c']
    >>> one.speakers_shared_with(Sources(("c",), ("y",)))
    ['y']
    """

    ids: tuple[str, ...] = ()
    speakers: tuple[str, ...] | None = None
    contents: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name, values in (("speakers", self.speakers), ("contents", self.contents)):
            if values is not None and len(values) != len(self.ids):
                raise InputError(f"{counted(len(self.ids), 'utterance')}, but {len(values)} {name}")

    @classmethod
    def of(cls, speech: Frames | Embeddings) -> Sources:
        """Of utterances as they are given."""
        speakers = None if speech.speakers is None else tuple(map(str, speech.speakers))
        contents = speech.contents if isinstance(speech, Frames) else vector_hashes(speech.vectors)
        return cls(tuple(map(str, speech.ids)), speakers, contents)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def _kind(self) -> str:
        return self.contents[0].partition(":")[0] if self.contents else ""

    def segments_shared_with(self, other: Sources) -> list[str]:
        """The ids of the other's utterances that are among these."""
        if self._kind == other._kind and self._kind in ("audio", "vector"):
            own = set(self.contents or ())
            contents = other.contents or ()
            return [name for name, content in zip(other.ids, contents, strict=True) if content in own]
        own = set(self.ids)
        return [name for name in other.ids if name in own]

    def speakers_shared_with(self, other: Sources) -> list[str]:
        """The speakers that both have."""
        own = set(self.speakers or ())
        return [name for name in dict.fromkeys(other.speakers or ()) if name in own]

    def repeated(self) -> list[tuple[int, int]]:
        """Pairs of places that hold the same content."""
        first: dict[str, int] = {}
        pairs = []
        for i, content in enumerate(self.contents or ()):
            if first.setdefault(content, i) != i:
                pairs.append((first[content], i))
        return pairs

    def arrays(self, prefix: str) -> dict[str, Array]:
        """What is saved."""
        named = {"ids": self.ids, "speakers": self.speakers, "contents": self.contents}
        return {prefix + name: np.array(values, dtype=str) for name, values in named.items() if values}

    @classmethod
    def from_arrays(cls, arrays: Arrays, prefix: str) -> Sources:
        """What :meth:`arrays` described; empty in a file that says nothing of it."""
        own = [arrays.get(prefix + name) for name in ("ids", "speakers", "contents")]
        ids, speakers, contents = (None if one is None else tuple(map(str, one.tolist())) for one in own)
        return cls(ids or (), speakers, contents)


def vector_hashes(vectors: Array) -> tuple[str, ...]:
    """A hash of each row, the same for the same numbers in 32 and 64 bits.

    Examples
    --------
    >>> vector_hashes(np.array([[1.0, 2.0]])) == vector_hashes(np.array([[1.0, 2.0]], dtype=np.float32))
    True
    """
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    return tuple("vector:" + hashlib.blake2b(row.tobytes(), digest_size=12).hexdigest() for row in rows)


def some_names(names: Sequence[str]) -> str:
    """A few names, and that there are more.

    Examples
    --------
    >>> some_names(list("abcde"))
    'a, b, c and 2 more'
    """
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
