"""Prior-weighted logistic calibration x = a s + b against R.

``r-glm.tsv`` holds what R 4.2.2 printed for the score sets of ``tests/support/generated_sets.py``::

    glm(y ~ s, binomial, weights = ifelse(y, prior / sum(y), (1 - prior) / sum(!y)),
        offset = rep(qlogis(prior), length(s)), epsilon = 1e-14)

The set of reversed scores is left out.
"""

from pathlib import Path

import pytest
from generated_sets import read_table, two_classes
from numpy.testing import assert_allclose

import llrkit as lk


@pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")
@pytest.mark.parametrize(
    "printed",
    read_table(Path(__file__).with_name("r-glm.tsv")),
    ids=lambda printed: f"{printed['set']} {printed['prior']}",
)
def test_generated_sets_against_R(printed):
    fitted = lk.fit_logistic(lk.Scores(*two_classes()[printed["set"]]), prior=printed["prior"])
    assert_allclose([fitted.a, fitted.b], [printed["a"], printed["b"]], rtol=1e-7, atol=1e-9)
