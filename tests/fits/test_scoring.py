"""The loss that cross-validation expects of a method, and its standard error, against brute force."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pieces import collected, speaker_trials
from scipy.stats import norm

import llrkit as lk
from llrkit.fits.best import MethodLoss
from llrkit.fits.folds import make_folds

PRIOR = 0.2


def scored(trials, folds, name, prior=PRIOR):
    crossed = lk.cross_calibrate(trials, method=name, groups=folds.groups or None, folds=folds.n)
    whole = lk.maps.bound_fixed(getattr(lk.fits, f"fit_{name}")(trials), -np.inf, np.inf)
    wide = trials.with_columns(*folds.columns)
    return MethodLoss.from_source(wide, [folds], [crossed.maps], whole, prior), crossed


def losses(llrs, is_target, prior):
    """The share in the cross-entropy of each trial, class sizes and the prior's entropy taken out."""
    z = np.where(is_target, -1.0, 1.0) * (llrs + np.log(prior / (1 - prior)))
    weight = np.where(is_target, prior / is_target.sum(), (1 - prior) / (~is_target).sum())
    return weight * np.logaddexp(0, z) / -(prior * np.log(prior) + (1 - prior) * np.log(1 - prior))


@pytest.mark.filterwarnings("ignore:only 12 target trials")
@pytest.mark.parametrize("groups", [("one", "two"), "one"])
def test_correction_for_smaller_training_sets_against_a_loop(groups):
    trials = speaker_trials()
    folds = make_folds(trials, groups, 4)
    found, crossed = scored(trials, folds, "gaussian")
    is_target, scores = trials.is_target, trials.score_array
    wide = trials.with_columns(*folds.columns).scores()
    codes = np.empty(len(scores), dtype=int)
    codes[is_target], codes[~is_target] = folds.of(wide)
    plain, correction = 0.0, losses(lk.fits.fit_gaussian(trials)(scores), is_target, PRIOR).sum()
    for (f, g), fitted in crossed.maps.items():
        each, used = losses(fitted(scores), is_target, PRIOR), codes == 4 * f + g
        plain += each[used].sum()
        for side in (is_target, ~is_target):
            correction -= each[side].sum() * used[side].mean()
    assert_allclose(found.crossed, plain, rtol=1e-12)
    assert_allclose(found.cllr, plain + correction, rtol=1e-12)
    assert abs(correction) > 1e-4


@pytest.mark.parametrize("groups", [("one", "two"), "one", None])
def test_standard_error_against_all_pairs_of_trials(groups):
    trials = speaker_trials(speakers=9)
    folds = make_folds(trials, groups, 3)
    (first, one), (second, two) = (scored(trials, folds, name) for name in ("cmlg", "gaussian"))
    is_target = trials.is_target

    def in_rows(of_targets, of_nontargets):
        values = np.empty(len(trials))
        values[is_target], values[~is_target] = of_targets, of_nontargets
        return values

    gap = losses(in_rows(*collected(one.source)), is_target, PRIOR)
    gap -= losses(in_rows(*collected(two.source)), is_target, PRIOR)
    for side in (is_target, ~is_target):
        gap[side] -= gap[side].mean()
    if groups is None:  # 64 sets of trials, dealt like folds
        sets = in_rows(*replace(folds, n=64).of(trials.with_columns("position").scores()))
        sides = [sets, sets]
    else:
        sides = [trials.column(folds.columns[0]), trials.column(folds.columns[-1])]
    share = np.any([a[:, None] == b[None, :] for a in sides for b in sides], axis=0)
    assert 0.0 < share.mean() < 0.5
    assert_allclose(first.standard_error(second), np.sqrt(gap @ share @ gap), rtol=1e-9)
    assert first.standard_error(first) == 0.0


@pytest.mark.slow
def test_corrected_loss_is_that_of_new_trials_where_plain_cross_validation_is_too_high():
    # many small sets from a known population, on which the map of everything is evaluated; all losses are
    # what is lost to the true LLRs of the same trials, which is less noisy than the losses themselves
    rng = np.random.default_rng(4)
    p = (np.arange(1_000) + 0.5) / 1_000
    target, nontarget = norm(2.0, 1.5), norm(0.0, 1.0)
    population = lk.Scores(target.ppf(p), nontarget.ppf(p))

    def true_cllr(scores):
        sides = (target.logpdf(x) - nontarget.logpdf(x) for x in (scores.target, scores.nontarget))
        return lk.cllr(lk.Scores(*sides))

    found = []
    for _ in range(250):
        scores = lk.Scores(rng.normal(2.0, 1.5, 60), rng.normal(0.0, 1.0, 120))
        result, _ = scored(scores, make_folds(scores, None, 2), "gaussian", prior=0.5)
        base, whole = true_cllr(scores), lk.cllr(lk.fits.fit_gaussian(scores).on(population))
        found.append((result.crossed - base, result.cllr - base, whole - true_cllr(population)))
    plain, corrected, truth = np.array(found).T
    assert (plain - truth).mean() > 3 * (plain - truth).std() / np.sqrt(250)
    assert abs((corrected - truth).mean()) < 2.5 * (corrected - truth).std() / np.sqrt(250)
    assert plain.mean() > 1.5 * truth.mean()


def test_an_infinite_loss_stays_infinite():
    scores = lk.Scores([1.0, 2.0, 3.0, 0.5], [0.0, 1.5, -1.0, 0.7])
    folds = make_folds(scores, None, 2)
    crossed = lk.cross_calibrate(scores, method="pav", folds=2, laplace="none")
    wide = scores.with_columns("position")
    found = MethodLoss.from_source(wide, [folds], [crossed.maps], lk.fit_pav(scores), 0.5)
    assert found.cllr == found.crossed == np.inf
    assert found.standard_error(found) == np.inf
