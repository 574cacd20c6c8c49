"""Speakers who are never compared with each other: blocks are found, and what they share is no chance."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest

import llrkit as lk
from llrkit.trust.jackknife import Jackknife
from llrkit.trust.speakers import (
    Contributions,
    _SpeakerValues,
    centered,
    covariance,
    find_speakers,
    speaker_cells,
)

SIDES = ("left", "right")


def two_genders(speakers: int, shift: float = 0.0, seed: int = 1) -> lk.Scores:
    """Three sessions of each speaker, compared within the gender; scores of one gender are higher."""
    rng = np.random.default_rng(seed)
    speaker = np.repeat(np.arange(speakers), 3)
    i, j = np.triu_indices(len(speaker), 1)
    kept = speaker[i] % 2 == speaker[j] % 2
    p, q = speaker[i[kept]], speaker[j[kept]]
    easy = rng.normal(size=speakers)
    score = np.where(p == q, 2.0, -2.0) + easy[p] + easy[q] + rng.normal(size=len(p)) + shift * (p % 2)
    return lk.Scores.from_labels(score, p == q, {"left": p, "right": q})


def test_blocks_are_found_whatever_the_chunks() -> None:
    """As by a search from speaker to speaker, for one chunk and for many that are merged."""
    rng = np.random.default_rng(4)
    left = rng.integers(0, 60, 300)
    right = (left + 3 * rng.integers(1, 20, 300)) % 60  # the remainder of 3 stays: three blocks
    scores = lk.Scores(
        rng.normal(size=300), rng.normal(size=300), {"left": (left, left), "right": (left, right)}
    )
    found = find_speakers(scores, SIDES)
    names = list(found.number_of)
    expected: dict[int, set[int]] = {}
    for start in range(60):
        reached, edge = {start}, [start]
        while edge:
            at = edge.pop()
            for a, b in ((left, right), (right, left)):
                for other in b[a == at].tolist():
                    if other not in reached:
                        reached.add(other)
                        edge.append(other)
        expected[start] = reached
    for k, name in enumerate(names):
        assert {names[i] for i in range(60) if found.blocks[i] == found.blocks[k]} == expected[name]
    pieces = [scores.select(slice(k, k + 20), slice(k, k + 20)) for k in range(0, 300, 20)]
    merged = reduce(add, (_SpeakerValues.at(SIDES)(piece) for piece in pieces))
    joined: list[frozenset[object]] = []
    for link in map(frozenset, merged.links):
        touched = [one for one in joined if one & link]
        joined = [link.union(*touched), *(one for one in joined if one not in touched)]
    assert set(joined) == set(map(frozenset, expected.values()))


def test_speakers_who_all_meet_have_no_blocks() -> None:
    """One comparison between the genders makes them one."""
    scores = two_genders(12)
    assert set(find_speakers(scores, SIDES).blocks) == {0, 1}
    assert find_speakers(scores, "left").blocks == ()
    (target, left), (_, right) = (scores.columns[side] for side in SIDES)
    meet = {"left": (target, np.append(left[:-1], 1)), "right": (target, np.append(right[:-1], 0))}
    assert find_speakers(lk.Scores(scores.target, scores.nontarget, meet), SIDES).blocks == ()


def test_errors_of_blocks_are_those_of_strata() -> None:
    """The variance of a stratified mean: the sum over strata of (share)^2 times variance over size."""
    rng = np.random.default_rng(2)
    values, blocks = rng.normal(size=14), (0,) * 6 + (1,) * 8
    place = np.array(blocks)
    values[place == 1] += 100.0
    without = (values.sum() - values) / 13.0
    found = Jackknife(("mean",), np.array([values.mean()]), without[:, None], blocks=blocks)
    parts = [values[place == block] for block in (0, 1)]
    expected = sum((len(part) / 14) ** 2 * part.var(ddof=1) / len(part) for part in parts)
    assert found.standard_error[0] ** 2 == pytest.approx(expected, rel=1e-9)
    plain = Jackknife(("mean",), np.array([values.mean()]), without[:, None])
    assert plain.standard_error[0] > 10.0 * found.standard_error[0]
    np.testing.assert_allclose(centered(values, ()), values - values.mean())


def test_what_a_whole_block_shares_is_no_error() -> None:
    """Shifting all scores of a gender leaves errors of the mean as they are, in both estimates."""

    def score(values, class_index):  # type: ignore[no-untyped-def]
        # less the mean, as influences are
        return [(values - values.mean()) / len(values)] if class_index else [0.0 * values]

    errors = []
    for shift in (0.0, 5.0):
        scores = two_genders(20, shift)
        speakers = find_speakers(scores, SIDES)
        cells = speaker_cells(scores, speakers, contributions=Contributions(1, score))
        jackknife = Jackknife.of(cells, lambda kept: kept.means[1])
        dyadic = covariance(scores, Contributions(1, score), speakers)
        errors.append((float(jackknife.standard_error[0]), dyadic.variance(np.ones(1))))
    assert errors[0] == pytest.approx(errors[1], rel=1e-6)


def test_groups_of_many_speakers_have_equally_many_of_each_block() -> None:
    """Otherwise the share of a gender would differ from group to group by chance."""
    scores = two_genders(60)
    grouped = find_speakers(scores, SIDES).grouped(most=10, groups=10)
    assert grouped.blocks == ()
    for group in range(10):
        members = [name for name, number in grouped.number_of.items() if number == group]
        assert sorted(name % 2 for name in members) == [0, 0, 0, 1, 1, 1]
