"""The weighted mean of maps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import reloaded

import llrkit as lk
from llrkit.maps.composite import MeanMap

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")


def training(sign=1.0):
    rng = np.random.default_rng(5)
    return lk.Scores(sign * rng.normal(2, 1, 300), sign * rng.normal(0, 1, 900))


def mean_of(*names, sign=1.0):
    maps = {name: getattr(lk.fits, f"fit_{name}")(training(sign)) for name in names}
    return MeanMap(maps=maps, weights=dict.fromkeys(names, 1 / len(names)), method="blend")


MEMBERS = [("cmlg", "logistic"), ("cmlg", "kde"), ("nig", "saturating"), ("logistic", "pav", "bigaussian")]


# PAV goes up or not at all, also where the scores are reversed
@pytest.mark.parametrize(
    ("names", "sign"),
    [
        *((names, 1.0) for names in MEMBERS),
        *(pytest.param(names, -1.0, marks=pytest.mark.slow) for names in MEMBERS[:3]),
    ],
)
def test_inverse(names, sign):
    mean = mean_of(*names, sign=sign)
    assert mean.direction == sign
    x = np.linspace(-0.5, 2.5, 31)
    assert_allclose(mean(mean.inverse(mean(sign * x))), mean(sign * x), rtol=1e-9, atol=1e-9)
    assert_array_equal(reloaded(mean.inverse)(x), mean.inverse(x))
    assert mean.inverse.inverse is mean


def test_no_inverse_where_maps_disagree():
    up, down = lk.maps.AffineMap(a=1.0, b=0.0), lk.maps.AffineMap(a=-0.5, b=0.0)
    mean = MeanMap(maps={"up": up, "down": down}, weights={"up": 0.5, "down": 0.5})
    with pytest.raises(lk.errors.NotInvertibleError):
        _ = mean.inverse
    assert mean(2.0) == 0.5
    assert_array_equal(mean([-np.inf, np.inf]), [0.0, 0.0])


def test_infinite_scores():
    assert_array_equal(mean_of("cmlg", "kde")([-np.inf, np.inf]), [-np.inf, np.inf])


@pytest.mark.parametrize("names", MEMBERS)
def test_the_mean_never_costs_more_than_its_maps_do_on_average(names):
    mean, new = mean_of(*names), lk.Scores([0.1, 1.0, -3.0, 4.0], [-1.0, 0.0, 2.5, 5.0])
    assert lk.cllr(mean.on(new)) <= np.mean([lk.cllr(fitted.on(new)) for fitted in mean.maps.values()])


@pytest.mark.parametrize(
    "weights",
    [{"one": 0.5, "two": 0.6}, {"one": 1.5, "two": -0.5}, {"one": 1.0}, {"one": 0.5, "two": "half"}],
)
def test_weights_that_make_no_mean_are_refused(weights):
    line = lk.maps.AffineMap(a=1.0, b=0.0)
    with pytest.raises(lk.InputError):
        MeanMap(maps={"one": line, "two": line}, weights=weights)
