"""What ``llrkit plot`` draws of trials, of two classes or of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from llrkit.cli.class_commands import parse_prior, read_class_file
from llrkit.cli.options import parse_points, parse_share, split_names
from llrkit.cli.plot_options import WITH_BANDS, ToPlot
from llrkit.cli.trial_input import TrialInput
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.cli.kinds.several_classes import SeveralClassFiles
    from llrkit.metrics.measure import Measurements
    from llrkit.plot.all_plots import Plot, Shown
    from llrkit.plot.picture import Picture
    from llrkit.scores.source import ScoreSource
    from llrkit.trust.bands import CurveBands


def read_systems(scores: tuple[str, ...], asked: ToPlot, given: TrialInput) -> dict[str, ScoreSource]:
    """The trials of every system that is drawn."""
    return given.open_systems(scores, asked.score_columns, asked.names)


def pictures_of_scores(
    kind: str, plot: Plot, scores: tuple[str, ...], asked: ToPlot, given: TrialInput
) -> list[Picture]:
    """One picture of all systems, or one of each."""
    from llrkit.trust.bands import curve_bands
    from llrkit.verbs.evaluate import evaluate
    from llrkit.verbs.evaluation_result import group_name

    points = parse_points(asked.points) or ("sre08", "sre10")
    if asked.shared and not asked.by:
        raise InputError("--shared needs groups: name their column (--by)")
    systems: dict[str, Measurements] = {}
    read = read_systems(scores, asked, given)
    ece = kind == "cross-entropy" and not asked.by
    for name, trials in read.items():
        result = evaluate(trials, points=points, by=split_names(asked.by), shared=asked.shared, ece=ece)
        if not asked.by:
            systems[name] = result
            continue
        if kind == "cross-entropy":
            raise InputError(
                "plot cross-entropy: --by is not available, because the curves of groups are not computed"
            )
        several = len(scores) > 1 or asked.score_columns
        systems |= {
            f"{name} {group_name(group)}" if several else group_name(group): measured
            for group, measured in result.groups.items()
        }
    chosen: dict[str, object] = {}
    if kind in ("det", "roc"):
        chosen["curve"] = asked.curve
    if kind == "det":
        chosen["axes"] = asked.axes
    if kind == "tippett":
        chosen["style"] = asked.style
    if asked.bands:
        if kind not in WITH_BANDS or asked.by:
            raise InputError(f"plot {kind}: --bands is for {', '.join(WITH_BANDS)}, without --by")
        who = split_names(asked.speakers)
        bands = {
            name: curve_bands(read[name], result=result, speakers=who) for name, result in systems.items()
        }
        for note in _notes_on_bands(kind, bands):
            click.echo(note, err=True)
        chosen["bands"] = bands
    if not plot.many:
        return [plot.picture({name: result}, **chosen) for name, result in systems.items()]
    alone = len(systems) == 1 and not asked.names and not asked.bands
    return [plot.picture(next(iter(systems.values())) if alone else systems, **chosen)]


def _notes_on_bands(kind: str, bands: Mapping[str, CurveBands]) -> Iterator[str]:
    """What a figure with bands does not show: which curve has none and why, and what the others assume."""
    import numpy as np

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


def shown_of(kind: str, trials: ScoreSource, asked: ToPlot) -> Shown:
    """What the other figures draw of trials."""
    by = asked.by.split(",") if asked.by else []
    if kind == "idempotence":
        from llrkit.trust.calibration_check import check_calibration

        return check_calibration(trials, speakers=split_names(asked.speakers))
    if kind == "reliability":
        from llrkit.metrics.forecasts import reliability_curve

        return reliability_curve(trials)
    if kind == "two-gaussians":
        from llrkit.metrics.discrimination import eer
        from llrkit.theory import GaussianLLR

        return GaussianLLR.from_eer(eer(trials))
    if kind == "heat-map":
        from llrkit.scores.trials import Trials
        from llrkit.verbs.conditions import condition_map

        if len(by) != 2:
            raise InputError("plot heat-map: name two columns, --by ROWS,COLUMNS, or one for all systems")
        if not isinstance(trials, Trials):
            raise InputError("plot heat-map: the file is too large to be cut into conditions in memory")
        return condition_map(trials, by[0], by[1], value=asked.value)
    if kind == "cmc":
        from llrkit.biometrics.searches import identification

        if len(by) > 1:
            raise InputError("plot cmc: name the column of the searches, --by COLUMN")
        return identification(trials, by[0] if by else None).cmc
    if kind == "groups":
        from llrkit.biometrics.people_groups import differential

        if not by:
            raise InputError("plot groups: name the column of the groups, --by COLUMN, or two for both sides")
        rate = parse_share(asked.fmr or "1e-3", "--fmr")
        return differential(trials, by, fmr=rate, speakers=split_names(asked.speakers))
    from llrkit.metrics.theory_costs import zoo_curve

    if len(by) != 1:
        raise InputError("plot zoo: name the column of the speakers, --by COLUMN")
    return zoo_curve(trials, by[0])


def class_curves(files: SeveralClassFiles, path: str, figure: str) -> Sequence[Shown]:
    """What a plot of several classes draws of a file: one curve object, or one for each pair of classes."""
    from llrkit.multiclass import evaluate, idempotence, pair_histograms

    scores = read_class_file(files, path)
    if figure == "pair-histogram":
        return pair_histograms(scores)
    if figure == "class-idempotence":
        return [idempotence(scores)]
    refine_by = "scale-offset" if figure == "class-calibration" else None
    prior = parse_prior(files.prior)
    return [evaluate(scores, prior=prior, refine_by=refine_by, detection=figure == "class-det")]
