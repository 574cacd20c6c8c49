"""What every generative calibrator must hold, whatever its model."""

import functools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import Pieces, reloaded

import llrkit as lk
from llrkit.fits.gaussian import NormalGamma
from llrkit.maps.knots import KnotMap, thin_knots

# no model is exactly right for the scores here, and the guard says which is wrong by much
pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.PoorFitWarning")

METHODS = {
    "gaussian": (lk.fits.fit_gaussian, {}),
    "gaussian raw": (lk.fits.fit_gaussian, {"monotone": False}),
    "student_t": (lk.fits.fit_student_t, {}),
    "student_t raw": (lk.fits.fit_student_t, {"monotone": False}),
    "nig": (lk.fits.fit_nig, {}),
    "nig raw": (lk.fits.fit_nig, {"monotone": False}),
    "tied_nig": (lk.fits.fit_tied_nig, {}),
    "tied_nig 0.3": (lk.fits.fit_tied_nig, {"alpha": 0.3}),
    "mixture": (lk.fits.fit_mixture, {}),
    "mixture 1": (lk.fits.fit_mixture, {"components": 1, "alpha": 0.7}),
    "mixture grid": (lk.fits.fit_mixture, {"components": [0.5, 2.0, 8.0]}),
    "gamma": (lk.fits.fit_gamma, {}),
    "gamma plain": (lk.fits.fit_gamma, {"mirror": False}),
    "gamma mirror": (lk.fits.fit_gamma, {"mirror": True, "alpha": 0.4}),
    "kde": (lk.fits.fit_kde, {}),
    "kde raw": (lk.fits.fit_kde, {"monotone": False}),
    "bayes": (lk.fits.fit_bayes, {}),
    "bayes separate": (lk.fits.fit_bayes, {"shared_variance": False}),
    "bayes monotone": (lk.fits.fit_bayes, {"monotone": True}),
    "bigaussian": (lk.fits.fit_bigaussian, {}),
    "bigaussian eer": (lk.fits.fit_bigaussian, {"sigma_from": "eer"}),
    "bigaussian min_cllr": (lk.fits.fit_bigaussian, {"sigma_from": "min_cllr"}),
    "unsupervised": (lk.fits.fit_unsupervised, {}),
    "unsupervised 0.3": (lk.fits.fit_unsupervised, {"prior": 0.25}),
}
CLOSED_FORM = {"gaussian", "gaussian raw", "bayes", "bayes separate", "bayes monotone"}
DEFAULTS = {name for name in METHODS if " " not in name}


def named(names):
    """For parametrize: the methods as they are in the quick tests, those with options in the slow ones."""
    return [name if name in DEFAULTS else pytest.param(name, marks=pytest.mark.slow) for name in names]


every = pytest.mark.parametrize("name", named(METHODS))


def fit(name, source):
    method, options = METHODS[name]
    return method(source, **options)


@functools.cache
def scores():
    """Skewed, heavy-tailed, unequal classes that overlap: no model is exactly right."""
    rng = np.random.default_rng(20)
    target = 3.0 + 1.2 * rng.standard_t(6.0, 1500) + 0.4 * rng.exponential(1.0, 1500)
    return lk.Scores(target, rng.normal(0.0, 1.0, 4500) + 0.1 * rng.standard_t(5.0, 4500))


@functools.cache
def fitted_on_scores(name):
    return fit(name, scores())


def inside():
    """Scores over the central 99.9 %, and a few beyond."""
    pooled = np.append(scores().target, scores().nontarget)
    return np.append(np.quantile(pooled, np.linspace(0.0005, 0.9995, 201)), [-15.0, 25.0])


@every
def test_scores_may_be_shifted_and_scaled(name):
    moved = lk.Scores(2.5 * scores().target - 7.0, 2.5 * scores().nontarget - 7.0)
    tolerance = 1e-10 if name in CLOSED_FORM else 1e-6
    assert_allclose(fit(name, moved)(2.5 * inside() - 7.0), fitted_on_scores(name)(inside()), atol=tolerance)


SWAPPED = {
    "tied_nig 0.3": (lk.fits.fit_tied_nig, {"alpha": 0.7}),
    "mixture 1": (lk.fits.fit_mixture, {"components": 1, "alpha": 0.3}),
    "gamma plain": (lk.fits.fit_gamma, {"mirror": True}),
    "gamma mirror": (lk.fits.fit_gamma, {"mirror": False, "alpha": 0.6}),
    "unsupervised 0.3": (lk.fits.fit_unsupervised, {"prior": 0.75}),
}


@pytest.mark.parametrize("name", named(name for name in METHODS if "bigaussian" not in name))
def test_classes_and_sign_may_be_exchanged(name):
    # bi-Gaussianized calibration counts "up to and including", which is not symmetric
    method, options = SWAPPED.get(name, METHODS[name])
    swapped = method(lk.Scores(-scores().nontarget, -scores().target), **options)
    assert_allclose(-swapped(-inside()), fitted_on_scores(name)(inside()), atol=1e-6)


PASSES = {"gaussian": 1, "bayes": 1}


@every
def test_small_pieces_give_the_same_map(name):
    source = Pieces(scores(), pieces=60)
    assert_allclose(fit(name, source)(inside()), fitted_on_scores(name)(inside()), atol=1e-8)
    assert len(source.passes) == PASSES.get(name.split()[0], 2)


@every
def test_a_saved_map_gives_the_same_llrs_to_the_last_bit_and_never_nan(name):
    fitted = fitted_on_scores(name)
    again = reloaded(fitted)
    assert type(again) is type(fitted)
    probe = np.append(inside(), [-np.inf, np.inf, 0.0, -1e9, 1e9, -1e300, 1e300])
    assert_array_equal(again(probe), fitted(probe))
    assert not np.isnan(fitted(probe)).any()
    assert again.method == fitted.method
    assert dict(again.details) == dict(fitted.details)


@every
def test_more_target_like_scores_get_larger_llrs_and_the_inverse_comes_back(name):
    fitted = fitted_on_scores(name)
    llr = fitted(np.linspace(-1.0, 4.0, 40))
    steps = np.diff(llr)
    assert np.all(steps >= 0.0) if "raw" not in name else steps.sum() > 0.0
    assert_allclose(fitted.then(lk.maps.AffineMap(a=2.0, b=1.0))(np.linspace(-1.0, 4.0, 40)), 2.0 * llr + 1.0)
    if "raw" in name or name in ("bayes", "bayes separate"):
        with pytest.raises(lk.errors.NotInvertibleError):
            _ = fitted.inverse
        return
    x = np.quantile(scores().nontarget, np.linspace(0.1, 0.99, 50))
    x = x[x > fitted.details.get("monotone_low", -np.inf)]
    assert len(x) > 40
    llr = fitted(x)
    assert_allclose(fitted(fitted.inverse(llr)), llr, atol=1e-9)
    if not isinstance(fitted, KnotMap):  # those may have level parts
        assert_allclose(fitted.inverse(llr), x, atol=1e-6)


@every
def test_what_cannot_be_fitted_is_refused_for_its_own_reason(name):
    with pytest.raises(lk.errors.ConstantScoreError):
        fit(name, lk.Scores([1.0] * 9, [1.0] * 9))
    with pytest.raises(lk.errors.InfiniteScoreError, match="nontarget score at index 1"):
        fit(name, lk.Scores([1.0, 2.0, 3.0, 4.0, 2.5], [0.0, -np.inf, 1.0, 2.0, 0.5]))
    with pytest.raises(lk.errors.TooFewTrialsError):
        fit(name, lk.Scores([1.0], [0.0]))
    with pytest.raises(lk.errors.SystemCountError):
        fit(name, lk.Scores(np.ones((9, 2)), np.zeros((9, 2))))
    with pytest.raises((lk.errors.ConstantScoreError, lk.errors.SeparationError)):
        fit(name, lk.Scores([2.0] * 9, [1.0] * 9))


@pytest.mark.slow
@every
def test_tied_and_rounded_scores_fit(name):
    rounded = lk.Scores(np.round(scores().target * 2.0) / 2.0, np.round(scores().nontarget * 2.0) / 2.0)
    fitted = fit(name, rounded)
    assert np.isfinite(fitted([0.0, 1.0, 2.0])).all()
    assert np.abs(fitted(1.5) - fitted_on_scores(name)(1.5)) < 0.5


@pytest.mark.parametrize(
    "name", ["gaussian", "student_t", "nig", "tied_nig", "mixture", "gamma", "kde", "bayes"]
)
def test_reversed_scores_are_fitted_downwards(name):
    mirrored = lk.Scores(-scores().target, -scores().nontarget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit(name, mirrored)
    assert_allclose(fitted(-inside()), fitted_on_scores(name)(inside()), atol=1e-6)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (lk.fits.fit_tied_nig, {"alpha": 0.0}),
        (lk.fits.fit_mixture, {"alpha": 1.0}),
        (lk.fits.fit_mixture, {"components": 0}),
        (lk.fits.fit_mixture, {"components": [0.0, 1.0]}),
        (lk.fits.fit_mixture, {"components": "many"}),
        (lk.fits.fit_mixture, {"point_mass": np.inf}),
        (lk.fits.fit_gamma, {"mirror": "yes"}),
        (lk.fits.fit_gamma, {"alpha": 2.0}),
        (lk.fits.fit_kde, {"bandwidth": 0.0}),
        (lk.fits.fit_kde, {"bandwidth": "scott"}),
        (lk.fits.fit_bigaussian, {"sigma_from": "auc"}),
        (lk.fits.fit_bayes, {"prior": (1.0, 2.0)}),
        (lk.fits.fit_bayes, {"prior": (NormalGamma(1.0, 1.0, 2.0, 1.0), NormalGamma(0.0, 1.0, 1.0, 1.0))}),
        (lambda _, **belief: NormalGamma(**belief), {"mean": 0.0, "kappa": -1.0, "shape": 1.0, "rate": 1.0}),
        (lk.fits.fit_unsupervised, {"prior": 1.0}),
        (lk.fits.fit_unsupervised, {"supervised": "no such column"}),
    ],
)
def test_wrong_options_are_refused(method, options):
    with pytest.raises((lk.InputError, lk.errors.UnknownNameError)):
        method(scores(), **options)


@pytest.mark.filterwarnings("ignore::llrkit.errors.NoOverlapWarning")
def test_separated_classes_have_no_eer():
    rng = np.random.default_rng(2)
    apart = lk.Scores(rng.normal(100.0, 1.0, 50), rng.normal(0.0, 1.0, 50))
    for sigma_from in ("eer", "min_cllr"):
        with pytest.raises(lk.errors.SeparationError):
            lk.fits.fit_bigaussian(apart, sigma_from=sigma_from)
    assert lk.fits.fit_bigaussian(apart)(50.0) != 0.0  # the regularized regression has an answer


def test_scores_without_information_have_no_sigma():
    same = lk.Scores([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    for sigma_from in ("cllr", "eer", "min_cllr"):
        with pytest.raises(lk.InputError, match="no information"):
            lk.fits.fit_bigaussian(same, sigma_from=sigma_from)


def test_labels_that_may_be_used_come_from_a_column():
    import polars as pl

    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(3.0, 1.0, 300), rng.normal(0.0, 1.0, 900)
    known = (np.arange(300) % 3 == 0, np.arange(900) % 3 == 0)
    arrays = lk.Scores(target, nontarget, {"known": known})
    with_some = lk.fits.fit_unsupervised(arrays, supervised="known")
    assert with_some.details["n_labeled"] == 400
    assert with_some.a != lk.fits.fit_unsupervised(arrays).a
    table = pl.DataFrame(
        {
            "score": np.append(target, nontarget),
            "label": np.repeat([1, 0], [300, 900]),
            "known": np.append(*known),
        }
    )
    of_table = lk.fits.fit_unsupervised(lk.Trials(table, score="score", label="label"), supervised="known")
    assert_allclose([of_table.a, of_table.b], [with_some.a, with_some.b], rtol=1e-9)
    for yes, no in (("true", "False"), ("1", "0"), ("Yes", "no")):  # as text files have them
        words = table.with_columns(known=pl.when("known").then(pl.lit(yes)).otherwise(pl.lit(no)))
        of_words = lk.fits.fit_unsupervised(lk.Trials(words), supervised="known")
        assert (of_words.a, of_words.b) == (of_table.a, of_table.b)
    with pytest.raises(lk.InputError, match="must hold true and false, or 0 and 1, got maybe"):
        lk.fits.fit_unsupervised(lk.Trials(table.with_columns(known=pl.lit("maybe"))), supervised="known")
    with pytest.raises(lk.InputError, match="true and false"):
        lk.fits.fit_unsupervised(
            lk.Scores(target, nontarget, {"known": (target, nontarget)}), supervised="known"
        )


def test_thinning_states_its_error():
    x = np.linspace(0.0, 10.0, 5000)
    y = np.sin(x)
    few_x, few_y, error = thin_knots(x, y, 50)
    assert len(few_x) == 50
    assert_allclose(np.abs(np.interp(x, few_x, few_y) - y).max(), error, rtol=1e-9)
    assert error < 0.01
