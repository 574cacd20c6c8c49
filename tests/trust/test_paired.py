"""Differences between two systems on the same trials."""

import json
import math
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from shared_speakers import sample

import llrkit as lk
from llrkit.trust import differences
from llrkit.trust.bootstrap import bootstrap_numbers, speaker_resampling
from llrkit.trust.differences import DeLong, only_systems

SIDES = ("left", "right")


def two_systems(n_speakers=25, n=2500, noise=1.5, seed=0, decimals=None):
    trials = sample(n_speakers, n, seed)
    other = trials.score_array + np.random.default_rng(seed + 100).normal(0.2, noise, n)
    if decimals is not None:
        other = np.round(other, decimals)
    columns = {name: trials.column(name) for name in ("score", "label", *SIDES)}
    return lk.Trials({**columns, "other": other}, score=["score", "other"])


# DeLong, DeLong & Clarke-Pearson (1988) from the definition: every target against every non-target
R_PROGRAM = """
data <- scan("{path}", quiet = TRUE)
rows <- matrix(data, ncol = 3, byrow = TRUE)
x <- rows[rows[, 1] == 1, 2:3, drop = FALSE]; y <- rows[rows[, 1] == 0, 2:3, drop = FALSE]
m <- nrow(x); n <- nrow(y)
v10 <- matrix(0, m, 2); v01 <- matrix(0, n, 2); theta <- numeric(2)
for (k in 1:2) {{
  psi <- outer(x[, k], y[, k], function(a, b) (a > b) + 0.5 * (a == b))
  theta[k] <- mean(psi); v10[, k] <- rowMeans(psi); v01[, k] <- colMeans(psi)
}}
s <- var(v10) / m + var(v01) / n
z <- (theta[1] - theta[2]) / sqrt(s[1, 1] + s[2, 2] - 2 * s[1, 2])
cat(sprintf("%.15g", c(theta, s[1, 1], s[1, 2], s[2, 2], z, 2 * pnorm(-abs(z)))), "\\n")
"""


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [None, 0])
def test_delong_against_R(tmp_path, need_program, decimals):
    program = need_program("Rscript")
    trials = two_systems(n=700, decimals=decimals)
    path = tmp_path / "trials.txt"
    np.savetxt(path, np.column_stack([trials.is_target, trials.score_array]), fmt="%.17g")
    done = subprocess.run(
        [program, "-e", R_PROGRAM.format(path=path)], capture_output=True, text=True, check=True, timeout=120
    )
    found = lk.trust.delong_test(trials)
    (aa, ab), (_, bb) = found.covariance
    wanted = [float(x) for x in done.stdout.split()]
    assert_allclose([*found.auc, aa, ab, bb, found.z, found.p_value], wanted, rtol=1e-9)
    assert json.loads(json.dumps(found.to_dict()))["p_value"] == found.p_value
    general = lk.compare_systems(trials, points=[0.3])["auc"]
    assert_allclose(general.p_value, wanted[-1], rtol=1e-9)


def test_delong_with_the_variances_that_pROC_publishes():
    # areas, variances and covariances of wfns, s100b and ndka (aSAH, 41 + 72 patients), z and p of roc.test:
    # the expected values of pROC's own tests (Robin et al. 2011); its data are not quoted here
    areas = {"wfns": 0.823678861788618, "s100b": 0.731368563685637, "ndka": 0.611957994579946}
    variances = {"wfns": 0.00146991470882363, "s100b": 0.00266868245717244, "ndka": 0.0031908105493913}
    for first, second, covariance, z, p in (
        ("wfns", "s100b", 0.00119615567376754, 2.20898359144091, 0.0271757822291882),
        ("wfns", "ndka", -0.000532967856762438, 2.79777591868904, 0.00514557970691098),
        ("ndka", "s100b", -0.000756164938056579, -1.39077002573558, 0.164295175223054),
    ):
        found = DeLong(
            (areas[first], areas[second]), ((variances[first], covariance), (covariance, variances[second]))
        )
        assert_allclose([found.z, found.p_value], [z, p], rtol=1e-10)


def test_delong_divides_by_n_times_n_less_1_against_fractions():
    # as many trials as patients in aSAH, and like there a grade of five steps beside a measurement
    rng = np.random.default_rng(41)
    classes = []
    for n, shift in ((41, 1), (72, 0)):
        grade = np.clip(rng.integers(1, 5, n) + shift * rng.integers(0, 2, n), 1, 5)
        classes.append(np.column_stack([grade, rng.integers(0, 30, n) + 6 * shift]))

    def placement(a, b):
        return Fraction(int(a > b)) + Fraction(int(a == b), 2)

    def sample_covariance(x, y):
        mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
        return sum((u - mean_x) * (v - mean_y) for u, v in zip(x, y, strict=True)) / (len(x) - 1)

    areas, placements = [], []
    for k in (0, 1):
        table = [[placement(a, b) for b in classes[1][:, k]] for a in classes[0][:, k]]
        of_targets = [sum(row) / len(row) for row in table]
        of_nontargets = [sum(column) / len(column) for column in zip(*table, strict=True)]
        areas.append(sum(of_targets) / len(of_targets))
        placements.append((of_targets, of_nontargets))
    wanted = [
        [sum(sample_covariance(x, y) / len(x) for x, y in zip(a, b, strict=True)) for b in placements]
        for a in placements
    ]
    found = lk.trust.delong_test(lk.Scores(*(rows.astype(float) for rows in classes)))
    assert_allclose(found.auc, np.array(areas, dtype=float), rtol=1e-12)
    assert_allclose(found.covariance, np.array(wanted, dtype=float), rtol=1e-9)
    variance = float(wanted[0][0] + wanted[1][1] - 2 * wanted[0][1])
    gaps = [[u - v for u, v in zip(*both, strict=True)] for both in zip(*placements, strict=True)]
    variance_with_n_squared = sum(sample_covariance(x, x) * (len(x) - 1) / len(x) ** 2 for x in gaps)
    p = 2 * stats.norm.sf(abs(float(areas[0] - areas[1])) / math.sqrt(variance))
    compared = lk.compare_systems(lk.Scores(*(rows.astype(float) for rows in classes)), points=[0.3])["auc"]
    assert_allclose([found.p_value, compared.p_value], p, rtol=1e-9)
    # n squared in place of n (n - 1) would make variances smaller by 1.4 to 2.4 %, which the test above sees
    assert 1 / 72 < 1 - float(variance_with_n_squared) / variance < 1 / 41


def test_paired_t_test_of_losses_against_scipy():
    # Cllr is half the sum of two class means: with one class without spread the test is scipy's paired one
    rng = np.random.default_rng(3)
    target = rng.normal(2, 2, (400, 2))
    scores = lk.Scores(target, np.full((400, 2), -1.0))
    losses = np.log2(1 + np.exp(-target))
    wanted = stats.ttest_rel(losses[:, 0], losses[:, 1])
    found = lk.compare_systems(scores, points=[0.3])["cllr"]
    z = found.difference / found.standard_error
    assert_allclose(z, wanted.statistic, rtol=1e-9)
    assert_allclose(found.p_value, 2 * stats.norm.sf(abs(z)), rtol=1e-9)


def test_speaker_test_against_leaving_out_by_brute_force():
    trials = two_systems()
    mask, scores = trials.is_target, trials.score_array
    left, right = trials.column("left"), trials.column("right")
    found = lk.compare_systems(trials, points=[0.3], speakers=SIDES)  # naming speakers is asking for them
    assert (found.kind, found.n_speakers, found.notes) == ("speaker", 25, ())

    def gap(kept, number):
        return np.subtract(*(number(lk.Scores(x[kept & mask], x[kept & ~mask])) for x in scores.T))

    def log_of(number):
        return lambda trials: np.log(1 - number(trials) if number is lk.auc else number(trials))

    # trials between two speakers are left out with either: their part of the variance counts once
    losses = np.logaddexp(0, scores * np.where(mask, -1, 1)[:, None]) / np.log(2) / 2
    phi = losses[:, 0] - losses[:, 1]
    phi = np.where(mask, (phi - phi[mask].mean()) / mask.sum(), (phi - phi[~mask].mean()) / (~mask).sum())
    sides = [(left == p) | (right == p) for p in range(25)]
    share = np.any([np.outer(one, one) for one in sides], axis=0)
    once = (phi @ share @ phi) / sum(phi[one].sum() ** 2 for one in sides)
    once = min(1, once * (1 + 2 / 25))  # what 25 speakers compared all with all count twice stays in

    for name, number in (("cllr", lk.cllr), ("eer", lk.eer), ("auc", lk.auc), ("min_cllr", lk.min_cllr)):
        without = np.array([gap(~one, number) for one in sides])
        variance = 24 / 25 * np.square(without - without.mean()).sum()
        one = found[name]
        assert_allclose(one.difference, gap(np.full(len(left), True), number), rtol=1e-9)
        if name == "cllr":
            assert_allclose(one.standard_error, np.sqrt(variance * once), rtol=1e-6)
            continue
        # others by the logarithm of their ratio, whose error is turned into one of the difference
        without = np.array([gap(~one, log_of(number)) for one in sides])
        ratio = gap(np.full(len(left), True), number) / gap(np.full(len(left), True), log_of(number))
        variance = ratio**2 * 24 / 25 * np.square(without - without.mean()).sum()
        assert 0.5 * np.sqrt(variance) < one.standard_error <= 1.000001 * np.sqrt(variance)
        t = abs(one.difference) / one.standard_error
        assert 2 * stats.t.sf(t, 24) * 0.999 <= one.p_value  # at most 24 degrees of freedom


@pytest.mark.parametrize("name", ["min_dcf", "act_dcf"])
def test_costs_by_their_ratio_against_brute_force(name, monkeypatch):
    # actual costs are compared by their ratio where few speakers make the errors: here always
    monkeypatch.setattr(differences, "MANY_MAKERS", 1e9)
    monkeypatch.setattr(differences, "RARE_SHARE", 1e9)
    trials = two_systems()
    mask, scores = trials.is_target, trials.score_array
    left, right = trials.column("left"), trials.column("right")
    found = lk.compare_systems(trials, points=[0.3], speakers=SIDES)[f"points.0.{name}"]
    everything, sides = np.full(len(mask), True), [(left == p) | (right == p) for p in range(25)]

    def costs(kept, x):
        """The cost at every threshold, rejecting all trials last."""
        cuts = np.append(np.unique(x[kept]), np.inf) if name == "min_dcf" else np.array([np.log(7 / 3)])
        t, n = np.sort(x[kept & mask]), np.sort(x[kept & ~mask])
        p_miss, p_fa = np.searchsorted(t, cuts) / len(t), 1 - np.searchsorted(n, cuts) / len(n)
        return cuts, p_miss + 7 / 3 * p_fa

    def log_ratio(kept):
        return np.subtract(*(np.log(costs(kept, x)[1].min()) for x in scores.T))

    # pairs counted twice, at the thresholds of all trials
    phi = np.zeros(len(mask))
    for sign, x in zip((1, -1), scores.T, strict=True):
        cuts, values = costs(everything, x)
        cut = cuts[values.argmin()]
        miss, alarm = (x < cut) & mask, (x >= cut) & ~mask
        phi += sign * np.where(mask, miss - miss[mask].mean(), 0.0) / mask.sum()
        phi += sign * 7 / 3 * np.where(mask, 0.0, alarm - alarm[~mask].mean()) / (~mask).sum()
    together = np.any([np.outer(one, one) for one in sides], axis=0)
    share = (phi @ together @ phi) / sum(phi[one].sum() ** 2 for one in sides)
    # the threshold of a minimum moves with the trials: half of it stays in, otherwise 2 of 25
    share = (1 + share) / 2 if name == "min_dcf" else min(1, share * (1 + 2 / 25))
    without = np.array([log_ratio(~one) for one in sides])
    variance = share * 24 / 25 * np.square(without - without.mean()).sum()
    scale = found.difference / log_ratio(everything)
    assert_allclose(found.standard_error, scale * np.sqrt(variance), rtol=0.02)
    if name == "act_dcf":  # and tested by random signs of the speakers, drawn here by another generator
        values = log_ratio(everything) + 24 * (without.mean() - without)
        signs = np.random.RandomState(3).choice([-1, 1], size=(20_000, 25))
        sizes = np.sqrt(share) * np.abs(signs @ values) / 25
        assert_allclose(found.p_value, np.mean(sizes >= abs(log_ratio(everything))), atol=0.03)


def test_trial_groups_are_the_trials_themselves_if_these_are_few():
    rng = np.random.default_rng(2)
    target, nontarget = rng.normal(1, 1, (40, 2)), rng.normal(-1, 1, (40, 2))
    one = lk.compare_systems(lk.Scores(target, nontarget), points=[0.3])["min_cllr"]

    def gap(kept_t, kept_n):
        return np.subtract(*(lk.min_cllr(lk.Scores(target[kept_t, k], nontarget[kept_n, k])) for k in (0, 1)))

    # each group has one trial of either class; leaving out classes one by one gives about the same
    keep = ~np.eye(40, dtype=bool)
    everything = np.full(40, True)
    variance = sum(
        39 / 40 * np.square(gaps - gaps.mean()).sum()
        for gaps in (
            np.array([gap(row, everything) for row in keep]), np.array([gap(everything, row) for row in keep])
        )
    )  # fmt: skip
    assert_allclose(one.standard_error, np.sqrt(variance), rtol=0.25)


@pytest.mark.slow
def test_bootstrap_uses_the_same_replicates_for_both_systems():
    trials = two_systems(noise=4.0)
    found = lk.compare_systems(trials, points=[0.3], ci="bootstrap", speakers=SIDES, replicates=100, rng=3)
    resampling = speaker_resampling(trials, SIDES, seed=3)
    drawn = [
        bootstrap_numbers(only_systems(trials, (k,)), found.evaluations[k], resampling, 100, slope=False)
        for k in (0, 1)
    ]
    gaps = drawn[0]["eer"] - drawn[1]["eer"]
    assert_allclose(found["eer"].standard_error, gaps.std(), rtol=1e-12)
    # which is why the difference is known better than either of the two
    assert gaps.std() < 0.8 * np.hypot(drawn[0]["eer"].std(), drawn[1]["eer"].std())
    assert found["eer"].p_value < 0.05
    assert found["eer"].low < found["eer"].difference < found["eer"].high < 0


@pytest.mark.parametrize(
    "options", [pytest.param({}, marks=pytest.mark.slow), {"ci": "speaker", "speakers": SIDES}]
)
def test_equal_systems_do_not_differ_and_swapping_turns_the_sign(options):
    trials = two_systems()
    same = lk.Trials(trials.table.with_columns(copy=trials.table["score"]), score=["score", "copy"])
    for one in lk.compare_systems(same, points=[0.3], **options).differences.values():
        assert (one.difference, one.p_value) == (0.0, 1.0)
    forth = lk.compare_systems(trials, points=[0.3], **options)
    back = lk.compare_systems(lk.Trials(trials.table, score=["other", "score"]), points=[0.3], **options)
    assert forth.names == ("score", "other")
    for name, one in forth.differences.items():
        assert_allclose([back[name].low, back[name].high], [-one.high, -one.low], rtol=1e-6)
        assert_allclose(back[name].p_value, one.p_value, rtol=1e-4)


@pytest.mark.slow
def test_false_alarms_of_the_test_at_the_level_it_claims():
    # two equally good noisy views of the same trials, one speaker effect for both
    p_values = []
    for seed in range(120):
        trials = sample(20, 700, seed)
        noise = np.random.default_rng(seed).normal(0, 1.5, (700, 2))
        columns = {name: trials.column(name) for name in ("label", *SIDES)}
        views = {"a": trials.score_array + noise[:, 0], "b": trials.score_array + noise[:, 1]}
        both = lk.Trials({**columns, **views}, score=["a", "b"])
        p_values.append(lk.compare_systems(both, points=[0.3], ci="speaker", speakers=SIDES)["cllr"].p_value)
    rate = np.mean(np.array(p_values) < 0.1)
    assert abs(rate - 0.1) < 4 * np.sqrt(0.09 / 120)
    assert abs(np.mean(p_values) - 0.5) < 4 * np.sqrt(1 / 12 / 120)


def test_wrong_use_is_refused():
    both = two_systems()
    for source, options in (
        (sample(), {}), (lk.Scores([[1, 2, 3]], [[0, 1, 2]]), {}), (both, {"ci": "none"}),
        (both, {"ci": "speaker"}), (both, {"ci": "trial", "speakers": SIDES}),
        (both, {"ci": "speaker", "speakers": SIDES, "recordings": SIDES}), (both, {"level": 1.0}),
        (both, {"ci": "bootstrap", "speakers": SIDES, "replicates": 3}),
    ):  # fmt: skip
        with pytest.raises(lk.LlrkitError):
            lk.compare_systems(source, **options)
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.trust.delong_test(lk.Scores([[1.0, 2.0]], [[0.0, 1.0], [0.5, 0.5]]))


def test_no_test_where_few_speakers_make_the_errors():
    rng = np.random.default_rng(8)
    speaker = np.repeat(np.arange(20), 4)
    i, j = np.triu_indices(len(speaker), 1)
    p, q = speaker[i], speaker[j]
    # one speaker is taken for all others, and makes all false alarms
    x = np.where(p == q, 1.5, -6.0 + 6.5 * ((p == 7) | (q == 7)))[:, None] + 1.2 * rng.normal(
        size=(len(p), 2)
    )
    found = lk.compare_systems(
        lk.Scores.from_labels(x, p == q, {"left": p, "right": q}), points=[0.5], speakers=("left", "right")
    )
    for name in ("points.0.p_fa", "points.0.act_dcf"):
        assert found.no_test[name].startswith("the false alarms come from few speakers")
    assert 0.0 <= found["points.0.p_miss"].p_value <= 1.0
