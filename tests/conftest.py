"""Shared by all tests: where the reference data are, and what happens when something optional is absent."""

import os

# before NumPy: two test processes on two cores leave no room for threads of BLAS, which would wait for each
# other; processes that tests start are told too
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import shutil
import signal
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# No deadline: the first example pays for imports. The same examples every time, and no files left behind.
settings.register_profile(
    "llrkit",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    database=None,
    print_blob=False,
)
settings.load_profile("llrkit")
# A shell without job control lets what it starts in the background ignore Ctrl-C, and so would all commands
# that the tests start, interrupt and wait for.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def absent(what, reason):
    """Skip a test since something optional is absent, in one clear line."""
    pytest.skip(f"{reason} [{what}]")


@pytest.fixture(scope="session")
def shared():
    """The folder with reference data, beside the repository."""
    path = Path(__file__).parents[2] / "shared"
    if not (path / "data").is_dir():
        absent("shared", f"no reference data: {path} is not there")
    return path


@pytest.fixture(scope="session")
def need():
    """``need("pandas")`` gives the package, or skips the test."""

    def find(name):
        try:
            return import_module(name)
        except ImportError:
            return absent(name.partition(".")[0], f"package {name} is not installed")

    return find


@pytest.fixture(scope="session")
def need_program():
    """``need_program("espeak-ng")`` gives the program's path, or skips the test."""

    def find(name):
        return shutil.which(name) or absent(name, f"program {name} is not installed")

    return find


@pytest.fixture(scope="session")
def reference_set(shared):
    """``reference_set(name)`` gives a set of bosaris-1.06.tsv as Scores; each is read once."""
    import polars as pl

    import llrkit as lk

    data, made = shared / "data", {}

    def table(path, separator="\t"):
        return pl.read_csv(data / path, separator=separator, infer_schema_length=None)

    def load(name):
        family, _, part = name.partition(".")
        if family == "evalita09_ru":
            rows = table("evalita09_ru/ru.2009.table.gz")
            return rows["score"].to_numpy(), (rows["target"].cast(pl.String).str.to_lowercase() == "true")
        if family == "sre08_tno":
            rows = table("sre08_tno/tno2008.tsv.gz")
            return rows["score"].to_numpy(), rows["target"] == 1
        if family == "voxceleb1_o":
            rows = table("voxceleb1_o/voxceleb1_o_4systems.tsv.gz")
            return rows[part].to_numpy(), rows["target"] == 1
        if family == "spkr_shift_psr":
            with np.load(data / "spkr_shift_psr/spkr_verif.npz") as arrays:
                log_posterior = arrays[f"{part}_logpost"].astype(np.float64)
                return log_posterior[:, 1] - log_posterior[:, 0], arrays[f"{part}_target"] == 1
        raise KeyError(name)

    def get(name):
        if name not in made:
            scores, is_target = load(name)
            is_target = np.asarray(is_target)
            made[name] = lk.Scores(scores[is_target], scores[~is_target])
        return made[name]

    return get


@pytest.fixture(scope="module")
def chromium(need, need_program):
    """A browser; the test is skipped where there is none."""
    sync_api = need("playwright.sync_api")
    program = need_program("chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe():
    """The program of axe-core, which finds what a screen reader cannot tell; skips where it is not there."""
    file = Path(__file__).parents[1] / ".tools" / "node_modules" / "axe-core" / "axe.min.js"
    if not file.is_file():
        absent("axe-core", "axe-core is not there; .ci/axe-core gets it from npm")
    return file.read_text(encoding="utf-8")
