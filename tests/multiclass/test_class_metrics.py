"""Metrics of several classes against their definitions written out with SciPy."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp

import llrkit as lk
from llrkit.multiclass.metrics import PRESETS

mc = lk.multiclass


def made(seed=0, k=5, n=400, scale=2.0, offset=0.0):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), rng.choice(k, n - k, p=rng.dirichlet(np.ones(k) * 3))])
    loglik = scale * (rng.normal(size=(n, k)) + 1.5 * np.eye(k)[labels]) + offset * rng.normal(size=(n, 1))
    return loglik, labels, lk.scores.ClassScores(loglik, labels, range(k))


PRIORS = {
    "flat": lambda labels, k: np.full(k, 1 / k),
    "counts": lambda labels, k: np.bincount(labels) / len(labels),
    "given": lambda labels, k: np.arange(1, k + 1) / (k * (k + 1) / 2),
}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("k", [2, 5, 17])
def test_cllr_error_rate_and_confusion_against_scipy(name, k):
    loglik, labels, scores = made(k=k, offset=300.0)
    share = PRIORS[name](labels, k)
    prior = share if name == "given" else name
    posterior = log_softmax(loglik + np.log(share), axis=1)
    own = posterior[np.arange(len(labels)), labels]
    per_class = np.array([-own[labels == c].mean() for c in range(k)])
    assert_allclose(mc.cllr(scores, prior=prior), (share * per_class).sum() / np.log(2), rtol=1e-12)
    entropy = -(share * np.log(share)).sum()
    assert_allclose(
        mc.cllr(scores, prior=prior, normalized=True), (share * per_class).sum() / entropy, rtol=1e-12
    )
    decided = posterior.argmax(axis=1)
    errors = np.array([(decided[labels == c] != c).mean() for c in range(k)])
    assert_allclose(mc.error_rate(scores, prior=prior), (share * errors).sum(), rtol=1e-12)
    counts = mc.confusion(scores, prior=prior).counts
    assert_array_equal(counts, [[((labels == a) & (decided == b)).sum() for b in range(k)] for a in range(k)])
    assert_allclose(mc.confusion(scores, prior=prior).error_rates, errors, rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_expected_cost_against_every_decision_written_out(seed):
    rng = np.random.default_rng(seed)
    k, decisions = 4, rng.integers(2, 7)
    loglik, labels, scores = made(seed, k=k, n=200)
    cost, share = rng.random((k, decisions)), rng.dirichlet(np.ones(k))
    total = np.zeros(k)
    for row, label in zip(loglik, labels, strict=True):
        posterior = np.exp(log_softmax(row + np.log(share)))
        best = min(range(decisions), key=lambda j: sum(posterior[c] * cost[c, j] for c in range(k)))
        total[label] += cost[label, best] / (labels == label).sum()
    expected = (share * total).sum()
    assert_allclose(mc.expected_cost(scores, cost, prior=share, normalized=False), expected, rtol=1e-12)
    assert_allclose(mc.expected_cost(scores, cost, prior=share), expected / (share @ cost).min(), rtol=1e-12)
    zero_one = mc.expected_cost(scores, mc.zero_one_cost(k), prior=share, normalized=False)
    assert_allclose(zero_one, mc.error_rate(scores, prior=share), rtol=1e-12)


def detection_llr(loglik, t, weights):
    others = [n for n in range(loglik.shape[1]) if n != t]
    p = weights[others] / weights[others].sum()
    return loglik[:, t] - logsumexp(loglik[:, others], b=p, axis=1)


@pytest.mark.parametrize("name", PRIORS)
def test_detection_llrs_against_scipy(name):
    loglik, labels, scores = made(k=6, offset=50.0)
    share = PRIORS[name](labels, 6)
    for t in range(6):
        llr = detection_llr(loglik, t, share)
        prior = share if name == "given" else name
        source = mc.detection(scores, str(t), prior=prior)
        binary = lk.Scores(llr[labels == t], llr[labels != t])
        assert_allclose(lk.cllr(source), lk.cllr(binary), rtol=1e-12)
        assert_allclose(lk.eer(source), lk.eer(binary), rtol=1e-12)
        assert_allclose(lk.min_dcf(source, point=0.1), lk.min_dcf(binary, point=0.1), rtol=1e-12)
    flat = np.ones(6)
    expected = np.column_stack([detection_llr(loglik, t, flat) for t in range(6)])
    assert_allclose(mc.detection_llrs(loglik), expected, rtol=1e-11)


def test_pairs_are_differences_of_the_trials_of_two_classes():
    loglik, labels, scores = made(k=4)
    for a, b in itertools.permutations(range(4), 2):
        llr = loglik[:, a] - loglik[:, b]
        source = mc.pair(scores, str(a), str(b))
        assert_allclose(lk.auc(source), lk.auc(lk.Scores(llr[labels == a], llr[labels == b])), rtol=1e-14)
    with pytest.raises(lk.errors.UnknownNameError):
        mc.pair(scores, "1", "1")
    with pytest.raises(lk.errors.UnknownNameError):
        mc.pair(scores, "1", "x")


def brute_cavg(loglik, labels, p_target, p_out=0.0, out=None, normalized=False):
    """The definition, one target and one other language after the other."""
    k = loglik.shape[1]
    targets = [t for t in range(k) if t != out]
    n = len(targets)
    p_non = (1.0 - p_target - p_out) / (n - 1)
    weights = np.array([p_out if c == out else p_non for c in range(k)])
    total = 0.0
    for t in targets:
        accept = detection_llr(loglik, t, weights) >= np.log((1.0 - p_target) / p_target)
        total += p_target * np.mean(~accept[labels == t])
        for other in targets:
            if other != t:
                total += p_non * np.mean(accept[labels == other])
        if out is not None:
            total += p_out * np.mean(accept[labels == out])
    return total / n / (p_target if normalized else 1.0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [3, 8])
def test_cavg_against_brute_force(seed, k):
    loglik, labels, scores = made(seed, k=k)
    assert_allclose(mc.cavg(scores, "lre07"), brute_cavg(loglik, labels, 0.5), rtol=1e-12)
    assert_allclose(mc.cavg(scores, "lre09"), brute_cavg(loglik, labels, 0.5), rtol=1e-12)
    both = [brute_cavg(loglik, labels, p, normalized=True) for p in (0.5, 0.1)]
    assert_allclose(mc.cavg(scores, "lre22"), np.mean(both), rtol=1e-12)
    assert_allclose(mc.cavg(scores, "lre17", allow_unconfirmed=True), np.mean(both), rtol=1e-12)
    opened = brute_cavg(loglik, labels, 0.5, 0.2, out=k - 1)
    for name in ("lre07-open", "lre09-open"):
        assert_allclose(mc.cavg(scores, name, out_of_set=str(k - 1)), opened, rtol=1e-12)


def test_cavg_of_clusters_and_of_the_worst_pairs_against_brute_force():
    loglik, labels, scores = made(3, k=6)
    clusters = {"a": ["0", "1"], "b": ["2", "3", "5"]}
    parts = []
    for members in ([0, 1], [2, 3, 5]):
        rows = np.isin(labels, members)
        codes = np.searchsorted(members, labels[rows])
        parts.append(brute_cavg(loglik[rows][:, members], codes, 0.5))
    found = mc.cavg(scores, "lre15", clusters=clusters, allow_unconfirmed=True)
    assert_allclose(found, np.mean(parts), rtol=1e-12)
    costs = []
    for a, b in itertools.combinations(range(6), 2):
        llr, mine, other = loglik[:, a] - loglik[:, b], labels == a, labels == b
        errors = [
            0.5 * np.mean(llr[mine] < cut) + 0.5 * np.mean(llr[other] >= cut)
            for cut in [*np.unique(llr[mine | other]), np.inf]
        ]
        actual = 0.5 * np.mean(llr[mine] < 0) + 0.5 * np.mean(llr[other] >= 0)
        costs.append((min(errors), actual))
    worst = sorted(costs, key=lambda pair: -pair[0])[:6]
    assert_allclose(
        mc.cavg(scores, "lre11", allow_unconfirmed=True), np.mean([actual for _, actual in worst]), rtol=1e-12
    )


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if not preset.confirmed])
def test_unconfirmed_presets_are_refused_without_a_flag(name):
    _, _, scores = made()
    with pytest.raises(lk.errors.UnconfirmedPresetError):
        mc.cavg(scores, name)
    assert PRESETS[name].source


def test_what_a_cost_needs_is_asked_for():
    _, _, scores = made()
    with pytest.raises(lk.InputError):
        mc.cavg(scores, "lre15", allow_unconfirmed=True)
    with pytest.raises(lk.InputError):
        mc.cavg(scores, "lre07", clusters={"a": ["0", "1"]})
    with pytest.raises(lk.InputError):
        mc.cavg(scores, "lre07-open")
    with pytest.raises(lk.InputError):
        mc.cavg(scores, "lre07", out_of_set="0")
    with pytest.raises(lk.errors.UnknownNameError):
        mc.cavg(scores, "lre99")
    with pytest.raises(lk.InputError):
        mc.evaluate(scores, cavg="lre11", allow_unconfirmed=True)
    own = mc.CavgPreset("mine", p_target=(0.2,))
    assert mc.cavg(scores, own) == mc.evaluate(scores, cavg=own).cavg


@pytest.mark.parametrize("beta", [1.0, 9.0])
def test_ties_with_the_threshold_are_accepted(beta):
    """The LLR decides, not products that were rounded otherwise: x = log beta exactly is accepted."""
    from llrkit.multiclass.metrics import ClassLosses, Detection

    loglik = np.array([[np.log(beta), 0.0], [0.0, np.log(beta)], [0.0, 0.0]]) + np.array(
        [[0.0], [700.0], [-3.0]]
    )
    scores = lk.scores.ClassScores(loglik, [0, 1, 1])
    counted = scores.reduce(ClassLosses.at(np.log([0.5, 0.5]), (), [Detection(np.ones(2), np.log(beta))]))
    llr = loglik[:, 0] - loglik[:, 1]
    expected = [llr >= np.log(beta), -llr >= np.log(beta)]
    labels = np.array([0, 1, 1])
    assert_array_equal(counted.accepted[0], [[row[labels == n].sum() for n in (0, 1)] for row in expected])


def test_scores_that_say_nothing_cost_what_the_prior_costs():
    scores = lk.scores.ClassScores(np.zeros((6, 3)), [0, 1, 2, 0, 1, 2])
    assert mc.cllr(scores, normalized=True) == 1.0
    assert_allclose(mc.cllr(scores), np.log2(3), rtol=1e-15)
    assert_allclose(mc.error_rate(scores), 2 / 3, rtol=1e-15)
    assert mc.expected_cost(scores, mc.zero_one_cost(3)) == 1.0
    assert mc.refined_cllr(scores, normalized=True) == 1.0
    assert mc.cavg(scores) == 0.5  # everything is accepted: x >= 0


def test_infinite_log_likelihoods():
    sure = lk.scores.ClassScores([[np.inf, 0.0, 1.0], [-np.inf, 2.0, -np.inf], [0.0, 0.0, np.inf]], [0, 1, 2])
    assert mc.cllr(sure) == 0.0
    assert mc.error_rate(sure) == 0.0
    wrong = lk.scores.ClassScores([[-np.inf, 0.0], [0.0, 1.0]], [0, 1])
    assert mc.cllr(wrong) == np.inf
    found = mc.evaluate(wrong)
    assert np.isnan(found.refined_cllr)
    assert "infinite" in found.refinement.note
    with pytest.raises(lk.InputError):
        mc.cllr(
            mc.only(
                lk.scores.ClassScores([[0.0, -np.inf, -np.inf], [0, 0, 0], [0, 0, 0]], [1, 1, 2]), ["1", "2"]
            )
        )


@pytest.mark.parametrize(
    "prior",
    [
        "equal",
        [0.5, 0.5],
        [0.5, 0.5, 0.0, 0.0, 0.0],
        [0.5, 0.1, 0.1, 0.1, 0.1],
        {"0": 1.0},
        ["a", "b", "c", "d", "e"],
    ],
)
def test_bad_priors_are_named(prior):
    _, _, scores = made()
    with pytest.raises(lk.InputError):
        mc.cllr(scores, prior=prior)


def test_bad_costs_are_named():
    _, _, scores = made()
    for cost in (np.eye(3), -np.eye(5), [["a"]], np.zeros((5, 2))):
        with pytest.raises(lk.InputError):
            mc.expected_cost(scores, cost)


def test_a_class_without_trials_is_named_and_can_be_left_out():
    scores = lk.scores.ClassScores([[2.0, 0, 1], [0, 1, 0.5]], ["a", "b"], ["a", "b", "c"])
    with pytest.raises(lk.errors.EmptyClassError):
        mc.cllr(scores)
    assert mc.error_rate(mc.only(scores, ["a", "b"])) == 0.0
    with pytest.raises(lk.errors.EmptyClassError):
        mc.fit_scale_offset(scores)


def test_evaluate_agrees_with_the_single_metrics():
    _, labels, scores = made(k=4)
    cost = np.array([[0, 1, 2, 3], [1, 0, 1, 1], [5, 1, 0, 1], [1, 1, 1, 0.0]])
    found = mc.evaluate(scores, prior="counts", costs={"own": cost})
    assert found.cllr == mc.cllr(scores, prior="counts")
    assert found.cllr_normalized == mc.cllr(scores, prior="counts", normalized=True)
    assert found.refined_cllr == mc.refined_cllr(scores, prior="counts")
    assert found.error_rate.actual == mc.error_rate(scores, prior="counts")
    assert found.costs[0].actual == mc.expected_cost(scores, cost, prior="counts")
    refined = mc.refine(scores, prior="counts").on(scores)
    assert_allclose(found.costs[0].refined, mc.expected_cost(refined, cost, prior="counts"), rtol=1e-12)
    assert [one.name for one in found.cavgs] == ["lre07", "lre22"]
    assert found.cavg == mc.cavg(scores, "lre07")
    assert found.cavgs[1].refined == mc.cavg(refined, "lre22")
    assert_array_equal(found.confusion.counts, mc.confusion(scores, prior="counts").counts)
    assert sum(one.n for one in found.per_class) == found.n == len(labels)
    assert_allclose(sum(one.prior * one.cllr.actual for one in found.per_class), found.cllr, rtol=1e-12)
    assert found.per_class[2].detection.eer == lk.eer(mc.detection(scores, "2"))
    plain = found.to_dict()
    assert {
        "classes",
        "n",
        "cllr",
        "cllr_normalized",
        "refined_cllr",
        "error_rate",
        "cavg",
        "per_class",
    } <= set(plain)
    with pytest.raises(AttributeError):
        found.cllr = 0.0
    assert not found.confusion.counts.flags.writeable
