"""When two summaries are the same."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from llrkit.core.summaries import SummaryBase


def assert_same(a, b, exact=False):
    """The same summary: whole numbers and extremes to the bit, sums to 1e-12."""
    if not exact and isinstance(a, (int, float)):
        a, b = float(a), float(b)
    assert type(a) is type(b)
    if isinstance(a, SummaryBase):
        for name in a.__dataclass_fields__:
            assert_same(getattr(a, name), getattr(b, name), exact)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key], exact)
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y, exact)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if exact or a.dtype.kind == "i":
            assert_array_equal(a, b)
        else:
            assert_allclose(a, b, rtol=1e-12, atol=1e-11)
    elif exact or not isinstance(a, float):
        assert a == b
    else:
        assert_allclose(a, b, rtol=1e-12, atol=1e-12)
