"""Kaldi's PLDA and transforms: bytes as its writers put them, scores as its formulas say."""

import struct

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import llrkit as lk
from llrkit.cli import cli
from llrkit.speech import kaldi_backend, read_kaldi_plda, read_kaldi_transform

DIM = 3


def binary(array):
    """WriteToken and Matrix::Write of Kaldi: kind, sizes behind a byte 4, numbers."""
    kind = {("f", 1): b"FV ", ("d", 1): b"DV ", ("f", 2): b"FM ", ("d", 2): b"DM "}[
        array.dtype.char, array.ndim
    ]
    return kind + b"".join(b"\4" + struct.pack("<i", n) for n in array.shape) + array.tobytes()


def text(array):
    if array.ndim == 1:
        return " [ " + " ".join(map(repr, array.tolist())) + " ]\n"
    return " [\n" + "\n".join("  " + " ".join(map(repr, row)) for row in array.tolist()) + " ]\n"


@pytest.fixture(params=["binary", "text"])
def recipe(request, tmp_path):
    """The files of a recipe, and what is in them."""
    rng = np.random.default_rng(1)
    mean, psi = rng.normal(size=DIM), np.array([4.0, 1.0, 0.3])
    transform, matrix = rng.normal(size=(DIM, DIM)), rng.normal(size=(DIM, 5)).astype(np.float32)
    center = rng.normal(size=5).astype(np.float32)
    arrays = (mean, transform, psi)
    if request.param == "binary":
        parts = b"".join(binary(array) for array in arrays)
        (tmp_path / "plda").write_bytes(b"\0B<Plda> " + parts + b"</Plda> ")
        (tmp_path / "transform.mat").write_bytes(b"\0B" + binary(matrix))
        (tmp_path / "mean.vec").write_bytes(b"\0B" + binary(center))
    else:
        (tmp_path / "plda").write_text("<Plda> " + "".join(map(text, arrays)) + "</Plda> ")
        (tmp_path / "transform.mat").write_text(text(matrix))
        (tmp_path / "mean.vec").write_text(text(center))
    return tmp_path, mean, transform, psi, matrix.astype(float), center.astype(float)


def test_plda_against_kaldis_own_formula(recipe):
    """Plda::LogLikelihoodRatio: in transformed coordinates, of a model of n sessions and a test."""
    folder, mean, transform, psi, *_ = recipe
    plda = read_kaldi_plda(folder / "plda")
    rng = np.random.default_rng(2)
    enroll, test = rng.normal(size=(4, DIM)), rng.normal(size=(5, DIM))
    for n in (1, 3):
        found = plda.scores(enroll, test, np.full(4, n))
        for i, x in enumerate((enroll - mean) @ transform.T):
            for j, y in enumerate((test - mean) @ transform.T):
                own_mean, own_variance = n * psi / (n * psi + 1.0) * x, 1.0 + psi / (n * psi + 1.0)
                given = multivariate_normal(own_mean, np.diag(own_variance)).logpdf(y)
                expected = given - multivariate_normal(np.zeros(DIM), np.diag(1.0 + psi)).logpdf(y)
                assert_allclose(found[i, j], expected, rtol=1e-9, atol=1e-9)


def test_the_whole_recipe_from_the_command_line(recipe):
    folder, mean, transform, psi, matrix, center = recipe
    arguments = ["speech", "import-kaldi", folder / "plda", "--mean", folder / "mean.vec", "--transform",
                 folder / "transform.mat", "-o", folder / "model.npz"]  # fmt: skip
    result = CliRunner().invoke(cli, list(map(str, arguments)))
    assert result.exit_code == 0, result.exception
    recognizer = lk.speech.Recognizer.load(folder / "model.npz")
    rng = np.random.default_rng(3)
    sides = [lk.speech.Embeddings(rng.normal(size=(2, 5)), [f"{n}0", f"{n}1"], ["a", "b"]) for n in "et"]
    found = recognizer.scores(recognizer.enroll(sides[0], each=True), recognizer.prepare(sides[1]))

    def transformed(x):
        y = matrix @ (x - center)
        y *= np.sqrt(DIM) / np.linalg.norm(y)  # ivector-normalize-length
        u = transform @ (y - mean)
        return u * np.sqrt(DIM / np.sum(u * u / (psi + 1.0)))  # Plda::GetNormalizationFactor

    for i in range(2):
        for j in range(2):
            x, y = transformed(sides[0].vectors[i]), transformed(sides[1].vectors[j])
            given = multivariate_normal(psi / (psi + 1.0) * x, np.diag(1.0 + psi / (psi + 1.0))).logpdf(y)
            expected = given - multivariate_normal(np.zeros(DIM), np.diag(1.0 + psi)).logpdf(y)
            assert_allclose(found[i, j], expected, rtol=1e-8)


def test_an_offset_in_the_last_column(tmp_path):
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(2, 4))
    (tmp_path / "t.mat").write_text(text(matrix))
    (tmp_path / "m.vec").write_text(text(np.zeros(3)))
    (tmp_path / "plda").write_text("<Plda>  [ 0 0 ]\n [\n  1 0\n  0 1 ]\n [ 3 1 ]\n</Plda> ")
    options = {"mean": tmp_path / "m.vec", "transform": tmp_path / "t.mat"}
    backend = kaldi_backend(tmp_path / "plda", **options, normalize_length=False)
    x = rng.normal(size=(6, 3))
    assert_allclose(backend.chain(x), x @ matrix[:, :3].T + matrix[:, 3], atol=1e-12)


@pytest.mark.parametrize("content", [
    b"<Plda>  [ 1 2 ]\n [\n 1 0\n 0 1 ]\n [ 3 ]\n</Plda>",  # psi of another length
    b"<Plda>  [ 1 2 ]\n [\n 1 0\n 0 0 ]\n [ 3 1 ]\n</Plda>",  # singular
    b"<Plda>  [ 1 nan ]\n [\n 1 0\n 0 1 ]\n [ 3 1 ]\n</Plda>",
    b"<Plda>  [ 1 2",
    b"\0B<Plda> DV \4\xff\xff\xff\x7f",  # announces more numbers than there are
    b"\0B<Plda> PKLxxx",
    b"<Nnet3> ",
    b"",
])  # fmt: skip
def test_broken_models_are_refused(tmp_path, content):
    (tmp_path / "plda").write_bytes(content)
    with pytest.raises(lk.LlrkitError, match="plda: "):
        read_kaldi_plda(tmp_path / "plda")


def test_a_matrix_is_no_mean(tmp_path):
    (tmp_path / "m").write_text(" [\n 1 2\n 3 4 ]\n")
    (tmp_path / "plda").write_text("<Plda>  [ 0 0 ]\n [\n  1 0\n  0 1 ]\n [ 3 1 ]\n</Plda> ")
    with pytest.raises(lk.InputError):
        kaldi_backend(tmp_path / "plda", mean=tmp_path / "m")
    assert read_kaldi_transform(tmp_path / "m").matrix.shape == (2, 2)
