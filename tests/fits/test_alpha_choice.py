"""alpha="auto": what every weight costs on trials whose groups were left out, and a choice beyond chance."""

import json
import zlib

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose
from pieces import Pieces

import llrkit as lk
from llrkit.core.summaries import Moments
from llrkit.fits.cmlg import LOG_ODDS, SETS, choose_alpha
from llrkit.theory import cost_of

quiet = pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")


def chosen_for(source, point, groups=None):
    return choose_alpha(source, source.reduce(Moments.of), cost_of(point), groups)


def people(n_speakers=40, n=6000, seed=1, width=2.0):
    """Trials between speakers, some of whom are easier; target scores spread ``width`` times as much."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_speakers, n)
    right = np.where(rng.random(n) < 0.3, left, rng.integers(0, n_speakers, n))
    ease = 0.5 * rng.normal(size=n_speakers)
    same = left == right
    noise = rng.normal(size=n) * np.where(same, width, 1.0)
    score = np.where(same, 4.5, 0.0) + ease[left] + ease[right] + noise
    who = np.array([f"s{i}" for i in range(n_speakers)])
    return lk.Trials({"score": score, "label": same, "left": who[left], "right": who[right]})


def set_of(names):
    return np.array([zlib.crc32(str(name).encode()) % SETS for name in names])


def wrong_when_left_out(trials, sides, log_odds, threshold):
    """Which trials the map of those that share no set with them decides wrongly, one cell at a time."""
    score, same = trials.table["score"].to_numpy(), trials.table["label"].to_numpy()
    alpha, wrong = 1 / (1 + np.exp(-log_odds)), np.zeros(len(score), dtype=bool)
    for p, q in set(zip(*sides, strict=True)):
        apart = ~np.isin(sides[0], (p, q)) & ~np.isin(sides[1], (p, q))
        t, n = score[apart & same], score[apart & ~same]
        a = (t.mean() - n.mean()) / (alpha * t.var() + (1 - alpha) * n.var())
        mine = (sides[0] == p) & (sides[1] == q)
        llr = a * (score[mine] - (t.mean() + n.mean()) / 2)
        wrong[mine] = np.where(same[mine], llr < threshold, llr >= threshold)
    return wrong


@pytest.mark.parametrize("groups", [("left", "right"), "left", None])
def test_costs_against_fits_that_leave_the_groups_out(groups):
    trials, point = people(n=1500), lk.OperatingPoint(0.1, 2, 1)
    found = chosen_for(trials, point, groups)
    same = trials.table["label"].to_numpy()
    if groups is None:
        one = np.empty(len(same), dtype=int)
        for label in (True, False):  # the place among the trials of its class
            one[same == label] = np.arange((same == label).sum()) % SETS
        sides = [one, one]
    else:
        names = [groups, groups] if isinstance(groups, str) else groups
        sides = [set_of(trials.table[name].to_list()) for name in names]
    costs = []
    for log_odds in (-8.0, 0.0, 3.0):
        wrong = wrong_when_left_out(trials, sides, log_odds, point.threshold)
        costs.append(point.cost(wrong[same].mean(), wrong[~same].mean()))
    assert_allclose(found.costs[np.isin(LOG_ODDS, (-8.0, 0.0, 3.0))], costs, rtol=1e-12)


@quiet
def test_does_not_depend_on_order_chunks_or_scale():
    trials, groups = people(), ("left", "right")
    first = chosen_for(trials, "sre08", groups)
    pieces = Pieces(trials.with_columns(*groups).scores(), pieces=7, seed=2)
    shuffled = trials.table.sample(fraction=1.0, shuffle=True, seed=3)
    moved = lk.Trials(shuffled.with_columns(score=pl.col("score") * 100 - 7))
    for other in (chosen_for(pieces, "sre08", groups), chosen_for(moved, "sre08", groups)):
        assert_allclose(other.costs, first.costs, rtol=1e-12)
        assert_allclose(other.standard_errors, first.standard_errors, rtol=1e-9, atol=1e-12)
        assert other.alpha == first.alpha


def test_standard_errors_against_the_sum_over_pairs_of_trials_that_share_a_set():
    trials = people(n=700)
    found = chosen_for(trials, 0.2, ("left", "right"))
    same = trials.table["label"].to_numpy()
    one, two = (set_of(trials.table[name].to_list()) for name in ("left", "right"))
    point, k = lk.OperatingPoint(0.2), 4
    weight = np.where(same, point.cost(1, 0) / same.sum(), point.cost(0, 1) / (~same).sum())
    chosen, half = (
        wrong_when_left_out(trials, (one, two), log_odds, point.threshold) for log_odds in (LOG_ODDS[k], 0.0)
    )
    lost = weight * (chosen.astype(float) - half)
    for label in (True, False):
        lost[same == label] -= lost[same == label].mean()
    share = (one[:, None] == one) | (one[:, None] == two) | (two[:, None] == one) | (two[:, None] == two)
    variance = (np.outer(lost, lost) * share).sum()
    assert_allclose(found.standard_errors[k], np.sqrt(variance), rtol=1e-9)


@quiet
def test_wide_targets_make_it_choose_a_small_weight_that_pays_on_other_trials():
    train, test = people(seed=1), people(seed=2)
    fitted = lk.fit_cmlg(train, alpha="auto", point="sre08", groups=("left", "right"))
    choice = fitted.details["alpha_choice"]
    assert fitted.options["alpha"] == choice["alpha"] < 0.2
    assert choice["cost"] < 0.9 * choice["cost_at_half"]
    half = lk.act_dcf(lk.fit_cmlg(train).on(test), point="sre08")
    assert lk.act_dcf(fitted.on(test), point="sre08") < 0.9 * half
    assert json.loads(json.dumps(fitted.to_dict()))["details"]["alpha_choice"] == choice


@quiet
def test_equal_spreads_keep_one_half():
    fitted = lk.fit_cmlg(people(width=1.0), alpha="auto", point="sre12", groups=("left", "right"))
    assert fitted.options["alpha"] == 0.5


def test_gains_that_three_errors_would_take_back_are_not_taken():
    rng = np.random.default_rng(3)
    few = lk.Scores(rng.normal(5, 1.6, 300), rng.normal(0, 1, 300))  # one false alarm costs 999/300
    assert chosen_for(few, "sre10").alpha == 0.5
    many = lk.Scores(rng.normal(5, 1.6, 3000), rng.normal(0, 1, 300_000))
    assert chosen_for(many, "sre10").alpha < 0.1


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": "auto"},
        {"alpha": "best", "point": "sre08"},
        {"alpha": "auto", "point": "sre99"},
        {"alpha": "auto", "point": 3},
        {"groups": "left"},
        {"alpha": "auto", "point": 0.1, "groups": ("left", "right", "label")},
        {"alpha": "auto", "point": 0.1, "groups": "nobody"},
    ],
)
def test_bad_input(options):
    with pytest.raises(lk.LlrkitError):
        lk.fit_cmlg(people(n=300), **options)


def test_too_few_groups_are_refused():
    trials = lk.Trials({"score": [1.0, 2.0, 0.0, -1.0], "label": [1, 1, 0, 0], "who": ["a", "a", "a", "b"]})
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.fit_cmlg(trials, alpha="auto", point=0.1, groups="who")


def test_the_command_line_chooses(tmp_path):
    people().table.write_csv(tmp_path / "s.csv")
    code, _, err = run(
        "calibrate", tmp_path / "s.csv", "--method", "cmlg", "--option", "alpha=auto", "--option",
        "point=0.01,10,1", "--groups", "left,right", "-o", tmp_path / "cal.json", "--score-column", "score",
    )  # fmt: skip
    assert code == 0, err
    found = chosen_for(lk.read_trials(tmp_path / "s.csv"), (0.01, 10, 1), ("left", "right"))
    saved = json.loads((tmp_path / "cal.json").read_text())
    assert saved["parameters"]["map"]["details"]["alpha_choice"]["alpha"] == found.alpha < 0.5


@pytest.fixture(scope="module")
def halves(shared):
    """Telephone trials of the SRE08 submission, in two halves by model and test segment."""
    table = pl.read_csv(shared / "data/sre08_tno/tno2008.tsv.gz", separator="\t", infer_schema_length=None)
    phone = pl.col("mtype").eq("phonecall") & pl.col("ttype").eq("phonecall") & pl.col("tmic").eq("phn")
    table = table.filter(phone).with_columns(pl.col("model").cast(pl.String), pl.col("test").cast(pl.String))
    rng = np.random.default_rng(5)
    first = {
        side: table[side].unique().sort().gather(rng.permutation(table[side].n_unique())[::2])
        for side in ("model", "test")
    }
    both = [pl.col(side).is_in(first[side].implode()) for side in ("model", "test")]
    parts = table.filter(both[0] & both[1]), table.filter(~both[0] & ~both[1])
    return [lk.Trials(part, label="target", enroll="model", test="test") for part in parts]


@pytest.mark.slow
@quiet
@pytest.mark.parametrize(("point", "at_most"), [("sre08", 0.75), (0.01, 1.02), ("sre10", 1.02), (0.5, 1.02)])
def test_on_real_telephone_scores_it_gains_where_there_is_a_gain_and_never_costs(halves, point, at_most):
    half, auto = [], []
    for train, test in (halves, halves[::-1]):
        half.append(lk.act_dcf(lk.fit_cmlg(train).on(test), point=point))
        auto.append(lk.act_dcf(lk.fit_cmlg(train, alpha="auto", point=point).on(test), point=point))
    assert np.mean(auto) <= at_most * np.mean(half)
