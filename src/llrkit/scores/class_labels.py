"""Names of classes, and labels as places among them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit.errors import InputError, LabelError

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


def class_codes(labels: object, classes: tuple[str, ...]) -> npt.NDArray[np.intp]:
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
    if array.dtype.kind in "iub" and not any(_is_number_label(name) for name in classes):
        return _places_of_labels(array, classes)
    if array.dtype.kind == "O":
        missing = [i for i, label in enumerate(array) if label is None or label != label]
        if missing:
            raise LabelError(f"there is no label at index {missing[0]}")
        array = np.array([_label_as_text(label) for label in array], dtype=object)
        distinct, inverse = np.unique(array.astype(str), return_inverse=True)
    else:
        distinct, inverse = np.unique(array, return_inverse=True)
        if array.dtype.kind == "f" and np.isnan(distinct).any():
            raise LabelError(f"there is no label at index {int(np.argmax(np.isnan(array)))}")
    known = {name: i for i, name in enumerate(classes)}
    codes = np.array([known.get(_label_as_text(label), -1) for label in distinct], dtype=np.intp)[
        inverse.ravel()
    ]
    if len(codes) and codes.min() < 0:
        at = int(np.argmax(codes < 0))
        raise LabelError(
            f"unknown class {_label_as_text(array[at])!r} at index {at}; the classes are {listed(classes)}"
        )
    return np.asarray(codes, dtype=np.intp)


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


def _places_of_labels(array: Array, classes: tuple[str, ...]) -> npt.NDArray[np.intp]:
    codes = array.astype(np.intp)
    bad = (codes < 0) | (codes >= len(classes))
    if bad.any():
        at = int(np.argmax(bad))
        raise LabelError(
            f"label {array[at]} at index {at}: there are {len(classes)} classes, numbered from 0"
        )
    return codes


def _label_as_text(name: object) -> str:
    value = name.item() if isinstance(name, np.generic) else name
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _is_number_label(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
