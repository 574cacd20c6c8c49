"""scikit-learn as its users expect it: scorers, weights, any labels, cross-fitting, routing."""

import pickle
import warnings

import numpy as np
import pytest
from estimators import assert_passes_every_check
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk


@pytest.fixture(scope="module")
def tools(need):
    need("sklearn")
    import llrkit.sklearn

    return llrkit.sklearn


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    y = rng.random(900) < 0.3
    X = rng.normal(size=(900, 3)) + np.outer(y, [1.2, 0.6, 0.0])
    return X, y.astype(int), rng.integers(1, 4, 900)


# ---------------------------------------------------------------------------------------------- scorers


def values_of(scores, labels):
    return {
        "eer": -lk.eer(scores, labels), "auc": lk.auc(scores, labels), "cllr": -lk.cllr(scores, labels),
        "min_cllr": -lk.min_cllr(scores, labels), "min_dcf": -lk.min_dcf(scores, labels, point=0.01),
        "act_dcf": -lk.act_dcf(scores, labels, point=0.01),
    }  # fmt: skip


def test_scorers_are_the_metrics_with_greater_being_better(tools, data):
    from sklearn.model_selection import KFold, cross_validate
    from sklearn.svm import LinearSVC

    X, y, _ = data
    folds = KFold(3)
    found = cross_validate(
        LinearSVC(), X, y, cv=folds, scoring=tools.scorers.by_name(), return_estimator=True
    )
    for fold, (_, test) in enumerate(folds.split(X)):
        margin = found["estimator"][fold].decision_function(X[test])
        for name, value in values_of(margin, y[test]).items():
            assert found[f"test_{name}"][fold] == pytest.approx(value, rel=1e-12), name


def test_scikit_learn_takes_scorers_by_name(tools, data):
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import get_scorer, get_scorer_names
    from sklearn.model_selection import GridSearchCV, cross_val_score

    X, y, _ = data
    X, y, model, grid = X[:300], y[:300], LogisticRegression(), {"C": [1e-6, 1.0]}
    for name, scorer in tools.scorers.by_name().items():
        assert get_scorer(name) == scorer == pickle.loads(pickle.dumps(scorer))
        assert name in get_scorer_names()
        each = cross_val_score(model, X, y, scoring=name, cv=3)
        assert_array_equal(each, cross_val_score(model, X, y, scoring=scorer, cv=3))
    several = GridSearchCV(model, grid, scoring=["eer", "min_cllr"], refit="eer", cv=3).fit(X, y)
    ways = [LogisticRegression(C=C) for C in grid["C"]]
    assert several.best_score_ == max(cross_val_score(one, X, y, scoring="eer", cv=3).mean() for one in ways)


def test_a_scorer_takes_probabilities_points_and_labels(tools, data):
    from sklearn.ensemble import RandomForestClassifier

    X, y, _ = data
    forest = RandomForestClassifier(20, random_state=0).fit(X[:600], y[:600])
    proba = forest.predict_proba(X[600:])[:, 1]
    assert tools.scorers.auc(forest, X[600:], y[600:]) == lk.auc(proba, y[600:])
    with np.errstate(divide="ignore"):
        odds = np.log(proba) - np.log1p(-proba)
    point = lk.OperatingPoint(0.2, 3.0, 1.0)
    cost = tools.scorers.act_dcf.at(point)(forest, X[600:], y[600:])
    assert cost == pytest.approx(-lk.act_dcf(odds, y[600:], point=point), rel=1e-12)
    # swapping who is the target swaps the two kinds of errors
    swapped = tools.scorers.min_dcf.at((0.8, 1.0, 3.0)).of(0)(forest, X[600:], y[600:])
    assert swapped == pytest.approx(tools.scorers.min_dcf.at(point)(forest, X[600:], y[600:]), rel=1e-12)


def test_words_tell_a_scorer_who_is_the_target(tools, data):
    from sklearn.linear_model import LogisticRegression

    X, y, _ = data
    words = np.where(y == 1, "bonafide", "spoof")
    model = LogisticRegression().fit(X, words)
    cost = tools.scorers.min_dcf.at("sre08")(model, X, words)
    assert cost == pytest.approx(-lk.min_dcf(-model.decision_function(X), words, point="sre08"), rel=1e-12)
    assert cost != pytest.approx(-lk.min_dcf(model.decision_function(X), y == 0, point="sre08"))


# --------------------------------------------------------------------------------- weights and labels


@pytest.mark.parametrize(
    "name", ["CMLGCalibrator", "LogisticCalibrator", "PAVCalibrator", "GaussianCalibrator"]
)
@pytest.mark.parametrize("columns", [1, 2])
def test_a_weight_is_a_number_of_copies(tools, data, name, columns):
    X, y, times = data
    times = np.where(np.arange(len(times)) % 5, times, 0)
    some, again = X[:, :columns], np.repeat(np.arange(len(times)), times)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.LlrkitWarning)
        weighted = getattr(tools, name)().fit(some, y, sample_weight=times)
        copied = getattr(tools, name)().fit(some[again], y[again])
        plain = getattr(tools, name)().fit(some, y)
    assert_allclose(weighted.transform(some), copied.transform(some), rtol=1e-6, atol=1e-9)
    assert np.abs(weighted.transform(some) - plain.transform(some)).max() > 1e-3


def test_scorers_take_weights_by_metadata_routing(tools, data):
    import sklearn
    from sklearn.model_selection import KFold, cross_val_score

    X, y, times = data
    one = X[:, :1]
    with sklearn.config_context(enable_metadata_routing=True):
        calibrator = tools.CMLGCalibrator().set_fit_request(sample_weight=True)
        scorer = tools.scorers.cllr.set_score_request(sample_weight=True)
        found = cross_val_score(
            calibrator, one, y, scoring=scorer, cv=KFold(2), params={"sample_weight": times}
        )
        unweighted = cross_val_score(
            calibrator, one, y, scoring=tools.scorers.cllr.set_score_request(sample_weight=False),
            cv=KFold(2), params={"sample_weight": times},
        )  # fmt: skip
    expected = []
    for train, test in KFold(2).split(one):
        many_train, many_test = (np.repeat(part, times[part]) for part in (train, test))
        llr = lk.fit_cmlg(one[many_train, 0], y[many_train])(one[many_test, 0])
        expected.append(-lk.cllr(llr, y[many_test]))
    assert_allclose(found, expected, rtol=1e-9)
    assert np.abs(found - unweighted).min() > 1e-5


def test_pos_label_decides_who_is_the_target(tools, data):
    X, y, _ = data
    one = X[:, :1]
    words = np.where(y == 1, "bonafide", "spoof")
    with pytest.raises(lk.errors.LabelError):
        tools.CMLGCalibrator().fit(one, words)
    made = tools.CMLGCalibrator(pos_label="bonafide", prior=0.3).fit(one, words)
    plain = tools.CMLGCalibrator(prior=0.3).fit(one, y)
    assert_array_equal(made.transform(one), plain.transform(one))
    assert_array_equal(made.decision_function(one), -plain.decision_function(one))
    assert_array_equal(made.predict_proba(one), plain.predict_proba(one)[:, ::-1])
    assert_array_equal(made.predict(one) == "bonafide", plain.predict(one) == 1)
    assert made.score(one, words) == plain.score(one, y)


# ----------------------------------------------------------------------------------------- cross-fitting


@pytest.mark.slow
def test_cross_fitting_passes_every_check_of_scikit_learn(tools):
    assert_passes_every_check(tools.LLRClassifierCV())


def test_cross_fitting_by_hand(tools, data):
    from sklearn.model_selection import KFold
    from sklearn.svm import LinearSVC

    X, y, _ = data
    model = tools.LLRClassifierCV(LinearSVC(), tools.CMLGCalibrator(), cv=KFold(4)).fit(X, y)
    scores = np.empty(len(y))
    for train, test in KFold(4).split(X):
        scores[test] = LinearSVC().fit(X[train], y[train]).decision_function(X[test])
    assert_allclose(model.scores_, scores, rtol=1e-12)
    calibrate = lk.fit_cmlg(scores, y)
    margins = LinearSVC().fit(X, y).decision_function(X)
    assert_allclose(model.transform(X)[:, 0], calibrate(margins), rtol=1e-9)


def test_cross_fitting_keeps_groups_apart(tools):
    """Features that say nothing but which group a trial is of: they separate the classes only by leaking."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    groups = rng.permutation(np.repeat(np.arange(60), 8))
    y = groups % 2
    X = np.eye(60)[groups] + 0.01 * rng.normal(size=(480, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.LlrkitWarning)
        leaking = tools.LLRClassifierCV(LogisticRegression()).fit(X, y)
        honest = tools.LLRClassifierCV(LogisticRegression()).fit(X, y, groups=groups)
    assert lk.auc(leaking.scores_, y) == 1.0
    assert lk.auc(honest.scores_, y) < 0.7


def test_cross_fitting_routes_weights_and_groups(tools, data):
    import sklearn
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_score

    X, y, times = data
    groups = np.arange(len(y)) % 9
    plain = tools.LLRClassifierCV(LogisticRegression(), cv=GroupKFold(3)).fit(X, y, times, groups)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = LogisticRegression().set_fit_request(sample_weight=True)
        model = tools.LLRClassifierCV(asking, cv=GroupKFold(3))
        routed = model.fit(X, y, sample_weight=times, groups=groups)
        model.set_fit_request(sample_weight=True, groups=True)
        inside = cross_val_score(
            model, X, y, cv=3, scoring=tools.scorers.eer.set_score_request(sample_weight=False),
            params={"sample_weight": times, "groups": groups},
        )  # fmt: skip
    assert_array_equal(routed.transform(X), plain.transform(X))
    assert inside.shape == (3,)
    assert (inside > -0.4).all()
    unweighted = tools.LLRClassifierCV(LogisticRegression(), cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert np.abs(unweighted.transform(X) - plain.transform(X)).max() > 1e-3
