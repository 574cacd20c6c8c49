"""Word documents as another program shows them: LibreOffice makes pages of them, and nothing is cut."""

import subprocess
import zipfile

import numpy as np
import pytest
from commands import run


@pytest.fixture(scope="module")
def document(tmp_path_factory, need):
    need("docx")
    folder = tmp_path_factory.mktemp("word")
    for name, seed in (("dev", 1), ("eval", 2)):
        size = ("--targets", 60, "--nontargets", 300, "--seed", seed)
        assert run("simulate", "gaussian", "--eer", "5%", *size, "-o", folder / f"{name}.csv")[0] == 0
    assert run("calibrate", folder / "dev.csv", "-o", folder / "cal.json")[0] == 0
    rows = (
        'characteristic = "accuracy"\nat_most = 0.5',
        'characteristic = "calibration"\nmetric = "verdict"',
    )
    text = '[options]\nci = "trial"\n' + "".join(f"[[criterion]]\n{row}\n" for row in rows)
    (folder / "criteria.toml").write_text(text)
    code, _, err = run("validate", folder / "eval.csv", "--criteria", folder / "criteria.toml", "--map",
                       folder / "cal.json", "--docx", folder / "validation.docx")  # fmt: skip
    assert code in (0, 1), err
    return folder / "validation.docx"


@pytest.mark.slow
def test_it_has_real_headings_tables_captions_and_pictures(document):
    import docx

    opened = docx.Document(str(document))
    headings = [one.text for one in opened.paragraphs if one.style.name.startswith("Heading")]
    assert {"Summary", "Validation", "What was validated", "Curves", "Methods", "Provenance"} <= set(headings)
    captions = [one.text for one in opened.paragraphs if one.style.name == "Caption"]
    assert len([text for text in captions if text.startswith("Table ")]) == len(opened.tables)
    assert len([text for text in captions if text.startswith("Figure ")]) == len(opened.inline_shapes) >= 8
    matrix = opened.tables[0]
    assert [cell.text for cell in matrix.rows[0].cells][:2] == ["characteristic", "metric"]
    with zipfile.ZipFile(document) as archive:
        assert b"w:tblHeader" in archive.read("word/document.xml")


@pytest.mark.slow
def test_libreoffice_shows_every_page_with_whole_words(document, tmp_path, need_program):
    office, drawn = need_program("soffice"), need_program("pdftoppm")
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    command = [office, profile, "--headless", "--convert-to", "pdf", "--outdir", str(tmp_path), str(document)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    pdf = tmp_path / "validation.pdf"
    text = subprocess.run(
        ["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True, text=True
    ).stdout
    for word in ("characteristic", "calibration", "criterion", "Validation report", "decision"):
        assert word in text, word
    subprocess.run([drawn, "-r", "30", "-gray", pdf, tmp_path / "page"], check=True)
    pages = sorted(tmp_path.glob("page*.pgm"))
    assert 5 <= len(pages) <= 20
    for page in pages:
        _, size, _, pixels = page.read_bytes().split(b"\n", 3)
        wide, high = map(int, size.split())
        gray = np.frombuffer(pixels, np.uint8)[-wide * high :].reshape(high, wide)
        dark = gray < 128
        assert dark.any(), page.name
        assert not dark[:, : wide // 12].any(), page.name  # nothing stands in the margins
        assert not dark[:, -wide // 12 :].any(), page.name
