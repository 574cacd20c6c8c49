"""Criteria that trials decide, and those they do not; limits, units and reasons are said as they are."""

import json

import numpy as np
import pytest
from commands import run

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
    return lk.validate(source, {"criterion": rows, **more}, replicates=30)


def command(folder, source, text, *options):
    path = folder / "llrs.csv"
    lines = [
        f"{float(x)!r},{label}" for label, side in ((1, source.target), (0, source.nontarget)) for x in side
    ]
    path.write_text("\n".join(["score,label", *lines]))
    (folder / "criteria.toml").write_text(text)
    return run("validate", path, "--criteria", folder / "criteria.toml", *options)


def toml(*criteria, ci=""):
    text = f'[options]\nci = "{ci}"\n' if ci else ""
    for one in criteria:
        items = {"characteristic": "accuracy", **one}
        text += "[[criterion]]\n" + "".join(
            f"{name} = {json.dumps(value)}\n" for name, value in items.items()
        )
    return text


@pytest.mark.parametrize(
    ("criterion", "said"),
    [
        ({"metric": "eer", "at_most": 8}, "at_most = 8 for eer, which is a rate, .* 0 and 1; 8 % is 0.08"),
        ({"metric": "eer_roc", "at_least": 2}, "at_least = 2 for eer_roc, .* 2 % is 0.02"),
        ({"metric": "p_miss sre08", "at_most": 5.5}, "at_most = 5.5 for p_miss sre08, .* 5.5 % is 0.055"),
        ({"metric": "p_fa:sre08", "at_most": 1000}, "for p_fa:sre08, which is a rate, between 0 and 1$"),
        ({"metric": "auc", "at_least": 95}, "which is an area, between 0 and 1; 95 % is 0.95"),
        ({"metric": "eer", "at_most": -0.1}, "between 0 and 1$"),
        ({"metric": "eer", "at_most": 2, "change_from": "x.csv"}, "a change of a rate, between -1 and 1;"),
    ],
)  # fmt: skip
def test_limits_of_rates_that_mean_percent_are_refused(tmp_path, scores, criterion, said):
    with pytest.raises(lk.InputError, match=said):
        judged(scores, criterion)
    code, _, err = command(tmp_path, scores, toml(criterion))
    assert code == 2
    assert "criterion 1: at_" in err


def test_costs_may_have_limits_above_one(scores):
    assert judged(scores, {"metric": "act_dcf sre08", "at_most": 2}, {"at_most": 8}).passed


def test_rates_are_shown_in_percent_and_costs_are_not(tmp_path, scores):
    text = toml({"metric": "eer", "at_most": 0.08}, {"at_most": 0.3}, ci="trial")
    code, out, err = command(tmp_path, scores, text)
    assert code == 0, err
    result = lk.evaluate(scores, ci="trial")
    low, high = result.intervals["eer"]
    assert f"<= 8 %     {100 * result.eer:.2f} % [{100 * low:.2f}, {100 * high:.2f} %]" in out
    assert f"<= 0.3     {result.cllr:.4f} [" in out
    assert "Both criteria are met." in out


def test_a_number_without_interval_gives_the_reason_and_the_other_rows_are_judged(tmp_path, separable):
    criteria = ({"metric": "eer", "at_most": 0.08, "use": "interval"}, {"metric": "eer", "at_most": 0.08})
    row, other = judged(separable, *criteria, options={"ci": "trial"}).rows
    reason = lk.evaluate(separable, ci="trial").uncertainty.no_interval["eer"]
    assert row.passed is None
    assert row.note == f"no interval: {reason}"
    assert other.passed is True
    code, out, _ = command(tmp_path, separable, toml(*criteria, ci="trial"))
    assert code == 1
    assert reason in out
    assert "ask for one" not in out
    assert "NOT DECIDED" in out
    assert "\nThese comparisons do not decide 1 of 2 criteria: accuracy (eer)." in out


@pytest.mark.parametrize("metric", ["dev_pav", "cv_loss", "misleading_target", "cllr_cal"])
def test_criteria_on_an_interval_that_never_exists_are_refused(scores, metric):
    with pytest.raises(lk.InputError, match=f"criterion 1: {metric} never has an interval"):
        judged(scores, {"metric": metric, "at_most": 9, "use": "interval"}, options={"ci": "trial"})


def test_intervals_that_nobody_asked_for_are_an_error_of_the_criteria(tmp_path, scores):
    code, _, err = command(tmp_path, scores, toml({"at_most": 0.3, "use": "interval"}))
    assert code == 2
    assert "criterion 1: cllr has no interval without ci in [options]" in err


@pytest.mark.parametrize(
    ("place", "decision"), [("above", "passed"), ("inside", "not decided"), ("below", "failed")]
)
@pytest.mark.parametrize("side", ["at_most", "at_least"])
def test_an_interval_around_the_limit_is_neither_passed_nor_failed(tmp_path, scores, place, decision, side):
    low, high = lk.evaluate(scores, ci="trial").intervals["cllr"]
    limit = {"above": 1.1 * high, "inside": (low + high) / 2, "below": 0.9 * low}[place]
    wanted = decision
    if side == "at_least":
        wanted = {"passed": "failed", "failed": "passed"}.get(decision, decision)
    criterion = {side: limit, "use": "interval"}
    found = judged(scores, criterion, options={"ci": "trial"})
    assert found.rows[0].decision == found.outcome == wanted
    assert found.passed == (wanted == "passed")
    code, out, err = command(tmp_path, scores, toml(criterion, ci="trial"), "--json", "-")
    assert code == (0 if wanted == "passed" else 1), err
    plain = json.loads(out)
    assert plain["outcome"] == plain["matrix"][0]["decision"] == wanted
    assert plain["matrix"][0]["passed"] is {"passed": True, "failed": False}.get(wanted)


def test_a_failed_criterion_outweighs_one_that_is_not_decided(scores):
    low, high = lk.evaluate(scores, ci="trial").intervals["cllr"]
    inside, beyond = {"at_most": (low + high) / 2, "use": "interval"}, {"metric": "eer", "at_most": 0.001}
    found = judged(scores, inside, beyond, {"at_most": 1}, options={"ci": "trial"})
    assert found.outcome == "failed"
    said = "1 of 3 criteria is not met: accuracy (eer); these trials do not decide 1 of 3 criteria: "
    said += "accuracy (cllr)."
    assert repr(found).endswith(said)
    assert said in found.to_markdown(words="nist")


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
    assert row.note.startswith("worst of 2: room = noisy; the limit lies inside the interval")


@pytest.mark.parametrize(
    ("n", "said"),
    [(1, "The criterion is met."), (2, "Both criteria are met."), (3, "All 3 criteria are met.")],
)
def test_criteria_that_are_met_are_counted_in_good_english(scores, n, said):
    assert repr(judged(scores, *[{"at_most": 1.0}] * n)).endswith(said)


def test_every_p_value_stands_with_its_level(tmp_path, scores):
    criteria = toml(
        {"metric": "verdict"}, {"metric": "cllr_cal", "at_most": 1}, {"metric": "dev_pav", "at_most": 9}
    )
    report, page = tmp_path / "report.md", tmp_path / "page.html"
    code, out, err = command(tmp_path, scores, criteria, "--report", report, "--html", page)
    assert code == 0, err
    assert "(p = " in out
    assert "at a level of 3 %" in out
    assert "if calibrated (level 1 % in the verdict)" in out
    assert "if calibrated (the limit decides, not p)" in out
    for text in (report.read_text(), page.read_text()):
        assert "at a level of 3 %" in text
        assert "(level 3 %)" not in text  # once is enough
        assert "not judged" in text
    for line in (*out.splitlines(), *report.read_text().splitlines()):
        if "p = " in line:
            assert "level" in line or "the limit decides" in line, line


@pytest.mark.parametrize("sets", [([0.0, 5.0], [0.0, 5.0]), ([0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 3.0])])
@pytest.mark.filterwarnings("ignore::llrkit.ScaleWarning")
def test_a_verdict_on_llrs_whose_best_line_is_flat_has_no_size(sets):
    verdict = lk.evaluate(lk.Scores.from_classes(*sets)).verdict
    assert verdict.text
    assert "inf" not in verdict.text
