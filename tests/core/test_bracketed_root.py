"""Roots between two ends, compared with scipy's and with known ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from llrkit.core.numerics import bracketed_root


@pytest.mark.parametrize(
    ("excess", "low", "high"),
    [
        (lambda x: x * x - 2.0, 0.0, 2.0),
        (lambda x: np.exp(x) - 1e-5, -50.0, 150.0),
        (lambda x: np.tanh(x - 3.0), -100.0, 1000.0),
        (lambda x: 1.0 / (1.0 - x) - 1e9 if x < 1.0 else 1e300, 0.0, 1.0),
        (lambda x: np.sign(x - 0.1), -1.0, 1.0),
        (lambda x: np.inf if x > 0.3 else -np.inf, -1.0, 1.0),
    ],
)
def test_the_root_is_scipys(excess, low, high):
    wanted = brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    assert bracketed_root(excess, low, high) == pytest.approx(wanted, rel=1e-14)
    assert bracketed_root(lambda x: -excess(x), low, high) == pytest.approx(wanted, rel=1e-14)


@given(
    root=st.integers(-(10**9), 10**9).map(lambda n: n / 1000.0),
    power=st.sampled_from([1, 3, 9]),
    reach=st.floats(1e-3, 1e6),
)
def test_flat_functions_and_far_ends_do_not_mislead_it(root, power, reach):
    found = bracketed_root(lambda x: ((x - root) / reach) ** power, root - reach, root + 0.7 * reach)
    # where the power underflows, the function is zero around its root
    assert abs(found - root) <= reach * 1e-320 ** (1.0 / power) + 1e-15 * abs(root)


def test_ends_that_are_roots_and_ends_of_one_sign():
    assert bracketed_root(lambda x: x, 0.0, 1.0) == 0.0
    assert bracketed_root(lambda x: x - 1.0, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match=r"no change of sign between 1.0 and 2.0: 1.0, 2.0"):
        bracketed_root(lambda x: x, 1.0, 2.0)
    with pytest.raises(ValueError, match="no change of sign"):
        bracketed_root(lambda x: np.nan, 1.0, 2.0)
