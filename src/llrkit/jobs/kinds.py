"""Which kind of trials a job was given, asked once; the trials of several classes, and those with spoofs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from llrkit.base.options import Options
from llrkit.engine.open import open_in_batches
from llrkit.errors import InputError, LabelError, UnknownNameError
from llrkit.io.class_files import class_file, class_scores_of_table, read_class_table
from llrkit.io.formats import scan_tables
from llrkit.io.read_options import Reading
from llrkit.jobs.job import Run, named_file
from llrkit.jobs.options import ClassChoice, ClusterChoice, SystemChoice
from llrkit.scores.labels import KNOWN_KINDS

if TYPE_CHECKING:
    from distributed import Client

    from llrkit.multiclass.metrics import Prior
    from llrkit.scores.classes import ClassScores
    from llrkit.spoof.trials import SpoofTrials

SAME_IDEA = {"logistic": "scale-offset", "cmlg": "gaussian"}
"""What a method for two classes is called for several."""


def of_classes(run: Run, path: str, *, otherwise: str = "") -> bool:
    """Whether a file is one of several classes: it looks like one, or that was said.

    ``otherwise`` is what else to do about options for several classes.
    """
    job, reading = run.job, run.job[Reading]
    for_two = {
        "--score-column": reading.score,
        "--score-columns": job[SystemChoice].score_columns,
        "--columns": reading.columns,
        "--nontargets": reading.nontargets,
        "--positive": reading.positive,
        "--scheduler or --workers": job[ClusterChoice].any,
    }
    insisted = [flag for flag, value in for_two.items() if value]
    if reading.classes and insisted:
        raise InputError(f"--classes and {insisted[0]} cannot be combined")
    if reading.classes or (not insisted and class_file(path, reading.key, label=reading.label)):
        return True
    why = f"is for several classes, but {path} holds scores of two; give --classes{otherwise}"
    job.refuse(why, ClassChoice)
    return False


def refuse_for_two(run: Run, *kinds: type[Options], but: tuple[str, ...] = ()) -> None:
    """Refuse options that mean nothing for several classes."""
    run.job.refuse("is for scores of two classes", *kinds, but=but)


def class_reading(run: Run) -> Reading:
    """How files of several classes are read; what is for two classes only is refused when they are read."""
    refuse_for_two(run, ClusterChoice)
    return run.job[Reading]


def read_classes(run: Run, path: str, **changed: object) -> ClassScores:
    """The trials of a file of several classes, some of each."""
    from llrkit.multiclass.metrics import require_all_classes

    scores = class_scores_of_table(read_class_table(path, class_reading(run).with_files(**changed)))
    with named_file(path):
        require_all_classes(scores.classes, scores.counts)
    return scores


def class_prior(run: Run) -> Prior:
    """The prior of several classes."""
    return prior_of_text(run.job[ClassChoice].prior)


def prior_of_text(text: str | None) -> Prior:
    """The prior of several classes, as it was typed.

    Examples
    --------
    >>> prior_of_text("en=0.5,de=50%"), prior_of_text(None)
    ({'en': 0.5, 'de': 0.5}, 'flat')
    """
    if text is None or text in ("flat", "counts"):
        return text or "flat"
    shares = {}
    for item in text.split(","):
        name, equals, share = item.rpartition("=")
        try:
            shares[name] = float(share[:-1]) / 100.0 if share.endswith("%") else float(share)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"--prior {text}: expected flat, counts, or CLASS=PROBABILITY for each class")
    return shares


# targets, non-targets and spoofs


def open_spoof_trials(
    path: str,
    columns: Mapping[str, str | None],
    reading: Reading,
    *,
    attack: str | None = None,
    client: Client | None = None,
) -> SpoofTrials:
    """The trials of a file, in batches or on a cluster; the columns by system, those not named are None."""
    from llrkit.spoof.trials import SYSTEMS, SpoofTrials

    if reading.score:
        raise InputError("--score-column: name the columns of the systems (--asv-column, --cm-column, ...)")
    named = {system: name for system, name in columns.items() if name}
    if not named:
        named = {name: name for name in SYSTEMS if _has_column(path, reading, name)}
        if not named:
            raise InputError(
                f"{path}: there is no column asv, cm or sasv; name those of the systems (--asv-column, "
                "--cm-column, --sasv-column)"
            )
    reading = replace(reading, score=tuple(dict.fromkeys(named.values())))
    trials = SpoofTrials(open_in_batches(path, reading, client=client), **named, attack=attack)
    if reading.missing_scores != "drop" or len(named) == 1:
        return trials
    # a trial without a score of one system still counts for the others
    alone = {system: open_in_batches(path, replace(reading, score=(name,))) for system, name in named.items()}
    return trials.reading_apart(alone)  # type: ignore[arg-type]


def _has_column(path: str, reading: Reading, name: str) -> bool:
    try:
        scan_tables([path], replace(reading, score=(name,)))
    except UnknownNameError:
        return False
    return True


@contextmanager
def speaking_of_kinds() -> Iterator[None]:
    """Say of a label that is none which kinds of trials there are."""
    try:
        yield
    except LabelError as error:
        label, known, _ = str(error).partition(" is not a label of two classes")
        raise LabelError(f"{label} is not a kind of trial; {KNOWN_KINDS}" if known else str(error)) from None
