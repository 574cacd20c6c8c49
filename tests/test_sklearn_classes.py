"""The scikit-learn estimators of several classes: the whole contract, and agreement with the library."""

from inspect import signature

import numpy as np
import pytest
from estimators import assert_passes_every_check, quick_and_slow
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk

mc = lk.multiclass
FITS = {
    "TemperatureScaling": mc.fit_temperature,
    "ScaleOffsetScaling": mc.fit_scale_offset,
    "VectorScaling": mc.fit_vector,
    "AffineScaling": mc.fit_affine,
}
NAMES = [*FITS, "GaussianBackEnd"]


@pytest.fixture(scope="session")
def estimators(need):
    need("sklearn")
    import llrkit.sklearn

    return llrkit.sklearn


@pytest.fixture
def data():
    rng = np.random.default_rng(4)
    y = rng.choice(["en", "de", "nl"], 600, p=[0.5, 0.3, 0.2])
    codes = np.unique(y, return_inverse=True)[1]
    return 2.5 * (rng.normal(size=(600, 3)) + 1.5 * np.eye(3)[codes]), y, codes


@pytest.mark.parametrize("name", quick_and_slow(NAMES, "TemperatureScaling"))
def test_passes_every_check_of_scikit_learn(estimators, name):
    assert_passes_every_check(getattr(estimators, name)())


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("prior", ["flat", "counts", [0.2, 0.5, 0.3]])
def test_agrees_with_the_library(estimators, data, name, prior):
    X, y, codes = data
    made = getattr(estimators, name)(prior=prior).fit(X, y)
    fitted = FITS[name](lk.scores.ClassScores(X, codes), prior=prior)
    assert_allclose(made.transform(X), fitted(X), rtol=1e-9, atol=1e-9)
    share = {"flat": np.full(3, 1 / 3), "counts": np.bincount(codes) / 600}.get(str(prior), prior)
    assert_allclose(made.predict_proba(X), fitted.posteriors(X, share), rtol=1e-9, atol=1e-12)
    best = made.predict_proba(X).argmax(axis=1)
    assert_array_equal(made.predict(X), made.classes_[best])
    assert list(made.get_feature_names_out()) == ["loglik_de", "loglik_en", "loglik_nl"]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_the_fit(estimators, name):
    fit = FITS.get(name, mc.fit_gaussian)
    options = {key: one.default for key, one in signature(fit).parameters.items() if key != "source"}
    assert getattr(estimators, name)().get_params() == options | {"prior": "flat"}


def test_the_gaussian_back_end_is_linear_discriminant_analysis(estimators, data):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    X, y, _ = data
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    ours = estimators.GaussianBackEnd(prior="counts", weights="counts").fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    free = estimators.GaussianBackEnd(shared=False).fit(X, y)
    assert free.score(X, y) > 0.6


def test_vectors_are_made_scores_first(estimators):
    rng = np.random.default_rng(2)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 7)) + rng.normal(size=(3, 7))[y]
    made = estimators.ScaleOffsetScaling().fit(X, y)
    assert made.transform(X).shape == (300, 3)
    assert_allclose(made.predict_proba(X), estimators.AffineScaling().fit(X, y).predict_proba(X), atol=1e-6)


def test_separable_data_warn_and_do_not_raise(estimators):
    X = 9.0 * np.eye(3)[np.arange(30) % 3] + np.random.default_rng(0).normal(size=(30, 3))
    with pytest.warns(lk.LlrkitWarning, match="regularization=0.01"):
        made = estimators.ScaleOffsetScaling().fit(X, np.arange(30) % 3)
    assert made.score(X, np.arange(30) % 3) == 1.0


def test_inside_a_pipeline_with_cross_validation(estimators, data):
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, _ = data
    scores = cross_val_score(make_pipeline(StandardScaler(), estimators.GaussianBackEnd()), X, y, cv=3)
    assert scores.mean() > 0.6


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_is_a_number_of_copies(estimators, data, name):
    X, y, _ = data
    times = np.random.default_rng(6).integers(0, 4, len(y))
    copied = getattr(estimators, name)().fit(X.repeat(times, axis=0), y.repeat(times))
    weighted = getattr(estimators, name)().fit(X, y, sample_weight=times)
    assert_array_equal(weighted.transform(X), copied.transform(X))
    # halves cannot be copied: their sums are weighted, and a common factor does not matter
    halved = getattr(estimators, name)().fit(X, y, sample_weight=0.5 * times)
    assert_allclose(halved.transform(X), copied.transform(X), rtol=1e-7, atol=1e-7)
    plain = getattr(estimators, name)().fit(X, y)
    assert np.abs(plain.transform(X) - copied.transform(X)).max() > 1e-3
    with pytest.raises(ValueError, match="class 'nl' have weight 0"):
        getattr(estimators, name)().fit(X, y, sample_weight=(y != "nl").astype(float))
