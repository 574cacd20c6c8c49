"""What a release needs: one version, a README that runs, workflows and a Dockerfile that name what exists.

The slow part, clean environments with each extra, is ``make release-check``.
"""

import json
import re
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from commands import run

import llrkit as lk
from llrkit.cli import cli
from llrkit.cli.read_and_written_paths import leaves

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PACKAGES = {
    "sklearn": ["sklearn"], "hdf5": ["h5py"], "audio": ["soundfile", "kaldi_native_fbank", "kaldiio", "soxr"],
    "dask": ["dask", "distributed"], "docx": ["docx"], "app": ["starlette", "uvicorn"],
}  # fmt: skip


def program(name):
    """A program of .ci, as a module."""
    spec = spec_from_loader(name, SourceFileLoader(name, str(ROOT / ".ci" / name)))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_the_same_everywhere(need):
    citation = need("yaml").safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == lk.__version__
    assert f"version = {{{lk.__version__}}}" in README
    assert citation["license"] == PROJECT["license"] == "MIT"
    assert f"## {lk.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_commands_of_the_readme_run_and_the_report_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = program("newcomer.py").readme_commands()
    assert [words[1] for words in commands] == [
        "simulate", "simulate", "evaluate", "diagnose", "calibrate", "apply", "report"]  # fmt: skip
    for words in commands:
        code, _, said = run(*words[1:])
        assert code == 0, said
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
    assert lk.cllr(lk.read_trials("llrs.csv")) < 0.5 * lk.cllr(lk.sample_trials())


def test_the_seconds_of_a_newcomer_are_those_that_the_program_wrote():
    newcomer = program("newcomer.py")
    page = newcomer.PAGE.read_text(encoding="utf-8")
    shown = page.split(newcomer.MARKS[0])[1].split(newcomer.MARKS[1])[0]
    total, *steps, cpu = (int(number) for number in re.findall(r"(\d+) s\b", shown))
    assert abs(total - sum(steps)) <= 2  # each is rounded
    load = int(next(iter(re.findall(r"load (\d+)", shown)), 0))
    cores = int(re.search(r"(\d+) cores", shown)[1])
    times = dict(zip(("pip install", "llrkit", "report open in a browser"), steps, strict=True))
    assert newcomer.sentence(times, cpu, load, cores).partition(": ")[2] == shown.partition(": ")[2]
    assert newcomer.noted(page, shown) == page


def test_the_table_of_the_readme_is_that_of_the_data(shared):
    file = shared / "data" / "voxceleb1_o" / "voxceleb1_o_4systems.tsv.gz"
    columns = ("ivector_cosine", "ivector_lda", "ivector_plda", "resnet_aam")
    rows = [
        line.strip("|\n").split("|")[1:]
        for line in README.splitlines()
        if re.match(r"\| (i-vector|ResNet)", line)
    ]
    for column, row in zip(columns, rows, strict=True):
        found = lk.evaluate(lk.read_trials(file, score=column, label="target"), ["sre08"])
        point = found.points[0]
        expected = [100 * found.eer, found.cllr, found.min_cllr, found.cllr_cal, point.min_dcf, point.act_dcf]
        shown = [float(cell.replace("%", "")) for cell in row]
        assert shown[0] == pytest.approx(expected[0], abs=0.0051)
        assert shown[1:] == pytest.approx(expected[1:], abs=5.1e-4)


def test_commands_and_files_that_the_readme_names_exist():
    named = set(re.findall(r"`([a-z-]+)`", README.split("More commands:")[1].split("llrkit --help")[0]))
    assert named <= set(cli.commands)
    assert len(named) > 8
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
    extras = set(re.findall(r"`([a-z0-9]+)`", README.split("Extras: ")[1].split(";")[0]))
    assert extras == set(EXTRAS) - {"all", "test", "bench", "docs", "dev", "release"}


def test_all_takes_every_extra_of_users_but_torch():
    (everything,) = EXTRAS["all"]
    taken = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    assert taken == set(PACKAGES)
    assert set(PACKAGES) | {"torch"} == set(EXTRAS) - {"all", "test", "bench", "docs", "dev", "release"}


def test_release_check_runs_every_command():
    commands = program("installed_commands.py")
    known = {" ".join(path) for path, _ in leaves(cli)}
    called = {name for name in known for line, _ in commands.COMMANDS if f"{line} ".startswith(f"{name} ")}
    assert called | commands.ELSEWHERE == known
    assert not called & commands.ELSEWHERE
    assert {needs for _, needs in commands.COMMANDS} - {""} == set(PACKAGES) - {"app"}
    assert set(commands.MODULES.values()) == {"app", "sklearn", "torch"}


WITHOUT_EXTRAS = """
import sys
for name in {packages!r}:
    sys.modules[name] = None
sys.path.insert(0, {folder!r})
import installed_commands as checked
needed = ("simulate sample", "simulate embeddings", "calibrate", "convert", "recognize train e.npz -o")
checked.COMMANDS = [pair for pair in checked.COMMANDS if pair[1] or pair[0].startswith(needed)]
from llrkit.cli import cli
from llrkit.cli.read_and_written_paths import leaves
checked.ELSEWHERE = {{" ".join(path) for path, _ in leaves(cli)}}
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


def test_modules_that_need_an_extra_say_how_to_install_it():
    blocked = sorted({"torch", "torchmetrics", *(name for names in PACKAGES.values() for name in names)})
    script = (
        f"import sys\nfor name in {blocked!r}:\n    sys.modules[name] = None\n"
        f"from importlib import import_module\n"
        f"for module in {sorted(program('installed_commands.py').MODULES)!r}:\n"
        "    try:\n        import_module(module)\n"
        "    except Exception as error:\n        print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert [line.split("llrkit[")[1] for line in told] == ["app]'", "sklearn]'", "torch]'"], told
    assert all(line.startswith("MissingPackageError ") for line in told), told


def workflows(need):
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    return {file.stem: need("yaml").safe_load(file.read_text(encoding="utf-8")) for file in files}


def test_workflows_call_targets_that_exist_and_have_few_permissions(need):
    found = workflows(need)
    assert set(found) == {"tests", "docs", "release"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for content in found.values():
        assert content["permissions"] == {"contents": "read"}
        for job in content["jobs"].values():
            assert job["timeout-minutes"] <= 60
            for step in job["steps"]:
                for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
                    assert f"\n{target}:" in makefile
                if "uses" in step:  # a tag can be moved to other code, a commit cannot
                    assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
                if "checkout" in step.get("uses", ""):
                    assert step["with"] == {"persist-credentials": False}


def test_the_versions_of_python_that_are_named_are_those_that_are_tested(need):
    jobs = workflows(need)["tests"]["jobs"]
    tested = {"3.11", *jobs["newest"]["strategy"]["matrix"]["python"]}
    named = {word.rpartition(" ")[2] for word in PROJECT["classifiers"] if "Python :: 3." in word}
    assert named == tested
    assert PROJECT["requires-python"] == f">={min(named, key=lambda one: int(one[2:]))}"


def test_only_the_job_that_publishes_may_ask_for_an_identity_and_no_password_is_stored(need):
    release = workflows(need)["release"]
    publish = release["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi"
    assert publish["needs"] == "build"
    assert "secrets." not in json.dumps(release)
    assert "permissions" not in release["jobs"]["build"]


def test_the_dockerfile_copies_what_exists_and_does_not_run_as_root():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for name in line.split()
    }
    assert copied == let_in
    assert all((ROOT / name).exists() for name in copied)
    assert text.index("USER 1000") < text.index("ENTRYPOINT")
    assert "curl" not in text


def test_the_wheel_holds_the_package_and_the_sdist_no_machinery():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
        "targets"
    ]
    assert build["wheel"]["packages"] == ["src/llrkit"]
    assert "/.github" in build["sdist"]["exclude"]
    large = {
        file.name: file.stat().st_size
        for file in (ROOT / "src").rglob("*")
        if file.is_file() and file.suffix != ".pyc" and file.stat().st_size > 60_000
    }
    assert large == {}, "plotly's program, say, comes with plotly and must not be in the wheel too"
