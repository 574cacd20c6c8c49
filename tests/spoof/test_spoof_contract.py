"""One contract for all numbers of spoofing trials: what may not change them, and what must."""

import inspect
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from own_source import OwnSource

import llrkit as lk
from llrkit import spoof
from llrkit.base.process import reduce_chunks
from llrkit.scores.source import Roles

SYSTEMS = ("asv", "cm", "sasv")
COSTS = spoof.SpoofCosts("mine", 0.5, 0.2, 0.3, 1.0, 2.0, 1.5)
# name of the public function -> how it is called here
METRICS = {
    "min_a_dcf": lambda t: spoof.min_a_dcf(t, COSTS),
    "a_dcf": lambda t: spoof.a_dcf(t, COSTS),
    "min_t_dcf": spoof.min_t_dcf,
    "min_t_dcf 2019": lambda t: spoof.min_t_dcf(t, "asvspoof2019"),
    "min_t_dcf joint": lambda t: spoof.min_t_dcf(t, COSTS, counting="joint", asv_threshold=0.3),
    "min_t_dcf free": lambda t: spoof.min_t_dcf(t, COSTS, asv_threshold="free"),
    "t_dcf": lambda t: spoof.t_dcf(t, COSTS, asv_threshold=0.3),
    "t_dcf_curve": lambda t: spoof.t_dcf_curve(t, COSTS, asv_threshold=0.3).cost.tolist(),
    "t_eer": spoof.t_eer,
    "t_eer_nearest": spoof.t_eer_nearest,
    "t_eer_paths": lambda t: [path.min for path in spoof.t_eer_paths(t, (0.0, 0.4, 1.0))],
    "eer_nearest": lambda t: spoof.eer_nearest(t.pair("cm", ("target", "nontarget"), ("spoof",))),
    "evaluate": lambda t: list(_numbers(spoof.evaluate(t, COSTS).to_dict())),
    "evaluate nearest": lambda t: list(_numbers(spoof.evaluate(t, COSTS, eer="nearest").to_dict())),
    "attack_detection": lambda t: list(_numbers(spoof.attack_detection(t, threshold=0.3).to_dict())),
}
NOT_METRICS = {"fit_sasv", "compare", "spoof_costs"}
ORDER_ONLY = ["min_a_dcf", "min_t_dcf", "min_t_dcf 2019", "min_t_dcf free", "t_eer", "t_eer_nearest",
              "t_eer_paths", "eer_nearest"]  # fmt: skip
# with one target twice the nearest point may lie half a step further
NEAREST = {"t_eer_nearest", "eer_nearest", "evaluate nearest", "min_t_dcf", "min_t_dcf 2019", "evaluate"}
everything = pytest.mark.parametrize("name", METRICS)


def _numbers(plain):
    """All numbers in a nested result, in order."""
    if isinstance(plain, dict):
        for value in plain.values():
            yield from _numbers(value)
    elif isinstance(plain, (list, tuple)):
        for value in plain:
            yield from _numbers(value)
    elif isinstance(plain, (int, float)):
        yield float(plain)


def make_table(seed=0, n=(23, 31, 41)):
    """Overlapping kinds with ties, on eighths, so that float32 holds them exactly."""
    rng = np.random.default_rng(seed)
    kind = np.repeat(["target", "nontarget", "spoof"], n)
    means = {"asv": (2, -2, 1), "cm": (2, 2, -2), "sasv": (2, -1, -2)}
    scores = {
        name: np.round(8 * (np.repeat(mean, n) + 1.5 * rng.normal(size=sum(n)))) / 8
        for name, mean in means.items()
    }
    attack = np.where(kind == "spoof", rng.choice(["A01", "A02"], sum(n)), "-")
    order = rng.permutation(sum(n))
    return {name: np.asarray(column)[order] for name, column in
            (scores | {"label": kind, "attack": attack}).items()}  # fmt: skip


TABLE = make_table()


def made(table):
    return spoof.SpoofTrials(table, attack="attack")


TRIALS = made(TABLE)


def assert_same(found, wanted):
    assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_no_number_is_forgotten():
    functions = {name for name in spoof.__all__ if inspect.isfunction(getattr(spoof, name))}
    assert functions == {name.split()[0] for name in METRICS} | NOT_METRICS


@everything
def test_order_of_trials_does_not_matter(name):
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(TABLE["label"]))
        shuffled = made({column: values[order] for column, values in TABLE.items()})
        assert_same(METRICS[name](shuffled), METRICS[name](TRIALS))


@pytest.mark.parametrize("name", [name for name in METRICS if name not in NEAREST])
def test_repetition_of_all_trials(name):
    twice = made({column: np.tile(values, 2) for column, values in TABLE.items()})
    if name == "attack_detection":
        plain = [spoof.attack_detection(t, threshold=0.3, asv_threshold=0.1) for t in (twice, TRIALS)]
        assert (plain[0].bpcer, plain[0].apcer, plain[0].iapar) == (
            plain[1].bpcer, plain[1].apcer, plain[1].iapar,
        )  # fmt: skip
        assert plain[0].n_bona_fide == 2 * plain[1].n_bona_fide
    else:
        assert_same(METRICS[name](twice), METRICS[name](TRIALS))


class Cut(OwnSource):
    """Trials in chunks of a given number, some of them without a kind, summarized by threads."""

    def __init__(self, scores, pieces, threads, names=()):
        self.scores, self.pieces, self.threads, self.names = scores, pieces, threads, names

    @property
    def roles(self):
        return Roles(score=SYSTEMS, label="label").carrying(*self.names)

    def with_columns(self, *names):
        return Cut(self.scores, self.pieces, self.threads, names)

    def reduce(self, summarize):
        whole = self.scores.with_columns(*self.names)
        rng = np.random.default_rng(self.pieces)
        cuts = [np.sort(rng.integers(0, n + 1, self.pieces - 1)) for n in (whole.n_target, whole.n_nontarget)]
        parts = [np.split(np.arange(n), cut) for n, cut in
                 zip((whole.n_target, whole.n_nontarget), cuts, strict=True)]  # fmt: skip
        chunks = [whole.select(t, n) for t, n in zip(*parts, strict=True)]
        return reduce_chunks(chunks, summarize, threads=self.threads)


@everything
def test_partition_into_chunks(name):
    target = TABLE["label"] == "target"
    systems = np.column_stack([TABLE[system] for system in SYSTEMS])
    columns = {name: (TABLE[name][target], TABLE[name][~target]) for name in ("label", "attack")}
    scores = lk.Scores(systems[target], systems[~target], columns)
    assert_same(METRICS[name](made(Cut(scores, 13, 2))), METRICS[name](TRIALS))


@pytest.mark.parametrize("name", ORDER_ONLY)
def test_a_rising_map_of_scores(name):
    mapped = {system: np.arctan(TABLE[system]) for system in SYSTEMS}
    assert_same(METRICS[name](made(TABLE | mapped)), METRICS[name](TRIALS))


@pytest.mark.parametrize("name", ["a_dcf", "min_t_dcf joint", "t_dcf", "t_dcf_curve", "attack_detection"])
def test_scale_matters_where_a_threshold_is_given(name):
    moved = {system: 3 * TABLE[system] + 1 for system in SYSTEMS}
    assert METRICS[name](made(TABLE | moved)) != METRICS[name](TRIALS)


@everything
def test_kind_of_input(name, need):
    for table in (
        {column: v.astype("f4") if v.dtype.kind == "f" else v for column, v in TABLE.items()},
        need("pandas").DataFrame(TABLE),
    ):
        assert METRICS[name](made(table)) == METRICS[name](TRIALS)


@everything
def test_other_data_give_another_value(name):
    assert METRICS[name](made(make_table(seed=5))) != METRICS[name](TRIALS)


@everything
def test_plain_numbers_come_back(name):
    value = METRICS[name](TRIALS)
    assert type(value) in (float, list)
    assert json.loads(json.dumps(value)) == value


def test_what_scores_of_non_targets_and_spoofs_exchange():
    """With equal priors and prices it does not matter which of the two others a trial is."""
    even = spoof.SpoofCosts("even", 0.5, 0.25, 0.25, 1.0, 2.0, 2.0)
    swapped = TABLE | {"label": np.array(
        [{"nontarget": "spoof", "spoof": "nontarget"}.get(word, word) for word in TABLE["label"]]
    )}  # fmt: skip
    results = [spoof.evaluate(spoof.SpoofTrials(t, sasv="sasv"), even) for t in (TABLE, swapped)]
    assert results[0].sv_eer == results[1].spf_eer
    assert results[0].sasv_eer == results[1].sasv_eer
    for kind in ("min", "act"):
        assert math.isclose(getattr(results[0].a_dcf[0], kind), getattr(results[1].a_dcf[0], kind))
