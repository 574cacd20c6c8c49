"""Every format: files made by other programs, their published layouts, and what comes back after writing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.io.formats import NAMES, read_table
from llrkit.io.read_options import Reading
from llrkit.io.write import WRITE_FORMATS, write_table


def percent(trials):
    return 100 * lk.metrics.eer_roc(trials)


# (file, options, EER in percent as printed in the README of its set, digits printed)
PRINTED = [
    ("bob_testdata/bob.bio.base/dev-4col.txt", {}, 6.73, 2),
    ("bob_testdata/bob.bio.base/dev-5col.txt", {}, 6.73, 2),
    ("bob_testdata/bob.bio.base/test-4col.txt", {}, 4.36, 2),
    ("bob_testdata/bob.bio.base/test-5col.txt", {}, 4.36, 2),
    ("bob_testdata/bob.bio.base/scores-nonorm-dev", {}, 84, 0),
    ("bob_testdata/bob.bio.base/scores-nonorm-dev", {"distance": True}, 16, 0),
    ("bob_testdata/bob.bio.base/scores-nonorm-fivecol-dev", {"distance": True}, 16, 0),
    ("bob_testdata/bob.bio.base/scores-ztnorm-dev", {}, 91, 0),
    ("bob_testdata/bob.bio.base/scores-nonorm-calibrated-dev", {}, 16, 0),
    ("bob_testdata/bob.bio.base/scores-ztnorm-calibrated-dev", {}, 9, 0),
    ("evalita09_ru/ru.2009.table.gz", {}, 7.771, 3),
    ("sre08_tno/tno2008.tsv.gz", {}, 5.624, 3),
    ("voxceleb1_o/voxceleb1_o_4systems.tsv.gz", {"score": "ivector_plda"}, 5.652, 3),
    ("voxceleb1_o/voxceleb1_o_4systems.tsv.gz", {"score": "ivector_lda"}, 7.937, 3),
    ("voxceleb1_o/voxceleb1_o_4systems.tsv.gz", {"score": "ivector_cosine"}, 15.605, 3),
    ("voxceleb1_o/voxceleb1_o_4systems.tsv.gz", {"score": "resnet_aam"}, 1.5642, 4),
    # SASV-EER: both non-targets and spoofs are to be rejected
    ("asvspoof2019_la/tandem_dev.tsv.gz", {"score": "asv_ecapa", "positive": "target"}, 17.37, 2),
    ("asvspoof2019_la/tandem_eval.tsv.gz", {"score": "asv_ecapa", "positive": "target"}, 23.84, 2),
    ("asvspoof2019_la/cm_eval.tsv.gz", {"score": "cm_ocsoftmax"}, 2.182, 3),
    ("asvspoof2019_la/cm_eval.tsv.gz", {"score": "cm_amsoftmax"}, 3.162, 3),
    ("asvspoof2019_la/cm_eval.tsv.gz", {"score": "cm_lfcc_gmm"}, 3.503, 3),
    ("asvspoof2019_la/cm_eval.tsv.gz", {"score": "cm_softmax"}, 5.058, 3),
    ("asvspoof2019_la/cm_dev.tsv.gz", {"score": "cm_ocsoftmax"}, 0.275, 3),
]


@pytest.mark.parametrize(("name", "options", "printed", "digits"), PRINTED)
def test_equal_error_rate_against_the_printed_one(shared, name, options, printed, digits):
    trials = lk.read_trials(shared / "data" / name, **options)
    # one unit of the last digit: the rate of ivector_cosine is 15.60445
    assert_allclose(percent(trials), printed, rtol=0, atol=10.0**-digits)


@pytest.mark.parametrize(
    ("part", "score", "other", "printed"),
    [("dev", "asv_xvector", "nontarget", 2.426), ("eval", "asv_xvector", "nontarget", 2.458),
     ("dev", "asv_ecapa", "nontarget", 1.855), ("eval", "asv_ecapa", "nontarget", 1.639),
     ("dev", "asv_ecapa", "spoof", 20.28), ("eval", "asv_ecapa", "spoof", 30.75)],
)  # fmt: skip
def test_tandem_classes_against_the_printed_rates(shared, part, score, other, printed):
    with pytest.warns(
        lk.errors.PooledClassesWarning, match="'nontarget' and 'spoof' both count as non-target"
    ):
        trials = lk.read_trials(shared / f"data/asvspoof2019_la/tandem_{part}.tsv.gz", score=score)
    rows = trials.table.filter(pl.col("label").is_in(["target", other]))
    assert_allclose(percent(lk.Trials(rows, score=score)), printed, rtol=0, atol=0.0051)


def test_one_file_per_class_of_log10_llrs_against_the_printed_numbers(shared):
    folder = shared / "data/nfi_cartridge_llr"
    trials = lk.read_trials(folder / "LLR_KM.csv", nontargets=folder / "LLR_KNM.csv", log10=True)
    assert_allclose(percent(trials), 13.84, atol=0.0051)
    assert_allclose([lk.cllr(trials), lk.min_cllr(trials)], [0.64879, 0.47457], rtol=0, atol=5.1e-6)


@pytest.mark.parametrize(
    ("scores", "key", "system"),
    [("kaldi_plda_scores_head.txt", "kaldi_trials_head.txt", "ivector_plda"),
     ("voxsrc_score_head.score", "veri_test_head.txt", "resnet_aam")],
)  # fmt: skip
def test_raw_scores_paired_with_their_trial_list_equal_the_table(shared, scores, key, system):
    folder = shared / "data/voxceleb1_o"
    raw = lk.read_trials(folder / "raw_samples" / scores, key=folder / "raw_samples" / key)
    table = lk.read_trials(folder / "voxceleb1_o_4systems.tsv.gz", score=system)
    assert len(raw) == 2000
    assert_allclose(raw.score_array, table.score_array[:2000], rtol=0, atol=6e-9)  # its last digit
    assert_array_equal(raw.is_target, table.is_target[:2000])


@pytest.mark.parametrize(
    ("name", "kind", "targets"),
    [("ASVspoof2019.LA.asv.eval.gi.trl.scores_head.txt", "asvspoof", 1428),
     ("cm_score_air_head.txt", "asvspoof", 236), ("cm_score_gender_head.txt", "asvspoof", 236)],
)  # fmt: skip
def test_raw_asvspoof_files(shared, name, kind, targets):
    path = shared / "data/asvspoof2019_la/raw_samples" / name
    assert read_table(path).format == kind
    assert lk.read_trials(path).is_target.sum() == targets  # counted with sort | uniq -c


def test_sasv_labels_are_target_nontarget_and_spoof(shared):
    path = shared / "data/asvspoof2019_la/raw_samples/sasv_dev_scores_label_head.csv"
    with pytest.warns(lk.errors.PooledClassesWarning):
        trials = lk.read_trials(path, score="asv_score")
    counts = dict(trials.table["sasv_label"].value_counts().iter_rows())
    assert counts == {"target": 560, "nontarget": 1232, "spoof": 207}
    assert_array_equal(lk.read_trials(path, score="cm_score", positive="target").is_target, trials.is_target)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::llrkit.errors.PooledClassesWarning")
def test_every_sample_file_is_read_or_says_what_it_needs(shared, need):
    need("h5py")
    needs = {  # a meaning that is not in the file; docs/reference/formats.md lists them
        "asvspoof2019_la": "--score-column", "voxceleb1_o": "--", "nfi_cartridge_llr": "--nontargets",
        "bob.measure": "--nontargets|NaN|shape", "multiclass_expected_cost": "no array|no known layout",
        "spkr_shift_psr": "no array", "speech_embeddings": "no array|--score-column",
    }  # fmt: skip
    read, silent = 0, []
    for file in sorted((shared / "data").rglob("*")):
        if file.is_dir() or file.name in ("README.txt", "origin_readme.md", "tno.2008.rda"):
            continue
        try:
            read += len(lk.read_trials(file)) > 0
        except lk.LlrkitError as error:
            words = next((needs[part] for part in needs if part in file.parts), "")
            if not words or not any(word in str(error) for word in words.split("|")):
                silent.append(str(error))
    assert silent == []
    assert read >= 19


LAYOUT_FILES = {
    # SRE08: the nine columns of read.sre in the R package ROC; SRE16 to SRE21: modelid, segmentid, side and
    # LLR, as NIST's scorers (sre18_submission_scorer.py) read submissions
    "sre08.txt": ("short2 n short3 f 10017 fbnep a t 3.5\nshort2 n short3 f 10017 fdsgq b f -1.25\n", "nist"),
    "sre16.tsv": (
        "modelid\tsegmentid\tside\tLLR\n1001_sre16\tabc.sph\ta\t3.5\n1001_sre16\tdef.sph\ta\t-1.25\n",
        "table",
    ),
    "sre16_no_header.tsv": ("1001_sre16\tabc.sph\ta\t3.5\n1001_sre16\tdef.sph\ta\t-1.25\n", "nist"),
    # BOSARIS save_txt: model segment score
    "bosaris.txt": ("mod1 seg1 3.5\nmod1 seg2 -1.25\n", "kaldi"),
    # ASVspoof 2021: trial and score, as its evaluation package (config.py, s_names) reads them
    "cm2021.txt": ("LA_E_1 3.5\nLA_E_2 -1.25\n", "asvspoof"),
    "matrix.csv": (",seg1,seg2\nmod1,3.5,-1.25\n", "matrix"),
    "values.txt": ("3.5\n-1.25\n", "values"),
    "two.txt": ("3.5 target\n-1.25 imp\n", "two-column"),
    "quoted.txt": ('"enroll" "test" "score"\n"a b" "c" 3.5\n"a b" "d" -1.25\n', "table"),
}


@pytest.mark.parametrize("name", LAYOUT_FILES)
def test_layouts_are_recognized(tmp_path, name):
    content, kind = LAYOUT_FILES[name]
    (tmp_path / name).write_text(content)
    found = read_table(tmp_path / name)
    assert found.format == kind
    assert_array_equal(found.table[found.score[0]], [3.5, -1.25])


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("m1 s2 imp\nm1 s1 tgt\n", "kaldi"),
        ("1 m1 s1\n0 m1 s2\n", "voxceleb"),
        ("m1\ts1\ta\ttarget\nm1\ts2\ta\tnontarget\n", "nist"),
        (
            "modelid\tsegmentid\tside\ttargettype\tgender\nm1\ts2\ta\tnontarget\tf\nm1\ts1\ta\ttarget\tf\n",
            "table",
        ),
        ("modelid,segment,channel,targettype\nm1,s1,a,target\nm1,s2,a,nontarget\n", "table"),
        ("m1 s1 bonafide target\nm1 s2 spoof spoof\n", "asvspoof"),
        # as Kaldi's egs/sre16 reads sre16_eval_trial_key.tsv: model, segment, side, type, ...
        (
            "modelid\tsegment\tside\ttargettype\tpartition\nm1\ts1\ta\ttarget\t1\nm1\ts2\ta\tnontarget\t1\n",
            "table",
        ),
        # as bob.db.nist_sre12 reads NIST_SRE12_core_trial_key: model, segment, side, type, ..., conditions
        ("W,X,Y,Z,V,U,T,S,R,Q\nm1,s1,a,target,M,N,Y,N,N,N\nm1,s2,a,nontarget,M,N,Y,N,N,N\n", "nist"),
        # SRE08, as Kaldi's egs/sre08 (make_sre_2008_test.sh, score_sre08.sh) reads NIST_SRE08_*.trial.key
        (
            "M,S,C,T,1,2,3,4,5,6,7,8\nm1,s1,a,target,N,N,N,N,N,Y,Y,Y\nm1,s2,a,nontarget,Y,N,N,N,N,N,N,N\n",
            "nist",
        ),
        # SRE10, as Kaldi's egs/sre10 (make_sre_2010_test.pl) reads coreext-coreext.trialkey.csv
        ("m1,s1,a,target,Y,N,N,N,N,Y,N,N,N,N\nm1,s2,a,nontarget,N,N,N,N,N,N,N,N,N,N\n", "nist"),
        # SRE18: the columns by which sre18_submission_scorer.py of NIST partitions trials
        (
            "modelid\tsegmentid\tside\ttargettype\tnum_enroll_segs\tphone_num_match\tgender\tsource_type\t"
            "data_source\nm1\ts1\ta\ttarget\t1\tY\tfemale\tpstn\tcmn2\nm1\ts2\ta\tnontarget\t1\tN\tfemale\t"
            "pstn\tcmn2\n",
            "table",
        ),
        # SRE21, as prepare_sre21av_dev_audio.py of hyperion reads sre21_audio_dev_trial_key.tsv
        (
            "modelid\tsegmentid\tside\ttargettype\tnum_enroll_segs\tphone_num_match\tgender\tlanguage_match\t"
            "source_type_match\nm1\ts1\ta\ttarget\t3\tY\tmale\tY\tN\nm1\ts2\ta\tnontarget\t3\tN\tmale\tN\tN\n",
            "table",
        ),
        # ASVspoof 2019, README.LA.txt: speaker, file, attack or bonafide, kind of trial
        ("m1 s1 bonafide target\nm1 s2 A07 spoof\n", "asvspoof"),
        # ASVspoof 2021, LA/ASV/trial_metadata.txt: the columns of config.py, p_names_asv
        (
            "m1 s1 alaw ita_tx bonafide target notrim eval\nm1 s2 alaw ita_tx A07 spoof notrim eval\n",
            "asvspoof",
        ),
    ],
)
def test_scores_are_joined_with_keys_of_every_layout(tmp_path, key, kind):
    (tmp_path / "s").write_text("m1 s1 2.5\nm1 s2 -1\n")
    (tmp_path / "k").write_text(key)
    assert read_table(tmp_path / "k").format == kind
    trials = lk.read_trials(tmp_path / "s", key=tmp_path / "k")
    assert_array_equal(trials.score_array, [2.5, -1.0])
    assert_array_equal(trials.is_target, [True, False])


@pytest.mark.parametrize("attacks", [("A07", "A19"), ("AA", "CB")])  # logical and physical access
def test_asvspoof_2019_scores_name_attacks_in_any_order(tmp_path, attacks):
    """README.LA.txt: CM_KEY is bonafide or the attack, ASV_KEY target, nontarget or spoof."""
    (tmp_path / "s").write_text(
        f"{attacks[0]} spoof 1.5\nbonafide target 7\n{attacks[1]} spoof 0.5\nbonafide nontarget -2\n"
    )
    with pytest.warns(lk.errors.PooledClassesWarning, match="'nontarget' and 'spoof' both"):
        trials = lk.read_trials(tmp_path / "s")
    assert trials.columns == ["cm_label", "label", "score"]
    assert_array_equal(trials.is_target, [False, True, False, False])
    assert_array_equal(trials.score_array, [1.5, 7.0, 0.5, -2.0])


def test_utterances_with_labels_and_scores_are_no_pairs(tmp_path):
    (tmp_path / "s").write_text("utt1 bonafide 1.5\nutt2 spoof -2\n")
    trials = lk.read_trials(tmp_path / "s")
    assert (trials.enroll, trials.test) == (None, "test")
    assert_array_equal(trials.is_target, [True, False])


COUNTERMEASURES = {
    "2019": "LA_0079 T_1 - - bonafide\nLA_0079 T_2 - A01 spoof\n",
    # the columns of p_names in config.py of the ASVspoof 2021 evaluation package
    "2021 LA": "LA_0023 T_1 alaw ita_tx - bonafide notrim eval\n"
               "LA_0023 T_2 alaw ita_tx A07 spoof notrim eval\n",
    "2021 PA": "PA_0010 T_1 R3 M3 D4 - - - - bonafide notrim eval\n"
               "PA_0010 T_2 R3 M3 d4 r1 m1 s4 c4 spoof notrim eval\n",
    "2021 DF": "LA_0023 T_1 nocodec asvspoof - bonafide notrim eval - - - - -\n"
               "LA_0023 T_2 nocodec asvspoof A14 spoof notrim eval traditional_vocoder - - - -\n",
}  # fmt: skip


@pytest.mark.parametrize("year", COUNTERMEASURES)
def test_the_keys_of_countermeasures(tmp_path, year):
    (tmp_path / "s").write_text("T_2 -1\nT_1 2\n")
    (tmp_path / "k").write_text(COUNTERMEASURES[year])
    assert read_table(tmp_path / "k").format == "asvspoof"
    assert_array_equal(lk.read_trials(tmp_path / "s", key=tmp_path / "k").is_target, [False, True])


def test_the_known_non_targets_of_sre12_are_labels_and_channels_may_be_capitals(tmp_path):
    key = "m,s,c,t,x,1,2,3,4,5\n" + "".join(
        f"m{i},s1,A,{word},M,Y,N,N,N,N\n"
        for i, word in enumerate(("known_target", "known_nontarget", "unknown_nontarget", "target"))
    )
    (tmp_path / "k.csv").write_text(key)
    (tmp_path / "s.tsv").write_text(
        "modelid\tsegmentid\tside\tLLR\n" + "".join(f"m{i}\ts1\ta\t{i}\n" for i in range(4))
    )
    with pytest.warns(lk.errors.PooledClassesWarning, match="'known_nontarget' and 'unknown_nontarget' both"):
        trials = lk.read_trials(tmp_path / "s.tsv", key=tmp_path / "k.csv")
    assert_array_equal(trials.is_target, [True, False, False, True])
    assert trials.table["c1"].to_list() == ["Y"] * 4


def test_a_damaged_first_trial_of_an_sre12_key_is_no_header(tmp_path):
    rest = "m1,s2,a,nontarget,M,Y,N,N,N,N\nm2,s2,a,target,M,Y,N,N,N,N\n"
    for first in ("m1,s1,a,target,M,Y,N,N,N", "m1,s1,a,target,M,Y,N,N,N,Z", "m,s,c,t,x,1,2,3,4,5,6"):
        (tmp_path / "k.csv").write_text(f"{first}\n{rest}")
        with pytest.raises(lk.errors.FileFormatError, match="line 1"):
            read_table(tmp_path / "k.csv")


def example(n=40):
    rng = np.random.default_rng(4)
    scores = rng.standard_normal(n) * 10.0 ** rng.integers(-12, 12, n)
    scores[:4] = [np.inf, -np.inf, 5e-324, 1 / 3]
    return lk.Trials(
        {
            "enroll": [f"spk{i // 8}" for i in range(n)],
            "test": [f"utt-{i % 8}" for i in range(n)],
            "score": scores,
            "label": ["target" if i % 3 == 0 else "nontarget" for i in range(n)],
        },
        enroll="enroll",
        test="test",
    )


@pytest.mark.parametrize("kind", WRITE_FORMATS)
@pytest.mark.parametrize("narrow", [False, True])
def test_what_was_written_is_read_back_to_the_bit(tmp_path, need, kind, narrow):
    if kind == "bosaris":
        need("h5py")
    trials = example()  # row by row of a matrix, so that BOSARIS keeps the order too
    if narrow:
        table = trials.table.with_columns(pl.col("score").cast(pl.Float32))
        trials = lk.Trials(table, enroll="enroll", test="test")
    separate = kind in ("kaldi", "nist", "bosaris")
    key = tmp_path / "key" if separate else None
    lk.write_trials(trials, tmp_path / "out", format=kind, key=key)
    read = lk.read_trials(tmp_path / "out", key)
    assert_array_equal(read.score_array.astype(np.float64), trials.score_array.astype(np.float64))
    assert_array_equal(read.is_target, trials.is_target)
    for role in ("enroll", "test"):
        assert_array_equal(read.table[getattr(read, role)], trials.table[role])
    assert sorted(path.name for path in tmp_path.iterdir()) == (["key", "out"] if separate else ["out"])


def test_npz_and_csv_matrices_of_scores(tmp_path):
    values = np.array([[1.5, -0.5], [0.25, 3.0]])
    np.savez(tmp_path / "m.npz", scores=values, row_ids=["a", "b"], column_ids=["x", "y"])
    pl.DataFrame({"": ["a", "b"], "x": values[:, 0], "y": values[:, 1]}).write_csv(tmp_path / "m.csv")
    (tmp_path / "key").write_text("a y nontarget\na x target\nb x nontarget\nb y target\n")
    for name in ("m.npz", "m.csv"):
        trials = lk.read_trials(tmp_path / name, key=tmp_path / "key")
        assert_array_equal(trials.score_array, values.ravel())
        assert_array_equal(trials.is_target, [True, False, False, True])


IDS = [
    "a,b", 'q"x', " lead", "trail ", "\u00e9t\u00e9", "NA", "007", "1e5", "a\nb", "TRUE", "nan", "a\tb",
    "a\rb", "#x", "-",
    *(f"m{mark}1" for mark in ";:|/\\'.=+()[]{}@!?*~^&%$ "),
]  # fmt: skip


@pytest.mark.parametrize("kind", WRITE_FORMATS)
def test_odd_ids_come_back_as_they_are_or_are_not_written(tmp_path, need, kind):
    if kind == "bosaris":
        need("h5py")
    key = tmp_path / "key" if kind in ("kaldi", "nist", "bosaris") else None
    # their fields end at blanks or tabs and are not quoted
    marks = {"kaldi": ' \t\r\n"', "nist": '\t\r\n"'}.get(kind, "")
    kept = [odd for odd in IDS if not any(mark in odd for mark in marks)]

    def trials(model):
        n = len(model)
        columns = {"test": [f"t{i}" for i in range(n)], "score": np.arange(n) / 4, "label": np.arange(n) % 2}
        return lk.Trials({"model": model, **columns}, enroll="model", test="test")

    lk.write_trials(trials(kept), tmp_path / "out", format=kind, key=key)
    read = lk.read_trials(tmp_path / "out", key)
    assert read.table[read.enroll].to_list() == kept
    assert_array_equal(read.score_array, np.arange(len(kept)) / 4)
    assert_array_equal(read.is_target, np.arange(len(kept)) % 2 == 1)
    for odd in sorted({*IDS} - {*kept}):
        with pytest.raises(lk.InputError):
            lk.write_trials(trials(["x", odd]), tmp_path / "refused", format=kind, key=key)
        assert not (tmp_path / "refused").exists()


def test_a_directory_and_a_glob_are_read_as_one_table(tmp_path):
    trials = example()
    for i in range(4):
        trials.table[10 * i : 10 * i + 10].write_parquet(tmp_path / f"part{i}.parquet")
    for path in (tmp_path, str(tmp_path / "part*.parquet")):
        assert_array_equal(lk.read_trials(path).score_array, trials.score_array)
    trials.table.drop("label").write_parquet(tmp_path / "part9.parquet")
    with pytest.raises(lk.errors.FileFormatError, match=r"part9.parquet: columns"):
        lk.read_trials(tmp_path)


def test_arrow_streams_written_by_pyarrow(tmp_path, need):
    ipc = need("pyarrow.ipc")
    table = example().table.to_arrow()
    with ipc.new_stream(tmp_path / "s.arrows", table.schema) as stream:
        stream.write_table(table)
    with ipc.new_file(tmp_path / "s.feather", table.schema) as file:
        file.write_table(table)
    for name in ("s.arrows", "s.feather"):
        assert_array_equal(lk.read_trials(tmp_path / name).score_array, example().score_array)


def test_zstd_text_is_unpacked(tmp_path, need):
    codec = need("pyarrow").Codec("zstd")
    content = "score,label\n" + "".join(f"{i / 7!r},{i % 2}\n" for i in range(5000))
    (tmp_path / "s.csv.zst").write_bytes(codec.compress(content.encode(), asbytes=True))
    assert_array_equal(lk.read_trials(tmp_path / "s.csv.zst").score_array, np.arange(5000) / 7)


def test_a_format_that_is_insisted_on_refuses_others(tmp_path, need):
    need("h5py")
    (tmp_path / "s").write_text("a;b;c;d;e;f;g\nh;i;j;k;l;m;n\n")
    for kind in NAMES:
        with pytest.raises(lk.LlrkitError, match=r"s[:,]"):
            lk.read_trials(tmp_path / "s", format=kind)
    with pytest.raises(lk.errors.UnknownNameError):
        lk.read_trials(tmp_path / "s", format="word")


def test_what_a_format_cannot_hold_is_refused_and_nothing_is_left(tmp_path, need):
    need("h5py")
    trials = lk.Trials({"score": [1.0, 2.0], "label": [0, 1]})
    for options in ({"format": "kaldi"}, {"format": "nist"}, {"format": "bosaris"}, {"format": "word"}, {},
                    {"format": "csv", "key": "k"}):  # fmt: skip
        with pytest.raises(lk.LlrkitError):
            lk.write_trials(trials, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


def test_scores_without_labels_can_be_written(tmp_path):
    (tmp_path / "s").write_text("a x 1.5\nb x -2\n")
    write_table(read_table(tmp_path / "s"), tmp_path / "s.parquet")
    assert read_table(tmp_path / "s.parquet").table.rows() == [("a", "x", 1.5), ("b", "x", -2.0)]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("score;is target\n1.5;1\n-0.5;0\n", ["score", "is target"]),
        ("a b;is target\nx y;1\nx z;0\n", ["a b", "is target"]),
        ("m 1;s 1;1.5;target\nm 2;s 2;-0.5;nontarget\n", 4),
        ("m 1, s 1, 1.5\nm 2, s 2, -0.5\n", 3),
    ],
)
def test_blanks_inside_fields_do_not_separate_them(tmp_path, text, columns):
    (tmp_path / "t").write_text(text)
    names = None if isinstance(columns, list) else list("abcd"[:columns])
    read = read_table(tmp_path / "t", Reading(score=(), columns=names))
    assert read.table.columns == (columns if isinstance(columns, list) else names)
