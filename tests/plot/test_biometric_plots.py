"""The CMC, groups of people, logarithmic DETs, and the words of communities in plots."""

import numpy as np
import polars as pl
import pytest
from commands import run
from drawn import some_groups
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.errors import InputError, UnknownNameError


def test_cmc_draws_the_rates_of_all_ranks():
    axes = lk.plot.cmc(lk.biometrics.Cmc(np.array([1, 2, 3]), np.array([0.8, 0.9, 1.0])))
    assert_array_equal(axes.lines[0].get_xydata(), [[1, 80], [2, 90], [3, 100]])
    with pytest.raises(InputError):
        lk.plot.cmc([1, 2])


def test_groups_draw_rates_and_intervals():
    result = some_groups()
    picture = lk.plot.groups(result, renderer="none")
    points = [mark.x[0] for mark in picture.marks if hasattr(mark, "filled")]
    rates = [getattr(result.groups[g], rate) for rate in ("fmr", "fnmr") for g in ("m", "f")]
    assert_allclose(points, np.log10(rates))
    first = next(mark for mark in picture.marks if not hasattr(mark, "filled"))
    assert_allclose(first.x, np.log10(result.groups["m"].fmr_interval))
    assert picture.y.tick_labels == ("m", "f")


def scores(n=2_000_000):
    rng = np.random.default_rng(1)
    return lk.Scores(rng.normal(5, 1, 2000), rng.normal(0, 1, n))


def test_logarithmic_det_reaches_one_in_a_million():
    result = lk.evaluate(scores())
    picture = lk.plot.det({"a": result}, axes="log", words="biometrics", renderer="none")
    assert (picture.x.label, picture.y.label) == ("FMR", "FNMR")
    assert picture.x.tick_labels[0] == "1e-06"
    assert picture.legend == "below"  # the curve keeps to the upper right
    line = next(mark for mark in picture.marks if getattr(mark, "group", "") == "a")
    inside = result.det.p_fa > 0
    assert_allclose(line.x[inside], np.log10(result.det.p_fa[inside]))
    with pytest.raises(UnknownNameError):
        lk.plot.det(result, axes="linear")


@pytest.mark.slow
def test_the_commands(tmp_path):
    rng = np.random.default_rng(3)
    table = {"score": rng.normal(size=900), "label": np.arange(900) % 3 == 0, "probe": np.arange(900) // 9,
             "sex": np.array(["f", "m"])[rng.integers(0, 2, 900)]}  # fmt: skip
    path = tmp_path / "s.csv"
    pl.DataFrame(table).write_csv(path)
    for words in (("cmc", "--by", "probe"), ("groups", "--by", "sex", "--fmr", "10%"),
                  ("det", "--axes", "log", "--vocabulary", "biometrics")):  # fmt: skip
        code, _, err = run("plot", words[0], path, *words[1:], "-o", tmp_path / f"{words[0]}.svg")
        assert code == 0, err
    code, _, err = run("plot", "histogram", path, "--vocabulary", "forensic", "-o", tmp_path / "h.html")
    assert code == 0, err
    assert "different-source comparisons" in (tmp_path / "h.html").read_text()
    wrong = {
        ("roc", "--axes", "log"): "--axes is for det",
        ("det", "--fmr", "1%"): "--fmr is for groups",
        ("groups",): "name the column of the groups",
    }
    for words, said in wrong.items():
        code, _, err = run("plot", words[0], path, *words[1:], "-o", tmp_path / "x.svg")
        assert code == 2
        assert said in err
