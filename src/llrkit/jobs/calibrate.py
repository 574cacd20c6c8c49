"""calibrate and fuse: a map from the scores of files to LLRs, of two classes or of several."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from llrkit import multiclass
from llrkit.base.options import declared
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, as_number, as_object, counted
from llrkit.errors import InputError, NoOverlapWarning, PooledClassesWarning, SeparationError, ShapeWarning
from llrkit.fits.best import MethodRow, fit_best
from llrkit.fits.folds import METHODS, method_name
from llrkit.io.class_files import class_scores_of_table, read_class_systems
from llrkit.io.formats import read_table, sha256_of
from llrkit.io.joins import join_countermeasure
from llrkit.io.read_options import TANDEM, Reading
from llrkit.jobs import kinds
from llrkit.jobs import options as of
from llrkit.jobs.job import Run, named_file, unwarned
from llrkit.maps.bounds import BoundedMap, bound_sentence
from llrkit.maps.map import Map
from llrkit.maps.training_range import REMEDY, REMEDY_TYPED
from llrkit.scores.classes import ClassScores
from llrkit.spoof.trials import SpoofTrials
from llrkit.verbs.calibrate import Calibration, calibrate, fuse, refuse_unknown
from llrkit.verbs.options import CalibrateOptions, FuseOptions

if TYPE_CHECKING:
    from llrkit.multiclass.maps import ClassMap
    from llrkit.multiclass.metrics import Prior
    from llrkit.report.document import Section


def calibrate_file(run: Run) -> None:
    """Train a map of the scores of a file and save it."""
    train = run.job[of.ScoreFile].scores
    if kinds.of_classes(run, train, otherwise=", or an option of the method (--option prior=...)"):
        _calibrate_classes(run, train)
        return
    trials = run.open(train)
    # of classes without overlap it is told among the remarks
    with options_as_typed(), unwarned(NoOverlapWarning):
        made = calibrate(trials, options=run.job[CalibrateOptions])
    before, after = made.before, made.after
    assert before is not None  # the methods are of one system
    fitted = made.map.with_provenance(
        training_file=Path(train).name,
        **run.trained_without(),
        training_sha256=sha256_of(train),
        **_other_training_files(run.job[Reading]),
    )
    _tell_and_save(run, replace(made, map=fitted), f"{fitted!r}")
    run.say(
        f"On the {before.n_target:,} + {before.n_nontarget:,} training trials Cllr goes from "
        f"{before.cllr:.4f} to {after.cllr:.4f} bits (minimum {after.min_cllr:.4f}). "
        f"Saved in {run.job[of.MapOutput].output}"
    )


def fuse_files(run: Run) -> None:
    """Train one map of the scores of several systems and save it."""
    files, asked = run.job[of.ScoreFiles].scores, run.job[FuseOptions]
    if run.job[of.SasvChoice].wanted:
        _fuse_sasv(run, files)
        return
    if kinds.of_classes(run, files[0]):
        _fuse_classes(run, files)
        return
    reading = run.job[Reading]
    if reading.nontargets is not None:
        raise InputError("--nontargets is for one system; a fusion needs to know which trials are the same")
    prior = run.job[of.FusionPrior].prior
    options = FuseOptions.of(asked, {} if prior is None else {"prior": prior})
    trials = run.open_joined(files, example="a,b,c")
    with options_as_typed():
        made = fuse(trials, options=FuseOptions.of(options, {"missing": reading.missing}))
    fitted = made.map.with_provenance(**_training_files(run, files), **_other_training_files(reading))
    inside = fitted.map if isinstance(fitted, BoundedMap) else fitted
    _tell_and_save(run, replace(made, map=fitted), f"{inside!r}")
    run.say(
        f"On the training trials the fusion has EER {100 * made.after.eer:.2f} % and Cllr "
        f"{made.after.cllr:.4f} bits. Saved in {run.job[of.MapOutput].output}"
    )


def _tell_and_save(run: Run, made: Calibration, title: str) -> None:
    """Save the map, and say what was found when it was made."""
    fitted = made.map
    fitted.save(run.job[of.MapOutput].output)
    run.result, run.content = made, fitted.to_dict()
    run.sections = lambda: calibration_sections(made)
    run.say(title)
    # what a choice found out stays with the map that was chosen, which is inside its bounds
    details = {**fitted.map.details, **fitted.details} if isinstance(fitted, BoundedMap) else fitted.details
    if "cross_validation" in details:
        _say_cross_validation(run, details)
    if "alpha_choice" in details:
        run.say(_words_on_alpha(as_object(details["alpha_choice"])))
    run.say(bound_sentence(fitted), *made.remarks)
    for text in made.cautions:
        warn_caller(text, ShapeWarning)


def _say_cross_validation(run: Run, details: Mapping[str, object]) -> None:
    """The table of a choice by cross-validation: loss and weight of each method, or why it has none."""
    prior, weights = as_number(details["prior"]), as_object(details["weights"])
    loss = "Cllr" if prior == 0.5 else f"cross-entropy at the prior {prior:g}"
    rows = []
    for row in MethodRow.of_details(details):
        weight = f"{100 * as_number(weights[row.method]):5.1f} %" if row.method in weights else "    -"
        rows.append((row.method, f"{row.cllr:.4f}", row.reason or weight))
    if len(weights) > 1:
        rows.append(("the blend", f"{as_number(details['expected_cllr']):.4f}", ""))
    title = f"Cross-validated {loss}, and the weight in the result:"
    run.table(("", "", ""), rows, title=title, left=(0, 2))


def _words_on_alpha(choice: Mapping[str, Json]) -> str:
    """Which alpha was chosen, and what for."""
    alpha, cost, at_half = (as_number(choice[name]) for name in ("alpha", "cost", "cost_at_half"))
    at = f"cross-validated cost at {choice['point']}"
    if alpha == 0.5:
        return f"alpha = 1/2 kept: {at} {at_half:.4f}, and no other weight is clearly better"
    return f"alpha = {alpha:.3g}: {at} {cost:.4f}; {at_half:.4f} at 1/2"


def _training_files(run: Run, files: Sequence[str]) -> dict[str, Json]:
    """What is kept of the files of several systems."""
    hashes: list[Json] = [sha256_of(path) for path in files]
    return {"training_files": [*files], **run.trained_without(), "training_sha256": hashes}


def _other_training_files(reading: Reading) -> dict[str, str]:
    """What is kept of the other files that a training set came from."""
    kept: dict[str, str] = {}
    for name, path in (("key", reading.key), ("nontargets", reading.nontargets)):
        if path is not None:
            kept |= {f"training_{name}": Path(path).name, f"training_{name}_sha256": sha256_of(path)}
    return kept


@contextmanager
def options_as_typed() -> Iterator[None]:
    """What to do about classes that do not overlap, with the options of the command line."""
    try:
        yield
    except SeparationError as error:
        raise SeparationError(str(error).replace(REMEDY, REMEDY_TYPED)) from None


def methods_with_options() -> Iterator[str]:
    """Every method with its options and what it does, from the functions themselves, line by line."""
    fits: dict[str, Callable[..., Map]] = {**METHODS, "best": fit_best}
    for name, fit in fits.items():
        first_line = (fit.__doc__ or "").partition("\n")[0].replace("`", "")
        yield f"{name}: {first_line}"
        for option in list(signature(fit).parameters.values())[1:]:
            if option.name not in ("labels", "group_limits", *declared(CalibrateOptions)):
                yield f"    --option {option.name}={_typed_default(option.default)}"


def _typed_default(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)


def calibration_sections(made: Calibration) -> list[Section]:
    """What a calibration does to its training trials: losses before and after, and its curve."""
    from llrkit import plot
    from llrkit.report.document import Section
    from llrkit.report.tables import TextTable
    from llrkit.verbs.compare import ScoreToLlr

    header, rows = made.table()
    table = TextTable(tuple(header), tuple(map(tuple, rows)), numeric=True)
    note = "On the trials that trained it a calibration looks better than on others: validate it on others."
    fitted, pictures = made.map, []
    low, high = (np.nan, np.nan) if made.before is None else made.before.moments.extremes
    if not fitted.needs and np.isfinite(low) and np.isfinite(high):
        scores = np.linspace(low, high, 257)
        factor = fitted.input_factor  # the map takes scores as the file has them
        curve = ScoreToLlr(scores, np.asarray(fitted(scores / factor, outside="ignore")))
        pictures.append(plot.pav({fitted.method or fitted.kind: curve}, renderer="none"))
    return [Section("What the calibration does", (), [table], pictures, note=note)]


# speaker verification with a countermeasure


def _fuse_sasv(run: Run, files: tuple[str, ...]) -> None:
    """Train the fusion, save it, and show the a-DCF of every method."""
    from llrkit.spoof.fusion import RIDGE, compare, fit_sasv, sasv_method

    asked, fusion, reading = run.job[of.SasvChoice], run.job[FuseOptions], run.job[Reading]
    why = "cannot be combined with --sasv"
    run.job.refuse(why, FuseOptions, but=("method", "regularization"))
    run.job.refuse(why, of.FusionPrior, of.SystemChoice)
    run.job.refuse(why, Reading, only=("classes", "missing"))
    costs = asked.costs or "asvspoof5"
    method = sasv_method("bayes-trained" if fusion.method == "logistic" else fusion.method)
    with unwarned(PooledClassesWarning), kinds.speaking_of_kinds():
        dev, held = _sasv_trials(run, files)
        others = _sasv_trials(run, asked.on)[0] if asked.on else dev
        fitted = fit_sasv(dev, method, costs=costs, regularization=fusion.regularization or RIDGE)
        compared = compare(dev, others, costs=costs)
    # as the columns of the files are called, by which 'apply' finds them again
    fitted = replace(fitted, reading={**(fitted.reading or {}), "score": list(held)})
    joined_on = {"joined_on": list(reading.ids)} if reading.ids else {}
    fitted = fitted.with_provenance(**_training_files(run, files), **joined_on)
    output = run.job[of.MapOutput].output
    fitted.save(output)
    run.table(*compared.table(), title=f"a-DCF {compared.costs}")
    run.say(f"\n{fitted!r}\nSaved in {output}")
    run.result = fitted
    run.content = {**compared.to_dict(), "chosen": method, "fusion": fitted.to_dict()}


def _sasv_trials(run: Run, paths: Sequence[str]) -> tuple[SpoofTrials, tuple[str, ...]]:
    """The trials, and the columns of their files that hold the scores."""
    asked, ids = run.job[of.SasvChoice], run.job[Reading].ids
    reading = run.job[Reading].with_files(ids=())
    if len(paths) == 1:
        trials = kinds.open_spoof_trials(paths[0], {"asv": asked.asv_column, "cm": asked.cm_column}, reading)
        return trials, tuple(trials.systems[system] for system in ("asv", "cm") if system in trials.systems)
    if len(paths) != 2:
        raise InputError(f"--sasv takes one file with both scores, or ASV and CM files; got {len(paths)}")
    reading.require(TANDEM)
    columns = (asked.asv_column, asked.cm_column)
    named = (replace(reading, score=(name,)) if name else reading for name in columns)
    asv, cm = (read_table(file, one) for file, one in zip(paths, named, strict=True))
    joined = join_countermeasure(asv, cm, ids)
    asv_name, cm_name = joined.score
    trials = SpoofTrials(joined.table, asv=asv_name, cm=cm_name, label=joined.label or "")
    return trials, (asv.score[0], cm.score[0])


# several classes


def _calibrate_classes(run: Run, train: str) -> None:
    """Train a map from log-likelihoods to log-likelihoods and save it."""
    from llrkit.multiclass.fits import METHODS as OF_CLASSES
    from llrkit.multiclass.fits import fit_named

    kinds.refuse_for_two(run, CalibrateOptions, but=("method", "settings"))
    asked = run.job[CalibrateOptions]
    settings: dict[str, Any] = {**(asked.settings or {})}
    name = method_name(kinds.SAME_IDEA.get(str(asked.method), str(asked.method)), OF_CLASSES)
    refuse_unknown(OF_CLASSES[name], settings, name)
    if "prior" in settings:
        raise InputError("give the prior with --prior, not with --option")
    prior, scores = kinds.class_prior(run), kinds.read_classes(run, train)
    with named_file(train):
        fitted = fit_named(name, scores, prior=prior, **settings)
    _save_class_map(run, fitted, scores, (train,), prior)


def _fuse_classes(run: Run, files: tuple[str, ...]) -> None:
    """Train the log-likelihoods of several systems and save them."""
    kinds.refuse_for_two(run, FuseOptions, but=("method", "features", "regularization"))
    tables = read_class_systems(files, kinds.class_reading(run))
    parts = [class_scores_of_table(tables[0])]
    for table in tables[1:]:
        labeled = class_scores_of_table(table) if table.label else None
        if labeled is not None and not (labeled.codes == parts[0].codes).all():
            raise InputError(f"{table.file}: other labels than in {tables[0].file}")
        values = table.table.select(table.score).to_numpy()
        parts.append(ClassScores(values, parts[0].labels, parts[0].classes, parts[0].ids))
    scores, prior = ClassScores.stack(parts), kinds.prior_of_text(run.job[of.FusionPrior].prior)
    with named_file(", ".join(files)):
        fitted = multiclass.fit_fusion(
            scores, prior=prior, regularization=run.job[FuseOptions].regularization
        )
    fitted = fitted.with_provenance(systems=[Path(path).name for path in files])
    _save_class_map(run, fitted, scores, files, prior)


def _save_class_map(
    run: Run, fitted: ClassMap, scores: ClassScores, paths: Sequence[str], prior: Prior
) -> None:
    after = multiclass.cllr(fitted.on(scores), prior=prior)
    before = f"from {multiclass.cllr(scores, prior=prior):.4f} " if scores.n_systems == 1 else ""
    fitted = fitted.with_provenance(
        training_files=[Path(path).name for path in paths],
        training_sha256=[sha256_of(path) for path in paths],
        training_cllr=after,
        **run.trained_without(),
    )
    output = run.job[of.MapOutput].output
    fitted.save(output)
    run.say(
        f"{fitted!r}",
        f"On the {counted(len(scores), 'training trial')} of {scores.n_classes} classes Cllr goes {before}to "
        f"{after:.4f} bits. Saved in {output}",
    )
    run.result, run.content = fitted, fitted.to_dict()
