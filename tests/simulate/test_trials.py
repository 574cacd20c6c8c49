"""Simulated trials: the population values asked for, the same trials for a seed, ids that make sense."""

import pickle

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.simulate.trials import People
from llrkit.theory import GammaLLR, GaussianLLR, MixtureLLR, UnequalGaussians

N = 200_000
KINDS = {
    "gaussian": GaussianLLR.from_eer(0.05),
    "mixture": MixtureLLR((0.2, 0.5, 0.3), (0.5, 3.0, 9.0)),
    "gamma": GammaLLR(0.3),
    "durations": lk.simulate.DurationPairs(lk.simulate.DurationModel.between()),
}


def four_deviations(llrs):
    """Four standard deviations of the Cllr of independent trials."""
    losses = [
        np.logaddexp(0.0, sign * x) / np.log(2.0) for sign, x in ((-1, llrs.target), (1, llrs.nontarget))
    ]
    return 4.0 * 0.5 * np.sqrt(sum(loss.var() / len(loss) for loss in losses))


@pytest.mark.parametrize("kind", KINDS)
def test_eer_and_cllr_are_those_of_the_population(kind):
    asked = KINDS[kind]
    population = asked.mixture() if kind == "durations" else asked
    scores = lk.simulate.simulate_trials(asked, n_target=N, n_nontarget=N, rng=5).scores()
    assert abs(lk.cllr(scores) - population.cllr) < four_deviations(scores)
    # the EER of a pair of large samples has a standard deviation below sqrt(E (1 - E) / 2N)
    deviation = np.sqrt(population.eer * (1.0 - population.eer) / (2.0 * N))
    assert abs(lk.metrics.eer_roc(scores) - population.eer) < 4.0 * deviation


def test_unequal_variances_have_their_moments_and_det_slope():
    scores = lk.simulate.simulate_trials(
        UnequalGaussians(5.0, 1.6, 0.0, 1.0), n_target=N, n_nontarget=N, rng=1
    ).scores()
    assert_allclose([scores.target.mean(), scores.target.std()], [5.0, 1.6], atol=0.02)
    assert_allclose([scores.nontarget.mean(), scores.nontarget.std()], [0.0, 1.0], atol=0.02)
    assert_allclose(lk.metrics.det_slope(scores).slope, -1.0 / 1.6, atol=0.02)


# theory digest, durations 5, 10, 20, 40 s and a whole side of 300 s, in per cent
PRINTED = [
    [26.0, 21.5, 18.1, 15.8, 13.5], [21.5, 16.6, 13.1, 10.9, 8.8], [18.1, 13.1, 9.7, 7.7, 5.8],
    [15.8, 10.9, 7.7, 5.9, 4.3], [13.5, 8.8, 5.8, 4.3, 2.9],
]  # fmt: skip


def test_duration_model_against_the_printed_grid():
    seconds = (5.0, 10.0, 20.0, 40.0, 300.0)
    model = lk.simulate.DurationModel.between(0.029, 0.26, full=300.0)
    assert_allclose([[100 * model.pair(i, j).eer for j in seconds] for i in seconds], PRINTED, atol=0.051)


@pytest.mark.parametrize(("full", "mean_cllr"), [(60, 0.366), (100, 0.381), (150, 0.387), (300, 0.394)])
def test_mean_cllr_of_the_duration_model_against_the_printed_values(full, mean_cllr):
    pairs_ = lk.simulate.DurationPairs(lk.simulate.DurationModel.between(full=full))
    assert_allclose(pairs_.mixture((5, 10, 20, 40, full)).cllr, mean_cllr, atol=0.0006)


@pytest.mark.slow
def test_every_combination_of_durations_has_its_own_eer():
    model = lk.simulate.DurationModel.between()
    made = lk.simulate.simulate_trials(
        lk.simulate.DurationPairs(model), n_target=50_000, n_nontarget=250_000, rng=2
    ).trials()
    cells = made.table.group_by("enroll_duration", "test_duration", "label").len()
    assert cells.height == 50
    assert set(cells["len"]) == {2_000, 10_000}
    for (enroll,), part in made.table.partition_by("enroll_duration", as_dict=True).items():
        found = lk.evaluate(lk.Trials(part), by="test_duration").groups
        for test, result in found.items():
            assert_allclose(result.eer, model.pair(enroll, float(test)).eer, atol=0.02)


@pytest.mark.slow
def test_the_trials_do_not_depend_on_the_number_of_threads():
    made = lk.simulate.simulate_trials(KINDS["gaussian"], n_target=900, n_nontarget=3_500_000, rng=9)
    assert made.n_blocks == 4
    from llrkit.core.summaries import Moments

    one, four = (made.reduce(Moments.of, threads=n) for n in (1, 4))
    assert pickle.dumps(one) == pickle.dumps(four)
    assert (one.target.n, one.nontarget.n) == (900, 3_500_000)
    again = lk.simulate.simulate_trials(KINDS["gaussian"], n_target=900, n_nontarget=3_500_000, rng=9)
    assert_array_equal(again.block(2).target, made.block(2).target)
    other = lk.simulate.simulate_trials(KINDS["gaussian"], n_target=900, n_nontarget=3_500_000, rng=10)
    assert not np.array_equal(other.block(2).target, made.block(2).target)
    assert not np.array_equal(made.block(1).target[:10], made.block(2).target[:10])


TWO_BLOCKS = 1_100_000


@pytest.mark.parametrize(
    ("kind", "n"),
    [*((kind, 4_000) for kind in KINDS), pytest.param("gaussian", TWO_BLOCKS, marks=pytest.mark.slow)],
)
def test_source_scores_and_trials_are_the_same_trials(kind, n):
    made = lk.simulate.simulate_trials(KINDS[kind], n_target=300, n_nontarget=n, rng=3)
    expected = lk.evaluate(made.trials(), by="gender")
    for source in (made, made.with_columns("gender").scores()):
        found = lk.evaluate(source, by="gender")
        assert_allclose(found.cllr, expected.cllr, rtol=1e-12)
        assert {key: group.eer for key, group in found.groups.items()} == {
            key: group.eer for key, group in expected.groups.items()
        }


@pytest.mark.parametrize(
    ("n_target", "n_nontarget", "speakers"),
    [
        (1, 1, None),
        (37, 5_001, None),
        (400, 3_000, 6),
        (50, 9_000, 30),
        pytest.param(50, TWO_BLOCKS, 900, marks=pytest.mark.slow),
    ],
)
def test_ids_speakers_and_genders_make_sense(n_target, n_nontarget, speakers):
    table = (
        lk.simulate.simulate_trials(
            KINDS["gaussian"], n_target=n_target, n_nontarget=n_nontarget, speakers=speakers
        )
        .trials()
        .table
    )
    assert table.height == n_target + n_nontarget
    assert table.select("enroll", "test").is_unique().all()
    same = table["enroll_speaker"] == table["test_speaker"]
    assert_array_equal(same.to_numpy(), (table["label"] == "target").to_numpy())
    speaker_of = {}
    sides = [("enroll", "enroll_speaker"), ("test", "test_speaker")]
    for side, speaker in sides:
        for name, who, gender in table.select(side, speaker, "gender").unique().iter_rows():
            assert speaker_of.setdefault(name, (who, gender)) == (who, gender)
    # a speaker has one gender, whichever side it is on
    both = pl.concat([table.select(pl.col(speaker).alias("who"), "gender") for _, speaker in sides]).unique()
    assert both["who"].is_unique().all()
    # a segment has one duration
    assert table.select("test", "test_duration").unique()["test"].is_unique().all()


def test_scale_offset_and_float32():
    plain = lk.simulate.simulate_trials(KINDS["gaussian"], n_target=100, n_nontarget=200, rng=4).scores()
    changed = lk.simulate.simulate_trials(
        KINDS["gaussian"], n_target=100, n_nontarget=200, rng=4, scale=2.0, offset=-1.0, dtype="float32"
    ).scores()
    assert changed.target.dtype == np.float32
    assert_allclose(changed.target, 2.0 * plain.target - 1.0, rtol=1e-6, atol=1e-6)


def test_bad_input_is_refused():
    for options in (
        {"n_target": 0}, {"n_nontarget": 2.5}, {"rng": -1}, {"scale": 0.0}, {"offset": np.inf},
        {"speakers": 5}, {"durations": ()}, {"durations": (5.0, -1.0)}, {"dtype": "float16"},
    ):  # fmt: skip
        with pytest.raises(lk.InputError):
            lk.simulate.simulate_trials(KINDS["gaussian"], **{"n_target": 10, "n_nontarget": 10, **options})
    made = lk.simulate.simulate_trials(KINDS["gaussian"], n_target=10, n_nontarget=10)
    with pytest.raises(lk.errors.UnknownNameError):
        made.with_columns("age")
    with pytest.raises(lk.InputError):
        made.block(1)


@pytest.mark.parametrize(("full", "short"), [(0.3, 0.2), (0.0, 0.2), (0.1, 0.6)])
def test_a_duration_model_must_get_worse_for_short_segments(full, short):
    with pytest.raises(lk.InputError):
        lk.simulate.DurationModel.between(full, short)


def test_trial_numbers_never_repeat_a_pair_of_model_and_segment():
    people = People.for_trials(1_000, 40_000, speakers=20)
    numbers = np.arange(20 * 9 * people.n_segments)
    sides = people.nontargets(numbers)
    assert len(set(zip(sides.enroll, sides.test, sides.segment, strict=True))) == len(numbers)
    assert sides.segment.max() == people.n_segments - 1
