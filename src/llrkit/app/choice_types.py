"""What is chosen for each step, and what a step shows: the types of everything that is saved with a project.

All of it goes through pipes and files as JSON, so these are plain dicts; those that are final can be told
from each other by a key.
"""

from __future__ import annotations

from typing import NotRequired, TypeAlias, TypedDict, final

from llrkit.base.text import Json


class Spoken(TypedDict):
    """The settings of a project, as they are saved; choices of every step."""

    words: str
    base_10: bool
    speakers: list[str]


@final
class ToRead(TypedDict):
    """Find out what a file is."""

    file: str


@final
class ToEvaluate(Spoken):
    """Choices of the evaluation."""

    file: str
    ci: str
    points: list[str]
    by: str


@final
class ToAdvise(Spoken):
    """Choices of the advice."""

    file: str


@final
class ToCalibrate(Spoken):
    """Choices of the calibration."""

    file: str
    method: str
    bound: str


class CriterionRow(TypedDict):
    """A row of the validation matrix; ``value`` is missing where the metric is a verdict."""

    characteristic: str
    metric: str
    limit: str
    value: NotRequired[float]
    by: NotRequired[str]
    change_from: NotRequired[str]


class Criteria(TypedDict):
    """What a file of criteria says."""

    ci: str
    speakers: list[str]
    interval: bool
    rows: list[CriterionRow]
    report: dict[str, str]
    base_10: NotRequired[bool]


@final
class ToValidate(Spoken):
    """Choices of the validation."""

    file: str
    ci: str
    interval: bool
    rows: list[CriterionRow]
    report: dict[str, str]
    verbal: bool


@final
class ToReportCase(Spoken):
    """Choices of the case report; names of files are empty where there is none."""

    scores: list[float]
    questioned: str
    train: str
    validation: str
    h1: str
    h2: str
    conditions: str
    verbal: bool


StepChoices: TypeAlias = ToEvaluate | ToAdvise | ToCalibrate | ToValidate | ToReportCase
Choices: TypeAlias = ToRead | StepChoices


class TaskFile(TypedDict):
    """A file of a project, as a task sees it."""

    path: str
    use: str
    sha256: str
    reading: dict[str, Json]
    columns: list[str]


class PlainTask(TypedDict):
    """A task as it goes through a pipe."""

    kind: str
    folder: str
    out: str
    files: dict[str, TaskFile]
    choices: Choices


class FileRoles(TypedDict):
    """Which column of a file is what."""

    score: list[str]
    label: str | None
    enroll: str | None
    test: str | None
    calibrated: bool


class Facts(TypedDict, total=False):
    """What reading a file told, as far as it could be read."""

    format: str
    columns: list[str]
    roles: FileRoles
    rows: list[list[str]]
    n_target: int
    n_nontarget: int
    range: list[float]
    n_questioned: int
    problem: str
    lines: list[str]
    warnings: list[str]


class ShownBanner(TypedDict):
    """The verdict of a step."""

    word: str
    grade: str
    text: str


class ShownTable(TypedDict):
    """A table of a page."""

    header: list[str]
    rows: list[list[str]]
    caption: str
    numeric: bool


class ShownFigure(TypedDict):
    """A picture in a file, its title, and what it shows in words."""

    file: str
    title: str
    told: str


class ShownSection(TypedDict):
    """A section of a page."""

    title: str
    paragraphs: list[str]
    tables: list[ShownTable]
    figures: list[ShownFigure]
    note: str


class ShownStep(TypedDict):
    """What a step shows, and the documents it wrote."""

    remarks: list[str]
    sections: list[ShownSection]
    documents: list[str]
    commands: list[list[str]]
    banner: NotRequired[ShownBanner]
    statements: NotRequired[list[str]]
    suggested: NotRequired[str]
    why: NotRequired[str]
    warnings: NotRequired[list[str]]


@final
class Told(ShownStep):
    """What came of a step."""


@final
class ReadFacts(TypedDict):
    """What came of reading a file."""

    facts: Facts
    warnings: NotRequired[list[str]]


Outcome: TypeAlias = Told | ReadFacts
"""What comes of a task."""


@final
class StepResult(ShownStep):
    """What a step shows, with its choices and what it rests on."""

    choices: StepChoices
    inputs: dict[str, str]
    made: str


class SavedProject(TypedDict):
    """The state of a project, as it is saved."""

    schema: str
    settings: Spoken
    files: list[dict[str, Json]]
    results: dict[str, StepResult]
    written: NotRequired[dict[str, str]]
    """The files that saving wrote, with their SHA-256; no other file is replaced or deleted."""


class PlainJob(TypedDict):
    """What a page is told of a job."""

    id: str
    step: str
    state: str
    what: str
    share: float | None
    unit: str
    error: str
