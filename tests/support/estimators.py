"""The checks scikit-learn has for every estimator."""

import warnings


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
