"""Summaries of three kinds of trials, of groups of people and of searches, as an algebra."""

import pickle

import numpy as np
import pytest
from algebra import assert_same
from hypothesis import given, settings
from hypothesis import strategies as st
from modules import import_all

from llrkit.biometrics.people_groups import group_errors
from llrkit.biometrics.searches import BestScores, SubjectsBeforeMates, before_mates
from llrkit.core.summaries import Grouped, SummaryBase, subclasses_of
from llrkit.scores import Scores
from llrkit.spoof.counts import KindCounts

POINTS = np.array([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0])
GRID = np.append(-np.inf, POINTS)
CATEGORIES = {"kind": ("target", "nontarget", "spoof"), "attack": ("-", "A01", "A02"),
              "failed": ("ok", "fta")}  # fmt: skip
MATES = {0: 0.25, 1: -1.0, 2: -np.inf}


SUMMARIES = {
    "KindCounts": KindCounts.at(GRID, "kind", None),
    "KindCounts by attack": KindCounts.at(GRID, "kind", "attack"),
    "group errors": group_errors(0.0, ("sex",)),
    "group errors of two sides": group_errors(0.25, ("sex", "other")),
    "BestScores": BestScores.at("probe", None, None),
    "BestScores of subjects": BestScores.at("probe", "person", "enrolled"),
    "before mates": before_mates("probe", MATES),
    "SubjectsBeforeMates": SubjectsBeforeMates.at("probe", MATES, "sex"),
}
every = pytest.mark.parametrize("name", SUMMARIES)


def chunk_of(target, nontarget):
    """A chunk, possibly without trials, with columns that depend on the place of a trial."""
    t, n = np.array(target, dtype=np.float64), np.array(nontarget, dtype=np.float64)
    i, j = np.arange(len(t)), np.arange(len(n))
    probe = i % 3, (j + 1) % 4
    columns = {
        "kind": (0 * i, 1 + j % 2),
        "attack": (0 * i, np.where(j % 2 == 1, 1 + (j // 2) % 2, 0)),
        "sex": (i % 2, j % 3), "other": (i % 2, j % 2), "probe": probe,
        "person": tuple(p // 2 for p in probe), "enrolled": tuple((p < 3).astype(int) for p in probe),
        "failed": (i % 2, 0 * j),
    }  # fmt: skip
    return Scores.part(t, n, columns, CATEGORIES)


def joined(*chunks):
    columns = {
        name: tuple(np.concatenate([c.columns[name][side] for c in chunks]) for side in (0, 1))
        for name in chunks[0].columns
    }
    scores = (np.concatenate([getattr(c, side) for c in chunks]) for side in ("target", "nontarget"))
    return Scores.part(*scores, columns, CATEGORIES)


VALUES = st.sampled_from([*POINTS.tolist(), -np.inf])


CHUNKS = st.builds(chunk_of, st.lists(VALUES, max_size=7), st.lists(VALUES, max_size=9))


@every
@settings(max_examples=8, deadline=None)
@given(data=st.data(), weight=st.sampled_from([0.5, 3.0, 0.125]), times=st.integers(1, 4))
def test_sums_weights_and_dicts(name, data, weight, times):
    summarize = SUMMARIES[name]
    chunks = [data.draw(CHUNKS) for _ in range(3)]
    a, b, c = map(summarize, chunks)
    assert_same((a + b) + c, a + (b + c))
    assert_same(a + b, b + a)
    assert_same(a + b, summarize(joined(*chunks[:2])))
    assert_same((a + b) * weight, a * weight + b * weight)
    assert_same(a * times, summarize(joined(*[chunks[0]] * times)))
    nothing = summarize(chunk_of([], []))
    assert_same(a + nothing, a)
    assert_same(nothing + a, a)
    for weighted in (a, a * 0.3):
        again = pickle.loads(pickle.dumps(weighted))
        assert_same(again, weighted, exact=True)


@every
def test_adding_changes_something(name):
    a, b = chunk_of([1.0, 0.0, -0.5], [-2.0, 0.25, 1.0]), chunk_of([3.0, -np.inf], [1.0, 3.0, 3.0, 3.0])
    summarize = SUMMARIES[name]
    with pytest.raises(AssertionError):
        assert_same(summarize(a) + summarize(b), summarize(a))


def test_every_summary_of_these_rooms_is_in_this_test():
    for room in ("llrkit.spoof", "llrkit.biometrics"):
        import_all(room)
    made = [make(chunk_of([1.0], [0.0])) for make in SUMMARIES.values()]
    tested = {type(one) for one in made if not isinstance(one, Grouped)}
    rooms = ("llrkit.spoof.", "llrkit.biometrics.")
    ours = {cls for cls in subclasses_of(SummaryBase) if cls.__module__.startswith(rooms)}
    assert ours == tested
