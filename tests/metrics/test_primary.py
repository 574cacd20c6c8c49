import math
from itertools import pairwise

import brute
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import beta

import llrkit as lk
from llrkit.core.losses import scoring_rule

RNG = np.random.default_rng(21)
N_T, N_N = 24, 45
TARGET, NONTARGET = np.round(RNG.normal(6, 4, N_T), 1), np.round(RNG.normal(-1, 4, N_N), 1)
KNOWN_T, KNOWN_N = RNG.random(N_T) < 0.5, RNG.random(N_N) < 0.3
PART_T, PART_N = RNG.integers(0, 3, N_T), RNG.choice(4, N_N, p=[0.5, 0.3, 0.15, 0.05])
SCORES = lk.Scores(TARGET, NONTARGET, {"known": (KNOWN_T, KNOWN_N), "part": (PART_T, PART_N)})
PRIMARY = {"sre12": (0.01, 0.001), "sre16": (0.01, 0.005), "sre21": (0.01, 0.05)}


def all_thresholds():
    return [*sorted(set(TARGET) | set(NONTARGET)), math.inf]


def mean_cost(priors, miss, fa, *, actual):
    """The mean over priors of Pmiss + Pfa (1 - p)/p, at ln((1 - p)/p) or at the best threshold."""
    total = 0.0
    for p in priors:
        beta = (1 - p) / p
        candidates = [math.log(beta)] if actual else all_thresholds()
        total += min(miss(t) + beta * fa(t) for t in candidates)
    return total / len(priors)


def plain_miss(t):
    return np.mean(t > TARGET)


@pytest.mark.parametrize("actual", [True, False])
@pytest.mark.parametrize("p_known", [None, 0.0, 0.25, 1.0])
def test_known_nontargets_against_brute_force(actual, p_known):
    share = 0.5 if p_known is None else p_known

    def fa(t):
        return share * np.mean(NONTARGET[KNOWN_N] >= t) + (1 - share) * np.mean(NONTARGET[~KNOWN_N] >= t)

    wanted = mean_cost(PRIMARY["sre12"], plain_miss, fa, actual=actual)
    words = (np.where(known, "known", "unknown") for known in (KNOWN_T, KNOWN_N))
    numbers = (known.astype(int) for known in (KNOWN_T, KNOWN_N))
    for column in ((KNOWN_T, KNOWN_N), tuple(words), tuple(numbers)):
        scores = lk.Scores(TARGET, NONTARGET, {"k": column})
        found = lk.c_primary(scores, evaluation="sre12", actual=actual, known="k", p_known=p_known)
        assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("actual", [True, False])
@pytest.mark.parametrize(("p_known", "kind_of_nontargets"), [(1.0, True), (0.0, False)])
def test_all_nontargets_of_one_kind_and_targets_of_the_other(actual, p_known, kind_of_nontargets):
    # with all the weight on the only kind there is, it is the plain cost, whatever the column says of targets
    column = (np.full(N_T, not kind_of_nontargets), np.full(N_N, kind_of_nontargets))
    scores = lk.Scores(TARGET, NONTARGET, {"k": column})
    found = lk.c_primary(scores, evaluation="sre12", actual=actual, known="k", p_known=p_known)
    assert_allclose(found, lk.c_primary(SCORES, evaluation="sre12", actual=actual), rtol=1e-12)


@pytest.mark.parametrize("actual", [True, False])
@pytest.mark.parametrize("name", PRIMARY)
def test_plain_primary_against_brute_force(name, actual):
    wanted = mean_cost(PRIMARY[name], plain_miss, lambda t: np.mean(t <= NONTARGET), actual=actual)
    assert_allclose(lk.c_primary(SCORES, evaluation=name, actual=actual), wanted, rtol=1e-12)
    primary = lk.evaluate(SCORES, points=[name]).primary
    assert primary.name == name
    assert_allclose(primary.act if actual else primary.min, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["sre08", "sre10", "evalita09"])
def test_preset_with_one_point_is_that_point(name):
    assert_allclose(lk.c_primary(SCORES, evaluation=name), lk.act_dcf(SCORES, point=name), rtol=1e-14)
    assert_allclose(
        lk.c_primary(SCORES, evaluation=name, actual=False), lk.min_dcf(SCORES, point=name), rtol=1e-14
    )


@pytest.mark.parametrize("actual", [True, False])
@pytest.mark.parametrize("name", ["sre16", "sre21"])
def test_partition_equalization_against_brute_force(name, actual):
    # M-02: every partition has the same say in each class, so error rates are means of the partitions' rates
    def miss(t):
        return np.mean([np.mean(TARGET[k == PART_T] < t) for k in np.unique(PART_T)])

    def fa(t):
        return np.mean([np.mean(NONTARGET[k == PART_N] >= t) for k in np.unique(PART_N)])

    found = lk.c_primary(SCORES, evaluation=name, actual=actual, partition="part")
    assert_allclose(found, mean_cost(PRIMARY[name], miss, fa, actual=actual), rtol=1e-12)
    assert found != lk.c_primary(SCORES, evaluation=name, actual=actual)


def test_known_nontargets_that_cannot_be_used_are_refused():
    for name, options in (
        ("sre12", {"known": "known", "partition": "part"}),
        ("sre12", {"p_known": 0.5}),
        ("sre16", {"known": "known"}),
        ("sre12", {"known": "known", "p_known": -0.1}),
        ("sre12", {"known": "known", "p_known": math.nan}),
        ("sre12", {"known": "part"}),
        ("sre12", {"known": "who"}),
    ):
        with pytest.raises((lk.InputError, lk.errors.UnknownNameError)):
            lk.c_primary(SCORES, evaluation=name, **options)
    for actual in (True, False):
        for value in (False, True):
            column = (KNOWN_T, np.full(N_N, value))
            with pytest.raises(lk.errors.EmptyClassError):
                lk.c_primary(
                    lk.Scores(TARGET, NONTARGET, {"k": column}), evaluation="sre12", actual=actual, known="k"
                )


# Presets


@pytest.mark.parametrize(
    ("name", "costs"),
    # theory.md M-01: (Ptarget, Cmiss, Cfa)
    [
        ("sre08", [(0.01, 10, 1)]),
        ("sre10", [(0.001, 1, 1)]),
        ("sre12", [(0.01, 1, 1), (0.001, 1, 1)]),
        ("sre16", [(0.01, 1, 1), (0.005, 1, 1)]),
        ("sre18-cmn2", [(0.01, 1, 1), (0.005, 1, 1)]),
        ("sre18-vast", [(0.05, 1, 1)]),
        ("sre19-cts", [(0.01, 1, 1), (0.005, 1, 1)]),
        ("sre19-av", [(0.05, 1, 1)]),
        ("sre20", [(0.05, 1, 1)]),
        ("sre21", [(0.01, 1, 1), (0.05, 1, 1)]),
        ("sre24", [(0.01, 1, 1), (0.05, 1, 1)]),
        ("evalita09", [(0.5, 10, 1)]),
        ("voxceleb", [(0.01, 1, 1)]),
        ("voxsrc", [(0.05, 1, 1)]),
        ("asvspoof5", [(0.95, 1, 10)]),
    ],
)
def test_presets_against_printed_table(name, costs):
    found = lk.theory.preset(name.upper(), allow_unconfirmed=True)
    assert [(p.p_target, p.c_miss, p.c_fa) for p in found.points] == costs
    assert found.averages == (len(costs) > 1)
    assert found.p_known == (0.5 if name == "sre12" else None)
    assert found.source


UNCONFIRMED = ["sre18-cmn2", "sre18-vast", "sre19-cts", "sre19-av", "sre20", "sre24"]


@pytest.mark.parametrize("name", UNCONFIRMED)
def test_unconfirmed_presets_are_refused(name):
    for use in (
        lk.theory.preset,
        lambda one: lk.evaluate(SCORES, points=[one]),
        lambda one: lk.c_primary(SCORES, evaluation=one),
    ):
        with pytest.raises(lk.errors.UnconfirmedPresetError):
            use(name)
    assert lk.c_primary(SCORES, evaluation=name, allow_unconfirmed=True) > 0


@pytest.mark.parametrize("name", ["sre12", "sre16", "sre21"])
def test_averaging_presets_are_refused_as_points(name):
    for metric in (lk.min_dcf, lk.act_dcf):
        with pytest.raises(lk.InputError):
            metric(SCORES, point=name)


def test_operating_point_numbers():
    # M-01 on SRE08: default 0.1, beta 9.9, plo -2.2925, effective prior 0.0917
    point = lk.operating_point("sre08")
    assert_allclose(point.default_cost, 0.1, rtol=1e-15)
    assert_allclose(point.beta, 9.9, rtol=1e-15)
    assert_allclose(point.log_odds, -2.2925, atol=5e-5)
    assert_allclose(point.effective_prior, 0.0917, atol=5e-5)
    assert_allclose(point.threshold, math.log(9.9), rtol=1e-15)
    twelve = lk.theory.preset("sre12").points
    assert_allclose([p.threshold for p in twelve], [4.5951, 6.9068], atol=5e-5)
    assert_allclose([p.beta for p in twelve], [99, 999], rtol=1e-14)


def test_cost_normalized_and_not():
    for p, m, f in [(0.01, 10, 1), (0.5, 10, 1), (0.5, 1, 1), (0.9, 2, 3)]:
        point = lk.OperatingPoint(p, m, f)
        plain = m * p * 0.3 + f * (1 - p) * 0.02
        assert_allclose(point.cost(0.3, 0.02, normalized=False), plain, rtol=1e-14)
        assert_allclose(point.cost(0.3, 0.02), plain / min(m * p, f * (1 - p)), rtol=1e-14)


@pytest.mark.parametrize(
    "arguments",
    [(0,), (1,), (-0.1,), (math.nan,), (0.5, 0), (0.5, 1, -1), (0.5, math.inf), ("x",), (0.5, "y")],
)
def test_wrong_operating_points(arguments):
    with pytest.raises(lk.InputError):
        lk.OperatingPoint(*arguments)


def test_zero_llrs_cost_one_at_every_point():
    nothing = lk.Scores([0.0, 0.0], [0.0, 0.0, 0.0])
    for point in ("sre08", "sre10", "evalita09", lk.OperatingPoint(0.5), lk.OperatingPoint(0.9, 3, 1)):
        assert lk.act_dcf(nothing, point=point) == 1.0
        assert lk.min_dcf(nothing, point=point) == 1.0


def test_dcf_depends_on_the_effective_prior_only():
    a = lk.OperatingPoint(0.01, 10, 1)
    b = lk.OperatingPoint(a.effective_prior)
    assert_allclose(lk.act_dcf(SCORES, point=a), lk.act_dcf(SCORES, point=b), rtol=1e-13)
    assert_allclose(lk.min_dcf(SCORES, point=a), lk.min_dcf(SCORES, point=b), rtol=1e-13)


# Compound LLRs


def test_compound_llr_without_known_impostors_is_itself():
    x = np.array([[2.0, -800.0, 3.0], [900.0, 0.0, -1.0]])
    np.testing.assert_array_equal(lk.metrics.compound_llr(x, p_known=0.0), x)


# Cross-entropy, scoring rules, half total error rate


@pytest.mark.parametrize("prior", [1e-12, 1e-290])
def test_cross_entropy_at_tiny_priors_of_perfect_llrs(prior):
    assert_allclose(lk.metrics.cross_entropy(lk.Scores([np.inf], [-np.inf]), prior=prior), 0.0, atol=1e-300)
    assert_allclose(lk.metrics.cross_entropy(lk.Scores([0.0], [0.0]), prior=prior), 1.0, rtol=1e-12)


@pytest.mark.parametrize("prior", [0.5, 0.02])
def test_brier_cost_against_squares(prior):
    odds = prior / (1 - prior)
    q_t, q_n = (1 / (1 + 1 / (np.exp(x) * odds)) for x in (TARGET, NONTARGET))
    wanted = prior * np.mean(3 * (1 - q_t) ** 2) + (1 - prior) * np.mean(3 * q_n**2)
    assert_allclose(lk.metrics.rule_cost(SCORES, rule="brier", prior=prior), wanted, rtol=1e-12)


@pytest.mark.parametrize("rule", ["brier", "high-threshold", "low-threshold", (1.5, 1.5), (3, 4)])
@pytest.mark.parametrize("prior", [0.5, 0.1])
def test_rule_cost_against_threshold_identity(rule, prior):
    # M-23: the cost is the error at every threshold eta, weighted by Beta(a, b)
    a, b = scoring_rule(rule).a, scoring_rule(rule).b
    nodes, weights = np.polynomial.legendre.leggauss(6)
    shift = math.log(prior / (1 - prior))
    edges = np.unique([-40.0, *np.arange(-30.0, 31.0, 0.5), 40.0, *(TARGET + shift), *(NONTARGET + shift)])
    total = 0.0
    for low, high in pairwise(edges):
        z = (low + high) / 2 + (high - low) / 2 * nodes  # log-odds of eta
        eta = 1 / (1 + np.exp(-z))
        rest = 1 / (1 + np.exp(z))
        miss, fa = np.mean(TARGET + shift < low + 1e-9), np.mean(NONTARGET + shift >= high - 1e-9)
        # Beta(eta) d eta / eta for a miss, / (1 - eta) for a false alarm, with d eta = eta (1 - eta) dz
        density = prior * miss * eta ** (a - 1) * rest**b + (1 - prior) * fa * eta**a * rest ** (b - 1)
        total += (high - low) / 2 * weights @ density / beta(a, b)
    assert_allclose(lk.metrics.rule_cost(SCORES, rule=rule, prior=prior), total, rtol=1e-7)


def test_hter_is_the_dcf_of_equal_priors_at_that_threshold():
    dev = lk.Scores([1.0, 2.0, 4.0], [0.0, 1.5, -2.0])
    threshold = lk.metrics.eer_threshold(dev)
    miss, fa = brute.rates_at(TARGET.tolist(), NONTARGET.tolist(), threshold)
    assert_allclose(lk.metrics.hter(SCORES, dev=dev), float((miss + fa) / 2), rtol=1e-15)
    shifted = lk.Scores(TARGET - threshold, NONTARGET - threshold)
    assert_allclose(
        2 * lk.metrics.hter(SCORES, dev=dev), lk.act_dcf(shifted, point=lk.OperatingPoint(0.5)), rtol=1e-14
    )
