"""FNMR at FMRs, rules of thumb, failures: against brute force and closed forms."""

import json
import math

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit import biometrics
from llrkit.biometrics.verification import comparisons_needed, support
from llrkit.errors import InputError


def brute(target, nontarget, fmr):
    """The lowest FNMR of any threshold with an FMR of at most this."""
    target, nontarget = np.asarray(target), np.asarray(nontarget)
    best = 1.0
    for threshold in [*np.unique(np.concatenate([target, nontarget])), math.inf]:
        if np.mean(nontarget >= threshold) <= fmr:
            best = min(best, np.mean(target < threshold))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_fnmr_at_fmr_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    n_target, n_nontarget = rng.integers(1, 40, 2)
    values = np.array([-math.inf, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, math.inf])
    target, nontarget = rng.choice(values, n_target), rng.choice(values, n_nontarget)
    fmrs = [0.0, 0.05, 0.2, 0.5, 1.0]
    rates = biometrics.verification_rates(lk.Scores(target, nontarget), fmr=fmrs)
    for row, fmr in zip(rates.rows, fmrs, strict=True):
        assert row.fnmr == brute(target, nontarget, fmr)
        assert row.fmr <= fmr
        assert row.tar == 1.0 - row.fnmr
        assert row.fmr_bound >= row.fmr
        assert row.fnmr_bound >= row.fnmr
    # ZeroFNMR is the same with the classes exchanged
    assert rates.zero_fnmr == brute(-nontarget, -target, 0.0)


def test_bounds_of_no_error_follow_the_rule_of_3():
    rates = biometrics.verification_rates(lk.Scores([5.0] * 300, [0.0] * 2000), fmr=[0.01])
    (row,) = rates.rows
    assert row.n_false_matches == row.n_false_nonmatches == 0
    # 1 - 0.05^(1/n), which is close to 3/n
    np.testing.assert_allclose(row.fmr_bound, 1.0 - 0.05 ** (1 / 2000), rtol=1e-9)
    np.testing.assert_allclose(row.fmr_bound, 3.0 / 2000, rtol=3e-3)
    assert "rule of 3" in support(row.n_false_matches, 2000)
    assert comparisons_needed(1e-3) == 3000.0


def test_an_fmr_that_too_few_comparisons_can_show_has_no_interval():
    rng = np.random.default_rng(1)
    scores = lk.Scores(rng.normal(3, 1, 500), rng.normal(0, 1, 2999))
    rates = biometrics.verification_rates(scores, fmr=[1e-2, 1e-3])
    assert rates["FMR100"].fnmr_interval is not None
    assert rates["FMR1000"].fnmr_interval is None
    assert "3,000 non-mated comparisons to show; there are 2,999" in rates["FMR1000"].no_interval


def test_intervals_hold_the_rate_and_widen_with_the_level():
    rng = np.random.default_rng(2)
    scores = lk.Scores(rng.normal(3, 1, 2000), rng.normal(0, 1, 20000))
    narrow, wide = (
        biometrics.verification_rates(scores, fmr=0.01, level=level).rows[0] for level in (0.9, 0.99)
    )
    assert wide.fnmr_interval[0] < narrow.fnmr_interval[0] < narrow.fnmr < narrow.fnmr_interval[1]
    assert narrow.fnmr_interval[1] < wide.fnmr_interval[1]
    assert narrow.threshold_interval[0] < narrow.threshold < narrow.threshold_interval[1]


def test_subjects_widen_the_interval():
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 40, (2, 30_000))
    easy = rng.normal(size=40)
    same = left == right
    score = np.where(same, 3.0, -1.0) + 0.8 * (easy[left] + easy[right]) + rng.normal(size=len(left))
    trials = lk.Trials({"score": score, "label": same, "left": left, "right": right})
    independent = biometrics.verification_rates(trials, fmr=0.05)
    by_subject = biometrics.verification_rates(trials, fmr=0.05, speakers=("left", "right"))
    rules = "the rules of 3 and of 30 count comparisons as if they were independent"
    assert [rules in found.notes for found in (independent, by_subject)] == [False, True]
    alone, shared = independent.rows[0], by_subject.rows[0]
    assert alone.fnmr == shared.fnmr
    width = [row.fnmr_interval[1] - row.fnmr_interval[0] for row in (alone, shared)]
    assert width[1] > 2 * width[0]


def failing(rng):
    n = 400
    label = rng.random(n) < 0.4
    status = rng.choice(["ok", "fta", "fte"], n, p=[0.9, 0.06, 0.04])
    score = np.where(label, 1.5, -1.5) + rng.normal(size=n)
    return score, label, status


def test_failures_fold_in_as_the_formulas_of_the_standard():
    rng = np.random.default_rng(4)
    score, label, status = failing(rng)
    trials = lk.Trials({"score": score, "label": label, "status": status})
    rates = biometrics.verification_rates(trials, fmr=0.03, failures="status")
    row, failed = rates.rows[0], status != "ok"
    share = [np.mean(failed[label == kind]) for kind in (True, False)]
    fnmr = np.mean(score[label & ~failed] < row.threshold)
    fmr = np.mean(score[~label & ~failed] >= row.threshold)
    np.testing.assert_allclose(row.fnmr, share[0] + (1 - share[0]) * fnmr, rtol=1e-12)
    np.testing.assert_allclose(row.fmr, (1 - share[1]) * fmr, rtol=1e-12)
    np.testing.assert_allclose(rates.failures.rates, share, rtol=1e-12)
    assert rates.rate_words == ("FAR", "FRR")
    assert set(rates.failures.counts) == {"acquire", "enroll"}


def test_unknown_failures_and_unexplained_gaps_are_refused():
    scores = lk.Scores([1.0, -math.inf], [0.0], {"status": (["ok", "ok"], ["ok"])})
    with pytest.raises(InputError):
        biometrics.fold_failures(scores, "status")
    scores = lk.Scores([1.0, 2.0], [0.0], {"status": (["ok", "broken"], ["ok"])})
    with pytest.raises(InputError):
        biometrics.fold_failures(scores, "status")


@pytest.mark.parametrize("bad", [-0.1, 1.5, math.nan])
def test_rates_outside_0_to_1_are_refused(bad):
    with pytest.raises(InputError):
        biometrics.verification_rates(lk.Scores([1.0], [0.0]), fmr=bad)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    score, label, status = failing(np.random.default_rng(4))
    path = tmp_path_factory.mktemp("biometrics") / "face.csv"
    frame = pl.DataFrame({"score": score, "label": np.where(label, "genuine", "impostor"), "status": status})
    frame.with_columns(pl.when(pl.col("status") == "ok").then(pl.col("score")).otherwise(None)).write_csv(
        path
    )
    return path


def test_the_command_and_the_library_agree(table):
    code, out, _ = run("biometrics", "rates", table, "--failures", "status", "--fmr", "3%", "--json", "-")
    assert code == 0
    told = json.loads(out)
    score, label, status = failing(np.random.default_rng(4))
    trials = lk.Trials({"score": score, "label": label, "status": status})
    rates = biometrics.verification_rates(trials, fmr=0.03, failures="status")
    assert told["rates"][0]["fnmr"] == rates.rows[0].fnmr
    assert told["failures"]["rates"] == list(rates.failures.rates)


def test_missing_scores_without_failures_are_still_refused(table):
    code, _, _ = run("biometrics", "rates", table, "--fmr", "3%")
    assert code == 2
    code, _, _ = run("biometrics", "rates", table, "--failures", "status", "--missing-scores", "drop")
    assert code == 2


@pytest.mark.parametrize(
    ("flags", "words"),
    [(("--fmr", "5%"), "FMR at most 5.00 %"), (("--frr", "5%"), "FNMR at most 5.00 %"),
     (("--tar", "95%"), "FNMR at most 5.00 %"), (("--far", "0.05"), "FMR at most 5.00 %")],
)  # fmt: skip
def test_thresholds_by_the_words_of_biometrics(table, flags, words):
    code, out, err = run("threshold", table, "--missing-scores", "drop", *flags, "--vocabulary", "biometrics")
    assert code == 0, err
    assert words in out
    assert "Pmiss" not in out


@pytest.fixture(scope="module")
def shared_subjects():
    rng = np.random.default_rng(11)
    left, right = rng.integers(0, 60, (2, 12_000))
    effect = 0.5 * rng.normal(size=60)
    mated = (left == right) | (rng.random(12_000) < 0.04)
    right = np.where(mated, left, right)
    score = np.where(mated, 3.0, 0.0) + effect[left] + effect[right] + rng.normal(size=12_000)
    return lk.Trials({"score": score, "label": mated, "left": left, "right": right})


@pytest.mark.slow
@pytest.mark.parametrize("speakers", [None, ("left", "right")])
def test_rates_do_not_depend_on_which_others_are_asked_for(shared_subjects, speakers):
    many = (0.1, 0.05, 0.02, 0.01, 0.005, 0.003, 0.001, 0.0005, 0.3, 0.2, 0.15, 0.08)
    whole = biometrics.verification_rates(shared_subjects, fmr=many, speakers=speakers)
    for rate in (0.01, 0.001):
        alone = biometrics.verification_rates(shared_subjects, fmr=rate, speakers=speakers).rows[0]
        beside = next(row for row in whole.rows if row.wanted == rate)
        for name in ("threshold_interval", "fnmr_interval", "fnmr_bound", "fmr_bound"):
            one, other = getattr(alone, name), getattr(beside, name)
            assert (one is None) == (other is None)
            if one is not None:
                assert_allclose(one, other, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("speakers", [None, ("left", "right")])
def test_a_threshold_has_the_same_intervals_whichever_way_it_is_asked_for(shared_subjects, speakers):
    from llrkit.trust.intervals import curve_rates
    from llrkit.trust.speakers import find_speakers

    for fmr in (0.02, 0.001):
        row = biometrics.verification_rates(shared_subjects, fmr=fmr, speakers=speakers).rows[0]
        chosen = lk.threshold_for(shared_subjects, false_alarm_rate=fmr, speakers=speakers)
        assert (chosen.threshold, chosen.interval) == (row.threshold, row.threshold_interval)
        assert (chosen.p_miss, chosen.p_fa) == (row.fnmr, row.fmr)
        # one side at 95 % is an end of two sides at 90 %, and lies within those at 95 %
        shorter = lk.threshold_for(shared_subjects, false_alarm_rate=fmr, speakers=speakers, level=0.9)
        for name, bound in (("p_miss", row.fnmr_bound), ("p_fa", row.fmr_bound)):
            if name in chosen.intervals:
                assert_allclose(bound, shorter.intervals[name][1], rtol=1e-9)
                assert bound < chosen.intervals[name][1]
            else:
                people = find_speakers(shared_subjects, speakers)
                assert curve_rates(shared_subjects, [row.threshold], people, 0.95).fa.few[0]
                assert "at most" in chosen.no_interval[name]


def test_the_page_of_the_command_shows_the_rates_and_evaluates_what_has_scores(table, tmp_path, need):
    need("jinja2")
    out = tmp_path / "page.html"
    code, said, err = run("biometrics", "rates", table, "--failures", "status", "--fmr", "3%", "--html", out)
    assert code == 0, err
    assert f"The report is in {out}" in said
    page = out.read_text()
    assert "Error rates at false match rates" in page
    assert "Comparisons with a failure count in the error rates at false match rates only" in page


def test_reversed_scores_are_told():
    with pytest.warns(lk.errors.ReversedScoresWarning):
        biometrics.verification_rates(lk.Scores([0.0] * 40, [1.0] * 40), fmr=0.1)
