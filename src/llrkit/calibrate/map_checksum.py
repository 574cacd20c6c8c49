"""What keeps a calibration file from being changed unnoticed: a checksum of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from llrkit._warn import warn_caller
from llrkit.errors import ChangedFileWarning, MapFileError

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
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return f"{_ALGORITHM}:{hashlib.sha256(text.encode()).hexdigest()}"


def with_checksum(content: Mapping[str, object]) -> dict[str, object]:
    """The content of a calibration file, and its checksum."""
    return {**content, CHECKSUM: checksum_of(content)}


def verify(content: object, where: str, *, accept_changed: bool = False) -> None:
    """Refuse content that is not what its checksum was made of; files of older versions have none."""
    if not isinstance(content, dict) or CHECKSUM not in content:
        return
    if content[CHECKSUM] == checksum_of(content):
        return
    if not accept_changed:
        raise MapFileError(
            f"{where}: was changed after it was saved (its checksum does not match); calibrate again, "
            "or take it as it is: --accept-changed, load_map(path, accept_changed=True)"
        )
    warn_caller(f"{where}: was changed after it was saved", ChangedFileWarning)
