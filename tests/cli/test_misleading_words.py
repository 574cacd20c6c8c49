"""What is said of scores that are not what they seem, by the command line and in Python."""

import json
import math

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit.theory import GaussianLLR


def write(path, target, nontarget):
    labels = ["target"] * len(target) + ["nontarget"] * len(nontarget)
    pl.DataFrame({"score": np.append(target, nontarget), "label": labels}).write_csv(path)
    return path


def calibrated(n_target, n_nontarget, seed=0, eer=0.05):
    """LLRs as they should be: Gaussian, means at plus and minus half the variance."""
    mu = GaussianLLR.from_eer(eer).mu
    rng = np.random.default_rng(seed)
    spread = math.sqrt(2 * mu)
    return rng.normal(mu, spread, n_target), rng.normal(-mu, spread, n_nontarget)


def evaluated(path, *options):
    code, out, err = run("evaluate", path, *options)
    assert code == 0, err
    return out, err


@pytest.mark.parametrize(("n_target", "n_nontarget"), [(20, 100), (100, 1000)])
def test_calibrated_llrs_are_not_called_miscalibrated_because_they_are_few(tmp_path, n_target, n_nontarget):
    rates = {"evidence": 0, "none_found": 0, "too_few": 0}
    for seed in range(40):
        rates[lk.evaluate(lk.Scores(*calibrated(n_target, n_nontarget, seed))).verdict.outcome] += 1
    assert rates["evidence"] <= 5  # 97.5 % of binomial(40, 0.05) are at most 5
    out, _ = evaluated(write(tmp_path / "few.csv", *calibrated(n_target, n_nontarget, 1)))
    assert "No evidence of miscalibration (p = " in out
    assert "would have been found" in out
    assert "if trials are independent" in out


def test_the_parts_of_the_loss_are_named_and_add_up(tmp_path):
    path = write(tmp_path / "doubled.csv", *(2 * llrs for llrs in calibrated(300, 3000)))
    out, _ = evaluated(path)
    result = lk.evaluate(lk.read_trials(path))
    assert result.sentence in out
    words = result.sentence.replace(",", "").replace(":", "").split()
    total, least, lost, line, shape = [float(word) for word in words if word.startswith("0.")][:5]
    assert total == pytest.approx(least + lost, abs=1.01e-3)
    assert lost == pytest.approx(line + shape, abs=1e-9)
    split = result.loss_split
    assert split.scale_and_offset + split.shape == pytest.approx(result.cllr - result.min_cllr, abs=1e-12)


def test_reversed_scores_are_called_reversed(tmp_path):
    target, nontarget = calibrated(300, 3000)
    path = write(tmp_path / "distances.csv", -target, -nontarget)
    other_way = f"The other way round the EER is {100 * lk.eer(lk.Scores(target, nontarget)):.2f} %"
    for command in ("evaluate", "diagnose"):
        code, out, err = run(command, path)
        assert code == 0
        assert (out + err).count("targets score below non-targets") == 1
        assert other_way in out
    with pytest.warns(lk.ReversedScoresWarning, match="targets score below non-targets"):
        verdict = lk.evaluate(lk.read_trials(path)).verdict
    assert verdict.outcome == "reversed"


def test_a_wrong_label_column_is_not_taken_for_miscalibration(tmp_path):
    rng = np.random.default_rng(5)
    path = write(tmp_path / "wrong.csv", rng.normal(size=300), rng.normal(size=900))
    out, _ = evaluated(path)
    verdict = lk.evaluate(lk.read_trials(path)).verdict
    assert verdict.outcome == "uninformative"
    assert verdict.sentence in out
    assert "are these the right labels and scores?" in out
    assert "?." not in out
    assert "calibrate them" not in out


@pytest.mark.parametrize(
    ("name", "change", "question"),
    [
        ("probabilities", lambda llr: 1 / (1 + np.exp(-llr)), "are they probabilities?"),
        ("base ten", lambda llr: llr / math.log(10), "log10 LLRs? Then multiply them by ln 10 (--log10)"),
        ("ratios", np.exp, "are they likelihood ratios, not LLRs?"),
    ],
)
def test_scores_on_another_scale_are_asked_about(tmp_path, name, change, question):
    path = write(tmp_path / "other.csv", *map(change, calibrated(1000, 10000)))
    _, err = evaluated(path)
    assert question in err
    with pytest.warns(lk.ScaleWarning) as caught:
        lk.evaluate(lk.read_trials(path))
    assert question in str(caught[0].message)


def test_rows_of_probabilities_are_asked_about(tmp_path):
    rng = np.random.default_rng(7)
    labels = np.arange(300) % 3
    loglik = rng.normal(size=(300, 3)) + 2.0 * np.eye(3)[labels]
    rows = np.exp(loglik) / np.exp(loglik).sum(axis=1, keepdims=True)
    names = pl.Series("label", ["abc"[i] for i in labels])
    table = pl.DataFrame(rows, schema=["a", "b", "c"]).with_columns(names)
    table.write_csv(tmp_path / "softmax.csv")
    question = "all rows are between 0 and 1 and sum to 1: are they probabilities?"
    code, _, err = run("evaluate", tmp_path / "softmax.csv", "--classes", "a,b,c")
    assert code == 0
    assert question in err
    with pytest.warns(lk.ScaleWarning, match="sum to 1"):
        lk.multiclass.evaluate(lk.ClassScores(rows, labels), refine_by=None, detection=False)
    # logarithms are no reason to ask, and warnings are errors here
    lk.multiclass.evaluate(lk.ClassScores(np.log(rows), labels), refine_by=None, detection=False)


def test_labels_are_not_taken_for_the_scores_of_non_targets():
    """There is no such call on the command line, whose columns have names."""
    labels = np.repeat([1, 0], 30)
    scores = np.linspace(3, -3, 60)
    for second in (labels, labels.astype(bool), labels.tolist()):
        with pytest.raises(lk.InputError, match="from_labels"):
            lk.Scores(scores, second)
    assert lk.Scores.from_labels(scores, labels).n_target == 30


def test_advice_follows_from_what_was_measured(tmp_path):
    rng = np.random.default_rng(6)
    apart = write(tmp_path / "apart.csv", rng.uniform(0.647, 1.0, 30), rng.uniform(-0.5, 0.233, 200))
    code, out, _ = run("diagnose", apart)
    assert code == 0
    assert "the classes do not overlap" in out
    assert "avoid cmlg" in out
    wide = write(tmp_path / "wide.csv", rng.normal(4, 1, 5), rng.normal(0, 2.1, 20))
    _, out, _ = run("diagnose", wide)
    for said in (out, str(lk.diagnose(lk.read_trials(wide)))):
        assert "same spread" not in said
        assert "cannot be judged from fewer than 100" in said


def test_a_criterion_that_always_passes_is_refused_and_one_that_cannot_be_decided_says_so(tmp_path):
    path = write(tmp_path / "validation.csv", *calibrated(100, 1000))
    for at_most, code, said in ((8, 2, "8 % is 0.08"), (0.05, 1, "NOT DECIDED")):
        row = f'[[criterion]]\ncharacteristic = "accuracy"\nmetric = "eer"\nat_most = {at_most}\n'
        (tmp_path / "criteria.toml").write_text(f'[options]\nci = "trial"\n{row}use = "interval"\n')
        got, out, err = run("validate", path, "--criteria", tmp_path / "criteria.toml")
        assert got == code
        assert said in out + err


def test_the_level_stands_beside_every_p_value(tmp_path):
    path = write(tmp_path / "llrs.csv", *(2 * llrs for llrs in calibrated(300, 3000)))
    out, _ = evaluated(path, "--json", "-")
    verdict = json.loads(out)["verdict"]
    assert verdict["level"] == 0.03
    assert verdict["p_value"] < verdict["level"]
    assert lk.evaluate(lk.read_trials(path)).verdict.level == 0.03
