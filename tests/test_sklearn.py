"""The scikit-learn estimators: the whole contract, and agreement with the library."""

import warnings

import numpy as np
import pytest
from estimators import assert_passes_every_check, quick_and_slow
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk

NAMES = [
    "BayesCalibrator", "BiGaussianCalibrator", "CMLGCalibrator", "ExpectationCalibrator", "GammaCalibrator",
    "GaussianCalibrator", "KDECalibrator", "LogisticCalibrator", "MixtureCalibrator", "NIGCalibrator",
    "PAVCalibrator", "RuleCalibrator", "SaturatingCalibrator", "StudentTCalibrator", "TiedNIGCalibrator",
    "UnsupervisedCalibrator",
]  # fmt: skip


@pytest.fixture(scope="session")
def estimators(need):
    need("sklearn")
    import llrkit.sklearn

    return llrkit.sklearn


def test_every_estimator_is_in_this_test(estimators):
    found = {name for name in estimators.__all__ if name.endswith("Calibrator")}
    assert found == set(NAMES)


@pytest.mark.parametrize("name", quick_and_slow(NAMES, "CMLGCalibrator"))
def test_passes_every_check_of_scikit_learn(estimators, name):
    assert_passes_every_check(getattr(estimators, name)())


@pytest.fixture
def data():
    rng = np.random.default_rng(4)
    y = rng.random(800) < 0.4
    return rng.normal(np.where(y, 2.0, -1.0), 1.5)[:, None], np.where(y, "same", "different")


@pytest.mark.parametrize("name", NAMES)
def test_shapes_posteriors_and_decisions(estimators, data, name):
    X, y = data
    made = getattr(estimators, name)(prior=0.2).fit(X, y)
    llr = made.decision_function(X)
    assert llr.shape == (800,)
    assert_array_equal(made.transform(X), llr[:, None])
    proba = made.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(np.log(proba[:, 1] / proba[:, 0]) - np.log(0.2 / 0.8), llr, atol=1e-6)
    assert_array_equal(made.predict(X), np.where(llr >= np.log(4.0), "same", "different"))
    assert list(made.get_feature_names_out()) == ["llr"]


# The function behind each estimator, and a value other than the default for each of its options.
BEHIND = {
    "BayesCalibrator": ("fit_bayes", {"shared_variance": False, "monotone": True}),
    "BiGaussianCalibrator": ("fit_bigaussian", {"sigma_from": "eer"}),
    "CMLGCalibrator": ("fit_cmlg", {"alpha": 0.1}),
    "ExpectationCalibrator": ("fit_expectation", {"regularization": 0.01}),
    "GammaCalibrator": ("fit_gamma", {"alpha": 0.1, "mirror": True}),
    "GaussianCalibrator": ("fit_gaussian", {"monotone": False}),
    "KDECalibrator": ("fit_kde", {"bandwidth": 1.0, "monotone": False}),
    "LogisticCalibrator": ("fit_logistic", {"robust": 0.05, "regularization": 3.0}),
    "MixtureCalibrator": ("fit_mixture", {"components": 1, "alpha": 0.1, "point_mass": 0.3}),
    "NIGCalibrator": ("fit_nig", {"monotone": False}),
    "PAVCalibrator": (
        "fit_pav",
        {"laplace": "pairs", "ends": "nearest", "outside": "tilt", "tilt": 0.1, "max_knots": 8},
    ),
    "RuleCalibrator": ("fit_rule", {"rule": "boosting"}),
    "SaturatingCalibrator": ("fit_saturating", {"max_passes": 1}),
    "StudentTCalibrator": ("fit_student_t", {"monotone": False}),
    "TiedNIGCalibrator": ("fit_tied_nig", {"alpha": 0.1}),
    "UnsupervisedCalibrator": ("fit_unsupervised", {}),
}
WITH = {"ends": {"laplace": "none"}, "outside": {"tilt": 0.1}, "tilt": {"outside": "tilt"}}
"""Options that say something only beside others."""
NOT_HERE = {("SaturatingCalibrator", "max_passes"), ("BayesCalibrator", "monotone")}
"""Options that leave these scores as they are."""
FITTED_AT_THE_PRIOR = {"LogisticCalibrator", "RuleCalibrator", "SaturatingCalibrator"}


@pytest.mark.parametrize("name", NAMES)
def test_every_option_reaches_the_library(estimators, data, name):
    X, y = data
    X = np.sinh(np.where(y == "same", 0.4, 0.8)[:, None] * X)  # tails and spreads the options are about
    probe = np.append(X[:, 0], [-40.0, 40.0])
    fit, others = BEHIND[name]
    assert set(getattr(estimators, name)().get_params()) == {"prior", "pos_label", *others}
    scores = lk.Scores(X[y == "same", 0], X[y == "different", 0])
    given = [{}, *({**WITH.get(key, {}), key: value} for key, value in others.items())]
    if name in FITTED_AT_THE_PRIOR:
        given.append({"prior": 0.1})
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.LlrkitWarning)
        for options in given:
            made = getattr(estimators, name)(**options).fit(X, y)
            found.append(made.decision_function(probe[:, None]))
            assert_allclose(found[-1], getattr(lk.fits, fit)(scores, **options)(probe), rtol=1e-12)
    for llrs, key in zip(found[1:], [*others, "prior"], strict=False):
        assert (name, key) in NOT_HERE or np.abs(llrs - found[0]).max() > 1e-3


FUSE_THEMSELVES = {"CMLGCalibrator", "LogisticCalibrator", "RuleCalibrator"}


@pytest.fixture
def two_columns(data):
    X, y = data
    other = np.random.default_rng(1).normal(np.where(y == "same", 1.0, 0.0), 1.0)
    two = np.column_stack([X[:, 0], other])
    return two, y, lk.Scores(two[y == "same"], two[y == "different"])


@pytest.mark.parametrize("name", NAMES)
def test_several_columns_are_fused_by_the_method_or_before_it(estimators, two_columns, name):
    X, y, scores = two_columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.LlrkitWarning)
        made = getattr(estimators, name)().fit(X, y)
        llrs = made.decision_function(X)
        if name in FUSE_THEMSELVES:
            assert isinstance(made.map_, lk.maps.LinearMap)
            assert_allclose(llrs, X @ made.map_.weights + made.map_.offset, rtol=1e-12)
            return
        first = lk.fit_fusion(scores)
        one = getattr(estimators, name)().fit(first(X)[:, None], y)
    assert_allclose(llrs, one.decision_function(first(X)[:, None]), rtol=1e-12)


def test_columns_are_fused_as_in_the_library(estimators, two_columns):
    X, y, scores = two_columns
    for name, method in (("CMLGCalibrator", "gaussian"), ("LogisticCalibrator", "logistic")):
        made = getattr(estimators, name)().fit(X, y)
        assert_allclose(made.decision_function(X), lk.fit_fusion(scores, method=method)(X), rtol=1e-12)


@pytest.mark.parametrize("rule", ["brier", "boosting"])
def test_a_rule_fuses_columns_at_its_own_minimum(estimators, two_columns, rule):
    X, y, scores = two_columns
    made = estimators.RuleCalibrator(rule=rule, prior=0.3).fit(X, y).map_

    def cost(weights, offset):
        moved = lk.maps.LinearMap(weights=weights, offset=offset, systems=["a", "b"])
        return lk.metrics.rule_cost(moved.on(scores), rule=rule, prior=0.3)

    lowest = cost(made.weights, made.offset)
    for step in ([0.01, 0, 0], [-0.01, 0, 0], [0, 0.01, 0], [0, -0.01, 0], [0, 0, 0.01], [0, 0, -0.01]):
        assert cost(made.weights + step[:2], made.offset + step[2]) > lowest


def test_reversed_scores_warn_and_do_not_raise(estimators, data):
    X, y = data
    with pytest.warns(lk.errors.ReversedScoresWarning):
        estimators.CMLGCalibrator().fit(-X, y)


def test_words_that_would_be_read_the_wrong_way_round_are_refused(estimators, data):
    X, y = data
    with pytest.raises(lk.errors.LabelError, match="impostor"):
        estimators.CMLGCalibrator().fit(X, np.where(y == "same", "genuine", "impostor"))


def test_inside_a_pipeline_with_cross_validation(estimators, data):
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = data
    scores = cross_val_score(make_pipeline(StandardScaler(), estimators.LogisticCalibrator()), X, y, cv=4)
    assert scores.mean() > 0.8
