"""Criteria that trials decide, and those that they do not."""

import numpy as np
import pytest

import llrkit as lk

MODEL = lk.theory.GaussianLLR.from_eer(0.05)


@pytest.fixture(scope="module")
def scores():
    return lk.Scores(*MODEL.rvs(300, 3000, np.random.default_rng(2)))


@pytest.fixture(scope="module")
def separable():
    rng = np.random.default_rng(5)
    return lk.Scores(rng.normal(9, 1, 40), rng.normal(-9, 1, 200))


def judged(source, *criteria, **more):
    rows = [{"characteristic": "accuracy", **one} for one in criteria]
    return lk.validate(source, criteria={"criterion": rows, **more}, replicates=0)


@pytest.mark.parametrize(
    "criterion",
    [
        {"metric": "eer", "at_most": 8},
        {"metric": "p_miss sre08", "at_most": 5.5},
        {"metric": "auc", "at_least": 95},
        {"metric": "eer", "at_most": -0.1},
        {"metric": "eer", "at_most": 2, "change_from": "x.csv"},
    ],
)
def test_limits_of_rates_that_mean_percent_are_refused(scores, criterion):
    with pytest.raises(lk.InputError):
        judged(scores, criterion)
    assert judged(scores, {"metric": "act_dcf sre08", "at_most": 2}, {"at_most": 8}).passed  # costs may


def test_a_number_without_interval_gives_the_reason_and_the_other_rows_are_judged(separable):
    criteria = ({"metric": "eer", "at_most": 0.08}, {"metric": "eer", "at_most": 0.08, "use": "estimate"})
    row, other = judged(separable, *criteria, options={"ci": "trial"}).rows
    reason = lk.evaluate(separable, ci="trial").uncertainty.no_interval["eer"]
    assert row.passed is None
    assert row.note == f"no interval: {reason}"
    assert other.passed is True


def test_criteria_on_an_interval_that_never_exists_are_refused(scores):
    for metric in ("dev_pav", "cv_loss", "misleading_target", "cllr_cal"):
        with pytest.raises(lk.InputError):
            judged(scores, {"metric": metric, "at_most": 9, "use": "interval"}, options={"ci": "trial"})
    with pytest.raises(lk.InputError):  # nobody asked for intervals
        judged(scores, {"at_most": 0.3, "use": "interval"})


@pytest.mark.parametrize(
    ("place", "decision"), [("above", "passed"), ("inside", "not decided"), ("below", "failed")]
)
@pytest.mark.parametrize("side", ["at_most", "at_least"])
def test_an_interval_around_the_limit_is_neither_passed_nor_failed(scores, place, decision, side):
    low, high = lk.evaluate(scores, ci="trial").intervals["cllr"]
    limit = {"above": 1.1 * high, "inside": (low + high) / 2, "below": 0.9 * low}[place]
    wanted = decision
    if side == "at_least":
        wanted = {"passed": "failed", "failed": "passed"}.get(decision, decision)
    criterion = {side: limit, "use": "interval"}
    found = judged(scores, criterion, options={"ci": "trial"})
    assert found.rows[0].decision == found.outcome == wanted
    assert found.passed == (wanted == "passed")
    plain = found.to_dict()
    assert plain["outcome"] == plain["matrix"][0]["decision"] == wanted
    assert plain["matrix"][0]["passed"] is {"passed": True, "failed": False}.get(wanted)


def test_a_failed_criterion_outweighs_one_that_is_not_decided(scores):
    low, high = lk.evaluate(scores, ci="trial").intervals["cllr"]
    inside, beyond = {"at_most": (low + high) / 2, "use": "interval"}, {"metric": "eer", "at_most": 0.001}
    found = judged(scores, inside, beyond, {"at_most": 1}, options={"ci": "trial"})
    assert [row.decision for row in found.rows] == ["not decided", "failed", "passed"]
    assert found.outcome == "failed"


def test_no_evidence_without_overlap_is_not_a_pass():
    few = lk.Scores([4.0, 5.0, 6.0, 3.0, 4.5], -np.linspace(2.0, 6.0, 20))
    found = judged(few, {"metric": "verdict"})
    assert found.check.verdict.outcome == "too_few"
    assert found.check.recalibration is None
    assert found.rows[0].decision == "not decided"


def test_the_worst_condition_that_is_not_decided_is_named():
    rng = np.random.default_rng(1)
    sets = [lk.theory.GaussianLLR.from_eer(e).rvs(200, 1000, rng) for e in (0.02, 0.2)]
    target, nontarget = (np.concatenate([one[k] for one in sets]) for k in (0, 1))
    names = tuple(np.repeat(["clean", "noisy"], n) for n in (200, 1000))
    both = lk.Scores(target, nontarget, {"room": names})
    options = {"ci": "trial"}
    noisy = lk.evaluate(lk.Scores(*sets[1]), ci="trial")
    criterion = {"metric": "eer", "at_most": noisy.eer + 1e-4, "use": "interval", "by": "room"}
    (row,) = judged(both, criterion, options=options).rows
    assert row.passed is None
    assert "room = noisy" in row.note


@pytest.mark.parametrize("sets", [([0.0, 5.0], [0.0, 5.0]), ([0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 3.0])])
@pytest.mark.filterwarnings("ignore::llrkit.errors.ScaleWarning")
def test_a_verdict_on_llrs_whose_best_line_is_flat_has_no_size(sets):
    verdict = lk.evaluate(lk.Scores.from_classes(*sets)).verdict
    assert verdict.text
    assert "inf" not in verdict.text
