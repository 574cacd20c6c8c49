"""The command lines that do what a step does, to be run in the folder of the project."""

from __future__ import annotations

from collections.abc import Sequence

from llrkit.app.choice_types import Spoken, ToAdvise, ToCalibrate, ToEvaluate, ToReportCase, ToValidate
from llrkit.app.project import CALIBRATION, DOCUMENTS
from llrkit.base.options import flag_of
from llrkit.io.read_options import Reading

Command = list[str]
_MAP = f"{DOCUMENTS}/{CALIBRATION}"


def reading_arguments(reading: Reading) -> Command:
    """The options of reading as they are typed.

    Examples
    --------
    >>> reading_arguments(Reading(score="cosine", distance=True, decimal=","))
    ['--score-column', 'cosine', '--decimal', ',', '--distance']
    """
    typed: Command = []
    for name, value in reading.given().items():
        flag = flag_of(Reading, name)
        if value is True:
            typed.append(flag)
        else:
            typed += [flag, ",".join(value) if isinstance(value, tuple) else str(value)]
    return typed


def evaluate_commands(path: str, reading: Reading, asked: ToEvaluate) -> list[Command]:
    """Of the evaluation: the report with its numbers, and the table for a spreadsheet."""
    options = [word for point in asked["points"] for word in ("--point", point)]
    options += ["--by", asked["by"]] if asked["by"] else []
    options += ["--ci", asked["ci"]] if asked["ci"] else []
    options += _columns_option("--speakers", asked["speakers"])
    start = ["llrkit", "evaluate", path, *reading_arguments(reading), *options, *_words_option(asked)]
    out = ["--html", f"{DOCUMENTS}/evaluation.html", "--json", f"{DOCUMENTS}/evaluation.json"]
    return [[*start, *out], [*start, "--table", "csv"]]


def advise_commands(path: str, reading: Reading, asked: ToAdvise) -> list[Command]:
    """Of the advice: what the scores look like, and the methods in cross-validation."""
    how = reading_arguments(reading)
    groups = _columns_option("--groups", asked["speakers"])
    return [
        ["llrkit", "diagnose", path, *how, "--json", f"{DOCUMENTS}/advice.json"],
        ["llrkit", "calibrate", path, *how, "--method", "best", *groups, "-o", f"{DOCUMENTS}/best.json"],
    ]


def calibrate_commands(path: str, reading: Reading, asked: ToCalibrate) -> list[Command]:
    """Of the calibration."""
    options = ["--method", asked["method"], "--bound", asked["bound"]]
    if asked["method"] == "best":
        options += _columns_option("--groups", asked["speakers"])
    if asked["bound"] == "sources":
        options += _columns_option("--speakers", asked["speakers"])
    return [["llrkit", "calibrate", path, *reading_arguments(reading), *options, "-o", _MAP]]


def validate_commands(path: str, reading: Reading, asked: ToValidate) -> list[Command]:
    """Of the validation."""
    options = ["--criteria", f"{DOCUMENTS}/criteria.toml", "--map", _MAP]
    options += [*(["--verbal"] if asked["verbal"] else []), *_words_option(asked)]
    return [
        ["llrkit", "validate", path, *reading_arguments(reading), *options, *_written_option("validation")]
    ]


def case_commands(
    reading: Reading, asked: ToReportCase, *, questioned: str, train: str, validation: str
) -> list[Command]:
    """Of the case report; the paths that are not used are empty."""
    scores = ["--scores", questioned] if questioned else []
    scores += [word for score in asked["scores"] for word in ("--score", repr(score))]
    options = ["--h1", asked["h1"], "--h2", asked["h2"]]
    options += ["--train", train, *_columns_option("--speakers", asked["speakers"])] if train else []
    options += ["--validation", validation] if validation else []
    options += ["--conditions", asked["conditions"]] if asked["conditions"] else []
    options += [*(["--verbal"] if asked["verbal"] else []), *_words_option(asked)]
    how = reading_arguments(reading) if train or validation else []
    return [["llrkit", "case", _MAP, *scores, *options, *how, *_written_option("case")]]


def _words_option(asked: Spoken) -> Command:
    return ["--vocabulary", asked["words"], *(["--base-10"] if asked["base_10"] else [])]


def _written_option(name: str) -> Command:
    return ["--report", f"{DOCUMENTS}/{name}.md", "--html", f"{DOCUMENTS}/{name}.html", "--docx",
            f"{DOCUMENTS}/{name}.docx", "--json", f"{DOCUMENTS}/{name}.json"]  # fmt: skip


def _columns_option(flag: str, names: Sequence[str]) -> Command:
    return [flag, ",".join(names)] if names else []
