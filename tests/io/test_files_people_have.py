"""Score files and keys as toolkits and challenges write them, through ``read_trials`` and the command line.

Every file holds the same four trials, so that all must give the same scores and the same equal error rate.
"""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.engine import open as opening
from llrkit.io.formats import read_table
from llrkit.io.read_options import Reading

TARGET, NONTARGET = [2.5, 0.25], [-1.0, 0.5]
"""The equal error rate is 1/2 at the corner of the step curve: one target lies below one non-target."""


def written(folder, files):
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    return folder / next(iter(files))


# name: (files, options of the command line, options of read_trials)
FILES = {
    # wespeaker/bin/score.py: enroll test score target
    "wespeaker": ({"s": "a u1 2.5 target\na u2 -1.0 nontarget\nb u1 0.5 nontarget\nb u3 0.25 target\n"},),
    # speechbrain, speaker_verification_cosine.py: enroll test 1 score
    "speechbrain": ({"s": "a u1 1 2.5\na u2 0 -1.0\nb u1 0 0.5\nb u3 1 0.25\n"},),
    "labels as words before the score": (
        {"s": "a u1 target 2.5\na u2 nontarget -1.0\nb u1 nontarget 0.5\nb u3 target 0.25\n"},
    ),
    "labels as numbers after the score": ({"s": "a u1 2.5 1\na u2 -1.0 0\nb u1 0.5 0\nb u3 0.25 1\n"},),
    "the trials of VoxCeleb with a score": ({"s": "1 a u1 2.5\n0 a u2 -1.0\n0 b u1 0.5\n1 b u3 0.25\n"},),
    # bob: the first column names the claimed subject, also where there are just two
    "two subjects of bob": ({"s": "1 1 u1 2.5\n0 1 u2 -1.0\n1 0 u1 0.5\n0 0 u3 0.25\n"},),
    # NeMo, voxceleb_eval.py: trial_score.txt
    "nemo": ({"trial_score.txt": "2.5\t1\n-1.0\t0\n0.5\t0\n0.25\t1\n"},),
    # pyannote: pairs of a VoxCeleb protocol (reference, file1, file2), as a table
    "pyannote": (
        {"s.csv": "reference,file1,file2,score\n1,a,u1,2.5\n0,a,u2,-1.0\n0,b,u1,0.5\n1,b,u3,0.25\n"},
    ),
    # its distances, with the trials of VoxCeleb
    "pyannote distances": (
        {"s": "a u1 -2.5\na u2 1.0\nb u1 -0.5\nb u3 -0.25\n", "k": "1 a u1\n0 a u2\n0 b u1\n1 b u3\n"},
        ["--distance", "--key", "k"],
        {"distance": True, "key": "k"},
    ),
    # ASVspoof 5, track 1: evaluation-package/README.md
    "asvspoof 5 track 1": (
        {
            "s": "filename\tcm-score\nE_1\t2.5\nE_2\t-1.0\nE_3\t0.5\nE_4\t0.25\n",
            "k": "filename\tcm-label\nE_1\tbonafide\nE_2\tspoof\nE_3\tspoof\nE_4\tbonafide\n",
        },
        ["--key", "k"],
        {"key": "k"},
    ),
    # the same with the protocol of ten columns as the key
    "asvspoof 5 protocol": (
        {
            "s": "filename\tcm-score\nT_1\t2.5\nT_2\t-1.0\nT_3\t0.5\nT_4\t0.25\n",
            "k": "S1 T_1 F - - - - bonafide bonafide -\nS1 T_2 F - - - AC3 A05 spoof -\n"
            "S2 T_3 M C05 2 7 AC1 A01 spoof -\nS2 T_4 M - - - - bonafide bonafide -\n",
        },
        ["--key", "k"],
        {"key": "k"},
    ),
    # track 2: spk, filename and three scores, two of them not there; dev.track_2.trial.tsv as the key
    "asvspoof 5 sasv": (
        {
            "s": "spk\tfilename\tcm-score\tasv-score\tsasv-score\nD_1\tD_1\t-\t-\t2.5\nD_1\tD_2\t-\t-\t-1.0\n"
            "D_2\tD_1\t-\t-\t0.5\nD_2\tD_3\t-\t-\t0.25\n",
            "k": "D_1 D_1 F bonafide target\nD_1 D_2 F bonafide nontarget\nD_2 D_1 M A11 nontarget\n"
            "D_2 D_3 M bonafide target\n",
        },
        ["--key", "k"],
        {"key": "k"},
    ),
    "asvspoof 5 sasv, one of its scores": (
        {
            "s": "spk\tfilename\tcm-score\tasv-score\tsasv-score\nD_1\tD_1\t2.5\t9\t9\nD_1\tD_2\t-1.0\t9\t9\n"
            "D_2\tD_1\t0.5\t9\t9\nD_2\tD_3\t0.25\t9\t9\n",
            "k": "spk\tfilename\tcm-label\tasv-label\nD_1\tD_1\tbonafide\tnontarget\nD_1\tD_2\tspoof\tspoof\n"
            "D_2\tD_1\tspoof\tspoof\nD_2\tD_3\tbonafide\ttarget\n",
        },
        ["--key", "k", "--score-column", "cm-score"],
        {"key": "k", "score": "cm-score"},
    ),
    "a key without header, its columns named": (
        {
            "s": "a u1 2.5\na u2 -1.0\nb u1 0.5\nb u3 0.25\n",
            "k": "x target u1 a\nx nontarget u2 a\nx nontarget u1 b\nx target u3 b\n",
        },
        ["--key", "k", "--key-columns", "what,label,test,enroll"],
        {"key": "k", "key_columns": ["what", "label", "test", "enroll"]},
    ),
    "a key whose labels are in an odd column": (
        {
            "s": "enroll,test,score\na,u1,2.5\na,u2,-1.0\nb,u1,0.5\nb,u3,0.25\n",
            "k": "enroll,test,label,answer\na,u1,0,yes\na,u2,0,no\nb,u1,0,no\nb,u3,0,yes\n",
        },
        ["--key", "k", "--key-label-column", "answer"],
        {"key": "k", "key_label": "answer"},
    ),
    "a key of an id and a label": (
        {"s": "u1 2.5\nu2 -1.0\nu3 0.5\nu4 0.25\n", "k": "u2 0\nu1 1\nu3 0\nu4 1\n"},
        ["--key", "k"],
        {"key": "k"},
    ),
    "decimal commas between semicolons": (
        {"s.csv": "Modell;label;Score\nm1;1;2,5\nm1;0;-1\nm2;0;0,5\nm2;1;,25\n"},
    ),
    "decimal commas between tabs, without header": (
        {"s": "target\t2,5\nimp\t-1,0\nimp\t0,5\ntarget\t0,25\n"},
    ),
    "decimal commas in quotes": (
        {"s.csv": 'score,label\n"2,5",1\n"-1,0",0\n"0,5",0\n"0,25",1\n'},
        ["--decimal", ","],
        {"decimal": ","},
    ),
    "decimal commas between blanks": (
        {"s": "a u1 2,5 target\na u2 -1,000 imp\nb u1 0,500 imp\nb u3 0,25 target\n"},
        ["--decimal", ","],
        {"decimal": ","},
    ),
    "Latin-1": (
        {"s.csv": "name,score,label\nMüller,2.5,1\nMüller,-1,0\nBjö,0.5,0\nBjö,0.25,1\n".encode("latin-1")},
        ["--encoding", "latin-1"],
        {"encoding": "latin-1"},
    ),
    "UTF-16 with its mark": (
        {"s.csv": "score\tlabel\n2.5\t1\n-1\t0\n0.5\t0\n0.25\t1\n".encode("utf-16")},
        ["--encoding", "utf-16"],
        {"encoding": "utf-16"},
    ),
    "a numbered column beside the scores": (
        {"s.csv": "score,label,2021\n2.5,1,a\n-1,0,a\n0.5,0,b\n0.25,1,b\n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_file_gives_its_trials_in_python_and_on_the_command_line(tmp_path, monkeypatch, name):
    files, *options = FILES[name]
    words, keywords = options or ([], {})
    path = written(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    scores = lk.read_trials(path, **keywords).scores()
    assert_array_equal(scores.target, TARGET)
    assert_array_equal(scores.nontarget, NONTARGET)
    code, out, err = run("evaluate", path, *words, "--json", "-")
    assert code == 0, err
    result = json.loads(out)
    assert (result["n_target"], result["n_nontarget"], result["eer"]) == (2, 2, lk.eer(scores))


@pytest.mark.parametrize("name", ["speechbrain", "decimal commas between semicolons", "Latin-1"])
def test_the_same_files_are_read_in_batches(tmp_path, monkeypatch, name):
    files, *options = FILES[name]
    keywords = options[1] if options else {}
    path = written(tmp_path, files)
    monkeypatch.setenv("LLRKIT_AT_ONCE", "16")
    assert lk.eer(lk.scan_trials(path, **keywords)) == lk.eer(lk.Scores(TARGET, NONTARGET))


def test_ids_of_toolkits_are_ids_of_trials(tmp_path):
    for name in ("wespeaker", "speechbrain", "pyannote", "asvspoof 5 sasv"):
        trials = read_table(written(tmp_path, FILES[name][0]))
        assert trials.table.select(trials.enroll, trials.test).row(0) in {("a", "u1"), ("D_1", "D_1")}, name


MISSING = {
    "s.csv": "enroll,test,score,label\na,u1,2.5,1\na,u2,-1.0,0\nb,u1,,0\nb,u1,-,0\nb,u1,NA,1\nb,u1,nan,1\n"
    "b,u1,n/a,0\nb,u1,0.5,0\nb,u3,0.25,1\n"
}  # fmt: skip


def test_missing_scores_are_dropped_with_a_count(tmp_path, monkeypatch):
    path = written(tmp_path, MISSING)
    with pytest.raises(lk.errors.FileFormatError, match="line 4"):
        lk.read_trials(path)
    with pytest.warns(lk.errors.MissingScoresWarning, match="5 of 9 trials"):
        scores = lk.read_trials(path, missing_scores="drop").scores()
    assert_array_equal(scores.target, TARGET)
    assert_array_equal(scores.nontarget, NONTARGET)
    for at_once in ("1G", "16"):  # in memory and in batches, counted once
        monkeypatch.setenv("LLRKIT_AT_ONCE", at_once)
        code, out, err = run("evaluate", path, "--missing-scores", "drop", "--json", "-")
        assert (code, json.loads(out)["n_target"], err.count("5 of 9 trials")) == (0, 2, 1)


def test_missing_scores_of_several_systems_are_dropped_together(tmp_path):
    rows = [("a", "u1", 1), ("a", "u2", 0), ("b", "u1", 0), ("b", "u2", 1)]
    for name, scores in {"one.csv": ["1", "", "0", "2"], "two.csv": ["1", "0", "nan", "2"]}.items():
        lines = [f"{e},{t},{s},{k}" for (e, t, k), s in zip(rows, scores, strict=True)]
        (tmp_path / name).write_text("\n".join(["enroll,test,score,label", *lines]) + "\n")
    with pytest.warns(lk.errors.MissingScoresWarning, match="2 of 4"):
        trials = opening.open_trials(
            [tmp_path / "one.csv", tmp_path / "two.csv"],
            Reading(missing_scores="drop", ids=("enroll", "test")),
        )
    assert_array_equal(trials.score_array, [[1.0, 1.0], [2.0, 2.0]])


def test_apply_and_convert_leave_out_trials_without_a_score_on_request(tmp_path):
    path = written(tmp_path, MISSING)
    lk.maps.AffineMap(a=2.0, b=0.0).save(tmp_path / "cal.json")
    for words in (
        ["convert", path, tmp_path / "out.csv"],
        ["apply", tmp_path / "cal.json", path, "-o", tmp_path / "out.csv", "--outside", "warn"],
    ):
        assert run(*words)[0] == 2
        assert not (tmp_path / "out.csv").exists()
        assert run(*words, "--missing-scores", "drop")[0] == 0
        assert pl.read_csv(tmp_path / "out.csv")["score"].to_list() == [2.5, -1.0, 0.5, 0.25]
        (tmp_path / "out.csv").unlink()


def test_what_may_mean_two_things_is_refused(tmp_path):
    for content in (
        "score;label\n1,234;1\n2,345;0\n",
        "score;label\n0,5;1\n1.5;0\n",
        "score;label\n" + "".join(f"{i},5;{i % 2}\n" for i in range(300)) + "1.500;0\n",
        "a b 1 0\nc d 0 1\n",
        "filename\tcm-score\tasv-score\tcm-label\nu\t1\t2\tspoof\n",
    ):
        with pytest.raises(lk.errors.FileFormatError):
            lk.read_trials(written(tmp_path, {"s.csv": content}))
    pl.DataFrame({"score": [1.0, 0.0], "label": [1, 0]}).write_parquet(tmp_path / "s.parquet")
    for option, value in (("--columns", "a,b"), ("--decimal", ","), ("--encoding", "latin-1")):
        code, _, err = run("evaluate", tmp_path / "s.parquet", option, value)
        assert (code, option in err) == (2, True)


def test_decimal_commas_of_other_columns_are_numbers_too_and_ids_stay(tmp_path):
    path = written(
        tmp_path, {"s.csv": "enroll;test;score;label;seconds\n1,5;x;0,5;1;7,25\n1,5;y;-0,5;0;3,5\n"}
    )
    trials = lk.read_trials(path, where="seconds > 5", weight="seconds")
    assert trials.table.row(0) == ("1,5", "x", 0.5, "1", "7.25")


def test_text_that_is_not_utf8_is_refused_and_names_the_option(tmp_path):
    path = written(tmp_path, {"s.csv": "name,score,label\nMüller,1,1\nx,0,0\n".encode("latin-1")})
    with pytest.raises(lk.errors.FileFormatError, match=r"line 2.*--encoding"):
        lk.read_trials(path)
    with pytest.raises(lk.errors.FileFormatError, match="line 2"):
        lk.read_trials(path, encoding="ascii")


def test_the_header_of_a_nist_key_is_kept_where_it_names_the_columns(tmp_path):
    rows = "m1,s1,a,target,Y,N,N,N,N,N,N,N\nm1,s2,a,nontarget,Y,N,N,N,N,N,N,N\n"
    named = written(tmp_path, {"k.csv": "modelid,segid,channel,targettype,c1,c2,c3,c4,c5,c6,c7,c8\n" + rows})
    key = read_table(named, Reading(score=()))
    assert (key.enroll, key.test, key.label) == ("modelid", "segid", "targettype")


COLUMNS = {
    "int8": (pl.Int8, [25, -10, 5, 3]),
    "uint16": (pl.UInt16, [25, 1, 5, 3]),
    "int128": (pl.Int128, [25, -10, 5, 3]),
    "float16": (pl.Float16, [2.5, -1.0, 0.5, 0.25]),
    "float32": (pl.Float32, [2.5, -1.0, 0.5, 0.25]),
    "decimal": (pl.Decimal(10, 2), [Decimal("2.50"), Decimal("-1.00"), Decimal("0.50"), Decimal("0.25")]),
}


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        (kind, ending)
        for kind in COLUMNS
        for ending in ("parquet", "arrow")
        if (kind, ending) != ("int128", "parquet")
    ],
)
def test_columns_of_every_numeric_type(tmp_path, monkeypatch, kind, ending):
    dtype, values = COLUMNS[kind]
    table = pl.DataFrame({"score": pl.Series(values, dtype=dtype), "label": [True, False, False, True]})
    path = tmp_path / f"s.{ending}"
    table.write_parquet(path) if ending == "parquet" else table.write_ipc(path)
    expected = lk.Scores.from_labels(np.array([float(value) for value in values]), [1, 0, 0, 1])
    trials = lk.read_trials(path)
    assert_array_equal(trials.scores().target, expected.target)
    assert lk.eer(lk.read_trials(path, distance=True)) == lk.eer(
        lk.Scores(-expected.target, -expected.nontarget)
    )
    assert lk.cllr(lk.scan_trials(path)) == lk.cllr(expected)
    lk.maps.AffineMap(a=2.0, b=0.0).save(tmp_path / "cal.json")
    code, _, err = run("apply", tmp_path / "cal.json", path, "-o", tmp_path / "out.parquet")
    assert code == 0, err
    assert pl.read_parquet(tmp_path / "out.parquet")["llr"].to_list() == [
        2 * float(value) for value in values
    ]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_scores_that_are_text_become_numbers_in_every_format(tmp_path, ending):
    pl.DataFrame({"score": ["1.5", "-2", "0.25"], "label": [1, 0, 1]}).write_parquet(tmp_path / "s.parquet")
    lk.maps.AffineMap(a=2.0, b=0.0).save(tmp_path / "cal.json")
    out = tmp_path / f"out.{ending}"
    for words in (
        ["convert", tmp_path / "s.parquet", out],
        ["apply", tmp_path / "cal.json", tmp_path / "s.parquet", "-o", out, "--outside", "warn"],
    ):
        code, _, err = run(*words)
        assert code == 0, err
        read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "csv": pl.read_csv}[ending]
        assert read(out)["score"].to_list() == [1.5, -2.0, 0.25]
        out.unlink()
