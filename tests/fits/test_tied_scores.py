"""Saturated and tied scores are recognized, continuous ones are not taken for them."""

import json

import numpy as np
import pytest
from commands import run
from pieces import Pieces

import llrkit as lk
from llrkit.fits.training_checks import TiedScores


def sentences(scores):
    return scores.reduce(TiedScores.of).sentences()


def drawn(n=500):
    rng = np.random.default_rng(6)
    return rng.normal(2.0, 1.0, n), rng.normal(0.0, 1.0, 2 * n)


def test_continuous_scores_neither_saturate_nor_tie():
    assert sentences(lk.Scores(*drawn())) == []
    assert sentences(lk.Scores([1.0, 2.0], [0.0, 1.0])) == []


def test_clipped_scores_and_few_digits_are_said_with_their_shares():
    target, nontarget = (np.clip(values, -0.5, 2.5) for values in drawn())
    high, low = (target == 2.5).mean(), (nontarget == -0.5).mean()
    said = sentences(lk.Scores(target, nontarget))
    assert len(said) == 2
    assert f"{100 * high:.1f} % of the target" in said[0]
    assert f"{100 * low:.1f} % of the non-target" in said[1]
    target, nontarget = (np.round(values) for values in drawn())
    n = len(np.unique(np.append(target, nontarget)))
    assert any(f"only {n} different scores" in one for one in sentences(lk.Scores(target, nontarget)))


@pytest.mark.parametrize("pieces", [2, 7])
def test_pieces_tell_the_same(pieces):
    target, nontarget = (np.clip(np.round(values, 1), -0.5, 2.5) for values in drawn())
    scores = lk.Scores(target, nontarget)
    assert sentences(Pieces(scores, pieces)) == sentences(scores) != []


def test_probabilities_are_told_from_other_scores():
    assert lk.Scores([0.0, 1.0], [0.5]).reduce(TiedScores.of).within_0_and_1
    assert not lk.Scores([0.0, 1.1], [0.5]).reduce(TiedScores.of).within_0_and_1


@pytest.mark.parametrize("at_once", [None, "4096"])
def test_evaluate_warns_of_saturated_scores_and_only_of_them(tmp_path, monkeypatch, at_once):
    if at_once is not None:  # read in batches
        monkeypatch.setenv("LLRKIT_AT_ONCE", at_once)
    target, nontarget = drawn(600)
    for name, of in (
        ("plain", lambda x: x),
        ("high", lambda x: np.minimum(x, 2.5)),
        ("low", lambda x: np.maximum(x, -0.5)),
    ):
        rows = [f"{x},{k}" for v, k in ((of(target), "target"), (of(nontarget), "nontarget")) for x in v]
        (tmp_path / f"{name}.csv").write_text("\n".join(["score,label", *rows]) + "\n")
        code, out, err = run("evaluate", tmp_path / f"{name}.csv", "--json", "-")
        assert code == 0
        assert (name == "plain") == ("saturated" not in json.loads(out))
        share = np.mean(of(target) == 2.5)
        assert (f"{100 * share:.1f} % of the target" in err) == (name == "high")
