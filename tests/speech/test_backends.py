"""Cosine, support vector machines, whole back-ends, and the way from a matrix of scores to trials."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.speech import (
    PLDA,
    Backend,
    Embeddings,
    LinearModels,
    cosine_scores,
    listed_scores,
    listed_trials,
    matrix_scores,
    matrix_trials,
    pool_sessions,
    train_backend,
    train_plda,
    train_svm,
    trial_masks,
    write_matrix,
)


def corpus(seed=1, k=30, n=4, dim=6, name="s", spread=1.5):
    rng = np.random.default_rng(seed)
    speakers = np.repeat(np.arange(k), n)
    x = 1.0 + spread * rng.normal(size=(k, dim))[speakers] + rng.normal(size=(k * n, dim))
    ids = [f"{name}{s}-{i % n}" for i, s in enumerate(speakers)]
    sex = np.where(speakers % 2, "f", "m")
    return Embeddings(x, ids, [f"{name}{s}" for s in speakers], {"sex": sex, "session": np.arange(k * n) % n})


def test_cosine_against_scipy(monkeypatch):
    from scipy.spatial.distance import cdist

    monkeypatch.setenv("LLRKIT_AT_ONCE", str(8 * 120 * 7))
    found = corpus()
    expected = 1.0 - cdist(found.vectors, found.vectors, "cosine")
    assert_allclose(cosine_scores(found, found), expected, atol=1e-12)
    small = cosine_scores(found, found, dtype=np.float32)
    assert small.dtype == np.float32
    assert_allclose(small, expected, atol=1e-6)
    out = np.empty((120, 120))
    assert cosine_scores(found, found, out=out) is out
    assert_array_equal(out, cosine_scores(found, found))


def test_bad_input_is_refused():
    e = corpus()
    for call in (
        lambda: cosine_scores(e, np.ones((2, 3))),
        lambda: cosine_scores(e.replace(vectors=0 * e.vectors), e),
        lambda: cosine_scores(e, e, out=np.ones((2, 2))),
        lambda: cosine_scores(e, e, dtype=np.int32),
        lambda: train_backend(e, scorer="svm"),
    ):
        with pytest.raises(lk.LlrkitError):
            call()


def test_svm_separates_and_saves(tmp_path, need):
    need("sklearn")
    background, people = corpus(seed=2, k=30, name="bg"), corpus(seed=3, k=8)
    enroll, test = people.where(session=[0, 1, 2]), people.where(session=3)
    models = train_svm(enroll, background, enroll.speakers)
    assert models.ids.tolist() == list(dict.fromkeys(people.speakers))
    found = models.scores(test)
    pooled = pool_sessions(enroll)
    assert lk.eer(matrix_scores(found, pooled, test)) < 0.15
    # the machine's own decision: its sessions above zero, most impostors below
    own = models.scores(enroll)[models.ids[:, None] == enroll.speakers]
    assert (own > 0).mean() > 0.9
    assert (models.scores(background) < 0).mean() > 0.8
    models.save(tmp_path / "svm.npz")
    assert_array_equal(LinearModels.load(tmp_path / "svm.npz").scores(test), found)
    assert_array_equal(train_svm(enroll, background, enroll.speakers).scores(test), found)
    each = train_svm(enroll, background)
    assert each.ids.tolist() == enroll.ids.tolist()
    assert models.scores(test, dtype=np.float32).dtype == np.float32


def test_svm_against_the_optimum_of_its_objective(need):
    need("sklearn")
    from scipy.optimize import minimize

    background, people = corpus(seed=2, k=15, dim=2, name="bg"), corpus(seed=3, k=1, dim=2)
    model = train_svm(people, background, people.speakers, cost=0.3)
    x = np.concatenate([people.vectors, background.vectors])
    sign = np.repeat([1.0, -1.0], [len(people), len(background)])
    weight = 0.3 * len(x) / 2 / np.repeat([len(people), len(background)], [len(people), len(background)])

    def objective(w):  # the offset is penalized too, as a weight of a constant dimension
        margin = np.maximum(0.0, 1.0 - sign * (x @ w[:2] + w[2]))
        return 0.5 * w @ w + weight @ margin**2

    best = minimize(objective, np.zeros(3), tol=1e-12)
    assert_allclose([*model.weights[0], model.offsets[0]], best.x, atol=2e-3)


def test_svm_refuses(need):
    need("sklearn")
    people, others = corpus(k=3), corpus(seed=5, name="bg")
    renamed = people.replace(ids=[f"x{i}" for i in range(len(people))])
    for background, cost in ((people, 1.0), (renamed, 1.0), (np.ones((5, 2)), 1.0), (others, 0.0)):
        with pytest.raises(lk.LlrkitError):
            train_svm(people, background, cost=cost)


@pytest.mark.parametrize("scorer", ["plda", "cosine"])
def test_backend_is_its_parts_and_saves(tmp_path, scorer):
    background, people = corpus(seed=2, k=60, name="bg"), corpus(seed=3, k=10)
    backend = train_backend(background, ["center", "lda:4", "length"], scorer=scorer, iterations=5)
    enroll, test = people.where(session=[0, 1, 2]), people.where(session=3)
    models, ready = backend.enroll(enroll), backend.prepare(test)
    found = backend.scores(models, ready)
    moved = backend.chain(background)
    if scorer == "plda":
        plda = train_plda(moved, iterations=5).model
        assert_allclose(found, plda.scores(models.vectors, ready.vectors, np.full(10, 3)), rtol=1e-9)
    else:
        assert_array_equal(found, cosine_scores(models, ready))
    backend.save(tmp_path / "backend.npz")
    again = Backend.load(tmp_path / "backend.npz")
    assert again.scorer == scorer
    cohort = again.prepare(background)
    for normalize in ("none", "s", "as2"):
        options = {"normalize": normalize, "cohort": cohort, "top": 20 if normalize == "as2" else None}
        assert_array_equal(again.scores(models, ready, **options), backend.scores(models, ready, **options))
    assert backend.scores(models, ready, dtype=np.float32).dtype == np.float32


def test_broken_model_files_are_named(tmp_path):
    file, eye = tmp_path / "model.npz", np.eye(2)
    for schema, load, arrays in (
        ("plda", PLDA.load, {"mean": [0.0, 0.0], "between": eye}),
        ("plda", PLDA.load, {"mean": [0.0], "between": eye, "within": eye}),
        ("plda", PLDA.load, {"mean": ["x"], "between": eye, "within": eye}),
        ("backend", Backend.load, {"plda.mean": [0.0], "kinds": np.array([], dtype=str)}),
        ("backend", Backend.load, {"kinds": ["affine"], "step0.mean": [np.nan], "step0.name": "x"}),
        ("backend", Backend.load, {"kinds": ["length"], "step0.length": "x"}),
        ("svm", LinearModels.load, {"ids": ["a"], "weights": eye, "offsets": [0.0]}),
    ):
        np.savez(file, schema=f"llrkit.{schema}/1", **arrays)
        with pytest.raises(lk.errors.FileFormatError, match=r"model\.npz: "):
            load(file)


def test_trials_of_a_matrix(tmp_path):
    people = corpus(k=4, n=2)
    enroll, test = people.where(session=0), people
    matrix = cosine_scores(enroll, test)
    trials = matrix_trials(matrix, enroll, test, same=["sex"], columns=["session"])
    # by brute force over all pairs
    expected = [
        (e, t, float(matrix[i, j]), enroll.speakers[i] == people.speakers[j])
        for i, e in enumerate(enroll.ids) for j, t in enumerate(people.ids)
        if e != t and enroll.columns["sex"][i] == people.columns["sex"][j]
    ]  # fmt: skip
    assert trials.table.select("enroll", "test", "score", "label").rows() == expected
    assert trials.table["test_session"].to_list() == [int(t[-1]) for _, t, _, _ in expected]
    direct = matrix_scores(matrix, enroll, test, same=["sex"])
    assert_array_equal(np.sort(direct.target), np.sort(trials.scores().target))
    assert lk.eer(direct) == lk.eer(trials)
    codes = direct.columns["enroll_speaker"][0]
    assert [direct.categories["enroll_speaker"][c] for c in codes] == [
        e[:2] for e, _, _, own in expected if own
    ]
    for name in ("t.csv", "t.parquet", "t.kaldi", "t.nist"):
        key = tmp_path / "key" if name.endswith(("kaldi", "nist")) else None
        lk.write_trials(trials, tmp_path / name, key=key)
        again = lk.read_trials(tmp_path / name, key=key)
        assert_allclose(np.sort(again.scores().nontarget), np.sort(direct.nontarget), rtol=1e-12)
    write_matrix(matrix, enroll, test, tmp_path / "all.csv")
    with pytest.warns(lk.errors.LeftOutWarning):
        kept = lk.read_trials(tmp_path / "all.csv", label=None, key=tmp_path / "key", missing="drop")
    assert kept.scores().n_target


def test_listed_trials_from_a_matrix_and_from_blocks(monkeypatch):
    people = corpus(k=4, n=2)
    plda = train_plda(corpus(seed=2, k=60, name="bg")).model
    rng = np.random.default_rng(4)
    e, t = rng.integers(0, 8, 50), rng.integers(0, 8, 50)
    matrix = plda.scores(people, people)
    monkeypatch.setenv("LLRKIT_AT_ONCE", str(8 * 8 * 3))
    blocks = plda.score_blocks(people, people)
    found = listed_trials(blocks, people, people, people.ids[e], people.ids[t])
    assert_allclose(found.score_array, matrix[e, t], rtol=1e-12)
    assert_array_equal(found.is_target, people.speakers[e] == people.speakers[t])
    given = listed_trials(
        matrix, people, people, people.ids[:2], people.ids[:2], labels=["target", "nontarget"]
    )
    assert given.is_target.tolist() == [True, False]


def test_trials_that_cannot_be():
    people = corpus(k=2, n=2)
    matrix = cosine_scores(people, people)
    for call in (
        lambda: matrix_trials(matrix[:2], people, people),
        lambda: trial_masks(people.replace(speakers=None), people),
        lambda: trial_masks(people, people, same=["age"]),
        lambda: listed_scores(matrix, people, people, ["nobody"], ["s0-0"]),
        lambda: listed_scores(matrix, people, people, ["s0-0"], []),
        lambda: matrix_scores(matrix[:1, :1], people.select([0]), people.select([0])),
    ):
        with pytest.raises(lk.LlrkitError):
            call()
