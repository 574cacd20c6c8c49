"""Which kind of trials a command was given: asked once, before anything is read."""

from __future__ import annotations

from llrkit.cli.kinds.score_files import ScoreFiles
from llrkit.cli.kinds.several_classes import SeveralClassFiles
from llrkit.cli.kinds.two_classes import TwoClassFiles
from llrkit.cli.trial_input import TrialInput
from llrkit.errors import InputError


def score_files(
    paths: tuple[str, ...],
    given: TrialInput,
    *,
    classes: str | None = None,
    prior: str | None = None,
    posteriors: bool = False,
    score_columns: str | None = None,
) -> ScoreFiles:
    """The files of a command as what the first of them holds: scores of two classes, or of several."""
    if has_classes(paths[0], classes, given, score_columns):
        return SeveralClassFiles(paths, given, classes, prior, posteriors)
    if prior is not None:
        raise InputError(
            f"--prior is for several classes, but {paths[0]} holds scores of two; give --classes, or "
            "an option of the method (--option prior=...)"
        )
    if posteriors:
        raise InputError(f"--posteriors is for several classes, but {paths[0]} holds scores of two")
    return TwoClassFiles(paths, given)


def has_classes(path: str, classes: str | None, given: TrialInput, score_columns: str | None = None) -> bool:
    """Whether a file is to be read as one of several classes."""
    from llrkit.io.class_files import class_file

    reading = given.reading
    for_two = {
        "--score-column": reading.score or score_columns, "--columns": reading.columns,
        "--nontargets": reading.nontargets, "--positive": reading.positive,
        "--scheduler": given.cluster.scheduler, "--workers": given.cluster.workers,
    }  # fmt: skip
    insisted = [flag for flag, value in for_two.items() if value]
    if classes and insisted:
        raise InputError(f"--classes and {insisted[0]} cannot be combined")
    return bool(classes) or (not insisted and class_file(path, reading.key, label=reading.label))


def files_of_map(
    calibration: str, paths: tuple[str, ...], given: TrialInput, *, accept_changed: bool
) -> ScoreFiles:
    """The files that a saved map is applied to, as what the map takes."""
    from llrkit.maps.files import read_json

    plain = read_json(calibration, accept_changed=accept_changed)
    of_classes = isinstance(plain, dict) and str(plain.get("format", "")).startswith("llrkit.class_map/")
    return SeveralClassFiles(paths, given) if of_classes else TwoClassFiles(paths, given)
