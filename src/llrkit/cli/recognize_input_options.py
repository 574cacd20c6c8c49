"""What the commands of ``llrkit recognize`` share: options of input, reading with all checks, progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from llrkit.cli.options import Command
from llrkit.cli.output import named_file
from llrkit.cli.recognize_progress import Watch
from llrkit.errors import InputError
from llrkit.speech.models import BAD_FILES

if TYPE_CHECKING:
    from llrkit.speech.embeddings import Embeddings
    from llrkit.speech.frames import Frames, FrontEnd, Stages
    from llrkit.speech.recognizer import Recognizer

Speech: TypeAlias = "Frames | Embeddings"
Check: TypeAlias = "Callable[[Speech, FrontEnd | None], None]"
"""Of frames or embeddings, and of the front end where frames are made from audio."""
OF_AUDIO = ("folder", "seconds", "channel", "rate", "normalize", "resample", "bad_files")
"""Options that mean nothing where frames or embeddings are given."""
seconds_option = click.option(
    "--seconds",
    type=float,
    metavar="S",
    help="Use only the first S seconds of speech; by default as in training.",
)
channel_option = click.option(
    "--channel", type=click.IntRange(min=0), metavar="N",
    help="Channel of stereo files, counted from 0; by default as in training.",
)  # fmt: skip


def input_options(command: Command) -> Command:
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
        click.option("--bad-files", type=click.Choice(BAD_FILES), default="error", show_default=True,
                     help="What to do with audio files that cannot be used."),
    ):  # fmt: skip
        command = option(command)
    return command


def second_list_options(name: str) -> Callable[[Command], Command]:
    """The options of input again, for a second list that is given as ``--NAME``."""

    def add(command: Command) -> Command:
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


def where_option(text: str) -> Callable[[Command], Command]:
    """The option that chooses rows."""
    return click.option("--where", multiple=True, metavar="COND", help=f"{text} Repeatable; all must hold.")


@dataclass(frozen=True, kw_only=True)
class OfSpeech:
    """Options of every command that makes something of speech."""

    output: str
    json_path: str | None
    folder: str | None
    source: str | None
    vectors: str | None
    segments: str | None
    speaker_file: str | None
    vad: str | None
    resample: str
    bad_files: str
    where: tuple[str, ...]
    seconds: float | None
    channel: int | None


@dataclass(frozen=True, kw_only=True)
class SecondList:
    """A second list of speech, ``--NAME``, and what was told about it alone."""

    name: str
    path: str | None
    where: tuple[str, ...]
    source: str | None
    segments: str | None
    speaker_file: str | None
    vad: str | None

    @property
    def told(self) -> list[str]:
        """The options that were given about it."""
        values = {
            "where": self.where, "from": self.source, "segments": self.segments,
            "utt2spk": self.speaker_file, "vad": self.vad,
        }  # fmt: skip
        return [f"--{self.name}-{option}" for option, value in values.items() if value]

    def require(self) -> None:
        """Refuse options of a list that is not given, and one that is not there, before any work."""
        if self.path is None:
            for option in self.told:
                raise InputError(f"{option} needs --{self.name}")
        elif not Path(self.path).is_file():
            raise InputError(f"{self.path}: no such file")


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
    def of(cls, asked: OfSpeech) -> SpeechInput:
        """Those of all options of a command."""
        return cls(
            asked.folder, asked.source, asked.vectors, asked.segments, asked.speaker_file, asked.vad,
            asked.resample, asked.bad_files, asked.where,
            of_audio=tuple(name for name in OF_AUDIO if was_given(name)),
        )  # fmt: skip

    def of_another(self, path: str, second: SecondList) -> SpeechInput:
        """The same for a second list, of which what is told about the first does not hold."""
        from llrkit.speech.lists import holds_arrays

        of_list = None if holds_arrays(path) else self.source
        return replace(
            self, where=second.where, source=second.source or of_list, segments=second.segments,
            vad=second.vad, speaker_file=second.speaker_file, of_audio=(),
        )  # fmt: skip

    def read(
        self,
        speech: str,
        front_end: FrontEnd | None,
        watch: Watch,
        stages: Stages | None = None,
        check: Check = lambda given, used: None,
    ) -> tuple[Speech, FrontEnd | None]:
        """Frames, all loaded once, or embeddings; and the front end where frames are made from audio.

        ``check`` is called when lists and headers have been read, before any frames are loaded.
        """
        given, used = self.open(speech, front_end, check)
        return self.load(given, used, watch, stages), used

    def open(
        self, speech: str, front_end: FrontEnd | None, check: Check = lambda given, used: None
    ) -> tuple[Speech, FrontEnd | None]:
        """The same with no frames loaded: what lists and headers tell."""
        from llrkit.speech.frames import FrontEnd
        from llrkit.speech.lists import read_speech

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

    def load(
        self, given: Speech, used: FrontEnd | None, watch: Watch, stages: Stages | None = None
    ) -> Speech:
        """What was opened, with its frames."""
        from llrkit.speech.frames import Frames, load_all

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
    from llrkit.base.text import counted

    who = "" if n_speakers is None else f" of {counted(n_speakers, 'speaker')}"
    return counted(n_utterances, "utterance") + who


def seconds_of_speech(given: Speech) -> dict[str, dict[str, float]]:
    """For JSON: the seconds of speech of each file, if they are known."""
    spoken = given.columns.get("speech_seconds")
    if spoken is None:
        return {}
    ids = (str(name) for name in given.ids)
    return {"speech_seconds": {name: float(value) for name, value in zip(ids, spoken, strict=True)}}
