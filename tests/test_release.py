"""What a release needs: one version, a README with the numbers of the data, commands that name their extras.

Clean environments with each extra are checked by ``make release-check``.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import llrkit as lk

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PACKAGES = {
    "sklearn": ["sklearn"], "hdf5": ["h5py"], "audio": ["soundfile", "kaldi_native_fbank", "kaldiio", "soxr"],
    "dask": ["dask", "distributed"], "docx": ["docx"], "app": ["starlette", "uvicorn"],
}  # fmt: skip


def test_the_version_and_the_extras_are_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: \"?([\w.]+)", citation, re.MULTILINE)[1] == lk.__version__
    assert f"version = {{{lk.__version__}}}" in README
    assert f"## {lk.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (everything,) = EXTRAS["all"]
    assert set(re.search(r"\[(.*)\]", everything)[1].split(",")) == set(PACKAGES)
    assert set(PACKAGES) | {"torch"} <= set(EXTRAS)


def test_the_table_of_the_readme_is_that_of_the_data(shared):
    file = shared / "data" / "voxceleb1_o" / "voxceleb1_o_4systems.tsv.gz"
    columns = ("ivector_cosine", "ivector_lda", "ivector_plda", "resnet_aam")
    rows = [
        line.strip("|\n").split("|")[1:]
        for line in README.splitlines()
        if re.match(r"\| (i-vector|ResNet)", line)
    ]
    for column, row in zip(columns, rows, strict=True):
        found = lk.evaluate(lk.read_trials(file, score=column, label="target"), points=["sre08"])
        point = found.points[0]
        expected = [100 * found.eer, found.cllr, found.min_cllr, found.cllr_cal, point.min_dcf, point.act_dcf]
        shown = [float(cell.replace("%", "")) for cell in row]
        assert shown[0] == pytest.approx(expected[0], abs=0.0051)
        assert shown[1:] == pytest.approx(expected[1:], abs=5.1e-4)


WITHOUT_EXTRAS = """
import sys
for name in {packages!r}:
    sys.modules[name] = None
sys.path.insert(0, {folder!r})
import installed_commands as checked
needed = ("simulate sample", "simulate embeddings", "calibrate", "convert eval", "speech train e.npz -o")
checked.COMMANDS = [pair for pair in checked.COMMANDS if pair[1] or pair[0].startswith(needed)]
from llrkit.jobs.table import VERBS
checked.ELSEWHERE = set(VERBS)
sys.argv = ["installed_commands.py", {place!r}]
sys.exit(checked.main())
"""


@pytest.mark.slow
def test_without_extras_every_command_that_needs_one_says_how_to_install_it(tmp_path):
    packages = ["torchmetrics", *(name for names in PACKAGES.values() for name in names)]
    script = WITHOUT_EXTRAS.format(packages=packages, folder=str(ROOT / ".ci"), place=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]
