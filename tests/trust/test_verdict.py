"""The verdict on LLRs: every outcome, every sentence it prints, and how often it is right."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from programs import benchmark
from scipy import integrate, optimize, stats
from shared_speakers import sample

import llrkit as lk
from llrkit.metrics.loss_parts import (
    LlrCells,
    best_line,
    chance_loss,
    detectable,
    identity_test,
    misleading_p_value,
    null_moments,
)
from llrkit.trust.calibration_check import OUTCOMES, judge
from llrkit.trust.null import CalibratedCells

MODEL = lk.theory.GaussianLLR.from_eer(0.05)


def draw(n_target=500, n_nontarget=5000, seed=0, model=MODEL):
    return lk.Scores(*model.rvs(n_target, n_nontarget, np.random.default_rng(seed)))


def moved(scores, change):
    return lk.Scores(change(scores.target), change(scores.nontarget))


EVERY_OUTCOME = {
    "evidence": moved(draw(), lambda x: 2 * x),
    "none_found": draw(),
    "too_few": draw(4, 6),
    "reversed": moved(draw(), lambda x: -x),
    "uninformative": lk.Scores(*np.random.default_rng(1).normal(size=(2, 300))),
    "infinite": lk.Scores(np.append(draw().target, -np.inf), draw().nontarget),
}


@pytest.mark.filterwarnings("ignore::llrkit.errors.ReversedScoresWarning")
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome(outcome):
    result = lk.evaluate(EVERY_OUTCOME[outcome])
    verdict = result.verdict
    assert verdict.outcome == outcome
    assert verdict.level == result.to_dict()["verdict"]["level"] == 0.03
    assert bool(verdict.kind) == (outcome == "evidence")
    assert math.isnan(verdict.p_value) == (outcome not in ("evidence", "none_found"))


def gradient_by_quadrature(n_target, n_nontarget):
    """Covariance of the mean gradient at the identity, from the densities of the model."""
    total = np.zeros((2, 2))
    for sign, one, n in ((-1, MODEL.target, n_target), (1, MODEL.nontarget, n_nontarget)):
        z = np.linspace(-10, 10, 20_001)
        x = one.mean() + one.std() * z
        density = stats.norm.pdf(z)
        terms = np.stack([x, np.ones_like(x)]) * sign / (1 + np.exp(-sign * x)) / 2
        mean = np.trapezoid(terms * density, z, axis=1)
        second = np.trapezoid(terms[:, None] * terms[None, :] * density, z, axis=2)
        total += (second - np.outer(mean, mean)) / n
    return total


def test_null_covariance_against_quadrature():
    pair = CalibratedCells.from_pair(MODEL)
    cells = LlrCells(pair.llr, 300 * pair.target, 3000 * pair.nontarget, 300.0, 3000.0)
    null = null_moments(cells)
    assert_allclose(null.covariance, gradient_by_quadrature(300, 3000), rtol=1e-4)
    assert_allclose(null.gradient, 0.0, atol=1e-6)

    def doubt(x):
        p = 1 / (1 + math.exp(-x))
        return p * (1 - p) * (300 * float(MODEL.target.pdf(x)) + 3000 * float(MODEL.nontarget.pdf(x)))

    effective = 4 * integrate.quad(doubt, -40, 40)[0] * 4 * 300 * 3000 / 3300**2
    assert_allclose(null.n_effective, effective, rtol=1e-5)


def test_gradient_against_a_difference_quotient():
    scores = moved(draw(50, 80), lambda x: 1.2 * x + 0.1)

    def cross_entropy(a, b):
        t, n = a * scores.target + b, a * scores.nontarget + b
        return np.logaddexp(0, -t).mean() / 2 + np.logaddexp(0, n).mean() / 2

    h = 1e-5
    wanted = [
        (cross_entropy(1 + h, 0) - cross_entropy(1 - h, 0)) / (2 * h),
        (cross_entropy(1, h) - cross_entropy(1, -h)) / (2 * h),
    ]
    assert_allclose(null_moments(LlrCells.of(scores.target, scores.nontarget)).gradient, wanted, rtol=1e-6)


@pytest.mark.parametrize("decimals", [None, 2, 1])
@pytest.mark.parametrize(
    "change", [lambda x: x, lambda x: 1.3 * x, lambda x: 0.2 * x - 0.4, lambda x: 30 * x]
)
def test_cells_say_what_the_trials_say(change, decimals):
    scores = moved(draw(2000, 20000), change)
    if decimals is not None:
        scores = moved(scores, lambda x: np.round(x, decimals))
    result = lk.evaluate(scores)
    cells, exact = result.summaries.cells, LlrCells.of(scores.target, scores.nontarget)
    assert (cells.target.sum(), cells.nontarget.sum()) == (2000, 20000)
    found, wanted = (null_moments(one) for one in (cells, exact))
    errors = np.sqrt(np.diag(wanted.covariance))
    assert_allclose(found.gradient / errors, wanted.gradient / errors, rtol=0.01, atol=0.05)
    assert_allclose(found.n_effective, wanted.n_effective, rtol=1e-3)
    line = lk.fit_logistic(scores)
    assert_allclose([result.best_line.a, result.best_line.b], [line.a, line.b], rtol=0.01, atol=0.005)
    assert_allclose(result.best_line.cllr, lk.cllr(line.on(scores)), atol=1e-4)


def test_best_line_against_scipy():
    scores = moved(draw(60, 90), lambda x: 3 * x + 2)
    cells = LlrCells.of(scores.target, scores.nontarget)

    def loss(parameters):
        t, n = (parameters[0] * one + parameters[1] for one in (scores.target, scores.nontarget))
        return np.logaddexp(0, -t).mean() + np.logaddexp(0, n).mean()

    wanted = optimize.minimize(loss, [0.1, 0.0], method="BFGS", tol=1e-10)
    line = best_line(cells)
    assert_allclose([line.a, line.b], wanted.x, rtol=1e-4)
    assert_allclose(line.cllr, wanted.fun / (2 * math.log(2)), rtol=1e-9)


def test_the_loss_in_three_parts_adds_up_to_cllr_and_each_part_is_what_it_says():
    bent = moved(draw(3000, 30000), lambda x: np.where(x > 0, x, 3 * x))
    for scores, large in ((moved(draw(3000, 30000), lambda x: 2 * x), "scale_and_offset"), (bent, "shape")):
        result = lk.evaluate(scores)
        split = result.loss_split
        parts = split.discrimination + split.scale_and_offset + split.shape
        assert_allclose(parts, result.cllr, rtol=1e-12)
        assert split.discrimination == result.min_cllr
        straight = lk.cllr(lk.fit_logistic(scores).on(scores))
        assert_allclose(result.cllr - split.scale_and_offset, straight, atol=1e-4)
        assert getattr(split, large) > 3 * split.chance
    straight = lk.evaluate(moved(draw(), lambda x: 2 * x)).loss_split
    assert straight.shape < 2 * straight.chance


@pytest.mark.slow
@pytest.mark.parametrize("eer", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("size", [(50, 500), (300, 3000), (300, 300)])
def test_calibrated_llrs_would_show_about_so_much_by_chance_against_a_simulation(eer, size):
    model = lk.theory.GaussianLLR.from_eer(eer)
    null = lk.trust.calibration_null(model, *size, replicates=100, rng=3, cross_validate=False)
    found = [chance_loss(LlrCells.of(*model.rvs(*size, np.random.default_rng(seed)))) for seed in range(10)]
    error = null.cllr_cal.std() / 10
    assert abs(np.mean(found) - null.cllr_cal.mean()) < 0.1 * null.cllr_cal.mean() + 4 * error


@pytest.mark.slow
def test_about_80_percent_of_such_sets_would_have_been_found():
    size, runs = (300, 3000), 150
    null = null_moments(LlrCells.of(*MODEL.rvs(*size, np.random.default_rng(0))))
    factor, offset = detectable(null, identity_test(null), 0.03)
    rng = np.random.default_rng(1)
    seen = np.zeros(4)
    for _ in range(runs):
        cells = LlrCells.of(*MODEL.rvs(*size, rng))
        for i, change in enumerate(((factor, 0), (1 / factor, 0), (1, offset), (1, -offset))):
            seen[i] += identity_test(null_moments(cells.mapped(*change))).p_value < 0.03
    assert np.all(seen / runs > 0.68)
    assert np.all(seen[2:] / runs < 0.92)


def test_too_few_trials_is_no_pass():
    criteria = {"criterion": [{"characteristic": "calibration", "metric": "verdict"}]}
    assert not lk.validate(draw(4, 6), criteria=criteria).passed


def test_an_llr_too_strong_for_the_wrong_side_is_evidence_however_few_the_trials():
    scores = lk.Scores([20.0, 25.0, 30.0, 28.0], [-30.0, -25.0, -22.0, 24.0])
    verdict = lk.evaluate(scores).verdict
    assert verdict.outcome == "evidence"
    assert_allclose(verdict.p_value, 2 * 4 * math.exp(-24), rtol=1e-9)
    rng = np.random.default_rng(1)  # the bound holds for calibrated LLRs
    low = [
        misleading_p_value(n.max(), t.min(), 20, 200)
        for t, n in (MODEL.rvs(20, 200, rng) for _ in range(500))
    ]
    assert np.mean(np.array(low) < 0.03) <= 0.03


def test_miscalibrated_but_neither_by_a_factor_nor_by_an_offset():
    result = lk.evaluate(draw())
    verdict = judge(result, p_shape=0.005)
    assert (verdict.outcome, verdict.kind, verdict.p_value) == ("evidence", "shape", 0.005)
    assert judge(result, p_shape=0.5) == result.verdict


@pytest.mark.parametrize("call", [lk.eer, lk.evaluate, lk.diagnose])
def test_reversed_scores_are_called_reversed_by_all_with_the_eer_the_other_way_round(call):
    scores = draw()
    said = f"The other way round the EER is {100 * lk.eer(scores):.2f} %"
    with pytest.warns(lk.errors.ReversedScoresWarning) as caught:
        call(moved(scores, lambda x: -x))
    assert said in str(caught[0].message)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::llrkit.errors.ReversedScoresWarning")  # 1 in 200 by chance
def test_uninformative_scores_are_told_apart_from_miscalibrated_ones():
    verdict = lk.evaluate(moved(EVERY_OUTCOME["uninformative"], lambda x: 100 * x)).verdict
    assert verdict.outcome == "uninformative"
    rng = np.random.default_rng(3)
    called = [lk.evaluate(lk.Scores(*rng.normal(size=(2, 60)))).verdict.outcome for _ in range(150)]
    assert called.count("uninformative") >= 140


def test_scores_that_may_be_something_else_are_asked_about_and_not_converted():
    for change in (lambda x: 1 / (1 + np.exp(-x)), lambda x: x / math.log(10), np.exp):
        scores = moved(draw(1000, 10000), change)
        with pytest.warns(lk.errors.ScaleWarning):
            result = lk.evaluate(scores)
        assert result.cllr == lk.cllr(scores)


def test_one_verdict_for_evaluate_and_check_with_and_without_speakers():
    trials = sample(25, 6000, seed=2)
    for who in (None, ("left", "right")):
        check = lk.check_calibration(trials, speakers=who, replicates=0, curves=False).verdict
        result = lk.evaluate(trials, ci="none" if who is None else "speaker", speakers=who).verdict
        assert (check.outcome, check.kind) == (result.outcome, result.kind)
        assert_allclose(check.p_value, result.p_value, rtol=1e-9)


def test_equalized_conditions_count_for_fewer_trials():
    scores = draw(400, 4000)
    room = (np.arange(400) < 20, np.arange(4000) < 200)
    with_rooms = lk.Scores(scores.target, scores.nontarget, {"room": room})
    equal = lk.evaluate(with_rooms, equalize="room")
    # half the weight on 1/20 of the trials: (1/2)^2 / 20 + (1/2)^2 / 380 of a variance each
    assert_allclose(equal.information, 1 / (0.25 / 0.05 + 0.25 / 0.95))
    assert equal.verdict.outcome in ("none_found", "too_few")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "eer", "size"),
    [
        ("Gaussian", 0.01, (30, 300)),
        ("gamma", 0.2, (30, 300)),
        ("PLDA", 0.05, (100, 1000)),
        ("gamma", 0.01, (300, 3000)),
    ],
)
def test_calibrated_llrs_are_accused_in_at_most_5_percent_of_the_sets(kind, eer, size):
    # some cells of the table in the documentation
    simulation = benchmark("verdicts")
    runs = 400
    counts = simulation.rates(kind, eer, size, runs, seed=7)
    assert counts["evidence"] / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)
    for cells in simulation.sets(kind, eer, size, 5, seed=8):
        for change in simulation.CHANGES.values():
            moved_cells = cells.mapped(*change)
            target, nontarget = (moved_cells.llr[one > 0] for one in (cells.target, cells.nontarget))
            found = lk.evaluate(lk.Scores(target, nontarget)).verdict.outcome
            assert found == simulation.outcome(moved_cells)


@pytest.mark.slow
def test_wrong_scales_and_offsets_are_found():
    found = benchmark("verdicts").power("Gaussian", 0.05, (3000, 30000), 20, seed=3)
    assert min(found.values()) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("speakers", [None, ("first", "second")])
@pytest.mark.parametrize(("wrong", "outcome"), [(9.0, "none_found"), (26.0, "evidence")])
def test_one_llr_that_no_calibrated_system_gives_is_evidence_in_a_large_set(wrong, outcome, speakers):
    rng, scores = np.random.default_rng(3), draw(400, 4000)
    nontarget = np.append(scores.nontarget[:-1], wrong)  # at most 2 * 4000 e^-x of such sets reach x
    first = rng.integers(40, size=4400)
    second = np.where(np.arange(4400) < 400, first, (first + rng.integers(1, 40, size=4400)) % 40)
    trials = lk.Trials(
        {"score": np.append(scores.target, nontarget), "label": np.repeat([1, 0], [400, 4000])}
        | {"first": first.astype(str), "second": second.astype(str)}
    )
    verdict = lk.check_calibration(trials, speakers=speakers, curves=False).verdict
    assert verdict.outcome == outcome
    if outcome == "evidence" and speakers:  # the spread among speakers hides it from the test
        assert_allclose(verdict.p_value, 2 * 4000 * math.exp(-wrong), rtol=1e-9)
