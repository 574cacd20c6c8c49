"""``llrkit recognize`` enroll, cohort and extract: what one recognizer makes of a list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from llrkit._format import counted
from llrkit.cli.output import json_option, named_file, shown_warnings, write_json
from llrkit.cli.recognize_inputs import (
    SpeechInput,
    channel_option,
    counted_speech,
    input_options,
    require_folder,
    seconds_of_speech,
    seconds_option,
    trained_front_end,
    watching,
    where_option,
)
from llrkit.errors import InputError

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
def enroll_command(**options: Any) -> None:
    """Make a model of each speaker from all its utterances.

    \b
    Examples:
      llrkit recognize enroll model.npz enroll.tsv -o enrolled.npz
      llrkit recognize enroll model.npz calls.tsv --channel 1 --seconds 10 -o enrolled.npz
      llrkit recognize enroll model.npz xvectors.npz --where "side = A" --each -o enrolled.npz
    """
    output, json_path = options["output"], options["json_path"]
    with watching() as watch, shown_warnings():
        recognizer, given = _read(options, watch, _anything if options["each"] else _speakers_known)
        with named_file(options["source"] or options["speech"]):
            enrolled = recognizer.enroll(given, each=options["each"], watch=watch)
    enrolled.save(output)
    told = f"{counted(len(enrolled), 'model')} from {counted_speech(len(given))}. Saved in {output}"
    click.echo(told, err=json_path == "-")
    numbers = {"n_models": len(enrolled), "n_utterances": len(given), **seconds_of_speech(given)}
    write_json(numbers, "recognize-enroll", json_path)


@click.command("cohort")
@click.argument("model")
@click.argument("speech", metavar="LIST|EMBEDDINGS")
@click.option("-o", "--output", required=True, metavar="FILE", help="The cohort (NPZ).")
@seconds_option
@channel_option
@where_option(_WHERE)
@input_options
@json_option
def cohort_command(**options: Any) -> None:
    """Make a cohort of impostors once, for the normalization of many scores.

    \b
    Example:
      llrkit recognize cohort model.npz impostors.tsv -o cohort.npz
    """
    from llrkit.recognize.overlap_checks import check_splits

    output, json_path = options["output"], options["json_path"]
    with watching() as watch, shown_warnings():
        recognizer, given = _read(options, watch)
        with named_file(options["source"] or options["speech"]):
            check_splits(given, options["where"], "a cohort")
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
def extract_command(**options: Any) -> None:
    """Make embeddings of recordings once, for every back-end, cohort and list of trials.

    They are i-vectors before any step of the back-end, with the speakers and columns of the list, the seconds
    of speech and the length of each vector (norm), and are given to enroll, cohort and score like a list.

    \b
    Examples:
      llrkit recognize extract model.npz test.tsv -o test.npz
      llrkit recognize extract model.npz test.tsv -o test.ark
    """
    from llrkit.recognize.embedding_files import write_embeddings
    from llrkit.recognize.pair_tables import row_columns

    output, json_path = options["output"], options["json_path"]
    with watching() as watch, shown_warnings():
        recognizer, given = _read(options, watch, _makes_embeddings)
        with named_file(options["source"] or options["speech"]):
            embeddings = recognizer.embed(given, watch=watch)
            write_embeddings(embeddings.replace(columns=row_columns(embeddings)), output)
    told = f"{counted(len(embeddings), 'embedding')} of {embeddings.dim} dimensions. Saved in {output}"
    click.echo(told, err=json_path == "-")
    numbers = {"n_utterances": len(given), "dim": embeddings.dim, **seconds_of_speech(given)}
    write_json(numbers, "recognize-extract", json_path)


def _anything(recognizer: Any, given: Any, used: Any) -> None:
    """Nothing to be said before frames are loaded."""


def _speakers_known(recognizer: Any, given: Any, used: Any) -> None:
    if given.speakers is None:
        raise InputError("to enroll one model per speaker the speakers must be known, or give --each")


def _makes_embeddings(recognizer: Any, given: Any, used: Any) -> None:
    if recognizer.extractor is not None and recognizer.extractor.model is None:
        raise InputError("a ubm-gmm recognizer scores frames and makes no embeddings")


def _read(
    options: dict[str, Any], watch: Any, check: Callable[[Any, Any, Any], None] = _anything
) -> tuple[Any, Any]:
    from llrkit.recognize.recognizer import Recognizer

    require_folder(options["output"])
    recognizer = Recognizer.load(options["model"])
    how = trained_front_end(recognizer, options["seconds"], options["channel"])
    given, _ = SpeechInput.of(options).read(options["speech"], how, watch, check=partial(check, recognizer))
    return recognizer, given
