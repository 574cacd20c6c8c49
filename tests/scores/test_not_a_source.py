"""Whatever is given in place of trials is refused in words that say what is accepted."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import llrkit as lk

OTHERS = {
    "point": "sre08", "prior": 0.1, "column": "x", "method": lk.fit_cmlg, "rule": "brier", "columns": ["x"],
    "by": "x", "name": "sre16", "points": "sre08", "speakers": "x", "criteria": "criteria.toml",
    "evaluation": "sre16", "result": lk.evaluate(lk.Scores([1.0], [0.0])),
}  # fmt: skip


def takes_trials():
    """The public functions whose first argument is a source."""
    for room in (lk, lk.scores, lk.metrics, lk.maps, lk.fits, lk.trust, lk.simulate):
        for name in room.__all__:
            value = getattr(room, name)
            if inspect.isfunction(value):
                first = next(iter(inspect.signature(value).parameters.values()), None)
                if first is not None and first.annotation in ("AnyTrials", "ScoreSource"):
                    yield name, value


FUNCTIONS = dict(takes_trials())


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_something_else_is_refused(name):
    function = FUNCTIONS[name]
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    for wrong in ([1.0, 2.0], np.zeros(3), "scores.csv", {"target": [1.0]}, None):
        by_place = [OTHERS.get(p.name, wrong) for p in needed[1:] if p.kind is p.POSITIONAL_OR_KEYWORD]
        by_name = {p.name: OTHERS.get(p.name, "x") for p in needed if p.kind is p.KEYWORD_ONLY}
        said = rf"expected trials, got {type(wrong).__name__}: .*lk\.Scores"
        if name == "fit_unsupervised" and isinstance(wrong, (list, np.ndarray)):
            said = "needs at least 4 trials"  # it takes scores without labels, but not so few
        with pytest.raises(lk.InputError, match=said):
            function(wrong, *by_place, **by_name)
