"""Steps before scoring: what they make of the data, against definitions and SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.speech import (
    Affine,
    Chain,
    Embeddings,
    LengthNorm,
    train_centering,
    train_chain,
    train_lda,
    train_wccn,
    train_whitening,
)


def background(seed=1, k=40, n=6, dim=5):
    rng = np.random.default_rng(seed)
    speakers = np.repeat(np.arange(k), n)
    mixing = rng.normal(size=(dim, dim))
    x = (
        3.0
        + rng.normal(size=(k, dim))[speakers] * np.arange(1, dim + 1)
        + rng.normal(size=(k * n, dim)) @ mixing
    )
    return Embeddings(x, [f"u{i}" for i in range(k * n)], speakers)


def within_of(vectors, speakers):
    """Pooled covariance within speakers, speaker by speaker."""
    parts = [vectors[speakers == s] for s in np.unique(speakers)]
    return sum((p - p.mean(axis=0)).T @ (p - p.mean(axis=0)) for p in parts) / (len(vectors) - len(parts))


def test_centering_and_whitening_against_their_definition():
    found = background()
    assert_allclose(train_centering(found)(found).vectors.mean(axis=0), 0.0, atol=1e-12)
    white = train_whitening(found)(found).vectors
    assert_allclose(np.cov(white.T, bias=True), np.eye(5), atol=1e-10)
    fewer = train_whitening(found, dim=2)(found).vectors
    assert_allclose(np.cov(fewer.T, bias=True), np.eye(2), atol=1e-10)
    # the two directions of largest variance are kept
    assert_allclose(fewer, white[:, :2], rtol=1e-12)


def test_wccn_against_its_definition():
    found = background()
    moved = train_wccn(found)(found).vectors
    assert_allclose(within_of(moved, found.speakers), np.eye(5), atol=1e-10)
    assert_allclose(moved.mean(axis=0), 0.0, atol=1e-10)


def test_lda_maximizes_the_ratio_of_variances():
    found = background()
    lda = train_lda(found, dim=2)
    moved = lda(found).vectors
    assert_allclose(within_of(moved, found.speakers), np.eye(2), atol=1e-10)

    def ratio(directions):
        y = found.vectors @ directions
        means = np.array([y[found.speakers == s].mean(axis=0) for s in np.unique(found.speakers)])
        return np.trace(np.linalg.solve(within_of(y, found.speakers), np.cov(means.T, bias=True)))

    best = ratio(lda.matrix)
    rng = np.random.default_rng(2)
    assert all(ratio(lda.matrix + 0.05 * rng.normal(size=(5, 2))) < best for _ in range(50))


def test_lda_against_scikit_learn(need):
    need("sklearn")
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    found = background()
    theirs = LinearDiscriminantAnalysis(solver="eigen", n_components=3).fit(found.vectors, found.speakers)
    ours, other = train_lda(found, dim=3)(found).vectors, theirs.transform(found.vectors)
    for i in range(3):
        assert abs(np.corrcoef(ours[:, i], other[:, i])[0, 1]) == pytest.approx(1.0, abs=1e-9)


def test_shrinkage_makes_flat_directions_usable():
    found = background()
    flat = found.replace(vectors=np.column_stack([found.vectors, np.zeros(len(found))]))
    for train in (train_whitening, train_wccn, train_lda):
        with pytest.warns(lk.errors.SpeechWarning):
            assert np.isfinite(train(flat)(flat).vectors).all()
        assert np.isfinite(train(flat, shrinkage=1e-3)(flat).vectors).all()
    with pytest.warns(lk.errors.SpeechWarning):
        assert_allclose(train_whitening(flat)(flat).vectors, train_whitening(flat, dim=5)(flat).vectors)
    with pytest.raises(lk.InputError):
        train_whitening(flat, dim=6)


@pytest.mark.parametrize(("length", "size"), [("unit", 1.0), ("sqrt-dim", np.sqrt(5.0))])
def test_length_normalization(length, size):
    found = background()
    moved = LengthNorm(length)(found)
    assert_allclose(np.linalg.norm(moved.vectors, axis=1), size, rtol=1e-12)
    assert LengthNorm(length)(found.vectors.astype(np.float32)).dtype in (np.float32, np.float64)


@pytest.mark.parametrize("step", ["affine", "length", "chain"])
def test_covariances_follow_the_vectors_against_simulation(step):
    """The covariance of transformed draws around a vector is what the step makes of its covariance."""
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(3, 2))
    steps = {"affine": Affine([1.0, 2.0, 3.0], matrix), "length": LengthNorm()}
    steps["chain"] = Chain((steps["length"], Affine([0.0, 0.0, 0.0], matrix), LengthNorm("sqrt-dim")))
    center, root = np.array([[4.0, -3.0, 5.0]]), 0.02 * rng.normal(size=(3, 3))
    moved = steps[step](Embeddings(center, ["a"], covariances=[root @ root.T]))
    draws = steps[step](center + rng.normal(size=(40_000, 3)) @ root.T)
    assert_allclose(np.cov(draws.T), moved.covariances[0], atol=0.03 * np.trace(moved.covariances[0]))
    assert_allclose(moved.vectors, steps[step](center), rtol=1e-12)


def test_chain_trains_each_step_on_what_the_ones_before_it_made():
    found = background()
    chain = train_chain(found, ["center", "length", "lda:3", lambda e: train_wccn(e), LengthNorm("sqrt-dim")])
    by_hand = found
    for train in (train_centering, lambda e: LengthNorm(), lambda e: train_lda(e, dim=3), train_wccn):
        by_hand = train(by_hand)(by_hand)
    by_hand = LengthNorm("sqrt-dim")(by_hand)
    assert_allclose(chain(found).vectors, by_hand.vectors, rtol=1e-12)
    assert_array_equal(chain(found.vectors), chain(found).vectors)


def test_saved_chain_is_the_same(tmp_path):
    found = background()
    for steps in ([], ["center"], ["whiten:3", "length", "lda:2", "wccn"]):
        chain = train_chain(found, steps)
        chain.save(tmp_path / "chain.npz")
        again = Chain.load(tmp_path / "chain.npz")
        assert repr(again) == repr(chain)
        assert_array_equal(again(found).vectors, chain(found).vectors)


@pytest.mark.parametrize("call", [
    lambda e: train_chain(e, ["pca"]),
    lambda e: train_chain(e, ["length:3"]),
    lambda e: train_chain(e, ["lda:x"]),
    lambda e: train_chain(e, ["lda:9"]),
    lambda e: train_lda(e.select(np.arange(12)), dim=2),
    lambda e: train_whitening(e, dim=9),
    lambda e: train_whitening(e, shrinkage=-1),
    lambda e: train_lda(e, shrinkage=np.nan),
    lambda e: train_lda(e.vectors),
    lambda e: train_wccn(e.replace(speakers=e.ids)),
    lambda e: LengthNorm("half"),
    lambda e: LengthNorm()(e.replace(vectors=e.vectors * (e.ids != "u3")[:, None])),
    lambda e: LengthNorm()(np.zeros((1, 2))),
    lambda e: train_centering(e)(np.ones((1, 4))),
    lambda e: Affine([1.0], np.eye(2)),
    lambda e: Affine([np.nan]),
])  # fmt: skip
def test_bad_input_is_refused(call):
    with pytest.raises(lk.LlrkitError):
        call(background())


def test_broken_chain_files(tmp_path):
    file = tmp_path / "chain.npz"
    for arrays in (
        {"schema": "llrkit.chain/1", "kinds": ["warp"]},
        {"schema": "llrkit.chain/1", "kinds": ["affine"]},
        {"schema": "llrkit.chain/1"},
        {"schema": "llrkit.plda/1"},
    ):
        np.savez(file, **arrays)
        with pytest.raises(lk.errors.FileFormatError, match=r"chain\.npz: "):
            Chain.load(file)
