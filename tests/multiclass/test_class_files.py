"""Files of several classes: every layout, told from files of two classes; memory, files and pieces agree."""

import gzip

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.io.class_files import class_file, read_classes

mc = lk.multiclass
CLASSES = ["english", "dutch", "thai"]


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 3
    loglik = (rng.normal(size=(30, 3)) + 2.0 * np.eye(3)[labels]).round(3)
    ids = [f"lid{i:03d}" for i in range(30)]
    return lk.scores.ClassScores(loglik, labels, CLASSES, ids)


def wide(scores, label=True):
    table = {"segmentid": list(scores.ids), **{c: scores.loglik[:, i] for i, c in enumerate(CLASSES)}}
    return pl.DataFrame({**table, **({"label": [CLASSES[i] for i in scores.codes]} if label else {})})


def long(scores):
    rows = [
        (scores.ids[i], c, scores.loglik[i, j], CLASSES[scores.codes[i]])
        for i in range(len(scores))
        for j, c in enumerate(CLASSES)
    ]
    return pl.DataFrame(rows, schema=["segment", "language", "score", "truth"], orient="row")


def same(found, scores, order=CLASSES):
    places = [CLASSES.index(name) for name in order]
    assert found.classes == tuple(order)
    assert_allclose(found.loglik, scores.loglik[:, places], rtol=1e-15)
    assert [found.classes[i] for i in found.codes] == [CLASSES[i] for i in scores.codes]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".parquet", ".arrow", ".csv.gz"])
@pytest.mark.parametrize("layout", [wide, long])
def test_wide_and_long_tables_of_every_kind(tmp_path, scores, ending, layout):
    path, table = tmp_path / f"scores{ending}", layout(scores)
    if ending == ".parquet":
        table.write_parquet(path)
    elif ending == ".arrow":
        table.write_ipc(path)
    elif ending == ".csv.gz":
        path.write_bytes(gzip.compress(table.write_csv().encode()))
    else:
        table.write_csv(path, separator={".csv": ",", ".tsv": "\t", ".txt": " "}[ending])
    assert class_file(path)
    same(read_classes(path), scores)
    assert list(read_classes(path).ids) == list(scores.ids)
    same(read_classes(path, classes=["thai", "english", "dutch"]), scores, ["thai", "english", "dutch"])


def test_keys_in_another_file_in_another_order(tmp_path, scores):
    table = wide(scores)
    table.drop("label").write_csv(tmp_path / "scores.tsv", separator="\t")
    key = table.select("segmentid", language_code="label")[::-1]
    key.write_csv(tmp_path / "key.tsv", separator="\t")
    key.write_csv(tmp_path / "utt2lang", separator=" ", include_header=False)
    for name in ("key.tsv", "utt2lang"):
        assert class_file(tmp_path / "scores.tsv", tmp_path / name)
        same(read_classes(tmp_path / "scores.tsv", tmp_path / name), scores)
    with pytest.raises(lk.errors.FileFormatError):
        read_classes(tmp_path / "scores.tsv")
    key[:20].write_csv(tmp_path / "short.tsv", separator="\t")
    with pytest.raises(lk.errors.FileFormatError):
        read_classes(tmp_path / "scores.tsv", tmp_path / "short.tsv")
    with pytest.warns(lk.errors.LeftOutWarning):
        kept = read_classes(tmp_path / "scores.tsv", tmp_path / "short.tsv", missing="drop")
    assert len(kept) == 20


def test_rows_of_the_lre07_scorer(tmp_path, scores):
    """Seven fields, as NIST's score_lre07.v01d reads them; sub-languages belong to their language."""
    lines = {"targets": [], "nontargets": []}
    for i in range(len(scores)):
        for j, language in enumerate(CLASSES):
            mine = j == scores.codes[i]
            truth = CLASSES[scores.codes[i]] + (".american" if scores.codes[i] == 0 else "")
            decision = f"{'t' if mine else 'f'} {scores.loglik[i, j]}"
            row = f"general_lr {language} closed_set {scores.ids[i]} {decision} {truth}"
            lines["targets" if mine else "nontargets"].append(row)
    (tmp_path / "all").write_text("\n".join(lines["targets"] + lines["nontargets"]) + "\n")
    assert class_file(tmp_path / "all")
    found = read_classes(tmp_path / "all", classes=CLASSES)
    order = np.argsort(found.ids)
    assert_allclose(found.loglik[order], scores.loglik)
    assert_array_equal(found.codes[order], scores.codes)
    folder = tmp_path / "two"
    folder.mkdir()
    for name, rows in lines.items():
        (folder / name).write_text("\n".join(rows) + "\n")
    assert_allclose(mc.cavg(read_classes(folder)), mc.cavg(scores), rtol=1e-12)


def test_long_tables_with_targets_marked(tmp_path, scores):
    marked = long(scores).with_columns(
        label=pl.when(pl.col("language") == pl.col("truth"))
        .then(pl.lit("target"))
        .otherwise(pl.lit("nontarget"))
    )
    marked.drop("truth").write_csv(tmp_path / "marked.csv")
    same(read_classes(tmp_path / "marked.csv"), scores)
    assert not class_file(tmp_path / "marked.csv")  # may be trials of two classes: say --classes


def test_npz_with_logits(tmp_path, scores):
    np.savez(tmp_path / "plain.npz", logits=scores.loglik, target=scores.codes)
    assert class_file(tmp_path / "plain.npz")
    found = read_classes(tmp_path / "plain.npz")
    assert found.classes == ("0", "1", "2")
    assert_array_equal(found.codes, scores.codes)
    np.savez(
        tmp_path / "named.npz",
        logits=scores.loglik,
        labels=np.array(CLASSES)[scores.codes],
        classes=CLASSES,
        ids=scores.ids,
    )
    same(read_classes(tmp_path / "named.npz"), scores)
    for arrays in (
        {"logits": scores.loglik, "target": scores.codes[:5]},
        {"logits": scores.loglik[:, 0], "target": scores.codes},
        {"logits": scores.loglik, "target": scores.codes, "classes": ["a"]},
        {"logits": scores.loglik, "target": scores.codes + 1},
    ):
        np.savez(tmp_path / "bad.npz", **arrays)
        with pytest.raises(lk.InputError):
            read_classes(tmp_path / "bad.npz")


def test_files_of_ferrer(shared):
    path = shared / "data/multiclass_expected_cost/iemocap_wav2vec_pt.npz"
    assert class_file(path)
    found = read_classes(path)
    assert_array_equal(found.counts, [1103, 1611, 1684, 1075])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("id,en,de,label\na,1,2,en\nb,1,x,de\n", "line 3, column 'de'"),
        ("id,en,de,label\na,1,2,en\nb,1,,de\n", "line 3, column 'de'"),
        ("id,en,de,label\na,1,2,fr\n", "line 2, column 'label'"),
        ("id,en,de,label\na,-inf,-inf,en\n", ""),
        ("segment,language,score,truth\na,en,1,en\na,de,2,en\na,de,3,en\n", "line 3"),
        ("segment,language,score,truth\na,en,1,en\na,de,2,en\nb,de,3,en\n", "trial b"),
        ("segment,language,score,truth\na,en,1,en\na,de,2,de\n", "trial a"),
    ],
)
def test_faults_are_named_by_line(tmp_path, text, place):
    (tmp_path / "scores.csv").write_text(text)
    with pytest.raises(lk.InputError, match=f"scores.csv.*{place}"):
        read_classes(tmp_path / "scores.csv", classes=None)


@pytest.mark.parametrize("row", ["b,1,nan,de", "b,1,2,fr", "b,x,2,de", "b,1,,de", "b,1,2,", "b,-inf,-inf,de"])
def test_a_fault_does_not_make_it_another_kind_of_file(tmp_path, row):
    path = tmp_path / "scores.csv"
    path.write_text(f"id,en,de,label\na,1,2,en\n{row}\nc,2,1,de\n")
    assert class_file(path)


@pytest.mark.parametrize(
    "text",
    [
        "score,label\n1.5,target\n-0.5,nontarget\n",
        "enroll,test,score,label\na,b,1.5,1\na,c,-0.5,0\n",
        "spk1 utt1 1.5\nspk2 utt1 -0.5\n",
        "plda,ecapa,label\n1,2,target\n0,1,nontarget\n",  # two systems: --score-column says which
        "",
        "\x00\x01",
    ],
)
def test_files_of_two_classes_and_broken_ones_are_left_to_the_others(tmp_path, text):
    path = tmp_path / "scores.csv"
    path.write_text(text)
    assert not class_file(path)
    assert not class_file(tmp_path / "nothing.csv")


@pytest.fixture
def many():
    rng = np.random.default_rng(5)
    labels = rng.choice(3, 1000, p=[0.2, 0.3, 0.5])
    loglik = 2.0 * (rng.normal(size=(1000, 3)) + 1.5 * np.eye(3)[labels])
    return lk.scores.ClassScores(loglik, labels, CLASSES, columns={"speaker": np.arange(1000) // 10})


def test_files_give_what_memory_gives(tmp_path, many):
    table = pl.DataFrame({c: many.loglik[:, i] for i, c in enumerate(CLASSES)}).with_columns(
        label=pl.Series([CLASSES[i] for i in many.codes]), speaker=pl.Series(many.columns["speaker"])
    )
    for i in range(4):
        table[i * 250 : (i + 1) * 250].write_parquet(tmp_path / f"part-{i}.parquet")
    table.write_csv(tmp_path / "all.csv")
    for source in (
        mc.scan_classes(tmp_path / "*.parquet", CLASSES),
        mc.scan_classes(tmp_path / "all.csv", CLASSES),
    ):
        ours, theirs = mc.evaluate(source), mc.evaluate(many)
        assert_allclose(ours.cllr, theirs.cllr, rtol=1e-12)
        assert_allclose(ours.refined_cllr, theirs.refined_cllr, rtol=1e-10)
        assert_array_equal(ours.confusion.counts, theirs.confusion.counts)
        assert ours.cavgs[1].actual == pytest.approx(theirs.cavgs[1].actual, rel=1e-12)
        for fit in (mc.fit_scale_offset, mc.fit_gaussian, mc.fit_affine):
            assert_allclose(fit(source)(many.loglik), fit(many)(many.loglik), rtol=1e-7, atol=1e-7)
        crossed = [mc.cross_calibrate(one, groups="speaker").source for one in (source, many)]
        assert_allclose(mc.cllr(crossed[0]), mc.cllr(crossed[1]), rtol=1e-8)


def test_faults_in_scanned_files_are_named(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("en,de,label\n1,2,en\n0,1,fr\n")
    with pytest.raises(lk.errors.LabelError, match=r"scores.csv, line 3, .*'fr'"):
        mc.cllr(mc.scan_classes(path, ["en", "de"]))
    for classes, options in ((["en", "nl"], {}), (["en", "de"], {"label": "truth"})):
        with pytest.raises(lk.errors.UnknownNameError):
            mc.scan_classes(path, classes, **options)
