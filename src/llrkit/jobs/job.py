"""Job and Run: a verb with its files and options, and what comes of doing it."""

from __future__ import annotations

import json
import os
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from llrkit.base.files import watching, write_atomically
from llrkit.base.options import FILES_READ, Options, as_typed, declared, typed_options
from llrkit.base.text import Json, counted, spelled
from llrkit.engine.open import open_trials, open_unlabeled
from llrkit.errors import FileFormatError, InputError, LeftOutWarning, LlrkitWarning, OptionError
from llrkit.io.formats import local_files, require_separate
from llrkit.io.joins import titles_of
from llrkit.io.read_options import CLUSTER, PathArg, Reading
from llrkit.io.table_columns import LLR_MAP
from llrkit.jobs.options import ClusterChoice, JsonOutput, PageOutput, SystemChoice, TableOutput
from llrkit.jobs.table import VERBS
from llrkit.scores.source import ScoreSource
from llrkit.scores.trials import Trials

if TYPE_CHECKING:
    from distributed import Client

    from llrkit.report.document import Provenance, Section

Part = TypeVar("Part", bound=Options)
STANDARD = "-"
Rows: TypeAlias = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Job:
    """A verb, and what it was told: what a command line, a form or a study file says.

    Examples
    --------
    >>> job = Job.of("evaluate", {"scores": "dev/scores.csv", "point": ("sre08",), "log10": True})
    >>> job.command_line()
    'llrkit evaluate scores.csv --point sre08 --log10'
    >>> job[Reading].log10
    True
    """

    verb: str
    parts: tuple[Options, ...]
    copies: Mapping[str, str] = field(default_factory=dict)
    """How files are shown that stand for others: copies of pipes."""

    @classmethod
    def of(cls, verb: str, typed: Mapping[str, object], copies: Mapping[str, str] | None = None) -> Job:
        """From what was typed or chosen, by the names of options on the command line."""
        return cls(verb, tuple(typed_options(part, typed) for part in VERBS[verb].parts), copies or {})

    def having(self, *parts: Options) -> Job:
        """The same job with other options of some kinds."""
        others = {type(part): part for part in parts}
        return replace(self, parts=tuple(others.get(type(part), part) for part in self.parts))

    def __getitem__(self, kind: type[Part]) -> Part:
        """The options of a kind; their defaults if the verb has none."""
        return next((part for part in self.parts if isinstance(part, kind)), None) or kind()

    def paths(self, kinds: Iterable[str]) -> list[str]:
        """The files that options of some kinds name."""
        found: list[str | os.PathLike[str]] = []
        for part in self.parts:
            for name, option in declared(type(part)).items():
                value = getattr(part, name) if option.kind in kinds else None
                found += [value] if isinstance(value, (str, os.PathLike)) else [*(value or ())]
        return [os.fspath(path) for path in found if path]

    @property
    def read(self) -> list[str]:
        """Every file that the job reads, each once."""
        return list(dict.fromkeys(self.paths(FILES_READ)))

    def refuse(
        self, why: str, *kinds: type[Options], but: Iterable[str] = (), only: Iterable[str] = ()
    ) -> None:
        """Refuse the given options of some kinds, except some, or only some of them."""
        for kind in kinds:
            for name in self[kind].given():
                if name not in but and (not only or name in only):
                    raise self[kind].error(f"{{}} {why}", name)

    def words(self, *, full_paths: bool = False) -> list[str]:
        """The command line that says the same, word by word."""
        arguments: list[str] = []
        options: list[str] = []
        for part in self.parts:
            for option, flag, texts in as_typed(part):
                if option.kind in FILES_READ or option.kind in ("write", "folder"):
                    shown = texts if full_paths else map(name_of_path, texts)
                    texts = [self.copies.get(text, name) for text, name in zip(texts, shown, strict=True)]
                if option.argument:
                    arguments += texts
                elif not texts:
                    options.append(flag)
                else:
                    for text in texts:  # -3.5 would be taken for an option
                        taken_apart = text.startswith("-") and text != STANDARD
                        options += [f"{flag}={text}"] if taken_apart else [flag, text]
        return ["llrkit", *self.verb.split(), *arguments, *options]

    def command_line(self, *, full_paths: bool = False) -> str:
        """The command line that says the same, to be pasted into a shell in the folder of its files."""
        return shlex.join(self.words(full_paths=full_paths))


def name_of_path(path: str) -> str:
    """The last part of a path; of a folder, with its slash.

    Examples
    --------
    >>> [name_of_path(path) for path in ("/home/me/scores.csv", "../trials/", "a/*.csv", "..")]
    ['scores.csv', 'trials/', '*.csv', '..']
    """
    name = PurePath(path).name
    return name + "/" if name and path.endswith(("/", os.sep)) else name or path


@dataclass(frozen=True)
class ShownTable:
    """A table of what a job says; columns that are not ``left`` are numbers."""

    header: Sequence[str]
    rows: Rows
    title: str = ""
    left: Sequence[int] = (0,)


@dataclass(eq=False)
class Run:
    """A job that is being done: what it reads with, and what it has said and written so far."""

    job: Job
    said: list[str | ShownTable] = field(default_factory=list)
    """For whoever asked, in order."""
    notes: list[str] = field(default_factory=list)
    """Beside that: which files hold LLRs, what was left out, where a page is if a table was asked for."""
    content: dict[str, Json] | None = None
    """The numbers, as JSON has them."""
    schema: str = ""
    """What the numbers are called in JSON, where that is not the verb."""
    text: str = ""
    """JSON that was asked for on standard output."""
    result: Any = None
    """What the verb gave."""
    sections: Callable[[], Sequence[Section]] = tuple
    """The parts of a page that shows the result."""
    exit_code: int = 0
    calibrated: list[str] = field(default_factory=list)
    """Which files hold LLRs that a calibration wrote."""
    _warned: list[warnings.WarningMessage] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)
    _client: Client | None = None

    def say(self, *texts: str) -> None:
        """Tell whoever asked."""
        self.said += texts

    def table(
        self, header: Sequence[str], rows: Rows, *, title: str = "", left: Sequence[int] = (0,)
    ) -> None:
        """Tell it as a table."""
        self.said.append(ShownTable(header, rows, title, left))

    def note(self, text: str) -> None:
        """Tell it beside."""
        self.notes.append(text)

    @property
    def paper_table(self) -> str | None:
        """Which table for a paper was asked for, if any: standard output then holds nothing else."""
        return self.job[TableOutput].table

    def say_paper_table(self, results: Any, **how: Any) -> bool:
        """Tell results as a table for a paper, if one was asked for."""
        if self.paper_table is None:
            return False
        from llrkit.report.tables import format_table

        self.say(format_table(results, self.paper_table, **how).rstrip())
        return True

    def say_below(self, text: str) -> None:
        """Tell it below the table, or beside a table for a paper."""
        (self.say if self.paper_table is None else self.note)(text)

    def say_reports(self, *paths: str | None) -> None:
        """Tell where reports are that were written."""
        for path in filter(None, paths):
            self.say_below(f"The report is in {path}")

    # what is read

    def open(self, *paths: str, **changed: Any) -> ScoreSource:
        """The trials of a path, or of one path per system; ``changed`` are options of reading that differ."""
        reading = self.job[Reading].with_files(**changed)
        source = open_trials(paths, reading, client=self.client(reading))
        if source.roles.calibrated:
            said = f"LLRs of the column {source.roles.score[0]!r}, written by {_calibration_of(source)}"
            self.note(f"{', '.join(paths)}: {said}")
            self.calibrated.append(f"{', '.join(Path(path).name for path in paths)}: {said}.")
        return source

    def open_unlabeled(self, path: str, **changed: Any) -> ScoreSource:
        """The trials of a path whose labels are not looked at, and need not be there."""
        reading = self.job[Reading].with_files(**changed)
        return open_unlabeled(path, reading, client=self.client(reading))

    def open_systems(self, files: Sequence[str]) -> dict[str, ScoreSource]:
        """Trials by the name of their system: of several files, or several columns of each, in order."""
        asked, one = self.job[SystemChoice], self.job[Reading].score
        if asked.score_columns and one:
            raise InputError("--score-column and --score-columns cannot be combined")
        titles = titles_of(files, asked.score_columns, asked.names or None)
        scores: list[tuple[str, ...] | None] = [(column,) for column in asked.score_columns] or [one]
        wanted = [(file, score) for file in files for score in scores]
        return {
            title: self.open(file, score=score) for title, (file, score) in zip(titles, wanted, strict=True)
        }

    def open_joined(self, files: Sequence[str], *, example: str) -> ScoreSource:
        """The trials of several systems: of several files, or of columns of one.

        Trials that some system has not scored are kept, unless they are an error.
        """
        columns, reading = self.job[SystemChoice].score_columns, self.job[Reading]
        if len(files) == 1 and not columns:
            raise InputError(f"one file: name the columns of the systems with --score-columns {example}")
        if len(files) > 1 and columns:
            raise InputError("--score-columns is for one file; several files have one score each")
        kept = "error" if reading.missing == "error" else "subset"
        return self.open(*files, score=columns or reading.score, missing=kept)

    def client(self, reading: Reading | None = None) -> Client | None:
        """The cluster of this job, if one was asked for; what was started for it ends with the job."""
        choice = self.job[ClusterChoice]
        if not choice.any:
            return None
        if reading is not None:
            reading.require(CLUSTER)  # before any worker is started
        if self._client is None:
            from llrkit.engine.cluster import cluster, quieten

            quieten()
            self._client = self._open.enter_context(cluster(choice.scheduler, workers=choice.workers))
        return self._client

    def left_out(self) -> dict[str, int]:
        """How many trials were left out so far, by the message that said so."""
        said = [warning.message for warning in self._warned]
        return {str(one): one.trials for one in said if isinstance(one, LeftOutWarning) and one.trials}

    def trained_without(self) -> dict[str, int]:
        """What a calibration file records of the training trials that were left out; nothing if none was."""
        n = sum(self.left_out().values())
        return {"training_left_out": n} if n else {}

    # what is written

    def provenance(self, *more: PathArg) -> Provenance:
        """Where numbers come from: what is read, and more files, with hashes; the command line, the date."""
        from llrkit.report.document import provenance

        read, full_paths = [*self.job.read, *map(str, more)], self.job[PageOutput].full_paths
        command = self.job.command_line(full_paths=full_paths)
        return provenance(read, command=command, full_paths=full_paths)

    def as_json(self, content: Mapping[str, Json]) -> str:
        """The text of a JSON file with numbers of this job."""
        without: list[Json] = [{"trials": n, "text": text} for text, n in self.left_out().items()]
        name, version = self.schema or self.job.verb.replace(" ", "."), VERBS[self.job.verb].version
        members = {
            "schema": f"llrkit.{name}/{version}",
            **spelled(content),
            **({"left_out": without} if without else {}),
        }
        return as_given(json.dumps(members, indent=2, allow_nan=False) + "\n", self.job)

    def finish(self) -> None:
        """Write the numbers where that was asked for."""
        path = self.job[JsonOutput].json
        if path is None or self.content is None:
            return
        text = self.as_json(self.content)
        if path == STANDARD:
            self.text = text
        else:
            write_atomically(path, text)


def run_job(job: Job) -> Run:
    """Do a job: what is read stays as it is and is not overwritten, what is written is whole or not there."""
    module, _, name = VERBS[job.verb].does.partition(":")
    does: Callable[[Run], None] = getattr(import_module(f"llrkit.jobs.{module}"), name)
    written = [file for path in job.paths(("write",)) for file in _files_written(path)]
    require_separate(job.read, written)
    run = Run(job)
    try:
        with (
            warnings.catch_warnings(record=True) as run._warned,
            watching(lambda: [file for path in job.read for file in local_files(path)]),
            run._open,
        ):
            warnings.simplefilter("always", LlrkitWarning)
            does(run)
            run.finish()
    finally:
        for one in run._warned:  # also of a job that failed
            said = as_given(str(one.message), job) if job.copies else one.message
            warnings.warn_explicit(said, one.category, one.filename, one.lineno)
    return run


def as_given(text: str, job: Job) -> str:
    """A text with pipes as they were given where it names their copies."""
    for copy, given in job.copies.items():
        text = text.replace(copy, "standard input" if given == STANDARD else given)
    return text


@contextmanager
def named_file(file: str) -> Iterator[None]:
    """Errors found after reading still name the file."""
    try:
        yield
    except (FileFormatError, OptionError):  # one names its file itself, the other says nothing of it
        raise
    except InputError as error:
        if str(error).startswith(f"{file}, line "):  # found at a trial that knows its place
            raise
        raise type(error)(f"{file}: {error}") from None


@contextmanager
def unwarned(*categories: type[Warning], when: bool = True) -> Iterator[None]:
    """Without warnings of what the job says in its own words."""
    with warnings.catch_warnings():
        for category in categories if when else ():
            warnings.simplefilter("ignore", category)
        yield


def _calibration_of(source: ScoreSource) -> str:
    """The calibration that wrote the LLRs of a source, by name where the trials are in memory and tell."""
    if not isinstance(source, Trials) or LLR_MAP not in source.table.columns:
        return "a calibration"
    maps = source.table[LLR_MAP].drop_nulls().unique(maintain_order=True).to_list()
    if len(maps) == 1:
        return f"the calibration {maps[0]}"
    return f"{counted(len(maps), 'calibration')}" if maps else "a calibration"


def _files_written(path: str) -> tuple[str, ...]:
    """A Kaldi archive has its index beside it."""
    return (path, path.removesuffix(".ark") + ".scp") if path.endswith(".ark") else (path,)
