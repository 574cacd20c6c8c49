"""The checks scikit-learn has for every estimator."""

import warnings

import pytest


def quick_and_slow(names, quick):
    """All ``names`` for parametrize; scikit-learn's own checks take seconds, so all but one are slow."""
    return [name if name == quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


def assert_passes_every_check(estimator):
    """No check fails, none is expected to, and many have been made."""
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks feed nonsense on purpose
        results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = [f"{row['check_name']}: {row['exception']!r}" for row in results if row["status"] == "failed"]
    assert failed == []
    assert [row for row in results if row["status"] == "xfail"] == []
    assert sum(row["status"] == "passed" for row in results) >= 55
