"""Score normalization against loops over single trials, and what must not change it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.speech import (
    Embeddings,
    as_norm,
    cosine_scores,
    normalized_scores,
    s_norm,
    t_norm,
    tz_norm,
    z_norm,
    zt_norm,
)
from llrkit.speech.models import NORMS

RNG = np.random.default_rng(7)
SCORES = RNG.normal(2.0, 3.0, (9, 7))
ENROLL, TEST = RNG.normal(0.5, 2.0, (9, 12)), RNG.normal(-1.0, 1.5, (12, 7))
COHORT = RNG.normal(0.0, 1.0, (12, 12))
OTHERS = ~np.eye(12, dtype=bool)
TOP = 4
ONE = Embeddings(np.eye(3), ["a", "b", "c"])

NORMED = {
    "z": lambda f: z_norm(f(SCORES), f(ENROLL)),
    "t": lambda f: t_norm(f(SCORES), f(TEST)),
    "zt": lambda f: zt_norm(f(SCORES), f(ENROLL), f(TEST), f(COHORT)),
    "zt, without own": lambda f: zt_norm(f(SCORES), f(ENROLL), f(TEST), f(COHORT), use=OTHERS),
    "tz": lambda f: tz_norm(f(SCORES), f(ENROLL), f(TEST), f(COHORT)),
    "tz, without own": lambda f: tz_norm(f(SCORES), f(ENROLL), f(TEST), f(COHORT), use=OTHERS),
    "s": lambda f: s_norm(f(SCORES), f(ENROLL), f(TEST)),
    "as1": lambda f: as_norm(f(SCORES), f(ENROLL), f(TEST), top=TOP),
    "as2": lambda f: as_norm(f(SCORES), f(ENROLL), f(TEST), top=TOP, selection="other"),
}  # fmt: skip


def standard(value, cohort):
    cohort = list(cohort)
    mean = sum(cohort) / len(cohort)
    return (value - mean) / (sum((c - mean) ** 2 for c in cohort) / len(cohort)) ** 0.5


def best(scores):
    return sorted(range(len(scores)), key=lambda c: -scores[c])[:TOP]


def expected(kind, i, j):
    """One normalized score, from the definition."""
    s, e, t = SCORES[i, j], ENROLL[i], TEST[:, j]
    others = [[k for k in range(12) if k != c or "own" not in kind] for c in range(12)]
    if kind.startswith("zt"):
        cohort = [standard(t[c], COHORT[c, others[c]]) for c in range(12)]
        return standard(standard(s, e), cohort)
    if kind.startswith("tz"):
        cohort = [standard(e[c], COHORT[others[c], c]) for c in range(12)]
        return standard(standard(s, t), cohort)
    if kind in ("z", "t"):
        return standard(s, e if kind == "z" else t)
    own = {"s": (range(12), range(12)), "as1": (best(e), best(t)), "as2": (best(t), best(e))}[kind]
    return 0.5 * (standard(s, e[list(own[0])]) + standard(s, t[list(own[1])]))


@pytest.mark.parametrize("kind", NORMED)
@pytest.mark.parametrize("block", [1 << 26, 8 * 12 * 2])
def test_each_score_against_brute_force(kind, block, monkeypatch):
    monkeypatch.setenv("LLRKIT_AT_ONCE", str(block))
    wanted = [[expected(kind, i, j) for j in range(7)] for i in range(9)]
    assert_allclose(NORMED[kind](np.asarray), wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", NORMED)
def test_affine_changes_of_raw_scores_change_nothing_and_float32_stays(kind):
    before = NORMED[kind](np.asarray)
    assert np.abs(before - SCORES).max() > 0.5
    for scale, shift in ((3.0, 0.0), (1.0, 100.0), (0.01, -7.0)):
        assert_allclose(NORMED[kind](lambda s, a=scale, b=shift: a * s + b), before, rtol=1e-8, atol=1e-8)
    small = NORMED[kind](lambda s: s.astype(np.float32))
    assert small.dtype == np.float32
    assert_allclose(small, before, rtol=1e-4, atol=1e-4)


def test_whole_cohort_is_the_plain_s_norm():
    plain = s_norm(SCORES, ENROLL, TEST)
    for selection in ("own", "other"):
        assert_allclose(as_norm(SCORES, ENROLL, TEST, top=12, selection=selection), plain, rtol=1e-12)


def test_equal_cohort_scores_are_taken_in_their_order():
    tied = np.array([[1.0, 1.0, 1.0, 5.0]])
    other = np.array([[0.0], [2.0], [9.0], [7.0]])
    found = as_norm([[3.0]], tied, other, top=2, selection="other")
    # the enrollment's best are members 3 and 0, with 7 and 0 against the test; the test's are 2 and 3
    assert found[0, 0] == pytest.approx(0.5 * ((3 - 3) / 2 + (3 - 3.5) / 3.5))


@pytest.mark.parametrize("kind", NORMS)
def test_any_scorer_with_a_cohort(kind):
    rng = np.random.default_rng(8)
    enroll, test, cohort = (
        Embeddings(rng.normal(size=(n, 4)), [f"{name}{i}" for i in range(n)])
        for n, name in ((5, "e"), (6, "t"), (12, "c"))
    )
    found = normalized_scores(
        cosine_scores, enroll, test, cohort, normalize=kind, top=TOP if kind.startswith("as") else None
    )
    raw, e, t, c = (
        cosine_scores(a, b) for a, b in ((enroll, test), (enroll, cohort), (cohort, test), (cohort, cohort))
    )
    wanted = {
        "none": lambda: raw, "z": lambda: z_norm(raw, e), "t": lambda: t_norm(raw, t),
        "zt": lambda: zt_norm(raw, e, t, c, use=OTHERS),
        "tz": lambda: tz_norm(raw, e, t, c, use=OTHERS),
        "s": lambda: s_norm(raw, e, t), "as1": lambda: as_norm(raw, e, t, top=TOP),
        "as2": lambda: as_norm(raw, e, t, top=TOP, selection="other"),
    }[kind]()  # fmt: skip
    assert_allclose(found, wanted, rtol=1e-12)


def test_cohort_speakers_are_not_their_own_impostors():
    rng = np.random.default_rng(9)
    names = [f"c{i}" for i in range(12)]
    cohort = Embeddings(rng.normal(size=(12, 3)), names, [f"s{i // 3}" for i in range(12)])
    one = Embeddings(rng.normal(size=(2, 3)), ["x", "y"])
    c = cosine_scores(cohort, cohort)
    use = np.arange(12)[:, None] // 3 != np.arange(12) // 3
    wanted = zt_norm(
        cosine_scores(one, one), cosine_scores(one, cohort), cosine_scores(cohort, one), c, use=use
    )
    assert_allclose(normalized_scores(cosine_scores, one, one, cohort, normalize="zt"), wanted, rtol=1e-12)


@pytest.mark.parametrize("call", [
    lambda: z_norm(SCORES, ENROLL[:3]),
    lambda: t_norm(SCORES, TEST[:, :3]),
    lambda: z_norm(SCORES, np.ones((9, 1))),
    lambda: t_norm(SCORES, TEST * ([1] * 4 + [0] + [1] * 2)),
    lambda: z_norm([[1.0, np.nan]], [[1.0, 2.0]]),
    lambda: z_norm([[1.0]], [[1.0, np.inf]]),
    lambda: z_norm([1.0], [[1.0]]),
    lambda: z_norm(SCORES, ENROLL, use=np.ones((2, 2), bool)),
    lambda: z_norm(SCORES, ENROLL, use=np.zeros((9, 12), bool)),
    lambda: as_norm(SCORES, ENROLL, TEST, top=1),
    lambda: as_norm(SCORES, ENROLL, TEST, top=13),
    lambda: as_norm(SCORES, ENROLL, TEST, selection="best"),
    lambda: as_norm(SCORES, ENROLL[:, :5], TEST, top=3, selection="other"),
    lambda: as_norm(SCORES, 0 * ENROLL, TEST, top=3, selection="other"),
    lambda: normalized_scores(cosine_scores, ONE, ONE, normalize="x"),
    lambda: normalized_scores(cosine_scores, ONE, ONE, normalize="z", top=3),
    lambda: normalized_scores(lambda a, b: SCORES, ONE, ONE, normalize="z"),
])  # fmt: skip
def test_bad_input_is_refused(call):
    with pytest.raises(lk.LlrkitError):
        call()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scales_target", "raw_slope", "slope"), [(True, (-2.0, -1.3), -1.0), (False, (-1.1, -0.9), None)]
)
def test_t_norm_turns_the_det(scales_target, raw_slope, slope):
    """Each test segment scales its scores, or only their noise, by a log-normal factor; d' is 3."""
    rng = np.random.default_rng(10)
    n, tests, log_sd = 100, 4000, 0.5
    target = np.arange(tests) % n == np.arange(n)[:, None]
    factor = np.exp(log_sd * rng.normal(size=tests))
    raw = factor * rng.normal(size=(n, tests)) + 3.0 * target * (factor if scales_target else 1.0)
    normed = t_norm(raw, factor * rng.normal(size=(400, tests)))
    before, after = (lk.Scores(m[target], m[~target]) for m in (raw, normed))
    # closed forms: E f^2 = exp(2 s^2), E f = exp(s^2/2); Var(1/f) is that of f
    second, first = np.exp(2 * log_sd**2), np.exp(log_sd**2 / 2)
    variance = second - first**2
    raw_sd = np.sqrt(second + 9 * variance) if scales_target else np.sqrt(second)
    normed_sd = 1.0 if scales_target else np.sqrt(1.0 + 9 * variance)
    assert np.std(before.target) == pytest.approx(raw_sd, rel=0.08)
    assert np.std(before.nontarget) == pytest.approx(np.sqrt(second), rel=0.05)
    assert np.std(after.target) == pytest.approx(normed_sd, rel=0.08)
    assert np.std(after.nontarget) == pytest.approx(1.0, rel=0.01)
    assert raw_slope[0] < lk.metrics.det_slope(before).slope < raw_slope[1]
    if slope is None:
        assert -0.8 < lk.metrics.det_slope(after).slope < -0.5
    else:
        assert lk.metrics.det_slope(after).slope == pytest.approx(slope, abs=0.08)
