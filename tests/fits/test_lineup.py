"""Line-ups: theory's values, brute force over foils and drawn cohorts, and what must hold."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pieces import Pieces, collected, reloaded
from scipy import integrate, stats

import llrkit as lk
from llrkit.fits.lineup import LineupMap, rank_histogram

SMOOTHING = ["add-one", "gaussian", "empirical"]


def lineups(n=400, foils=19, d_prime=2.5, seed=5, per=1, digits=None):
    """``n`` test segments, each with ``per`` targets, ``foils`` foils and a shift and scale of its own."""
    rng = np.random.default_rng(seed)
    shift, scale = rng.normal(0, 50, n)[:, None], rng.uniform(0.5, 9, n)[:, None]
    t, f = rng.normal(d_prime, 1, (n, per)), rng.normal(0, 1, (n, foils))
    if digits is not None:
        t, f = t.round(digits), f.round(digits)
    ids = np.arange(n)[:, None]
    columns = {"test": (np.repeat(ids, per, 1).ravel(), np.repeat(ids, foils, 1).ravel())}
    return lk.Scores((shift + scale * t).ravel(), (shift + scale * f).ravel(), columns)


def made(smoothing="gaussian", share=(0.7, 0.2, 0.1), d_prime=2.5, ties="spread"):
    return LineupMap(
        by="test",
        smoothing=smoothing,
        ties=ties,
        cohort=len(share) - 1,
        share=np.array(share),
        d_prime=d_prime,
    )


def test_gaussian_values_against_theory():
    lr = np.exp(made().llr_of_rank([1, 2, 5, 20], 19))
    assert_allclose(lr[:3], [14.42198, 2.58913, 0.38325], rtol=0, atol=6e-6)
    assert_allclose(lr[3], 0.000845, rtol=0, atol=6e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("cohort", "d_prime"), [(1, 0.5), (19, 2.5), (200, 4.0), (19, -1.0)])
def test_gaussian_values_against_quadrature(cohort, d_prime):
    def integrand(t, rank):
        slope = math.exp(-d_prime * stats.norm.ppf(t) - d_prime**2 / 2)
        return stats.beta.pdf(t, rank, cohort - rank + 2) * slope

    for rank in {1, 2, cohort // 2 + 1, cohort}:
        # Pfa = Phi(-y): the slope is steep near 0, so integrate in y
        value = integrate.quad(
            lambda y, r=rank: integrand(stats.norm.cdf(-y), r) * stats.norm.pdf(y),
            min(d_prime, 0) - 7,
            max(d_prime, 0) + 8,
            limit=400,
            epsabs=0,
        )[0]
        lr = math.exp(made(d_prime=d_prime).llr_of_rank(rank, cohort))
        assert_allclose(lr, value, rtol=1e-6)


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("cohort", [0, 1, 2, 3, 40])
def test_ranks_of_chance_have_mean_lr_one(smoothing, cohort):
    llr = made(smoothing).llr_of_rank(np.arange(cohort + 1) + 1, cohort)
    assert_allclose(np.exp(llr).mean(), 1.0, rtol=1e-10)
    assert np.exp(llr).max() <= cohort + 1 + 1e-9
    assert np.all(np.diff(llr) <= 0)


def test_fewer_and_more_foils_than_trained_against_enumeration():
    share = np.array([0.4, 0.3, 0.2, 0.1])  # ranks among 3 foils
    fitted = made("add-one", share)
    # fewer: a target with k of 3 foils above it meets each pair of foils equally often
    among_two = np.zeros(3)
    for k, pair in itertools.product(range(4), itertools.combinations(range(3), 2)):
        among_two[sum(foil < k for foil in pair)] += share[k] / 3
    assert_allclose(np.exp(fitted.llr_of_rank([1, 2, 3], 2)), 3 * among_two)
    # more: the mean LR over all draws of 3 from 5 foils
    for above in range(6):
        draws = [4 * share[sum(foil < above for foil in d)] for d in itertools.combinations(range(5), 3)]
        assert_allclose(np.exp(fitted.llr_of_rank(above + 1, 5)), np.mean(draws))
    assert_allclose(np.exp(fitted.llr_of_rank([1, 2, 3, 4], 3)), 4 * share)


def test_empirical_smoothing_against_quadrature():
    share = np.array([0.6, 0.3, 0.1])
    fitted = made("empirical", share)

    def slope(t):
        return sum(p * stats.beta.pdf(t, r, 4 - r) for r, p in enumerate(share, start=1))

    for rank, cohort in ((1, 2), (3, 2), (2, 7)):
        value = integrate.quad(lambda t, r=rank, n=cohort: slope(t) * stats.beta.pdf(t, r, n - r + 2), 0, 1)[
            0
        ]
        assert_allclose(math.exp(fitted.llr_of_rank(rank, cohort)), value, rtol=1e-9)


def brute_ranks(scores):
    """(foils above, tied, all) of each target, the slow way."""
    ids_t, ids_n = scores.columns["test"]
    rows = []
    for score, who in zip(scores.target, ids_t, strict=True):
        foils = scores.nontarget[ids_n == who]
        rows.append(((foils > score).sum(), (foils == score).sum(), len(foils)))
    return np.array(rows).T


def test_add_one_against_brute_force():
    scores = lineups(150, 9, 1.5)
    above, _, _ = brute_ranks(scores)
    counts = np.bincount(above, minlength=10)
    fitted = lk.fits.fit_lineup(scores)
    assert fitted.details["cohort"] == 9
    assert_allclose(np.exp(fitted.llr_of_rank(np.arange(1, 11), 9)), 10 * (counts + 1) / (150 + 10))


def test_ties_are_spread_or_the_worst():
    scores = lk.Scores([1.0, 5.0], [1.0, 1.0, 0.0, 4.0, 3.0, 2.0], {"test": ([0, 1], [0, 0, 0, 1, 1, 1])})
    spread, worst = lk.fits.fit_lineup(scores), lk.fits.fit_lineup(scores, ties="pessimistic")
    assert_allclose(
        np.exp(spread.llr_of_rank([1, 2, 3, 4], 3)), 4 * (np.array([4 / 3, 1 / 3, 1 / 3, 0]) + 1) / 6
    )
    assert_allclose(np.exp(worst.llr_of_rank([1, 2, 3, 4], 3)), 4 * (np.array([1, 0, 1, 0]) + 1) / 6)
    lr = np.exp(spread.llr_of_rank([1, 2, 3], 3))
    assert_allclose(np.exp(spread(scores).target[0]), lr.mean())
    assert_allclose(worst(scores).target[0], worst.llr_of_rank(3, 3))


@pytest.mark.slow
def test_cohorts_of_different_size_are_brought_to_one():
    rng = np.random.default_rng(0)
    above, size = np.array([0, 1, 5, 3]), np.array([4, 4, 9, 6])
    counts = rank_histogram(above, np.zeros(4, dtype=int), size, 4)
    drawn = np.zeros(5)
    for k, n in zip(above, size, strict=True):
        picks = np.array([rng.permutation(n)[:4] for _ in range(20_000)])
        drawn += np.bincount((picks < k).sum(axis=1), minlength=5) / 20_000
    assert_allclose(counts, drawn, atol=0.02)
    assert_allclose(counts.sum(), 4)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_population_against_theory(smoothing):
    fitted = lk.fits.fit_lineup(lineups(20_000), smoothing=smoothing)
    lr = np.exp(fitted.llr_of_rank([1, 2, 5], 19))
    if smoothing == "empirical":  # smoother by design
        assert 5 < lr[0] < 14.42198
    else:
        assert_allclose(lr, [14.42198, 2.58913, 0.38325], rtol=0.12)
    if smoothing == "gaussian":
        assert_allclose(fitted.d_prime, 2.5, atol=0.06)


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("digits", [None, 1])
def test_trials_are_ranked_among_their_own_foils(smoothing, digits):
    scores = lineups(40, 7, per=2, digits=digits)
    fitted = lk.fits.fit_lineup(scores, smoothing=smoothing)
    llrs = fitted(scores)
    ids_t, ids_n = scores.columns["test"]
    for i in range(0, 80, 7):
        foils = scores.nontarget[ids_n == ids_t[i]]
        ranks = 1 + (foils > scores.target[i]).sum() + np.arange((foils == scores.target[i]).sum() + 1)
        assert_allclose(llrs.target[i], np.log(np.exp(fitted.llr_of_rank(ranks, 7)).mean()))
    for i in range(0, 280, 23):  # a non-target is not its own foil
        others = np.delete(scores.nontarget, i)[np.delete(ids_n, i) == ids_n[i]]
        ranks = (
            1 + (others > scores.nontarget[i]).sum() + np.arange((others == scores.nontarget[i]).sum() + 1)
        )
        assert_allclose(llrs.nontarget[i], np.log(np.exp(fitted.llr_of_rank(ranks, 6)).mean()))
    one = fitted.against(scores)  # case trials that are not in the table of foils
    assert_allclose(one(scores.target[:5], {"test": ids_t[:5]}), llrs.target[:5])
    assert one(1.0, {"test": -1}) == 0.0  # no foils, no evidence


def test_trials_with_words_keep_their_rows():
    table = {
        "score": [3.0, 0.0, 1.0, 1.5, 2.0, 0.5], "label": ["t", "f", "f", "t", "f", "f"],
        "segment": ["x", "x", "x", "y", "y", "y"],
    }  # fmt: skip
    trials = lk.Trials(table, test="segment")
    fitted = lk.fits.fit_lineup(trials, by="segment")
    expected = [(1, 2), (2, 1), (1, 1), (2, 2), (1, 1), (2, 1)]
    assert_allclose(fitted(trials), [fitted.llr_of_rank(r, n) for r, n in expected])
    assert_allclose(fitted(trials)[0], math.log(1.2))


@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_equivariance_chunks_and_files(smoothing):
    scores = lineups(60, 9)
    fitted = lk.fits.fit_lineup(scores, smoothing=smoothing)
    llrs = fitted(scores)
    other = lk.Scores(3 * scores.target + 11, 3 * scores.nontarget + 11, scores.columns)
    again = lk.fits.fit_lineup(other, smoothing=smoothing)(other)
    assert_array_equal(again.target, llrs.target)
    assert_array_equal(again.nontarget, llrs.nontarget)
    pieces = Pieces(scores)
    cut = lk.fits.fit_lineup(pieces, smoothing=smoothing)
    assert len(pieces.passes) == 3 == fitted.details["passes"]
    assert_array_equal(cut.share, fitted.share)
    mapped = collected(cut.on(pieces).with_columns("test"))
    assert_allclose([side.sum() for side in mapped], [llrs.target.sum(), llrs.nontarget.sum()])
    saved = reloaded(fitted)
    assert_array_equal(saved(scores).target, llrs.target)
    bound = fitted.against(scores)
    new = {"test": scores.columns["test"][0]}
    assert_array_equal(reloaded(bound)(scores.target, new), bound(scores.target, new))


def test_targets_with_few_foils_are_counted():
    ids_n = np.repeat([0, 1, 2], [6, 6, 2])
    columns = {"test": (np.array([0, 1, 2, 9]), ids_n)}
    scores = lk.Scores([9.0, 9.0, 9.0, 9.0], np.arange(14.0) / 2, columns)
    fitted = lk.fits.fit_lineup(scores, cohort=5)
    assert (
        fitted.details["n_used"],
        fitted.details["n_too_few_foils"],
        fitted.details["n_without_foils"],
    ) == (2, 1, 1)
    assert lk.fits.fit_lineup(scores).details["cohort"] == 2
    # all targets first among their foils: the Gaussian ROC stays finite
    assert 1 < lk.fits.fit_lineup(scores, smoothing="gaussian").d_prime < 10


def test_bad_input():
    scores = lineups(10, 4)
    for options in ({"by": "who"}, {"smoothing": "some"}, {"ties": "best"}):
        with pytest.raises(lk.errors.UnknownNameError):
            lk.fits.fit_lineup(scores, **options)
    for cohort in (0, 1.5, 5000):
        with pytest.raises(lk.InputError):
            lk.fits.fit_lineup(scores, cohort=cohort)
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.fits.fit_lineup(scores, cohort=9)
    for error, target, nontarget, tests in (
        (lk.errors.TooFewTrialsError, [1.0], [0.0], ([1], [2])),
        (lk.errors.ConstantScoreError, [1.0], [1.0], ([1], [1])),
    ):
        with pytest.raises(error):
            lk.fits.fit_lineup(lk.Scores(target, nontarget, {"test": tests}))
    for rank, cohort in ((0, 3), (5, 3), (1, -1), (1.5, 3)):
        with pytest.raises(lk.InputError):
            made().llr_of_rank(rank, cohort)
    with pytest.raises(lk.InputError):  # there are no foils
        made()(1.0, {"test": 1})
