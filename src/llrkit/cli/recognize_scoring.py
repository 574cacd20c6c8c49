"""``llrkit recognize score``."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from llrkit.base.text import counted
from llrkit.cli.options import asking
from llrkit.cli.output import json_option, named_file, write_json
from llrkit.cli.recognize_input_options import (
    OfSpeech,
    SecondList,
    Speech,
    SpeechInput,
    channel_option,
    input_options,
    require_folder,
    second_list_options,
    seconds_of_speech,
    seconds_option,
    trained_front_end,
    where_option,
)
from llrkit.cli.recognize_progress import Watch, watching
from llrkit.cli.shown_warnings import shown_warnings
from llrkit.errors import InputError
from llrkit.speech.models import NORMS

if TYPE_CHECKING:
    from llrkit.base.arguments import Array
    from llrkit.io.table_columns import TrialTable
    from llrkit.speech.frames import FrontEnd
    from llrkit.speech.recognizer import Recognizer
    from llrkit.speech.sides import Side


@dataclass(frozen=True, kw_only=True)
class ToScore(OfSpeech):
    """Options of ``recognize score``."""

    model: str
    enrolled: str
    speech: str
    trials: str | None
    norm: str
    cohort: str | None
    cohort_where: tuple[str, ...]
    cohort_from: str | None
    cohort_segments: str | None
    cohort_utt2spk: str | None
    cohort_vad: str | None
    top: int | None
    to: str | None
    key_output: str | None

    @property
    def impostors(self) -> SecondList:
        """The list of the cohort."""
        return SecondList(
            name="cohort", path=self.cohort, where=self.cohort_where, source=self.cohort_from,
            segments=self.cohort_segments, speaker_file=self.cohort_utt2spk, vad=self.cohort_vad,
        )  # fmt: skip


@click.command("score")
@click.argument("model")
@click.argument("enrolled")
@click.argument("speech", metavar="LIST|EMBEDDINGS")
@click.option("-o", "--output", required=True, metavar="FILE",
              help="File to write the scores to: .parquet, .csv, .tsv, .kaldi, .nist, .h5, ...")  # fmt: skip
@click.option("--trials", metavar="LIST", help="Pairs of model and utterance to score; by default all pairs.")
@click.option("--norm", type=click.Choice(NORMS), default="none", show_default=True,
              help="Score normalization by a cohort.")  # fmt: skip
@click.option("--cohort", metavar="LIST|EMBEDDINGS|COHORT", help="Impostors for score normalization; also a "
              "file that 'recognize cohort' saved.")  # fmt: skip
@second_list_options("cohort")
@click.option("--top", type=int, metavar="N", help="Number of cohort members that as1 and as2 select.")
@click.option("--to", metavar="NAME", help="Format to write; by default chosen by the ending of FILE.")
@click.option(
    "--key-output", metavar="FILE", help="File to write the labels to, for Kaldi, NIST and BOSARIS."
)
@seconds_option
@channel_option
@where_option("Which test utterances ('split = eval') or, of columns that begin with enroll_ or test_, which "
              "trials ('enroll_gender = test_gender').")  # fmt: skip
@input_options
@json_option
@asking(ToScore)
def score_command(asked: ToScore) -> None:
    """Score test utterances against enrolled models.

    If the speakers of both sides are known, or if the list of trials has labels, the scores have labels too.
    Columns of the lists, seconds of speech and lengths of embeddings are added as enroll_NAME, test_NAME.

    \b
    Examples:
      llrkit recognize score model.npz enrolled.npz test.tsv -o scores.csv
      llrkit recognize score model.npz enrolled.npz test.tsv --where "enroll_sex = test_sex" -o scores.csv
      llrkit recognize score model.npz enrolled.npz test.tsv --trials trials.txt --seconds 5 -o scores.parquet
      llrkit recognize score model.npz enrolled.npz test.npz --norm as1 --cohort cohort.npz --top 200 -o s.csv
    """
    from llrkit.io.selection import find_listed, read_trial_list, split_conditions
    from llrkit.io.write import write_table, written_as
    from llrkit.speech.lists import holds_arrays
    from llrkit.speech.recognizer import Recognizer
    from llrkit.speech.sides import Side

    cohort, output, json_path = asked.cohort, asked.output, asked.json_path
    if (asked.norm == "none") != (cohort is None):
        raise InputError("--norm and --cohort need each other")
    asked.impostors.require()
    written_as(Path(output), asked.to)
    for path in (output, asked.key_output):
        require_folder(path or output)
    recognizer, models = Recognizer.load(asked.model), Side.load(asked.enrolled)
    saved = None if cohort is None else _saved_cohort(cohort, asked.impostors)
    with named_file(asked.enrolled):
        recognizer.require_own_sides(models)
    with named_file(str(cohort)):
        recognizer.require_own_sides(models, saved)
    trial_list = None if asked.trials is None else read_trial_list(asked.trials)
    on_segments, on_trials = split_conditions(asked.where)
    inputs = replace(SpeechInput.of(asked), where=tuple(on_segments))
    if cohort is not None and not holds_arrays(cohort):
        inputs = replace(inputs, of_audio=())  # they may be about the cohort
    how = trained_front_end(recognizer, asked.seconds, asked.channel)
    with watching() as watch, shown_warnings():
        given, used = inputs.open(asked.speech, how)
        impostors = None if saved is not None or cohort is None else _open_cohort(cohort, asked, how)
        _require_top(asked, impostors[1] if impostors is not None else saved)
        given = inputs.load(given, used, watch)
        if trial_list is not None:  # an unknown id is told before anything is computed
            find_listed(trial_list, models.ids.tolist(), list(given.ids))
        with named_file(asked.source or asked.speech):
            segments = recognizer.prepare(given, watch=watch)
        others = saved if impostors is None else _cohort_made_now(recognizer, *impostors, watch)
        scores = recognizer.scores(
            models, segments, normalize=asked.norm, cohort=others, top=asked.top, watch=watch
        )
    scored = _scored_trial_table(scores, models, segments, trial_list, on_trials)
    write_table(scored, output, format=asked.to, key=asked.key_output)
    measured = _measured_by_labels(scored)
    eer = f", EER {100 * measured['eer']:.2f} %" if "eer" in measured else ""
    n_trials = scored.table.height
    click.echo(f"{counted(n_trials, 'score')} written to {output}{eer}", err=json_path == "-")
    numbers = {"n_models": len(models), "n_utterances": len(segments), "n_trials": n_trials, **measured}
    write_json({**numbers, **seconds_of_speech(given)}, "recognize-score", json_path)


def _saved_cohort(cohort: str, impostors: SecondList) -> Side | None:
    """The impostors, if they were saved before."""
    from llrkit.io.array_files import read_arrays
    from llrkit.speech.sides import COHORT_SCHEMA, Side

    is_array_file = Path(cohort).suffix.lower() == ".npz" and Path(cohort).is_file()
    if is_array_file and str(read_arrays(Path(cohort)).get("schema", "")) == COHORT_SCHEMA:
        if impostors.told:
            raise InputError(f"{cohort}: is a saved cohort, which takes no further options")
        return Side.load(cohort, cohort=True)
    return None


def _require_top(asked: ToScore, cohort: Sized | None) -> None:
    """Refuse a choice of more impostors than there are, before anything is computed."""
    from llrkit.speech.scoring import require_top

    if asked.top is not None and cohort is not None and asked.norm in ("as1", "as2"):
        require_top(asked.top, len(cohort))


def _open_cohort(
    cohort: str, asked: ToScore, how: FrontEnd | None
) -> tuple[SpeechInput, Speech, FrontEnd | None, str]:
    """Impostors that were not saved before; no frames are loaded yet."""
    from llrkit.speech.sides import check_splits

    inputs = SpeechInput.of(asked).of_another(cohort, asked.impostors)
    impostors, used = inputs.open(
        cohort,
        how,
        lambda given, _: check_splits(given, asked.cohort_where, "a cohort", "--cohort-where"),
    )
    return inputs, impostors, used, inputs.source or cohort


def _cohort_made_now(
    recognizer: Recognizer,
    inputs: SpeechInput,
    impostors: Speech,
    used: FrontEnd | None,
    origin: str,
    watch: Watch,
) -> Side:
    """The impostors, made now."""
    with named_file(origin):
        return recognizer.cohort(inputs.load(impostors, used, watch), watch=watch)


def _scored_trial_table(
    scores: Array, models: Side, segments: Side, trial_list: TrialTable | None, conditions: list[str]
) -> TrialTable:
    from llrkit.io.selection import select_trials
    from llrkit.speech.scoring import all_pairs_table, listed_pairs_table

    known = None
    if models.speakers is not None and segments.speakers is not None:
        known = (models.speakers.tolist(), segments.speakers.tolist())
    ids = (models.ids.tolist(), segments.ids.tolist())
    columns = (models.columns, segments.columns)
    if trial_list is None:
        scored = all_pairs_table(scores, *ids, speakers=known, columns=columns)
    else:
        scored = listed_pairs_table(scores, trial_list, *ids, speakers=known, columns=columns)
    return select_trials(scored, conditions) if conditions else scored


def _measured_by_labels(scored: TrialTable) -> dict[str, float]:
    """The numbers that need labels; empty without them."""
    from llrkit.errors import EmptyClassError
    from llrkit.io.trial_checks import as_trials_checked
    from llrkit.verbs.evaluate import evaluate

    if scored.label is None:
        return {}
    try:
        result = evaluate(as_trials_checked(scored))
    except EmptyClassError:
        return {}
    return {
        "n_target": result.n_target, "n_nontarget": result.n_nontarget, "eer": result.eer,
        "min_cllr": result.min_cllr,
    }  # fmt: skip
