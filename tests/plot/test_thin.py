"""Thinned lines stay where they were."""

import numpy as np
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st

import llrkit as lk
from llrkit.jobs.plot import PLOTS
from llrkit.plot.picture import Band, Line
from llrkit.report.page import TOLERANCE, thin_line, thin_picture


def distance_to_line(points, x, y):
    """From each point to the polyline, segment by segment: the plain formula."""
    best = np.full(len(points), np.inf)
    for i in range(len(x) - 1):
        start, along = np.array([x[i], y[i]]), np.array([x[i + 1] - x[i], y[i + 1] - y[i]])
        length = along @ along
        share = np.clip((points - start) @ along / length, 0, 1) if length else np.zeros(len(points))
        best = np.minimum(best, np.linalg.norm(points - start - share[:, None] * along, axis=1))
    return best


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=60), st.floats(1e-3, 0.5))
def test_no_point_is_further_away_than_the_tolerance(points, tolerance):
    x, y = np.array(points).T
    kept = thin_line(x, y, tolerance)
    assert kept[0] == 0
    assert kept[-1] == len(x) - 1
    if len(kept) > 1:
        assert distance_to_line(np.array(points), x[kept], y[kept]).max() <= tolerance * (1 + 1e-9)


@pytest.mark.parametrize("n", [3000, 30_000])
def test_long_lines_keep_the_tolerance_too(n):
    rng = np.random.default_rng(n)
    steps = np.cumsum(rng.exponential(1.0, (n, 2)) * (rng.random((n, 1)) < 0.5), axis=0)
    x, y = (steps / steps[-1]).T
    kept = thin_line(x, y, 1e-3)
    assert len(kept) < 2000
    some = rng.integers(0, n, 200)
    assert distance_to_line(np.column_stack([x, y])[some], x[kept], y[kept]).max() <= 1e-3


def test_straight_lines_need_two_points_and_gaps_are_left_alone():
    x = np.linspace(0, 1, 1000)
    assert thin_line(x, 3 * x, 1e-6).tolist() == [0, 999]
    assert len(thin_line(x, np.where(x > 0.5, np.nan, x), 1e-6)) == 1000
    assert thin_line(np.array([1.0]), np.array([2.0]), 0.1).tolist() == [0]


@pytest.mark.parametrize(("name", "data"), list(examples()))
def test_pictures_lose_no_mark_and_keep_exact_points(name, data):
    picture = PLOTS[name](data, renderer="none")
    thinned = thin_picture(picture, at_least=20)
    assert len(thinned.marks) == len(picture.marks)
    for before, after in zip(picture.marks, thinned.marks, strict=True):
        if isinstance(before, Band) and np.isfinite(before.x).all():
            corners = set(zip(before.x.tolist(), before.low.tolist(), before.high.tolist(), strict=True))
            assert set(zip(after.x.tolist(), after.low.tolist(), after.high.tolist(), strict=True)) <= corners
            continue
        if not isinstance(before, Line):
            assert after is before or np.isnan(after.x).all()
            continue
        pairs = set(zip(before.x.tolist(), before.y.tolist(), strict=True))
        if np.isfinite(before.x).all():
            assert set(zip(after.x.tolist(), after.y.tolist(), strict=True)) <= pairs
        for old, new in zip(before.hover, after.hover, strict=True):
            assert len(new.values) == len(after.x)
            assert set(new.texts()) <= set(old.texts())


def test_a_det_with_many_steps_becomes_small_and_stays_within_a_quarter_pixel():
    result = lk.evaluate(lk.Scores(*lk.theory.GaussianLLR.from_eer(0.1).rvs(20_000, 20_000, 1)))
    picture = lk.plot.det(result, renderer="none", points=False)
    line, thinned = picture.marks[-1], thin_picture(picture).marks[-1]
    assert len(line.x) > 5000 > 1500 > len(thinned.x)
    wide, high = (axis.limits[1] - axis.limits[0] for axis in (picture.x, picture.y))
    points = np.column_stack([line.x / wide, line.y / high])[::37]
    assert distance_to_line(points, thinned.x / wide, thinned.y / high).max() <= TOLERANCE
    assert 640 * TOLERANCE < 0.26


def test_scores_near_the_largest_number_are_thinned_too():
    x = np.array([-4e299, -1.0, 0.0, 0.5, 1.0, 4e299])
    kept = thin_line(x, np.array([0.0, 0.0, 0.5, 0.5, 1.0, 1.0]), TOLERANCE)
    assert kept[0] == 0
    assert kept[-1] == 5
    result = lk.evaluate(lk.Scores(np.array([-1.0, 2.0, 3.0]) * 1e299, np.array([-3.0, -2.0, 1.0]) * 1e299))
    for name in ("det", "tippett", "bayes_error", "ape", "pav"):
        assert thin_picture(PLOTS[name](result, renderer="none")).marks
