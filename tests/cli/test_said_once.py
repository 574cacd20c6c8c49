"""Each command says what is wrong with its scores once, in words that can be followed as typed."""

import shlex
import warnings

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.calibrate.gap_between_classes import REMEDY, REMEDY_TYPED


def write(path, target, nontarget):
    labels = ["target"] * len(target) + ["nontarget"] * len(nontarget)
    pl.DataFrame({"score": np.append(target, nontarget), "label": labels}).write_csv(path)
    return path


def apart():
    """30 targets from 2 to 3, 200 non-targets from 0 to 1."""
    return np.linspace(2.0, 3.0, 30), np.linspace(0.0, 1.0, 200)


GAP = "classes do not overlap in the training scores (gap 1 to 2): the strength of evidence rests on"


def test_calibrate_and_diagnose_advise_the_same_for_separate_classes_and_it_works(tmp_path):
    path, out = write(tmp_path / "apart.csv", *apart()), tmp_path / "c.json"
    code, _, refused = run("calibrate", path, "-o", out)
    _, diagnosed, _ = run("diagnose", path)
    assert code == 2
    assert REMEDY_TYPED in refused
    assert REMEDY_TYPED in diagnosed
    assert "cmlg" not in refused
    typed = shlex.split(REMEDY_TYPED.partition(" keeps")[0])
    assert run("calibrate", path, *typed, "-o", out)[0] == 0
    with pytest.raises(lk.SeparationError) as error:
        lk.fit_logistic(lk.Scores(*apart()))
    assert str(error.value).endswith(REMEDY)
    assert REMEDY in repr(lk.diagnose(lk.Scores(*apart())))


def test_a_map_without_bounds_of_separate_classes_says_so_once(tmp_path):
    path = write(tmp_path / "apart.csv", *apart())
    for bound, rests_on in (("none", "what the method assumes alone"), ("sources", "the bounds alone")):
        code, out, err = run("calibrate", path, "--method", "cmlg", "--bound", bound, "-o", tmp_path / "c")
        assert code == 0
        assert f"{GAP} {rests_on}." in out
        assert (out + err).count("do not overlap") == 1


def test_a_fit_without_bounds_warns_of_separate_classes_and_one_with_bounds_does_not():
    with pytest.warns(lk.NoOverlapWarning, match="rests on what the method assumes alone") as caught:
        lk.fit_cmlg(lk.Scores(*apart()))
    assert len(caught) == 1
    with warnings.catch_warnings(action="error"):
        lk.fit_cmlg(lk.Scores(*apart()), bound="sources")
        lk.fit_logistic(lk.Scores(*apart()), regularization=1)


def test_reversed_scores_are_told_once_by_each_command(tmp_path):
    rng = np.random.default_rng(1)
    path = write(tmp_path / "r.csv", rng.normal(-2, 2, 100), rng.normal(2, 2, 500))
    criteria = tmp_path / "criteria.toml"
    criteria.write_text('[[criterion]]\ncharacteristic = "calibration"\nmetric = "verdict"\n')
    for command in (
        ("calibrate", path, "-o", tmp_path / "c.json"),
        ("evaluate", path),
        ("evaluate", path, "--table", "csv"),
        ("diagnose", path),
        ("validate", path, "--criteria", criteria),
    ):
        _, out, err = run(*command)
        assert (out + err).count("really more target-like") == 1, command


def test_means_that_differ_by_chance_are_not_called_reversed_but_uninformative(tmp_path):
    rng = np.random.default_rng(2)
    target, nontarget = rng.normal(0, 2, 200), rng.normal(0, 2, 2000)
    target += nontarget.mean() - target.mean() - 0.1  # 0.7 standard errors below
    with warnings.catch_warnings(action="error"):
        lk.fit_logistic(lk.Scores(target, nontarget))
    code, out, err = run("calibrate", write(tmp_path / "u.csv", target, nontarget), "-o", tmp_path / "c.json")
    assert code == 0
    assert "target-like" not in out + err
    assert "The scores are uninformative: the AUC of" in out
    with pytest.warns(lk.ReversedScoresWarning):
        lk.fit_logistic(lk.Scores(target - 1.0, nontarget))


@pytest.mark.parametrize(
    ("change", "question"),
    [
        (lambda llr: -llr, "which way the scores point"),
        (lambda llr: np.random.default_rng(len(llr)).normal(size=len(llr)), "the right labels and scores"),
        (lambda llr: 1 / (1 + np.exp(-llr)), "what the scores are"),
        (np.exp, "what the scores are"),
    ],
    ids=["reversed", "uninformative", "probabilities", "likelihood ratios"],
)
def test_no_method_is_advised_before_the_question_is_settled(tmp_path, change, question):
    llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(300, 3000, np.random.default_rng(1))
    code, out, _ = run("diagnose", write(tmp_path / "s.csv", *map(change, llrs)))
    assert code == 0
    assert not [line for line in out.splitlines() if line.startswith("use ")]
    last = out.splitlines()[-1]
    assert last.startswith("no method is advised yet; first settle")
    assert question in last


def test_p_values_of_a_diagnosis_stand_with_their_level():
    rng = np.random.default_rng(3)
    text = repr(lk.diagnose(lk.Scores(rng.gamma(1, 1, 2000) + 1, -rng.gamma(1, 1, 2000) + 1.5)))
    assert "p < 0.0001 at a level of 1 %" in text
    assert text.count("at a level of 1 %") == text.count("test of the") == 4
    assert "1e-300" not in text


def test_a_loss_that_is_not_split_gives_the_reason():
    with warnings.catch_warnings(action="ignore"):
        ratios = lk.theory.GaussianLLR.from_eer(0.05).rvs(300, 3000, np.random.default_rng(1))
        wide = lk.evaluate(lk.Scores(*map(np.exp, ratios)))
        separate = lk.evaluate(lk.Scores(*apart()))
    assert wide.loss_split is None
    assert "(not split into scale and shape: the scores range too widely" in wide.sentence
    assert "(not split into scale and shape: the classes do not overlap" in separate.sentence
    touching = lk.evaluate(lk.Scores([1.0, 2.0], [0.0, 1.0, -2.0]))
    assert "(not split into scale and shape: the classes share only the score 1, and" in touching.sentence


def test_small_sets_say_that_no_factor_would_be_found():
    llrs = lk.theory.GaussianLLR.from_eer(0.1).rvs(20, 100, np.random.default_rng(1))
    verdict = lk.evaluate(lk.Scores(*llrs)).verdict
    assert verdict.outcome == "none_found"
    assert verdict.text.endswith("of such sets, but no factor up to 3")


def test_compare_says_first_what_it_does(tmp_path):
    dev, eval_ = (
        write(tmp_path / name, *lk.theory.GaussianLLR.from_eer(0.1).rvs(60, 200, np.random.default_rng(seed)))
        for seed, name in enumerate(("dev.csv", "eval.csv"))
    )
    _, out, _ = run("compare", dev, eval_, "--methods", "cmlg")
    assert out.startswith(f"Calibrators trained on {dev} and evaluated on {eval_}; no bounds are added:\n")


def test_a_page_tells_that_llrs_were_read_and_which_map_made_them(tmp_path):
    raw = write(
        tmp_path / "raw.csv", *lk.theory.GaussianLLR.from_eer(0.1).rvs(60, 200, np.random.default_rng(1))
    )
    assert run("calibrate", raw, "-o", tmp_path / "dev.json")[0] == 0
    assert run("apply", tmp_path / "dev.json", raw, "-o", tmp_path / "llrs.csv")[0] == 0
    (made_by,) = pl.read_csv(tmp_path / "llrs.csv")["llr_map"].unique()
    code, _, err = run("report", tmp_path / "llrs.csv", "-o", tmp_path / "r.html")
    assert code == 0
    sentence = f"written by the calibration {made_by}"
    assert sentence in err
    page = (tmp_path / "r.html").read_text()
    assert sentence in page
    assert "Nothing asks" not in page
    assert "which is no proof of calibration" in page


def test_labels_in_words_in_place_of_scores_name_from_labels():
    with pytest.raises(lk.InputError, match=r"lk\.Scores\.from_labels\(scores, labels\)"):
        lk.Scores([0.5, 2.0, 1.0], ["target", "nontarget", "target"])


@pytest.mark.parametrize("method", ["logistic", "pav", "nig"])
def test_calibrate_says_once_that_scores_are_clipped(tmp_path, method):
    rng = np.random.default_rng(6)
    classes = (np.clip(rng.normal(mean, 2.0, n), -3.0, 3.0) for mean, n in ((2.0, 300), (-2.0, 900)))
    path = write(tmp_path / "clipped.csv", *classes)
    code, out, err = run("calibrate", path, "--method", method, "-o", tmp_path / "c.json")
    assert code == 0
    for end in ("exactly 3, the highest", "exactly -3, the lowest"):
        assert (out + err).count(end) == 1


def test_calibrate_by_condition_says_of_each_condition_only_that_scores_are_clipped(tmp_path):
    rng = np.random.default_rng(6)
    target = np.append(np.ones(300), rng.uniform(0.0, 1.0, 100))
    path = write(tmp_path / "clipped.csv", target, np.append(np.ones(50), rng.uniform(0.0, 1.0, 400) ** 3))
    conditions = pl.Series("condition", np.where(np.arange(850) % 3 == 0, "a", "b"))
    pl.read_csv(path).with_columns(conditions).write_csv(path)
    asked = ("calibrate", path, "--method", "nig", "--by", "condition", "-o", tmp_path / "c.json")
    code, _, err = run(*asked)
    assert code == 0
    told = [line for line in err.splitlines() if "exactly 1, the highest" in line]
    assert len(told) == 2
    assert all("on its training trials the map has a Cllr" in line for line in told)


def test_calibrate_without_labels_warns_of_a_map_that_does_badly_by_them_or_says_that_nothing_was_checked(
    tmp_path,
):
    rng = np.random.default_rng(0)
    nontarget = np.append(rng.normal(0.0, 1.0, 1_960), rng.normal(-30.0, 1.0, 40))
    text = write(tmp_path / "outliers.csv", rng.normal(2.0, 1.0, 200), nontarget)
    path = tmp_path / "outliers.parquet"
    pl.read_csv(text).with_columns(known=pl.lit(False)).write_parquet(path)
    asked = ("calibrate", path, "--method", "unsupervised", "--bound", "none", "-o", tmp_path / "c.json")
    code, out, err = run(*asked)
    assert code == 0
    assert err.count("worse than the 1 of LLRs that are all 0") == 1
    assert "not checked" not in out + err
    code, out, err = run(*asked, "--option", "supervised=known")
    assert code == 0
    assert "worse than the 1" not in err
    assert out.count("was not checked: where 'known' is false the labels may not be known") == 1
