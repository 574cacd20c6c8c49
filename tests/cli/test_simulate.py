"""``llrkit simulate``: every kind, every format, partitions, and what is refused."""

import json

import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.cli import cli
from llrkit.io.write import write_partitions
from llrkit.theory import GammaLLR, GaussianLLR

KINDS = ["gaussian", "mixture", "gamma", "unequal", "durations"]


def run(*arguments):
    done = CliRunner().invoke(cli, ["simulate", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written_and_described(kind, tmp_path):
    out = tmp_path / "t.parquet"
    found = json.loads(
        run(
            "scores",
            "--model",
            kind,
            "--targets",
            60,
            "--nontargets",
            700,
            "--seed",
            3,
            "--json",
            "-",
            "-o",
            out,
        ).stdout
    )
    assert found["schema"] == "llrkit.simulate.scores/1"
    assert (found["kind"], found["n_target"], found["n_nontarget"]) == (kind, 60, 700)
    trials = lk.read_trials(out)
    assert (trials.scores().n_target, trials.scores().n_nontarget) == (60, 700)
    assert {"enroll", "test", "enroll_speaker", "test_speaker", "gender"} < set(trials.columns)


def test_the_population_is_that_of_theory(tmp_path):
    found = json.loads(
        run("scores", "--model", "gamma", "--shape", 0.3, "--json", "-", "-o", tmp_path / "t.csv").stdout
    )
    # printed in the theory digest for shape 0.3
    assert_allclose([found["population"]["eer"], found["population"]["cllr"]], [0.217416, 0.6417], atol=1e-6)
    scaled = json.loads(run("scores", "--scale", 2, "--json", "-", "-o", tmp_path / "u.csv").stdout)
    assert list(scaled["population"]) == ["eer"]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "tsv", "kaldi", "nist", "h5"])
def test_every_output_format_reads_back_as_the_library_made_it(ending, tmp_path, need):
    if ending == "h5":
        need("h5py")
    out, key = tmp_path / f"t.{ending}", tmp_path / f"key.{ending}"
    has_key = ending in ("kaldi", "nist", "h5")
    run("scores", "--targets", 40, "--nontargets", 500, "--seed", 6, "-o", out,
        *(("--key-output", key) if has_key else ()))  # fmt: skip
    made = lk.simulate.simulate_trials(GaussianLLR.from_eer(0.05), n_target=40, n_nontarget=500, rng=6)
    trials = lk.read_trials(out, key if has_key else None)
    assert_allclose(lk.evaluate(trials).cllr, lk.evaluate(made).cllr, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [None, "score,label", "gender,test"])
def test_a_folder_gets_the_same_trials_in_parts(columns, tmp_path):
    out = f"{tmp_path}/parts/"
    run("scores", "--model", "gamma", "--trials", "1100000", "--target-share", "5%", "--seed", 1, "-o", out,
        *(("--columns", columns) if columns else ()))  # fmt: skip
    made = lk.simulate.simulate_trials(GammaLLR(0.3), n_target=55_000, n_nontarget=1_045_000, rng=1)
    names = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert names == [f"part-{i}.parquet" for i in range(2)]
    table = pl.concat(pl.read_parquet(tmp_path / "parts" / name) for name in names)
    assert_array_equal(table["score"].to_numpy(), made.trials().table["score"].to_numpy())
    wanted = [*made.columns, "score", "label"] if columns is None else columns.split(",")
    assert set(table.columns) == {*wanted, "score", "label"}
    assert table.equals(made.trials().table.select(table.columns))
    assert_allclose(lk.cllr(lk.scan_trials(out)), lk.cllr(made), rtol=1e-12)


def test_a_failure_leaves_nothing_behind(tmp_path):
    def make(number):
        if number == 2:
            raise RuntimeError("the disk is full")
        return lk.Scores([1.0], [0.0])

    with pytest.raises(RuntimeError, match="disk is full"):
        write_partitions(make, 4, tmp_path / "parts")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_partitions(make, 1, tmp_path / "no" / "parts")


WRONG = """
scores --model gaussian --eer 60%
scores --model gaussian --targets 1.5
scores --model gaussian --trials 100 --targets 5
scores --model gaussian --trials 100 --target-share 1
scores --model gaussian --columns score
scores --model gaussian --seed -1
scores --model mixture --weights 0.5,0.6 --mu 1,2
scores --model gamma --shape 0
scores --model gamma --eer 3%
scores --model unequal --sd-target -1
scores --model durations --eer-full 30%
plda --speakers 3
embeddings
frames
""".strip().splitlines()


def test_wrong_use_is_refused_and_leaves_nothing(tmp_path):
    for typed in WRONG:
        with pytest.raises(lk.LlrkitError):
            run(*typed.split(), "-o", tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").write_text("keep")
    with pytest.raises(lk.InputError):
        run("scores", "-o", tmp_path / "there")
    assert (tmp_path / "there" / "mine.txt").read_text() == "keep"


@pytest.mark.slow
def test_plda_trials_are_exact_llrs_unless_asked_otherwise(tmp_path):
    size = ("--speakers", 20, "--models", 40, "--tests", 60, "--dim", 60, "--json", "-")
    found = json.loads(run("plda", *size, "-o", tmp_path / "t.parquet").stdout)
    assert (found["n_target"], found["n_nontarget"]) == (120, 1_080)
    assert_allclose(found["population"]["eer"], 0.029, atol=1e-6)
    assert len(lk.read_trials(tmp_path / "t.parquet")) == 1_200
    shifted = json.loads(
        run("plda", *size, "--durations", "5,100", "--shift", 1, "-o", tmp_path / "u.csv").stdout
    )
    assert shifted["population"] == {}
    assert shifted["n_target"] == 480


def test_embeddings_and_frames_are_read_by_the_recognizer(tmp_path, need):
    from llrkit.speech import read_embeddings, read_frames

    size = ("--background", 10, "--speakers", 4, "--sessions", 2, "--dim", 30)
    run("embeddings", *size, "-o", tmp_path / "e.npz")
    made = read_embeddings(tmp_path / "e.npz")
    assert (len(made), made.dim) == (200, 30)
    size = ("--speakers", 3, "--sessions", 2, "--seconds", 0.5)
    run("frames", *size, "-o", tmp_path / "f.npz", "--utt2spk", tmp_path / "utt2spk")
    frames = read_frames(tmp_path / "f.npz")
    assert frames.ids[:3] == ("spk0-0", "spk0-1", "spk1-0")
    assert (tmp_path / "utt2spk").read_text().splitlines()[2] == "spk1-0 spk1"
    need("kaldiio")
    run("frames", *size, "-o", tmp_path / "f.ark")
    assert_allclose(read_frames(tmp_path / "f.ark")[1], frames[1], rtol=1e-6)
