"""Which column is what: layouts, headers, roles and common types; the table that readers give."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Unpack

import polars as pl

from llrkit.base.process import require_memory
from llrkit.errors import FileFormatError
from llrkit.io.text_lines import NO_SCORE, NUMBER
from llrkit.scores.labels import classify_words
from llrkit.scores.source import RoleChanges, Roles, require_column

LLR, LOG10_LR, LLR_MAP, RAW_SCORE = "llr", "log10_lr", "llr_map", "raw_score"
"""What a calibration writes: natural-log LLRs, or to base ten; which map made them. Before, LLRs were written
to ``score``, and what had been there to ``raw_score``."""
SCORE_NAMES = (
    "score", "scores", "llr", "log_lr", "loglr", "raw_score", "y_score", "similarity", "sasv_score",
)  # fmt: skip
ONE_OF_TWO_SCORES = ("cm_score", "asv_score")
"""Scores where a table has but one of them; which is meant of both must be said."""
LABEL_NAMES = (
    "label", "target", "targettype", "target_type", "is_target", "labels", "key", "class", "truth", "tgt",
    "trialtype", "trial_type", "sasv_label", "y_true", "hypothesis", "ground_truth", "asv_label", "cm_label",
)  # fmt: skip
ENROLL_NAMES = (
    "enroll", "enrol", "model", "modelid", "model_id", "enroll_id", "enrol_id", "enrollment",
    "enroll_speaker", "claimed_id", "bio_ref_subject_id", "file1", "file_1", "utt1", "wav1", "audio1", "spk",
    "tar_spk_anon", "reference",
)  # fmt: skip
TEST_NAMES = (
    "test", "segment", "segmentid", "segment_id", "segid", "test_id", "utt", "utterance", "probe",
    "probe_key", "file2", "file_2", "utt2", "wav2", "audio2", "filename", "file_name", "trial_anon",
)  # fmt: skip
SAME_SUBJECT = (("claimed_id", "real_id"), ("bio_ref_subject_id", "probe_subject_id"))
"""Columns that name the subject on both sides: the trial is a target where they are equal."""

BONAFIDE, ATTACK = {"bonafide", "bona-fide", "genuine"}, re.compile("spoof|-|[as][0-9]{1,2}|[abc]{2}")
"""What is no attack, and the names of attacks in ASVspoof: S1 to S10, A01 to A32, AA to CC."""
WORDS_OF_KIND = {
    "S": {"a", "b"},
    "Y": {"y", "n"},
    "G": {"m", "f", "male", "female"},
    "F": BONAFIDE | {"real", "spoof", "spoofed", "fake"},
}
"""What a column of these kinds (see ``Layout``) holds, and nothing else."""
_NAMES = {*SCORE_NAMES, *ONE_OF_TWO_SCORES, *LABEL_NAMES, *ENROLL_NAMES, *TEST_NAMES}
# Names that end in a digit are left out: utt1 in the first row may as well be the id of a trial.
KNOWN_NAMES = {name for name in _NAMES if name[-1] not in "12"} | {"side", "channel", "gender"}
"""Names by which a header is known; ``utt1`` may as well be an id."""


def folded(name: str) -> str:
    """A name of a column as the lists above have it, however it is capitalized and joined.

    Examples
    --------
    >>> folded("CM-Score"), folded("model id")
    ('cm_score', 'model_id')
    """
    return name.strip().lower().replace("-", "_").replace(" ", "_")


@dataclass(frozen=True)
class Layout:
    """A layout without header: what each column must hold, and its name.

    Letters: N a number, L a label (word or 0/1 or -1/1), W a label that is a word, B 0/1 or -1/1, S a side
    (a or b), Y yes or no (y or n), G a gender, C bonafide or which attack, F bonafide or spoof as a label,
    T text that is not all numbers, * anything.
    """

    format: str
    holds: str
    names: str
    delimiters: str = " \t,;"

    def fits(self, kinds: Sequence[str], delimiter: str) -> bool:
        """Whether columns of these kinds can be this layout."""
        if len(kinds) != len(self.holds) or delimiter not in self.delimiters:
            return False
        return all(want == "*" or want in kind for want, kind in zip(self.holds, kinds, strict=True))


LAYOUTS = (
    # Among layouts of one width, the stricter one comes before the one that would take anything.
    Layout("values", "N", "score"),
    Layout("two-column", "LN", "label score"),
    Layout("two-column", "NL", "score label"),
    Layout("asvspoof", "*N", "test score"),
    Layout("asvspoof", "WWN", "cm_label label score"),
    Layout("asvspoof", "CWN", "cm_label label score"),
    Layout("asvspoof", "*WN", "test label score"),
    Layout("kaldi", "**L", "enroll test label"),
    Layout("voxceleb", "B**", "label enroll test"),
    Layout("kaldi", "**N", "enroll test score"),
    Layout("voxceleb", "N**", "score enroll test"),
    Layout("nist", "**SL", "enroll test side label"),
    Layout("nist", "**SN", "enroll test side score"),
    Layout("asvspoof", "**WW", "enroll test cm_label label"),
    Layout("asvspoof", "**CW", "enroll test cm_label label"),
    Layout("asvspoof", "**FN", "test attack label score"),
    # SpeechBrain's scores.txt has 0 or 1 there; WeSpeaker's *.kaldi.score ends with the label
    Layout("kaldi", "**LN", "enroll test label score"),
    Layout("kaldi", "**NL", "enroll test score label"),
    Layout("voxceleb", "BTTN", "label enroll test score"),
    # bob separates by blanks; four columns between commas that end in a number are left to --columns.
    Layout("bob", "***N", "claimed_id real_id probe score", " \t"),
    Layout("nist", "**SWN", "enroll test side decision score"),
    Layout("asvspoof", "**G*W", "enroll test gender attack label"),  # ASVspoof 5, track 2
    Layout("asvspoof", "****W", "speaker test environment attack label"),
    Layout("bob", "****N", "claimed_id model_label real_id probe score", " \t"),
    Layout("asvspoof", "***WN*", "test speaker attack label score gender"),
    # ASVspoof 2021, as its evaluation package reads them: LA, PA and DF
    Layout("asvspoof", "*****W**", "enroll test codec transmission attack label trim subset"),
    # ASVspoof 5: training, and track 1
    Layout(
        "asvspoof",
        "**G*****W*",
        "speaker test gender codec codec_quality codec_seed attack_tag attack label other",
    ),
    Layout(
        "asvspoof",
        "*********W**",
        "enroll test asv_room asv_mic distance attack_room attack_mic "
        "attack_distance attack_to_speaker label trim subset",
    ),
    Layout(
        "asvspoof",
        "*****W*******",
        "speaker test compression source attack label trim subset vocoder task team gender_pair language",
    ),
    Layout("nist", "******SWN", "training adaptation segment_type gender enroll test side decision score"),
)
"""In this order: the first that fits is taken."""
KEY_LAYOUTS = (Layout("two-column", "*L", "test label"), *LAYOUTS)
"""The same for a file that is read for its labels."""

_KEY, _NINE = "enroll test side label", "c1 c2 c3 c4 c5 c6 c7 c8 c9"
NIST_KEYS = (
    Layout("nist", "**SWYYYYYYYY", f"{_KEY} {_NINE[:-3]}", ","),  # SRE08
    Layout("nist", "**SWYYYYYYYYYY", f"{_KEY} scored {_NINE}", ","),  # SRE10
    Layout("nist", "**SW*YYYYY", f"{_KEY} column_5 {_NINE[:14]}", ","),  # SRE12
)
"""Model, segment, channel, kind of trial, and whether it counts in each condition; with a header."""


def kinds_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """For each column the letters of what it can be.

    Examples
    --------
    >>> kinds_of([["1", "a.wav", "2.5", "target"], ["0", "b.wav", "-1", "imp"]])
    ['NLB', 'T', 'N', 'TLW']
    """
    kinds = []
    for column in zip(*rows, strict=False):
        values = {value.strip().lower() for value in column}
        # A missing score must not make text of a column of numbers.
        numbers = values - NO_SCORE
        kind = "N" if numbers and all(NUMBER.fullmatch(value) for value in numbers) else "T"
        binary = values <= {"0", "1"} or values <= {"-1", "1"} or values <= {"0.0", "1.0"}
        if binary or None not in classify_words(list(values)):
            kind += "LB" if binary else "LW"
        kind += "".join(letter for letter, words in WORDS_OF_KIND.items() if values <= words)
        # At least one bonafide: a column of attack names alone could be any column of short ids.
        if values & BONAFIDE and all(ATTACK.fullmatch(value) for value in values - BONAFIDE):
            kind += "C"
        kinds.append(kind)
    return kinds


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: it has no number, but a known name or numbers below it.

    Examples
    --------
    >>> has_header([["enroll", "test", "target"], ["x", "y", "1"]])
    True
    >>> has_header([["x", "y", "target"], ["x", "z", "nontarget"]])
    False
    >>> has_header([["0", "1", "2", "label"], ["-1.5", "2", "0.3", "1"]])
    True
    """
    first = [field.strip().lower() for field in rows[0]]
    numbers = [field for field in first if NUMBER.fullmatch(field)]
    below = kinds_of([row for row in rows[1:] if len(row) == len(first)])
    # A field that is called as what its column holds, scores or labels, is a header, even if other columns
    # have whole numbers as their names.
    names = list(map(folded, first))
    if not any(NUMBER.fullmatch(name) and not name.isdecimal() for name in names):
        for name, kind, meaning in zip(names, below, classify_words(names), strict=False):
            scores = name in (*SCORE_NAMES, *ONE_OF_TWO_SCORES) and "N" in kind
            if scores or (meaning is None and name in LABEL_NAMES and "L" in kind):
                return True
    # classes may be numbered: 0, 1, 2, ... beside columns with known names
    if numbers and (numbers != [str(i) for i in range(len(numbers))] or len(numbers) < 2):
        return False
    # target and nontarget are usual names of columns, but as words among the labels they are a trial.
    meanings = zip(names, classify_words(first), strict=True)
    if KNOWN_NAMES & {name for name, meaning in meanings if meaning is None}:
        return True
    if numbers:
        return False
    # nothing is not the name of a column of numbers
    return any("N" in kind and name not in NO_SCORE for name, kind in zip(first, below, strict=False))


def unique_names(fields: Sequence[str]) -> list[str]:
    """Names for columns: none is empty, none occurs twice.

    Examples
    --------
    >>> unique_names(["score", "", "score"])
    ['score', 'column_2', 'score_3']
    """
    names: dict[str, None] = {}  # in order, and quick to look in
    for i, field in enumerate(fields, 1):
        # The number of the column, so that the name does not depend on other columns.
        name = field.strip() or f"column_{i}"
        while name in names:
            name = f"{name}_{i}"
        names[name] = None
    return list(names)


def distinct_names(fields: Sequence[str], where: str) -> list[str]:
    """Names for columns as :func:`unique_names`; a name that is there twice is an error.

    Examples
    --------
    >>> distinct_names(["score", ""], "file, line 1")
    ['score', 'column_2']
    """
    names = [field.strip() for field in fields]
    twice = next((name for name, times in Counter(names).items() if name and times > 1), None)
    if twice is not None:
        raise FileFormatError(
            f"{where}: two columns are named {twice!r}; name all columns with --columns, each differently"
        )
    return unique_names(fields)


def named(names: Sequence[str], candidates: Sequence[str]) -> str | None:
    """The column with the first of these names, however it is capitalized."""
    # Reversed, so that of names that differ only in capitals the first wins.
    known = {folded(name): name for name in reversed(names)}
    return next((known[candidate] for candidate in candidates if candidate in known), None)


def header_is_renamed(rows: list[list[str]], names: Sequence[str], roles: Roles) -> bool:
    """Whether the first row is a header, whose names ``--columns`` replaces, rather than a damaged trial.

    No score or label in it may be a number or missing, and one of them must be a name that such columns have
    and that is no label itself. Anything else is a row, and an error where it cannot be one.
    """
    if len(rows) < 2:
        return False
    fields = {name: field.strip().lower() for name, field in zip(names, rows[0], strict=True)}
    deciding = [fields[name] for name in (*roles.score, roles.label) if name in fields]
    if not deciding:
        return has_header(rows)
    if any(field in NO_SCORE or NUMBER.fullmatch(field) for field in deciding):
        return False
    return any(folded(field) in KNOWN_NAMES and classify_words([field]) == [None] for field in deciding)


Lines = Callable[[list[int]], list[int]]
NO_ROLES = Roles(score=())
IN_BATCHES = "read it in batches (scan_trials)"
"""What to do with a file that memory cannot hold."""


@dataclass(frozen=True)
class TrialTable:
    """A table as read, the format it was read as, and the roles of its columns.

    Nothing in it is checked yet. There are no names of scores where the file has none (a key), and no label
    where it has no labels. ``lines`` gives the lines of rows, for messages; it is None for a file without
    lines. ``first_row`` is the number of rows before this table in its file.
    """

    file: str
    format: str
    table: pl.DataFrame
    roles: Roles = NO_ROLES
    lines: Lines | None = None
    first_row: int = 0
    row_numbers: Lines | None = None
    """The numbers of rows in their file, where not all of its rows are here."""

    @property
    def score(self) -> tuple[str, ...]:
        """The columns with the scores."""
        return self.roles.score

    @property
    def label(self) -> str | None:
        """The column with the labels."""
        return self.roles.label

    @property
    def enroll(self) -> str | None:
        """The column with the ids of the enrollment side."""
        return self.roles.enroll

    @property
    def test(self) -> str | None:
        """The column with the ids of the test side."""
        return self.roles.test

    def with_roles(self, **changed: Unpack[RoleChanges]) -> TrialTable:
        """The same table with other roles."""
        return replace(self, roles=replace(self.roles, **changed))

    def with_table(self, table: pl.DataFrame, **changed: Unpack[RoleChanges]) -> TrialTable:
        """The same rows in another table, and perhaps with other roles."""
        return replace(self, table=table, roles=replace(self.roles, **changed))

    def without_lines(self, table: pl.DataFrame) -> TrialTable:
        """Other rows, which no longer stand where they stood in the file."""
        return replace(self, table=table, lines=None)

    def only(self, mask: pl.Series) -> TrialTable:
        """Some of the rows, which still say where they stand in the file."""
        rows = mask.arg_true()

        def as_before(numbers: Lines) -> Lines:
            return lambda kept: numbers([int(rows[row]) for row in kept])

        lines = None if self.lines is None else as_before(self.lines)
        return replace(self, table=self.table.filter(mask), lines=lines, row_numbers=as_before(self._numbers))

    def _numbers(self, rows: list[int]) -> list[int]:
        """The numbers of rows in their file."""
        return self.row_numbers(rows) if self.row_numbers else [self.first_row + row for row in rows]

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        return f"{self.file}, {self.places([row])}"

    def places(self, rows: list[int]) -> str:
        """Where rows stand in their file, in words."""
        s = "s" if len(rows) > 1 else ""
        if self.lines is None:
            return f"row{s} " + ", ".join(map(str, self._numbers(rows))) + " (counted from 0)"
        return f"line{s} " + ", ".join(map(str, self.lines(rows)))


@dataclass(frozen=True)
class Scan:
    """A file that is read one batch at a time.

    ``like`` is what a batch looks like, without rows; ``read`` gives batches with the columns asked for.
    """

    like: TrialTable
    read: Callable[[Sequence[str]], Iterator[TrialTable]]
    rows: int | None = None
    """How many rows there are, where the file says so."""
    size: float = 0.0
    """About how many bytes its values take in memory, where the file says so."""

    @classmethod
    def of(cls, trials: TrialTable) -> Scan:
        """A table that is read already, as one batch."""

        def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
            yield replace(trials, table=trials.table.select(wanted))

        # Without lines, since the empty table stands for no row of the file.
        return cls(trials.without_lines(trials.table.clear()), read)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that can be asked for."""
        return self.like.table.columns

    def whole(self) -> TrialTable:
        """All batches as one table."""
        first, tables, starts, size = None, [], [], 0
        # The announced size first: what cannot fit is refused before anything is read.
        require_memory(self.size, self.like.file, IN_BATCHES)
        for batch in self.read(self.columns):
            size += held_size(batch.table)
            require_memory(size, self.like.file, IN_BATCHES)
            # only the first batch is held, since batches hold on to their text
            first = batch if first is None else first
            tables.append(batch.table)
            starts.append(batch.first_row)
        assert first is not None
        if len(tables) == 1:
            return first
        table = pl.concat(tables)

        def lines(rows: list[int]) -> list[int]:
            """Reads the file again: nobody holds on to the text of a large file."""
            line_of: dict[int, int] = {}
            for batch, start in zip(self.read(self.columns), starts, strict=False):
                inside = [row for row in rows if start <= row < start + batch.table.height]
                if inside and batch.lines is not None:
                    line_of.update(zip(inside, batch.lines([row - start for row in inside]), strict=True))
                if len(line_of) == len(set(rows)):
                    break
            return [line_of[row] for row in rows]

        return replace(first, table=table, lines=None if first.lines is None else lines)


def first_true(mask: pl.Series) -> int | None:
    """The first row of which something is true; None if it is true of none.

    Examples
    --------
    >>> first_true(pl.Series([False, True, True])), first_true(pl.Series([False, None]))
    (1, None)
    """
    # arg_max of booleans is the first True, and takes nulls for False here.
    return mask.arg_max() if mask.any() else None


def held_size(table: pl.DataFrame) -> int:
    """The bytes that a table takes; polars leaves out the 16 that each text takes, however short it is.

    Examples
    --------
    >>> held_size(pl.DataFrame({"score": [0.5] * 1000, "label": ["1"] * 1000}))
    25000
    """
    text = sum(dtype in (pl.String, pl.Binary) for dtype in table.dtypes)
    return int(table.estimated_size()) + 16 * text * table.height


def one_after_another(scans: Sequence[Scan]) -> Scan:
    """Several files of the same columns and types as one."""
    if len(scans) == 1:
        return scans[0]

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        for scan in scans:
            yield from scan.read(wanted)

    return Scan(scans[0].like, read)


# Columns named sasv_label number three kinds of trials; as plain numbers, 0 and 1 would be read as two
# classes.
SASV_LABELS = {"1": "target", "1.0": "target", "2": "nontarget", "2.0": "nontarget", "0": "spoof", "0.0": "spoof"}  # fmt: skip # noqa: E501

PAIR_OF_FILES = {"file1", "file2", "reference"}


@dataclass(frozen=True)
class HeaderRoles:
    """The roles that the names of columns give, and how labels come about that no column holds as such.

    ``same`` are two columns whose equality makes the label, where the file has none.
    """

    roles: Roles
    same: tuple[str, str] | None = None

    @property
    def ids(self) -> list[str]:
        """Columns that are text whatever their values look like."""
        return list(dict.fromkeys((*self.roles.ids, *(self.same or ()))))

    def needed_for(self, names: Sequence[str], wanted: Iterable[str]) -> list[str]:
        """The columns of the file that must be read to have the wanted ones."""
        wishes = set(wanted)
        if self.same is not None and self.roles.label in wishes:
            wishes.update(self.same)
        return [name for name in names if name in wishes]

    def assigned_to(self, trials: TrialTable, wanted: Sequence[str] | None = None) -> TrialTable:
        """A table with its roles and, if its labels had to be made, with those; only the wanted columns."""
        table, label = trials.table, self.roles.label
        if self.same is not None and label is not None and set(self.same) <= set(table.columns):
            table = table.with_columns((pl.col(self.same[0]) == pl.col(self.same[1])).alias(label))
        elif label == "sasv_label" and label in table.columns:
            table = table.with_columns(pl.col(label).cast(pl.String).replace(SASV_LABELS))
        if wanted is not None:
            table = table.select(wanted)
        return replace(trials, table=table, roles=self.roles)


def header_roles(
    names: Sequence[str], *, score: Sequence[str] | None, label: str | None, where: str
) -> HeaderRoles:
    """The roles of columns with these names; ``score`` and ``label`` insist on some."""
    for name in (*(score or ()), *(() if label is None else (label,))):
        require_column(name, names, where)
    written = llrs_written_by_a_map(names)
    # Only the column that the map wrote is calibrated: another one of the same file may be asked for by
    # name.
    calibrated = written is not None and score in (None, [written], (written,))
    if score is None:
        usual = written or _column_named_one_of(names, SCORE_NAMES, where)
        # With both scores of a tandem in one table nothing says which is meant.
        if usual is None and len({folded(name) for name in names} & {*ONE_OF_TWO_SCORES}) == 1:
            usual = _column_named_one_of(names, ONE_OF_TWO_SCORES, where)
        score = [usual] if usual else []
    free = [name for name in names if name not in score]
    role = label or usual_label(free, score, where)
    # Labels are made of two subject ids only where no column holds them.
    same = next((pair for pair in SAME_SUBJECT if set(pair) <= set(names)), None) if role is None else None
    if same is not None:
        role = "label"
    free = [name for name in free if name != role]
    # Only LLRs that llrkit wrote say that they are to base ten; no scale is ever guessed from values.
    factor = math.log(10.0) if calibrated and written == LOG10_LR else 1.0
    enroll, test = (_column_named_one_of(free, usual, where) for usual in (ENROLL_NAMES, TEST_NAMES))
    roles = Roles(tuple(score), role, enroll, test, factor=factor, calibrated=calibrated)
    return HeaderRoles(roles, same)


def usual_label(names: Sequence[str], scores: Sequence[str], where: str) -> str | None:
    """The column with the labels of these scores: those of a countermeasure have labels of their own.

    Examples
    --------
    >>> usual_label(["filename", "cm-label", "asv-label"], ["cm-score"], "key.tsv")
    'cm-label'
    >>> usual_label(["filename", "cm-label", "asv-label"], ["sasv-score"], "key.tsv")
    'asv-label'
    """
    # pyannote calls the label of a pair of files its reference
    if {folded(name) for name in names} >= PAIR_OF_FILES:
        return _column_named_one_of(names, ("label", "reference"), where)
    # For a countermeasure spoofed trials are the other class, for a verification system they are
    # non-targets; so each score has its own column of labels.
    own = ("cm_label",) if [folded(name) for name in scores] == ["cm_score"] else ()
    return _column_named_one_of(names, (*own, *LABEL_NAMES), where)


def llrs_written_by_a_map(names: Sequence[str]) -> str | None:
    """The column with LLRs that a calibration wrote, if there is one.

    Examples
    --------
    >>> llrs_written_by_a_map(["cosine", "label", "llr", "llr_map"]), llrs_written_by_a_map(["llr", "label"])
    ('llr', None)
    >>> llrs_written_by_a_map(["score", "raw_score"])  # as files were written before
    'score'
    """
    if LLR_MAP in names:
        return next((name for name in (LLR, LOG10_LR) if name in names), None)
    return "score" if {"score", RAW_SCORE} <= set(names) else None


def with_roles(trials: TrialTable, *, score: Sequence[str] | None, label: str | None) -> TrialTable:
    """A table with its roles, from the names of its columns and those that were asked for."""
    roles = header_roles(trials.table.columns, score=score, label=label, where=trials.file)
    return roles.assigned_to(trials)


def _column_named_one_of(names: Sequence[str], candidates: Sequence[str], where: str) -> str | None:
    """The column with the first of these names, however it is capitalized; two such are an error."""
    folded_names = {name: folded(name) for name in names}
    for candidate in candidates:
        same = [name for name, known in folded_names.items() if known == candidate]
        if len(same) > 1:
            raise FileFormatError(
                f"{where}: the columns {' and '.join(map(repr, same))} differ only in capitals or hyphens; "
                "say which is meant with --score-column or --label-column"
            )
        if same:
            return same[0]
    return None


_UNITS: tuple[Literal["ms", "us", "ns"], ...] = ("ms", "us", "ns")


@dataclass(frozen=True)
class Wanted:
    """The type that a column gets, the file that needs it, and one that it differs from."""

    type: pl.DataType
    file: str
    differs_from: str = ""


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    """The type that takes the values of both, or None if they are of different kinds.

    Integers next to floats become floats, whose values :func:`cast_exactly` then looks at; integers next to
    text become text, as they are written; truth values, numbers with a fraction and text stay apart.

    Examples
    --------
    >>> common_type(pl.Int64(), pl.Float32()), common_type(pl.Int8(), pl.UInt8())
    (Float64, Int16)
    >>> common_type(pl.Int64(), pl.String()), common_type(pl.Boolean(), pl.Int64())
    (String, None)
    """
    # Null is the type of a column without any value, which fits everything.
    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    if one.is_integer() and other.is_integer():
        if one.is_signed_integer() == other.is_signed_integer():
            return max(one, other, key=_width)
        signed, unsigned = (one, other) if one.is_signed_integer() else (other, one)
        # UInt64 beside a signed type is held in Int64, and cast_exactly refuses values beyond it.
        needed = max(_width(signed), min(2 * _width(unsigned), 64))
        return {16: pl.Int16, 32: pl.Int32, 64: pl.Int64}.get(needed, pl.Int128)()
    # Decimals hold exact fractions, which floats would lose, so they stay apart.
    if one.is_numeric() and other.is_numeric() and not (one.is_decimal() or other.is_decimal()):
        return pl.Float64()
    # Integers are written out rather than text parsed, which would make 0042 and 42 equal.
    text = [kind in (pl.String, pl.Categorical, pl.Enum) for kind in (one, other)]
    if all(text) or (any(text) and (one.is_integer() or other.is_integer())):
        return pl.String()
    if isinstance(one, pl.Datetime) and isinstance(other, pl.Datetime) and one.time_zone == other.time_zone:
        finer = max(_UNITS.index(one.time_unit), _UNITS.index(other.time_unit))
        return pl.Datetime(_UNITS[finer], one.time_zone)
    return None


def _width(integer: pl.DataType) -> int:
    """The bits of a type of integers, which its name ends with."""
    return int(str(integer).lstrip("UInt"))


def common_types(files: Sequence[tuple[str, Mapping[str, pl.DataType]]]) -> dict[str, Wanted]:
    """The types of the columns of a table made of several files, in the order of the first file's columns.

    Files with other columns are refused, and so are columns of different kinds.
    """
    (first, schema), *others = files
    common = {name: Wanted(kind, first) for name, kind in schema.items()}
    for file, columns in others:
        if sorted(columns) != sorted(common):
            here, there = ", ".join(common), ", ".join(columns)
            raise FileFormatError(f"{file}: columns {there}, but in {first}: {here}")
        for name, kind in columns.items():
            before = common[name]
            both = common_type(before.type, kind)
            if both is None:
                raise FileFormatError(
                    f"{file}, column {name!r}: holds {kind}, but in {before.file} it holds {before.type}; "
                    "files that are read together need columns of one kind"
                )
            if both != before.type:
                common[name] = Wanted(both, file, before.file)
    return common


def cast_exactly(trials: TrialTable, wanted: Mapping[str, Wanted]) -> TrialTable:
    """A table with its columns as these types; a value that would not stay what it is is an error."""
    table = trials.table
    changed = []
    for name, to in wanted.items():
        if name not in table.columns or table.schema[name] == to.type:
            continue
        before = table[name]
        after = before.cast(to.type, strict=False)
        # There and back again finds every lost digit and sign; eq_missing takes two nulls for equal.
        lost = ~after.cast(before.dtype, strict=False).eq_missing(before)
        if lost.any():
            row = int(lost.arg_max() or 0)
            # another file is to blame if the values of this one do not fit
            other = to.differs_from if trials.file == to.file else to.file
            said = f"{before[row]} is not exact as {to.type}, which {other} needs"
            raise FileFormatError(f"{trials.place(row)}, column {name!r}: {said}")
        changed.append(after)
    return replace(trials, table=table.with_columns(changed)) if changed else trials


def in_one_schema(scans: Sequence[Scan]) -> list[Scan]:
    """Files that are read one after another, all with the same columns and types."""
    common = common_types([(scan.like.file, scan.like.table.schema) for scan in scans])

    def cast(scan: Scan) -> Scan:
        like = cast_exactly(replace(scan.like, table=scan.like.table.select(list(common))), common)
        return replace(
            scan, like=like, read=lambda wanted: (cast_exactly(batch, common) for batch in scan.read(wanted))
        )

    return [cast(scan) for scan in scans]


def together(tables: Sequence[TrialTable], name: str) -> TrialTable:
    """The tables of several files as one, in the order of the files."""
    first = tables[0]
    common = common_types([(one.file, one.table.schema) for one in tables])
    parts = [cast_exactly(one, common).table.select(list(common)) for one in tables]
    return TrialTable(name, first.format, pl.concat(parts), first.roles)
