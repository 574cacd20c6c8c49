"""Every plot to base ten: what is a natural logarithm is divided by ln 10 and says so, nothing else is."""

import re
from dataclasses import fields

import numpy as np
import pytest
from drawn import examples
from numpy.testing import assert_allclose, assert_array_equal

from llrkit.jobs.plot import PLOTS
from llrkit.plot.picture import Text, to_base_10

EXAMPLES = [(f"{name} {i}", name, data) for i, (name, data) in enumerate(examples())]
NO_LOGARITHM = {
    "Pmiss", "Pfa", "Pmiss at most", "Pfa at most", "prior", "minimum", "actual", "operating point", "score",
    "targets at or above", "non-targets at or above", "after PAV (bits)", "cross-entropy (bits)", "trials",
    "posterior", "share of targets", "list", "EER", "measured", "Gaussian LLRs", "share", "up to here",
    "system", "weight", "speaker", "mean target score", "mean non-target score", "is", "rank", "identified",
    "group", "FMR", "FNMR", "class", "actual (bits)", "refined", "CMLG", "logistic", "LLR",
    "C_primary", "minimum DCF (sre10)",
}  # fmt: skip
"""What pointing at a mark shows that no base changes; 'LLR' here is the name of one, as text."""
DENSITIES = {"density", "target density", "non-target density"}
NUMBERS = re.compile(r"[−+-]?\d+\.\d+")


def drawn(name, data):
    nats = PLOTS[name](data, renderer="none")
    return nats, to_base_10(nats)


def texts_of(picture):
    yield from (picture.title, picture.described, picture.x.label, picture.y.label)
    for mark in picture.marks:
        yield mark.text if isinstance(mark, Text) else mark.label
        yield from (one.name for one in getattr(mark, "hover", ()))


@pytest.mark.parametrize(("name", "data"), [one[1:] for one in EXAMPLES], ids=[one[0] for one in EXAMPLES])
def test_no_plot_shows_a_natural_logarithm(name, data):
    nats, ten = drawn(name, data)
    assert not [text for text in texts_of(ten) if "nats" in text or text == "prior log-odds"]
    for one, other in zip(nats.marks, ten.marks, strict=True):
        shown = {line.name: line for line in getattr(other, "hover", ())}
        for line in getattr(one, "hover", ()):
            if line.name in DENSITIES:
                assert_allclose(shown[line.name].values / np.log(10), line.values, rtol=1e-12)
            elif line.name in NO_LOGARITHM and line.name in shown:
                assert_array_equal(shown[line.name].values, line.values)
            elif "log10" not in line.name:  # each other name is a logarithm, and says which
                words = line.name.removesuffix(" (nats)").replace("log-odds", "log10-odds")
                named = [n for n in shown if "log10" in n and (words in n or words.startswith("LLR"))]
                divided = np.asarray(line.values) / np.log(10)
                assert any(np.allclose(shown[n].values, divided, equal_nan=True) for n in named), line.name
        if isinstance(one, Text) and one.amounts:
            assert_allclose(
                float(NUMBERS.search(other.text)[0].replace("−", "-")), one.amounts[0].llr / np.log(10),
                atol=0.0051,
            )  # fmt: skip


@pytest.mark.parametrize(("name", "data"), [one[1:] for one in EXAMPLES], ids=[one[0] for one in EXAMPLES])
def test_axes_and_marks_are_scaled_together(name, data):
    nats, ten = drawn(name, data)
    for which in ("x", "y"):
        one, other = getattr(nats, which), getattr(ten, which)
        natural = "nats" in one.label or one.label == "prior log-odds" or "log α" in one.label
        assert natural == (one.label != other.label)
        if natural:
            assert "log10" in other.label
        if one.limits is None:
            continue
        by = one.limits[1] / other.limits[1]
        assert_allclose(by, np.log(10) if natural else 1 / np.log(10) if one.label == "density" else 1.0)
        for mark, scaled in zip(nats.marks, ten.marks, strict=True):
            for field in fields(mark):
                if field.name in ({"x": ("x", "edges"), "y": ("y", "low", "high", "heights")}[which]):
                    assert_allclose(
                        getattr(scaled, field.name) * by, getattr(mark, field.name), rtol=1e-12, atol=0
                    )
