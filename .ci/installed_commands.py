"""Run every command of an installed llrkit here; a missing extra is told with the line to install it.

    python installed_commands.py FOLDER EXTRA...    # the extras that are installed

Writes its files into FOLDER and prints one line for each fault; exit code 1 if there are any.
"""

from __future__ import annotations

import math
import os
import struct
import sys
import wave
from importlib import import_module
from pathlib import Path

COMMANDS: list[tuple[str, str]] = [
    ("simulate sample -o eval.csv", ""),
    ("simulate sample --split dev -o dev.csv", ""),
    ("simulate scores --targets 40 --nontargets 200 -o g.csv", ""),
    ("simulate scores --model mixture --targets 40 --nontargets 200 -o g.parquet", ""),
    ("simulate scores --model gamma --targets 40 --nontargets 200 -o g.tsv", ""),
    ("simulate scores --model unequal --targets 40 --nontargets 200 -o g.csv", ""),
    ("simulate scores --model durations --targets 40 --nontargets 200 -o g.csv", ""),
    ("simulate plda --dim 6 --speakers 8 --models 16 --tests 16 -o p.csv", ""),
    ("simulate embeddings --dim 6 --background 30 --speakers 6 --sessions 2 -o e.npz", ""),
    ("simulate frames --speakers 3 --seconds 2 -o f.npz", ""),
    ("evaluate eval.csv --by test_duration --json e.json --html e.html", ""),
    ("diagnose dev.csv", ""),
    ("calibrate dev.csv -o cal.json", ""),
    ("apply cal.json eval.csv -o llrs.csv", ""),
    ("diagnose dev.csv eval.csv --methods cmlg,logistic", ""),
    ("threshold dev.csv --on eval.csv", ""),
    ("shift cal.json eval.csv", ""),
    ("shift cal.json eval.csv --labeled dev.csv -o adapted.json", ""),
    ("report llrs.csv -o report.html", ""),
    ("report llrs.csv -o report.html --docx report.docx", "docx"),
    ("plot det llrs.csv -o det.pdf", ""),
    ("plot tippett llrs.csv -o tippett.html", ""),
    ("validate --init criteria.toml", ""),
    ("validate llrs.csv --criteria criteria.toml", ""),
    ("case cal.json --score 0.5 --h1 same --h2 other", ""),
    ("case cal.json --score 0.5 --h1 same --h2 other --docx case.docx", "docx"),
    ("convert eval.csv eval.parquet", ""),
    ("evaluate eval.parquet --workers 1", "dask"),
    ("convert eval.csv eval.h5 --key-output key.h5", "hdf5"),
    ("convert p.csv compound.csv --compound 0.5", ""),
    ("simulate sample --system cosine -o cosine.csv", ""),
    ("compare eval.csv cosine.csv", ""),
    ("fuse eval.csv cosine.csv -o fusion.json", ""),
    ("biometrics rates eval.csv --fmr 0.1", ""),
    ("biometrics differential eval.csv --by gender --fmr 0.1", ""),
    ("biometrics identify p.csv", ""),
    ("spoof spoof.csv", ""),
    ("speech train e.npz -o m.npz", ""),
    ("speech train e.npz --backend svm -o svm.npz", "sklearn"),
    ("speech enroll m.npz e.npz -o models.npz", ""),
    ("speech extract m.npz e.npz -o x.npz", ""),
    ("speech extract m.npz e.npz -o x.ark", "audio"),
    ("speech cohort m.npz e.npz -o c.npz", ""),
    ("speech score m.npz models.npz e.npz -o scores.csv", ""),
    ("speech train wavs.tsv --gaussians 2 --factors 2 -o speech.npz", "audio"),
    ("speech import-kaldi plda -o k.npz", ""),
    ("paper prior-scan", ""),
    ("paper real --scores eval.csv --by gender", ""),
    ("theory --eer 5%", ""),
]
"""Each with the extra it needs."""
MODULES = {"llrkit.app.server": "app", "llrkit.sklearn": "sklearn", "llrkit.torch": "torch"}
"""Modules that import an extra as a whole, with that extra."""
ELSEWHERE = {"app", "paper durations"}
"""``app`` serves until it is ended, and is imported instead; the others take long."""


def main() -> int:
    """Run all of them."""
    folder, extras = Path(sys.argv[1]), set(sys.argv[2:])
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    from click.testing import CliRunner

    from llrkit.cli import cli
    from llrkit.cli.program import explained
    from llrkit.errors import MissingPackageError
    from llrkit.jobs.table import VERBS

    faults = []
    known = set(VERBS)
    run = {name for name in known for line, _ in COMMANDS if f"{line} ".startswith(f"{name} ")}
    faults += [f"not run: {name}" for name in sorted(known - run - ELSEWHERE)]
    make_inputs()
    for line, needs in COMMANDS:
        result = CliRunner().invoke(cli, line.split())
        code, told = result.exit_code, result.stderr
        if isinstance(result.exception, Exception):
            told, code = explained(result.exception)
        there = needs in extras or not needs
        if there and code not in (0, 1 if line.startswith("validate") else 0):
            faults.append(f"{line}: exit code {code}: {told.strip()[-300:]}")
        if not there and (code != 2 or f"llrkit[{needs}]" not in told):
            faults.append(
                f"{line}: expected the line to install {needs}, got code {code}: {told.strip()[-300:]}"
            )
    for module, needs in MODULES.items():
        try:
            import_module(module)
            told = "" if needs in extras else f"imported without the extra {needs}"
        except MissingPackageError as error:
            told = "" if needs not in extras and f"llrkit[{needs}]" in str(error) else str(error)
        except ImportError as error:
            told = f"expected the line to install {needs}, got {type(error).__name__}: {error}"
        if told:
            faults.append(f"{module}: {told}")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def make_inputs() -> None:
    """Files that no command makes: three kinds of trials, tones as recordings, a PLDA model of Kaldi."""
    kinds = ("target", "nontarget", "spoof")
    rows = [f"{i % 7 - 2 * (i % 3)},{i % 5 - (i % 3)},{kinds[i % 3]}" for i in range(300)]
    Path("spoof.csv").write_text("\n".join(["asv,cm,label", *rows]) + "\n")
    Path("plda").write_text("<Plda>  [ 0 0 ]\n [\n  1 0\n  0 1 ]\n [ 3 1 ]\n</Plda> ")
    lines = []
    for i in range(6):
        name = f"tone{i}.wav"
        with wave.open(name, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            rate = (200 + 60 * (i // 2)) * 2 * math.pi / 8000
            sound = (
                math.sin(rate * k) * (1 + math.sin(0.003 * k * (1 + i))) + 0.1 * math.sin(k * k)
                for k in range(16000)
            )
            file.writeframes(b"".join(struct.pack("<h", int(9000 * one)) for one in sound))
        lines.append(f"s{i // 2}\t{name}")
    Path("wavs.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
