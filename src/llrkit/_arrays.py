"""The array types that the signatures of all rooms name."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.signedinteger]  # counts (int64) and positions (intp)
BoolArray = npt.NDArray[np.bool_]
Counts = Array  # int64, or float64 once weighted
