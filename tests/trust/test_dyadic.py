"""Covariances of sums over trials: every pair of trials that share a speaker, by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pieces import Pieces
from shared_speakers import sample

import llrkit as lk
from llrkit.core.cells import CellFinder
from llrkit.trust.influence import functionals, score_cuts
from llrkit.trust.jackknife import count_by_speaker, speaker_pass
from llrkit.trust.speakers import covariance, find_speakers
from llrkit.verbs.evaluate import evaluate

RNG = np.random.default_rng(4)


def brute(trials, phi_target, phi_nontarget):
    """Sum of phi_i phi_j^T over all ordered pairs of trials with a speaker in common, and of i = j."""
    mask = trials.is_target
    phi = np.zeros((len(phi_target), len(mask)))
    phi[:, mask], phi[:, ~mask] = phi_target, phi_nontarget
    left, right = trials.column("left"), trials.column("right")
    share = (left[:, None] == left) | (left[:, None] == right) | (right[:, None] == left)
    share |= right[:, None] == right
    return phi @ share @ phi.T, phi @ phi.T


class Columns:
    """Three sums: of the score, of its square, of the sign of non-targets only."""

    size = 3

    def columns(self, side):
        return (0, 1) if side == 0 else (0, 1, 2)

    def of(self, values, side):
        found = [values.astype(float), values.astype(float) ** 2]
        return found if side == 0 else [*found, np.sign(values).astype(float)]


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("cut", [False, True])
def test_covariance_against_brute_force(names, crossed, cut):
    trials = sample(names=names, crossed=crossed)
    scores = trials.with_columns("left", "right").scores()
    made = Columns()
    t = np.array([*made.of(scores.target, 0), np.zeros(scores.n_target)])
    shared, single = brute(trials, t, np.array(made.of(scores.nontarget, 1)))
    source = Pieces(scores) if cut else trials
    found = covariance(source, made, find_speakers(source, ("left", "right")))
    assert found.n_compared == 12
    assert_allclose(found.independent, single, rtol=1e-12)
    assert_allclose(found.by_speaker, shared * 12 / 11, rtol=1e-9)
    # without the pairs it is never smaller
    assert np.all(np.diag(found.without_pairs) >= np.diag(found.by_speaker) * (1 - 1e-9))
    plain = covariance(source, made)
    assert plain.by_speaker is None
    assert_allclose(plain.independent, single, rtol=1e-12)


def test_one_column_is_the_usual_cluster_variance_by_brute_force():
    trials = sample()
    scores = trials.with_columns("left").scores()
    made = Columns()
    found = covariance(trials, made, find_speakers(trials, "left"))
    phi = np.zeros((3, len(trials)))
    mask = trials.is_target
    phi[:2, mask], phi[:, ~mask] = made.of(scores.target, 0), made.of(scores.nontarget, 1)
    who = trials.column("left")
    sums = np.array([phi[:, who == speaker].sum(axis=1) for speaker in np.unique(who)])
    assert_allclose(found.by_speaker, sums.T @ sums * 12 / 11, rtol=1e-9)
    assert_allclose(found.without_pairs, found.by_speaker, rtol=1e-12)


def test_many_speakers_are_taken_in_groups_as_if_a_group_were_a_speaker():
    trials = sample(n_speakers=12)
    speakers = find_speakers(trials, ("left", "right"))
    groups = speakers.grouped(most=5, groups=4)
    number = groups.number_of
    renamed = {side: [number[who] for who in trials.column(side).tolist()] for side in ("left", "right")}
    grouped = lk.Trials({"score": trials.column("score"), "label": trials.is_target, **renamed})
    found = covariance(trials, Columns(), groups)
    scores = trials.scores()
    t = np.array([*Columns().of(scores.target, 0), np.zeros(scores.n_target)])
    wanted, _ = brute(grouped, t, np.array(Columns().of(scores.nontarget, 1)))
    assert_allclose(found.by_speaker, wanted * 4 / 3, rtol=1e-9)


@pytest.mark.parametrize("crossed", [False, True])
def test_the_fast_pass_gives_what_counts_and_influences_give_apart(crossed):
    trials = sample(crossed=crossed)
    result = evaluate(trials, points=[POINT, 0.1])
    speakers = find_speakers(trials, ("left", "right"))
    influences = functionals(result, cuts=score_cuts(result)).influences
    cells, spread = speaker_pass(trials, influences, speakers)
    apart, wanted = (
        count_by_speaker(trials, result, speakers),
        covariance(trials, influences.contributions, speakers),
    )
    np.testing.assert_array_equal(cells.target, apart.target)
    np.testing.assert_array_equal(cells.nontarget, apart.nontarget)
    assert_allclose(cells.sums, apart.sums, rtol=1e-9)
    assert_allclose(spread.by_speaker, wanted.by_speaker, rtol=1e-9, atol=1e-9)
    assert_allclose(spread.without_pairs, wanted.without_pairs, rtol=1e-9, atol=1e-9)
    # the loss goes with no other influence into one number: products with it are left out
    assert_allclose(spread.independent[2:, 2:], wanted.independent[2:, 2:], rtol=1e-9, atol=1e-9)
    assert_allclose(np.diag(spread.independent), np.diag(wanted.independent), rtol=1e-9)


@pytest.mark.parametrize("n_cuts", [0, 1, 2, 50, 5000])
def test_cells_are_those_of_searchsorted(n_cuts):
    rng = np.random.default_rng(n_cuts)
    cuts = np.unique(np.round(rng.normal(size=n_cuts) * 10, 3))
    for more in ([], [-np.inf], [np.inf], [-np.inf, np.inf]):
        edges = np.unique(np.concatenate([cuts, more]))
        values = np.concatenate([rng.normal(size=3000) * 12, edges, [-np.inf, np.inf, 1e30, -1e30]])
        wanted = np.searchsorted(edges, values, side="right")
        np.testing.assert_array_equal(CellFinder(edges)(values), wanted)
        low = values.astype(np.float32)
        np.testing.assert_array_equal(
            CellFinder(edges)(low), np.searchsorted(edges, low.astype(float), side="right")
        )


def influence_by_weighting(metric, scores, side, i, copies=400):
    """How a number changes with the weight of one trial, by counting it once more among many copies."""
    sides = [np.repeat(scores.target, copies), np.repeat(scores.nontarget, copies)]
    before = metric(lk.Scores(*sides))
    sides[side] = np.append(sides[side], (scores.target, scores.nontarget)[side][i])
    return (metric(lk.Scores(*sides)) - before) * copies


POINT = lk.OperatingPoint(0.3, 2, 1)
SMOOTH = {
    "cllr": lk.cllr,
    "min_cllr": lk.min_cllr,
    "auc": lk.auc,
    "points.0.act_dcf": lambda s: lk.act_dcf(s, point=POINT),
    "points.0.min_dcf": lambda s: lk.min_dcf(s, point=POINT),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_influence_is_the_derivative_by_the_weight_of_a_trial(name):
    rng = np.random.default_rng(8)
    scores = lk.Scores(np.round(rng.normal(1, 2, 30), 1), np.round(rng.normal(-1, 2, 45), 1))
    wanted = functionals(evaluate(scores, points=[POINT]))
    coefficients = wanted[name].coefficients
    for side, values in ((0, scores.target), (1, scores.nontarget)):
        arrays = wanted.influences.contributions.of(values, side)
        phi = sum(
            coefficients[column] * array
            for column, array in zip(wanted.influences.columns(side), arrays, strict=True)
        )
        assert_allclose(phi.sum(), 0.0, atol=1e-12)
        for i in range(0, len(values), 6):
            assert_allclose(phi[i], influence_by_weighting(SMOOTH[name], scores, side, i), atol=3e-5)


def test_rates_at_a_threshold_add_up():
    scores = lk.Scores([0.5, 1.0, 2.0, 3.0, -1.0] * 5, [-1.0, 0.0, 1.0, 2.5] * 9)
    result = evaluate(scores, points=[0.2, 0.5])
    wanted = functionals(result)
    for i, point in enumerate(result.points):
        for name, rate, n in (("p_miss", point.p_miss, 25), ("p_fa", point.p_fa, 36)):
            number = wanted[f"points.{i}.{name}"]
            found = covariance(scores, wanted.influences.contributions).variance(number.coefficients)
            assert_allclose(found, rate * (1 - rate) / n, rtol=1e-12)


def test_speakers_in_blocks_are_compared_with_those_of_their_block():
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 6, 400), rng.integers(0, 6, 400)
    other = np.repeat([0, 10], 200)  # two genders of six speakers, never compared with each other
    trials = lk.Trials(
        {
            "score": rng.normal(left == right, 1.0),
            "label": left == right,
            "a": left + other,
            "b": right + other,
        }
    )
    speakers = find_speakers(trials, ("a", "b"))
    assert (speakers.n, speakers.n_compared) == (12, 6.0)
