"""Numbers as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def spelled(value: Any) -> Any:
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
