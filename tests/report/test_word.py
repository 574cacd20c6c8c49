"""Reports and validations as Word documents: their parts, and their pages as LibreOffice draws them."""

import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from drawn import some_scores

import llrkit as lk
from llrkit.cli import cli

pytestmark = pytest.mark.slow
CRITERIA = """
[options]
ci = "trial"
[report]
system = "<b>bold</b> \x01"
[[criterion]]
characteristic = "accuracy"
at_most = 5.0
[[criterion]]
characteristic = "discriminating power"
metric = "eer"
at_most = 0.001
""".replace("\x01", "\\u0001")
PIXELS = 20


@pytest.fixture(scope="module")
def written(tmp_path_factory, need):
    """A report and a validation, as Word documents."""
    need("docx")
    folder = tmp_path_factory.mktemp("word")
    lk.write_trials(trials(), folder / "s.csv")
    (folder / "criteria.toml").write_text(CRITERIA)
    for arguments in (
        ("report", folder / "s.csv", "--check", "--docx", folder / "report.docx"),
        (
            "validate",
            folder / "s.csv",
            "--criteria",
            folder / "criteria.toml",
            "--docx",
            folder / "validate.docx",
        ),
    ):
        done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
        assert done.exception is None or done.exit_code == 1, done.output
    return folder


def trials():
    scores = some_scores()
    values = np.concatenate([scores.target, scores.nontarget])
    return lk.Trials({"score": values, "label": np.arange(len(values)) < len(scores.target)})


def test_a_report_has_headings_tables_pictures_and_captions(written, need):
    document = need("docx").Document(str(written / "report.docx"))
    styles = [paragraph.style.name for paragraph in document.paragraphs]
    headings = [p.text for p in document.paragraphs if p.style.name == "Heading 1"]
    assert headings == [
        "Summary",
        "Numbers",
        "Curves",
        "Distributions",
        "Calibration tested",
        "Methods",
        "Provenance",
    ]
    captions = [p.text for p in document.paragraphs if p.style.name == "Caption"]
    assert len(captions) == len(document.tables) + len(document.inline_shapes)
    assert len(document.inline_shapes) == 9
    assert styles[0] == "Title"
    eer = 100 * lk.eer(some_scores())
    assert [f"{eer:.2f} %"] == [
        row.cells[1].text for row in document.tables[0].rows if row.cells[0].text == "EER"
    ]


def test_a_validation_begins_with_its_outcome(written, need):
    document = need("docx").Document(str(written / "validate.docx"))
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert texts.index("FAIL") < texts.index("1 of 2 criteria is not met: discriminating power (eer).")
    matrix = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    assert [row[6] for row in matrix] == ["decision", "PASS", "FAIL"]
    stated = {row.cells[0].text: row.cells[1].text for row in document.tables[2].rows}
    assert stated["system"] == "<b>bold</b> \N{REPLACEMENT CHARACTER}"


def test_its_pages_are_drawn_by_libreoffice(written, need_program):
    office, draw = need_program("soffice"), need_program("pdftoppm")
    profile = f"-env:UserInstallation={(written / 'profile').as_uri()}"
    subprocess.run(
        [office, profile, "--headless", "--convert-to", "pdf", "--outdir", written,
         written / "validate.docx"],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    subprocess.run([draw, "-r", str(PIXELS), "-gray", written / "validate.pdf", written / "page"], check=True)
    pages = sorted(written.glob("page*.pgm"))
    assert 5 < len(pages) < 16
    for page in pages:
        pixels = np.frombuffer(page.read_bytes()[-(165 * 234) :], dtype=np.uint8)  # A4 or Letter, 20 dpi
        assert (pixels < 200).mean() > 0.001, page.name  # no page is empty


def test_what_is_no_word_document_is_refused_before_the_scores_are_read(tmp_path):
    done = CliRunner().invoke(cli, ["report", "no-such-file.csv", "--docx", str(tmp_path / "report.doc")])
    assert "a Word document ends in .docx" in str(done.exception)
    assert "the output is missing" in str(CliRunner().invoke(cli, ["report", "s.csv"]).exception)
