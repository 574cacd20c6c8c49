"""Numbers as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union, overload

Json: TypeAlias = Union[bool, int, float, str, Sequence["Json"], Mapping[str, "Json"], None]  # noqa: UP007
"""What JSON holds: the values of every ``to_dict``."""


@overload
def spelled(value: Mapping[str, Json]) -> dict[str, Json]: ...
@overload
def spelled(value: Json) -> Json: ...
def spelled(value: Json) -> Json:
    """Infinities as the strings "inf" and "-inf", NaN as null: JSON has none of them.

    Examples
    --------
    >>> spelled({"cllr": float("inf"), "slope": float("nan"), "eer": [0.1]})
    {'cllr': 'inf', 'slope': None, 'eer': [0.1]}
    """
    if isinstance(value, Mapping):
        return {str(key): spelled(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [spelled(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
