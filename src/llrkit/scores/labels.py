"""Labels of trials: which mean a target, a class or a kind; and arrays of other libraries."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import numpy as np

from llrkit.base.arguments import Array, BoolArray, IntArray
from llrkit.base.process import warn_caller
from llrkit.errors import InputError, LabelError, PooledClassesWarning
from llrkit.scores.source import unnamed_systems


def as_numpy(values: object, what: str) -> Array:
    """A NumPy array of lists, columns of pandas, polars and Arrow, tensors, and whatever speaks DLPack.

    Tensors are detached from their gradients and brought to the CPU; bfloat16, which NumPy does not know,
    becomes float32. A lazy frame of one column is collected. Trailing dimensions of length 1 are left to
    whoever asked.

    Examples
    --------
    >>> import polars as pl
    >>> as_numpy(pl.LazyFrame({"score": [1.5, -0.5]}), "scores").shape
    (2, 1)
    """
    if isinstance(values, np.ndarray):
        # whoever made a masked array imported numpy.ma, which plain arrays need not wait for
        if "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray):
            hidden = np.argwhere(np.ma.getmaskarray(values))
            if len(hidden):  # what a mask hides must not count
                raise InputError(f"{what}: masked at index {hidden[0][0]}; leave masked trials out")
            return np.asarray(values.data)
        return values
    foreign: Any = values  # of polars, torch or others, told apart by their methods without an import
    if hasattr(foreign, "collect") and hasattr(foreign, "collect_schema"):  # a DataFrame has only the schema
        foreign = foreign.collect()
    # told by its methods, so that torch need not be imported
    if hasattr(foreign, "detach") and hasattr(foreign, "cpu"):
        foreign = foreign.detach().cpu()
        foreign = foreign.float() if str(foreign.dtype) == "torch.bfloat16" else foreign
    try:
        # where both are there, __array__
        if hasattr(foreign, "__dlpack__") and not hasattr(foreign, "__array__"):
            return np.from_dlpack(foreign)
        return np.asarray(foreign)
    except ValueError as error:  # lists of different lengths
        raise InputError(f"{what} are not an array of numbers ({error})") from None


def column_names(given: object) -> list[object]:
    """The names of the columns of a table, whatever library it is of; none where there are no columns.

    Examples
    --------
    >>> import polars as pl
    >>> column_names(pl.DataFrame({"plda": [1.5], "ecapa": [0.5]})), column_names(np.zeros((1, 2)))
    (['plda', 'ecapa'], [])
    """
    if isinstance(given, Mapping):
        return list(given)
    schema = getattr(given, "collect_schema", None)  # a lazy table, whose columns are not known at once
    if schema is not None:
        return list(schema())
    names = getattr(given, "column_names", getattr(given, "columns", None))  # Arrow, pandas
    return list(names) if isinstance(names, Iterable) else []


def named_systems(scores: object) -> tuple[str, ...]:
    """The names of the systems whose scores are in the columns of a table; () where they have none.

    Columns that pandas numbers are called as those of arrays are, by their numbers: in another order they are
    still told apart. The row of a pandas table has names, too.

    Examples
    --------
    >>> import pandas as pd
    >>> named_systems(pd.DataFrame(np.zeros((1, 2)))[[1, 0]])
    ('system2', 'system1')
    """
    columns = column_names(scores)
    if columns and set(columns) == set(range(len(columns))):
        unnamed = unnamed_systems(len(columns))
        return tuple(unnamed[int(str(number))] for number in columns)
    names: object = columns or getattr(scores, "index", None)
    found = tuple(names) if isinstance(names, Iterable) else ()  # a list has a method of this name
    return found if all(isinstance(name, str) for name in found) else ()


def flat_labels(values: object) -> Array:
    """Labels as an array of one dimension; columns of width one are taken for what they are."""
    array = as_numpy(values, "labels")
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


TARGET_WORDS = frozenset(
    {"target", "tgt", "tar", "true", "t", "1", "1.0", "genuine", "client", "bonafide", "bona-fide", "same",
     "same-source", "same-speaker", "ss", "mated", "positive", "known-target", "real", "live", "yes", "h1",
     "hp", "h-p", "km", "match", "mate", "human", "pos", "authentic"}
)  # fmt: skip
SPOOF_WORDS = frozenset({"spoof", "spoofed", "spf", "fake", "attack", "deepfake", "replay"})
NONTARGET_WORDS = SPOOF_WORDS | {
    "nontarget", "non-target", "non", "imp", "impostor", "imposter", "false", "f", "0", "0.0", "-1", "-1.0",
    "different", "diff", "different-source", "different-sources", "different-speaker", "different-speakers",
    "ds", "non-mated", "nonmated", "negative", "known-nontarget", "unknown-nontarget", "known-non-target",
    "unknown-non-target", "no", "h2", "hd", "knm", "non-match", "nonmatch", "mismatch", "nonmate", "non-mate",
    "neg", "h-d",
}  # fmt: skip
FIRST = 64
"""Values that are looked at first."""
ACCEPTED = (
    "bool, 0/1, -1/1, or words like target/nontarget, genuine/impostor, bonafide/spoof, same/different, "
    "SS/DS, Hp/Hd, H1/H2, KM/KNM, real/fake, live/attack, yes/no"
)


def classify_words(words: list[str]) -> list[bool | None]:
    """For each distinct label whether it means target; ``None`` for a word that is not known.

    Case does not matter, nor whether words are joined by a space, a hyphen or an underscore.

    Examples
    --------
    >>> classify_words(["target", "imp", "Same speaker", "maybe"])
    [True, False, True, None]
    """
    # both sets in one look-up; no word is in both
    known = dict.fromkeys(TARGET_WORDS, True) | dict.fromkeys(NONTARGET_WORDS, False)
    return [known.get(plain_word(word)) for word in words]


def plain_word(word: str) -> str:
    """A label in lower case, its words joined by hyphens.

    Examples
    --------
    >>> plain_word("Same speaker"), plain_word("bona_fide")
    ('same-speaker', 'bona-fide')
    """
    return re.sub(r"[ _]+", "-", word.strip().lower())


def pooled_words(words: Iterable[str]) -> str | None:
    """Which words are taken together as one class, if more than two kinds of label occur; else None.

    Examples
    --------
    >>> pooled_words(["target", "nontarget", "spoof"])
    "'nontarget' and 'spoof' both count as non-target"
    >>> pooled_words(["Target", "target", "imp"])
    """
    distinct = sorted({word.strip().lower().removesuffix(".0") for word in words})  # 1 and 1.0 are one label
    if len(distinct) < 3:
        return None
    said = []
    for side, name in ((True, "target"), (False, "non-target")):
        same = [word for word, known in zip(distinct, classify_words(distinct), strict=True) if known is side]
        if len(same) > 1:
            both = "both" if len(same) == 2 else "all"
            said.append(f"{' and '.join(map(repr, same))} {both} count as {name}")
    return ", ".join(said)


def warn_of_pooled(words: Iterable[str], where: str) -> None:
    """Say so where labels of more than two kinds are taken as two classes."""
    pooled = pooled_words(words)
    if pooled is not None:
        warn_caller(
            f"{where}: {pooled}; if that is intended, name the label of the targets (positive=, --positive), "
            "otherwise keep only two kinds of trials",
            PooledClassesWarning,
        )


def _not_two_classes(seen: Sequence[object], where: str) -> LabelError:
    shown = ", ".join(repr(value) for value in seen[:5]) + (", ..." if len(seen) > 5 else "")
    return LabelError(
        f"labels are not two classes{where}: saw {shown}; accepted are {ACCEPTED}; others "
        "with the label of the targets (positive=)"
    )


def target_mask(labels: object, positive: object = None) -> BoolArray:
    """A boolean array that says which trials are targets: by the usual labels, or by that of the targets.

    Examples
    --------
    >>> target_mask(["target", "nontarget"])
    array([ True, False])
    >>> target_mask([0, 1, 2])
    Traceback (most recent call last):
    llrkit.errors.LabelError: labels are not two classes (first at index 2): saw 0, 1, 2; ...
    """
    array = flat_labels(labels)
    if array.ndim != 1:
        raise InputError(f"labels must be one-dimensional, got shape {array.shape}")
    # any labels will do then, and all others are non-targets
    if positive is not None:
        is_target = np.asarray(array == positive)
        if not is_target.any():
            seen = ", ".join(repr(value) for value in np.unique(array).tolist()[:6])
            raise LabelError(f"no label is {positive!r} (positive=); there are: {seen}")
        return is_target
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind in "iuf":
        is_target = array == 1
        bad = ~(is_target | (array == 0) | (array == -1))  # NaN is none of them
        # 0 and -1 both mean non-target, of two different pairs
        if bad.any() or ((array == 0).any() and (array == -1).any()):
            where = f" (first at index {int(np.argmax(bad))})" if bad.any() else ""
            raise _not_two_classes(np.unique(array)[:6].tolist(), where)
        return np.asarray(is_target)
    # words are looked up once each, not once a trial
    distinct, inverse = np.unique(array.astype(str), return_inverse=True)
    words = [str(word) for word in distinct]
    meaning = classify_words(words)
    if None in meaning:
        first = int(np.argmax(inverse == meaning.index(None)))
        raise _not_two_classes(words, f" (first at index {first})")
    warn_of_pooled(words, "labels")
    return np.asarray([bool(value) for value in meaning])[inverse]


def holds_words(given: object) -> bool:
    """Whether an array is made of words that are no numbers.

    Examples
    --------
    >>> holds_words(["target", "nontarget"]), holds_words(["0.5", "1e3"]), holds_words([0.5, 1.0])
    (True, False, False)
    """
    words = [word for word in np.ravel(np.asarray(given, dtype=object)).tolist() if isinstance(word, str)]
    return bool(words) and not any(map(_is_number, words))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def looks_like_labels(given: object, values: Array, scores: Array) -> bool:
    """Whether ``values``, made of what was ``given``, are labels of ``scores``: booleans, 0/1 or -1/1.

    Two trials cannot tell, nor scores that have no other values. Arrays of different lengths are told apart
    without a look at their values, most scores by the first few.

    Examples
    --------
    >>> labels, scores = np.array([0.0, 1.0, 1.0]), np.array([0.5, 2.0, -1.0])
    >>> looks_like_labels(labels, labels, scores), looks_like_labels(labels, labels, labels)
    (True, False)
    """
    # the cheapest checks first: this runs for every pair of arrays
    if values.ndim != 1 or len(values) != len(scores) or not _are_two_values(values[:FIRST]):
        return False
    # the array was made of floats already; only what was given still says that it is booleans
    boolean = getattr(given, "dtype", None) == np.bool_ or (
        isinstance(given, (list, tuple)) and all(isinstance(value, (bool, np.bool_)) for value in given)
    )
    if not boolean and (len(values) < 3 or not _are_two_values(values) or values.min() == values.max()):
        return False
    # scores of 0 and 1 may be scores
    return not _are_two_values(scores[:FIRST]) or not _are_two_values(scores)


@contextmanager
def expecting_scores_first(first: object, second: object) -> Iterator[None]:
    """Say that scores come before labels, where an error is due to their order.

    Examples
    --------
    >>> with expecting_scores_first([0, 1, 1], [0.5, 2.0, -1.0]):
    ...     target_mask([0.5, 2.0, -1.0])
    Traceback (most recent call last):
    llrkit.errors.InputError: scores come first, then labels: the first argument looks like labels ...
    """
    try:
        yield
    except InputError:
        if _labels_first(first, second):
            raise InputError(
                "scores come first, then labels: the first argument looks like labels "
                "(0/1, -1/1, bool or words), the second does not"
            ) from None
        raise


def _labels_first(first: object, second: object) -> bool:
    try:
        values, others = flat_labels(first), flat_labels(second)
    except InputError:  # no arrays: the error that is there says more
        return False
    if holds_words(values):
        return not holds_words(others)
    numbers = values.dtype.kind in "biuf" and others.dtype.kind in "iuf"
    return numbers and others.ndim == 1 and looks_like_labels(first, values, others)


def _are_two_values(values: Array) -> bool:
    """Whether nothing but 0 and 1, or -1 and 1, occurs."""
    ones = values == 1
    return bool((ones | (values == 0)).all() or (ones | (values == -1)).all())


_SHOWN = 10


def class_names(classes: Iterable[object]) -> tuple[str, ...]:
    """Names as text, none twice, none empty.

    Examples
    --------
    >>> class_names(range(3))
    ('0', '1', '2')
    >>> class_names(["en", "de", "en"])
    Traceback (most recent call last):
    llrkit.errors.LabelError: the class 'en' is named twice
    """
    names = tuple(_label_as_text(name) for name in classes)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise LabelError(f"the class {twice!r} is named twice")
    if "" in names:
        raise LabelError("a class without a name")
    if not names:
        raise LabelError("no classes were named")
    return names


def class_codes(labels: object, classes: tuple[str, ...]) -> IntArray:
    """The place of each label among the classes.

    A label is the name of a class. Whole numbers are places, counted from 0, where no class has a number
    as its name.

    Examples
    --------
    >>> class_codes(["de", "en", "de"], ("en", "de")).tolist()
    [1, 0, 1]
    >>> class_codes([1, 0], ("en", "de")).tolist()
    [1, 0]
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise InputError(f"labels must be one-dimensional, got shape {array.shape}")
    # a class named "1" would make the label 1 ambiguous
    if array.dtype.kind in "iub" and not any(map(_is_number, classes)):
        codes = array.astype(np.intp)
        bad = (codes < 0) | (codes >= len(classes))
        if bad.any():
            at = int(np.argmax(bad))
            raise LabelError(
                f"label {array[at]} at index {at}: there are {len(classes)} classes, numbered from 0"
            )
        return codes
    if array.dtype.kind in "Of":
        missing = [label is None or label != label for label in array.tolist()]  # NaN is not equal to itself
        if any(missing):
            raise LabelError(f"there is no label at index {missing.index(True)}")
    if array.dtype.kind == "O":  # values of several types cannot be sorted
        array = np.array([_label_as_text(label) for label in array], dtype=str)
    distinct, inverse = np.unique(array, return_inverse=True)
    known = {name: i for i, name in enumerate(classes)}
    places = [known.get(_label_as_text(label), -1) for label in distinct]
    codes = np.array(places, dtype=np.intp)[inverse.ravel()]
    if len(codes) and codes.min() < 0:
        at = int(np.argmax(codes < 0))
        raise LabelError(
            f"unknown class {_label_as_text(array[at])!r} at index {at}; the classes are {listed(classes)}"
        )
    return codes


def listed(names: Iterable[str]) -> str:
    """Names in a row, the first few of them.

    Examples
    --------
    >>> listed("abcdefghijkl")
    'a, b, c, d, e, f, g, h, i, j, ... (12)'
    """
    names = list(names)
    more = f", ... ({len(names)})" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _label_as_text(name: object) -> str:
    value = name.item() if isinstance(name, np.generic) else name
    # True, 1 and 1.0 name one class
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    return str(value).strip()


Kind = Literal["target", "nontarget", "spoof"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KNOWN_KINDS = (
    "known are target (or bonafide, genuine, ...), nontarget (or impostor, ...) and spoof (or fake, "
    "attack, ...)"
)
KIND, TARGET = "kind of trial", "is a target"
"""Columns of our own beside those of the table; the kind is its place among the three."""


def kind_of(word: object) -> Kind:
    """The kind of trial that a label means.

    Examples
    --------
    >>> kind_of("tar"), kind_of("impostor"), kind_of("Spoof"), kind_of(True)
    ('target', 'nontarget', 'spoof', 'target')
    """
    if isinstance(word, (bool, np.bool_)):
        return "target" if word else "nontarget"
    text = plain_word(str(word))
    if text in SPOOF_WORDS:
        return "spoof"
    if text in TARGET_WORDS or text in NONTARGET_WORDS:
        return "target" if text in TARGET_WORDS else "nontarget"
    raise LabelError(f"unknown kind of trial {word!r}; {KNOWN_KINDS}")
