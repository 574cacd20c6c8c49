"""CMLG: the paper's closed form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import llrkit as lk
from llrkit.theory import moment_solution

# a, b and Cllr after calibration, evaluated in extended precision from the paper's formulas
# fmt: off
REFERENCE = [
    ("evalita09_ru", 0.1, 0.341059836870713, -0.251139457843261, 0.351762494518213),
    ("evalita09_ru", 0.5, 0.270983882048277, -0.199539018860389, 0.393963085633120),
    ("evalita09_ru", 0.9, 0.224796090423956, -0.165528632137819, 0.434011749379510),
    ("spkr_shift_psr.trn", 0.1, 1.077518371077179, 3.333985941506065, 0.058166424114218),
    ("spkr_shift_psr.trn", 0.5, 1.020396199785274, 3.157242304323222, 0.059437237407182),
    ("spkr_shift_psr.trn", 0.9, 0.969025528340693, 2.998294576842023, 0.060904195055083),
    ("spkr_shift_psr.tst", 0.1, 1.605838016891349, -6.483919126383732, 0.011823181932030),
    ("spkr_shift_psr.tst", 0.5, 2.150323911412208, -8.682398965816264, 0.013536669976841),
    ("spkr_shift_psr.tst", 0.9, 3.253464908388670, -13.136569893491874, 0.018346929074728),
    ("sre08_tno", 0.1, 1.060135322736285, -0.635630830398124, 0.292013512475661),
    ("sre08_tno", 0.5, 0.466617835225244, -0.279772474062330, 0.303565968902252),
    ("sre08_tno", 0.9, 0.299142629139327, -0.179358496683737, 0.389396391861348),
    ("voxceleb1_o.ivector_cosine", 0.1, 0.086539692651554, -3.080471652648218, 0.547946380499896),
    ("voxceleb1_o.ivector_cosine", 0.5, 0.046677023898685, -1.661517906341924, 0.528009423809118),
    ("voxceleb1_o.ivector_cosine", 0.9, 0.031956802524894, -1.137536097841069, 0.576172963217312),
    ("voxceleb1_o.ivector_lda", 0.1, 0.225505372178047, -5.357182453412302, 0.307386458995314),
    ("voxceleb1_o.ivector_lda", 0.5, 0.158298175050803, -3.760585380288826, 0.292096777802218),
    ("voxceleb1_o.ivector_lda", 0.9, 0.121952702491249, -2.897149950895624, 0.305814510033475),
    ("voxceleb1_o.ivector_plda", 0.1, 0.144943272564489, 1.182484679917880, 0.312389146741179),
    ("voxceleb1_o.ivector_plda", 0.5, 0.202522470781940, 1.652230661014020, 0.266555721950109),
    ("voxceleb1_o.ivector_plda", 0.9, 0.335999321258485, 2.741169305903381, 0.250120604278068),
    ("voxceleb1_o.resnet_aam", 0.1, 51.083956018379684, -15.074081455584955, 0.078595198448240),
    ("voxceleb1_o.resnet_aam", 0.5, 44.852877978576912, -13.235387171722151, 0.072883572519041),
    ("voxceleb1_o.resnet_aam", 0.9, 39.976639351368691, -11.796484941108690, 0.069034142495162),
]
# fmt: on
quiet = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")


@quiet
@pytest.mark.parametrize(
    ("name", "alpha", "a", "b", "cllr"),
    [pytest.param(*row, marks=[] if row[1] == 0.5 else [pytest.mark.slow]) for row in REFERENCE],
)
def test_against_extended_precision(reference_set, name, alpha, a, b, cllr):
    scores = reference_set(name)
    fitted = lk.fit_cmlg(scores, alpha=alpha)
    assert_allclose([fitted.a, fitted.b], [a, b], rtol=1e-12)
    assert_allclose(lk.cllr(fitted.on(scores)), cllr, rtol=1e-12)


@pytest.fixture
def uneven():
    rng = np.random.default_rng(11)
    return lk.Scores(rng.normal(3.0, 1.6, 400), rng.normal(0.5, 1.2, 900))


@quiet
@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5, 1.0])
def test_against_a_numerical_maximizer_of_the_weighted_likelihood(uneven, alpha):
    def loss(x):
        m_e, m_d, log_sd = x
        part = [((scores - m) ** 2).mean() for scores, m in ((uneven.target, m_e), (uneven.nontarget, m_d))]
        return log_sd + np.exp(-2 * log_sd) * (alpha * part[0] + (1 - alpha) * part[1]) / 2

    def slope(x):  # by complex steps: exact to rounding, so that the maximizer can go all the way
        return np.array([loss(x + 1e-30j * step).imag / 1e-30 for step in np.eye(3)])

    # with a weight of 0 the mean of that class does not enter: it starts at, and stays with, the sample mean
    away = [0.7 * (alpha > 0), -0.4 * (alpha < 1), 0.3]
    start = np.array([uneven.target.mean(), uneven.nontarget.mean(), 0.0]) + away
    best = minimize(loss, start, jac=slope, method="BFGS", options={"gtol": 1e-13})
    m_e, m_d, log_sd = best.x
    a = (m_e - m_d) / np.exp(2 * log_sd)
    fitted = lk.fit_cmlg(uneven, alpha=alpha)
    assert_allclose([fitted.a, fitted.b], [a, -a * (m_e + m_d) / 2], rtol=1e-8)
    assert_allclose(fitted.details["log_likelihood"], -best.fun - np.log(2 * np.pi) / 2, rtol=1e-8)


@quiet
def test_moment_equations_of_the_old_text_give_the_same_map(uneven):
    t, n = uneven.target, uneven.nontarget
    moments = moment_solution(t.mean(), n.mean(), t.var(), n.var())
    fitted = lk.fit_cmlg(uneven)
    assert_allclose(
        [fitted.a, fitted.b, fitted.details["mu"]], [moments.a, moments.b, moments.mu], rtol=1e-13
    )


@quiet
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_affine_change_of_the_scores_changes_nothing(uneven, alpha):
    moved = lk.Scores(3 * uneven.target - 7, 3 * uneven.nontarget - 7)
    first, second = lk.fit_cmlg(uneven, alpha=alpha)(uneven), lk.fit_cmlg(moved, alpha=alpha)(moved)
    assert_allclose(first.target, second.target, rtol=1e-11, atol=1e-11)


@quiet
def test_swapping_classes_and_sign_negates_the_llr(uneven):
    swapped = lk.Scores(-uneven.nontarget, -uneven.target)
    first, second = lk.fit_cmlg(uneven, alpha=0.3), lk.fit_cmlg(swapped, alpha=0.7)
    assert_allclose(first(1.7), -second(-1.7), rtol=1e-13)


def test_calibrated_gaussian_scores_give_back_the_identity():
    model = lk.theory.GaussianLLR.from_eer(0.08)
    target, nontarget = model.rvs(200_000, 200_000, np.random.default_rng(2))
    fitted = lk.fit_cmlg(lk.Scores(target, nontarget))
    assert abs(fitted.a - 1.0) < 4 * fitted.details["se_a"]
    assert abs(fitted.b) < 4 * fitted.details["se_b"]
    # S-25: N Var(a) = 2 + 4 / sigma^2 for N trials in all, N Var(b) = sigma^2
    n = 400_000
    assert_allclose(fitted.details["se_a"], np.sqrt((2 + 4 / model.sigma**2) / n), rtol=0.02)
    assert_allclose(fitted.details["se_b"], model.sigma / np.sqrt(n), rtol=0.02)
    assert_allclose([fitted.details["eer"], fitted.details["cllr"]], [model.eer, model.cllr], rtol=0.01)


@pytest.mark.slow
def test_standard_errors_against_repetition():
    rng = np.random.default_rng(4)
    found = []
    for _ in range(400):
        fitted = lk.fit_cmlg(lk.Scores(rng.normal(5, 1.0, 300), rng.normal(2, 1.0, 600)), alpha=0.4)
        found.append((fitted.a, fitted.b, fitted.details["se_a"], fitted.details["se_b"]))
    a, b, se_a, se_b = np.array(found).T
    assert_allclose([se_a.mean(), se_b.mean()], [a.std(), b.std()], rtol=0.12)


@pytest.mark.filterwarnings("ignore::llrkit.errors.PoorFitWarning")  # which has tests of its own
def test_warns_of_scores_that_do_not_look_the_part_and_only_of_those(reference_set):
    with pytest.warns(lk.errors.ShapeWarning, match="skewed"):
        lk.fit_cmlg(reference_set("evalita09_ru"))
    with pytest.warns(lk.errors.ShapeWarning, match="spread"):
        lk.fit_cmlg(reference_set("voxceleb1_o.ivector_plda"))
    rng = np.random.default_rng(8)
    for size in (10, 100, 10_000):
        lk.fit_cmlg(lk.Scores(rng.normal(3, 1, size), rng.normal(0, 1, size)))  # warnings are errors here


def test_bad_input():
    with pytest.raises(lk.InputError):
        lk.fit_cmlg(lk.Scores([1.0], [0.0]), alpha=1.5)
    with pytest.raises(lk.errors.ConstantScoreError):  # constant in each class
        lk.fit_cmlg(lk.Scores([1.0, 1.0], [0.0]))
    with pytest.raises(lk.errors.InfiniteScoreError, match="row 3"):
        lk.fit_cmlg(lk.Trials({"score": [1.0, 2.0, 0.5, np.inf], "label": [1, 0, 1, 0]}))
    with pytest.warns(lk.errors.ReversedScoresWarning):
        assert lk.fit_cmlg(lk.Scores([0.0, 1.0], [2.0, 3.0])).a < 0
