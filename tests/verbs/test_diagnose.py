"""diagnose(): what is wrong with scores, what is advised for them, and the numbers behind both."""

import json

import numpy as np
import pytest
from commands import run

import llrkit as lk

N = 5000
MODEL = lk.theory.GaussianLLR.from_eer(0.05)


def written(path, scores):
    rows = [f"{float(score)!r},1" for score in scores.target]
    rows += [f"{float(score)!r},0" for score in scores.nontarget]
    path.write_text("\n".join(["score,label", *rows]) + "\n")
    return path


def advised(found):
    return {name for name, good, _ in found.advice if good}


def few():
    rng = np.random.default_rng(4)
    return lk.Scores(rng.normal(2, 1, 5), rng.normal(0, 2.1, 20))


def separable():
    rng = np.random.default_rng(1)
    return lk.Scores(
        np.append(0.647, rng.uniform(0.647, 0.9, 29)), np.append(0.233, rng.uniform(0, 0.233, 199))
    )


def test_the_shape_of_few_trials_is_not_judged():
    assert {"logistic", "bayes"} <= advised(lk.diagnose(few()))
    assert not {"cmlg", "gaussian"} & advised(lk.diagnose(few()))
    assert lk.diagnose(few()).notes == ()
    assert lk.diagnose(few(), point="sre08").notes != ()  # five targets cannot be compared there


@pytest.mark.parametrize("ratio", [1.15, 1.3, 1 / 1.3])
def test_advice_on_a_spread_follows_its_p_value(ratio):
    rng = np.random.default_rng(1)
    target, nontarget = rng.normal(3, 1, 120), rng.normal(0, 1, 130)
    found = lk.diagnose(
        lk.Scores(3 + (target - target.mean()) / target.std(), ratio * (nontarget / nontarget.std()))
    )  # beyond 1.1, but within four standard errors of 120 + 130 trials
    certain = found.check.tests[0].p_value < 0.01
    assert certain is (ratio != 1.15)
    assert not found.advised("cmlg")
    assert found.advised("gaussian") is certain


def test_ties_without_a_loss_change_no_advice():
    target, nontarget = MODEL.rvs(3000, 3000, np.random.default_rng(5))
    plain, tied = lk.Scores(target, nontarget), lk.Scores((target / 2).round(1), (nontarget / 2).round(1))
    found = lk.diagnose(tied)
    assert [row[:2] for row in found.advice] == [row[:2] for row in lk.diagnose(plain).advice]
    assert (found.problems, found.advised("cmlg")) == ((), True)
    train, test = (lk.Scores(tied.target[i::2], tied.nontarget[i::2]) for i in (0, 1))
    held = [lk.cllr(lk.maps.bound_map(fit(train), train).on(test)) for fit in (lk.fit_logistic, lk.fit_pav)]
    assert held[0] < held[1]  # what the advice rests on, another way


def test_saturation_that_costs_is_told_with_both_costs():
    target, nontarget = MODEL.rvs(3000, 30_000, np.random.default_rng(5))
    cut = lk.Scores(*(3 * np.clip(values, -1.5, 1.5) for values in (target, nontarget)))
    found = lk.diagnose(cut)
    train, test = (lk.Scores(cut.target[i::2], cut.nontarget[i::2]) for i in (0, 1))
    held = [lk.cllr(lk.maps.bound_map(fit(train), train).on(test)) for fit in (lk.fit_logistic, lk.fit_pav)]
    assert held[1] < 0.98 * held[0]
    assert found.advised("pav")
    assert not found.advised("logistic")


@pytest.mark.filterwarnings("ignore::llrkit.errors.ScaleWarning")
def test_advice_for_classes_that_do_not_overlap_can_be_followed():
    assert advised(lk.diagnose(separable())) == {"logistic"}
    fitted = lk.fit_logistic(separable(), regularization=1)
    assert lk.maps.bound_elub(fitted, separable()).high < np.log(200)


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (lambda rng: (rng.gamma(2.0, 1.0, N) + 1, rng.normal(0, 1, N)), "{skewness_target:+.2f}"),
        (lambda rng: (rng.standard_t(4, N) + 3, rng.normal(0, 1, N)), "{kurtosis_target:+.2f}"),
        (lambda rng: (rng.normal(3, 1, N), rng.normal(0, 2.1, N)), "{sd_ratio:.2f}"),
        (lambda rng: (rng.normal(3, 2.1, N), rng.normal(0, 1, N)), "{sd_ratio:.2f}"),
        (lambda rng: (np.full(N, 3.0), rng.normal(0, 2, N)), "no spread"),
    ],
)
def test_every_problem_has_its_number(make, number):
    found = lk.diagnose(lk.Scores(*make(np.random.default_rng(8))))
    assert any(number.format(**found.shape) in problem for problem in found.problems), found.problems
    assert not found.advised("cmlg")


@pytest.mark.parametrize(
    "scores", [few(), separable(), lk.Scores([5.0], [0.0]), lk.Scores([5.0, np.inf], [0.0])]
)
@pytest.mark.filterwarnings("ignore::llrkit.errors.ScaleWarning")
def test_json_of_a_diagnosis_holds_the_same_words(tmp_path, scores):
    path = written(tmp_path / "s.csv", scores)
    code, out, _ = run("diagnose", path, "--json", "-")
    assert (code, run("diagnose", path)[0]) == (0, 0)
    plain = json.loads(out)
    found = lk.diagnose(scores)
    assert plain["problems"] == list(found.problems)
    assert [row["why"] for row in plain["advice"]] == [why for _, _, why in found.advice]
    assert "nan" not in repr(found)


def test_saturated_probabilities_are_said_and_another_scale_is_advised():
    rng = np.random.default_rng(3)
    logits = rng.normal(3.0, 3.0, 1_500), rng.normal(-3.0, 3.0, 3_000)
    scores = lk.Scores(*(np.round(1.0 / (1.0 + np.exp(-4.0 * values)), 4) for values in logits))
    with pytest.warns(lk.errors.ScaleWarning, match="probabilities"):
        found = lk.diagnose(scores)
    assert found.advised("pav")
    assert not any(found.advised(name) for name in ("cmlg", "logistic", "gaussian", "nig"))
    plain = lk.diagnose(lk.Scores(*logits))
    assert plain.advised("logistic")


def test_a_det_at_45_degrees_does_not_license_cmlg(reference_set):
    scores = reference_set("voxceleb1_o.ivector_plda")
    found = lk.diagnose(scores, point="sre08")
    assert abs(found.evaluation.det_slope.slope + 1.0) < 0.1
    lost = lk.cllr(lk.fit_logistic(scores).on(scores))
    with pytest.warns(lk.errors.ShapeWarning):
        fitted = lk.fit_cmlg(scores)
    assert found.check.costs.cllr_logistic == pytest.approx(lost, abs=1e-4)
    assert found.check.costs.cllr_cmlg == pytest.approx(lk.cllr(fitted.on(scores)), abs=1e-4)
    assert found.check.costs.dcf_cmlg == pytest.approx(lk.act_dcf(fitted.on(scores), point="sre08"), abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.2, 1 / 1.2])
def test_a_ratio_of_spreads_that_costs_is_flagged(ratio):
    rng = np.random.default_rng(12)
    scores = lk.Scores(rng.normal(4.1, 1.0, 2000), rng.normal(0.0, ratio, 50_000))
    found = lk.diagnose(scores, point="sre12")
    assert any("spread" in problem for problem in found.problems)
    assert not found.advised("cmlg")
    assert found.check.costs.dcf_cmlg > 1.01 * found.check.costs.dcf_logistic
    with pytest.warns(lk.errors.ShapeWarning, match="spread"):
        lk.fit_cmlg(scores)


def test_json_holds_the_tests_and_the_costs(tmp_path):
    scores = lk.Scores(*MODEL.rvs(500, 3000, np.random.default_rng(3)))
    _, out, _ = run("diagnose", written(tmp_path / "s.csv", scores), "--json", "-", "--point", "0.01")
    plain = json.loads(out)
    assert [test["p_value"] > 0.01 for test in plain["gaussian_tests"]] == [True] * 4
    assert plain["costs"]["point"] == "P=0.01"
    assert plain["costs"]["cllr_cmlg"] == pytest.approx(MODEL.cllr, abs=0.02)
