"""Summaries of several classes as an algebra, and the maps as files."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from modules import import_all
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.core.summaries import SummaryBase, subclasses_of
from llrkit.multiclass.fits import Family, SoftmaxSums
from llrkit.multiclass.maps import (
    ClassMap,
    ClassMeans,
    ProbabilityRows,
    ScaleMap,
    Scatter,
    TrainingTrials,
    map_from_dict,
)
from llrkit.multiclass.metrics import ClassCounts, ClassLosses, Detection

mc = lk.multiclass
K = 3
COST = np.array([[0.0, 1, 2, 0.3], [1, 0, 1, 0.3], [4, 1, 0, 0.3]])
FAMILY = Family(K, 1, "offset", np.zeros(0), np.ones(1))
SUMMARIES = {
    "ClassCounts": ClassCounts.of,
    "ClassLosses": ClassLosses.at(
        np.log([0.2, 0.3, 0.5]), [COST], [Detection(np.ones(K), 0.0), Detection(np.ones(K), 2.0)]
    ),
    "ClassMeans": ClassMeans.of,
    "Scatter": Scatter.at(np.ones((K, K - 1)), np.array([1.0, 2.0, 0.5])),
    "Scatter of each": Scatter.at(np.ones((K, K - 1)), None),
    "SoftmaxSums": SoftmaxSums.at(
        FAMILY, np.arange(4.0), np.log(np.ones(K) / K), np.ones(K), 0.1 * np.ones(K)
    ),
}
every = pytest.mark.parametrize("name", SUMMARIES)


def chunk(n, seed):
    rng = np.random.default_rng(seed)
    return lk.scores.ClassScores.part(
        rng.normal(size=(n, K)).round(1), rng.integers(0, K, n), ("a", "b", "c")
    )


def joined(*chunks):
    values = np.concatenate([one.values for one in chunks])
    return lk.scores.ClassScores.part(
        values, np.concatenate([one.codes for one in chunks]), chunks[0].classes
    )


def assert_same(a, b):
    assert type(a) is type(b)
    for name in a.__dataclass_fields__:
        one, other = getattr(a, name), getattr(b, name)
        if isinstance(one, tuple) and one and isinstance(one[0], np.ndarray):
            for x, y in zip(one, other, strict=True):
                assert_allclose(x, y, rtol=1e-12, atol=1e-12)
        elif isinstance(one, (np.ndarray, float, int)):
            assert_allclose(one, other, rtol=1e-12, atol=1e-11)
        else:
            assert one == other


@every
def test_sums_grouping_order_and_the_empty_chunk(name):
    of = SUMMARIES[name]
    for seed in range(5):
        chunks = [chunk(n, 10 * seed + n) for n in (7, 1, 12)]
        a, b, c = map(of, chunks)
        nothing = of(chunk(0, 0))
        assert_same((a + b) + c, a + (b + c))
        assert_same(a + b, b + a)
        assert_same(a + b + c, of(joined(*chunks)))
        assert_same(a + nothing, a)
        assert_same(nothing + a, a)
        assert_same(a * 3, of(joined(chunks[0], chunks[0], chunks[0])))
        assert_same((a + b) * 0.5, a * 0.5 + b * 0.5)
        assert_same(pickle.loads(pickle.dumps(a)), a)
    with pytest.raises(AssertionError):
        assert_same(a + b, a)


def test_rows_are_probabilities_if_they_are_in_every_chunk():
    yes = lk.scores.ClassScores([[0.25, 0.75], [1.0, 0.0]], [0, 1])
    for no in ([[0.5, 0.6]], [[1.5, -0.5]], [[0.2, 0.2]]):
        other = lk.scores.ClassScores.part(np.array(no), np.array([0]), ("0", "1"))
        parts = [ProbabilityRows.of(yes), ProbabilityRows.of(other)]
        assert [part.others for part in parts] == [0.0, 1.0]
        assert (parts[0] + parts[1]).others == 1.0
        assert (parts[0] + parts[0] * 2.0).others == 0.0


def test_every_summary_is_in_this_test():
    import_all("llrkit.multiclass")
    ours = {cls for cls in subclasses_of(SummaryBase) if cls.__module__.startswith("llrkit.multiclass")}
    private = {cls for cls in ours if cls.__name__.startswith("_")}
    assert ours - private == {type(make(chunk(3, 0))) for make in SUMMARIES.values()} | {
        TrainingTrials,
        ProbabilityRows,
    }


def training():
    rng = np.random.default_rng(2013)
    labels = np.arange(120) % 3
    loglik = (rng.normal(size=(120, 3)) + 1.5 * np.eye(3)[labels]).round(3)
    return lk.scores.ClassScores(loglik, labels, ["en", "de", "nl"])


def fits():
    scores = training()
    two = lk.scores.ClassScores.stack(
        [scores, lk.scores.ClassScores(scores.loglik[:, ::-1], scores.codes, scores.classes)]
    )
    made = {
        "temperature": mc.fit_temperature(scores),
        "scale-offset": mc.fit_scale_offset(scores, prior=[0.5, 0.3, 0.2]),
        "vector": mc.fit_vector(scores),
        "affine": mc.fit_affine(scores),
        "gaussian": mc.fit_gaussian(scores),
        "free-gaussian": mc.fit_gaussian(scores, shared=False),
        "fusion": mc.fit_fusion(two),
    }
    return {**made, "composed": made["gaussian"].then(made["temperature"])}


FITS = fits()
SAVED = Path(__file__).parents[1] / "saved_class_maps"


@pytest.mark.parametrize("name", FITS)
def test_round_trip_through_a_file_to_the_last_bit(name, tmp_path):
    fitted = FITS[name]
    fitted.save(tmp_path / "map.json")
    again = mc.load_map(tmp_path / "map.json")
    probe = np.random.default_rng(1).normal(size=(9, *fitted.shape))
    assert_array_equal(again(probe), fitted(probe))
    assert_allclose(again(probe[0]), fitted(probe)[0], rtol=1e-14, atol=1e-14)
    assert (again.method, again.classes, again.options) == (
        fitted.method,
        fitted.classes,
        dict(fitted.options),
    )
    assert json.loads((tmp_path / "map.json").read_text())["format"] == "llrkit.class_map/1"
    with pytest.raises(lk.errors.MapFileError):
        lk.load_map(tmp_path / "map.json")


@pytest.mark.parametrize("name", FITS)
def test_a_file_saved_long_ago_still_gives_the_same_log_likelihoods(name):
    kept = json.loads((SAVED / f"{name}.json").read_text())
    fitted = map_from_dict(kept["map"])
    assert_allclose(fitted(np.array(kept["trials"])), np.array(kept["loglik"]), rtol=1e-12, atol=1e-12)


def test_every_kind_of_map_was_saved():
    assert {cls.kind for cls in subclasses_of(ClassMap)} == {fitted.kind for fitted in FITS.values()}


def whole(**changes):
    plain = {"format": "llrkit.class_map/1", "kind": "class_scale", "method": "x"}
    numbers = {"dtype": "float64", "shape": [1], "array": [2.0]}
    parameters = {
        "classes": ["a", "b"],
        "scales": numbers,
        "offsets": {"dtype": "float64", "shape": [2], "array": [0.0, 0.0]},
    }
    return {**plain, "parameters": parameters, **changes}


@pytest.mark.parametrize(
    "plain",
    [
        [],
        {"format": "llrkit.map/1", "kind": "affine"},
        whole(format="llrkit.class_map/9"),
        whole(kind="magic"),
        whole(parameters={"classes": ["a", "b"]}),
        whole(parameters={**whole()["parameters"], "classes": ["a", "b", "c"]}),
        whole(parameters={**whole()["parameters"], "scales": "inf"}),
        whole(method=3),
    ],
)
def test_broken_files_are_refused_with_the_reason(plain, tmp_path):
    (tmp_path / "broken.json").write_text(json.dumps(plain))
    with pytest.raises(lk.errors.MapFileError) as caught:
        mc.load_map(tmp_path / "broken.json")
    assert "broken.json" in str(caught.value)


def test_maps_check_what_they_are_given():
    fitted, scores = FITS["scale-offset"], training()
    with pytest.raises(lk.errors.SystemCountError):
        fitted(np.zeros((2, 4)))
    with pytest.raises(lk.errors.NaNScoreError):
        fitted([[0.0, 1, 2], [0.0, np.nan, 1]])
    with pytest.raises(lk.errors.NaNScoreError):
        FITS["affine"]([[0.0, -np.inf, np.inf]])
    with pytest.raises(lk.errors.LabelError):
        fitted(lk.scores.ClassScores(scores.loglik, scores.codes, ["nl", "de", "en"]))
    with pytest.raises(lk.errors.LabelError):
        fitted(lk.scores.ClassScores(scores.loglik, scores.codes, ["x", "y", "z"]))
    with pytest.raises(lk.errors.SystemCountError):
        fitted.then(FITS["fusion"])
    with pytest.raises(lk.InputError):
        fitted.posteriors(np.zeros((1, 3)), prior="counts")
    assert fitted(scores).ids is None
    assert_allclose(fitted.posteriors(scores).sum(axis=1), 1.0, rtol=1e-12)
    assert fitted([[-np.inf, 0.0, 1.0]])[0, 0] == -np.inf
    twice = fitted.then(ScaleMap(classes=["en", "de", "nl"], scales=np.array([2.0]), offsets=np.zeros(3)))
    assert_allclose(twice(scores.loglik), 2 * fitted(scores.loglik), rtol=1e-14)
    assert_allclose(mc.cllr(fitted.on(scores)), mc.cllr(fitted(scores)), rtol=1e-14)
