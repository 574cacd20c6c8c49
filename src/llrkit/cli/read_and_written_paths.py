"""Which options of all commands name files that are read, and which name files that are written.

This is the one place that knows. Before a command begins, what it would write is compared with what it reads;
while it runs, what it reads must not change. A test sees to it that every option of every command is listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps

import click

READ = frozenset({
    "adapt", "adapt_from", "adapt_segments", "adapt_utt2spk", "adapt_vad", "calibration", "cohort",
    "cohort_from", "cohort_segments", "cohort_utt2spk", "cohort_vad",
    "criteria", "embeddings", "enrolled", "evaluation",
    "evaluation_key", "key", "labeled", "map_path", "mates", "mean_file", "model", "nontargets", "plda",
    "quality_file", "scores", "segments", "source", "speaker_file", "speech", "test", "threshold_from",
    "threshold_key", "train", "train_key", "transform_file",
    "trials", "vad",
})  # fmt: skip
"""Files, folders and patterns that are read."""
WRITTEN = frozenset({
    "docx_path", "html_path", "json_path", "key_output", "output", "report_path", "target",
    "template_path", "utt2spk",
})  # fmt: skip
"""Files that are written, and folders that are written as a whole."""
FILLED = frozenset({"out"})
"""Folders in which files of fixed names are written, beside others that may be there."""
NO_PATHS = frozenset({
    "accept_rates", "adapt_where",
    "asv_column", "asv_threshold", "attack_column", "bound", "by",
    "classes", "cllr", "cm_column", "cm_threshold", "cohort_where", "columns", "compound",
    "conditions", "costs",
    "d_prime", "decide", "durations", "eer", "eer_full", "eer_short", "encoding", "enrolled_column",
    "equalize", "failures", "false_alarm_rates", "features", "fmr", "fmrs", "format", "fpirs",
    "gallery_column", "groups",
    "h1", "h2", "host", "ids", "key_columns", "key_label_column", "known", "label_column", "level",
    "max_upload", "method", "methods", "miss_rates", "mu", "names", "p_known",
    "point", "points", "positive", "posterior", "prior", "probe_column", "quality", "recordings",
    "sasv_column", "scale", "scheduler", "score_column", "score_columns", "scorer",
    "settings", "share", "shared", "sigma", "speakers", "steps", "subject_column", "subjects",
    "target_share", "targets", "threshold", "title", "to", "training", "value", "vectors",
    "weight_column", "weights", "where", "width",
    "projects",  # of the app: its pages save there, see llrkit.app.saved_projects
    "files",  # of the app: copied when it starts, and free to change afterwards
    "folder",  # where the files of a list are: these are noted when the list is read
})  # fmt: skip
PATHS = READ | WRITTEN | FILLED | {"files", "folder", "projects"}
"""Options whose values name a place on this machine."""
READS_NOTHING = ("simulate",)
"""Commands for which names of options above mean numbers."""


def leaves(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The command, or all commands in it, that do something, with the words that call them."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name, inner in command.commands.items():
        yield from leaves(inner, (*path, name))


def guard_inputs(name: str, command: click.Command) -> None:
    """Let a command refuse to write over what it reads, and notice when that changes."""
    for _, one in leaves(command):
        if one.callback is not None:
            one.callback = _guarded_callback(one.callback, reads=name not in READS_NOTHING)


def _guarded_callback(callback: Callable[..., object], *, reads: bool) -> Callable[..., object]:
    @wraps(callback)
    def run(**options: object) -> object:
        read = list(_given_paths(options, READ)) if reads else []
        written = [file for path in _given_paths(options, WRITTEN) for file in _files_written(path)]
        if not read and len(written) < 2:
            return callback(**options)
        from llrkit.base.files import watching
        from llrkit.io.formats import local_files, require_separate

        require_separate(read, written)
        with watching(lambda: [file for path in read for file in local_files(path)]):
            return callback(**options)

    return run


def _given_paths(options: Mapping[str, object], names: frozenset[str]) -> Iterator[str]:
    for name in sorted(names & options.keys()):
        yield from paths_in(options[name])


def paths_in(value: object) -> list[str]:
    """The paths that an option names: none, one, or several."""
    values = value if isinstance(value, tuple) else (value,)
    return [path for path in values if isinstance(path, str)]


def _files_written(path: str) -> tuple[str, ...]:
    """A Kaldi archive has its index beside it."""
    return (path, path.removesuffix(".ark") + ".scp") if path.endswith(".ark") else (path,)
