"""diagnose() says what it measured: every sentence has its number, every advice its reason."""

import json

import numpy as np
import pytest
from commands import run

import llrkit as lk
from llrkit.calibrate.gap_between_classes import REMEDY, REMEDY_TYPED

N = 5000
MODEL = lk.theory.GaussianLLR.from_eer(0.05)


def written(path, scores):
    rows = [f"{float(score)!r},1" for score in scores.target]
    rows += [f"{float(score)!r},0" for score in scores.nontarget]
    path.write_text("\n".join(["score,label", *rows]) + "\n")
    return path


def both_ways(tmp_path, scores):
    """The words in Python and of the command, which are the same but for the names of options."""
    code, out, err = run("diagnose", written(tmp_path / "s.csv", scores))
    assert code == 0, err
    assert out.rstrip("\n") == repr(lk.diagnose(scores)).replace(REMEDY, REMEDY_TYPED)
    return out


def few():
    rng = np.random.default_rng(4)
    return lk.Scores(rng.normal(2, 1, 5), rng.normal(0, 2.1, 20))


def separable():
    rng = np.random.default_rng(1)
    return lk.Scores(
        np.append(0.647, rng.uniform(0.647, 0.9, 29)), np.append(0.233, rng.uniform(0, 0.233, 199))
    )


def test_the_shape_of_few_trials_is_not_judged(tmp_path):
    out = both_ways(tmp_path, few())
    assert (
        "5 target and 20 non-target trials: the shape of a class cannot be judged from fewer than 100" in out
    )
    assert "look Gaussian" not in out
    assert "DET slope is" not in out
    found = lk.diagnose(few())
    assert not found.advised("cmlg")
    assert not found.advised("gaussian")
    assert found.advised("logistic")
    assert found.advised("bayes")


@pytest.mark.parametrize("ratio", [1.15, 1.3, 1 / 1.3])
def test_words_on_a_spread_follow_the_p_value_beside_them(tmp_path, ratio):
    rng = np.random.default_rng(1)
    target, nontarget = rng.normal(3, 1, 120), rng.normal(0, 1, 130)
    scores = lk.Scores(3 + (target - target.mean()) / target.std(), ratio * (nontarget / nontarget.std()))
    out = both_ways(tmp_path, scores)  # beyond 1.1, but within four standard errors of 120 + 130 trials
    found = lk.diagnose(scores)
    p_value = found.check.tests[0].p_value
    chance = "" if p_value < 0.01 else " but may be chance"
    limit = "1.10" if ratio > 1 else "0.91"
    assert (p_value < 0.01) is (ratio != 1.15)
    assert f"the ratio of the spreads, {ratio:.2f}, is beyond {limit}{chance} (p = {p_value:.2g})" in out
    assert "the same spread" not in out
    assert not found.advised("cmlg")
    assert found.advised("gaussian") is not chance.startswith(" but")


def test_ties_without_a_loss_change_no_advice(tmp_path):
    target, nontarget = MODEL.rvs(3000, 3000, np.random.default_rng(5))
    plain, tied = lk.Scores(target, nontarget), lk.Scores((target / 2).round(1), (nontarget / 2).round(1))
    found = lk.diagnose(tied)
    out = both_ways(tmp_path, tied)
    assert [row[:2] for row in found.advice] == [row[:2] for row in lk.diagnose(plain).advice]
    assert (found.problems, found.advised("cmlg")) == ((), True)
    assert f"there are only {len(np.unique(np.append(tied.target, tied.nontarget)))} different" in out
    assert "no measurable loss" in found.notes[-1]
    train, test = (lk.Scores(tied.target[i::2], tied.nontarget[i::2]) for i in (0, 1))
    held = [lk.cllr(fit(train, bound="sources").on(test)) for fit in (lk.fit_logistic, lk.fit_pav)]
    assert held[0] < held[1]  # what the advice rests on, another way


def test_saturation_that_costs_is_told_with_both_costs():
    target, nontarget = MODEL.rvs(3000, 30_000, np.random.default_rng(5))
    cut = lk.Scores(*(3 * np.clip(values, -1.5, 1.5) for values in (target, nontarget)))
    found = lk.diagnose(cut)
    train, test = (lk.Scores(cut.target[i::2], cut.nontarget[i::2]) for i in (0, 1))
    held = [lk.cllr(fit(train, bound="sources").on(test)) for fit in (lk.fit_logistic, lk.fit_pav)]
    assert held[1] < 0.98 * held[0]
    assert found.advised("pav")
    assert not found.advised("logistic")
    assert f"the best straight line has a Cllr of {found.check.costs.cllr_logistic:.3f}" in found.problems[-1]


def test_a_point_that_cannot_be_compared_is_told():
    found = lk.diagnose(few(), point="sre08")
    assert "CMLG and logistic regression are not compared at sre08: 5 target trials" in repr(found)
    assert lk.diagnose(few()).notes == ()


@pytest.mark.filterwarnings("ignore::llrkit.ScaleWarning")
def test_advice_counts_the_class_that_is_short_and_not_all_trials(tmp_path):
    rng = np.random.default_rng(2)
    scores = lk.Scores(rng.gamma(2, 1, 780) - 1, rng.gamma(1, 0.5, 27_300) - 1)
    out = both_ways(tmp_path, scores)
    assert "too few" not in out
    assert "780 target trials; with fewer than 1,000 of a class it overfits" in out


@pytest.mark.filterwarnings("ignore::llrkit.ScaleWarning")
def test_cmlg_is_not_advised_for_classes_that_do_not_overlap(tmp_path):
    out = both_ways(tmp_path, separable())
    assert "the classes do not overlap (gap from 0.233 to 0.647): any slope that is steep enough fits" in out
    found = lk.diagnose(separable())
    advised = [name for name, good, _ in found.advice if good]
    assert advised == ["logistic"]
    (why,) = (why for name, _, why in found.advice if name == "logistic")
    assert "regularization=1" in why
    assert "bound" in why
    assert "more trials" in why


def test_the_advice_for_classes_that_do_not_overlap_can_be_followed():
    fitted = lk.fit_logistic(separable(), regularization=1)
    bounded = lk.bound_elub(fitted, separable())
    assert bounded.high < np.log(200)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda rng: (rng.gamma(2.0, 1.0, N) + 1, rng.normal(0, 1, N)),
         "target scores are skewed: skewness {skewness_target:+.2f} is beyond 0.5"),
        (lambda rng: (rng.standard_t(4, N) + 3, rng.normal(0, 1, N)),
         "target scores are heavy-tailed: excess kurtosis {kurtosis_target:+.2f} is beyond 1"),
        (lambda rng: (rng.normal(3, 1, N), rng.normal(0, 2.1, N)),
         "spread {sd_ratio:.2f} times as much as target scores, more than 1.10"),
        (lambda rng: (rng.normal(3, 2.1, N), rng.normal(0, 1, N)),
         "spread {sd_ratio:.2f} times as much as target scores, less than 0.91"),
        (lambda rng: (np.full(N, 3.0), rng.normal(0, 2, N)), "all target scores are the same: no spread"),
    ],
)  # fmt: skip
def test_every_problem_has_its_number_and_its_threshold(make, sentence):
    found = lk.diagnose(lk.Scores(*make(np.random.default_rng(8))))
    assert any(sentence.format(**found.shape) in problem for problem in found.problems), found.problems
    assert not found.advised("cmlg")


def test_gaussian_scores_are_called_so_with_the_numbers(tmp_path):
    scores = lk.Scores(*MODEL.rvs(2000, 5000, np.random.default_rng(3)))
    out = both_ways(tmp_path, scores)
    assert "skewness within 0.5, excess kurtosis within 1 and ratio of the spreads within 1.1" in out
    assert lk.diagnose(scores).advised("cmlg")


@pytest.mark.parametrize(
    "scores", [few(), separable(), lk.Scores([5.0], [0.0]), lk.Scores([5.0, np.inf], [0.0])]
)
@pytest.mark.filterwarnings("ignore::llrkit.ScaleWarning")
def test_json_of_a_diagnosis_holds_the_same_words(tmp_path, scores):
    code, out, _ = run("diagnose", written(tmp_path / "s.csv", scores), "--json", "-")
    assert code == 0
    plain = json.loads(out)
    found = lk.diagnose(scores)
    assert plain["problems"] == list(found.problems)
    assert [row["why"] for row in plain["advice"]] == [why for _, _, why in found.advice]
    assert "nan" not in repr(found)


def test_saturated_probabilities_are_said_and_another_scale_is_advised():
    rng = np.random.default_rng(3)
    logits = rng.normal(3.0, 3.0, 1_500), rng.normal(-3.0, 3.0, 3_000)
    scores = lk.Scores(*(np.round(1.0 / (1.0 + np.exp(-4.0 * values)), 4) for values in logits))
    with pytest.warns(lk.ScaleWarning, match="probabilities"):
        found = lk.diagnose(scores)
    share = 100 * (scores.target == 1.0).mean()
    assert any(f"{share:.1f} % of the target" in problem for problem in found.problems)
    assert found.advised("pav")
    assert not any(found.advised(name) for name in ("cmlg", "logistic", "gaussian", "nig"))
    assert "use log-odds instead of probabilities, or PAV" in repr(found)
    plain = lk.diagnose(lk.Scores(*logits))
    assert plain.advised("logistic")
    assert not any("saturated" in problem for problem in plain.problems)


def test_a_det_at_45_degrees_does_not_license_cmlg(reference_set, tmp_path):
    scores = reference_set("voxceleb1_o.ivector_plda")
    found = lk.diagnose(scores, point="sre08")
    assert abs(found.evaluation.det_slope.slope + 1.0) < 0.1
    lost = lk.cllr(lk.fit_logistic(scores).on(scores))
    with pytest.warns(lk.ShapeWarning):
        fitted = lk.fit_cmlg(scores)
    assert found.check.costs.cllr_logistic == pytest.approx(lost, abs=1e-4)
    assert found.check.costs.cllr_cmlg == pytest.approx(lk.cllr(fitted.on(scores)), abs=1e-4)
    assert found.check.costs.dcf_cmlg == pytest.approx(lk.act_dcf(fitted.on(scores), "sre08"), abs=2e-3)
    assert f"CMLG loses {found.check.costs.cllr_cmlg - found.check.costs.cllr_logistic:.3f} bits" in repr(
        found
    )
    slope = found.evaluation.det_slope.slope
    assert f"a DET slope within 0.25 of -1 ({slope:.2f}) does not make it right" in repr(found)
    code, out, _ = run("diagnose", written(tmp_path / "s.csv", scores), "--point", "sre08")
    assert (code, out.rstrip("\n")) == (0, repr(found))


@pytest.mark.parametrize("ratio", [1.2, 1 / 1.2])
def test_a_ratio_of_spreads_that_costs_is_flagged(ratio):
    rng = np.random.default_rng(12)
    scores = lk.Scores(rng.normal(4.1, 1.0, 2000), rng.normal(0.0, ratio, 50_000))
    found = lk.diagnose(scores, point="sre12")
    assert any("spread" in problem for problem in found.problems)
    assert not found.advised("cmlg")
    assert found.check.costs.dcf_cmlg > 1.01 * found.check.costs.dcf_logistic
    with pytest.warns(lk.ShapeWarning, match="spread"):
        lk.fit_cmlg(scores)


def test_json_holds_the_tests_and_the_costs(tmp_path):
    scores = lk.Scores(*MODEL.rvs(500, 3000, np.random.default_rng(3)))
    _, out, _ = run("diagnose", written(tmp_path / "s.csv", scores), "--json", "-", "--point", "0.01")
    plain = json.loads(out)
    assert [test["p_value"] > 0.01 for test in plain["gaussian_tests"]] == [True] * 4
    assert plain["costs"]["point"] == "P=0.01"
    assert plain["costs"]["cllr_cmlg"] == pytest.approx(MODEL.cllr, abs=0.02)
