"""Curve objects from files that other commands wrote: fusions, and the JSON of experiments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llrkit.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from llrkit.base.arguments import FloatArray
    from llrkit.cli.plot_options import ToPlot
    from llrkit.fits.mixtures import MixingCurve
    from llrkit.metrics.measure import Measurements
    from llrkit.metrics.theory_costs import TheoryCosts
    from llrkit.plot.cost_plots import CllrScatter
    from llrkit.plot.llr_plots import FusionWeights
    from llrkit.scores.source import ScoreSource
    from llrkit.verbs.compare import PriorScan


def fusion_weights_of(file: str) -> FusionWeights:
    """The weights in a fusion file."""
    from llrkit.maps.bounds import BoundedMap
    from llrkit.maps.composite import LinearMap
    from llrkit.maps.files import load_map
    from llrkit.plot.llr_plots import FusionWeights

    fitted = load_map(file)
    if isinstance(fitted, BoundedMap):
        fitted = fitted.map
    if not isinstance(fitted, LinearMap):
        raise InputError(f"{file}: is a calibration of one system, not a fusion")
    return FusionWeights(tuple(fitted.systems), fitted.weights[: fitted.n_systems], fitted.offset)


def mixing_of(file: str) -> MixingCurve:
    """w(mu) of a calibration file."""
    from llrkit.cli.output import named_file
    from llrkit.fits.mixtures import mixing_curve
    from llrkit.maps.files import load_map

    with named_file(file):
        return mixing_curve(load_map(file))


def scatter_of(file: str) -> CllrScatter:
    """Cllr of both methods in the lists of ``llrkit reproduce durations`` or ``real``."""
    import numpy as np

    from llrkit.plot.cost_plots import CllrScatter

    try:
        rows = _rows_in_file(_results_in_file(file), "lists")
        x, y = (np.array([_number_in_file(row[method]) for row in rows]) for method in ("cmlg", "logistic"))
        labels = tuple(f"{row['enroll']} / {row['test']}".strip(" /") for row in rows)
    except (KeyError, TypeError, ValueError) as error:
        raise _not_from_command("reproduce durations", file) from error
    return CllrScatter("CMLG", "logistic regression", x, y, labels)


def scans_of(file: str) -> list[PriorScan]:
    """The scans of ``llrkit reproduce prior-scan``."""
    from llrkit.verbs.compare import PriorScan

    try:
        results = _results_in_file(file)
        return [
            PriorScan(
                _numbers_in_file(case["log_odds"]),
                {
                    "CMLG": _numbers_in_file(case["cmlg"]),
                    "logistic regression": _numbers_in_file(case["logistic"]),
                },
                _number_in_file(case["minimum"]),
                str(results.get("cost", "C_primary")),
            )
            for case in _rows_in_file(results, "cases")
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise _not_from_command("reproduce prior-scan", file) from error


def theory_of(
    files: Sequence[str],
    asked: ToPlot,
    read: Callable[[tuple[str, ...]], Mapping[str, ScoreSource]],
) -> list[TheoryCosts]:
    """Costs against the EER: theory alone, with measured trials, or with the lists of an experiment."""
    from llrkit.cli.options import parse_points, split_names
    from llrkit.metrics.theory_costs import CLLR, theory_costs, theory_costs_of
    from llrkit.verbs.evaluate import evaluate
    from llrkit.verbs.evaluation_result import group_name

    points = parse_points(asked.points) or ["sre10", "sre12"]
    results = [file for file in files if file.lower().endswith(".json")]
    if results and (len(results) < len(files) or asked.points):
        raise InputError(
            "plot theory: lists of an experiment cannot be combined with files of scores or --point"
        )
    if results:
        lists: dict[str, tuple[float, float]] = {}
        for file in results:
            more = lists_of(file)
            lists |= {f"{Path(file).stem} {name}": row for name, row in more.items()} if results[1:] else more
        cllrs = theory_costs(CLLR, lists, rms_of_runs=_rms_of_runs(results))
        return [cllrs, cllrs.beyond_gaussian()]
    if not files:
        cllrs = theory_costs(CLLR)
        return [cllrs, cllrs.beyond_gaussian(), *(theory_costs(cost) for cost in points)]
    systems: dict[str, Measurements] = {}
    for name, trials in read(tuple(files)).items():
        result = evaluate(trials, points=points, by=split_names(asked.by))
        if asked.by:
            several = len(files) > 1 or asked.score_columns
            systems |= {
                f"{name} {group_name(key)}" if several else group_name(key): group
                for key, group in result.groups.items()
            }
        else:
            systems[name] = result
    return theory_costs_of(systems)


def _rms_of_runs(files: Sequence[str]) -> float:
    """The root mean square that an experiment of several seeds reports; NaN if lists tell it themselves."""
    results = _results_in_file(files[0])
    seeds = results.get("seeds")
    if len(files) > 1 or not isinstance(seeds, list) or len(seeds) < 2:
        return float("nan")
    return _number_in_file(results["rms_cllr_from_eer"])


def lists_of(file: str) -> dict[str, tuple[float, float]]:
    """EER and minimum Cllr of the lists of ``llrkit reproduce durations`` or ``real``."""
    try:
        return {
            f"{row['enroll']} / {row['test']}".strip(" /"): (
                _number_in_file(row["eer"]),
                _number_in_file(row["min_cllr"]),
            )
            for row in _rows_in_file(_results_in_file(file), "lists")
        }
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise _not_from_command("reproduce durations", file) from error


def _results_in_file(file: str) -> dict[str, object]:
    content: object = json.loads(Path(file).read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise TypeError("not an object")
    return content


def _rows_in_file(results: Mapping[str, object], name: str) -> list[dict[str, object]]:
    rows = results[name]
    if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
        raise TypeError("not a list of objects")
    return rows


def _number_in_file(value: object) -> float:
    """A number; JSON has infinities as words."""
    if not isinstance(value, (int, float, str)):
        raise TypeError("not a number")
    return float(value)


def _numbers_in_file(values: object) -> FloatArray:
    import numpy as np

    if not isinstance(values, list):
        raise TypeError("not a list")
    # null is a cost of a fit that was refused
    return np.array([np.nan if value is None else _number_in_file(value) for value in values])


def _not_from_command(command: str, file: str) -> FileFormatError:
    return FileFormatError(f"{file}: expected the JSON that 'llrkit {command} --json FILE' writes")
