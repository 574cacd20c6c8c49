"""What a report says: every input is named and hashed, and nothing is said twice in different words."""

import hashlib
import html
import json
import re

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit._vocabulary import _COLUMNS, _WORDS


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


def drawn_text(page):
    """What the plots say: titles, names of lines, axes, what is shown at a point."""
    found = re.search(r'id="report-data">(.*?)</script>', page.read_text(), re.DOTALL)
    said = []

    def walk(plain, key=""):
        if isinstance(plain, dict):
            for name, value in plain.items():
                walk(value, name)
        elif isinstance(plain, list):
            for value in plain:
                walk(value, key)
        elif isinstance(plain, str) and key in ("text", "title", "name", "hovertemplate", "ticktext"):
            said.append(plain)

    walk(json.loads(found[1])["figures"])
    return said


def words_of_others(vocabulary):
    """The words of the other communities that this one does not have."""
    own = {row[_COLUMNS.index(vocabulary)].lower() for row in _WORDS}
    others = {row[i].lower() for row in _WORDS for i in range(3) if i != _COLUMNS.index(vocabulary)}
    alien = {word for word in others if not any(word in phrase.split() or word == phrase for phrase in own)}
    return re.compile(rf"(?<![\w.-])({'|'.join(sorted(map(re.escape, alien)))})(?![\w=]|\.\w)", re.IGNORECASE)


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", ["biometrics", "forensic"])
def test_a_report_has_no_words_of_other_communities(tmp_path, scores, vocabulary):
    rng = np.random.default_rng(1)
    label = np.repeat(["genuine", "impostor"], [200, 900])
    table = pl.DataFrame({
        "score": np.concatenate([scores.target, scores.nontarget]), "label": label,
        "left": rng.integers(0, 30, 1100), "right": rng.integers(0, 30, 1100),
        "sex": rng.choice(["f", "m"], 1100),  # letters that other words have too
    })  # fmt: skip
    table.write_csv(tmp_path / "face.csv")
    page = tmp_path / "page.html"
    code, _, err = run("report", tmp_path / "face.csv", "--vocabulary", vocabulary, "--by", "sex",
                       "--check", "--speakers", "left,right", "-o", page)  # fmt: skip
    assert code == 0, err
    alien = words_of_others(vocabulary)
    for word in ("Pmiss", "3 targets", "false alarms (%)", "all trials: EER"):
        assert alien.search(word)
    visible = text_of(page).partition("Provenance made")[0]
    command = re.compile(r"llrkit \S+ [^.]*")  # what is typed is in the words of options
    for text in (command.sub("", visible), *drawn_text(page)):
        assert not alien.search(text), alien.search(text)
    said = {"biometrics": ("FNMR", "non-mated"), "forensic": ("same-source", "false-exclusion")}[vocabulary]
    for word in said:
        assert word in visible


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
                       "--report", report, "--html", page)  # fmt: skip
    assert code == 0, err
    for written in (report.read_text(), page.read_text()):
        for one in (file, other, criteria, tmp_path / "cal.json"):
            assert sha(one) in written, one.name
        assert f"llrkit {lk.__version__}, Python" in written
        assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", written)
        assert "llrkit " in written
    assert "- **command**: llrkit" in report.read_text()


def test_markdown_made_in_python_states_date_and_version(scores):
    found = lk.validate(scores, {"criterion": [{"characteristic": "accuracy", "at_most": 1}]}, replicates=0)
    text = found.to_markdown()
    assert f"- **with**: llrkit {lk.__version__}" in text
    assert re.search(r"- \*\*made\*\*: 20\d\d-", text)


def test_misleading_trials_are_named_by_file_and_line(tmp_path, scores):
    file = write(tmp_path / "llrs.csv", scores, ids=True)
    lines = file.read_text().splitlines()
    found = lk.misleading_trials(lk.read_trials(file), 5)
    for one in found:
        path, line = one.place.split(", line ")
        assert path == str(file)
        cells = lines[int(line) - 1].split(",")
        assert (cells[0], cells[1], float(cells[2])) == (one.trial["enroll"], one.trial["test"], one.llr)
    criteria = tmp_path / "criteria.toml"
    criteria.write_text('[[criterion]]\ncharacteristic = "accuracy"\nat_most = 0.9\n')
    report, page = tmp_path / "report.md", tmp_path / "page.html"
    code, out, _ = run("validate", file, "--criteria", criteria, "--report", report, "--html", page,
                       "--worst", 5, "--json", tmp_path / "out.json")  # fmt: skip
    assert code == 0
    listed = json.loads((tmp_path / "out.json").read_text())["misleading"]
    assert [one["place"] for one in listed] == [one.place for one in found]
    for written in (out, report.read_text(), text_of(page)):
        for one in found:
            place = one.place.removeprefix(f"{tmp_path}/")  # names of files, not paths
            assert f"{place}, enroll {one.trial['enroll']}, test {one.trial['test']}" in written


def test_arrays_have_positions_and_no_place():
    found = lk.misleading_trials(lk.Scores([1.0, -2.0], [0.5, -1.0]))
    assert [(one.place, one.words_of_place) for one in found] == [("", "position 1"), ("", "position 0")]


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


def test_no_sentence_of_a_page_is_repeated(tmp_path, scores):
    file = write(tmp_path / "llrs.csv", lk.Scores(3 * scores.target, 3 * scores.nontarget))
    page = tmp_path / "page.html"
    assert run("report", file, "--ci", "trial", "-o", page)[0] == 0
    text = text_of(page)
    assert text.count(lk.evaluate(lk.read_trials(file)).sentence.split("; ")[-1]) == 1
    assert "wider" not in text
    assert "target trials" not in text[text.index("Provenance made") :]
    reasons = re.findall(r"No interval for [^:]+: ([^.]+)\.", text)
    assert len(reasons) == len(set(reasons))


def test_a_comparison_of_calibrators_gives_no_advice_on_each_of_them(tmp_path, scores):
    file = write(tmp_path / "llrs.csv", lk.Scores(3 * scores.target, 3 * scores.nontarget))
    page = tmp_path / "page.html"
    code, out, err = run("compare", file, file, "--methods", "cmlg,logistic", "--html", page)
    assert code == 0, err
    text = text_of(page)
    assert "Train a calibration" not in text
    (sentence,) = (line for line in out.splitlines() if line.startswith("The lowest Cllr"))
    assert text.count(sentence) == 1
