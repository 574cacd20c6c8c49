"""diagnose, compare and threshold: what scores tell of calibrators, of systems, and of where to cut them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llrkit.base.options import declared
from llrkit.base.text import number
from llrkit.errors import InputError, ReversedScoresWarning, ScaleWarning
from llrkit.fits.best import MethodRow
from llrkit.fits.folds import CANDIDATES
from llrkit.io.read_options import Reading
from llrkit.jobs import options as of
from llrkit.jobs.evaluate import write_page
from llrkit.jobs.job import Run, named_file, unwarned
from llrkit.jobs.kinds import SAME_IDEA, class_prior, of_classes, read_classes, refuse_for_two
from llrkit.maps.training_range import REMEDY, REMEDY_TYPED
from llrkit.results.vocabulary import vocabulary
from llrkit.scores.source import ScoreSource
from llrkit.scores.trials import Trials, same_trials
from llrkit.theory.operating_points import PRESETS
from llrkit.trust.differences import compare_many_systems
from llrkit.verbs.compare import Comparison, compare
from llrkit.verbs.diagnose import Diagnosis, TriedMethods, diagnose
from llrkit.verbs.options import CompareOptions, DiagnoseOptions, ThresholdOptions
from llrkit.verbs.threshold import SAME_TRIALS as COUNTED_ON_ITS_OWN
from llrkit.verbs.threshold import Threshold, rate_in_words, threshold_for

if TYPE_CHECKING:
    from llrkit.multiclass.choose import ClassComparison
    from llrkit.report.document import Section

SAME_TRIALS = "Trained and evaluated on the same trials: the numbers are too optimistic."
HEADER = ("method", "Cllr in cross-validation", "more than the best (95 % interval)", "advice")
NOTE = (
    "Each trial is judged by a calibration that has not seen it, nor anything of its speakers: the columns "
    "that are named, otherwise the ids of the two sides where the file has both. Where an interval holds 0, "
    "these trials do not tell the method from the best."
)


def diagnose_files(run: Run) -> None:
    """Advice on the scores of a file; with a second one, methods trained on the first, evaluated on it."""
    files = run.job[of.DiagnosedFiles]
    if files.evaluation is None:
        _advise(run, files)
        return
    if run.job[DiagnoseOptions].given():
        raise InputError("--cross-validate is for one file; with two, the second judges the methods")
    run.schema = "diagnose.methods"
    if of_classes(run, files.scores):
        _compare_on_classes(run, files, files.evaluation)
    else:
        _compare_on_scores(run, files, files.evaluation)


def _advise(run: Run, files: of.DiagnosedFiles) -> None:
    why = "is for methods trained on one file, evaluated on another: give both"
    run.job.refuse(why, of.TableOutput, only=("html", "table"))
    if len(files.points) > 1:
        raise InputError("--point is given several times; with one file it takes one")
    if of_classes(run, files.scores):
        raise InputError(
            "llrkit diagnose of one file is not for log-likelihoods of several classes; give a second file, "
            "on which methods trained on the first are evaluated"
        )
    with unwarned(ReversedScoresWarning, ScaleWarning):  # both stand among the problems
        run.result = diagnosis = diagnose(
            run.open(files.scores), options=run.job[DiagnoseOptions], point=next(iter(files.points), None)
        )
    chosen = run.job[Reading].where
    if chosen:
        run.say(f"{files.scores}, only {' and '.join(chosen)}")
    run.say(repr(diagnosis).replace(REMEDY, REMEDY_TYPED))
    tried = diagnosis.methods
    if tried is not None:
        run.say("")
        run.table(HEADER, _rows_of_methods(diagnosis, tried), left=(0, 2, 3))
        run.say(f"\nSuggested is {tried.suggested}: {tried.why}.")
        run.sections = lambda: _method_sections(diagnosis, tried)
    run.content = {**diagnosis.to_dict(), **({"where": [*chosen]} if chosen else {})}


def _method_sections(diagnosis: Diagnosis, tried: TriedMethods) -> Sequence[Section]:
    from llrkit.report.document import Section
    from llrkit.report.tables import TextTable

    rows = tuple(_rows_of_methods(diagnosis, tried))
    return [Section("Methods compared", (), [TextTable(HEADER, rows)], note=NOTE)]


def _rows_of_methods(diagnosis: Diagnosis, tried: TriedMethods) -> list[tuple[str, ...]]:
    """Each method with its Cllr, how far it is from the best, and what is said of it."""
    advice = {
        method: f"{'advised' if good else 'not advised'}: {why}" for method, good, why in diagnosis.advice
    }

    def beyond_best(row: MethodRow) -> str:
        error, best = row.standard_error, tried.rows[0]
        if row is best or error is None or row.reason:
            return ""
        gap = row.cllr - best.cllr
        return f"{gap:+.4f} [{gap - 1.96 * error:+.4f}, {gap + 1.96 * error:+.4f}]"

    return [
        (
            row.method, number(row.cllr), beyond_best(row),
            "; ".join(filter(None, (row.reason, *row.flags, advice.get(row.method)))),
        )
        for row in tried.rows
    ]  # fmt: skip


def _compare_on_scores(run: Run, files: of.DiagnosedFiles, evaluation: str) -> None:
    trained, tested = run.open(files.scores), run.open(evaluation, key=None, nontargets=None)
    too_good = _same_trials_in_both_files(trained, tested, files.scores, evaluation)
    points = files.points or ("sre08", "sre10")
    comparison = compare(trained, tested, files.methods or CANDIDATES, points=points)
    title = f"Calibrators trained on {files.scores} and evaluated on {evaluation}; no bounds are added:"
    _say_comparison(run, comparison, title=title, too_good=too_good)
    page = run.job[of.PageOutput].html
    if page is not None:
        cautions = [SAME_TRIALS] if too_good else []
        write_page(run, comparison, page, title="Calibrators compared", cautions=cautions)


def _compare_on_classes(run: Run, files: of.DiagnosedFiles, evaluation: str) -> None:
    from llrkit.multiclass.choose import compare as compare_classes
    from llrkit.multiclass.fits import CANDIDATES as CLASS_METHODS

    refuse_for_two(run, of.PageOutput, but=("json", "table"))
    refuse_for_two(run, of.DiagnosedFiles, but=("scores", "evaluation", "methods"))
    comparison = compare_classes(
        read_classes(run, files.scores),
        read_classes(run, evaluation, key=None),
        [SAME_IDEA.get(name, name) for name in files.methods] or CLASS_METHODS,
        prior=class_prior(run),
    )
    with named_file(files.scores):  # where not one could be trained
        comparison.best  # noqa: B018 - asked for what it refuses
    _say_comparison(run, comparison, too_good=files.scores == evaluation)


def _say_comparison(
    run: Run, comparison: Comparison | ClassComparison, *, title: str = "", too_good: bool = False
) -> None:
    """The table of a comparison of any kind, what could not be trained, the sentence, and JSON."""
    if not run.say_paper_table(comparison):
        run.table(*comparison.table(), title=title)
    for name, reason in comparison.failed.items():
        run.note(f"{name} could not be trained: {reason}")
    run.say_below(f"\n{comparison.sentence}")
    if too_good:
        run.note(SAME_TRIALS)
    run.result, run.content = comparison, comparison.to_dict()


def _same_trials_in_both_files(
    trained: ScoreSource, tested: ScoreSource, train: str, evaluation: str
) -> bool:
    """Whether both files hold the same trials and scores; other scores of the same trials are refused."""
    if train == evaluation:
        return True
    if not (isinstance(trained, Trials) and isinstance(tested, Trials)):
        return False  # ids are not held in memory for what is read in batches
    common = same_trials(trained, tested)
    if common != "other scores":
        return common == "same scores"
    raise InputError(
        f"{train} and {evaluation} hold the same trials with other scores: two systems, which llrkit compare "
        "compares; to train on one and evaluate on the other, use llrkit calibrate and apply"
    )


# two systems on the same trials


def compare_files(run: Run) -> None:
    """The first system against each of the others, or all pairs, with tests."""
    files = run.job[of.ScoreFiles].scores
    trials = run.open_joined(files, example="a,b")
    # where trials may be left out, they are read first and counted afterwards
    if run.job[Reading].missing != "error" and isinstance(trials, Trials):
        trials = trials.complete_counted()
    options: dict[str, Any] = {
        name: getattr(run.job[CompareOptions], name) for name in declared(CompareOptions)
    }
    options |= dict.fromkeys((name for name, value in options.items() if value == ()))  # no columns are None
    run.result = found = compare_many_systems(trials, **options)
    first, *others = found.pairs
    for i, pair in enumerate(found.pairs):
        title = f"{pair.names[0]} less {pair.names[1]}" if others else ""
        run.table(*found.table(i), title=title)
        run.say(*found.not_tested(i), "")
    run.say(found.sentence, *(f"{note[0].upper()}{note[1:]}." for note in first.notes))
    run.content = {"scores": list(files), **found.to_dict()}


# where to cut scores


def find_thresholds(run: Run) -> None:
    """A threshold for each demand; without any, for the EER and the usual points."""
    path, asked, on = run.job[of.ScoreFile].scores, run.job[ThresholdOptions], run.job[ThresholdOptions].on
    wanted = run.job[of.Demands]
    demands: list[dict[str, Any]] = [{}] if wanted.eer else []
    for point in wanted.points:
        averaged = PRESETS[point.lower()].points if point.lower() in PRESETS else ()
        demands += [{"point": one} for one in (averaged if len(averaged) > 1 else (point,))]
    demands += [{"false_alarm_rate": rate} for rate in wanted.false_alarm_rates]
    demands += [{"miss_rate": rate} for rate in (*wanted.miss_rates, *(1.0 - r for r in wanted.accept_rates))]
    if asked.calibrated and demands and not wanted.points:
        raise InputError("--calibrated needs an operating point (--point)")
    demands = demands or [{}, {"point": "sre08"}, {"point": "sre10"}]
    trials = run.open(path)
    others = run.open(str(on), key=None, nontargets=None) if on else None
    run.result = thresholds = [
        threshold_for(
            trials, options=asked, on=others, **demand,
            calibrated=asked.calibrated if "point" in demand else None,
        )
        for demand in demands
    ]  # fmt: skip
    title = path if on is None else f"Errors and costs on {on}, thresholds from {path}"
    _say_thresholds(run, thresholds, title)
    run.content = {
        "scores": path, "on": None if on is None else str(on),
        "thresholds": [one.to_dict() for one in thresholds],
    }  # fmt: skip


def _say_thresholds(run: Run, thresholds: Sequence[Threshold], title: str) -> None:
    names = [one.point.name for one in thresholds if one.point]

    def say(text: str) -> str:
        return vocabulary(run.job[of.SayOptions].words).say(text, keep=names)

    def ends(pair: tuple[float, float] | None, shown: Callable[[float], str]) -> str:
        return "" if pair is None else f"[{shown(pair[0])}, {shown(pair[1])}]"

    rows = [
        (
            say(one.criterion), f"{one.in_file:.6g}", ends(one.in_file_interval, lambda end: f"{end:.4g}"),
            rate_in_words(one.p_miss), ends(one.intervals.get("p_miss"), rate_in_words),
            rate_in_words(one.p_fa), ends(one.intervals.get("p_fa"), rate_in_words),
            "" if one.cost is None else number(one.cost), ends(one.intervals.get("cost"), number),
        )
        for one in thresholds
    ]  # fmt: skip
    header = ("", "threshold", "", say("Pmiss"), "", say("Pfa"), "", "cost", "")
    run.table(header, rows, title=title, left=(0, 2, 4, 6, 8))
    run.say("", *(say(one.sentence) for one in thresholds))
    for note in dict.fromkeys(note for one in thresholds for note in one.notes):
        elsewhere = "; --on FILE counts them elsewhere" if note == COUNTED_ON_ITS_OWN else ""
        run.say(f"Note: {say(note)}{elsewhere}.")
