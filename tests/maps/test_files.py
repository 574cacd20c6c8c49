"""Calibration files: what is refused, and that old files load for ever."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.maps.files import map_from_dict

SAVED = Path(__file__).parents[1] / "saved_maps"


@pytest.mark.parametrize("path", sorted(SAVED.glob("*.json")), ids=lambda path: path.stem)
def test_a_file_saved_long_ago_still_gives_the_same_llrs(path):
    kept = json.loads(path.read_text())
    fitted = map_from_dict(kept["map"], path.name)
    columns = {name: np.array(values) for name, values in kept.get("columns", {}).items()}
    if kept["method"] == "lineup":
        found = fitted.llr_of_rank(np.array(kept["scores"]), np.array(kept["cohort"]))
    else:
        found = fitted(np.array(kept["scores"]), columns)
    assert_allclose(found, np.array(kept["llrs"], dtype=float), rtol=1e-12, atol=1e-12)


def test_there_is_a_file_for_every_method():
    saved = {path.stem for path in SAVED.glob("*.json")}
    fits = {name.removeprefix("fit_") for name in lk.fits.__all__ if name.startswith("fit_")}
    assert fits <= saved


def affine(**changes):
    """The text of a calibration file with something changed."""
    whole = {"format": "llrkit.map/1", "kind": "affine", "method": "x", "parameters": {"a": 1, "b": 0}}
    return json.dumps({**whole, **changes})


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"a": 1}', '{"format": "llrkit.map/99"}', '{"format": "llrkit.map/1"}', "[" * 100_000,
        affine(kind="magic"), affine(kind=[]), affine(method=3), affine(details=[]),
        affine(parameters=None), affine(parameters={"a": 1}), affine(parameters={"a": "one", "b": 0}),
        affine(parameters={"a": "nan", "b": 0}), affine(parameters={"a": [1.0], "b": 0}),
        affine(options={"text": "inf"}), affine(kind="composed", parameters={"first": 1, "second": 2}),
    ],
    ids=range(18),
)  # fmt: skip
def test_broken_files_are_refused_by_name(tmp_path, text):
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(lk.errors.MapFileError, match=r"broken\.json"):
        lk.load_map(path)


def test_missing_file_and_binary_file(tmp_path):
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    for name in ("nothing.json", "b.json"):
        with pytest.raises(lk.errors.MapFileError):
            lk.load_map(tmp_path / name)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0])
def test_numbers_keep_their_last_bit(tmp_path, value):
    details = {"odd": float("inf"), "text": "nan", "none": None}
    lk.maps.AffineMap(a=value, b=-value, method="x", details=details).save(tmp_path / "m.json")
    again = lk.load_map(tmp_path / "m.json")
    assert (again.a, again.b) == (value, -value)
    assert dict(again.details) == details


@pytest.mark.parametrize(
    "names", [["text"], ["items"], ["format", "x"], ["array", "dtype", "shape"], ["inf", "nan"]]
)
def test_groups_may_have_any_name(tmp_path, names):
    rng = np.random.default_rng(1)
    room = np.array(names, dtype=object)[np.arange(60) % len(names)]
    label = np.arange(60) // len(names) % 2
    trials = lk.Trials({"score": rng.normal(label, 1.0), "label": label, "room": room.tolist()})
    fitted = lk.fits.fit_by(trials, column="room", method=lk.fit_logistic, regularization=1.0)
    fitted.save(tmp_path / "m.json")
    assert_array_equal(lk.load_map(tmp_path / "m.json")(trials), fitted(trials))


def test_composed_maps_and_inverses_survive(tmp_path):
    made = lk.maps.AffineMap(a=2.0, b=1.0).then(lk.maps.AffineMap(a=-0.3, b=0.2))
    made.save(tmp_path / "m.json")
    again = lk.load_map(tmp_path / "m.json")
    x = np.linspace(-5, 5, 11)
    assert_array_equal(again(x), made(x))
    assert_allclose(made.inverse(made(x)), x, atol=1e-12)
    with pytest.raises(lk.errors.NotInvertibleError):
        _ = lk.maps.AffineMap(a=0.0, b=1.0).inverse


def test_saving_leaves_no_other_files(tmp_path):
    lk.maps.AffineMap(a=1.0, b=0.0).save(tmp_path / "m.json")
    lk.maps.AffineMap(a=2.0, b=0.0).save(tmp_path / "m.json")
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
    with pytest.raises(FileNotFoundError):
        lk.maps.AffineMap(a=1.0, b=0.0).save(tmp_path / "no" / "m.json")


@pytest.mark.parametrize("given", [0.5, [0.5, 1.0], np.zeros((2, 3)), np.float32(2.0)])
def test_shapes_of_what_a_map_is_called_with(given):
    found = lk.maps.AffineMap(a=2.0, b=0.0)(given)
    assert np.shape(found) == np.shape(given)
    assert_allclose(found, 2.0 * np.asarray(given))


def test_a_map_refuses_nan_and_keeps_infinities():
    fitted = lk.maps.AffineMap(a=2.0, b=1.0)
    with pytest.raises(lk.errors.NaNScoreError, match="index 1"):
        fitted([0.0, np.nan])
    assert_array_equal(fitted([-np.inf, np.inf]), [-np.inf, np.inf])
    assert_array_equal(lk.maps.AffineMap(a=0.0, b=1.0)([-np.inf, np.inf]), [1.0, 1.0])


@pytest.mark.parametrize(
    ("name", "place", "key"),
    [("logistic", "options", "regularization"), ("unsupervised", "details", "n_labeled")],
)
def test_files_with_names_in_the_spelling_of_before_load_with_those_of_now(name, place, key):
    fitted = map_from_dict(json.loads((SAVED / f"{name}.json").read_text())["map"])
    assert getattr(fitted, place)[key] == 0.0
