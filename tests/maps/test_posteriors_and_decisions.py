"""Posteriors and decisions of maps of two classes: by Bayes' rule written out, in Python and by ``apply``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk

MAP = lk.maps.AffineMap(a=2.0, b=-1.0)
SCORES = np.array([-3.0, 0.5, 1.0, 2.7975598, 2.798, 9.0])


def by_bayes_rule(llr, prior):
    """With odds instead of the logistic function."""
    odds = [Fraction(prior) / (1 - Fraction(prior)) * Fraction(float(np.exp(x))) for x in llr]
    return [float(one / (1 + one)) for one in odds]


@pytest.mark.parametrize("prior", [0.5, 0.01, 0.999])
def test_posteriors_against_bayes_rule(prior):
    assert_allclose(MAP.posteriors(SCORES, prior), by_bayes_rule(2 * SCORES - 1, prior), rtol=1e-13)
    one = MAP.posteriors(2.0, prior)
    assert isinstance(one, float)
    assert one == MAP.posteriors([2.0], prior)[0]


@pytest.mark.parametrize("point", ["sre08", 0.2, lk.OperatingPoint(0.3, 2, 7)])
def test_decisions_minimize_the_expected_cost(point):
    chosen = {"sre08": lk.OperatingPoint(0.01, 10, 1), 0.2: lk.OperatingPoint(0.2)}.get(point, point)
    posteriors = np.array(by_bayes_rule(2 * SCORES - 1, chosen.p_target))
    cheaper = chosen.c_fa * (1 - posteriors) <= chosen.c_miss * posteriors
    assert MAP.decide(SCORES, point).tolist() == cheaper.tolist()
    assert MAP.decide(9.0, point) is True


def test_a_decision_at_the_threshold_itself_accepts():
    exact = lk.maps.AffineMap(a=1.0, b=0.0)
    at = lk.OperatingPoint(0.1).threshold
    assert exact.decide([np.nextafter(at, -np.inf), at], 0.1).tolist() == [False, True]


def test_trials_give_a_row_each_and_scores_are_refused():
    trials = lk.Trials({"score": [0.0, 2.0], "label": [0, 1]})
    assert MAP.posteriors(trials, 0.5).tolist() == MAP.posteriors([0.0, 2.0], 0.5).tolist()
    with pytest.raises(lk.InputError):
        MAP.posteriors(lk.Scores([1.0], [0.0]), 0.5)
    with pytest.raises(lk.InputError):
        MAP.posteriors(SCORES, 1.0)
    with pytest.raises(lk.InputError):
        MAP.decide(SCORES, "sre12")


def test_a_map_that_needs_columns_and_watches_its_range_does_so_here_too():
    rng = np.random.default_rng(0)
    scores = lk.Scores(rng.normal(1, 1, 100), rng.normal(-1, 1, 200))
    fitted = lk.fit_logistic(scores)
    with pytest.warns(lk.errors.TrainingRangeWarning):
        fitted.posteriors([50.0], 0.5)
    with pytest.raises(lk.InputError):
        fitted.decide([50.0], 0.5, outside="error")


@pytest.fixture
def files(tmp_path):
    MAP.save(tmp_path / "cal.json")
    pl.DataFrame({"score": SCORES, "label": [0, 1] * 3}).write_csv(tmp_path / "s.csv")
    return tmp_path


@pytest.mark.parametrize("base", [[], ["--base-10"]])
@pytest.mark.parametrize("output", ["out.csv", "out.parquet", "out/"])
def test_apply_writes_posteriors_and_decisions_beside_the_llrs(files, base, output):
    words = ["-o", f"{files}/{output}", "--posterior", "1%", "--decide", "sre08"]
    code, _, err = run("apply", files / "cal.json", files / "s.csv", *words, *base)
    assert code == 0, err
    path = files / output / "s.parquet" if output == "out/" else files / output
    table = pl.read_csv(path) if output.endswith(".csv") else pl.read_parquet(path)
    assert table["posterior"].to_list() == MAP.posteriors(SCORES, 0.01).tolist()
    assert table["decision"].to_list() == MAP.decide(SCORES, "sre08").tolist()
    # they are no scores and no labels: the file is read as LLRs
    assert lk.read_trials(path).score == (("log10_lr",) if base else ("llr",))


def test_columns_of_these_names_are_kept_under_others(files):
    pl.DataFrame({"score": SCORES, "posterior": ["x"] * 6}).write_csv(files / "t.csv")
    code, _, err = run(
        "apply", files / "cal.json", files / "t.csv", "-o", files / "o.csv", "--posterior", "0.5"
    )
    assert code == 0, err
    assert pl.read_csv(files / "o.csv")["posterior_before"].to_list() == ["x"] * 6


@pytest.mark.parametrize(
    "words",
    ["--posterior 1", "--posterior much", "--decide sre12", "--decide sre99", "--posterior .5 --to kaldi"],
)
def test_what_cannot_be_written_is_refused_before_anything_is(files, words):
    code, _, _ = run("apply", files / "cal.json", files / "s.csv", "-o", files / "o.csv", *words.split())
    assert (code, (files / "o.csv").exists()) == (2, False)


def test_maps_of_several_classes_refuse_them(files):
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"en": rng.normal(size=60), "de": rng.normal(size=60), "fr": rng.normal(size=60)})
    rows.with_columns(label=pl.Series(["en", "de", "fr"] * 20)).write_csv(files / "c.csv")
    assert run("calibrate", files / "c.csv", "--classes", "en,de,fr", "-o", files / "c.json")[0] == 0
    words = ["-o", files / "o.csv", "--posterior", "0.5"]
    assert run("apply", files / "c.json", files / "c.csv", *words)[0] == 2
