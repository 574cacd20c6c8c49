"""report: a page or a Word document on one or several systems."""

from __future__ import annotations

from typing import Any

from llrkit.base.process import stage, tracked
from llrkit.biometrics.verification import verification_rates
from llrkit.errors import InputError
from llrkit.fits.folds import CANDIDATES
from llrkit.io.read_options import Reading
from llrkit.jobs import options as of
from llrkit.jobs.biometrics import rates_section
from llrkit.jobs.evaluate import evaluate_classes, named_shift, ties_of, write_page
from llrkit.jobs.job import Run
from llrkit.jobs.kinds import of_classes, refuse_for_two
from llrkit.trust.bands import curve_bands
from llrkit.trust.calibration_check import check_calibration
from llrkit.verbs.compare import compare
from llrkit.verbs.evaluate import evaluate
from llrkit.verbs.options import EvaluateOptions


def report_files(run: Run) -> None:
    """A report on scores of targets and non-targets, of one or several systems, or on several classes."""
    files, output = run.job[of.ScoreFiles].scores, run.job[of.ReportOutput]
    if of_classes(run, files[0]):
        _report_classes(run, files)
        return
    asked, extra, said = run.job[EvaluateOptions], run.job[of.ReportParts], run.job[of.SayOptions]
    systems = run.open_systems(files)
    first = next(iter(systems.values()))
    for name, value in (("--train", extra.train), ("--map", run.job[of.CalibrationFile].map)):
        if value and len(systems) > 1:
            raise InputError(f"{name} takes one system, got {len(systems)}")
    who, level = asked.speakers or None, asked.level
    moved, of_shift = named_shift(run, first)
    run.result = results = {
        name: evaluate(
            trials, options=asked, ece=True,
            # the check looks at speakers by itself
            speakers=() if asked.ci == "none" and extra.check_llrs else asked.speakers,
        )
        for name, trials in tracked(systems.items(), "systems", len(systems), unit="systems")
    }  # fmt: skip
    parts: dict[str, Any] = {
        "ties": ties_of(results, systems),
        "cautions": [moved] if moved else [],
        "llrs": all(trials.roles.calibrated for trials in systems.values()),
    }
    if extra.check_llrs:
        watched = tracked(systems.items(), "tests of calibration", len(systems), unit="systems")
        parts["checks"] = {name: check_calibration(trials, speakers=who) for name, trials in watched}
        parts["bands"] = {
            name: curve_bands(trials, result=results[name], speakers=who, level=level)
            for name, trials in systems.items()
        }
    if said.words == "biometrics":
        rates = {name: verification_rates(t, speakers=who, level=level) for name, t in systems.items()}
        parts["sections"] = [rates_section(rates)]
    if extra.train is not None:
        column = run.job[Reading].score or run.job[of.SystemChoice].score_columns or None
        trained = run.open(extra.train, key=None, nontargets=None, score=column)
        with stage("calibrators"):
            parts["comparison"] = compare(trained, first, extra.methods or CANDIDATES, points=asked.points)
    write_page(run, results, output.html, output.docx, title=output.title_text, **parts)
    run.content = {"systems": {name: result.to_dict() for name, result in results.items()}, **of_shift}


def _report_classes(run: Run, files: tuple[str, ...]) -> None:
    """The numbers of several classes, and a page."""
    path, *others = files
    if others:
        raise InputError(f"a report on several classes takes one file, got {len(files)}")
    refuse_for_two(run, of.ReportOutput, but=("html", "json", "full_paths", "title_text"))
    refuse_for_two(run, of.ReportParts, of.CalibrationFile, of.SayOptions, of.SystemChoice)
    evaluate_classes(run, path, run.job[of.ReportOutput].html)
