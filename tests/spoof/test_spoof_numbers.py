"""Numbers of three kinds of trials against brute force over all thresholds."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit import spoof
from llrkit.core.cells import count_trials
from llrkit.core.pav import error_path
from llrkit.spoof.costs import asv_eer_threshold, t_eer_from_bins
from llrkit.spoof.counts import count_kinds

COSTS = [
    "asvspoof5",
    "a-dcf1",
    spoof.SpoofCosts("half", 0.5, 0.25, 0.25, 1.0, 1.0, 1.0),
    spoof.SpoofCosts("no spoofs", 0.5, 0.5, 0.0, 1.0, 1.0, 1.0),
]


def small_set(seed, n=(6, 7, 8), digits=0, infinite=False):
    """Scores with many ties, of an ASV and a CM system."""
    rng = np.random.default_rng(seed)
    kinds = np.repeat(["target", "nontarget", "spoof"], n)
    asv = np.round(np.repeat([1.5, -1.0, 1.0], n) + rng.normal(0, 1.5, sum(n)), digits)
    cm = np.round(np.repeat([1.0, 1.0, -1.0], n) + rng.normal(0, 1.2, sum(n)), digits)
    if infinite:
        asv[rng.integers(0, len(asv), 3)] = np.inf
        asv[rng.integers(0, len(asv), 2)] = -np.inf
        cm[rng.integers(0, len(cm), 2)] = -np.inf
    order = rng.permutation(len(kinds))
    return {"asv": asv[order], "cm": cm[order], "sasv": (asv + 2 * cm)[order] if not infinite else asv[order],
            "label": kinds[order]}  # fmt: skip


SETS = [small_set(seed) for seed in range(8)] + [small_set(seed, infinite=True) for seed in (20, 21)]
SETS += [small_set(30, n=(1, 1, 1)), small_set(31, n=(1, 9, 2)), small_set(32, n=(12, 1, 1), digits=1)]


def by_kind(table, name):
    return [np.asarray(table[name])[table["label"] == kind] for kind in ("target", "nontarget", "spoof")]


def every_threshold(scores):
    return [-np.inf, *np.unique(scores), np.inf, np.nextafter(np.max(scores), np.inf)]


def rates(groups, threshold, rejects_all=False):
    if rejects_all:
        return 1.0, 0.0, 0.0
    target, *others = groups
    return (np.mean(target < threshold), *(np.mean(g >= threshold) if len(g) else math.nan for g in others))


def named(costs):
    return spoof.spoof_costs(costs)


def brute_a_dcf(groups, costs):
    costs = named(costs)
    weights = (
        costs.p_target * costs.c_miss,
        costs.p_nontarget * costs.c_fa,
        costs.p_spoof * costs.c_fa_spoof,
    )
    every = [rates(groups, t) for t in every_threshold(np.concatenate(groups))] + [(1.0, 0.0, 0.0)]
    default = min(weights[0], weights[1] + weights[2])
    return min(sum(w * r for w, r in zip(weights, point, strict=True)) for point in every) / default


@pytest.mark.parametrize("costs", COSTS, ids=str)
def test_min_a_dcf_against_brute_force(costs):
    for table in SETS:
        found = spoof.min_a_dcf(spoof.SpoofTrials(table, sasv="sasv"), costs)
        assert found == pytest.approx(brute_a_dcf(by_kind(table, "sasv"), costs), abs=1e-12)


@pytest.mark.parametrize("table", SETS, ids=range(len(SETS)))
@pytest.mark.parametrize("threshold", [None, 0.0, 1.0])
def test_a_dcf_at_a_threshold_against_brute_force(table, threshold):
    costs = named("a-dcf1")
    groups = by_kind(table, "sasv")
    cut = math.log((0.05 * 10 + 0.05 * 20) / 0.9) if threshold is None else threshold
    p_miss, p_fa, p_spoof = rates(groups, cut)
    expected = (0.9 * p_miss + 0.5 * p_fa + 1.0 * p_spoof) / 0.9
    trials = spoof.SpoofTrials(table, sasv="sasv")
    assert spoof.a_dcf(trials, costs, threshold=threshold) == pytest.approx(expected, abs=1e-12)


def tandem_cost(asv, cm, costs):
    """The t-DCF as a sum over the four ways to err, normalized by the organizers' default."""
    c = named(costs)
    c0 = c.p_target * c.c_miss * asv[0] + c.p_nontarget * c.c_fa * asv[1]
    c1 = c.p_target * c.c_miss - c0
    c2 = c.p_spoof * c.c_fa_spoof * asv[2]
    first = c0 if c.form == "asvspoof5" else 0.0
    return (first + c1 * cm[0] + c2 * cm[1]), first + min(c1, c2)


@pytest.mark.parametrize("table", SETS, ids=range(len(SETS)))
@pytest.mark.parametrize("costs", ["asvspoof5", "asvspoof2019"])
def test_min_t_dcf_at_a_fixed_threshold_against_brute_force(table, costs):
    trials = spoof.SpoofTrials(table, asv="asv", cm="cm")
    asv = rates(by_kind(table, "asv"), 0.5)
    target, nontarget, spoofed = by_kind(table, "cm")
    groups = [np.concatenate([target, nontarget]), spoofed]
    points = [rates(groups, t) for t in every_threshold(np.concatenate(groups))] + [(1.0, 0.0)]
    found = [tandem_cost(asv, point, costs) for point in points]
    if found[0][1] <= 0.0:
        with pytest.raises(lk.InputError):
            spoof.min_t_dcf(trials, costs, asv_threshold=0.5)
        return
    expected = min(cost for cost, _ in found) / found[0][1]
    assert spoof.min_t_dcf(trials, costs, asv_threshold=0.5) == pytest.approx(expected, abs=1e-12)
    curve = spoof.t_dcf_curve(trials, costs, asv_threshold=0.5)
    assert curve.min == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("table", SETS[:8], ids=range(8))
def test_min_t_dcf_with_free_thresholds_against_brute_force(table):
    asv_groups, (target, nontarget, spoofed) = by_kind(table, "asv"), by_kind(table, "cm")
    cm_groups = [np.concatenate([target, nontarget]), spoofed]
    asv_points = [rates(asv_groups, t) for t in every_threshold(table["asv"])] + [(1.0, 0.0, 0.0)]
    cm_points = [rates(cm_groups, t) for t in every_threshold(table["cm"])] + [(1.0, 0.0)]
    costs = named("asvspoof5")
    every = [tandem_cost(a, c, costs)[0] for a, c in itertools.product(asv_points, cm_points)]
    trials = spoof.SpoofTrials(table, asv="asv", cm="cm")
    found = spoof.min_t_dcf(trials, asv_threshold="free")
    assert found == pytest.approx(min(every) / min(0.95 * 0.99, 0.095 + 0.5), abs=1e-12)


@pytest.mark.parametrize("table", SETS[:8], ids=range(8))
@pytest.mark.parametrize("costs", ["asvspoof5", "asvspoof2019"])
def test_joint_counting_against_brute_force(table, costs):
    c = named(costs)
    weights = (c.p_target * c.c_miss, c.p_nontarget * c.c_fa, c.p_spoof * c.c_fa_spoof)
    asv_groups, cm_groups = by_kind(table, "asv"), by_kind(table, "cm")
    asv_rates = rates(asv_groups, 0.5)
    _, default = tandem_cost(asv_rates, (0.0, 0.0), costs)
    left_out = 0.0 if costs == "asvspoof5" else weights[0] * asv_rates[0] + weights[1] * asv_rates[1]
    every = []
    for t in [*np.unique(table["cm"]), np.inf]:
        passed = [np.mean((a >= 0.5) & (b >= t)) for a, b in zip(asv_groups, cm_groups, strict=True)]
        every.append(weights[0] * (1 - passed[0]) + weights[1] * passed[1] + weights[2] * passed[2])
    trials = spoof.SpoofTrials(table, asv="asv", cm="cm")
    if default <= 0.0:
        return
    found = spoof.min_t_dcf(trials, costs, asv_threshold=0.5, counting="joint")
    assert found == pytest.approx((min(every) - left_out) / default, abs=1e-12)


def test_joint_counting_equals_the_product_where_all_pairs_of_scores_occur():
    # every score of the ASV system with every score of the CM system: the two err independently
    rng = np.random.default_rng(5)
    tables = []
    for kind, asv_mean, cm_mean in (("target", 1, 1), ("nontarget", -1, 1), ("spoof", 1, -1)):
        asv, cm = rng.normal(asv_mean, 1, 12), rng.normal(cm_mean, 1, 12)
        # bona fide kinds share their CM scores, as the organizers' product assumes
        cm = np.sort(cm) if kind == "target" else cm
        tables.append((asv, cm, kind))
    tables[1] = (tables[1][0], tables[0][1], "nontarget")
    rows = [(a, c, kind) for asv, cm, kind in tables for a in asv for c in cm]
    table = dict(zip(("asv", "cm", "label"), zip(*rows, strict=True), strict=True))
    trials = spoof.SpoofTrials({name: list(values) for name, values in table.items()}, asv="asv", cm="cm")
    product = spoof.min_t_dcf(trials, asv_threshold=0.2)
    assert spoof.min_t_dcf(trials, asv_threshold=0.2, counting="joint") == pytest.approx(product, abs=1e-12)


def organizers_eer(target, nontarget):
    """Trial by trial, targets first among equals; the first place where both rates are nearest."""
    trials = sorted([(s, 0) for s in target] + [(s, 1) for s in nontarget])
    misses, accepted = 0, len(nontarget)
    points = [(0.0, 1.0)]
    for _, kind in trials:
        misses, accepted = misses + (kind == 0), accepted - (kind == 1)
        points.append((misses / len(target), accepted / len(nontarget)))
    return min(points, key=lambda point: abs(point[0] - point[1]))


@pytest.mark.parametrize("table", SETS, ids=range(len(SETS)))
def test_nearest_eer_against_a_walk_from_trial_to_trial(table):
    target, nontarget, _ = by_kind(table, "sasv")
    expected = organizers_eer(target, nontarget)
    found = spoof.eer_nearest(lk.Scores.from_classes(target, nontarget))
    assert found == pytest.approx(sum(expected) / 2, abs=1e-15)


def organizers_threshold(target, nontarget):
    """compute_det_curve and compute_eer of the ASVspoof programs: the score of the last rejected trial."""
    scores = np.concatenate([target, nontarget])
    order = np.argsort(scores, kind="mergesort")
    missed = np.cumsum(order < len(target))
    accepted = len(nontarget) - (np.arange(1, len(scores) + 1) - missed)
    p_miss, p_fa = np.append(0, missed / len(target)), np.append(1, accepted / len(nontarget))
    thresholds = np.append(scores[order[0]] - 0.001, scores[order])
    return thresholds[np.argmin(np.abs(p_miss - p_fa))]


@pytest.mark.parametrize("digits", [0, 3])
def test_asv_threshold_against_the_program_of_the_organizers(digits):
    rng = np.random.default_rng(2019)
    for _ in range(150):
        sizes = rng.integers(1, 25, 2)
        target, nontarget = (
            rng.normal(mean, 1, n).round(digits) for mean, n in zip((1, 0), sizes, strict=True)
        )
        labels = ["target"] * len(target) + ["nontarget"] * len(nontarget)
        trials = spoof.SpoofTrials({"asv": np.concatenate([target, nontarget]), "label": labels})
        assert asv_eer_threshold(trials) == organizers_threshold(target, nontarget)


@pytest.mark.parametrize("seed", range(6))
def test_concurrent_t_eer_makes_all_three_rates_equal(seed):
    table = small_set(seed, n=(200, 250, 300), digits=2)
    trials = spoof.SpoofTrials(table, asv="asv", cm="cm")
    target, nontarget, spoofed = by_kind(table, "cm")
    cm = lk.Scores.from_classes(np.concatenate([target, nontarget]), spoofed)
    asv = count_kinds(trials, "asv").bins()
    point = t_eer_from_bins(asv, error_path(count_trials(cm).bins()))
    rejected = point.p_miss_cm + (1 - point.p_miss_cm) * point.p_miss_asv
    assert rejected == pytest.approx(point.t_eer)
    assert (1 - point.p_miss_cm) * point.p_fa_asv == pytest.approx(rejected, abs=1e-12)
    # the CM curve has steps as high as one spoof
    assert point.p_fa_cm * point.p_fa_spoof_asv == pytest.approx(rejected, abs=2 / 300)
    assert spoof.t_eer(trials) == point.t_eer
    assert spoof.t_eer_nearest(trials) == pytest.approx(point.t_eer, abs=3 / 200)
    for path in spoof.t_eer_paths(trials, (0.0, 0.3, 1.0)):
        # every path comes by the concurrent point
        assert np.nanmin(np.abs(path.t_eer - point.t_eer)) < 2 / 200


def organizers_t_eer(table):
    """The organizers' search over all pairs of observed thresholds at prevalence one half."""
    target, nontarget, spoofed = by_kind(table, "cm")
    cm = walk([np.concatenate([target, nontarget]), spoofed])
    best = (np.inf, np.nan)
    for m, f, s in zip(*walk(by_kind(table, "asv")), strict=True):
        if not m < 0.5 * f + 0.5 * s:
            continue
        missed = cm[0] + (1 - cm[0]) * m
        accepted = 0.5 * (1 - cm[0]) * f + 0.5 * cm[1] * s
        k = int(np.argmin(np.abs(np.round(missed - accepted, 13))))
        if s > 0 and cm[0][k] < 1:
            apart = abs(f / s - cm[1][k] / (1 - cm[0][k]))
            if apart < best[0]:
                best = (apart, s * cm[1][k])
    return best[1]


def walk(kinds):
    order = np.argsort(np.concatenate(kinds), kind="stable")
    label = np.repeat(np.arange(len(kinds)), [len(k) for k in kinds])[order]
    curves = [np.concatenate([[0.0], np.cumsum(label == i) / len(k)]) for i, k in enumerate(kinds)]
    return [curves[0], *(1 - curve for curve in curves[1:])]


@pytest.mark.parametrize("seed", range(40, 46))
def test_nearest_t_eer_against_a_search_over_all_pairs(seed):
    table = small_set(seed, n=(31, 37, 41), digits=6)
    found = spoof.t_eer_nearest(spoof.SpoofTrials(table, asv="asv", cm="cm"))
    assert found == pytest.approx(organizers_t_eer(table), abs=1e-12)


def test_evaluation_equals_the_single_functions():
    table = small_set(50, n=(80, 90, 120), digits=1) | {}
    table["attack"] = np.where(table["label"] == "spoof", np.where(np.arange(290) % 2, "A1", "A2"), "-")
    trials = spoof.SpoofTrials(table, attack="attack")
    result = spoof.evaluate(trials)
    for cost in result.a_dcf:
        assert cost.min == spoof.min_a_dcf(trials, cost.name)
        assert cost.act == spoof.a_dcf(trials, cost.name)
    for cost in result.t_dcf:
        assert cost.min == spoof.min_t_dcf(trials, cost.name)
        assert cost.act == spoof.t_dcf(trials, cost.name)
    assert result.t_eer == spoof.t_eer(trials)
    pairs = {"sv_eer": ("nontarget",), "spf_eer": ("spoof",), "sasv_eer": ("nontarget", "spoof")}
    for name, others in pairs.items():
        assert getattr(result, name) == lk.metrics.eer_roc(trials.pair("sasv", ("target",), others))
    assert result.cm_eer == lk.metrics.eer_roc(trials.pair("cm", ("target", "nontarget"), ("spoof",)))
    assert list(result.attacks) == ["A1", "A2"]
    kept = (table["label"] != "spoof") | (table["attack"] == "A1")
    alone = spoof.SpoofTrials({name: np.asarray(values)[kept] for name, values in table.items()})
    own = result.attacks["A1"].numbers
    expected = spoof.evaluate(alone, asv_threshold=result.asv_threshold).numbers
    assert_allclose([own[name] for name in own], [expected[name] for name in own], rtol=1e-12)
    hull = spoof.evaluate(trials, eer="hull")
    assert hull.sv_eer == lk.eer(trials.pair("sasv", ("target",), ("nontarget",)))
    nearest = spoof.evaluate(trials, eer="nearest")
    assert nearest.t_eer == spoof.t_eer_nearest(trials)


def test_a_free_asv_threshold_needs_costs_of_its_errors():
    trials = spoof.SpoofTrials(SETS[0], asv="asv", cm="cm")
    with pytest.raises(lk.InputError):
        spoof.min_t_dcf(trials, "asvspoof2019", asv_threshold="free")


def test_costs_keep_their_intervals_where_an_earlier_one_cannot_be_computed():
    table = small_set(51, n=(80, 90, 0), digits=1) | {"who": np.arange(170) % 20}
    no_spoofs = spoof.SpoofCosts("no spoofs", 0.5, 0.5, 0.0, 1.0, 1.0, 1.0)
    result = spoof.evaluate(spoof.SpoofTrials(table, sasv="sasv"), ("asvspoof5", no_spoofs), speakers="who")
    (cost,) = result.to_dict()["a_dcf"]
    assert cost["name"] == "no spoofs"
    assert tuple(cost["intervals"]["min"]) == result.intervals["a_dcf.1.min"]
