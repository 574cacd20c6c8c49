"""Which trials are targets: booleans, 0/1, -1/1, and the usual words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.errors import InputError, LabelError

TARGET_WORDS = frozenset(
    {"target", "tgt", "tar", "true", "t", "1", "1.0", "genuine", "client", "bonafide", "bona-fide", "same",
     "same-source", "mated", "positive"}
)  # fmt: skip
NONTARGET_WORDS = frozenset(
    {"nontarget", "non-target", "non", "imp", "impostor", "imposter", "false", "f", "0", "0.0", "-1", "-1.0",
     "spoof", "different", "diff", "different-source", "non-mated", "nonmated", "negative"}
)  # fmt: skip
ACCEPTED = "bool, 0/1, -1/1, or words like target/nontarget, genuine/impostor, bonafide/spoof, same/different"


def classify_words(words: list[str]) -> list[bool | None]:
    """For each distinct label whether it means target; ``None`` for a word that is not known.

    Examples
    --------
    >>> classify_words(["target", "imp", "maybe"])
    [True, False, None]
    """
    known = dict.fromkeys(TARGET_WORDS, True) | dict.fromkeys(NONTARGET_WORDS, False)
    return [known.get(word.strip().lower()) for word in words]


def _not_two_classes(seen: list[Any], where: str) -> LabelError:
    shown = ", ".join(repr(value) for value in seen[:5]) + (", ..." if len(seen) > 5 else "")
    return LabelError(f"labels are not two classes{where}: saw {shown}; accepted are {ACCEPTED}")


def target_mask(labels: Any) -> npt.NDArray[np.bool_]:
    """A boolean array that says which trials are targets.

    Examples
    --------
    >>> target_mask(["target", "nontarget"])
    array([ True, False])
    >>> target_mask([0, 1, 2])
    Traceback (most recent call last):
    llrkit.errors.LabelError: labels are not two classes (first at index 2): saw 0, 1, 2; ...
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise InputError(f"labels must be one-dimensional, got shape {array.shape}")
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
    words, inverse = np.unique(array.astype(str), return_inverse=True)
    meaning = classify_words([str(word) for word in words])
    if None in meaning:
        first = int(np.argmax(inverse == meaning.index(None)))
        raise _not_two_classes([str(word) for word in words], f" (first at index {first})")
    return np.asarray([bool(value) for value in meaning])[inverse]
