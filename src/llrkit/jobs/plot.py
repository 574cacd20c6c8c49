"""plot: one figure for a paper, or one interactive page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from llrkit import plot
from llrkit.base.arguments import FloatArray
from llrkit.biometrics.people_groups import differential
from llrkit.biometrics.searches import identification
from llrkit.core.groups import speaks_of_spoofs
from llrkit.errors import FileFormatError, InputError, PooledClassesWarning
from llrkit.fits.mixtures import mixing_curve
from llrkit.io.read_options import Reading
from llrkit.jobs import options as of
from llrkit.jobs.job import Run, named_file, unwarned
from llrkit.jobs.kinds import class_prior, read_classes
from llrkit.maps.bounds import BoundedMap
from llrkit.maps.composite import LinearMap
from llrkit.maps.files import load_map
from llrkit.metrics.discrimination import eer
from llrkit.metrics.forecasts import reliability_curve
from llrkit.metrics.measure import Measurements
from llrkit.metrics.theory_costs import CLLR, TheoryCosts, theory_costs, theory_costs_of, zoo_curve
from llrkit.plot.cost_plots import CllrScatter
from llrkit.plot.llr_plots import FusionWeights
from llrkit.plot.picture import Look, Picture, to_base_10, with_look
from llrkit.results.result import Result
from llrkit.results.vocabulary import vocabulary
from llrkit.scores.source import ScoreSource
from llrkit.scores.trials import Trials
from llrkit.theory import GaussianLLR
from llrkit.theory.calibrated_pairs import CalibratedPair
from llrkit.trust.bands import CurveBands, curve_bands
from llrkit.trust.calibration_check import check_calibration
from llrkit.verbs.compare import PriorScan
from llrkit.verbs.conditions import condition_map, group_map
from llrkit.verbs.evaluate import evaluate, group_name

Made = TypeVar("Made")
PAGES = (".html", ".htm")
Shown: TypeAlias = Result | CalibratedPair
"""What plots draw: curves, results that have some, and calibrated pairs."""


PLOTS: dict[str, Callable[..., Picture]] = {
    name: getattr(plot, name)
    for name in (kind.replace("-", "_") for kinds in of.FIGURES.values() for kind in kinds)
}
"""What draws each figure, by the name of its function."""


def draw_figure(run: Run) -> None:
    """Draw a figure into a file, whose ending says how."""
    asked, said, path = run.job[of.PlotOptions], run.job[of.SayOptions], run.job[of.PlotOptions].output
    kind = {"ece": "cross-entropy"}.get(asked.kind, asked.kind)
    _refuse_ignored(run, kind)
    if not path.lower().endswith((".pdf", ".svg", ".png", *PAGES)):
        raise InputError(f"{path}: expected a file that ends in pdf, svg, png or html")
    draw = PLOTS[kind.replace("-", "_")]
    with unwarned(PooledClassesWarning, when=speaks_of_spoofs(asked.shared)):
        pictures = (
            _pictures_of_evaluations(run, kind, draw)
            if kind in of.FIGURES["scores"]
            else [draw(shown, renderer="none") for shown in _shown(run, kind)]
        )
    if said.base_10:
        converted = [to_base_10(picture) for picture in pictures]
        labels = "".join(f"{picture.x.label}{picture.y.label}" for picture in pictures)
        if converted == pictures and "log10" not in labels:
            run.note(f"plot {kind} shows no natural logarithm; --base-10 changes nothing.")
        pictures = converted
    names = run.job[of.SystemChoice].names
    pictures = [picture.said_in(vocabulary(said.words), keep=names) for picture in pictures]
    look: Look = {"title": asked.heading, "legend": False if asked.no_legend else None}
    run.result = pictures = [with_look(picture, look) for picture in pictures]
    if path.lower().endswith(PAGES):
        from llrkit.plot.plotly_renderer import write_page

        write_page(pictures, path)
    else:
        from llrkit.plot.matplotlib_renderer import save

        save(pictures, path, width=_width(asked))
    run.say(f"Written to {path}")


def _refuse_ignored(run: Run, kind: str) -> None:
    """Refuse every option that this figure would ignore."""
    asked = run.job[of.PlotOptions]
    for part in run.job.parts:
        for name in part.given():
            kinds = of.FIGURES_WITH.get(name, (kind,))
            if kind not in kinds:
                raise part.error(f"plot {kind}: {{}} is for {', '.join(kinds)}", name)
    if kind in of.WITH_BANDS and asked.speakers and not asked.bands:
        raise asked.error(f"plot {kind}: {{}} needs {{}}", "speakers", "bands")
    if asked.width is not None and asked.output.lower().endswith(PAGES):
        raise asked.error("{} is for pdf, svg and png; a page fills its window", "width")
    theory_alone = kind == "theory" and (not asked.scores or _is_json(asked.scores[0]))
    if not asked.scores and asked.eer is None and not theory_alone:
        raise InputError(f"plot {kind}: give at least one file of scores")
    if theory_alone and asked.by:
        raise asked.error("plot theory: {} is for files of scores", "by")
    if theory_alone or asked.eer is not None or kind in of.FIGURES["results"]:
        why = "is for files of scores, which this figure does not read"
        run.job.refuse(why, Reading, of.SystemChoice, of.ClusterChoice)


def _is_json(file: str) -> bool:
    return file.lower().endswith(".json")


def _width(asked: of.PlotOptions) -> str | float:
    if asked.width in (None, "column", "page"):
        return asked.width or "column"
    try:
        inches = float(asked.width)
    except ValueError:
        inches = math.nan
    if not 0.5 <= inches <= 100.0:
        raise asked.error(f"{{}}={asked.width!r}: expected column, page, or inches from 0.5 to 100", "width")
    return inches


# figures of evaluations


def _evaluations(
    run: Run, systems: Mapping[str, ScoreSource], points: Sequence[str], *, ece: bool = False
) -> dict[str, Measurements]:
    """The evaluation of every system, or of every group of each."""
    asked = run.job[of.PlotOptions]
    found: dict[str, Measurements] = {}
    for name, trials in systems.items():
        result = evaluate(trials, points=points, by=asked.by, shared=asked.shared, ece=ece)
        if not asked.by:
            found[name] = result
        for key, group in result.groups.items():
            found[f"{name} {group_name(key)}" if len(systems) > 1 else group_name(key)] = group
    return found


def _pictures_of_evaluations(run: Run, kind: str, draw: Callable[..., Picture]) -> list[Picture]:
    """One picture of all systems, or one of each."""
    asked = run.job[of.PlotOptions]
    systems = run.open_systems(asked.scores)
    results = _evaluations(run, systems, asked.points or ("sre08", "sre10"), ece=kind == "cross-entropy")
    chosen: dict[str, Any] = {
        name: value for name, value in asked.given().items() if name in ("curve", "style", "axes")
    }
    if asked.bands:
        who = asked.speakers or None
        chosen["bands"] = bands = {
            name: curve_bands(trials, result=results[name], speakers=who) for name, trials in systems.items()
        }
        for note in _notes_on_bands(kind, bands):
            run.note(note)
    if kind == "histogram":  # of all others systems share a picture
        return [draw({name: result}, renderer="none", **chosen) for name, result in results.items()]
    alone = len(results) == 1 and not run.job[of.SystemChoice].names and not asked.bands
    return [draw(next(iter(results.values())) if alone else results, renderer="none", **chosen)]


def _notes_on_bands(kind: str, bands: Mapping[str, CurveBands]) -> Iterator[str]:
    """What a figure with bands does not show: which curve has none and why, and what the others assume."""
    for name, of_system in bands.items():
        if kind == "det" and np.isnan(of_system.det.lower).all():
            yield (
                f"{name}: no band, because at each point of the curve fewer than 5 misses or false alarms "
                "were seen, or few speakers made them"
            )
        if kind == "cross-entropy" and np.isnan(of_system.ece.lower).all():
            yield f"{name}: no band, because an LLR is infinite for the wrong side, or LLRs are too large"
    if any(of_system.n_speakers is None for of_system in bands.values()):
        yield "Bands hold if trials are independent; if they share speakers, give --speakers."


# all other figures


def _shown(run: Run, kind: str) -> Iterator[Shown]:
    """What the pictures of a figure show, each one object."""
    asked = run.job[of.PlotOptions]
    if kind in of.FIGURES["classes"]:
        for file in asked.scores:
            yield from _of_classes(run, kind, file)
    elif kind in of.FIGURES["results"]:
        for file in asked.scores:
            yield from _of_result(kind, file)
    elif kind == "theory":
        for curve in _of_theory(run):
            run.say(curve.sentence)
            yield curve
    elif asked.eer is not None:
        yield GaussianLLR.from_eer(asked.eer)
    elif kind == "heat-map" and len(asked.by) == 1:
        systems = run.open_systems(asked.scores)
        yield group_map(systems, asked.by[0], value=asked.value or "eer", shared=asked.shared)
    else:
        for trials in run.open_systems(asked.scores).values():
            yield _of_trials(run, kind, trials)


def _of_trials(run: Run, kind: str, trials: ScoreSource) -> Shown:
    asked = run.job[of.PlotOptions]
    by, speakers = asked.by, asked.speakers or None
    if kind == "idempotence":
        return check_calibration(trials, speakers=speakers)
    if kind == "reliability":
        return reliability_curve(trials)
    if kind == "two-gaussians":
        return GaussianLLR.from_eer(eer(trials))
    if kind == "heat-map":
        if len(by) != 2:
            raise InputError("plot heat-map: name two columns, --by ROWS,COLUMNS, or one for all systems")
        if asked.shared or run.job[of.SystemChoice].names:
            raise InputError("plot heat-map: --shared and --names are for groups of one column (--by COLUMN)")
        if not isinstance(trials, Trials):
            raise InputError("plot heat-map: the file is too large to be cut into conditions in memory")
        return condition_map(trials, by[0], by[1], value=asked.value or "eer")
    if kind == "cmc":
        if len(by) > 1:
            raise InputError("plot cmc: name the column of the searches, --by COLUMN")
        return identification(trials, by[0] if by else None).cmc
    if kind == "groups":
        if not by:
            raise InputError("plot groups: name the column of the groups, --by COLUMN, or two for both sides")
        return differential(trials, by, fmr=asked.fmr, speakers=speakers)
    if len(by) != 1:
        raise InputError("plot zoo: name the column of the speakers, --by COLUMN")
    return zoo_curve(trials, by[0])


def _of_classes(run: Run, kind: str, file: str) -> Sequence[Shown]:
    """One object, or one for each pair of classes."""
    from llrkit.multiclass import evaluate as evaluate_classes
    from llrkit.multiclass import idempotence, pair_histograms

    scores = read_classes(run, file)
    if kind == "pair-histogram":
        return pair_histograms(scores)
    if kind == "class-idempotence":
        return [idempotence(scores)]
    refine_by = "scale-offset" if kind == "class-calibration" else None
    detection = kind == "class-det"
    return [evaluate_classes(scores, prior=class_prior(run), refine_by=refine_by, detection=detection)]


def _of_theory(run: Run) -> list[TheoryCosts]:
    """Costs against the EER: theory alone, with measured trials, or with the lists of an experiment."""
    asked = run.job[of.PlotOptions]
    points, files = asked.points or ("sre10", "sre12"), asked.scores
    if not files:
        cllrs = theory_costs(CLLR)
        return [cllrs, cllrs.beyond_gaussian(), *(theory_costs(cost) for cost in points)]
    if not any(map(_is_json, files)):
        return theory_costs_of(_evaluations(run, run.open_systems(files), points))
    if asked.points or not all(map(_is_json, files)):
        raise InputError(
            "plot theory: lists of an experiment cannot be combined with files of scores or --point"
        )
    lists: dict[str, tuple[float, float]] = {}
    for file in files:
        rows = _from_json(file, "durations", lambda results: _lists(results, "eer", "min_cllr"))
        lists |= {f"{Path(file).stem} {name}" if len(files) > 1 else name: (x, y) for name, x, y in rows}
    # an experiment of several seeds reports the root mean square itself; otherwise lists tell it
    rms = math.nan if len(files) > 1 else _from_json(files[0], "durations", _rms_of_runs)
    cllrs = theory_costs(CLLR, lists, rms_of_runs=rms)
    return [cllrs, cllrs.beyond_gaussian()]


# files that other commands wrote


def _of_result(kind: str, file: str) -> Sequence[Shown]:
    if kind == "prior-scan":
        return _from_json(file, "prior-scan", _scans)
    if kind == "cllr-scatter":
        rows = _from_json(file, "durations", lambda results: _lists(results, "cmlg", "logistic"))
        labels = tuple(name for name, _, _ in rows)
        x, y = np.array([row[1:] for row in rows]).reshape(-1, 2).T
        return [CllrScatter("CMLG", "logistic regression", x, y, labels)]
    fitted = load_map(file)
    if kind == "mixing":
        with named_file(file):
            return [mixing_curve(fitted)]
    if isinstance(fitted, BoundedMap):
        fitted = fitted.map
    if not isinstance(fitted, LinearMap):
        raise InputError(f"{file}: is a calibration of one system, not a fusion")
    return [FusionWeights(tuple(fitted.systems), fitted.weights[: fitted.n_systems], fitted.offset)]


def _from_json(file: str, experiment: str, make: Callable[[Any], Made]) -> Made:
    """What is made of the JSON of an experiment; other JSON is refused."""
    try:
        return make(json.loads(Path(file).read_text(encoding="utf-8")))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        wanted = f"expected the JSON that 'llrkit paper {experiment} --json FILE' writes"
        raise FileFormatError(f"{file}: {wanted}") from error


def _lists(results: Any, x: str, y: str) -> list[tuple[str, float, float]]:
    """The name of each list of an experiment, and two of its numbers."""
    return [
        (f"{row['enroll']} / {row['test']}".strip(" /"), float(row[x]), float(row[y]))
        for row in results["lists"]
    ]


def _rms_of_runs(results: Any) -> float:
    several = len(results.get("seeds") or ()) > 1
    return float(results["rms_cllr_from_eer"]) if several else math.nan


def _scans(results: Any) -> list[Shown]:
    def numbers(values: Sequence[float | None]) -> FloatArray:
        # null is a cost of a fit that was refused
        return np.array([math.nan if value is None else float(value) for value in values])

    return [
        PriorScan(
            numbers(case["log_odds"]),
            {"CMLG": numbers(case["cmlg"]), "logistic regression": numbers(case["logistic"])},
            float(case["minimum"]),
            str(results.get("cost", "C_primary")),
        )
        for case in results["cases"]
    ]
