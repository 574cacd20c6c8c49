"""What a report says: every input is named and hashed, and nothing is said twice in different words."""

import hashlib
import html
import json
import re

import numpy as np
import pytest
from commands import run

import llrkit as lk


def write(path, scores, ids=False):
    head = "enroll,test,score,label" if ids else "score,label"
    sides = ((1, scores.target), (0, scores.nontarget))
    rows = [(float(x), label) for label, side in sides for x in side]
    lines = [f"m{i % 9},t{i},{x!r},{y}" if ids else f"{x!r},{y}" for i, (x, y) in enumerate(rows)]
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


@pytest.fixture
def scores():
    return lk.Scores(*lk.theory.GaussianLLR.from_eer(0.08).rvs(200, 900, np.random.default_rng(3)))


def text_of(page):
    body = page.read_text()
    body = body[body.index("<body") : body.index("<script>", body.index("<body"))]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_every_file_that_was_read_is_hashed(tmp_path, scores):
    target, other = tmp_path / "targets.txt", tmp_path / "nontargets.txt"
    target.write_text("\n".join(map(repr, map(float, scores.target))))
    other.write_text("\n".join(map(repr, map(float, scores.nontarget))))
    dev = write(tmp_path / "dev.csv", scores)
    page = tmp_path / "page.html"
    code, _, err = run("evaluate", target, "--nontargets", other, "--threshold-from", dev, "--html", page)
    assert code == 0, err
    for file in (target, other, dev):
        assert sha(file) in page.read_text(), file.name


def test_quality_files_and_keys_are_hashed(tmp_path, scores):
    listed = write(tmp_path / "all.csv", scores, ids=True).read_text().splitlines()[1:]
    file, key, quality = (tmp_path / name for name in ("scores.csv", "key.csv", "snr.csv"))
    rows = [line.split(",") for line in listed]
    file.write_text("\n".join(["enroll,test,score", *(",".join(row[:3]) for row in rows)]) + "\n")
    key.write_text("\n".join(["enroll,test,label", *(",".join([*row[:2], row[3]]) for row in rows)]) + "\n")
    names = sorted({name for row in rows for name in row[:2]})
    quality.write_text("\n".join(["id,snr", *(f"{name},{i}" for i, name in enumerate(names))]) + "\n")
    page = tmp_path / "page.html"
    code, _, err = run("report", file, "--key", key, "--quality-file", quality, "-o", page)
    assert code == 0, err
    for one in (file, key, quality):
        assert page.read_text().count(sha(one)) == 1, one.name


@pytest.mark.slow
def test_a_validation_in_markdown_and_html_names_all_its_inputs(tmp_path, scores):
    file = write(tmp_path / "llrs.csv", scores)
    other = write(tmp_path / "clean.csv", lk.Scores(scores.target + 1, scores.nontarget))
    criteria = tmp_path / "criteria.toml"
    criteria.write_text(
        '[[criterion]]\ncharacteristic = "robustness"\nat_most = 0.9\nchange_from = "clean.csv"\n'
    )
    lk.fit_logistic(scores).save(tmp_path / "cal.json")
    report, page = tmp_path / "report.md", tmp_path / "page.html"
    code, _, err = run("validate", file, "--criteria", criteria, "--map", tmp_path / "cal.json",
                       "--md", report, "--html", page)  # fmt: skip
    assert code == 0, err
    for written in (report.read_text(), page.read_text()):
        for one in (file, other, criteria, tmp_path / "cal.json"):
            assert sha(one) in written, one.name
        assert f"llrkit {lk.__version__}, Python" in written
        assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", written)
        assert "llrkit " in written
    assert "- **command**: llrkit" in report.read_text()


@pytest.mark.slow
def test_misleading_trials_are_named_by_file_and_line(tmp_path, scores):
    file = write(tmp_path / "llrs.csv", scores, ids=True)
    lines = file.read_text().splitlines()
    found = lk.trust.misleading_trials(lk.read_trials(file), n=5)
    for one in found:
        path, line = one.place.split(", line ")
        assert path == str(file)
        cells = lines[int(line) - 1].split(",")
        assert (cells[0], cells[1], float(cells[2])) == (one.trial["enroll"], one.trial["test"], one.llr)
    criteria = tmp_path / "criteria.toml"
    criteria.write_text('[[criterion]]\ncharacteristic = "accuracy"\nat_most = 0.9\n')
    report, page = tmp_path / "report.md", tmp_path / "page.html"
    code, out, _ = run("validate", file, "--criteria", criteria, "--md", report, "--html", page,
                       "--worst", 5, "--json", tmp_path / "out.json")  # fmt: skip
    assert code == 0
    assert "<h1>Validation report</h1>" in page.read_text()
    listed = json.loads((tmp_path / "out.json").read_text())["misleading"]
    assert [one["place"] for one in listed] == [one.place for one in found]
    for written in (out, report.read_text(), text_of(page)):
        for one in found:
            place = one.place.removeprefix(f"{tmp_path}/")  # names of files, not paths
            assert f"{place}, enroll {one.trial['enroll']}, test {one.trial['test']}" in written


def test_arrays_have_positions_and_no_place():
    found = lk.trust.misleading_trials(lk.Scores([1.0, -2.0], [0.5, -1.0]))
    assert [(one.place, one.words_of_place) for one in found] == [("", "position 1"), ("", "position 0")]


@pytest.mark.slow
def test_a_page_says_one_thing_about_calibration(tmp_path, scores):
    file = write(tmp_path / "llrs.csv", lk.Scores(1.5 * scores.target, 1.5 * scores.nontarget))
    page = tmp_path / "page.html"
    assert run("report", file, "--check", "-o", page)[0] == 0
    text = text_of(page)
    check = lk.check_calibration(lk.read_trials(file))
    assert check.verdict.outcome == "evidence"
    assert "nearly calibrated" not in text
    assert "can be read as LLRs as they are" not in text
    assert check.verdict.sentence in text
