"""Operating points however they are given, wherever one is taken."""

import numpy as np
import pytest

import llrkit as lk
from llrkit.theory import GaussianLLR
from llrkit.theory.operating_points import PRESETS

RNG = np.random.default_rng(5)
LABELS = RNG.random(500) < 0.3
SCORES = RNG.normal(np.where(LABELS, 2.0, -2.0), 1.5)
POINT = lk.OperatingPoint(0.01, 10, 1)
SPELLINGS = ["0.01,10,1", " 0.01, 10, 1 ", "1%,10,1", (0.01, 10, 1), [0.01, 10, 1], "sre08", POINT]


@pytest.mark.parametrize("point", SPELLINGS)
def test_every_spelling_of_one_point_wherever_a_point_is_taken(point):
    source = lk.Scores.from_labels(SCORES, LABELS)
    assert (
        lk.min_dcf(source, point=point)
        == lk.min_dcf(SCORES, LABELS, point=point)
        == lk.min_dcf(source, point=POINT)
    )
    assert lk.act_dcf(source, point=point) == lk.act_dcf(source, point=POINT)
    assert lk.c_primary(source, evaluation=point) == lk.act_dcf(source, point=POINT)
    assert lk.evaluate(source, points=[point]).points[0].act_dcf == lk.act_dcf(source, point=POINT)
    assert lk.Meter([point]).points == [point]
    assert lk.operating_point(point).threshold == POINT.threshold
    assert GaussianLLR.from_eer(0.1).act_dcf(point) == GaussianLLR.from_eer(0.1).act_dcf(POINT)


@pytest.mark.parametrize("prior", [0.01, "0.01", "1%", np.float32(0.25), (0.01,)])
def test_a_prior_alone_has_unit_costs(prior):
    point = lk.operating_point(prior)
    assert (point.c_miss, point.c_fa) == (1.0, 1.0)
    assert 0.0 < point.p_target < 0.5


def test_what_is_no_point_is_refused():
    wrong = [3, 0, 1.0, "2", "0.01,10", "0.01;10;1", (0.01, 10), (0.01, 10, 1, 1), None, True, {}, "-0.5"]
    for point in wrong:
        with pytest.raises(lk.InputError):
            lk.min_dcf(SCORES, LABELS, point=point)
    with pytest.raises(lk.errors.UnknownNameError):
        lk.evaluate(SCORES, LABELS, points=["sre99"])
    for points in ((0.01, 10, 1), None):  # costs stand in a list of their own
        with pytest.raises(lk.InputError):
            lk.evaluate(SCORES, LABELS, points=points)
    assert len(lk.evaluate(SCORES, LABELS, points=(0.01, 0.1, 0.5)).points) == 3
    assert lk.evaluate(SCORES, LABELS, points="0.01,10,1").points[0].point.c_miss == 10


def test_presets_of_challenges_against_their_scoring_code():
    """Costs written as the organizers' programs write them: prior, cost of a miss, cost of a false alarm."""
    miss, fa = 0.2, 0.03
    for name, prior, c_miss, c_fa in (
        ("voxceleb", 0.01, 1, 1), ("voxsrc", 0.05, 1, 1), ("asvspoof5", 1 - 0.05, 1, 10)
    ):  # fmt: skip
        cost = c_miss * miss * prior + c_fa * fa * (1 - prior)
        normalized = cost / min(c_miss * prior, c_fa * (1 - prior))
        assert lk.operating_point(name).cost(miss, fa) == pytest.approx(normalized, rel=1e-12)
        assert PRESETS[name].confirmed
    # the threshold of the countermeasure package: -log(Cmiss (1 - Pspoof) / (Cfa Pspoof))
    assert lk.operating_point("asvspoof5").threshold == pytest.approx(-np.log(0.95 / 0.5))


def test_a_result_is_asked_by_the_name_of_a_point():
    result = lk.evaluate(SCORES, LABELS, points=["sre08", "sre12", 0.5])
    for key in SPELLINGS:
        assert result[key] is result.points[0]
        assert result.min_dcf(key) == result.points[0].min_dcf
        assert result.act_dcf(key) == result.points[0].act_dcf
    assert result["sre12"] is result.primary
    assert result.act_dcf("sre12") == lk.c_primary(SCORES, LABELS, evaluation="sre12")
    assert result.min_dcf("sre12") == lk.c_primary(SCORES, LABELS, evaluation="sre12", actual=False)
    assert result[0.5].act_dcf == lk.act_dcf(SCORES, LABELS, point=0.5)
    assert result.min_dcf("voxsrc") == lk.min_dcf(SCORES, LABELS, point="voxsrc"), "the hull knows all points"
    with pytest.raises(lk.errors.UnknownNameError):
        result.act_dcf("voxsrc")
