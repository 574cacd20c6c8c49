"""Every class of sources, found by walking the subclasses, keeps the contract of ``ScoreSource``."""

import inspect
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from modules import import_all
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.core.groups import grouped, trials_with_value
from llrkit.core.summaries import Moments, both, subclasses_of
from llrkit.engine.dask_source import DaskSource
from llrkit.engine.open import Files
from llrkit.fits.judge import SampledSource
from llrkit.multiclass.metrics import DetectionSource
from llrkit.scores import ScoreSource
from llrkit.scores.derived import DerivedSource, WeightedSource
from llrkit.scores.source import Roles, WrappedSource
from llrkit.simulate.speakers import ConcatenatedTrials, CrossTrials, DrawnPairs, SparseTrials
from llrkit.simulate.trials import SimulatedTrials

TABLE = pl.DataFrame(
    {
        "plda": [2.0, 1.5, -1.0, 0.25, -2.0, 0.5], "ecapa": [3.0, 0.5, -2.0, 1.0, -1.0, 2.5],
        "label": ["target", "target", "nontarget", "nontarget", "nontarget", "target"],
        "model": ["a", "b", "a", "b", "c", "c"], "segment": ["x", "y", "y", "x", "x", "z"],
        "room": ["p", "q", "p", "q", "p", "q"], "times": [1.0, 2.0, 1.0, 1.0, 3.0, 1.0],
    }
)  # fmt: skip
ROLES = Roles(("plda", "ecapa"), "label", "model", "segment", weight="times")


def in_memory():
    return lk.Trials.of(TABLE, ROLES, origin="dev.csv")


def in_files(folder):
    TABLE.write_csv(folder / "dev.csv")
    scores = lk.scan_trials(folder / "dev.csv", score=ROLES.score, weight="times")
    assert isinstance(scores, Files)
    return scores


def on_cluster(folder, client):
    TABLE.write_parquet(folder / "dev.parquet")
    return lk.DaskSource.from_parquet(folder / "dev.parquet", client, score=ROLES.score, weight="times")


def independent_trials():
    pair = lk.theory.GaussianLLR(2.0)
    return lk.simulate.simulate_trials(pair, n_target=20, n_nontarget=30)


@cache
def plda_trials():
    voices = lk.simulate.Population.between_eers(0.05, 0.25, dim=10)
    return lk.simulate.simulate_plda(voices, n_speakers=6, n_models=6, n_tests=6, rng=1)


def sparse_trials():
    every = plda_trials().sources[0]
    pairs = DrawnPairs.of(every.enroll, every.test, n_trials=12, rng=1)
    return SparseTrials(every.enroll, every.test, 100.0, 100.0, every.scorer, pairs=pairs)


def classes():
    values = np.random.default_rng(1).normal(size=(9, 3))
    return lk.scores.ClassScores(values, [0, 1, 2] * 3, columns={"room": np.arange(9) % 2})


# how one of each class is made, and a column it can carry; a class without a line here fails below
EXAMPLES = {
    lk.Scores: (lambda *_: lk.Scores([1.0, 2.0], [0.0, -1.0, 3.0], {"room": ([1, 2], [1, 2, 2])}), "room"),
    lk.Trials: (lambda *_: in_memory(), "room"),
    Files: (lambda folder, _: in_files(folder), "room"),
    DaskSource: (on_cluster, "room"),
    DerivedSource: (lambda *_: trials_with_value(in_memory(), "room", "q"), "segment"),
    WeightedSource: (lambda *_: lk.scores.weigh(in_memory()._replace(weight=None), "times"), "room"),
    SampledSource: (lambda *_: SampledSource(in_memory()), "room"),
    SimulatedTrials: (lambda *_: independent_trials(), "test"),
    CrossTrials: (lambda *_: plda_trials().sources[0], "test"),
    SparseTrials: (lambda *_: sparse_trials(), "test"),
    ConcatenatedTrials: (lambda *_: plda_trials(), "test"),
    DetectionSource: (lambda *_: lk.multiclass.detection(classes(), "1"), "room"),
}  # fmt: skip
for room in ("scores", "core", "maps", "fits", "engine", "simulate", "trust", "multiclass"):
    import_all(f"llrkit.{room}")
SOURCES = sorted(
    (cls for cls in subclasses_of(ScoreSource) if cls.__module__.startswith("llrkit.")),
    key=lambda cls: cls.__name__,
)
CONCRETE = [cls for cls in SOURCES if not inspect.isabstract(cls)]


def cases(classes):
    """Every class as a parameter; workers are started in the slow tests only."""
    slow = {DaskSource: pytest.mark.slow}
    return [pytest.param(cls, marks=slow.get(cls, ()), id=cls.__name__) for cls in classes]


every_source = pytest.mark.parametrize("cls", cases(CONCRETE))


@pytest.fixture
def make(tmp_path, request):
    """``make(cls)`` gives an example of a class of sources and a column that it has."""

    def example(cls):
        assert cls in EXAMPLES, f"{cls.__name__} has no example in this test"
        client = request.getfixturevalue("client") if cls is DaskSource else None
        create, column = EXAMPLES[cls]
        source = create(tmp_path, client)
        assert type(source) is cls
        return source, column

    return example


@every_source
def test_roles_name_every_system_and_what_is_carried(cls, make):
    source, column = make(cls)
    wide = source.with_columns(column)
    assert isinstance(wide, ScoreSource)
    assert isinstance(source.roles, Roles)
    assert wide.roles == replace(source.roles, carried=(column,))
    moments, by_value = wide.reduce(both(Moments.of, grouped(Moments.of, (column,)))).summaries
    assert len(moments.target.mean) == source.roles.n_systems
    assert len(by_value.groups) > 1


@every_source
def test_a_column_that_is_not_there_is_refused(cls, make):
    source, _ = make(cls)
    with pytest.raises(lk.errors.UnknownNameError, match="noise"):
        source.with_columns("noise").reduce(Moments.of)


@every_source
def test_a_row_has_a_place_in_words(cls, make):
    source, _ = make(cls)
    assert source.place(2).endswith(("row 2 (counted from 0)", "line 4"))


@every_source
@pytest.mark.parametrize("wrap", ["derived", "weighted"])
def test_wrappers_keep_every_role_of_what_they_wrap(cls, make, wrap):
    source, column = make(cls)
    if wrap == "derived":
        wrapped = DerivedSource(source, lambda chunk: chunk)
        assert wrapped.roles == replace(source.roles, carried=())
    else:
        wrapped = WeightedSource(source, column)
        assert wrapped.roles == replace(source.roles, carried=(), weight=column)
    assert isinstance(wrapped, WrappedSource)
    assert wrapped.place(1) == source.place(1)


@pytest.mark.parametrize("cls", cases([lk.Trials, Files, DaskSource]))
def test_tables_have_the_same_roles_wherever_they_are_read(cls, make):
    source, _ = make(cls)
    assert source.roles == ROLES
    moments = source.reduce(Moments.of)
    assert (moments.target.count, moments.nontarget.count) == (4, 5)  # as the weights say


def test_prepared_scores_are_made_once_for_all_summaries():
    calls = []

    def prepare(values):
        calls.append(len(values))
        return np.sort(values)

    scores = lk.Scores([2.0, 1.0], [0.0, -1.0, 3.0])
    first, second = scores.prepared(prepare), scores.prepared(prepare)
    assert calls == [2, 3]
    assert first is second
    assert_array_equal(first[0], [1.0, 2.0])
