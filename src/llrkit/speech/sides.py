"""The two sides of trials, their labels, and overlaps of training and test."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, of_kind
from llrkit.base.process import warn_caller
from llrkit.base.text import counted
from llrkit.errors import FileFormatError, InputError, SpeechWarning
from llrkit.io.array_files import part_of, prefixed
from llrkit.speech.embeddings import Arrays, Embeddings, load_arrays, naming_file, save_arrays
from llrkit.speech.frames import Frames
from llrkit.speech.models.gmm import SpeakerGMMs
from llrkit.speech.models.svm import LinearModels
from llrkit.speech.models.transforms import row_lengths


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
        # Hashes of frames name the archive, so a copy in another archive has another hash; their ids are
        # compared instead.
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

    def arrays(self) -> dict[str, Array]:
        """What is saved."""
        # Empty tuples are left out: an array without entries could not be told from an absent one.
        return {name: np.array(values, dtype=str) for name, values in vars(self).items() if values}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Sources:
        """What :meth:`arrays` described; empty in a file that says nothing of it."""
        known = {one.name for one in fields(cls)} & arrays.keys()
        return cls(**{name: tuple(map(str, arrays[name].tolist())) for name in known})


def vector_hashes(vectors: Array) -> tuple[str, ...]:
    """A hash of each row, the same for the same numbers in 32 and 64 bits.

    Examples
    --------
    >>> vector_hashes(np.array([[1.0, 2.0]])) == vector_hashes(np.array([[1.0, 2.0]], dtype=np.float32))
    True
    """
    # In 32 bits, as Kaldi stores them: the same embedding read from two formats has one hash.
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


SCHEMA = "llrkit.enrolled/1"
COHORT_SCHEMA = "llrkit.cohort/1"
_COLUMN, _SOURCE = "column.", "source."
Texts = npt.NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Side:
    """Ids and speakers of models or segments, with their embeddings, frames or models.

    A side that enrolls has one row per model: embeddings (averages over sessions), adapted mixtures or
    support vector machines. A side that is tested has embeddings or frames. A cohort has both.

    Examples
    --------
    >>> from llrkit.speech.recognizer import train_recognizer
    >>> rng = np.random.default_rng(1)
    >>> sessions = Embeddings(rng.normal(size=(8, 2)), list("abcdefgh"), list("xxxxyyzz"))
    >>> others = Embeddings(rng.normal(size=(8, 2)), list("ijklmnop"), list("uuuuvvww"))
    >>> models = train_recognizer(others, "cosine").enroll(sessions)
    >>> models.ids.tolist(), models.embeddings.columns["sessions"].tolist()
    (['x', 'y', 'z'], [4, 2, 2])
    """

    ids: Texts
    """The name of each model or segment."""
    speakers: Texts | None = None
    """The speaker of each row, if known."""
    embeddings: Embeddings | None = None
    """Embeddings after all steps, one row each."""
    frames: Frames | None = None
    """The frames that a UBM-GMM recognizer is tested with."""
    mixtures: SpeakerGMMs | None = None
    """Models of a UBM-GMM recognizer."""
    machines: LinearModels | None = None
    """Models of an SVM recognizer."""
    recognizer: str = ""
    """The fingerprint of the recognizer that made this side; others refuse it."""
    columns: Mapping[str, Array] = field(default_factory=dict)
    """What else is known of each row: name -> one value each."""
    sources: Sources = field(default_factory=Sources)
    """The utterances that it was made from."""

    def __len__(self) -> int:
        return len(self.ids)

    def save(self, path: str | PathLike[str], *, cohort: bool = False) -> None:
        """Write enrolled models, or a cohort, to an NPZ file.

        Parameters
        ----------
        path
            The file.
        cohort
            Whether this is a cohort.
        """
        if self.frames is not None:
            unsaved = "a ubm-gmm recognizer is tested with frames, which are not saved"
            raise InputError(f"{path}: {unsaved}; give the list itself")
        own = self.embeddings
        arrays: dict[str, Array | None] = {"ids": self.ids, "recognizer": np.array(self.recognizer)}
        arrays["speakers"] = self.speakers
        if own is not None:
            # Test segments have no such column; each is a single session.
            sessions = own.columns.get("sessions", np.ones(len(self), dtype=np.int64))
            arrays |= {"vectors": own.vectors, "sessions": sessions, "covariances": own.covariances}
        if self.mixtures is not None:
            arrays["means"] = self.mixtures.means
        if self.machines is not None:
            arrays |= {"weights": self.machines.weights, "offsets": self.machines.offsets}
        known = {name: array for name, array in arrays.items() if array is not None}
        known |= prefixed(_COLUMN, self.columns) | prefixed(_SOURCE, self.sources.arrays())
        save_arrays(path, COHORT_SCHEMA if cohort else SCHEMA, known)

    @classmethod
    def load(cls, path: str | PathLike[str], *, cohort: bool = False) -> Side:
        """Read enrolled models, or a cohort.

        Parameters
        ----------
        path
            The file.
        cohort
            Whether a cohort is wanted.
        """
        arrays = load_arrays(path, COHORT_SCHEMA if cohort else SCHEMA, ("ids", "recognizer"))
        ids, speakers = arrays["ids"], arrays.get("speakers")
        embeddings = mixtures = machines = None
        with naming_file(str(path)):
            if "vectors" in arrays:
                columns = {"sessions": arrays["sessions"]}
                embeddings = Embeddings(arrays["vectors"], ids, speakers, columns, arrays.get("covariances"))
            if "means" in arrays:
                mixtures = SpeakerGMMs(tuple(ids.tolist()), arrays["means"])
            if "weights" in arrays:
                machines = LinearModels(ids, arrays["weights"], arrays["offsets"])
            if embeddings is None and mixtures is None and machines is None:
                raise FileFormatError(f"{path}: there are no models in it")
            # A column of another length would be of something else, in a file that was changed by hand.
            columns = {name: v for name, v in part_of(arrays, _COLUMN).items() if v.shape == ids.shape}
            sources = Sources.from_arrays(part_of(arrays, _SOURCE))
        made_by = str(arrays["recognizer"])
        return cls(ids, speakers, embeddings, None, mixtures, machines, made_by, columns, sources)


def text_array(values: Sequence[str] | Array) -> Texts:
    """Texts as an array."""
    return np.asarray(values, dtype=np.str_)


Ids = Sequence[str] | Array
Speakers = tuple[Ids, Ids]
"""The speakers of the enrollments and of the tests."""
Places = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""Rows and columns of listed pairs."""


def same_speaker(speakers: Speakers, listed: Places | None = None) -> Array:
    """Which pairs are target trials: a matrix for all pairs, or one value for each listed pair.

    Examples
    --------
    >>> same_speaker((["ann"], ["ann", "bo"]))
    array([[ True, False]])
    """
    enroll, test = (np.asarray(names, dtype=np.str_) for names in speakers)
    if listed is None:
        return np.asarray(enroll[:, None] == test)
    rows, columns = listed
    return np.asarray(enroll[rows] == test[columns])


def different_ids(enroll_ids: Ids, test_ids: Ids) -> Array:
    """Which pairs are not one and the same segment."""
    enroll, test = (np.asarray(ids, dtype=np.str_) for ids in (enroll_ids, test_ids))
    return np.asarray(enroll[:, None] != test)


def trial_masks(enroll: Embeddings, test: Embeddings, *, same: Sequence[str] = ()) -> tuple[Array, Array]:
    """Which pairs are target trials and which non-target trials, as two matrices of bool.

    A pair is a trial if its sides agree in all columns named in ``same`` (gender, say) and are not one and
    the same segment (the same id).

    Parameters
    ----------
    enroll
        Embeddings of the enrollment side.
    test
        Embeddings of the test side.
    same
        Columns whose values must be equal on both sides of a trial, such as gender.

    Examples
    --------
    >>> both = Embeddings(np.eye(3), ["a1", "a2", "b1"], ["a", "a", "b"])
    >>> target, nontarget = trial_masks(both, both)
    >>> int(target.sum()), int(nontarget.sum())
    (2, 4)
    """
    of_kind(enroll, Embeddings | Side, "enroll")
    of_kind(test, Embeddings | Side, "test")
    is_target = same_speaker((enroll.known_speakers, test.known_speakers))
    is_trial = different_ids(enroll.ids, test.ids)
    for name in same:
        is_trial &= enroll.column(name)[:, None] == test.column(name)
    return is_target & is_trial, ~is_target & is_trial


SPLIT_NAMES = ("split", "subset", "partition", "fold", "set")


def check_repeats(given: Sources) -> None:
    """The same content twice: of one speaker a warning, of two an error.

    Examples
    --------
    >>> check_repeats(Sources(("a", "b"), ("ann", "bo"), ("audio:1", "audio:1")))
    Traceback (most recent call last):
    llrkit.errors.InputError: a and b are the same recording, but of speakers ann and bo
    """
    first: dict[str, int] = {}
    pairs = [  # of places that hold the same content
        (first[content], i)
        for i, content in enumerate(given.contents or ())
        # setdefault gives the first place of each content, so pairs are (first, later).
        if first.setdefault(content, i) != i
    ]
    what = "recording" if (given.contents or ("",))[0].startswith("audio") else "embedding"
    for i, j in pairs:
        if given.speakers is not None and given.speakers[i] != given.speakers[j]:
            two = f"but of speakers {given.speakers[i]} and {given.speakers[j]}"
            raise InputError(f"{given.ids[i]} and {given.ids[j]} are the same {what}, {two}")
    if pairs:
        names = [f"{given.ids[j]} (as {given.ids[i]})" for i, j in pairs]
        warn_caller(f"the same {what} under two names, and counted twice: {some_names(names)}", SpeechWarning)


def warn_of_shared(one: Sources, other: Sources, use: str, of_utterances: str, of_speakers: str) -> None:
    """Warn of utterances that both hold, or else of speakers, and say what follows from either."""
    utterances, speakers = one.segments_shared_with(other), one.speakers_shared_with(other)
    # Shared utterances imply shared speakers, and are the graver mistake; one warning is enough.
    shared, what, then = utterances, "utterance", of_utterances
    if not utterances:
        shared, what, then = speakers, "speaker", of_speakers
    if shared:
        warn_caller(f"{counted(len(shared), what)} {use}: {some_names(shared)}; {then}", SpeechWarning)


def check_splits(
    given: Frames | Embeddings, where: Iterable[object], what: str, option: str = "--where"
) -> None:
    """All splits of a corpus used for one thing, without a word about them."""
    for name, values in given.columns.items():
        # Whoever named the column in a condition knows of it.
        if name.lower() not in SPLIT_NAMES or any(name in str(text) for text in where):
            continue
        distinct = sorted({str(value) for value in values})
        # One value is no split, and many are probably another kind of column.
        if 1 < len(distinct) <= 10:
            warn_caller(
                f"{what} on all of {name} = {', '.join(distinct)}; choose some of it, for example with "
                f'{option} "{name} = {distinct[-1]}"',
                SpeechWarning,
            )


def length_profile(vectors: Array) -> npt.NDArray[np.float64]:
    """Median length of the vectors, and half the distance of the quartiles."""
    # Quartiles: a few odd utterances must not decide.
    low, middle, high = np.percentile(row_lengths(vectors), [25.0, 50.0, 75.0])
    return np.array([middle, (high - low) / 2.0])


def check_lengths(trained: npt.NDArray[np.float64] | None, vectors: Array) -> None:
    """Embeddings that were length-normalized or whitened elsewhere have other lengths than raw ones."""
    # One vector has no spread to compare.
    if trained is None or len(vectors) < 2:
        return
    middle, spread = (float(value) for value in trained)
    now, now_spread = (float(value) for value in length_profile(vectors))
    # All of one length although raw ones were not: length-normalized elsewhere.
    same_length = now_spread < 1e-4 * now and spread > 1e-2 * middle
    if same_length or not 0.4 < now / max(middle, 1e-300) < 2.5:
        warn_caller(
            f"these embeddings have lengths of {now:.3g} +- {now_spread:.2g}, those in training {middle:.3g} "
            f"+- {spread:.2g}: were they processed already, or made by another program?",
            SpeechWarning,
        )
