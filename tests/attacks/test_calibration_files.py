"""Calibration files: a changed one is noticed, a broken one is refused in one line, no map writes NaN."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

import llrkit as lk
from llrkit.errors import LlrkitError, MapFileError
from llrkit.fits.fusion import ByMap
from llrkit.maps.bounds import BoundedMap
from llrkit.maps.files import map_from_dict
from llrkit.maps.map import AffineMap
from llrkit.multiclass.maps import map_from_dict as class_map_from_dict

TESTS = Path(__file__).parents[1]
SAVED = sorted((TESTS / "saved_maps").glob("*.json"))
SAVED_CLASSES = sorted((TESTS / "saved_class_maps").glob("*.json"))


def leaves(value, path=()):
    """The path of everything in a JSON document that is no bracket."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, (dict, list)):
        yield path
    for key, item in items:
        yield from leaves(item, (*path, key))


def changed(document, path, value):
    copy = json.loads(json.dumps(document))
    inside = copy
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return copy


def loaded(file):
    kept = json.loads(file.read_text())["map"]
    read = class_map_from_dict if file in SAVED_CLASSES else map_from_dict
    return read(kept)


@pytest.mark.parametrize("file", [*SAVED, *SAVED_CLASSES], ids=lambda file: file.stem)
def test_any_changed_value_of_any_map_is_noticed(tmp_path, file):
    path = tmp_path / "cal.json"
    loaded(file).save(path)
    load = lk.multiclass.load_map if file in SAVED_CLASSES else lk.load_map
    document = json.loads(path.read_text())
    assert document["checksum"].startswith("sha256:")
    load(path)  # what was saved is taken
    places = [place for place in leaves(document) if place[0] not in ("format", "kind", "checksum")]
    for place in places[:: max(1, len(places) // 3)]:
        path.write_text(json.dumps(changed(document, place, 0.123456789)))
        with pytest.raises(MapFileError):
            load(path)


def test_another_layout_of_the_same_content_is_no_change(tmp_path):
    path = tmp_path / "cal.json"
    AffineMap(a=0.1, b=1e-300, method="x", details={"ä": 1}).save(path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(document.items())), separators=(",", ":")))
    assert lk.load_map(path).a == 0.1


def test_files_without_a_checksum_still_load(tmp_path):
    path = tmp_path / "cal.json"
    path.write_text(json.dumps(AffineMap(a=2.0, b=0.0).to_dict()))
    assert lk.load_map(path).a == 2.0


def test_the_commands_refuse_a_changed_file_unless_told_otherwise(tmp_path):
    (tmp_path / "s.csv").write_text("score,label\n1.0,1\n-1.0,0\n")
    path, out = tmp_path / "cal.json", tmp_path / "out.csv"
    AffineMap(a=2.0, b=0.0, method="x").save(path)
    path.write_text(path.read_text().replace('"a": 2.0', '"a": 3.0'))
    apply = ["apply", path, tmp_path / "s.csv", "-o", out]
    assert run(*apply)[0] == 2
    assert not out.exists()
    assert run(*apply, "--accept-changed")[0] == 0
    assert "3.0" in out.read_text()
    (tmp_path / "c.toml").write_text('[[criterion]]\ncharacteristic = "accuracy"\nat_most = 9\n')
    validate = ["validate", tmp_path / "s.csv", "--criteria", tmp_path / "c.toml", "--map", path]
    assert run(*validate)[0] == 2
    assert "changed" in run(*validate, "--accept-changed")[2]


JUNK = ["nan", "inf", "-inf", None, True, "x", [], {}, [1.0], {"a": 1}, 1e308, 10**299, -1, {"items": 3},
        {"array": ["x"], "dtype": "float64", "shape": [1]}, {"text": 5},
        {"array": [1.0], "dtype": "float64", "shape": [-2]}, {"format": "llrkit.map/2"}]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # damaged parameters may overflow
@pytest.mark.parametrize("file", [*SAVED, *SAVED_CLASSES], ids=lambda file: file.stem)
def test_a_damaged_map_is_refused_or_maps_to_numbers(file):
    document = json.loads(file.read_text())["map"]
    read = class_map_from_dict if file in SAVED_CLASSES else map_from_dict
    rng = np.random.default_rng(5)
    places = list(leaves(document))
    places += [place[:i] for place in places for i in range(1, len(place))]
    places = sorted(set(places), key=str)
    picked = rng.choice(len(places), size=min(len(places), 5) if len(places) < 500 else 1, replace=False)
    refused = 0
    for at in picked:
        for junk in JUNK:
            damaged = changed(document, places[at], junk)
            try:
                fitted = read(damaged)
            except MapFileError:
                refused += 1
                continue
            assert not (file in SAVED and np.isnan(values_of(fitted)).any()), (places[at], junk)
    assert refused > 0


def values_of(fitted):
    """What a map says of some scores; an error of its own is as good as a number."""
    try:
        return np.asarray(fitted(np.array([-2.0, 0.0, 0.5])), dtype=float)
    except LlrkitError:
        return np.zeros(1)


AFFINE = AffineMap(a=1.0, b=0.0).to_dict()
DEEP = '{"x":' * 950 + "1" + "}" * 950
BROKEN = [
    '"kind": "affine", "parameters": {"a": Infinity, "b": 0}',
    '"kind": "affine", "parameters": {"a": 1, "b": "-inf"}',
    '"kind": "affine", "parameters": {"a": true, "b": 0}',
    f'"kind": "affine", "parameters": {DEEP}',
    f'"kind": {DEEP}, "parameters": {{"a": 1, "b": 0}}',
    f'"kind": "affine", "parameters": {{"a": 1, "b": 0}}, "options": {"[" * 5000 + "]" * 5000}',
    f'"kind": "affine", "parameters": {{"a": {"9" * 5000}, "b": 0}}',
    f'"kind": "affine", "parameters": {{"a": 1, "b": 0}}, "provenance": {{"low": -{"9" * 400}}}',
    '"kind": "by", "parameters": {"column": "x", "maps": {}, "fallback": null}',
    '"kind": "by", "parameters": {"column": "x", "maps": {"a": 1}, "fallback": null}',
    f'"kind": "by", "parameters": {{"column": 5, "maps": {{"a": {json.dumps(AFFINE)}}}, "fallback": null}}',
    f'"kind": "by", "parameters": {{"column": "x", "maps": {{"a": {json.dumps(AFFINE)}}}, "fallback": "y"}}',
]


def test_broken_files_are_refused(tmp_path):
    """Infinite, deeply nested and huge values, and maps by value that hold no maps."""
    path = tmp_path / "cal.json"
    for body in BROKEN:
        path.write_text(f'{{"format": "llrkit.map/2", "method": "x", {body}}}')
        with pytest.raises(MapFileError):
            lk.load_map(path)


def test_maps_that_need_more_than_scores_load_inside_others(tmp_path):
    rooms = ByMap(column="room", maps={"a": AffineMap(a=2.0, b=0.0)})
    made = BoundedMap(map=rooms.then(AffineMap(a=1.0, b=1.0)), low=-1.0, high=1.0)
    made.save(tmp_path / "m.json")
    again = lk.load_map(tmp_path / "m.json")
    assert again([0.0, 5.0], {"room": np.array(["a", "a"])}).tolist() == [1.0, 1.0]


def test_a_map_that_refuses_scores_outside_its_training_range_loads(tmp_path):
    scores = lk.Scores(np.linspace(6.0, 10.0, 30), np.linspace(5.0, 8.0, 30))
    lk.fit_pav(scores, outside="refuse").save(tmp_path / "m.json")
    assert np.isfinite(lk.load_map(tmp_path / "m.json")([7.0])).all()
