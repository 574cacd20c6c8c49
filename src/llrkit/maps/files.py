"""Calibration files: maps as JSON with a checksum."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, TypeVar, cast

import numpy as np

from llrkit._version import __version__
from llrkit.base.files import file_sha256, write_atomically
from llrkit.base.process import warn_caller
from llrkit.base.text import Json
from llrkit.core.summaries import subclasses_of
from llrkit.errors import ChangedFileWarning, MapFileError
from llrkit.maps.map import Map, RecordedReading, SavedMap

CHECKSUM = "checksum"
_ALGORITHM = "sha256"


def checksum_of(content: Mapping[str, object]) -> str:
    """The checksum of what a calibration file holds, however it is laid out; that of a checksum is left out.

    Examples
    --------
    >>> checksum_of({"kind": "affine", "a": 1.5})[:20]
    'sha256:6d9b0076690f2'
    >>> checksum_of({"a": 1.5, "checksum": "", "kind": "affine"})[:20]
    'sha256:6d9b0076690f2'
    """
    rest = {name: value for name, value in content.items() if name != CHECKSUM}
    # sorted and without spaces, so a file that was only laid out differently keeps its checksum
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return f"{_ALGORITHM}:{hashlib.sha256(text.encode()).hexdigest()}"


M = TypeVar("M", bound=SavedMap)
# limits for files from others: int() of very long digits and
# recursion into deep brackets are attacks on time and stack
_MOST_DIGITS, _DEEPEST = 300, 100


def map_to_dict(fitted: SavedMap) -> dict[str, Json]:
    """A map as plain numbers, strings, lists and dicts."""
    return {
        "format": fitted.format,
        "kind": fitted.kind,
        "method": fitted.method,
        "options": _plain_parameter(fitted.options),
        "parameters": {name: _plain_parameter(value) for name, value in fitted.parameters().items()},
        "details": _plain_parameter(fitted.details),
        "provenance": _plain_parameter({"llrkit": __version__, **fitted.provenance}),
        "reading": _plain_parameter(fitted.reading),
        **({} if fitted.densities is None else {"densities": fitted.densities}),
    }


def map_from_dict(plain: object, where: str = "calibration") -> Map:
    """The map that ``to_dict`` described; anything broken is named.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> map_from_dict(AffineMap(a=2.0, b=1.0, method="cmlg").to_dict())
    AffineMap(cmlg: llr = 2 * score +1)
    """
    _import_all_maps()
    return saved_from_dict(plain, where, Map)  # type: ignore[type-abstract]


def saved_from_dict(plain: object, where: str, base: type[M]) -> M:
    """What ``to_dict`` described, of any subclass of ``base`` that was imported."""
    family = base.format.rpartition("/")[0] + "/"
    file_format = str(plain.get("format", "")) if isinstance(plain, dict) else ""
    # asked first, because a file of several classes deserves a better answer than "not a calibration file"
    if file_format.startswith("llrkit.class_map/") and not file_format.startswith(family):
        raise MapFileError(
            f"{where}: a calibration of several classes; read it with llrkit.multiclass.load_map"
        )
    if not isinstance(plain, dict) or not file_format.startswith(family):
        raise MapFileError(f'{where}: not a calibration file of llrkit (no "format": "{base.format}")')
    if file_format not in (base.format, *base.older_formats):
        raise MapFileError(
            f"{where}: format {file_format!r} is not known to this version, which reads {base.format!r}"
        )
    # found among the subclasses; there is no registry to keep up to date
    kinds = {cls.kind: cls for cls in subclasses_of(base) if cls.kind}
    kind = kinds.get(str(plain.get("kind", "")))
    if kind is None:
        raise MapFileError(
            f"{where}: unknown kind {plain.get('kind')!r}; known are {', '.join(sorted(kinds))}"
        )
    parameters = plain.get("parameters")
    if not isinstance(parameters, dict):
        raise MapFileError(f'{where}: "parameters" are missing')
    shared = {item.name for item in fields(SavedMap)}
    names = {item.name for item in fields(kind)} - shared
    # neither a missing nor an unknown parameter is guessed
    if set(parameters) != names:
        wrong = sorted(set(parameters) ^ names)
        raise MapFileError(f"{where}: a {kind.kind} map has the parameters {sorted(names)}; wrong: {wrong}")
    objects = {name: plain.get(name, {}) for name in ("options", "details", "provenance")}
    if not all(isinstance(value, dict) for value in objects.values()) or not isinstance(
        plain.get("method"), str
    ):
        raise MapFileError(f"{where}: method must be text, and options, details and provenance objects")
    for name in ("options", "details"):
        # only options and details had names in British spelling
        objects[name] = {_SPELLED_BEFORE.get(key, key): value for key, value in objects[name].items()}
    for name in ("reading", "densities"):  # their values are looked at when used
        if not isinstance(plain.get(name), (dict, type(None))):
            raise MapFileError(f'{where}: "{name}" must be an object')
    try:
        own: dict[str, Any] = {
            name: _parameter_from_plain(value, f"{where}: {name}", base) for name, value in parameters.items()
        }
        fitted = kind(
            method=plain["method"],
            options=_object_from_plain(objects["options"], f"{where}: options", base),
            details=_object_from_plain(objects["details"], f"{where}: details", base),
            provenance=_object_from_plain(objects["provenance"], f"{where}: provenance", base),
            reading=cast(RecordedReading | None, plain.get("reading")),
            densities=plain.get("densities"),
            **own,
        )
        _check_map_parameters(fitted)
    except MapFileError:
        raise
    # whatever broken content raises inside a constructor becomes one error that names the file
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise MapFileError(
            f"{where}: the parameters do not make a map of kind {kind.kind!r} ({error})"
        ) from None
    return fitted


def _object_from_plain(value: object, where: str, base: type[SavedMap]) -> Mapping[str, object]:
    held = _parameter_from_plain(value, where, base)
    if not isinstance(held, Mapping):
        raise MapFileError(f"{where} must be an object")
    return held


def _check_map_parameters(fitted: SavedMap) -> None:
    """Parameters of the wrong type or shape fail here, not in the middle of a long run."""
    for item in fields(fitted):
        value = getattr(fitted, item.name)
        if item.type == "float" and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ValueError(f"{item.name} is {value!r}, not a number")
    for name, value in fitted.parameters().items():
        _refuse_not_finite(name, value, infinite=name in fitted.may_be_infinite)
    # a map that cannot be used fails on reading, not in the middle of a run
    fitted.try_out()


def _refuse_not_finite(name: str, value: object, *, infinite: bool) -> None:
    if isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f":
        if np.isnan(value).any():
            raise ValueError(
                f"{name} is NaN, not a number" if isinstance(value, float) else f"{name} holds NaN"
            )
        if not infinite and np.isinf(value).any():
            raise ValueError(f"{name} is not finite")
    elif isinstance(value, (Mapping, list, tuple)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            _refuse_not_finite(name, inner, infinite=infinite)


def save_map(fitted: SavedMap, path: str | Path) -> None:
    """Write a calibration file: to a temporary file first, then renamed."""
    content = map_to_dict(fitted)
    content = {**content, CHECKSUM: checksum_of(content)}
    # allow_nan=False: infinities were turned into words, so a bare NaN would be a fault of ours
    write_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def load_map(path: str | Path, *, accept_changed: bool = False) -> Map:
    """Read a calibration file; a broken one or one of an unknown version is refused with the reason.

    So is one that was changed after it was saved, which its checksum tells, unless ``accept_changed``.

    Parameters
    ----------
    path
        A calibration file.
    accept_changed
        Load a file that was changed by hand; there is a warning.
    """
    loaded = map_from_dict(read_json(path, accept_changed=accept_changed), str(Path(path)))
    return replace(loaded, loaded_from=name_of_map(path))


def name_of_map(path: str | Path) -> str:
    """What a calibration file is called in the column ``llr_map`` of its LLRs: its name and its hash."""
    return f"{Path(path).name} {file_sha256(path)[:12]}"


def read_json(path: str | Path, *, accept_changed: bool = False) -> object:
    """What a calibration file holds, before it is looked at; it must be what was saved."""
    file = Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_int=_whole_number_in_map)
        _refuse_deep_json(content)
    except FileNotFoundError:
        raise MapFileError(f"{file}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise MapFileError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    except (ValueError, RecursionError) as error:  # also of a number that is too long
        raise MapFileError(f"{file}: not JSON of a calibration ({error})") from None
    # files of older versions have no checksum; it is of the content as parsed, whatever its layout
    if isinstance(content, dict) and content.get(CHECKSUM, checksum_of(content)) != checksum_of(content):
        if not accept_changed:
            raise MapFileError(
                f"{file}: was changed after it was saved (its checksum does not match); calibrate again, "
                "or take it as it is: --accept-changed, load_map(path, accept_changed=True)"
            )
        warn_caller(f"{file}: was changed after it was saved", ChangedFileWarning)
    return content


def _whole_number_in_map(digits: str) -> int:
    """A whole number that is also a floating-point number, as all numbers of a calibration are."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


# level by level without recursion, which is what deep brackets would break
def _refuse_deep_json(content: object) -> None:
    level, depth = [content], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels of brackets")
        inside = [item for item in level if isinstance(item, (dict, list))]
        level = [child for item in inside for child in (item.values() if isinstance(item, dict) else item)]


@cache
def _import_all_maps() -> None:
    """Import every module that may define a map; once is enough, also for a file with many maps in it."""
    for room in ("llrkit.maps", "llrkit.fits"):  # fits knows maps, so maps finds fits by name
        for module in walk_packages(import_module(room).__path__, f"{room}."):
            import_module(module.name)


def _plain_parameter(value: object) -> Json:
    if isinstance(value, SavedMap):
        return map_to_dict(value)
    if isinstance(value, np.ndarray):
        numbers = _plain_parameter(value.tolist())
        return {"array": numbers, "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, Mapping):
        # keys that are no text, or that mean something else here, are written as pairs
        if not all(isinstance(key, str) for key in value) or _RESERVED & set(value):
            return {"items": [[_plain_parameter(k), _plain_parameter(v)] for k, v in value.items()]}
        return {key: _plain_parameter(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_parameter(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    # text that reads like a number that is not finite is marked, or it would come back as that number
    if isinstance(value, str) and value in _NONFINITE:
        return {"text": value}
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a calibration file cannot hold a {type(value).__name__}")


_SPELLED_BEFORE = {"regularisation": "regularization", "n_labelled": "n_labeled"}
"""Names of options and details in files of earlier versions, and what they are called now."""
_RESERVED = {"format", "array", "dtype", "shape", "items", "text"}
_NONFINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _parameter_from_plain(value: object, where: str, base: type[SavedMap]) -> object:
    if isinstance(value, dict):
        if "format" in value:
            return saved_from_dict(value, where, base)
        if set(value) == {"array", "dtype", "shape"}:
            # only types that maps hold: a dtype from a file is not handed to NumPy unchecked
            if value["dtype"] not in ("float64", "int64", "bool"):
                raise MapFileError(f"{where}: array of {value['dtype']!r}")
            return np.array(_parameter_from_plain(value["array"], where, base), dtype=value["dtype"]).reshape(
                value["shape"]
            )
        if set(value) == {"text"}:
            return value["text"]
        if set(value) == {"items"}:
            return {
                _parameter_from_plain(k, where, base): _parameter_from_plain(v, where, base)
                for k, v in value["items"]
            }
        return {key: _parameter_from_plain(item, where, base) for key, item in value.items()}
    if isinstance(value, list):
        return [_parameter_from_plain(item, where, base) for item in value]
    return _NONFINITE.get(value, value) if isinstance(value, str) else value
