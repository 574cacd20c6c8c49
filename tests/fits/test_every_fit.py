"""What holds for every calibrator there is, whatever it does: the list comes from ``__all__``."""

import functools
import inspect
import json
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from own_source import OwnSource
from pieces import Pieces, collected

import llrkit as lk
from llrkit.scores.source import Roles

pytestmark = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")

FITS = [name for name in lk.fits.__all__ if name.startswith("fit_")]
# The quick tests of densities are in test_generative_contract.py, on other trials and with closer limits.
DENSITIES = ["gaussian", "student_t", "nig", "tied_nig", "mixture", "gamma", "kde", "bayes", "bigaussian"]
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow] if name.removeprefix("fit_") in DENSITIES else [])
    for name in FITS
]
# What a calibrator needs besides a source; everything not named here takes a source and nothing else.
NEEDS = {
    "fit_by": {"column": "room", "method": lk.fit_cmlg},
    "fit_quality": {"columns": ["seconds"]},
    "fit_lineup": {"by": "test"},
    "fit_best": {"methods": "cmlg,logistic", "folds": 2, "repeats": 1},
}
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "calibrators.md"


def documented():
    """What calibrators.md promises: function -> (the most passes, bytes, bytes for each target more)."""
    found = {}
    for line in DOCS.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("| `fit_") and len(cells) == 7:
            passes, memory = re.fullmatch(r"(?:\d+ to )?(\d+)", cells[4]), re.match(r"(\d+) MB", cells[5])
            per = re.search(r"(\d+) bytes per", cells[5])
            for name in re.findall(r"`(fit_\w+)`", cells[1]):
                found[name] = (
                    int(passes[1]) if passes else None,
                    int(memory[1]) * 1e6 if memory else None,
                    int(per[1]) if per else 0,
                )
    return found


DOCUMENTED = documented()
# These depend on what they are asked for: two values of a one-pass method; the options in NEEDS.
DEPENDS = {"fit_by": 3, "fit_best": 30}


def call(name, source):
    return getattr(lk.fits, name)(source, **NEEDS.get(name, {}))


@functools.cache
def scores(systems=1, n_target=3_000, n_nontarget=9_000, factor=1.0, shift=0.0):
    rng = np.random.default_rng(17)
    size = (n_target,) if systems == 1 else (n_target, systems)
    other = (n_nontarget,) if systems == 1 else (n_nontarget, systems)
    columns = {
        "room": (np.arange(n_target) % 2, np.arange(n_nontarget) % 2),
        "seconds": (rng.uniform(3, 60, n_target), rng.uniform(3, 60, n_nontarget)),
        "test": (np.arange(n_target) % 300, np.arange(n_nontarget) % 300),
    }
    target, nontarget = rng.normal(2.0, 1.7, size), rng.normal(-2.0, 2.0, other)
    return lk.Scores(factor * target + shift, factor * nontarget + shift, columns)


def trials_of(name, **options):
    return scores(2 if name == "fit_fusion" else 1, **options)


@functools.cache
def fitted(name, **options):
    """The map of the trials as they are: several tests compare with it."""
    return call(name, trials_of(name, **options))


def llrs_of(fitted, source):
    """LLRs on trials, as two arrays."""
    return np.concatenate(collected(fitted.on(source)))


@pytest.mark.parametrize("name", NAMES)
def test_sees_its_data_through_summaries_only_in_few_passes(name):
    whole = trials_of(name)
    source = Pieces(whole, pieces=5, seed=3)
    of_pieces = call(name, source)
    assert 1 <= len(source.passes) <= DEPENDS.get(name, DOCUMENTED[name][0])
    assert_allclose(llrs_of(of_pieces, whole), llrs_of(fitted(name), whole), rtol=1e-6, atol=1e-6)


class Made(OwnSource):
    """Trials that are made chunk by chunk, always the same, and exist one chunk at a time."""

    n_target, n_nontarget = 200, 60_000

    def __init__(self, systems, chunks, names=()):
        self.systems, self.chunks, self.names = systems, chunks, names

    @property
    def roles(self):
        return Roles(tuple(f"system{i + 1}" for i in range(self.systems)), carried=self.names)

    def reduce(self, summarize):
        total = None
        for i in range(self.chunks):
            rng = np.random.default_rng(1000 + i)
            shape = () if self.systems == 1 else (self.systems,)
            target = rng.normal(2.0, 1.7, (self.n_target, *shape))
            nontarget = rng.normal(-2.0, 2.0, (self.n_nontarget, *shape))
            columns = {
                "room": (np.arange(self.n_target) % 2, np.arange(self.n_nontarget) % 2),
                "seconds": (rng.uniform(3, 60, self.n_target), rng.uniform(3, 60, self.n_nontarget)),
                "test": (np.arange(self.n_target) + 200 * i, np.arange(self.n_nontarget) % 200 + 200 * i),
            }
            chunk = lk.Scores.part(target, nontarget, {name: columns[name] for name in self.names})
            part = summarize(chunk)
            total = part if total is None else total + part
        return total

    def with_columns(self, *names):
        for name in names:
            if name not in ("room", "seconds", "test"):
                raise lk.errors.UnknownNameError(name)
        made = Made(self.systems, self.chunks, names)
        made.n_nontarget = self.n_nontarget
        return made


def peak_memory(name, source):
    fitted(name)  # imports and caches are not the method's memory
    tracemalloc.start()
    try:
        call(name, source)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FITS if name != "fit_best"])
def test_memory_does_not_grow_with_the_trials(name):
    systems = 2 if name == "fit_fusion" else 1
    peaks = [peak_memory(name, Made(systems, chunks)) for chunks in (6, 24)]
    # 18 more chunks hold 8.7 MB of scores of one system; only what grows with the 3,600 targets may be added
    assert peaks[1] < peaks[0] + 3e6


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FITS if name not in DEPENDS])
def test_a_fit_holds_no_more_than_the_documentation_says(name):
    systems, chunks = (2 if name == "fit_fusion" else 1), 40
    source = Made(systems, chunks)
    source.n_nontarget = 1_500  # chunks that are small beside what a fit may hold
    _, memory, per_target = DOCUMENTED[name]
    assert peak_memory(name, source) < memory + per_target * chunks * source.n_target


@pytest.mark.parametrize("name", NAMES)
def test_affine_change_of_the_scores_changes_nothing(name):
    plain, moved = trials_of(name), trials_of(name, factor=3.7, shift=-41.0)
    first, second = llrs_of(fitted(name), plain), llrs_of(call(name, moved), moved)
    # iterative fits stop within 1e-6 of the optimum; their LLRs agree to about as much
    assert_allclose(first, second, rtol=2e-5, atol=2e-5)


# Methods that do not treat the classes alike, and why.
ASYMMETRIC = {
    "fit_bigaussian": "a share of trials up to and including a score, as published, is not one from it on",
    "fit_lineup": "the foils are the non-target trials",
}


@pytest.mark.parametrize("name", NAMES)
def test_exchanging_the_classes_and_the_sign_negates_the_llr(name):
    whole = trials_of(name)
    columns = {key: (values[1], values[0]) for key, values in whole.columns.items()}
    swapped = lk.Scores(-whole.nontarget, -whole.target, columns)
    there = llrs_of(fitted(name), whole)
    # llrs_of gives targets first: of the exchanged trials those are the former non-targets
    back = -np.roll(llrs_of(call(name, swapped), swapped), whole.n_target)
    if name in ASYMMETRIC:
        assert np.abs(back - there).max() > 1e-3, "symmetric after all: take it off the list"
    else:
        assert_allclose(back, there, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", FITS)
def test_round_trip_through_a_file_to_the_last_bit(name, tmp_path):
    whole, first = trials_of(name), fitted(name)
    first.save(tmp_path / "map.json")
    again = lk.load_map(tmp_path / "map.json")
    assert_array_equal(llrs_of(again, whole), llrs_of(first, whole))
    assert again.method == first.method
    assert json.loads((tmp_path / "map.json").read_text())["provenance"]["llrkit"] == lk.__version__


@pytest.mark.parametrize("name", FITS)
def test_infinite_and_constant_scores_are_refused_and_nothing_is_modified(name):
    whole = trials_of(name, n_target=60, n_nontarget=120)
    before = whole.target.copy(), whole.nontarget.copy()
    fitted(name, n_target=60, n_nontarget=120)
    assert_array_equal(whole.target, before[0])
    assert_array_equal(whole.nontarget, before[1])
    target = whole.target.copy()
    target[7] = np.inf
    # also in a group, the index is that in the array that was given
    with pytest.raises(lk.InputError, match="target score at index 7 is infinite"):
        call(name, lk.Scores(target, whole.nontarget, whole.columns))
    if name not in ("fit_fusion", "fit_quality"):
        two = [np.column_stack([side, side]) for side in (whole.target, whole.nontarget)]
        with pytest.raises(lk.errors.SystemCountError):
            call(name, lk.Scores(*two, whole.columns))
    # line-ups go by ranks, and a quality measure may vary where the score does not
    if name not in ("fit_lineup", "fit_best", "fit_quality"):
        with pytest.raises(lk.errors.ConstantScoreError):
            call(name, lk.Scores(0 * whole.target, 0 * whole.nontarget, whole.columns))


@pytest.mark.parametrize("name", FITS)
def test_options_that_make_no_sense_are_refused_by_name_or_have_a_meaning(name):
    few = scores(2 if name == "fit_fusion" else 1, n_target=60, n_nontarget=120)
    parameters = list(inspect.signature(getattr(lk.fits, name)).parameters.values())[2:]  # after the labels
    if name != "fit_by":
        assert all(parameter.kind is not parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    for option in (one for one in parameters if one.kind is not one.VAR_KEYWORD):
        for value in ("no", -1, float("nan"), [], object()):
            given = {**NEEDS.get(name, {}), option.name: value}
            try:
                getattr(lk.fits, name)(few, **given)
            except lk.LlrkitError:
                continue
            assert not isinstance(option.default, bool), f"{option.name}={value!r}"
            # a number, a list of names and a rule have many values; none of these is one of them
            assert (option.name, value) in [("point_mass", -1), ("quality_columns", []), ("systems", [])]
