"""paper: the experiments of van Leeuwen & Brümmer (2013), on simulated and on real data."""

from __future__ import annotations

from pathlib import Path

from llrkit.base.files import write_atomically
from llrkit.base.process import stage
from llrkit.base.text import counted
from llrkit.errors import InputError
from llrkit.experiments import folder
from llrkit.experiments.durations import DurationsResult, run_durations, run_from_frames
from llrkit.experiments.lists import ListTable
from llrkit.experiments.prior_scan import PriorScanResult, run_prior_scan, run_scan_of_scores
from llrkit.experiments.real import RealResult, run_real_embeddings, run_real_scores
from llrkit.io.read import read_whole
from llrkit.io.read_options import Reading
from llrkit.jobs import options as of
from llrkit.jobs.evaluate import NEEDS_SHARE
from llrkit.jobs.job import Run
from llrkit.maps.training_range import REMEDY, REMEDY_TYPED
from llrkit.speech.embeddings import read_embeddings
from llrkit.theory.operating_points import cost_of, point_of_text

SMALL_SEEDS = 3


def small(run: Run) -> None:
    """The simulated experiments in a few seconds, with a page and their numbers in a folder."""
    asked = run.job[of.SmallOptions]
    with stage("the experiments", total=3, unit="parts") as done:
        durations = run_durations("small", seed=asked.seed, seeds=SMALL_SEEDS)
        done(1)
        scan = run_prior_scan("small", seed=asked.seed)
        done(1)
        page = folder.write_experiments(
            asked.output, durations=durations, scan=scan, brief=True, made_from=run.provenance()
        )
        done(1)
    run.say(
        "Two simulated corpora, a PLDA recognizer, segments of 5, 10, 20, 40 s and whole recordings:\n"
        f"25 trial lists, calibrated on one corpus, evaluated on the other; means over {SMALL_SEEDS} seeds.\n"
    )
    run.table(*folder.paper_table(durations.table))
    run.say(f"\n{folder.verdict(durations.table)}")
    run.content = {"durations": durations.to_dict(), "prior_scan": scan.to_dict()}
    write_atomically(Path(asked.output) / "numbers.json", run.as_json(run.content))
    run.say(f"The report is in {page}")


def durations(run: Run) -> None:
    """25 trial lists of different durations: CMLG against logistic regression."""
    asked = run.job[of.DurationsOptions]
    simulate = run_from_frames if asked.start == "frames" else run_durations
    result = simulate(asked.scale, seed=asked.seed, seeds=asked.seeds)
    _say_lists(run, result.table)
    run.say("")
    run.table(*folder.one_map_table(result.table))
    if result.shortcut is not None:
        run.say("")
        run.table(*folder.shortcut_table(result.table, result.shortcut))
    runs = counted(len(result.seeds), "seed")
    run.say(f"\n{runs}, {result.table.trials:,} trials each, in {result.seconds:.1f} s.")
    _write_page(run, durations=result)
    run.content = {"experiment": "durations", **result.to_dict()}


def prior_scan(run: Run) -> None:
    """What the training weight does to a cost: simulated, or on scores of a file."""
    asked = run.job[of.ScanOptions]
    if asked.scores is None:
        run.job.refuse("is for --scores", Reading)
        scan = run_prior_scan(asked.scale, seed=2013 if asked.seed is None else asked.seed)
    else:
        point = point_of_text(asked.point) or asked.point
        if asked.known is not None and asked.p_known is None and cost_of(point).p_known is None:
            raise InputError(NEEDS_SHARE)
        scan = run_scan_of_scores(
            run.open(asked.scores),
            None if asked.test is None else run.open(asked.test, key=None, nontargets=None),
            point=point, known=asked.known, p_known=asked.p_known, groups=asked.groups or None,
            seed=asked.seed or 0,
        )  # fmt: skip
    run.table(*folder.scan_table(scan.cases), title=scan.cost_name)
    for case in scan.cases:
        run.say(f"{case.name}: {case.about}")
        for method, why in case.curve.refused.items():
            run.say(f"-: {method}, {why.replace(REMEDY, REMEDY_TYPED)}")
    _write_page(run, scan=scan)
    run.content = {"experiment": "prior-scan", **scan.to_dict()}


def real(run: Run) -> None:
    """The comparison on real data: embeddings from scratch, or scored trials with conditions."""
    asked = run.job[of.RealOptions]
    if asked.embeddings is not None:
        run.job.refuse("is for --scores", Reading)
        given = read_embeddings(asked.embeddings, vectors=asked.vectors)
        result = run_real_embeddings(given, scorer=asked.scorer)
        names = ("enroll", "test")
    else:
        trials = read_whole([str(asked.scores)], run.job[Reading])
        result = run_real_scores(trials, asked.by, training=asked.training, groups=asked.groups or None)
        names = asked.by[0], "/".join(asked.by[1:])
    _say_lists(run, result.table, names)
    for name, reason in result.skipped.items():
        run.note(f"{name} left out: {reason}")
    for name in result.regularized:
        run.note(f"{name}: the training classes do not overlap; logistic regression regularized")
    _write_page(run, real=result)
    run.content = {"experiment": "real", "file": asked.embeddings or asked.scores, **result.to_dict()}


def _say_lists(run: Run, table: ListTable, labels: tuple[str, str] = ("enroll", "test")) -> None:
    header, rows = folder.list_table(table, labels=labels)
    run.table(header, rows, left=(0, 1))
    run.say("")
    run.table(*folder.paper_table(table))
    run.say(f"\n{folder.verdict(table)}")


def _write_page(run: Run, **results: DurationsResult | PriorScanResult | RealResult) -> None:
    place = run.job[of.ExperimentOutput].output
    if place:
        page = folder.write_experiments(place, **results, made_from=run.provenance())  # type: ignore[arg-type]
        run.say(f"The report is in {page}")
