"""Links of the documentation lead somewhere, and the commands it shows run."""

import os
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import llrkit as lk
from llrkit.cli import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s]+)\)")
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
ELSEWHERE = {"recordings-to-llrs.md", "embeddings-to-llrs.md", "case.md", "scale.md", "index.md"}
"""Pages whose commands another test runs, or that show more than one machine has."""
COMMANDS = [
    page
    for folder in ("tutorials", "how-to", "for", "reference", "explanation")
    for page in sorted((DOCS / folder).glob("*.md"))
    if page.name not in ELSEWHERE and SHELL.search(page.read_text(encoding="utf-8"))
]
pytestmark = pytest.mark.slow


def anchors(page):
    """The places of a page that a link may name, as GitHub and MyST call them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page):
    """Links whose file or place is not there; pages of the gallery are made from the examples."""
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))):
        path, _, place = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        if target.suffix == ".rst" and "gallery" in target.parts:
            example = ROOT / "examples" / target.parent.name / f"{target.stem}.py"
            found = target.stem == "index" or example.is_file()
        else:
            found = target.exists()
        if not found or (place and target.suffix == ".md" and place not in anchors(target)):
            yield link


def test_links_lead_somewhere(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A b\n\n[x](nowhere.md) [y](#a-b) [z](#c) [w](page.md#a-b)\n", encoding="utf-8")
    assert list(broken_links(page)) == ["nowhere.md", "#c"]
    broken = {
        page.name: list(broken_links(page)) for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    }
    assert {page: links for page, links in broken.items() if links} == {}


def test_tests_that_pages_name_exist():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    named = re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", "".join(
        (DOCS / page).read_text(encoding="utf-8") for page in ("notes/guarantees.md", "reference/misuse.md")
    ))  # fmt: skip
    assert len(named) > 100
    for file, test in named:
        texts = [sources[ROOT / file]] if file else sources.values()
        assert any(f"def {test}(" in text for text in texts), (file, test)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that the pages speak of, small."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(1)

    def trials(seed, people="s"):
        rng = np.random.default_rng(seed)
        left, right = np.triu_indices(40, 1)
        same = left // 4 == right // 4
        return pl.DataFrame({
            "enroll": [f"{people}e{i}" for i in left], "test": [f"{people}t{i}" for i in right],
            "score": np.where(same, 3.0, -3.0) + rng.normal(0, 2.6, len(same)), "label": same,
            "enroll_speaker": [f"{people}{i // 4}" for i in left],
            "test_speaker": [f"{people}{i // 4}" for i in right],
            "room": rng.choice(["quiet", "noisy"], len(same)),
        })  # fmt: skip

    dev, evaluation = trials(2), trials(3, "t")
    dev.write_csv(folder / "dev.csv")
    for name in ("eval", "scores", "a"):
        evaluation.write_csv(folder / f"{name}.csv")
    other = evaluation.with_columns(score=2 * evaluation["score"] + rng.normal(0, 1, len(evaluation)))
    other.write_csv(folder / "b.csv")
    other.with_columns(pl.col("score").round(1)).write_csv(folder / "c.csv")
    evaluation.select("enroll", "test", "score").write_csv(
        folder / "scores.txt", separator=" ", include_header=False
    )
    words = pl.when("label").then(pl.lit("target")).otherwise(pl.lit("nontarget"))
    evaluation.select("enroll", "test", words).write_csv(
        folder / "trials.txt", separator=" ", include_header=False
    )
    evaluation.with_columns(score=-evaluation["score"]).write_csv(folder / "distances.csv")
    ja = pl.when("label").then(pl.lit("ja")).otherwise(pl.lit("nein"))
    evaluation.with_columns(label=ja).write_csv(folder / "words.csv")
    evaluation.select(cosine="score", truth="label").write_csv(folder / "strange.csv")
    evaluation.select("enroll", "test", pl.col("label").cast(int), "score").write_csv(
        folder / "noheader.txt", separator=" ", include_header=False
    )
    rows = [f"{i};{score:.3f};{int(label)}".replace(".", ",")
            for i, (score, label) in enumerate(evaluation.select("score", "label").iter_rows())]  # fmt: skip
    (folder / "table.csv").write_text(
        "Prüfling;score;label\n" + "\n".join([*rows, "x;;0"]), encoding="latin-1"
    )
    moved = np.concatenate([rng.normal(2.0, 1.5, 2000), rng.normal(-4.0, 1.5, 4000)])
    pl.DataFrame({"score": moved}).write_csv(folder / "new.csv")
    kind = np.repeat(["target", "nontarget", "spoof"], [100, 200, 300])
    means = {"target": (3, 3), "nontarget": (-3, 3), "spoof": (2, -3)}
    asv, cm = (np.array([means[k][i] for k in kind]) + 2 * rng.normal(size=600) for i in (0, 1))
    attack = np.where(kind == "spoof", rng.choice(["A01", "A02"], 600), "-")
    table = pl.DataFrame({"asv": asv, "cm": cm, "label": kind, "attack": attack})
    table.write_csv(folder / "sasv.tsv", separator="\t")
    bona_fide = np.where(kind == "spoof", "spoof", "bonafide")
    table.select(score="cm", label=pl.Series(bona_fide), attack="attack").write_csv(
        folder / "cm.tsv", separator="\t"
    )
    lk.calibrate(lk.read_trials(folder / "dev.csv"), bound="none").map.save(folder / "cal.json")
    return folder


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.stem)
def test_commands_of_a_page_run(page, files, tmp_path, monkeypatch, need):
    need("docx")
    folder = tmp_path / "files"
    shutil.copytree(files, folder)
    monkeypatch.chdir(folder)
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        (folder / "criteria.toml").write_text(block, encoding="utf-8")
    lines = [line for block in SHELL.findall(text) for line in block.splitlines() if line.strip()]
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        assert program == "llrkit", line
        if arguments[:2] == ["simulate", "sample"] and Path(arguments[-1]).exists():
            continue  # the file of that name here is a tenth as large
        result = CliRunner().invoke(cli, arguments)
        # a validation that is not passed has exit code 1; whether it is depends on the files, not on the page
        allowed = (0, 1) if arguments[0] == "validate" else (0,)
        assert result.exit_code in allowed, (line, result.output[-1500:], result.exception)
    assert os.listdir(folder)
