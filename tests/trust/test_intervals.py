"""Intervals: closed forms, exact ones, resampling against a second way, and every number accounted for."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from shared_speakers import sample

import llrkit as lk
from llrkit.trust.bootstrap import bootstrap_numbers, percentile_interval, speaker_resampling
from llrkit.trust.influence import Functional
from llrkit.trust.speakers import clopper_pearson, on_log_scale, on_logit_scale, quantile
from llrkit.verbs.evaluate import evaluate as plain_evaluate

SIDES = ("left", "right")


@pytest.mark.parametrize(("errors", "n"), [(0, 10), (10, 10), (1, 10), (3, 7), (12, 4000), (4000, 4001)])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_clopper_pearson_against_scipy(errors, n, level):
    wanted = stats.binomtest(errors, n).proportion_ci(level, method="exact")
    assert_allclose(clopper_pearson(errors, n, level), (wanted.low, wanted.high), rtol=1e-10)


def test_quantiles_against_scipy():
    assert_allclose(quantile(0.9), stats.norm.ppf(0.95), rtol=1e-12)
    assert_allclose(quantile(0.9, 7), stats.t.ppf(0.95, 7), rtol=1e-12)


def test_scales_agree_with_the_plain_interval_when_errors_are_small():
    assert_allclose(on_log_scale(0.3, 1e-6), (0.3 - 1e-6, 0.3 + 1e-6), rtol=1e-10)
    assert_allclose(on_logit_scale(0.3, 1e-6), (0.3 - 1e-6, 0.3 + 1e-6), rtol=1e-10)
    assert_allclose(on_logit_scale(0.3, 1e9), (0.0, 1.0), atol=1e-100)
    low, high = on_log_scale(0.3, 1e9)
    assert low < 1e-100
    assert high > 1e100


@pytest.fixture(scope="module")
def large():
    model = lk.theory.GaussianLLR.from_eer(0.1)
    return lk.Scores(*model.rvs(20_000, 40_000, np.random.default_rng(11)))


def test_standard_errors_of_gaussian_llrs_against_theory(large):
    found = lk.evaluate(large, points=[0.5], ci="trial").uncertainty.standard_error
    # delta method for the Gaussian pair, where the class densities at the threshold are equal
    assert_allclose(found["eer"], np.sqrt(0.1 * 0.9 * (1 / 20_000 + 1 / 40_000)) / 2, rtol=0.03)
    losses = np.log2(1 + np.exp(-large.target)), np.log2(1 + np.exp(large.nontarget))
    wanted = np.sqrt(losses[0].var() / 20_000 + losses[1].var() / 40_000) / 2
    assert_allclose(found["cllr"], wanted, rtol=1e-9)
    # after optimal calibration nearly the same
    assert_allclose(found["min_cllr"], wanted, rtol=0.02)
    m, f = np.mean(large.target < 0), np.mean(large.nontarget >= 0)
    wanted = np.sqrt(m * (1 - m) / 20_000 + f * (1 - f) / 40_000)
    assert_allclose(found["points.0.act_dcf"], wanted, rtol=1e-9)


def test_auc_variance_against_pairs_of_placements():
    # DeLong's estimate with 1/n in place of 1/(n - 1), from all pairs
    rng = np.random.default_rng(2)
    t, n = np.round(rng.normal(1, 1, 25), 1), np.round(rng.normal(0, 1, 40), 1)
    wins = (t[:, None] > n) + 0.5 * (t[:, None] == n)
    wanted = wins.mean(axis=1).var() / 25 + wins.mean(axis=0).var() / 40
    found = lk.evaluate(lk.Scores(t, n), points=[0.5], ci="trial").uncertainty.standard_error["auc"]
    assert_allclose(found**2, wanted, rtol=1e-10)


def test_rates_get_exact_intervals_when_trials_are_independent(large):
    result = lk.evaluate(large, points=["sre08"], ci="trial")
    misses = int((large.target < result.points[0].point.threshold).sum())
    assert_allclose(result.intervals["points.0.p_miss"], clopper_pearson(misses, 20_000), rtol=1e-12)


KINDS = [
    {"ci": "trial"},
    {"ci": "speaker", "speakers": SIDES},
    {"ci": "speaker", "speakers": "left"},
    {"ci": "bootstrap", "speakers": SIDES, "replicates": 100},
]


def numbers_of(plain):
    return {key for key, value in plain.items() if isinstance(value, (int, float))}


def assert_all_accounted_for(plain):
    """Every number of every object has an interval or a reason."""
    intervals, reasons = plain["intervals"], plain["no_interval"]
    assert set(intervals) | set(reasons) == numbers_of(plain) | (set(intervals) & {"det_slope"})
    assert not set(intervals) & set(reasons)
    for name, (low, high) in intervals.items():
        assert low <= high
        if name != "det_slope":
            assert low >= 0.0
    assert all(isinstance(reason, str) and reason for reason in reasons.values())
    if "design_effect" in plain:
        assert set(plain["design_effect"]) <= set(intervals)
    parts = [*plain.get("points", []), *plain.get("primaries", []), *plain.get("groups", {}).values()]
    parts += [plain["fixed_threshold"]] if "fixed_threshold" in plain else []
    for part in parts:
        assert_all_accounted_for(part)
    return len(intervals) + sum(1 for part in parts)


SLOW_LAST = [*KINDS[:3], pytest.param(KINDS[3], marks=pytest.mark.slow)]


@pytest.mark.parametrize("options", SLOW_LAST, ids=str)
def test_every_number_has_an_interval_or_a_reason(options):
    trials = sample(20, 3000)
    trials = lk.Trials(trials.table.with_row_index("half").with_columns(half=trials.table["left"] % 2))
    result = lk.evaluate(
        trials, points=["sre08", "sre21", 0.3], by="half", threshold_from=sample(20, 500, seed=5), **options
    )
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert assert_all_accounted_for(plain) > 10
    assert {"eer", "eer_roc", "auc", "cllr", "min_cllr"} <= set(plain["intervals"])
    assert {"0", "1"} == set(plain["groups"])
    assert plain["ci"]["kind"] == options["ci"]
    assert ("design_effect" in plain) == ("speakers" in options)
    low, high = result.intervals["cllr"]
    assert low < result.cllr < high


@pytest.mark.parametrize("options", SLOW_LAST[1:], ids=str)
def test_files_give_what_memory_gives(tmp_path, monkeypatch, options):
    trials = sample(15, 2500, names=True)
    path = tmp_path / "s.csv"
    lk.write_trials(trials, path)
    monkeypatch.setenv("LLRKIT_AT_ONCE", "64K")
    wanted = lk.evaluate(trials, points=[0.2], **options).uncertainty
    found = lk.evaluate(lk.scan_trials(path), points=[0.2], **options).uncertainty
    assert found.n_speakers == wanted.n_speakers == 15
    for name, ends in wanted.intervals.items():
        assert_allclose(found.intervals[name], ends, rtol=1e-6)


@pytest.mark.slow
def test_dependence_on_speakers_makes_intervals_wider():
    trials = sample(30, 6000, seed=3)
    trial, speaker, bootstrap = (
        lk.evaluate(trials, points=[0.3], **options) for options in (*KINDS[:2], KINDS[3])
    )
    for name in ("cllr", "eer", "min_cllr", "auc"):
        width = [np.ptp(result.intervals[name]) for result in (trial, speaker, bootstrap)]
        assert width[1] > 1.3 * width[0]
        assert 0.6 < width[2] / width[1] < 1.7
        effect = speaker.uncertainty.design_effect[name]
        assert effect > 1.5
        errors = speaker.uncertainty.standard_error[name] / trial.uncertainty.standard_error[name]
        assert_allclose(effect, errors**2, rtol=1e-9)


def names_of(result):
    yield from (("cllr", result.cllr), ("eer", result.eer), ("eer_roc", result.eer_roc))
    yield from (("auc", result.auc), ("min_cllr", result.min_cllr), ("det_slope", result.det_slope.slope))
    for i, point in enumerate(result.points):
        yield from ((f"points.{i}.{n}", getattr(point, n)) for n in ("p_miss", "p_fa", "act_dcf", "min_dcf"))
    for i, primary in enumerate(result.primaries):
        yield from ((f"primaries.{i}.{n}", getattr(primary, n)) for n in ("min", "act"))
    fixed = result.fixed
    yield from ((f"fixed_threshold.{n}", getattr(fixed, n)) for n in ("p_miss", "p_fa", "hter"))


def repeated(trials, resampling, replicate):
    """One replicate: every trial as often as it counts."""
    chunk = trials.with_columns(*resampling.columns).scores()
    draw = resampling.draw(replicate)
    times = (draw.weights(resampling.sides(chunk, i)).astype(int) for i in (0, 1))
    return chunk.select(*(np.repeat(np.arange(len(n)), n) for n in times))


@pytest.mark.parametrize(("recordings", "most"), [(None, "1G"), (("left_file", "right_file"), "8000")])
def test_replicates_are_evaluations_of_repeated_trials(recordings, most, monkeypatch):
    monkeypatch.setenv("LLRKIT_AT_ONCE", most)
    trials, dev = sample(9, 600, seed=6), sample(9, 200, seed=7)
    rng = np.random.default_rng(1)
    files = {
        f"{side}_file": [
            f"{who}-{i}" for who, i in zip(trials.column(side), rng.integers(0, 3, 600), strict=True)
        ]
        for side in SIDES
    }
    trials = lk.Trials({**trials.table.to_dict(), **files})
    options = {"points": ["sre12", 0.3], "threshold_from": dev}
    result = plain_evaluate(trials, **options)
    resampling = speaker_resampling(trials, SIDES, recordings, seed=5)
    drawn = bootstrap_numbers(trials, result, resampling, 8)
    for i in range(8):
        again = plain_evaluate(repeated(trials, resampling, i), **options)
        wanted = dict(names_of(again))
        assert set(wanted) == set(drawn)
        for name, value in wanted.items():
            assert_allclose(drawn[name][i], value, rtol=1e-9, atol=1e-12, err_msg=name)


def test_weights_are_products_of_how_often_speakers_were_drawn():
    trials = sample(8, 300, names=True)
    resampling = speaker_resampling(trials, SIDES, seed=3)
    drawn = resampling.draw(2)
    assert drawn.speakers[:-1].sum() == 8
    times = {name: drawn.speakers[i] for name, i in resampling.speakers.number_of.items()}
    chunk = trials.with_columns(*SIDES).scores()
    for side, wanted in ((0, lambda p, q: times[p]), (1, lambda p, q: times[p] * times[q])):
        mask = trials.is_target == (side == 0)
        pairs = zip(trials.column("left")[mask], trials.column("right")[mask], strict=True)
        np.testing.assert_array_equal(
            drawn.weights(resampling.sides(chunk, side)), [wanted(p, q) for p, q in pairs]
        )


@pytest.mark.slow
def test_the_same_seed_draws_the_same_and_another_does_not():
    trials = sample(10, 800)
    first, again, other = (
        lk.evaluate(trials, points=[0.3], ci="bootstrap", speakers=SIDES, replicates=100, rng=seed).intervals
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_percentiles_are_moved_by_twice_the_bias():
    number = Functional("x", 2.0, "cost", np.zeros(1))
    drawn = np.exp(np.linspace(-0.5, 0.5, 1001))  # of a number that comes out half as large, symmetric logs
    low, high = percentile_interval(number, drawn, 10**9, 0.9)
    shift = 2 * np.log(2.0 / drawn.mean())
    assert_allclose(np.log([low, high]) - shift, [-0.45, 0.45], atol=1e-3)
    # with few speakers further out: S = 4, t = 2.353, sqrt(4/3)
    low, high = percentile_interval(number, drawn, 4, 0.9)
    share = stats.norm.cdf(np.sqrt(4 / 3) * stats.t.ppf(0.95, 3))
    assert_allclose(np.log(high) - shift, share - 0.5, atol=1e-3)


def test_infinite_llrs():
    rng = np.random.default_rng(0)
    scores = lk.Scores(np.append(rng.normal(1, 1, 50), -np.inf), np.append(rng.normal(-1, 1, 50), -np.inf))
    found = lk.evaluate(scores, points=[0.4], ci="trial").uncertainty
    assert found.no_interval["cllr"] == "Cllr is infinite"
    assert {"eer", "auc", "min_cllr", "points.0.act_dcf"} <= set(found.intervals)
    assert np.isfinite([end for ends in found.intervals.values() for end in ends]).all()


def test_wrong_use_is_refused():
    boot = {"ci": "bootstrap", "speakers": SIDES}
    for options in (
        {"ci": "speakers"}, {"ci": "speaker"}, {"ci": "trial", "speakers": SIDES},
        {"ci": "none", "speakers": SIDES}, {"ci": "speaker", "speakers": SIDES, "recordings": SIDES},
        {"ci": "speaker", "speakers": ("left", "up")}, {"ci": "speaker", "speakers": (*SIDES, "left")},
        {"ci": "speaker", "speakers": SIDES, "level": 95}, {**boot, "replicates": 10}, {**boot, "rng": -1},
        {**boot, "recordings": "left"}, {"ci": "bootstrap", "speakers": "left", "recordings": "right"},
    ):  # fmt: skip
        with pytest.raises(lk.LlrkitError):
            lk.evaluate(sample(), **options)
    for errors, n in ((-1, 3), (4, 3), (0, 0)):
        with pytest.raises(lk.InputError):
            clopper_pearson(errors, n)


def test_missing_and_single_speakers_are_refused():
    table = {"score": [1.0, 0.0, 2.0], "label": [1, 0, 0]}
    with pytest.raises(lk.InputError):
        lk.evaluate(lk.Trials({**table, "who": ["a", None, "b"]}), ci="speaker", speakers="who")
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.evaluate(lk.Trials({**table, "who": ["a", "a", "a"]}), ci="speaker", speakers="who")


def test_few_speakers_are_not_resampled():
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.evaluate(sample(4, 400), ci="bootstrap", speakers=SIDES)
    assert "cllr" in lk.evaluate(sample(4, 400), ci="speaker", speakers=SIDES).intervals


@pytest.mark.parametrize("weight", [1e-3, 1000.0])
def test_few_trials_stay_few_whatever_they_weigh(weight):
    score = np.concatenate([[1.0, -0.5, 2.0, 3.0], np.linspace(-3, 1.5, 60)])
    table = {"score": score, "label": np.arange(64) < 4, "times": np.full(64, weight)}
    few = lk.evaluate(lk.Trials(table, weight="times"), points=[0.3], ci="trial").uncertainty
    assert few.no_interval["cllr"].startswith("4 targets: fewer than 5")
    table["label"] = np.arange(64) % 2 == 0
    enough = lk.evaluate(lk.Trials(table, weight="times"), points=[0.3], ci="trial").uncertainty
    plain = lk.evaluate(
        lk.Trials({name: table[name] for name in ("score", "label")}), points=[0.3], ci="trial"
    )
    assert set(enough.no_interval) == set(plain.uncertainty.no_interval)
    assert_allclose(enough.intervals["eer"], plain.intervals["eer"], rtol=1e-9)


def test_groups_of_arrays_have_intervals_too():
    scores = sample(20, 3000).with_columns(*SIDES).scores()
    half = {"half": tuple(side % 2 for side in scores.columns["left"])}
    both = lk.Scores(scores.target, scores.nontarget, {**scores.columns, **half})
    found = lk.evaluate(both, points=[0.3], by="half", ci="speaker", speakers=SIDES)
    rows = [
        values[side % 2 == 1]
        for values, side in zip((both.target, both.nontarget), scores.columns["left"], strict=True)
    ]
    assert_allclose(found.groups[1].cllr, lk.cllr(lk.Scores(*rows)), rtol=1e-12)
    assert found.groups[1].uncertainty.n_speakers == 20
    assert "cllr" in found.groups[0].intervals


@pytest.mark.parametrize("ci", ["speaker", pytest.param("bootstrap", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("wrong", "tested"), [(5.0, True), (1e120, False), (np.inf, False)])
def test_a_loss_too_large_for_an_error_is_not_tested_by_any_kind_of_interval(ci, wrong, tested):
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 20, (2, 600))
    llrs = np.where(left == right, 2.0, -2.0) + 2.0 * rng.normal(size=600)
    llrs[np.flatnonzero(left != right)[0]] = wrong
    trials = lk.Trials({"score": llrs, "label": left == right, "left": left, "right": right})
    result = lk.evaluate(trials, ci=ci, speakers=("left", "right"), replicates=100)
    assert (result.tested is not None) == tested
    assert (result.verdict.outcome == "infinite") != tested
