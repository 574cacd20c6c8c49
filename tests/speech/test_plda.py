"""PLDA scores against joint Gaussians, training against what generated the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest, multivariate_normal

import llrkit as lk
from llrkit.speech import PLDA, Embeddings, pool_sessions, train_plda
from llrkit.speech.models.plda import log_likelihood, moment_estimate
from llrkit.speech.models.transforms import speaker_sums


def covariance(rng, dim, rank=None):
    root = rng.normal(size=(dim, rank or dim + 2))
    return root @ root.T


def some_model(rng, dim=5, rank=None):
    return PLDA(rng.normal(size=dim), covariance(rng, dim, rank), covariance(rng, dim))


def joint_llr(plda, left, right):
    """LLR of two sets of sessions: each is (vectors, covariance of each), by joint Gaussian densities."""

    def log_density(sessions, together):
        vectors = np.concatenate([v for v, _ in sessions])
        covariances = [c for _, cs in sessions for c in cs]
        owner = np.repeat(np.arange(len(sessions)), [len(v) for v, _ in sessions])
        same = np.ones((len(owner), len(owner))) if together else owner[:, None] == owner
        joint = np.kron(same, plda.between) + np.kron(np.eye(len(owner)), plda.within)
        d = plda.dim
        for i, c in enumerate(covariances):
            joint[i * d : (i + 1) * d, i * d : (i + 1) * d] += c
        mean = np.tile(plda.mean, len(owner))
        return multivariate_normal(mean, joint).logpdf(vectors.ravel())

    return log_density([left, right], True) - log_density([left, right], False)


FULL = np.random.default_rng(0).normal(size=(12, 4))


@pytest.mark.parametrize("rank", [None, 2, 1])
@pytest.mark.parametrize("uncertain", ["none", "enroll", "test", "both", "shared"])
def test_scores_against_joint_gaussians(rank, uncertain):
    rng = np.random.default_rng(11)
    plda = some_model(rng, rank=rank)
    sizes, test_sizes = [1, 3, 2, 3, 1], [1, 1, 2, 1, 1, 1, 4]

    def sessions(sizes, with_covariances):
        one = covariance(rng, plda.dim)
        sets = []
        for n in sizes:
            covs = np.zeros((n, plda.dim, plda.dim))
            if with_covariances:
                # one covariance for all sessions of a model, so that their average says everything
                covs[:] = one if uncertain == "shared" else covariance(rng, plda.dim)
            sets.append((3.0 * rng.normal(size=(n, plda.dim)), covs))
        return sets

    enroll = sessions(sizes, uncertain in ("enroll", "both", "shared"))
    test = sessions(test_sizes, uncertain in ("test", "both", "shared"))
    expected = np.array([[joint_llr(plda, e, t) for t in test] for e in enroll])

    def average(sets):
        vectors = np.array([v.mean(axis=0) for v, _ in sets])
        covs = np.array([c.mean(axis=0) / len(c) for _, c in sets])
        return vectors, covs if covs.any() else None

    (e, ce), (t, ct) = average(enroll), average(test)
    found = plda.scores(e, t, sizes, test_counts=test_sizes, covariances=ce, test_covariances=ct)
    assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert_allclose(plda.scores(t, e, test_sizes, test_counts=sizes, covariances=ct, test_covariances=ce),
                    expected.T, rtol=0, atol=1e-10 * np.abs(expected).max())  # fmt: skip
    if ce is None and ct is None:
        assert plda.rank == (rank or plda.dim)
        parts = list(plda.score_blocks(e, t, sizes, test_counts=test_sizes))
        assert_array_equal(np.concatenate([part for _, part in parts]), found)


def test_sessions_of_different_certainty_against_joint_gaussians():
    rng = np.random.default_rng(12)
    plda = some_model(rng, dim=4, rank=2)
    counts = [3, 1, 2]
    vectors = rng.normal(size=(6, 4)) * 3.0
    covs = np.array([covariance(rng, 4) * scale for scale in (0.1, 10, 1, 0.5, 3, 30)])
    models = np.repeat(["a", "b", "c"], counts)
    found = Embeddings(vectors, list("uvwxyz"), models, covariances=covs)
    pooled = pool_sessions(found, plda=plda)
    test = rng.normal(size=(5, 4)) * 3.0
    expected = [
        [joint_llr(plda, (vectors[models == m], covs[models == m]), (t[None], np.zeros((1, 4, 4))))
         for t in test] for m in "abc"
    ]  # fmt: skip
    assert_allclose(plda.scores(pooled, test), expected, rtol=1e-10, atol=1e-10)
    # unweighted averages know less: they give other LLRs
    assert np.abs(plda.scores(pool_sessions(found), test) - expected).max() > 0.01


def test_diagonal_uncertainty_is_exact_where_covariances_are_diagonal():
    rng = np.random.default_rng(13)
    plda = some_model(rng, dim=4)
    back = np.linalg.inv(plda.basis).T
    variances = rng.gamma(1.0, size=(30, 4))
    covs = np.einsum("dr,nr,er->nde", back, variances, back)
    x, t = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    exact, diagonal = (plda.scores(x, t, covariances=covs, uncertainty=u) for u in ("exact", "diagonal"))
    assert_allclose(diagonal, exact, rtol=1e-9, atol=1e-9)
    assert np.abs(exact - plda.scores(x, t)).max() > 0.1


def test_float32_and_out():
    rng = np.random.default_rng(15)
    plda = some_model(rng, dim=20)
    x, t = rng.normal(size=(50, 20)), rng.normal(size=(60, 20))
    exact = plda.scores(x, t)
    small = plda.scores(x.astype(np.float32), t.astype(np.float32), dtype=np.float32)
    assert small.dtype == np.float32
    assert_allclose(small, exact, atol=1e-3, rtol=1e-4)
    out = np.empty((50, 60))
    assert plda.scores(x, t, out=out) is out
    assert_array_equal(out, exact)


def simulated(rng, plda, counts):
    speakers = np.repeat(np.arange(len(counts)), counts)
    root_b, root_w = (np.linalg.cholesky(m + 1e-12 * np.eye(plda.dim)) for m in (plda.between, plda.within))
    means = plda.mean + rng.normal(size=(len(counts), plda.dim)) @ root_b.T
    return means[speakers] + rng.normal(size=(len(speakers), plda.dim)) @ root_w.T, speakers


def test_log_likelihood_against_joint_gaussians():
    rng = np.random.default_rng(17)
    plda = some_model(rng, dim=3)
    x, speakers = simulated(rng, plda, [1, 2, 4, 1])
    expected = 0.0
    for s in range(4):
        mine = x[speakers == s]
        n = len(mine)
        joint = np.kron(np.ones((n, n)), plda.between) + np.kron(np.eye(n), plda.within)
        expected += multivariate_normal(np.tile(plda.mean, n), joint).logpdf(mine.ravel())
    assert log_likelihood(plda, speaker_sums(x, speakers)) == pytest.approx(expected, rel=1e-12)


def textbook_step(plda, x, speakers):
    """The M and E steps of the two-covariance model, speaker by speaker."""
    inv_b, inv_w = np.linalg.inv(plda.between), np.linalg.inv(plda.within)
    means, covs, within = [], [], 0.0
    for s in np.unique(speakers):
        mine = x[speakers == s]
        c = np.linalg.inv(inv_b + len(mine) * inv_w)
        y = c @ (inv_b @ plda.mean + inv_w @ mine.sum(axis=0))
        within = within + (mine - y).T @ (mine - y) + len(mine) * c
        means.append(y)
        covs.append(c)
    mean = np.mean(means, axis=0)
    between = np.mean(covs, axis=0) + np.cov(np.array(means).T, bias=True)
    return PLDA(mean, between, within / len(x))


@pytest.mark.parametrize("rank", [None, 3, 1])
def test_training_never_lowers_the_likelihood(rank):
    rng = np.random.default_rng(18)
    x, speakers = simulated(rng, some_model(rng, dim=6, rank=3), rng.integers(1, 7, 80))
    model, history = train_plda(x, speakers, iterations=40, rank=rank)
    assert history.shape == (41,)
    assert (np.diff(history) >= -1e-9 * np.abs(history[0])).all()
    assert history[-1] > history[0] + 0.1
    assert model.rank <= (rank or 6)
    assert log_likelihood(model, speaker_sums(x, speakers)) == history[-1]


def test_optimum_is_that_of_the_textbook_updates():
    rng = np.random.default_rng(19)
    truth = PLDA(rng.normal(size=4), covariance(rng, 4) + np.eye(4), covariance(rng, 4))
    x, speakers = simulated(rng, truth, rng.integers(1, 7, 200))
    model, history = train_plda(x, speakers, iterations=300)
    assert history[-1] - history[-2] < 1e-8
    next_model = textbook_step(model, x, speakers)
    for name in ("mean", "between", "within"):
        assert_allclose(getattr(next_model, name), getattr(model, name), rtol=1e-4, atol=1e-4)
    # and the textbook updates from the same start come nearer and nearer to it from below
    slow, found = moment_estimate(x, speakers), []
    for _ in range(10):
        slow = textbook_step(slow, x, speakers)
        found.append(log_likelihood(slow, speaker_sums(x, speakers)))
    assert (np.diff(found) >= -1e-9).all()
    assert found[0] < found[-1] <= history[-1] + 1e-9


@pytest.mark.parametrize("iterations", [0, 20])
def test_parameters_are_recovered(iterations):
    rng = np.random.default_rng(20)
    truth = some_model(rng, dim=3)
    x, speakers = simulated(rng, truth, rng.integers(2, 8, 4000))
    model = train_plda(x, speakers, iterations=iterations).model
    # sampling error of a covariance of 4,000 speakers: sqrt((c_ii c_jj + c_ij^2) / 4000)
    for name, n, matrix in (("between", 4000, truth.between), ("within", 14000, truth.within)):
        diagonal = np.diag(matrix + truth.within / 2)
        sd = np.sqrt((np.outer(diagonal, diagonal) + matrix**2) / n)
        assert (np.abs(getattr(model, name) - matrix) < 4 * sd).all()
    sums = speaker_sums(x, speakers)
    if iterations:
        assert log_likelihood(model, sums) > log_likelihood(truth, sums)


def test_moment_estimate_against_analysis_of_variance():
    # two speakers of two sessions: within (1+1+1+1)/(4-2) = 2, S_b = 4 * 9 = 36, between (36/1 - 2)/2 = 17
    model = moment_estimate([[0.0], [2.0], [6.0], [8.0]], ["a", "a", "b", "b"])
    assert (model.mean[0], model.within[0, 0], model.between[0, 0]) == (4.0, 2.0, pytest.approx(17.0))
    start, history = train_plda([[0.0], [2.0], [6.0], [8.0]], ["a", "a", "b", "b"], iterations=0)
    assert_array_equal(start.between, model.between)
    assert len(history) == 1


@pytest.mark.slow
def test_scores_of_matched_data_are_calibrated():
    rng = np.random.default_rng(21)
    ratios = np.concatenate([np.full(4, 1.0), np.full(6, 0.3)])
    plda = PLDA(np.zeros(10), np.diag(ratios), np.eye(10))
    n = 1200
    x, _ = simulated(rng, plda, np.full(n, 2))
    llrs = plda.scores(x[::2], x[1::2])
    scores = lk.Scores(np.diag(llrs), llrs[~np.eye(n, dtype=bool)])
    pair = plda.pair()
    # the target LLRs are independent; their mean and variance within four standard errors of theory
    target = scores.target
    assert abs(target.mean() - pair.target.mean()) < 4 * pair.target.std() / np.sqrt(n)
    fourth = pair.target.cumulant(4) + 3 * pair.target.var() ** 2
    assert abs(target.var() - pair.target.var()) < 4 * np.sqrt((fourth - pair.target.var() ** 2) / n)
    assert lk.cllr(scores) == pytest.approx(pair.cllr, abs=0.03)
    assert lk.eer(scores) == pytest.approx(pair.eer, abs=0.012)
    assert np.var(scores.nontarget) == pytest.approx(pair.nontarget.var(), rel=0.1)
    # both distributions are those of theory; non-targets of disjoint pairs of speakers are independent
    assert kstest(target, pair.target.cdf).pvalue > 1e-3
    assert kstest(llrs[np.arange(0, n, 2), np.arange(1, n, 2)], pair.nontarget.cdf).pvalue > 1e-3
    # one with other ratios would be noticed
    wrong = PLDA(np.zeros(10), 1.3 * np.diag(ratios), np.eye(10)).pair()
    assert kstest(target, wrong.target.cdf).pvalue < 1e-4
    # the LLR of the LLR is the LLR
    fitted = lk.fit_logistic(scores)
    assert fitted.a == pytest.approx(1.0, abs=0.1)
    assert fitted.b == pytest.approx(0.0, abs=0.1)
    assert lk.cllr_cal(scores) < 0.02


def test_expected_pair_of_several_sessions_against_simulation():
    rng = np.random.default_rng(22)
    plda = PLDA([0.0, 0.0], np.diag([1.0, 0.5]), np.eye(2))
    n = 4000
    x, _ = simulated(rng, plda, np.full(n, 4))
    enroll = x.reshape(n, 4, 2)[:, :3].mean(axis=1)
    parts = np.split(np.arange(n), 40)  # the diagonals of blocks
    own = [np.diag(plda.scores(enroll[i], x[4 * i + 3], np.full(len(i), 3))) for i in parts]
    own = np.concatenate(own)
    pair = plda.pair(sessions=3)
    assert abs(own.mean() - pair.target.mean()) < 4 * pair.target.std() / np.sqrt(n)
    assert abs(own.var() / pair.target.var() - 1.0) < 0.2
    assert pair.eer < plda.pair().eer


def test_saved_model_is_the_same(tmp_path):
    plda = some_model(np.random.default_rng(23))
    plda.save(tmp_path / "plda.npz")
    again = PLDA.load(tmp_path / "plda.npz")
    for name in ("mean", "between", "within"):
        assert_array_equal(getattr(again, name), getattr(plda, name))
        assert not getattr(again, name).flags.writeable
    np.savez(tmp_path / "other.npz", mean=[1.0])
    with pytest.raises(lk.errors.FileFormatError, match=r"other\.npz: "):
        PLDA.load(tmp_path / "other.npz")


@pytest.mark.parametrize("change", [
    {"within": np.diag([1.0, 0.0])},
    {"between": np.diag([1.0, -1.0])},
    {"between": [[1.0, 2.0], [0.0, 1.0]]},
    {"within": np.full((2, 2), np.nan)},
])  # fmt: skip
def test_models_that_cannot_be(change):
    with pytest.raises(lk.InputError):
        PLDA(**{"mean": [0.0, 0.0], "between": np.eye(2), "within": np.eye(2), **change})


TWO = np.ones((2, 2))


@pytest.mark.parametrize("call", [
    lambda p: p.scores(np.ones((2, 3)), TWO),
    lambda p: p.scores(TWO, [[1.0, np.nan]]),
    lambda p: p.scores(TWO, TWO, [1, 0]),
    lambda p: p.scores(TWO, TWO, covariances=np.eye(2)),
    lambda p: p.scores(TWO, TWO, covariances=[np.eye(2), -9.0 * np.eye(2)]),
    lambda p: train_plda(np.ones((3, 2)), ["a", "b", "c"]),
    lambda p: train_plda(np.ones((3, 2)), ["a", "a", "a"]),
    lambda p: train_plda(np.ones((4, 2)), list("aabb")),  # singular
    lambda p: train_plda([[1.0, np.inf]] * 4, list("aabb")),
    lambda p: train_plda(FULL, list("aaaaaabbbbbb"), start=p),
    lambda p: train_plda(Embeddings(np.eye(2), ["a", "b"])),
])  # fmt: skip
def test_bad_input_is_refused(call):
    with pytest.raises(lk.LlrkitError):
        call(PLDA([0.0, 0.0], np.eye(2), np.eye(2)))
