"""Equalized conditions: every condition weighs the same, by brute force and by repeating trials."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from pieces import Pieces

import llrkit as lk
from llrkit.cli import cli
from llrkit.metrics.costs import nist_weights

RNG = np.random.default_rng(12)
ROOM = RNG.choice(3, 90, p=[0.6, 0.3, 0.1]), RNG.choice(3, 400, p=[0.1, 0.2, 0.7])
SEX = RNG.integers(0, 2, 90), RNG.integers(0, 2, 400)
TARGET = np.round(RNG.normal(3, 2, 90) - ROOM[0], 1)
NONTARGET = np.round(RNG.normal(-3, 2, 400) + ROOM[1], 1)
SCORES = lk.Scores(TARGET, NONTARGET, {"room": ROOM, "sex": SEX})
POINTS = ["sre08", 0.3]


def weights_of(groups):
    """Weight of each trial: every group adds up to the same, every class to its number of trials."""
    values, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True, axis=0)
    return len(groups) / len(values) / counts[inverse.ravel()]


def weighted_brute(target_groups, nontarget_groups):
    """Numbers from explicit weights of single trials, every threshold tried."""
    wt, wn = weights_of(target_groups), weights_of(nontarget_groups)
    miss = [(wt * (t > TARGET)).sum() / wt.sum() for t in thresholds()]
    fa = [(wn * (t <= NONTARGET)).sum() / wn.sum() for t in thresholds()]
    found = {
        "cllr": ((wt * np.log2(1 + np.exp(-TARGET))).sum() / wt.sum()
                 + (wn * np.log2(1 + np.exp(NONTARGET))).sum() / wn.sum()) / 2,
        "auc": ((TARGET[:, None] > NONTARGET) + 0.5 * (TARGET[:, None] == NONTARGET)),
    }  # fmt: skip
    found["auc"] = (found["auc"] * wt[:, None] * wn).sum() / wt.sum() / wn.sum()
    for name, prior, c_miss in (("sre08", 0.01, 10.0), ("P=0.3", 0.3, 1.0)):
        beta = (1 - prior) / prior / c_miss
        costs = np.array(miss) + beta * np.array(fa)
        if beta < 1:
            costs /= beta
        found[f"min {name}"] = costs.min()
        at = np.log(beta)
        act = (wt * (at > TARGET)).sum() / wt.sum() + beta * (wn * (at <= NONTARGET)).sum() / wn.sum()
        found[f"act {name}"] = act / min(beta, 1.0)
    return found


def thresholds():
    return [*np.unique(np.concatenate([TARGET, NONTARGET])), np.inf]


def numbers_of(result):
    found = {"cllr": result.cllr, "auc": result.auc}
    for point in result.points:
        found[f"min {point.point.name}"], found[f"act {point.point.name}"] = point.min_dcf, point.act_dcf
    return found


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("columns", ["room", ("room", "sex")])
def test_equalized_numbers_against_explicit_weights(columns, cut):
    names = (columns,) if isinstance(columns, str) else columns
    groups = [np.column_stack([SCORES.columns[name][side] for name in names]) for side in (0, 1)]
    source = Pieces(SCORES) if cut else SCORES
    result = lk.evaluate(source, points=POINTS, equalize=columns)
    wanted = weighted_brute(*groups)
    for name, value in numbers_of(result).items():
        assert_allclose(value, wanted[name], rtol=1e-12, err_msg=name)
    assert (result.n_target, result.n_nontarget) == (90, 400)
    assert result.equalized == names
    # an EER and a PAV that come from the same weighted counts
    assert result.min_cllr <= result.cllr
    assert 0 < result.eer <= result.eer_roc


def repeated(times, room):
    """The trials of one room several times."""
    t = np.repeat(np.arange(90), np.where(ROOM[0] == room, times, 1))
    n = np.repeat(np.arange(400), np.where(ROOM[1] == room, times, 1))
    columns = {name: (pair[0][t], pair[1][n]) for name, pair in SCORES.columns.items()}
    return lk.Scores(TARGET[t], NONTARGET[n], columns)


@pytest.mark.parametrize(("times", "room"), [(2, 0), (7, 2)])
def test_repeating_the_trials_of_one_condition_changes_nothing(times, room):
    once = lk.evaluate(SCORES, points=POINTS, equalize="room")
    again = lk.evaluate(repeated(times, room), points=POINTS, equalize="room")
    for name in ("eer", "eer_roc", "auc", "cllr", "min_cllr"):
        assert_allclose(getattr(again, name), getattr(once, name), rtol=1e-12)
    for a, b in zip(once.points, again.points, strict=True):
        assert_allclose(
            [b.min_dcf, b.act_dcf, b.p_miss, b.p_fa], [a.min_dcf, a.act_dcf, a.p_miss, a.p_fa], rtol=1e-12
        )
    assert_allclose(again.tippett.misleading, once.tippett.misleading, rtol=1e-12)
    # while the plain evaluation does change
    assert abs(lk.cllr(repeated(times, room)) - lk.cllr(SCORES)) > 1e-4
    for actual in (True, False):
        assert_allclose(
            lk.c_primary(repeated(times, room), evaluation="sre16", actual=actual, partition=("room", "sex")),
            lk.c_primary(SCORES, evaluation="sre16", actual=actual, partition=("room", "sex")),
            rtol=1e-12,
        )


def test_primary_cost_of_equalized_partitions_is_that_of_the_evaluation():
    for evaluation in ("sre16", "sre21"):
        result = lk.evaluate(SCORES, points=[evaluation], equalize=("room", "sex"))
        for actual, value in ((True, result.primary.act), (False, result.primary.min)):
            found = lk.c_primary(SCORES, evaluation=evaluation, actual=actual, partition=("room", "sex"))
            assert_allclose(found, value, rtol=1e-12)


def test_sre18_is_the_mean_of_its_two_sets():
    sets = (np.where(SEX[0], "cmn2", "VAST"), np.where(SEX[1], "cmn2", "VAST"))
    scores = lk.Scores(TARGET, NONTARGET, {"room": ROOM, "set": sets})
    parts = []
    for name, value in (("sre18-cmn2", 1), ("sre18-vast", 0)):
        t, n = SEX[0] == value, SEX[1] == value
        own = lk.Scores(TARGET[t], NONTARGET[n], {"room": (ROOM[0][t], ROOM[1][n])})
        parts.append(lk.c_primary(own, evaluation=name, partition="room", allow_unconfirmed=True))
    found = lk.c_primary(scores, evaluation="sre18", dataset="set", partition="room", allow_unconfirmed=True)
    assert_allclose(found, np.mean(parts), rtol=1e-12)
    with pytest.raises(lk.errors.UnconfirmedPresetError):
        lk.c_primary(scores, evaluation="sre18", dataset="set")
    for name, options in (("sre18", {}), ("sre18", {"dataset": "room"}), ("sre16", {"dataset": "set"})):
        with pytest.raises(lk.InputError):
            lk.c_primary(scores, evaluation=name, allow_unconfirmed=True, **options)


def test_conditions_side_by_side():
    found = lk.condition_table(SCORES, by="room", points=POINTS)
    assert list(found.conditions) == [0, 1, 2]
    for room, one in found.conditions.items():
        own = lk.Scores(TARGET[ROOM[0] == int(room)], NONTARGET[ROOM[1] == int(room)])
        assert_allclose([one.eer, one.cllr], [lk.eer(own), lk.cllr(own)], rtol=1e-12)
    assert_allclose(found.averaged["cllr"], np.mean([one.cllr for one in found.conditions.values()]))
    # Cllr is a mean over trials, so equalized it is the mean over conditions; the EER is not
    assert_allclose(found.equalized.cllr, found.averaged["cllr"], rtol=1e-12)
    assert found.equalized.eer > found.averaged["eer"]
    assert found.pooled.cllr == lk.cllr(SCORES)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["equalized"]["equalized"]["columns"] == ["room"]


def test_a_condition_without_targets_weighs_on_the_other_class_only():
    scores = lk.Scores([1.0, 2.0], [0.0, 0.5, 3.0], {"c": ([0, 0], [0, 0, 1])})
    result = lk.evaluate(scores, equalize="c", points=[0.5])
    assert result.points[0].p_miss == 0.0
    assert_allclose(result.points[0].p_fa, 1.0)
    at_02 = lk.evaluate(scores, equalize="c", points=[lk.OperatingPoint(0.2)])
    assert_allclose(at_02.points[0].p_fa, (0 + 1) / 2)
    table = lk.condition_table(scores, by="c", points=[0.5])
    assert list(table.skipped) == [1]


def test_nist_weights():
    assert nist_weights({"a": (10, 30), "b": (5, 0)}) == {"a": (1.0, 1.0), "b": (2.0, 0.0)}


def test_command_line(tmp_path):
    path = tmp_path / "s.csv"
    rows = [f"{x},target,{r},{s}" for x, r, s in zip(TARGET, ROOM[0], SEX[0], strict=True)]
    rows += [f"{x},nontarget,{r},{s}" for x, r, s in zip(NONTARGET, ROOM[1], SEX[1], strict=True)]
    path.write_text("\n".join(["score,label,room,sex", *rows]) + "\n")
    done = CliRunner().invoke(
        cli, ["evaluate", str(path), "--equalize", "room,sex", "--by", "room", "--json", "-"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert_allclose(found["cllr"], lk.evaluate(SCORES, equalize=("room", "sex")).cllr, rtol=1e-12)
    assert found["equalized"]["columns"] == ["room", "sex"]
    assert len(found["equalized"]["weights"]) == 6
    assert set(found["groups"]) == {"0", "1", "2"}


def test_wrong_use_is_refused():
    room = {"equalize": "room"}
    for options in ({"equalize": "lamp"}, {**room, "ci": "trial"}, {**room, "ece": True}):
        with pytest.raises(lk.LlrkitError):
            lk.evaluate(SCORES, **options)
