"""``llrkit recognize`` enroll, cohort and extract: what one recognizer makes of a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from llrkit.base.text import counted
from llrkit.cli.options import asking
from llrkit.cli.output import json_option, named_file, write_json
from llrkit.cli.recognize_input_options import (
    OfSpeech,
    Speech,
    SpeechInput,
    channel_option,
    counted_speech,
    input_options,
    require_folder,
    seconds_of_speech,
    seconds_option,
    trained_front_end,
    where_option,
)
from llrkit.cli.recognize_progress import Watch, watching
from llrkit.cli.shown_warnings import shown_warnings
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.speech.frames import FrontEnd
    from llrkit.speech.recognizer import Recognizer


@dataclass(frozen=True, kw_only=True)
class ToMake(OfSpeech):
    """Options of what a trained recognizer makes of a list."""

    model: str
    speech: str


_WHERE = "Only utterances that satisfy a condition such as 'split = eval'."


@click.command("enroll")
@click.argument("model")
@click.argument("speech", metavar="LIST|EMBEDDINGS")
@click.option("-o", "--output", required=True, metavar="FILE", help="The enrolled models (NPZ).")
@click.option("--each", is_flag=True, help="One model per utterance, named like it, not one per speaker.")
@seconds_option
@channel_option
@where_option(_WHERE)
@input_options
@json_option
@asking(ToMake)
def enroll_command(asked: ToMake, each: bool) -> None:
    """Make a model of each speaker from all its utterances.

    \b
    Examples:
      llrkit recognize enroll model.npz enroll.tsv -o enrolled.npz
      llrkit recognize enroll model.npz calls.tsv --channel 1 --seconds 10 -o enrolled.npz
      llrkit recognize enroll model.npz xvectors.npz --where "side = A" --each -o enrolled.npz
    """
    output, json_path = asked.output, asked.json_path
    with watching() as watch, shown_warnings():
        recognizer, given = _read_list_to_make(
            asked, watch, _take_any_frames if each else _require_known_speakers
        )
        with named_file(asked.source or asked.speech):
            enrolled = recognizer.enroll(given, each=each, watch=watch)
    enrolled.save(output)
    told = f"{counted(len(enrolled), 'model')} from {counted_speech(len(given))}. Saved in {output}"
    click.echo(told, err=json_path == "-")
    counts = {"n_models": len(enrolled), "n_utterances": len(given)}
    write_json({**counts, **seconds_of_speech(given)}, "recognize-enroll", json_path)


@click.command("cohort")
@click.argument("model")
@click.argument("speech", metavar="LIST|EMBEDDINGS")
@click.option("-o", "--output", required=True, metavar="FILE", help="The cohort (NPZ).")
@seconds_option
@channel_option
@where_option(_WHERE)
@input_options
@json_option
@asking(ToMake)
def cohort_command(asked: ToMake) -> None:
    """Make a cohort of impostors once, for the normalization of many scores.

    \b
    Example:
      llrkit recognize cohort model.npz impostors.tsv -o cohort.npz
    """
    from llrkit.speech.sides import check_splits

    output, json_path = asked.output, asked.json_path
    with watching() as watch, shown_warnings():
        recognizer, given = _read_list_to_make(asked, watch)
        with named_file(asked.source or asked.speech):
            check_splits(given, asked.where, "a cohort")
            cohort = recognizer.cohort(given, watch=watch)
            cohort.save(output, cohort=True)
    told = f"A cohort of {counted_speech(len(cohort))}. Saved in {output}"
    click.echo(told, err=json_path == "-")
    write_json({"n_utterances": len(given), **seconds_of_speech(given)}, "recognize-cohort", json_path)


@click.command("extract")
@click.argument("model")
@click.argument("speech", metavar="LIST")
@click.option("-o", "--output", required=True, metavar="FILE",
              help="The embeddings: .npz, or .ark with an .scp beside it.")  # fmt: skip
@seconds_option
@channel_option
@where_option(_WHERE)
@input_options
@json_option
@asking(ToMake)
def extract_command(asked: ToMake) -> None:
    """Make embeddings of recordings once, for every back-end, cohort and list of trials.

    They are i-vectors before any step of the back-end, with the speakers and columns of the list, the seconds
    of speech and the length of each vector (norm), and are given to enroll, cohort and score like a list.

    \b
    Examples:
      llrkit recognize extract model.npz test.tsv -o test.npz
      llrkit recognize extract model.npz test.tsv -o test.ark
    """
    from llrkit.speech.embeddings import write_embeddings
    from llrkit.speech.scoring import row_columns

    output, json_path = asked.output, asked.json_path
    with watching() as watch, shown_warnings():
        recognizer, given = _read_list_to_make(asked, watch, _require_embeddings)
        with named_file(asked.source or asked.speech):
            embeddings = recognizer.embed(given, watch=watch)
            write_embeddings(embeddings.replace(columns=row_columns(embeddings)), output)
    told = f"{counted(len(embeddings), 'embedding')} of {embeddings.dim} dimensions. Saved in {output}"
    click.echo(told, err=json_path == "-")
    counts = {"n_utterances": len(given), "dim": embeddings.dim}
    write_json({**counts, **seconds_of_speech(given)}, "recognize-extract", json_path)


def _take_any_frames(recognizer: Recognizer, given: Speech, used: FrontEnd | None) -> None:
    """No check before frames are loaded."""


def _require_known_speakers(recognizer: Recognizer, given: Speech, used: FrontEnd | None) -> None:
    if given.speakers is None:
        raise InputError("to enroll one model per speaker the speakers must be known, or give --each")


def _require_embeddings(recognizer: Recognizer, given: Speech, used: FrontEnd | None) -> None:
    if recognizer.extractor is not None and recognizer.extractor.model is None:
        raise InputError("a ubm-gmm recognizer scores frames and makes no embeddings")


def _read_list_to_make(
    asked: ToMake,
    watch: Watch,
    check: Callable[[Recognizer, Speech, FrontEnd | None], None] = _take_any_frames,
) -> tuple[Recognizer, Speech]:
    from llrkit.speech.recognizer import Recognizer

    require_folder(asked.output)
    recognizer = Recognizer.load(asked.model)
    how = trained_front_end(recognizer, asked.seconds, asked.channel)
    given, _ = SpeechInput.of(asked).read(asked.speech, how, watch, check=partial(check, recognizer))
    return recognizer, given
