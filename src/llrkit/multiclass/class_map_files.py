"""Calibration files of several classes: the same JSON as for two, with a format name of its own."""

from __future__ import annotations

from pathlib import Path

from llrkit.calibrate.map_files import read_json, saved_from_dict
from llrkit.multiclass import class_map_forms as class_map_forms  # what a file may hold
from llrkit.multiclass.class_map_base import ClassMap


def load_map(path: str | Path, *, accept_changed: bool = False) -> ClassMap:
    """Read a calibration of several classes; a broken one, or one of an unknown version, is refused.

    So is one that was changed after it was saved, which its checksum tells, unless ``accept_changed``.

    Parameters
    ----------
    path
        A calibration file.
    accept_changed
        Load a file that was changed by hand; there is a warning.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from llrkit.multiclass.class_map_forms import ScaleMap
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cal.json"
    >>> ScaleMap(classes=["en", "de"], scales=np.array([2.0]), offsets=np.zeros(2), method="x").save(path)
    >>> load_map(path)
    ScaleMap(x: 2 classes, scale 2)
    """
    return map_from_dict(read_json(path, accept_changed=accept_changed), str(Path(path)))


def map_from_dict(plain: object, where: str = "calibration") -> ClassMap:
    """The map of several classes that ``to_dict`` described."""

    return saved_from_dict(plain, where, ClassMap)  # type: ignore[type-abstract]
