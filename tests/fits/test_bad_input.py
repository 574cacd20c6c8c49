"""The table of bad input in docs/reference/calibrators.md: each row is a test."""

import numpy as np
import pytest

import llrkit as lk


def broken_file(tmp_path):
    (tmp_path / "broken.json").write_text('{"format": "llrkit.map/1", "kind": "affine"}')
    lk.load_map(tmp_path / "broken.json")


def other_version(tmp_path):
    (tmp_path / "new.json").write_text('{"format": "llrkit.map/2"}')
    lk.load_map(tmp_path / "new.json")


def two_systems():
    rng = np.random.default_rng(1)
    return lk.Scores(rng.normal(1, 1, (50, 2)), rng.normal(-1, 1, (50, 2)))


ROWS = {
    "reversed scores": (
        lk.errors.ReversedScoresWarning,
        lambda _: lk.fit_logistic(lk.Scores([0.0, 1.0, 2.5] * 20, [2.0, 3.0, 0.5] * 20)),
    ),
    "scores unlike the method's model": (
        lk.errors.ShapeWarning,
        lambda _: lk.fit_cmlg(lk.Scores(np.arange(2000.0) / 100, np.arange(4000.0) / 4000)),
    ),
    "a map that does badly on its own training trials": (
        lk.errors.PoorFitWarning,
        lambda _: lk.calibrate(
            lk.Scores([1.0] * 90 + [0.1, 0.3, 0.6] * 10, [1.0] * 5 + [0.0, 0.2, 0.7] * 30), method="nig"
        ),
    ),
    "classes that do not overlap, in a map without bounds": (
        lk.errors.NoOverlapWarning,
        lambda _: lk.calibrate(lk.Scores([3.0, 4.0, 3.5], [0.0, 1.0, 2.0]), method="cmlg", bound="none"),
    ),
    "constant scores": (lk.errors.ConstantScoreError, lambda _: lk.fit_cmlg(lk.Scores([1.0, 1.0], [1.0]))),
    "complete separation": (
        lk.errors.SeparationError,
        lambda _: lk.fit_logistic(lk.Scores([2.0, 3.0], [0.0, 1.0])),
    ),
    "a class with one trial, where a spread is needed": (
        lk.errors.TooFewTrialsError,
        lambda _: lk.fits.fit_gaussian(lk.Scores([2.0], [0.0, 1.0])),
    ),
    "an empty class": (lk.errors.EmptyClassError, lambda _: lk.fit_cmlg(lk.Scores([], [0.0, 1.0]))),
    "infinite scores in a fit": (
        lk.errors.InfiniteScoreError,
        lambda _: lk.fit_cmlg(lk.Scores([2.0, np.inf], [0.0])),
    ),
    "a map applied to NaN": (
        lk.errors.NaNScoreError,
        lambda _: lk.maps.AffineMap(a=1.0, b=0.0)([0.0, np.nan]),
    ),
    "several systems where one is expected": (
        lk.errors.SystemCountError,
        lambda _: lk.fit_cmlg(two_systems()),
    ),
    "a fusion applied to the wrong number of systems": (
        lk.errors.SystemCountError,
        lambda _: lk.fit_fusion(two_systems())([1.0, 2.0, 3.0]),
    ),
    "the inverse of a map that has none": (
        lk.errors.NotInvertibleError,
        lambda _: lk.maps.AffineMap(a=0.0, b=0.0).inverse,
    ),
    "an unknown method, rule or column": (
        lk.errors.UnknownNameError,
        lambda _: lk.compare(lk.Scores([1.0], [0.0]), lk.Scores([1.0], [0.0]), "magic"),
    ),
    "a broken calibration file": (lk.errors.MapFileError, broken_file),
    "a calibration file of another version": (lk.errors.MapFileError, other_version),
}


@pytest.mark.filterwarnings("ignore::llrkit.errors.ScaleWarning")
@pytest.mark.parametrize("kind", ROWS)
def test_each_kind_of_bad_input_has_its_exception(kind, tmp_path):
    expected, do = ROWS[kind]
    if issubclass(expected, Warning):
        with pytest.warns(expected):
            do(tmp_path)
    else:
        with pytest.raises(expected) as caught:
            do(tmp_path)
        assert caught.type is expected
