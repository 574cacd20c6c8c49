import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from own_source import OwnSource

import llrkit as lk
from llrkit.base.process import reduce_chunks

RNG = np.random.default_rng(31)
N = 240
VALUES = np.round(RNG.normal(0, 3, N), 1)
LABELS = (VALUES + RNG.normal(0, 3, N) > 1).astype(int)
ROOM = RNG.choice(["kitchen", "hall", "<b>&cellar"], N)
SECONDS = RNG.choice([3, 10, 30], N)
TRIALS = lk.Trials({"score": VALUES, "label": LABELS, "room": ROOM, "seconds": SECONDS})
SCORES = lk.Scores.from_labels(VALUES, LABELS, {"room": ROOM, "seconds": SECONDS})
DEV = lk.Scores([0.5, 1.25, 3.0], [-2.0, 0.75, -0.5, 1.0])


def subset(mask):
    return lk.Scores.from_labels(VALUES[mask], LABELS[mask])


def test_numbers_are_those_of_the_functions():
    result = lk.evaluate(SCORES, points=("sre08", lk.OperatingPoint(0.3, 2, 1)))
    for name in ("eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal", "prbep"):
        assert_allclose(getattr(result, name), getattr(lk.metrics, name)(SCORES), rtol=1e-13)
    assert_allclose(result.det_slope.slope, lk.metrics.det_slope(SCORES).slope, rtol=1e-13)
    for found, point in zip(result.points, ("sre08", lk.OperatingPoint(0.3, 2, 1)), strict=True):
        assert_allclose(found.min_dcf, lk.min_dcf(SCORES, point=point), rtol=1e-13)
        assert_allclose(found.act_dcf, lk.act_dcf(SCORES, point=point), rtol=1e-13)
        assert_allclose(found.p_miss, (SCORES.target < found.point.threshold).mean(), rtol=1e-15)
        assert_allclose(found.p_fa, (SCORES.nontarget >= found.point.threshold).mean(), rtol=1e-15)


def test_primary_only_when_a_preset_averages():
    plain = lk.evaluate(SCORES).to_dict()
    assert "primary" not in plain
    assert "groups" not in plain
    assert lk.evaluate(SCORES).primary is None
    several = lk.evaluate(SCORES, points=("sre16", "sre08", "sre21"))
    assert [p.name for p in several.primaries] == ["sre16", "sre21"]
    assert several.primary is several.primaries[0]
    for primary in several.primaries:
        assert_allclose(primary.act, lk.c_primary(SCORES, evaluation=primary.name), rtol=1e-13)
        assert_allclose(primary.min, lk.c_primary(SCORES, evaluation=primary.name, actual=False), rtol=1e-13)


@pytest.mark.parametrize("points", ["sre08", ["sre08"], ("sre08",)])
def test_points_given_in_several_ways(points):
    assert [p.point.name for p in lk.evaluate(SCORES, points=points).points] == ["sre08"]


def test_one_point_as_an_object():
    point = lk.OperatingPoint(0.2)
    assert [p.point for p in lk.evaluate(SCORES, points=point).points] == [point]
    assert lk.evaluate(SCORES, points=()).points == ()


def test_wrong_points():
    with pytest.raises(lk.errors.UnknownNameError):
        lk.evaluate(SCORES, points=["sre99"])


def assert_same_evaluation(found, wanted):
    a, b = found.to_dict(), wanted.to_dict()
    assert a.keys() == b.keys()
    for key in a:
        if isinstance(a[key], (int, float)):
            assert_allclose(a[key], b[key], rtol=1e-12)
    assert found.points == wanted.points
    for curve in ("roc", "rocch", "bayes_error", "tippett", "pav", "histogram"):
        for field in dataclasses.fields(getattr(found, curve)):
            x, y = (getattr(getattr(e, curve), field.name) for e in (found, wanted))
            assert_array_equal(x, y)


@pytest.mark.parametrize("source", [TRIALS, SCORES], ids=["Trials", "Scores"])
@pytest.mark.parametrize(("column", "values"), [("room", ROOM), ("seconds", SECONDS)])
def test_groups_equal_their_subsets(source, column, values):
    result = lk.evaluate(source, by=column)
    assert list(result.groups) == np.unique(values).tolist()
    for value in np.unique(values).tolist():
        assert_same_evaluation(result.groups[value], lk.evaluate(subset(values == value)))
    assert result.skipped_groups == {}
    assert_allclose(result.eer, lk.eer(SCORES), rtol=1e-15)


class Pieces(OwnSource):
    """Scores in tiny chunks, in which groups come and go."""

    def __init__(self, scores, size):
        self.scores, self.size = scores, size

    def reduce(self, summarize):
        return reduce_chunks(self.scores.chunks(self.size), summarize, threads=2)

    def with_columns(self, *names):
        return Pieces(self.scores.with_columns(*names), self.size)


def test_groups_from_chunks():
    result, whole = lk.evaluate(Pieces(SCORES, 7), by="room"), lk.evaluate(SCORES, by="room")
    assert set(result.groups) == set(whole.groups)
    for name in whole.groups:
        assert_same_evaluation(result.groups[name], whole.groups[name])


def test_groups_from_chunks_stay_in_the_order_of_the_values():
    order = np.argsort(SECONDS)[::-1]  # the largest value comes first
    scores = lk.Scores.from_labels(VALUES[order], LABELS[order], {"seconds": SECONDS[order]})
    assert list(lk.evaluate(Pieces(scores, 9), by="seconds").groups) == [3, 10, 30]


def test_groups_whose_grid_was_dropped_on_the_way(monkeypatch):
    whole = lk.evaluate(SCORES, by="room")
    monkeypatch.setenv("LLRKIT_AT_ONCE", "8")  # one score
    result = lk.evaluate(Pieces(SCORES, 9), by="room")
    for name in whole.groups:
        assert_same_evaluation(result.groups[name], whole.groups[name])


def test_group_with_an_empty_class_is_skipped_with_the_reason():
    trials = lk.Trials({"score": [1.0, 2.0, 3.0, 4.0], "label": [0, 1, 1, 1], "g": ["a", "a", "b", None]})
    result = lk.evaluate(trials, by="g")
    assert list(result.groups) == ["a"]
    assert set(result.skipped_groups) == {"b", None}
    assert "no nontarget trials" in result.skipped_groups["b"]
    assert set(result.to_dict()["skipped_groups"]) == {"b", "None"}


def test_unknown_group_column():
    for source in (TRIALS, SCORES):
        with pytest.raises(lk.errors.UnknownNameError):
            lk.evaluate(source, by="color")


def test_threshold_from_development_data():
    result = lk.evaluate(SCORES, threshold_from=DEV)
    threshold = lk.metrics.eer_threshold(DEV)
    assert result.fixed.threshold == threshold
    assert_allclose(result.fixed.p_miss, (SCORES.target < threshold).mean())
    assert_allclose(result.fixed.p_fa, (SCORES.nontarget >= threshold).mean())
    assert_allclose(result.fixed.hter, lk.metrics.hter(SCORES, dev=DEV), rtol=1e-15)
    plain = result.to_dict()["fixed_threshold"]
    assert set(plain) == {"threshold", "p_miss", "p_fa", "hter"}
    assert "HTER" in repr(result)
    assert lk.evaluate(SCORES).fixed is None


def test_result_is_frozen():
    result = lk.evaluate(SCORES, by="room")
    for name in ("eer", "groups", "anything"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, name, 0)
    with pytest.raises(TypeError):
        result.groups["x"] = result


def test_html_is_escaped():
    point = lk.OperatingPoint(0.1, name="<script>alert('x')</script> & co")
    html = lk.evaluate(SCORES, points=[point])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&amp; co" in html
    assert html.count("<tr>") == html.count("</tr>") == 10
    assert "EER" in html


def gaussian_llrs(shift=0.0, scale=1.0):
    rng = np.random.default_rng(3)
    # calibrated by construction: means +-mu, variance 2 mu
    mu, sd = 3.0, math.sqrt(6.0)
    return lk.Scores(scale * rng.normal(mu, sd, 4000) + shift, scale * rng.normal(-mu, sd, 4000) + shift)


def test_sentence_adds_up():
    result = lk.evaluate(gaussian_llrs(shift=2.0))
    share = 100 * result.cllr_cal / result.cllr
    assert (
        f"Of Cllr = {result.cllr:.4f} bits, {result.min_cllr:.4f} are lost to discrimination"
        in result.sentence
    )
    assert f"and {result.cllr_cal:.4f} ({share:.0f} %) to calibration" in result.sentence


def test_infinite_results_are_infinite_not_nan():
    plain = lk.evaluate(lk.Scores([-np.inf, 2.0], [0.0, np.inf])).to_dict()
    assert plain["cllr"] == plain["cllr_cal"] == math.inf
    assert 0 < plain["min_cllr"] <= 1
    assert "inf" in repr(lk.evaluate(lk.Scores([-np.inf, 2.0], [0.0, np.inf])))
