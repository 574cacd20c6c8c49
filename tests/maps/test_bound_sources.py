"""Bounds by what the data show: counts against brute force, every name, separated classes, and the cost."""

import math

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import Pieces, reloaded, speaker_trials
from shared_speakers import sample

import llrkit as lk
from llrkit.core.groups import JoinedNumbers
from llrkit.fits.folds import crossed_source, training_source
from llrkit.maps.bounds import count_sources

LINE = lk.maps.AffineMap(a=1.0, b=0.0, method="line")
SIDES = ("left", "right")


def counted_by_hand(table, left="left", right="right"):
    """Sets of Python values: speakers of targets, unordered pairs of non-targets."""
    rows = list(zip(table[left], table[right], table["label"], strict=True))
    speakers = {value for a, b, target in rows if target for value in (a, b)}
    return len(speakers), len({frozenset((a, b)) for a, b, target in rows if not target})


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("n", [90, 400])
def test_counts_against_brute_force(names, n):
    trials = sample(n_speakers=25, n=n, names=names)
    expected = counted_by_hand(trials.table)
    counts = count_sources(trials, SIDES)
    assert (counts.n_target, counts.n_nontarget) == expected
    assert (counts.target, counts.nontarget, counts.exact) == ("speakers", "pairs", True)
    bounded = lk.maps.bound_sources(LINE, trials, speakers=SIDES)
    assert_allclose([bounded.low, bounded.high], [-math.log(1 + expected[0]), math.log(1 + expected[1])])


def test_all_pairs_of_speakers_against_theory():
    counts = count_sources(speaker_trials(12), ("one", "two"))
    assert (counts.n_target, counts.n_nontarget) == (12, 12 * 11 / 2)


@pytest.mark.parametrize("speakers", [None, "left", SIDES])
def test_same_counts_from_pieces_and_files(speakers, tmp_path):
    trials = sample(n_speakers=9, names=True)
    expected = lk.maps.bound_sources(LINE, trials, speakers=speakers)
    pieces = Pieces(trials.with_columns(*SIDES).scores())
    trials.table.write_parquet(tmp_path / "trials.parquet", row_group_size=37)
    for source in (pieces, lk.scan_trials(tmp_path / "trials.parquet")):
        bounded = lk.maps.bound_sources(LINE, source, speakers=speakers)
        assert bounded.details == expected.details
    assert len(pieces.passes) == expected.details["passes"]


def test_one_column_counts_its_values_in_each_class():
    columns = {"who": (["a", "b", "b"], ["c", "c", "d", "e"])}
    scores = lk.Scores([1.0, 2.0, 3.0], [0.0, -1.0, -2.0, -3.0], columns)
    counts = count_sources(scores, "who")
    assert (counts.n_target, counts.n_nontarget) == (2, 3)
    assert count_sources(scores, ["who"]) == counts


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # the targets are of one speaker, who meets three others
        ((["a"] * 5, ["a"] * 4), (["a"] * 5, ["b", "c", "c", "d"]),
         (5, "trials of one speaker", 3, "pairs")),
        # one pair of two speakers
        ((["a", "b"] * 2 + ["a"], ["a", "b"] * 2), (["a", "b"] * 2 + ["a"], ["b", "a"] * 2),
         (2, "speakers", 2, "speakers")),
        # non-targets (spoofed, say) that claim the only speaker there is
        ((["a"] * 5, ["a"] * 4), (["a"] * 5, ["a"] * 4),
         (5, "trials of one speaker", 4, "trials of one speaker")),
    ],
)  # fmt: skip
def test_a_class_with_one_source_is_counted_by_speakers_or_trials(left, right, expected):
    scores = lk.Scores(np.arange(5.0), -np.arange(4.0), {"left": left, "right": right})
    counts = count_sources(scores, SIDES)
    assert (counts.n_target, counts.target, counts.n_nontarget, counts.nontarget) == expected


def test_models_and_segments_stand_for_the_speakers_they_share():
    """Columns with ids in place of speakers: those that share a target trial are one speaker."""
    speakers = sample(n_speakers=8, n=3_000)
    rng = np.random.default_rng(1)
    session = rng.integers(0, 2, (len(speakers), 2))
    table = speakers.table.with_columns(
        model=np.char.add(np.char.add("m", speakers.table["left"].cast(pl.String).to_numpy().astype(str)),
                          np.char.add(".", session[:, 0].astype(str))),
        segment=np.char.add(np.char.add("s", speakers.table["right"].cast(pl.String).to_numpy().astype(str)),
                            np.char.add(".", session[:, 1].astype(str))),
    )  # fmt: skip
    expected = counted_by_hand(table)
    assert counted_by_hand(table, "model", "segment")[1] > 2 * expected[1]
    trials = lk.Trials(table)
    counts = count_sources(trials, ("model", "segment"))
    assert (counts.n_target, counts.n_nontarget) == expected
    pieces = Pieces(trials.with_columns("model", "segment").scores())
    again = count_sources(pieces, ("model", "segment"))
    assert again == counts
    assert len(pieces.passes) == counts.passes


def test_weights_count_for_trials_and_not_for_speakers():
    columns = {"who": (["a", "b"], ["c", "d", "e"]), "times": ([1.5, 3], [1, 1, 0])}
    weighed = lk.scores.weigh(lk.Scores([1.0, 2.0], [0.0, -1.0, -2.0], columns), "times")
    assert (count_sources(weighed).n_target, count_sources(weighed).n_nontarget) == (4.5, 2)
    assert_allclose(lk.maps.bound_sources(LINE, weighed).low, -math.log(5.5))
    counts = count_sources(weighed, "who")
    assert (counts.n_target, counts.n_nontarget) == (2, 2)  # a trial that does not count shows nobody


def test_too_many_pairs_are_estimated_and_said():
    n = 1500
    pairs = n * (n - 1) // 2  # more than are counted one by one
    one, two = np.triu_indices(n)
    trials = lk.Trials(
        {"score": np.where(one == two, 2.0, -2.0), "label": one == two, "one": one, "two": two}
    )
    bounded = lk.maps.bound_sources(LINE, trials, speakers=("one", "two"))
    assert not bounded.details["exact"]
    assert_allclose(bounded.details["n_nontarget_sources"], pairs, rtol=4 / math.sqrt(1 << 20))
    assert_allclose(bounded.high, math.log(pairs + 1), atol=0.005)


def test_joined_numbers_against_brute_force():
    rng = np.random.default_rng(4)
    left, right = rng.integers(0, 40, 25), rng.integers(0, 40, 25)
    groups = [{i} for i in range(40)]
    for a, b in zip(left, right, strict=True):
        both = groups[a] | groups[b]
        for member in both:
            groups[member] = both
    assert_array_equal(JoinedNumbers.of(40, left, right).lowest, [min(group) for group in groups])


def test_bad_input_of_sources():
    scores = lk.Scores([1.0], [0.0], {"who": (["a"], [None])})
    for bound in ("", "tight", "sources:3", None):
        with pytest.raises(lk.errors.UnknownNameError):
            lk.maps.bound_map(LINE, scores, bound)
    for limits in ("", "1", "a,b", "1,2", "nan,1"):
        with pytest.raises(lk.InputError):
            lk.maps.bound_map(LINE, scores, f"fixed:{limits}")
    with pytest.raises(lk.InputError):
        lk.maps.bound_map(LINE, scores, "elub", speakers=SIDES)  # which does not look at speakers
    with pytest.raises(lk.InputError):
        lk.maps.bound_sources(LINE, scores, speakers="who")
    with pytest.raises(lk.errors.UnknownNameError):
        lk.maps.bound_sources(LINE, scores, speakers="speaker")
    for wrong in (
        {"source": scores, "speakers": ("a", "b", "c")}, {"source": scores, "n_sources": 3},
        {"source": 3, "speakers": "who"}, {"n_sources": (1, 2, 3)}, {"n_sources": (0, 5)},
    ):  # fmt: skip
        with pytest.raises(lk.InputError):
            lk.maps.bound_sources(LINE, **wrong)


# bounds by name


@pytest.fixture(scope="module")
def dev():
    rng = np.random.default_rng(1)
    columns = {"left": (np.arange(500) % 39, np.arange(800) % 39)}
    columns["right"] = (columns["left"][0], (columns["left"][1] + 1 + np.arange(800) // 39) % 39)
    return lk.Scores(rng.normal(3, 1, 500), rng.normal(0, 1, 800), columns)


@pytest.mark.parametrize(
    ("bound", "same"),
    [
        ("none", lambda fitted, source: fitted),
        ("elub", lk.maps.bound_elub),
        ("invariance", lk.maps.bound_invariance),
        ("sources", lk.maps.bound_sources),
        ("fixed:-1.5,2", lambda fitted, source: lk.maps.bound_fixed(fitted, -1.5, 2.0)),
    ],
)
def test_every_name_of_a_bound(bound, same, dev):
    fitted, new = lk.fit_cmlg(dev), np.linspace(-9, 12, 301)
    bounded, expected = lk.maps.bound_map(fitted, dev, bound), same(fitted, dev)
    assert_array_equal(bounded(new), expected(new))
    assert_array_equal(reloaded(bounded)(new), expected(new))


# classes that do not overlap


def test_gap_of_fused_systems_is_that_of_the_llrs():
    """Neither system separates the classes alone; their sum does."""
    target, nontarget = [[0.0, 3.0], [3.0, 0.0], [2.0, 2.0]], [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]
    scores = lk.Scores(target, nontarget)
    fitted = lk.fit_fusion(scores, regularization=1)
    bounded = lk.maps.bound_map(fitted, scores)
    llrs = fitted(scores)
    assert_allclose(bounded.details["gap"], [llrs.nontarget.max(), llrs.target.min()])
    assert lk.maps.class_gap(scores) is None


@pytest.mark.parametrize(
    ("target", "nontarget", "gap"),
    [
        ([2.0, 3.0], [0.0, 1.0], (1.0, 2.0)),
        ([0.0, 1.0], [2.0, 3.0], (1.0, 2.0)),  # higher is less target-like
        ([2.0, 3.0], [0.0, 2.0], (2.0, 2.0)),
        ([2.0, 3.0], [0.0, 2.5], None),
        ([2.0, math.inf], [0.0, 1.0], (1.0, 2.0)),
        ([2.0, -math.inf], [0.0, 1.0], None),
        ([math.inf], [-math.inf], (-math.inf, math.inf)),
    ],
)
def test_class_gap(target, nontarget, gap):
    assert lk.maps.class_gap(lk.Scores(target, nontarget)) == gap
    assert lk.maps.class_gap(Pieces(lk.Scores(target, nontarget))) == gap


# what bounds cost


def most_it_costs(n_target, n_nontarget):
    """A clipped non-target loses at most log2(1 + exp(low)), and exp(low) = 1 / (1 + n); targets likewise."""
    return sum(math.log2(1 + 1 / (1 + n)) / 2 for n in (n_target, n_nontarget))


@pytest.mark.parametrize("n", [(5, 8), (5, 900), (60, 8), (60, 900)])
def test_a_bound_costs_no_more_than_its_counts_say(n):
    rng = np.random.default_rng(sum(n))
    scores = lk.Scores(rng.normal(9, 3, n[0]), rng.normal(-9, 3, n[1]))
    bounded = lk.maps.bound_map(LINE, scores)
    assert lk.cllr(bounded.on(scores)) - lk.cllr(scores) <= most_it_costs(*n)


def crossed(trials, columns, **options):
    """Cross-validated Cllr without and with the bound of each fold's own training trials."""
    once = lk.cross_calibrate(trials, method="logistic", groups=columns)
    wide = trials.with_columns(*columns)
    maps = {
        pair: lk.maps.bound_map(fitted, training_source(wide, once.folds, pair), **options)
        for pair, fitted in once.maps.items()
    }
    return lk.cllr(once.source), lk.cllr(crossed_source(trials, once.folds, maps)), maps.values()


@pytest.fixture(scope="module")
def resnet(shared):
    path = shared / "data" / "voxceleb1_o" / "voxceleb1_o_4systems.tsv.gz"
    table = pl.read_csv(path, separator="\t", infer_schema_length=None)
    table = table.with_columns(left=pl.col("enroll").str.head(7), right=pl.col("test").str.head(7))
    return lk.Trials(table, score="resnet_aam", label="target")


@pytest.mark.slow
def test_the_default_costs_at_most_one_percent_of_real_cllr(resnet):
    without, bounded, _ = crossed(resnet, SIDES)
    assert bounded <= 1.01 * without


@pytest.mark.slow
def test_few_speakers_cost_no_more_than_their_number_says(resnet):
    """24 to 32 training speakers: the lower limit is near -3.4, and that costs more than a percent here."""
    without, bounded, maps = crossed(resnet, SIDES, speakers=SIDES)
    fewest = [min(m.details[f"n_{name}_sources"] for m in maps) for name in ("target", "nontarget")]
    assert fewest == [24, 24 * 23 / 2]
    assert 1.01 * without < bounded <= without + most_it_costs(*fewest)
