"""What commands do with maps of several classes: train, fuse, apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from llrkit.base.text import counted
from llrkit.cli.class_commands import SAME_IDEA, class_reading, parse_prior, read_class_file
from llrkit.cli.options import parse_options
from llrkit.cli.output import named_file, write_json
from llrkit.cli.shown_warnings import trained_without
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.cli.kinds.asked_options import ToApply, ToCalibrate, ToFuse
    from llrkit.cli.kinds.several_classes import SeveralClassFiles
    from llrkit.multiclass.maps import ClassMap
    from llrkit.multiclass.metrics import Prior
    from llrkit.scores.classes import ClassScores


def calibrate_classes(files: SeveralClassFiles, asked: ToCalibrate) -> None:
    """Train a map of several classes and save it."""
    from llrkit.cli.calibrate import refuse_unknown
    from llrkit.fits.folds import method_name
    from llrkit.multiclass.fits import METHODS, fit_named

    name, options = (
        method_name(SAME_IDEA.get(asked.method, asked.method), METHODS),
        parse_options(asked.settings),
    )
    refuse_unknown(METHODS[name], options, name)
    if "prior" in options:
        raise InputError("give the prior with --prior, not with --option")
    (train,), prior = files.paths, parse_prior(files.prior)
    scores = read_class_file(files, train)
    with named_file(train):
        fitted = fit_named(name, scores, prior=prior, **options)
    _save_class_map(fitted, scores, files.paths, prior, asked)


def fuse_classes(files: SeveralClassFiles, asked: ToFuse) -> None:
    """Train the fusion of several systems and save it."""
    from llrkit.io.class_files import class_scores_of_table, read_class_systems
    from llrkit.multiclass import fit_fusion
    from llrkit.scores.classes import ClassScores

    tables = read_class_systems(files.paths, class_reading(files))
    parts = [class_scores_of_table(tables[0])]
    for table in tables[1:]:
        labeled = class_scores_of_table(table) if table.label else None
        if labeled is not None and not (labeled.codes == parts[0].codes).all():
            raise InputError(f"{table.file}: other labels than in {tables[0].file}")
        values = table.table.select(table.score).to_numpy()
        parts.append(ClassScores(values, parts[0].labels, parts[0].classes, parts[0].ids))
    scores = ClassScores.stack(parts)
    prior = parse_prior(asked.prior)
    with named_file(", ".join(files.paths)):
        fitted = fit_fusion(scores, prior=prior, regularization=asked.regularization)
    fitted = fitted.with_provenance(systems=[Path(path).name for path in files.paths])
    _save_class_map(fitted, scores, files.paths, prior, asked)


def apply_to_classes(files: SeveralClassFiles, asked: ToApply) -> None:
    """Write a table with calibrated log-likelihoods in the columns of the classes."""
    import numpy as np

    from llrkit.io.class_files import read_class_systems, with_loglik
    from llrkit.io.write import write_table
    from llrkit.multiclass import load_map

    fitted = load_map(asked.calibration, accept_changed=asked.accept_changed)
    reading = replace(class_reading(files), classes=tuple(fitted.classes))
    tables = read_class_systems(files.paths, reading)
    values = [table.table.select(table.score).to_numpy() for table in tables]
    trials = values[0] if len(values) == 1 else np.stack(values, axis=2)
    with named_file(", ".join(files.paths)):
        calibrated = with_loglik(tables[0], fitted(trials))
    write_table(calibrated, asked.output, format=asked.to)
    rows, names = calibrated.table.height, ", ".join(fitted.classes[:5])
    more = ", ..." if len(fitted.classes) > 5 else ""
    where = f"log-likelihoods in the columns {names}{more}"
    click.echo(f"{counted(rows, 'trial')} written to {asked.output} ({where})")


def _save_class_map(
    fitted: ClassMap, scores: ClassScores, paths: Sequence[str], prior: Prior, asked: ToCalibrate | ToFuse
) -> None:
    from llrkit.cli.calibrate import sha256_of
    from llrkit.multiclass import cllr

    after = cllr(fitted.on(scores), prior=prior)
    before = f"from {cllr(scores, prior=prior):.4f} " if scores.n_systems == 1 else ""
    fitted = fitted.with_provenance(
        training_files=[Path(path).name for path in paths],
        training_sha256=[sha256_of(path) for path in paths],
        training_cllr=after,
        **trained_without(),
    )
    fitted.save(asked.output)
    click.echo(f"{fitted!r}", err=asked.to_stderr)
    click.echo(
        f"On the {counted(len(scores), 'training trial')} of {scores.n_classes} classes Cllr goes {before}to "
        f"{after:.4f} bits. Saved in {asked.output}",
        err=asked.to_stderr,
    )
    write_json(fitted.to_dict(), click.get_current_context().info_name or "", asked.json_path)
