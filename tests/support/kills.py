"""Every command that writes, killed at any moment and taken up again with other options.

Whatever is there after a kill is what some clean run writes, whole; and what is there after the next run is
what a clean run of that very command writes, byte for byte, with nothing beside it. Only dates, times taken
and the random names of plots are left out of the comparison.

A kill comes at a file event: the clean run counts its events (Python's audit events of files), and a run is
ended at one of them. So no kill depends on how fast the machine is.

This process forks the commands, so that they start at once. It must not use polars itself: its threads would
not survive the fork.
"""

from __future__ import annotations

import os
import pkgutil
import random
import re
import shutil
import signal
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path

from llrkit.errors import MissingPackageError

SMALL = "--targets 40 --nontargets 200 --seed"
SPEECH = "--dim 6 --background 30 --speakers 6 --sessions 2 --seed"


def each(command: str, *options: str) -> list[str]:
    """A command with several sets of options."""
    return [command.format(option).strip() for option in options]


COMMANDS = {
    "adapt": each("shift t.json {} -o o/cal.json --json o/n.json", "x.csv", "x.csv --share 0.3,0.7"),
    "apply": each(
        "apply {} -o o/llrs/", "a.json d --score-column plda", "b.json d --score-column plda",
        "a.json d --score-column cos --base-10", "a.json d/p*.parquet --log10 --score-column cos",
    ),
    "apply to a file": each("apply {} -o o/llrs.parquet", "a.json d --score-column plda", "b.json x.csv"),
    "calibrate": each(
        "calibrate x.csv --method {} -o o/cal.json --json o/n.json", "cmlg", "logistic", "pav"
    ),
    "case": each(
        "case k.json --h1 same --h2 other --train x.csv {} --md o/r.md --html o/p.html --docx o/p.docx "
        "--json o/n.json", "--score 0.5", "--scores u.csv --validation y.csv --verbal",
    ),
    "compare": each("compare x.csv y.csv --ids test --level {} --json o/n.json", "95%", "90%"),
    "convert": each(
        "convert {} o/one.csv", "d --score-column plda", "x.csv", "d/p1.parquet --score-column cos --distance"
    ),
    "convert to compound LLRs": each("convert q.csv o/c.csv --compound {}", "0", "0.5"),
    "convert with a key": each("convert {} o/s.kaldi --key-output o/k", "x.csv", "y.csv"),
    "convert to Parquet": each("convert {} o/one.parquet", "d --score-column plda", "y.csv --log10"),
    "biometrics differential": each(
        "biometrics differential {} --by room --fmr 0.1 --json o/n.json", "x.csv", "y.csv"
    ),
    "biometrics rates": each(
        "biometrics rates {} --fmr 0.1 --html o/r.html --json o/n.json", "x.csv", "y.csv"
    ),
    "biometrics identify": each("biometrics identify q.csv --fnir-rank {} --json o/n.json", "1", "5"),
    "diagnose": each("diagnose {} --json o/n.json", "x.csv", "y.csv"),
    "diagnose with methods": each(
        "diagnose x.csv z.csv --methods {} --json o/n.json --html o/p.html", "cmlg", "logistic,pav"
    ),
    "evaluate": each("evaluate {} --json o/n.json --html o/p.html", "x.csv", "y.csv --point 0.05"),
    "fuse": each(
        "fuse x.csv y.csv --ids test --method {} -o o/f.json --json o/n.json", "logistic", "gaussian"
    ),
    "plot": each("plot {} -o o/p.svg", "det x.csv", "tippett y.csv"),
    "plot as a page": each("plot {} -o o/p.html", "det x.csv", "ece y.csv"),
    "speech train": each(
        "speech train e.npz --backend {} -o o/m.npz --json o/n.json", "plda", "cosine"
    ),
    "speech enroll": each("speech enroll m.npz e.npz {} -o o/e.npz", "", "--each"),
    "speech import-kaldi": each("speech import-kaldi plda {} -o o/k.npz", "", "--no-length"),
    "speech extract": each("speech extract m.npz e.npz -o {}o/x.ark", "", "./"),
    "speech cohort": each("speech cohort m.npz e.npz --json o/n.json -o {}o/c.npz", "", "./"),
    "speech score": each(
        "speech score m.npz s.npz e.npz {} -o o/s.csv", "", "--norm s --cohort e.npz"
    ),
    "report": each("report {} -o o/p.html --json o/n.json", "x.csv", "x.csv y.csv"),
    "paper --small": each("paper --small -o o/demo --seed {}", "2013", "7"),
    "paper durations": each("paper durations -o o/r --json o/n.json --seed {}", "1", "2"),
    "paper prior-scan": each("paper prior-scan -o o/r --json o/n.json --seed {}", "1", "2"),
    "paper real": each(
        "paper real --scores {} --by room -o o/r --json o/n.json", "x.csv", "y.csv"
    ),
    "shift": each("shift t.json {} --json o/n.json", "x.csv", "y.csv --share 0.3,0.7"),
    "simulate durations scores": each(
        f"simulate scores --model durations {SMALL} {{}} -o o/s.csv --json o/n.json", "1", "2"
    ),
    "simulate embeddings": each(f"simulate embeddings {SPEECH} {{}} -o o/e.npz", "1", "2"),
    "simulate frames": each(
        "simulate frames --speakers 3 --seconds 2 --seed {} -o o/f.npz --utt2spk o/u", "1", "2"
    ),
    "simulate gamma scores": each(
        f"simulate scores --model gamma {SMALL} {{}} -o o/s.parquet", "1", "2"
    ),
    "simulate scores": each(f"simulate scores {SMALL} {{}} -o o/s.kaldi --key-output o/k", "1", "2"),
    "simulate a folder": each("simulate scores --trials 300000 --seed {} -o o/parts/", "1", "2"),
    "simulate mixture scores": each(
        f"simulate scores --model mixture {SMALL} {{}} -o o/s.tsv", "1", "2"
    ),
    "simulate plda": each(
        "simulate plda --dim 6 --speakers 8 --models 16 --tests 16 --seed {} -o o/s.csv", "1", "2"
    ),
    "simulate sample": each("simulate sample --split {} -o o/s.csv", "dev", "eval"),
    "simulate unequal scores": each(
        f"simulate scores --model unequal {SMALL} {{}} -o o/s.arrow", "1", "2"
    ),
    "spoof": each("spoof w.csv --json o/n.json {}", "", "--attack-column attack --eer nearest"),
    "theory": each("theory --eer {} --json o/n.json", "5%", "7%"),
    "threshold": each("threshold {} --json o/n.json", "x.csv", "y.csv --on x.csv --false-alarm-rate 5%"),
    "validate": each(
        "validate {} --criteria c.toml --md o/r.md --html o/p.html --json o/n.json", "x.csv",
        "y.csv --verbal",
    ),
}  # fmt: skip
LONG = ("paper --small", "paper durations", "paper prior-scan")
"""Commands that take seconds: they are killed less often."""
NEW_FOLDER = ("simulate a folder",)
"""Commands that do not write into a folder that is there."""
TIMES = [
    (rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}", b"DATE"),
    (rb'"seconds": [0-9.e-]+', b'"seconds": 0'),
    (rb"<dc:date>[^<]*", b"<dc:date>"),
    (rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"DATE"),
    (rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b"NAME"),  # of a plot in a page
]


def attack_commands(
    kills: int, seed: int, place: str | None = None, names: tuple[str, ...] = ()
) -> Counter[str]:
    """Kill commands so many times; gives what was seen. A fault is printed, and counted as one."""
    for module in pkgutil.walk_packages(import_module("llrkit").__path__, "llrkit."):
        if "__main__" not in module.name:
            with suppress(MissingPackageError):
                import_module(module.name)
    rng, seen = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(dir=place) as root:
        inputs = Path(root) / "inputs"
        assert forked(lambda: make_inputs(inputs), Path(root)) == 0, log(Path(root))
        runs = {name: Command(name, Path(root), inputs) for name in names or COMMANDS}
        order = [name for name in runs for _ in range(1 if name in LONG else 3)]
        for i in range(3 * kills):  # some end before they are killed, and do not count
            if seen["killed"] == kills:
                break
            if i % len(order) == 0:
                rng.shuffle(order)
            command = runs[order[i % len(order)]]
            try:
                seen.update(command.killed_and_resumed(rng))
            except AssertionError as fault:
                seen["FAULT"] += 1
                print(f"kill {i}, {command.name}: {str(fault)[:2000]}", flush=True)
                command.start_again()
            if i % 10 == 9:
                print(dict(seen), flush=True)
    return seen


class Command:
    """One command with several sets of options, in a folder of its own."""

    def __init__(self, name: str, root: Path, inputs: Path) -> None:
        self.name, self.inputs, self.variants = name, inputs, COMMANDS[name]
        self.place = root / name.replace(" ", "-")
        self.clean: dict[str, dict[str, bytes]] = {}
        self.events: dict[str, int] = {}
        self.last = ""
        self.start_again()

    def start_again(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.inputs, self.place)
        (self.place / "o").mkdir()

    def ran_clean(self, variant: str) -> dict[str, bytes]:
        """What the command writes where nothing was before."""
        if variant not in self.clean:
            place = self.place.with_name("clean")
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(self.inputs, place)
            (place / "o").mkdir()
            code = forked(lambda: counting_events(lambda: llrkit(variant), place / "log-events"), place)
            assert code in (0, 1), f"{variant}: ended with {code}: {log(place)}"
            self.events[variant] = int((place / "log-events").read_text())
            self.clean[variant] = written(place)
            assert self.clean[variant], f"{variant}: wrote nothing: {log(place)}"
        return self.clean[variant]

    def killed_and_resumed(self, rng: random.Random) -> Counter[str]:
        """Kill a run, look at what is there, let another one finish, and look again."""
        seen = Counter[str]()
        before = content(self.inputs)
        for variant in self.variants:  # all, since any of them may be what a kill leaves
            self.ran_clean(variant)
        killed = rng.choice([one for one in self.variants if one != self.last])
        seen[self.kill(killed, rng)] += 1
        seen["half-written"] += any(".llrkit" in name for name in content(self.place / "o"))
        wholes = {(name, data) for files in self.clean.values() for name, data in files.items()}
        for name, data in written(self.place).items():
            assert (name, data) in wholes, f"after the kill of {killed}: {name} is of no clean run"
        resumed = rng.choice([one for one in self.variants if one != killed])
        if self.name in NEW_FOLDER:
            shutil.rmtree(self.place / "o" / "parts", ignore_errors=True)
        code = forked(lambda: llrkit(resumed), self.place)
        assert code in (0, 1), f"{resumed}: ended with {code}: {log(self.place)}"
        found = content(self.place / "o")
        assert found.keys() == self.clean[resumed].keys(), (
            f"{resumed} after {killed}: {sorted(found.keys() ^ self.clean[resumed].keys())}"
        )
        for name, data in self.clean[resumed].items():
            assert found[name] == data, f"{resumed} after {killed}: {name} differs from a clean run"
        after = {
            name: data for name, data in content(self.place).items() if not name.startswith(("o/", "log"))
        }
        assert after == before, f"{resumed} after {killed}: inputs have changed"
        self.last = resumed
        return seen

    def kill(self, variant: str, rng: random.Random) -> str:
        last = rng.randint(1, self.events[variant])
        code = forked(lambda: killed_at(last, lambda: llrkit(variant)), self.place)
        return "killed" if code == -signal.SIGKILL else "ended before"


def on_file_events(note: Callable[[], None]) -> None:
    """Call ``note`` before every file event of this process, for the rest of its life."""
    sys.addaudithook(lambda event, _: note() if event.startswith(("open", "os.", "shutil.")) else None)


def counting_events(work: Callable[[], None], file: Path) -> None:
    """Do something, and write the number of its file events."""
    events = count(1)
    on_file_events(lambda: next(events))
    try:
        work()
    finally:
        file.write_text(str(next(events) - 1))


def killed_at(last: int, work: Callable[[], None]) -> None:
    """Do something in this process, which is killed at this file event."""
    events = count(1)
    on_file_events(lambda: os.kill(os.getpid(), signal.SIGKILL) if next(events) == last else None)
    work()


def content(folder: Path) -> dict[str, bytes]:
    """All files of a folder and of those in it, but for dates."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() or file.name.endswith(".llrkit"))
    return {str(file.relative_to(folder)): without_times(file) for file in files}


def written(place: Path) -> dict[str, bytes]:
    """What a command wrote, without what is hidden and notes of what is done."""
    files = content(place / "o").items()
    return {name: data for name, data in files if ".llrkit" not in name and "_done" not in name}


def without_times(file: Path) -> bytes:
    data = b"" if file.is_dir() else file.read_bytes()
    half_written = any(".llrkit" in part for part in file.parts)  # which is no archive yet
    if file.suffix == ".docx" and not half_written:
        with zipfile.ZipFile(file) as document:  # whose directory has the times of writing
            data = b"".join(name.encode() + document.read(name) for name in document.namelist())
    if file.suffix in (".docx", ".html", ".json", ".md", ".svg"):
        for pattern, word in TIMES:
            data = re.sub(pattern, word, data)
    return data


def llrkit(arguments: str) -> None:
    """The program, in this process."""
    from llrkit.cli import main

    sys.argv = ["llrkit", *arguments.split()]
    main()


def forked(work: Callable[[], None], place: Path) -> int:
    """Do something in a process of its own; gives its exit code."""
    child = os.fork()
    if child == 0:
        in_child(work, place)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_child(work: Callable[[], None], place: Path) -> None:
    code = 70
    try:
        os.chdir(place)
        out = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(out, 1)
        os.dup2(out, 2)
        work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def log(place: Path) -> str:
    """What a process printed."""
    return (place / "log").read_text(errors="replace")[-1500:]


def make_inputs(folder: Path) -> None:
    """Scores, folders, maps, criteria, and a small recognizer."""
    import numpy as np
    import polars as pl

    import llrkit as lk

    (folder / "d").mkdir(parents=True)
    rng = np.random.default_rng(1)
    for i in range(4):
        label = np.arange(20_000) % 2
        table = {"plda": rng.normal(size=20_000) + label, "cos": rng.normal(size=20_000), "label": label}
        pl.DataFrame({"test": np.arange(20_000), **table}).write_parquet(folder / "d" / f"p{i}.parquet")
    for name in ("x", "y", "z"):
        label = np.arange(600) % 2
        rooms = {"room": np.arange(600) // 200, "score": rng.normal(size=600) + 1.5 * label, "label": label}
        ids = {
            "enroll": [f"{'z' * (name == 'z')}m{i}" for i in range(600)],
            "test": [f"t{i}" for i in range(600)],
        }
        pl.DataFrame({**ids, **rooms}).write_csv(folder / f"{name}.csv")
    model, segment = np.divmod(np.arange(400), 40)
    label = model == segment % 10
    crossed = {"enroll": model, "test": segment, "score": rng.normal(size=400) + 2 * label, "label": label}
    pl.DataFrame(crossed).write_csv(folder / "q.csv")
    questioned = {"enroll": ["m0", "m1"], "test": ["t0", "t1"], "score": [0.25, 1.5]}
    pl.DataFrame(questioned).write_csv(folder / "u.csv")
    kinds = np.array(["target", "nontarget", "spoof"])[np.arange(300) % 3]
    attacks = np.where(kinds == "spoof", np.array(["A1", "A2"])[np.arange(300) // 3 % 2], "bonafide")
    asv, cm = rng.normal(size=300) + 2 * (kinds != "nontarget"), rng.normal(size=300) + 2 * (kinds != "spoof")
    pl.DataFrame({"asv": asv, "cm": cm, "label": kinds, "attack": attacks}).write_csv(folder / "w.csv")
    lk.maps.AffineMap(a=2.0, b=1.0).save(folder / "a.json")
    train = lk.Scores(rng.normal(1.5, 1.0, 300), rng.normal(0.0, 1.0, 300))
    lk.calibrate(train, method="cmlg", bound="none").map.save(folder / "t.json")
    lk.maps.AffineMap(a=0.5, b=-1.0).save(folder / "b.json")
    (folder / "c.toml").write_text(
        '[[criterion]]\ncharacteristic = "accuracy"\nmetric = "cllr"\nat_most = 2.0\n'
    )
    os.chdir(folder)
    (folder / "plda").write_text("<Plda>  [ 0 0 ]\n [\n  1 0\n  0 1 ]\n [ 3 1 ]\n</Plda> ")
    for command in ("calibrate x.csv --method cmlg -o k.json", f"simulate embeddings {SPEECH} 3 -o e.npz",
                    "speech train e.npz -o m.npz", "speech enroll m.npz e.npz -o s.npz"):  # fmt: skip
        with suppress(SystemExit):
            llrkit(command)
