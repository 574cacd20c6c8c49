"""Groups that share a class: each attack against all bona fide trials."""

import json

import numpy as np
import pytest
from commands import run
from numpy.testing import assert_allclose
from pieces import Pieces

import llrkit as lk
from llrkit.errors import PooledClassesWarning

RNG = np.random.default_rng(7)
N_BONA, ATTACKS = 60, ("A01", "A02", "A10")
TABLE = {
    "score": np.round(np.concatenate([RNG.normal(2, 1, N_BONA), RNG.normal(0, 1.5, 90)]), 1),
    "label": ["bonafide"] * N_BONA + ["spoof"] * 90,
    "attack": ["-"] * N_BONA + [ATTACKS[i % 3] for i in range(90)],
    "speaker": [f"s{i % 12}" for i in range(N_BONA + 90)],
}
TRIALS = lk.Trials(TABLE)


def alone(attack, table=TABLE, bona="bonafide"):
    """The trials of one attack and all bona fide trials, chosen by hand."""
    label, which = np.array(table["label"]), np.array(table["attack"])
    chosen = (label == bona) | (which == attack)
    return lk.Trials({name: np.array(values)[chosen] for name, values in table.items()})


@pytest.mark.parametrize("shared", [None, "target", "bonafide"])
def test_each_attack_against_all_bona_fide_trials_equals_a_selection_by_hand(shared):
    result = lk.evaluate(TRIALS, by="attack", shared=shared)
    assert list(result.groups) == list(ATTACKS)
    for attack in ATTACKS:
        expected = lk.evaluate(alone(attack))
        found = result.groups[attack]
        assert found.eer == expected.eer
        assert found.cllr == pytest.approx(expected.cllr, rel=1e-12)
        assert (found.n_target, found.n_nontarget) == (N_BONA, 30)
    assert result.shared.to_dict() == {"class": "target", "markers": ["-"], "automatic": shared is None}
    assert result.skipped_groups == {}


@pytest.mark.parametrize("pieces", [1, 4, 40])
def test_chunks_without_trials_of_an_attack_still_give_it_their_bona_fide_trials(pieces):
    scores = TRIALS.with_columns("attack").scores()
    whole = lk.evaluate(scores, by="attack", shared="target")
    cut = lk.evaluate(Pieces(scores, pieces), by="attack", shared="target")
    for name, group in whole.groups.items():
        assert cut.groups[name].eer == group.eer
        assert cut.groups[name].n_target == N_BONA


def test_nontargets_can_be_shared_and_every_value_of_targets_is_a_group():
    table = {"score": [2.0, 1.0, 0.5, 0.0, 0.75], "label": [1, 1, 1, 0, 0], "room": ["a", "a", "b", "b", "c"]}
    result = lk.evaluate(lk.Trials(table), by="room", shared="nontarget")
    assert list(result.groups) == ["a", "b"]
    assert [group.n_nontarget for group in result.groups.values()] == [2, 2]
    assert [group.auc for group in result.groups.values()] == [1.0, 0.5]
    assert result.shared.markers == ("c",)


def test_a_marker_that_other_trials_have_too_is_no_group_and_the_result_says_so():
    table = {"score": [2.0, 1.0, 0.5, 0.0], "label": [1, 1, 0, 0], "attack": ["-", "-", "-", "A01"]}
    result = lk.evaluate(lk.Trials(table), by="attack")
    assert list(result.groups) == ["A01"]
    assert "marks the trials that the groups share" in result.skipped_groups["-"]


@pytest.mark.parametrize("values", [["f", "f", "f", "m", "m"], ["a", "a", "a", "b", "b"]])
def test_a_class_is_not_shared_by_itself_unless_it_is_marked(values):
    table = {"score": [2.0, 1.0, 0.5, 0.0, 0.2], "label": [1, 1, 1, 0, 0], "g": values}
    result = lk.evaluate(lk.Trials(table), by="g")
    assert result.shared is None
    assert "shared" not in result.to_dict()


def test_mean_and_worst_over_groups_against_the_groups():
    plain = lk.evaluate(TRIALS, by="attack").to_dict()
    eers = {name: group["eer"] for name, group in plain["groups"].items()}
    assert plain["over_groups"]["mean"]["eer"] == pytest.approx(np.mean(list(eers.values())))
    worst = plain["over_groups"]["worst"]["eer"]
    assert worst == {"group": max(eers, key=eers.get), "value": max(eers.values())}
    aucs = {name: group["auc"] for name, group in plain["groups"].items()}
    assert plain["over_groups"]["worst"]["auc"]["value"] == min(aucs.values())


def test_intervals_of_a_group_are_those_of_its_trials_alone():
    result = lk.evaluate(TRIALS, by="attack", speakers="speaker")
    expected = lk.evaluate(alone("A02"), speakers="speaker")
    found = result.groups["A02"].intervals
    assert {"auc", "cllr"} <= found.keys() == expected.intervals.keys()
    for name, ends in found.items():
        assert_allclose(ends, expected.intervals[name], rtol=1e-9, err_msg=name)
    own = result.groups["A02"].uncertainty.upper_bound
    assert own
    assert own == pytest.approx(dict(expected.uncertainty.upper_bound), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "attack", "shared": "attacker"}, "unknown class 'attacker' to share"),
        ({"shared": "target"}, "name their column"),
        ({"by": "label", "shared": "spoof"}, None),
    ],
)
def test_what_cannot_be_shared_is_refused(options, said):
    if said is None:
        assert list(lk.evaluate(TRIALS, **options).groups) == ["bonafide"]
        return
    with pytest.raises(lk.LlrkitError):
        lk.evaluate(TRIALS, **options)


def test_a_column_that_marks_everything_leaves_no_group():
    table = {"score": [1.0, 0.0], "label": [1, 0], "attack": ["-", "-"]}
    with pytest.raises(lk.InputError):
        lk.evaluate(lk.Trials(table), by="attack", shared="target")


def test_the_command_shares_a_class_and_says_so(tmp_path):
    path = tmp_path / "cm.csv"
    TRIALS.table.write_csv(path)
    code, out, _ = run("evaluate", path, "--by", "attack", "--shared", "target", "--json", "-")
    assert code == 0
    found = json.loads(out)
    assert list(found["groups"]) == list(ATTACKS)
    code, _, _ = run("evaluate", path, "--shared", "target")
    assert code == 2


THREE = {
    "score": [3.0, 2.0, 0.25, 2.5, -1.0, 0.5, 1.0, -2.0],
    "label": ["target", "target", "nontarget", "nontarget", "spoof", "spoof", "spoof", "spoof"],
    "attack": ["-"] * 4 + ["A01", "A01", "A02", "A02"],
}


@pytest.mark.parametrize("word", ["bonafide", "Bona fide", "bona_fide"])
def test_bona_fide_trials_of_three_kinds_are_targets_and_nontargets(word):
    result = lk.evaluate(lk.Trials(THREE), by="attack", shared=word)
    assert (result.n_target, result.n_nontarget) == (4, 4)
    by_hand = {**THREE, "label": [label != "spoof" for label in THREE["label"]]}
    assert result.eer == lk.evaluate(lk.Trials(by_hand)).eer
    for attack, group in result.groups.items():
        chosen = [i for i, own in enumerate(THREE["attack"]) if own in ("-", attack)]
        alone = lk.Trials({name: [values[i] for i in chosen] for name, values in by_hand.items()})
        assert (group.n_target, group.n_nontarget, group.eer) == (4, 2, lk.evaluate(alone).eer)
    assert "all bona fide trials (targets and non-targets)" in result.shared.sentence("attack")
    # and that is another answer than targets alone give
    with pytest.warns(PooledClassesWarning):
        targets = lk.evaluate(lk.Trials(THREE), by="attack", shared="target")
    assert targets.groups["A01"].n_target == 2
    assert targets.groups["A01"].eer < result.groups["A01"].eer
