"""llrkit compare, and diagnose where compare would be the right command."""

import json

import numpy as np
import pytest
from commands import run
from numpy.testing import assert_allclose
from shared_speakers import sample

import llrkit as lk
from llrkit.trust.differences import holm

SIDES = ("left", "right")


@pytest.fixture(scope="module")
def trials():
    """Three systems on the same 2,500 trials: a, a with noise, a with more noise."""
    base, rng = sample(25, 2500, 3), np.random.default_rng(8)
    scores = {"a": base.score_array}
    scores["b"] = scores["a"] + rng.normal(0, 1.5, 2500)
    scores["c"] = scores["a"] + rng.normal(0, 1.6, 2500)
    columns = {name: base.column(name) for name in ("label", *SIDES)}
    ids = {"enroll": [f"m{i}" for i in range(2500)], "test": [f"t{i}" for i in range(2500)]}
    return lk.Trials({**ids, **columns, **scores}, score=["a", "b", "c"], enroll="enroll", test="test")


@pytest.fixture(scope="module")
def folder(trials, tmp_path_factory):
    place = tmp_path_factory.mktemp("systems")
    trials.table.write_csv(place / "all.csv")
    for name in "abc":
        table = trials.table.select("enroll", "test", *SIDES, "label", score=name)
        table.write_csv(place / f"{name}.csv")
    trials.table.select("enroll", "test", *SIDES, "label", score="b").reverse().write_csv(
        place / "turned.csv"
    )
    return place


def test_holm_against_a_computation_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.04, times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04 -> none below the one before
    assert_allclose(holm([0.03, 0.01, 0.04, 0.02]), [0.06, 0.04, 0.06, 0.06], rtol=1e-15)
    assert_allclose(holm([0.5, 0.9]), [1.0, 1.0])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
    assert_allclose(holm([0.02, 0.02]), [0.04, 0.04])


@pytest.mark.slow
def test_two_systems_are_those_of_compare_systems(folder, trials):
    two = lk.Trials(trials.table, score=["a", "b"])
    wanted = lk.compare_systems(two, ci="speaker", speakers=SIDES)
    found = lk.trust.compare_many_systems(two, ci="speaker", speakers=SIDES)
    assert [pair.differences for pair in found.pairs] == [wanted.differences]
    assert dict(found.corrected[0]) == {name: one.p_value for name, one in wanted.differences.items()}
    code, out, err = run("compare", folder / "a.csv", folder / "b.csv", "--speakers", "left,right",
                         "--json", "-")  # fmt: skip
    assert code == 0, err
    plain = json.loads(out)
    assert (plain["systems"], plain["kind"], plain["correction"]) == (["a", "b"], "speaker", "holm")
    (pair,) = plain["pairs"]
    for name, one in wanted.differences.items():
        row = pair["differences"][name]
        found_numbers = [row[key] for key in ("first", "second", "low", "high", "p_value", "difference")]
        numbers = [one.first, one.second, one.low, one.high, one.p_value, one.difference]
        assert_allclose(found_numbers, numbers, rtol=1e-9, err_msg=name)
    assert plain["notes"] == []
    assert "if trials are independent" in run("compare", folder / "a.csv", folder / "b.csv")[1]


@pytest.mark.slow
@pytest.mark.parametrize("all_pairs", [False, True])
def test_every_pair_is_that_of_compare_systems_and_corrected_by_hand(folder, trials, all_pairs):
    names = [("a", "b"), ("a", "c")] + ([("b", "c")] if all_pairs else [])
    wanted = [lk.compare_systems(lk.Trials(trials.table, score=list(pair)), points=[0.3]) for pair in names]
    found = lk.trust.compare_many_systems(trials, points=[0.3], all_pairs=all_pairs)
    assert [pair.names for pair in found.pairs] == names
    for key in wanted[0].differences:
        p_values = [pair[key].p_value for pair in wanted]
        assert_allclose([pair[key].p_value for pair in found.pairs], p_values, rtol=1e-12)
        assert_allclose([one[key] for one in found.corrected], holm(p_values), rtol=1e-12)
    flags = ["--all-pairs"] if all_pairs else []
    files = [folder / f"{name}.csv" for name in "abc"]
    code, out, err = run("compare", *files, "--point", "0.3", *flags, "--json", "-")
    assert code == 0, err
    plain = json.loads(out)
    assert [tuple(pair["systems"]) for pair in plain["pairs"]] == names
    for pair, corrected in zip(plain["pairs"], found.corrected, strict=True):
        assert_allclose(pair["corrected_p_values"]["cllr"], corrected["cllr"], rtol=1e-9)


@pytest.mark.slow
def test_one_file_with_several_columns_is_the_same(folder):
    files = json.loads(run("compare", folder / "a.csv", folder / "turned.csv", "--ids", "enroll,test",
                           "--json", "-")[1])  # fmt: skip
    columns = json.loads(run("compare", folder / "all.csv", "--score-columns", "a,b", "--json", "-")[1])
    assert columns["systems"] == ["a", "b"]
    assert files["systems"] == ["a", "turned"]
    for name, one in columns["pairs"][0]["differences"].items():
        assert_allclose(files["pairs"][0]["differences"][name]["difference"], one["difference"], rtol=1e-9)


def test_systems_that_do_not_differ_are_not_decided():
    # each system has the noise that the other has on a copy of the trial: the same scores in another order
    rng = np.random.default_rng(0)
    base = lk.theory.GaussianLLR.from_eer(0.1).rvs(300, 1000, rng)
    views = []
    for x in base:
        one, other = x + rng.normal(0, 1, len(x)), x + rng.normal(0, 1, len(x))
        views.append(np.column_stack([np.append(one, other), np.append(other, one)]))
    found = lk.trust.compare_many_systems(lk.Scores(*views))
    assert found.pairs[0]["eer"].difference == 0.0
    assert [found.pairs[0][name].p_value for name in ("eer", "cllr")] == [1.0, 1.0]


@pytest.mark.parametrize(
    "typed",
    [
        "a.csv", "a.csv b.csv --score-columns a,b", "all.csv --score-columns a", "a.csv a.csv",
        "a.csv b.csv --ci speaker", "a.csv b.csv --nontargets c.csv", "a.csv b.csv --level 150%",
    ],
)  # fmt: skip
def test_wrong_use_is_refused(folder, monkeypatch, typed):
    monkeypatch.chdir(folder)
    assert run("compare", *typed.split())[:2] == (2, "")


@pytest.mark.slow
def test_trials_that_one_system_lacks_are_an_error_or_dropped(folder, tmp_path, trials):
    lines = (folder / "b.csv").read_text().splitlines()
    (tmp_path / "b.csv").write_text("\n".join(lines[:-100]) + "\n")
    code, _, err = run("compare", folder / "a.csv", tmp_path / "b.csv")
    assert code == 2
    assert "no score for 100 trials" in err
    code, out, err = run("compare", folder / "a.csv", tmp_path / "b.csv", "--missing", "drop", "--json", "-")
    assert code == 0, err
    wanted = lk.compare_systems(lk.Trials(trials.table[:-100], score=["a", "b"]))
    assert "trials have no score of some system and are left out" in err
    assert json.loads(out)["left_out"][0]["trials"] == 100
    found = json.loads(out)["pairs"][0]["differences"]["cllr"]["difference"]
    assert_allclose(found, wanted["cllr"].difference, rtol=1e-9)


@pytest.mark.parametrize("other", ["b.csv", "turned.csv"])
def test_diagnose_refuses_two_systems_on_the_same_trials(folder, other):
    code, _, err = run("diagnose", folder / "a.csv", folder / other, "--methods", "cmlg")
    assert code == 2
    assert "llrkit compare compares" in err


def test_diagnose_warns_of_the_same_file_and_of_a_copy_of_it(folder, tmp_path):
    (tmp_path / "copy.csv").write_text((folder / "a.csv").read_text())
    for other in (folder / "a.csv", tmp_path / "copy.csv"):
        code, _, err = run("diagnose", folder / "a.csv", other, "--methods", "cmlg")
        assert code == 0, err
        assert "Trained and evaluated on the same trials" in err
