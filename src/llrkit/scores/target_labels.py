"""Which trials are targets: booleans, 0/1, -1/1, and the usual words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit._warn import warn_caller
from llrkit.errors import InputError, LabelError, PooledClassesWarning
from llrkit.scores.arrays_of_other_libraries import flat_labels

TARGET_WORDS = frozenset(
    {"target", "tgt", "tar", "true", "t", "1", "1.0", "genuine", "client", "bonafide", "bona-fide", "same",
     "same-source", "same-speaker", "ss", "mated", "positive", "known-target", "real", "live", "yes", "h1",
     "hp", "h-p", "km", "match", "mate", "human", "pos", "authentic"}
)  # fmt: skip
NONTARGET_WORDS = frozenset(
    {"nontarget", "non-target", "non", "imp", "impostor", "imposter", "false", "f", "0", "0.0", "-1", "-1.0",
     "spoof", "spoofed", "different", "diff", "different-source", "different-sources", "different-speaker",
     "different-speakers", "ds", "non-mated", "nonmated", "negative", "known-nontarget", "unknown-nontarget",
     "known-non-target", "unknown-non-target", "fake", "attack", "no", "h2", "hd", "knm",
     "non-match", "nonmatch", "mismatch", "nonmate", "non-mate", "deepfake", "neg", "h-d"}
)  # fmt: skip
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
    known = dict.fromkeys(TARGET_WORDS, True) | dict.fromkeys(NONTARGET_WORDS, False)
    return [known.get(re.sub(r"[ _]+", "-", word.strip().lower())) for word in words]


def pooled_words(words: Iterable[str]) -> str | None:
    """Which words are taken together as one class, if more than two kinds of label occur; else None.

    Examples
    --------
    >>> pooled_words(["target", "nontarget", "spoof"])
    "'nontarget' and 'spoof' both count as non-target"
    >>> pooled_words(["Target", "target", "imp"])
    """
    distinct = sorted({word.strip().lower().removesuffix(".0") for word in words})
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


def target_mask(labels: object, positive: object = None) -> npt.NDArray[np.bool_]:
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
    if positive is not None:
        return _equal_to_label(array, positive)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind in "iuf":
        is_target = array == 1
        bad = ~(is_target | (array == 0) | (array == -1))
        if bad.any() or ((array == 0).any() and (array == -1).any()):
            seen = [value.item() for value in np.unique(array)[:6]]
            where = f" (first at index {int(np.argmax(bad))})" if bad.any() else ""
            raise _not_two_classes(seen, where)
        return np.asarray(is_target)
    distinct, inverse = np.unique(array.astype(str), return_inverse=True)
    words = [str(word) for word in distinct]
    meaning = classify_words(words)
    if None in meaning:
        first = int(np.argmax(inverse == meaning.index(None)))
        raise _not_two_classes(words, f" (first at index {first})")
    warn_of_pooled(words, "labels")
    return np.asarray([bool(value) for value in meaning])[inverse]


def _equal_to_label(array: Array, positive: object) -> npt.NDArray[np.bool_]:
    is_target = np.asarray(array == positive)
    if not is_target.any():
        seen = ", ".join(repr(value) for value in np.unique(array).tolist()[:6])
        raise LabelError(f"no label is {positive!r} (positive=); there are: {seen}")
    return is_target


def holds_words(given: object) -> bool:
    """Whether an array is made of words that are no numbers.

    Examples
    --------
    >>> holds_words(["target", "nontarget"]), holds_words(["0.5", "1e3"]), holds_words([0.5, 1.0])
    (True, False, False)
    """
    words = [word for word in np.ravel(np.asarray(given, dtype=object)).tolist() if isinstance(word, str)]
    return bool(words) and all(_is_word_label(word) for word in words)


def _is_word_label(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return True
    return False


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
    if values.ndim != 1 or len(values) != len(scores) or not _are_two_values(values[:FIRST]):
        return False
    boolean = getattr(given, "dtype", None) == np.bool_ or (
        isinstance(given, (list, tuple)) and all(isinstance(value, (bool, np.bool_)) for value in given)
    )
    if not boolean and (len(values) < 3 or not _are_two_values(values) or values.min() == values.max()):
        return False
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
