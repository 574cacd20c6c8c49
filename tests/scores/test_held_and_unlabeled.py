"""Small things users met: mapped trials in memory, scores without labels, a bootstrap of trials."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk

RNG = np.random.default_rng(3)
LABELS = RNG.random(1500) < 0.25
SCORES = RNG.normal(np.where(LABELS, 3.0, -3.0), 1.5)
TRIALS = lk.Trials({"score": SCORES, "label": LABELS, "half": np.arange(1500) % 2})


def test_mapped_trials_can_be_held_in_memory():
    calibrate = lk.fit_logistic(TRIALS)
    mapped = calibrate.on(TRIALS)
    assert_array_equal(mapped.target, calibrate(SCORES[LABELS]))
    assert_array_equal(mapped.nontarget, calibrate(SCORES[~LABELS]))
    assert lk.cllr(mapped.scores()) == pytest.approx(lk.cllr(mapped), rel=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        mapped.target[0] = 0.0
    with pytest.raises(lk.InputError):
        calibrate.on(lk.fit_logistic(TRIALS).on(TRIALS).scores())
    weighted = lk.Trials({"score": SCORES, "label": LABELS, "w": np.full(1500, 2)}, weight="w")
    with pytest.raises(lk.InputError):
        calibrate.on(weighted).scores()


def test_an_unsupervised_fit_takes_scores_alone():
    alone = lk.fits.fit_unsupervised(SCORES)
    labeled = lk.fits.fit_unsupervised(SCORES, LABELS)
    assert_allclose([alone.a, alone.b], [labeled.a, labeled.b], rtol=1e-6)
    assert alone.densities is None  # there were no classes whose densities could be known
    assert_allclose(lk.fits.fit_unsupervised(SCORES.tolist(), prior=0.25).details["prior"], 0.25)
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.fits.fit_unsupervised([1.0, 2.0])
    with pytest.raises(lk.InputError):
        lk.fit_logistic(SCORES)


@pytest.mark.slow
def test_a_bootstrap_without_speakers_draws_trials():
    drawn = lk.evaluate(SCORES, LABELS, ci="bootstrap", replicates=200)
    closed = lk.evaluate(SCORES, LABELS, ci="trial")
    for name in ("eer", "auc", "cllr"):
        (low, high), (below, above) = drawn.intervals[name], closed.intervals[name]
        assert (high - low) / (above - below) == pytest.approx(1.0, abs=0.25)
        assert abs(low - below) < 0.25 * (above - below)
    assert any("independent" in note for note in drawn.uncertainty.notes)
    assert drawn.uncertainty.n_speakers is None
    groups = lk.evaluate(TRIALS, by="half", ci="bootstrap", replicates=100).groups
    assert all("cllr" in group.intervals for group in groups.values())
    with pytest.raises(lk.errors.TooFewTrialsError):
        lk.evaluate([1.0, 2.0, 3.0, *range(9)], [1] * 3 + [0] * 9, ci="bootstrap")
    twice = lk.Scores.from_labels(SCORES, LABELS, {"times": np.full(1500, 2.0)})
    with pytest.raises(lk.InputError):
        lk.evaluate(lk.scores.weigh(twice, "times"), ci="bootstrap")
    with pytest.raises(lk.InputError):
        lk.evaluate(SCORES, LABELS, ci="speaker")
