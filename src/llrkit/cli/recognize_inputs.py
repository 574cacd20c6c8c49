"""What the commands of ``llrkit recognize`` share: options of input, reading with all checks, progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit._progress import stage
from llrkit.cli.output import named_file
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.recognize.frames.front_end import FrontEnd
    from llrkit.recognize.recognizer import Recognizer
    from llrkit.recognize.training_stages import Stages

Watch = Callable[[str, int, int], None]
Check = Callable[[Any, Any], None]
"""Of frames or embeddings, and of the front end where frames are made from audio."""
SECONDS_BETWEEN_LINES = 10.0
OF_AUDIO = ("folder", "seconds", "channel", "rate", "normalize", "resample", "bad_files")
"""Options that mean nothing where frames or embeddings are given."""
SHORT_STAGE = 2.0
"""Seconds that a stage must take to be worth a line."""
seconds_option: Callable[[Any], Any] = click.option(
    "--seconds",
    type=float,
    metavar="S",
    help="Use only the first S seconds of speech; by default as in training.",
)
channel_option: Callable[[Any], Any] = click.option(
    "--channel", type=click.IntRange(min=0), metavar="N",
    help="Channel of stereo files, counted from 0; by default as in training.",
)  # fmt: skip


def input_options(command: Any) -> Any:
    """The options that say where the speech of a list is."""
    for option in (
        click.option("--folder", metavar="DIR",
                     help="Folder of the audio files, if not that of the list; applies to every list."),
        click.option("--from", "source", metavar="FILE",
                     help="Frames or embeddings (NPZ, Kaldi ark or scp) whose ids are in the list; of train "
                     "also a recognizer."),
        click.option("--vectors", metavar="NAME",
                     help="Matrix of an NPZ file that holds the embeddings, if there are several."),
        click.option("--segments", metavar="FILE", help="Kaldi's segments: parts of recordings."),
        click.option("--utt2spk", "speaker_file", metavar="FILE", help="The speaker of each utterance."),
        click.option("--vad", metavar="FILE",
                     help="Voice activity: RTTM or Kaldi's (ark, scp); by default found from the level."),
        click.option("--resample", type=click.Choice(["auto", "never"]), default="auto", show_default=True,
                     help="Whether files of another sample rate are resampled or refused."),
        click.option("--bad-files", type=click.Choice(["error", "skip"]), default="error", show_default=True,
                     help="What to do with audio files that cannot be used."),
    ):  # fmt: skip
        command = option(command)
    return command


def second_list_options(name: str) -> Callable[[Any], Any]:
    """The options of input again, for a second list that is given as ``--NAME``."""

    def add(command: Any) -> Any:
        for option, text in (
            ("vad", f"As --vad, for --{name}."), ("utt2spk", f"As --utt2spk, for --{name}."),
            ("segments", f"As --segments, for --{name}."),
            ("from", f"As --from, for --{name}; by default the same file, if --{name} is a list."),
        ):  # fmt: skip
            command = click.option(f"--{name}-{option}", metavar="FILE", help=text)(command)
        where = f"As --where, for --{name}. Repeatable."
        return click.option(f"--{name}-where", multiple=True, metavar="COND", help=where)(command)

    return add


def was_given(name: str) -> bool:
    """Whether an option of the command that runs was given, rather than left at its default."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def where_option(text: str) -> Callable[[Any], Any]:
    """The option that chooses rows."""
    return click.option("--where", multiple=True, metavar="COND", help=f"{text} Repeatable; all must hold.")


@dataclass(frozen=True)
class SpeechInput:
    """The options of input as they were given."""

    folder: str | None = None
    source: str | None = None
    vectors: str | None = None
    segments: str | None = None
    speaker_file: str | None = None
    vad: str | None = None
    resample: str = "auto"
    bad_files: str = "error"
    where: tuple[str, ...] = ()
    of_audio: tuple[str, ...] = ()
    """Options that were given and say something about audio files only."""

    @classmethod
    def of(cls, options: dict[str, Any]) -> SpeechInput:
        """Those of all options of a command."""
        own = {name: options[name] for name in cls.__dataclass_fields__ if name in options}
        return cls(**own, of_audio=tuple(name for name in OF_AUDIO if name in options and was_given(name)))

    def of_another(self, name: str, options: dict[str, Any]) -> SpeechInput:
        """The same for a second list, ``--NAME``, of which what is told about the first does not hold."""
        from llrkit.recognize.speech_inputs import holds_arrays

        of_list = None if holds_arrays(options[name]) else self.source
        return replace(
            self, where=tuple(options[f"{name}_where"]), source=options[f"{name}_from"] or of_list,
            segments=options[f"{name}_segments"], vad=options[f"{name}_vad"],
            speaker_file=options[f"{name}_utt2spk"], of_audio=(),
        )  # fmt: skip

    def read(
        self,
        speech: str,
        front_end: FrontEnd | None,
        watch: Watch,
        stages: Stages | None = None,
        check: Check = lambda given, used: None,
    ) -> tuple[Any, FrontEnd | None]:
        """Frames, all loaded once, or embeddings; and the front end where frames are made from audio.

        ``check`` is called when lists and headers have been read, before any frames are loaded.
        """
        given, used = self.open(speech, front_end, check)
        return self.load(given, used, watch, stages), used

    def open(
        self, speech: str, front_end: FrontEnd | None, check: Check = lambda given, used: None
    ) -> tuple[Any, FrontEnd | None]:
        """The same with no frames loaded: what lists and headers tell."""
        from llrkit.recognize.frames.front_end import FrontEnd
        from llrkit.recognize.speech_inputs import read_speech

        how = replace(front_end or FrontEnd(), resample=self.resample == "auto")
        given, used = read_speech(
            speech, source=self.source, folder=self.folder, front_end=how, vectors=self.vectors,
            segments=self.segments, utt2spk=self.speaker_file, vad=self.vad, bad_files=self.bad_files,
            where=self.where,
        )  # fmt: skip
        with named_file(self.source or speech):
            if used is None and self.of_audio:
                option = self.of_audio[0].replace("_", "-")
                raise InputError(f"--{option} is for audio files; the input holds none")
            check(given, used)
        return given, used

    def load(self, given: Any, used: FrontEnd | None, watch: Watch, stages: Stages | None = None) -> Any:
        """What was opened, with its frames."""
        from llrkit.recognize.frames.load_all import load_all
        from llrkit.recognize.frames.utterance_frames import Frames

        if not isinstance(given, Frames):
            return given
        return load_all(
            given, bad_files=self.bad_files, seconds=None if used is None else used.seconds, watch=watch,
            stages=stages, front_end=used,
        )  # fmt: skip


def require_folder(output: str) -> None:
    """Refuse what could not be written at the end, before any work."""
    if not Path(output).absolute().parent.is_dir():
        raise InputError(f"{output}: the folder {Path(output).parent} does not exist")


def require_second_list(name: str, options: dict[str, Any]) -> None:
    """Refuse options of a second list that is not given, and one that is not there, before any work."""
    path = options[name]
    if path is None:
        for option in ("where", "from", "segments", "utt2spk", "vad"):
            if options[f"{name}_{option}"]:
                raise InputError(f"--{name}-{option} needs --{name}")
    elif not Path(path).is_file():
        raise InputError(f"{path}: no such file")


def trained_front_end(recognizer: Recognizer, seconds: float | None, channel: int | None) -> FrontEnd | None:
    """That of the training, but for the seconds and the channel."""
    how = None if recognizer.extractor is None else recognizer.extractor.front_end
    if how is None:
        return None
    how = how if seconds is None else replace(how, seconds=seconds)
    return how if channel is None else replace(how, channel=channel)


def counted_speech(n_utterances: int, n_speakers: int | None = None) -> str:
    """How many utterances of how many speakers.

    Examples
    --------
    >>> counted_speech(1), counted_speech(1200, 30)
    ('1 utterance', '1,200 utterances of 30 speakers')
    """
    from llrkit._format import counted

    who = "" if n_speakers is None else f" of {counted(n_speakers, 'speaker')}"
    return counted(n_utterances, "utterance") + who


def seconds_of_speech(given: Any) -> dict[str, Any]:
    """For JSON: the seconds of speech of each file, if they are known."""
    spoken: Sequence[float] | None = given.columns.get("speech_seconds")
    if spoken is None:
        return {}
    ids = (str(name) for name in given.ids)
    return {"speech_seconds": {name: float(value) for name, value in zip(ids, spoken, strict=True)}}


@contextmanager
def watching() -> Iterator[Watch]:
    """A progress bar for each thing that is done, one after the other; without a terminal plain lines."""
    with ExitStack() as stack:
        lines = None if sys.stderr.isatty() else PlainLines(lambda line: click.echo(line, err=True))
        now: list[Any] = ["", 0, None]

        def watch(what: str, done: int, total: int) -> None:
            if lines is not None:
                lines.tell(what, done, total)
            if now[0] != what:
                stack.close()
                now[:] = [what, 0, stack.enter_context(stage(what, total, "steps"))]
            now[2](done - now[1])
            now[1] = done

        yield watch


class PlainLines:
    """How far a long piece of work is, as lines for a log file: every ten seconds, and when it is done.

    Examples
    --------
    >>> clock = iter([0.0, 5.0, 11.0, 12.0])
    >>> lines = PlainLines(print, clock=lambda: next(clock))
    >>> for done in (1, 2, 3, 4):
    ...     lines.tell("frames", done, 4)
    frames: 3 of 4
    frames: 4 of 4, 12 s
    """

    def __init__(self, say: Callable[[str], Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._what, self._begun, self._last = "", 0.0, 0.0

    def tell(self, what: str, done: int, total: int) -> None:
        """So much is done."""
        now = self._clock()
        if what != self._what:
            self._what, self._begun, self._last = what, now, now
        if done >= total and now - self._begun >= SHORT_STAGE:
            self._say(f"{what}: {done:,} of {total:,}, {now - self._begun:.0f} s")
        elif done < total and now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            self._say(f"{what}: {done:,} of {total:,}")
