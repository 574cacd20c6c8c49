"""One trial is a trial: whatever commands say, print and refuse agrees in number."""

import re

import numpy as np
import pytest
from commands import run

import llrkit as lk

ONE_OF_MANY = re.compile(
    r"(?<![\d.,])\b1 (?:target |non-target |training )?"
    r"(?:trials|scores|LLRs|speakers|files|columns|rows|values|labels|fields|systems|names|errors|groups)\b"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    rows = [f"m{i},s{i},{x},{k}" for i, (x, k) in enumerate(
        [(4.0, "target")] + [(x, "nontarget") for x in rng.normal(size=40)])]  # fmt: skip
    head = "enroll,test,score,label"
    (tmp_path / "one.csv").write_text("\n".join([head, *rows]) + "\n")
    (tmp_path / "again.csv").write_text("\n".join([head, *rows, rows[3]]) + "\n")
    (tmp_path / "short.csv").write_text("\n".join([head, *rows[:-1]]) + "\n")
    (tmp_path / "single.csv").write_text("score\n1.5\n")
    (tmp_path / "bad.csv").write_text("score,label\n1,target\n2\n")
    lk.AffineMap(a=1.0, b=0.0).save(tmp_path / "cal.json")
    return tmp_path


@pytest.mark.parametrize(
    "typed",
    [
        "evaluate one.csv",
        "evaluate again.csv",
        "evaluate again.csv --duplicates drop",
        "evaluate bad.csv",
        "evaluate one.csv --by test",
        "diagnose one.csv",
        "calibrate one.csv -o o.json --bound none --option regularization=0.1",
        "calibrate one.csv -o o.json --method nig",
        "threshold one.csv",
        "apply cal.json single.csv -o o.csv --outside warn",
        "apply cal.json one.csv short.csv -o o.csv",
        "convert single.csv o.parquet",
        "compare-systems one.csv short.csv",
        "compare-systems one.csv short.csv --missing drop",
        "fuse one.csv short.csv -o o.json --regularization 0.1",
        "plot det one.csv --names a,b -o o.png",
        "report one.csv -o o.html",
        "evaluate one.csv --key short.csv --missing drop",
    ],
)
def test_what_is_said_of_one_is_singular(typed, place):
    code, out, err = run(*typed.split())
    assert code in (0, 1, 2)
    assert not ONE_OF_MANY.findall(out + err), out + err
    assert not re.search(r"\b1 [a-z]+ (?:are|have|were|do)\b", out + err), out + err
    if (place / "o.html").exists():
        page = re.sub(
            r"<script.*?</script>|<style.*?</style>", "", (place / "o.html").read_text(), flags=re.S
        )
        assert not ONE_OF_MANY.findall(re.sub(r"<[^>]+>", " ", page))
