"""What the numbers are that a map takes: as the training file held them, and how they were read there."""

from __future__ import annotations

import math
from typing import TypedDict, TypeGuard

from llrkit.scores.roles import Roles


class RecordedReading(TypedDict, total=False):
    """How the training scores were read; files of earlier versions say less."""

    score: list[str]
    log10: bool
    distance: bool
    positive: str | None
    calibrated: bool


def is_reading(plain: object) -> TypeGuard[RecordedReading]:
    """Whether something in a calibration file can be this; its values are looked at when they are used."""
    return isinstance(plain, dict)


def reading_of(roles: Roles) -> RecordedReading:
    """How scores were read, as a calibration file records it.

    Arrays, which have no column of labels, have none of scores either: no file is to be searched for one.

    Examples
    --------
    >>> reading_of(Roles(("cosine",), "label", factor=-1.0))
    {'score': ['cosine'], 'log10': False, 'distance': True, 'positive': None, 'calibrated': False}
    """
    return {
        "score": list(roles.score) if roles.label is not None else [],
        "log10": abs(roles.factor) != 1.0,
        "distance": roles.factor < 0.0,
        "positive": roles.positive,
        "calibrated": roles.calibrated,
    }


def input_factor(reading: RecordedReading | None) -> float:
    """What scores as the training file held them are multiplied by before they are mapped.

    Examples
    --------
    >>> input_factor({"distance": True, "log10": False}), input_factor(None)
    (-1.0, 1.0)
    """
    if reading is None:
        return 1.0
    return (math.log(10.0) if reading.get("log10") else 1.0) * (-1.0 if reading.get("distance") else 1.0)
