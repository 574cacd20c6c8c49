"""Bounds: values printed by LiR, brute force, and what bounded maps must do."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import Pieces, reloaded

import llrkit as lk

LN10 = math.log(10.0)
LOG10 = lk.maps.AffineMap(a=LN10, b=0.0, method="log10")
INF = math.inf

SETS = {  # log10 LRs: targets, non-targets
    "one each": ([INF], [-INF]),
    "three each": ([INF] * 3, [-INF] * 3),
    "bad": ([-2, -1, 0], [1, 2]),
    "good 1": ([0, 1, 2], [-2, -1]),
    "good 2": ([1, 2], [-2, -1, 0]),
    "neutral": ([0], [0]),
    "all ten": ([1] * 9, [1]),
    "ten and one": ([1] * 10, [0]),
    "thousand": ([3] * 10, [math.log10(1.1)]),
    "breath": ([math.log10(1000)] * 90 + [math.log10(0.101)] * 10,
               [math.log10(0.101)] * 990 + [math.log10(1000)] * 10),
}  # fmt: skip


def found(bounded):
    return bounded.details["low_log10"], bounded.details["high_log10"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one each", (1, 1)), ("three each", (0.3388442, 2.9512092)), ("bad", (1, 1)),
        ("good 1", (0.3801894, 1.4791084)), ("good 2", (0.6760830, 2.6302680)), ("neutral", (1, 1)),
        ("all ten", (1, 1)), ("ten and one", (1, 1.7782794)), ("thousand", (1, 1)),
        ("breath", (0.1122018, 79.4328235)),
    ],
)  # fmt: skip
def test_elub_against_lir(name, expected):
    bounded = lk.maps.bound_elub(LOG10, lk.Scores(*SETS[name]))
    assert_allclose(10.0 ** np.array(found(bounded)), expected, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one each", (-0.477, 0.477)), ("three each", (-0.845, 0.845)), ("bad", (0, 0)),
        ("good 1", (-0.823, 0.574)), ("good 2", (-0.574, 0.823)), ("neutral", (0, 0)),
        ("all ten", (0, 0.102)), ("ten and one", (0, 0.581)), ("thousand", (0, 0.581)),
    ],
)  # fmt: skip
def test_invariance_against_lir(name, expected):
    assert_allclose(found(lk.maps.bound_invariance(LOG10, lk.Scores(*SETS[name]))), expected, atol=1e-9)


def test_invariance_of_cartridge_cases_against_lir(shared):
    folder = shared / "data" / "nfi_cartridge_llr"
    scores = lk.Scores(np.loadtxt(folder / "LLR_KM.csv"), np.loadtxt(folder / "LLR_KNM.csv"))
    bounded = lk.maps.bound_invariance(LOG10, scores, thresholds=np.arange(-2, 3, 0.001))
    assert_allclose(found(bounded), np.log10([0.1412538, 38.1944271]), atol=1e-7)
    # and near the same with the multiples of the step
    assert_allclose(
        found(lk.maps.bound_invariance(LOG10, scores)), np.log10([0.1412538, 38.1944271]), atol=1.5e-3
    )


def test_invariance_with_given_thresholds_against_lir():
    rng = np.random.RandomState(42)  # the printed value was made with it
    scores = lk.Scores(np.log10(np.exp(rng.normal(1, 1, 100))), np.log10(np.exp(rng.normal(0, 1, 1000))))
    bounded = lk.maps.bound_invariance(LOG10, scores, thresholds=np.arange(-2, 3, 0.001))
    assert_allclose(found(bounded), np.log10([0.2382319, 2.7861212]), atol=1e-7)


def test_invariance_when_only_the_first_threshold_fails():
    # above 0 nothing can be said: the bound is 0 and not, as by an index of -1, the last threshold
    scores = lk.Scores([2.0, 3.0], [-1.0, 2.5])
    bounded = lk.maps.bound_invariance(LOG10, scores, thresholds=[1.0])
    assert found(bounded)[1] == 0.0


def elub_by_hand(target, nontarget, step=0.01):
    """Every threshold on its own, with one misleading trial on each side and no memory of the last one."""
    good = {}
    for k in range(-400, 401):
        theta = 10.0 ** (k * step)
        miss = (sum(x <= k * step for x in target) + 1) / (len(target) + 1)
        fa = (sum(x > k * step for x in nontarget) + 1) / (len(nontarget) + 1)
        good[k] = miss + theta * fa <= min(1.0, theta)
    low = high = 0
    while good[0] and good[low - 1]:
        low -= 1
    while good[0] and good[high + 1]:
        high += 1
    return low * step, high * step


def test_elub_against_brute_force():
    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(1.5, 1.2, 60), rng.normal(-1.5, 1.2, 90)
    low, high = elub_by_hand(target, nontarget)
    bounded = lk.maps.bound_elub(LOG10, lk.Scores(target, nontarget))
    assert_allclose(found(bounded), (low, high), atol=1e-9)
    assert -math.log10(61) <= low < 0 < high <= math.log10(91)


@pytest.mark.parametrize("n", [3, 30, 1000])
def test_elub_of_separated_data_against_theory(n):
    bounded = lk.maps.bound_elub(LOG10, lk.Scores(np.full(n, 8.0), np.full(n, -8.0)))
    assert_allclose(found(bounded), (-math.log10(n), math.log10(n)), atol=0.0101)
    more = lk.maps.bound_elub(LOG10, lk.Scores(np.full(n, 8.0), np.full(n, -8.0)), misleading=2)
    assert more.high < bounded.high


def test_bounded_maps_clip_save_and_refuse_an_inverse():
    rng = np.random.default_rng(1)
    scores = lk.Scores(rng.normal(3, 1, 500), rng.normal(0, 1, 800))
    fitted, new = lk.fit_cmlg(scores), np.linspace(-9, 12, 301)
    made = [
        lk.maps.bound_elub(fitted, scores),
        lk.maps.bound_invariance(fitted, scores),
        lk.maps.bound_sources(fitted, 50),
        lk.maps.bound_fixed(fitted, -1.0, 2.5),
    ]
    for bounded in made:
        assert_array_equal(bounded(new), np.clip(fitted(new), bounded.low, bounded.high))
        assert bounded(new).min() == bounded.low < -0.5
        assert bounded(new).max() == bounded.high > 0.5
        assert_array_equal(reloaded(bounded)(new), bounded(new))
        assert bounded.provenance == fitted.provenance
        assert bounded.method.startswith("cmlg+")
        with pytest.raises(lk.errors.NotInvertibleError):
            _ = bounded.inverse
    assert_allclose([made[2].low, made[2].high], [-math.log(51), math.log(51)])


def test_same_bounds_from_pieces():
    rng = np.random.default_rng(2)
    scores = lk.Scores(rng.normal(3, 1, 500), rng.normal(0, 1, 800))
    for bound in (lk.maps.bound_elub, lk.maps.bound_invariance):
        pieces = Pieces(scores)
        assert found(bound(LOG10, pieces)) == found(bound(LOG10, scores))
        assert len(pieces.passes) == 2


def test_bounds_do_not_change_when_scores_are_moved():
    rng = np.random.default_rng(2)
    scores = lk.Scores(rng.normal(3, 1, 500), rng.normal(0, 1, 800))
    other = lk.Scores(4 * scores.target - 2, 4 * scores.nontarget - 2)
    for bound in (lk.maps.bound_elub, lk.maps.bound_invariance):
        assert found(bound(lk.fit_cmlg(scores), scores)) == found(bound(lk.fit_cmlg(other), other))
    # classes and signs exchanged: the invariance bounds change places
    turned = lk.Scores(-scores.nontarget, -scores.target)
    low, high = found(lk.maps.bound_invariance(lk.fit_cmlg(scores), scores))
    assert_allclose(found(lk.maps.bound_invariance(lk.fit_cmlg(turned), turned)), (-high, -low), atol=1e-9)


def test_bad_input():
    scores = lk.Scores([1.0], [0.0])
    for low, high in ((1.0, 2.0), (-1.0, -0.5), (math.nan, 1.0), ("a", 1.0)):
        with pytest.raises(lk.InputError):
            lk.maps.bound_fixed(LOG10, low, high)
    for n in (0, 1.5, "many"):
        with pytest.raises(lk.InputError):
            lk.maps.bound_sources(LOG10, n)
    for options in ({"misleading": 0}, {"step": 0.0}):
        with pytest.raises(lk.InputError):
            lk.maps.bound_elub(LOG10, scores, **options)
    for thresholds in ([], [1.0, 0.0], [0.0, INF], [[0.0]]):
        with pytest.raises(lk.InputError):
            lk.maps.bound_invariance(LOG10, scores, thresholds=thresholds)
