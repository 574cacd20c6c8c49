"""Calibrate, fuse and apply with files of several classes; the commands themselves hand these files over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.class_commands import SAME_IDEA, class_reading, parse_prior, read_class_file
from llrkit.cli.output import named_file, parse_options, write_json
from llrkit.cli.reading import TrialInput
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.multiclass.class_maps import ClassMap
    from llrkit.scores.classes import ClassScores


def calibrate_classes(
    train: str,
    *,
    method: str,
    settings: Sequence[str],
    output: str,
    classes: str | None,
    prior: str | None,
    json_path: str | None,
    given: TrialInput,
) -> None:
    """Train a map of several classes and save it."""
    from llrkit.choose.methods import method_name
    from llrkit.cli.calibrate import refuse_unknown
    from llrkit.multiclass.class_methods import METHODS, fit_named

    name, options = method_name(SAME_IDEA.get(method, method), METHODS), parse_options(settings)
    refuse_unknown(METHODS[name], options, name)
    if "prior" in options:
        raise InputError("give the prior with --prior, not with --option")
    scores = read_class_file(train, classes, given)
    with named_file(train):
        fitted = fit_named(name, scores, prior=parse_prior(prior), **options)
    _save(fitted, scores, [train], output, parse_prior(prior), "calibrate", json_path)


def fuse_classes(
    paths: Sequence[str],
    *,
    output: str,
    prior: str | None,
    classes: str | None,
    regularization: float,
    json_path: str | None,
    given: TrialInput,
) -> None:
    """Train the fusion of several systems and save it."""
    from llrkit.io.classes.read_classes import read_class_systems, scores_of
    from llrkit.multiclass import fit_fusion
    from llrkit.scores.classes import ClassScores

    tables = read_class_systems(paths, class_reading(classes, given))
    parts = [scores_of(tables[0])]
    for table in tables[1:]:
        labeled = scores_of(table) if table.label else None
        if labeled is not None and not (labeled.codes == parts[0].codes).all():
            raise InputError(f"{table.file}: other labels than in {tables[0].file}")
        values = table.table.select(table.score).to_numpy()
        parts.append(ClassScores(values, parts[0].labels, parts[0].classes, parts[0].ids))
    scores = ClassScores.stack(parts)
    with named_file(", ".join(paths)):
        fitted = fit_fusion(scores, prior=parse_prior(prior), regularization=regularization)
    fitted = fitted.with_provenance(systems=[Path(path).name for path in paths])
    _save(fitted, scores, list(paths), output, parse_prior(prior), "fuse", json_path)


def is_class_map(path: str, *, accept_changed: bool = False) -> bool:
    """Whether a calibration file is one of several classes."""
    from llrkit.calibrate.map_files import read_json

    plain = read_json(path, accept_changed=accept_changed)
    return isinstance(plain, dict) and str(plain.get("format", "")).startswith("llrkit.class_map/")


def apply_classes(
    calibration: str,
    paths: Sequence[str],
    output: str,
    *,
    to: str | None,
    given: TrialInput,
    accept_changed: bool = False,
) -> None:
    """Write a table with calibrated log-likelihoods in the columns of the classes."""
    import numpy as np

    from llrkit.io.classes.read_classes import read_class_systems, with_loglik
    from llrkit.io.write import write_table
    from llrkit.multiclass import load_map

    fitted = load_map(calibration, accept_changed=accept_changed)
    reading = replace(class_reading(None, given), classes=tuple(fitted.classes))
    tables = read_class_systems(paths, reading)
    values = [table.table.select(table.score).to_numpy() for table in tables]
    trials = values[0] if len(values) == 1 else np.stack(values, axis=2)
    with named_file(", ".join(paths)):
        calibrated = with_loglik(tables[0], fitted(trials))
    write_table(calibrated, output, format=to)
    rows, names = calibrated.table.height, ", ".join(fitted.classes[:5])
    more = ", ..." if len(fitted.classes) > 5 else ""
    click.echo(f"{rows:,} trials written to {output} (log-likelihoods in the columns {names}{more})")


def _save(
    fitted: ClassMap,
    scores: ClassScores,
    paths: Sequence[str],
    output: str,
    prior: Any,
    command: str,
    json_path: str | None,
) -> None:
    from llrkit.cli.calibrate import sha256_of
    from llrkit.multiclass import cllr

    after = cllr(fitted.on(scores), prior=prior)
    before = f"from {cllr(scores, prior=prior):.4f} " if scores.n_systems == 1 else ""
    fitted = fitted.with_provenance(
        training_files=[Path(path).name for path in paths],
        training_sha256=[sha256_of(path) for path in paths],
        training_cllr=after,
    )
    fitted.save(output)
    to_stderr = json_path == "-"
    click.echo(f"{fitted!r}", err=to_stderr)
    click.echo(
        f"On the {len(scores):,} training trials of {scores.n_classes} classes Cllr goes {before}to "
        f"{after:.4f} bits. Saved in {output}",
        err=to_stderr,
    )
    write_json(fitted.to_dict(), command, json_path)
