"""``llrkit recognize``: from speech, or from embeddings, to scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from llrkit._progress import stage
from llrkit.cli.output import json_option, named_file, shown_warnings, write_json
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.io.trial_table import TrialTable
    from llrkit.recognize.frames.front_end import FrontEnd
    from llrkit.recognize.recognizer import Recognizer

_BACKENDS = ("plda", "cosine", "lda-cosine", "svm", "ubm-gmm")
_NORMS = ("none", "z", "t", "zt", "tz", "s", "as1", "as2")
_SECONDS = click.option("--seconds", type=float, metavar="S", help="Use the first S seconds of speech only.")


def input_options(command: Any) -> Any:
    """The options that say where the speech of a list is."""
    for option in (
        click.option("--folder", metavar="DIR", help="Where the audio files are, if not beside the list."),
        click.option("--from", "source", metavar="FILE",
                     help="Frames or embeddings (NPZ, Kaldi ark or scp) whose ids are in the list."),
        click.option("--vectors", metavar="NAME",
                     help="Which matrix of an NPZ file holds the embeddings, where there are several."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.group("recognize")
def recognize_command() -> None:
    """Recognize speakers: train a recognizer, enroll speakers, score trials.

    The speech is a list, a small table with a column of speakers and one of WAV or FLAC files; or a file of
    embeddings that were made elsewhere (NPZ, Kaldi ark or scp). Audio needs the extra 'audio':
    pip install 'llrkit[audio]'.

    \b
    Examples:
      llrkit recognize train train.tsv --gaussians 256 --factors 100 -o model.npz
      llrkit recognize enroll model.npz enroll.tsv -o enrolled.npz
      llrkit recognize score model.npz enrolled.npz test.tsv -o scores.csv
    """


@recognize_command.command("train")
@click.argument("speech", metavar="LIST|EMBEDDINGS")
@click.option("-o", "--output", required=True, metavar="FILE", help="The recognizer (NPZ).")
@click.option("--backend", type=click.Choice(_BACKENDS), default="plda", show_default=True,
              help="How embeddings are scored; ubm-gmm scores frames.")  # fmt: skip
@click.option("--gaussians", default=512, show_default=True, help="Gaussians of the background model.")
@click.option("--factors", default=200, show_default=True, help="Numbers in an i-vector.")
@click.option("--iterations", default=10, show_default=True, help="Steps of each EM.")
@click.option("--steps", metavar="NAME,NAME", help="Before scoring: center, whiten[:DIM], lda[:DIM], wccn, "
              "length. By default what suits the back-end.")  # fmt: skip
@click.option("--rank", type=int, metavar="N", help="Dimensions of the speaker space of PLDA; default all.")
@click.option("--uncertainty", is_flag=True, help="PLDA trusts short utterances less (posterior covariance).")
@click.option("--relevance", default=16.0, show_default=True, help="Relevance factor of ubm-gmm.")
@click.option("--top-gaussians", default=5, show_default=True, help="Gaussians that count in a frame of "
              "ubm-gmm; 0 for all.")  # fmt: skip
@click.option("--cost", default=1.0, show_default=True, help="Price of errors of the svm.")
@_SECONDS
@click.option("--rate", type=int, metavar="HZ", help="Samples a second; by default those of the first file.")
@click.option("--channel", type=int, metavar="N", help="Which channel of stereo files, from 0 on.")
@click.option("--normalize", type=click.Choice(["utterance", "sliding", "none"]), default="utterance",
              show_default=True, help="Mean and variance of the cepstra.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same recognizer.")
@input_options
@json_option
def train_command(
    speech: str, output: str, backend: str, gaussians: int, factors: int, iterations: int,
    steps: str | None, rank: int | None, uncertainty: bool, relevance: float, top_gaussians: int,
    cost: float, seconds: float | None, rate: int | None, channel: int | None, normalize: str, seed: int,
    folder: str | None, source: str | None, vectors: str | None, json_path: str | None,
) -> None:  # fmt: skip
    """Train a recognizer on speakers that will neither enroll nor be tested.

    From audio or frames: a background model and i-vectors, then the back-end. From embeddings: the back-end
    alone.

    \b
    Examples:
      llrkit recognize train train.tsv -o model.npz
      llrkit recognize train train.tsv --backend ubm-gmm --gaussians 256 --seconds 30 -o model.npz
      llrkit recognize train train.tsv --from feats.scp --factors 100 -o model.npz
      llrkit recognize train xvectors.npz --steps lda:150,length -o model.npz
      llrkit recognize train train.tsv --from several.npz --vectors ecapa -o model.npz
    """
    from llrkit.recognize.frames.front_end import FrontEnd
    from llrkit.recognize.recognizer_training import train_recognizer

    how = FrontEnd(sample_rate=rate, channel=channel, normalize=normalize, seconds=seconds)
    with watching() as watch, shown_warnings():
        given, front_end = _read(speech, source, folder, how, vectors)
        with named_file(source or speech):
            trained = train_recognizer(
                given, backend, steps=steps.split(",") if steps else None, n_gaussians=gaussians,
                n_factors=factors, iterations=iterations, rank=rank, uncertainty=uncertainty,
                relevance=relevance, top_gaussians=top_gaussians or None, cost=cost, front_end=front_end,
                rng=seed, watch=watch,
            )  # fmt: skip
    trained.save(output)
    known = None if given.speakers is None else len(set(given.speakers))
    click.echo(
        f"{trained!r} trained on {_counted(len(given), known)}. Saved in {output}", err=json_path == "-"
    )
    extractor = trained.extractor
    history = {} if extractor is None else {"background_model": extractor.ubm.log_likelihoods.tolist()}
    if extractor is not None and extractor.model is not None:
        history["factors"] = extractor.model.log_likelihoods.tolist()
    numbers = {
        "backend": backend,
        "n_utterances": len(given),
        "n_speakers": known,
        "log_likelihoods": history,
    }
    write_json(numbers, "recognize-train", json_path)


@recognize_command.command("enroll")
@click.argument("model")
@click.argument("speech", metavar="LIST|EMBEDDINGS")
@click.option("-o", "--output", required=True, metavar="FILE", help="The enrolled models (NPZ).")
@click.option("--each", is_flag=True, help="One model per utterance, named like it, not one per speaker.")
@_SECONDS
@input_options
@json_option
def enroll_command(
    model: str, speech: str, output: str, each: bool, seconds: float | None, folder: str | None,
    source: str | None, vectors: str | None, json_path: str | None,
) -> None:  # fmt: skip
    """Make a model of each speaker from all its utterances.

    \b
    Examples:
      llrkit recognize enroll model.npz enroll.tsv -o enrolled.npz
      llrkit recognize enroll model.npz enroll.tsv --seconds 10 -o enrolled.npz
      llrkit recognize enroll model.npz xvectors.npz --each -o enrolled.npz
    """
    from llrkit.recognize.recognizer import Recognizer

    recognizer = Recognizer.load(model)
    with watching() as watch, shown_warnings():
        given, _ = _read(speech, source, folder, _front_end(recognizer, seconds), vectors)
        with named_file(source or speech):
            enrolled = recognizer.enroll(given, each=each, watch=watch)
    enrolled.save(output)
    click.echo(
        f"{len(enrolled):,} models from {_counted(len(given))}. Saved in {output}", err=json_path == "-"
    )
    write_json({"n_models": len(enrolled), "n_utterances": len(given)}, "recognize-enroll", json_path)


@recognize_command.command("score")
@click.argument("model")
@click.argument("enrolled")
@click.argument("speech", metavar="LIST|EMBEDDINGS")
@click.option("-o", "--output", required=True, metavar="FILE",
              help="Where the scores go: .parquet, .csv, .tsv, .kaldi, .nist, .h5, ...")  # fmt: skip
@click.option("--trials", metavar="LIST", help="Pairs of model and utterance to score; by default all pairs.")
@click.option("--norm", type=click.Choice(_NORMS), default="none", show_default=True,
              help="Score normalization by a cohort.")  # fmt: skip
@click.option("--cohort", metavar="LIST|EMBEDDINGS", help="Impostors for the normalization.")
@click.option("--cohort-from", metavar="FILE", help="As --from, for the cohort; by default the same file.")
@click.option("--top", type=int, metavar="N", help="Cohort members that as1 and as2 choose.")
@click.option("--to", metavar="NAME", help="The format to write; by default that of the ending of FILE.")
@click.option("--key-output", metavar="FILE", help="Where the labels go, for Kaldi, NIST and BOSARIS.")
@_SECONDS
@input_options
@json_option
def score_command(
    model: str, enrolled: str, speech: str, output: str, trials: str | None, norm: str, cohort: str | None,
    cohort_from: str | None, top: int | None, to: str | None, key_output: str | None,
    seconds: float | None, folder: str | None, source: str | None, vectors: str | None, json_path: str | None,
) -> None:  # fmt: skip
    """Score test utterances against enrolled models.

    Where the speakers of both sides are known, or the list of trials has labels, so have the scores.

    \b
    Examples:
      llrkit recognize score model.npz enrolled.npz test.tsv -o scores.csv
      llrkit recognize score model.npz enrolled.npz test.tsv --trials trials.txt --seconds 5 -o scores.parquet
      llrkit recognize score model.npz enrolled.npz test.npz --norm as1 --cohort cohort.npz --top 200 -o s.csv
    """
    from llrkit.io.trial_lists import find_listed, read_trial_list
    from llrkit.io.write import write_table
    from llrkit.recognize.backends.trial_sides import Side
    from llrkit.recognize.pair_trials import all_pairs_table, listed_pairs_table
    from llrkit.recognize.recognizer import Recognizer

    if (norm == "none") != (cohort is None):
        raise InputError("--norm and --cohort go together")
    recognizer, models = Recognizer.load(model), Side.load(enrolled)
    trial_list = None if trials is None else read_trial_list(trials)
    how = _front_end(recognizer, seconds)
    with watching() as watch, shown_warnings():
        given, _ = _read(speech, source, folder, how, vectors)
        if trial_list is not None:  # an unknown id is told before anything is computed
            find_listed(trial_list, models.ids.tolist(), list(given.ids))
        with named_file(source or speech):
            segments = recognizer.prepare(given, watch=watch)
        others = None
        if cohort is not None:
            impostors, _ = _read(cohort, cohort_from or source, folder, how, vectors)
            with named_file(cohort_from or source or cohort):
                others = recognizer.cohort(impostors, watch=watch)
        scores = recognizer.scores(models, segments, normalize=norm, cohort=others, top=top, watch=watch)
    known = None
    if models.speakers is not None and segments.speakers is not None:
        known = (models.speakers.tolist(), segments.speakers.tolist())
    ids = (models.ids.tolist(), segments.ids.tolist())
    if trial_list is None:
        scored = all_pairs_table(scores, *ids, speakers=known)
    else:
        scored = listed_pairs_table(scores, trial_list, *ids, speakers=known)
    write_table(scored, output, format=to, key=key_output)
    numbers = {"n_models": len(models), "n_utterances": len(segments), **_numbers(scored)}
    eer = f", EER {100 * numbers['eer']:.2f} %" if numbers.get("eer") is not None else ""
    click.echo(f"{numbers['n_trials']:,} scores written to {output}{eer}", err=json_path == "-")
    write_json(numbers, "recognize-score", json_path)


def _read(
    speech: str, source: str | None, folder: str | None, how: FrontEnd | None, vectors: str | None
) -> tuple[Any, Any]:
    from llrkit.recognize.speech_inputs import read_speech

    return read_speech(speech, source=source, folder=folder, front_end=how, vectors=vectors)


def _front_end(recognizer: Recognizer, seconds: float | None) -> FrontEnd | None:
    """That of the training, but for the seconds."""
    found = None if recognizer.extractor is None else recognizer.extractor.front_end
    return found if found is None or seconds is None else replace(found, seconds=seconds)


def _counted(n_utterances: int, n_speakers: int | None = None) -> str:
    return f"{n_utterances:,} utterances" + ("" if n_speakers is None else f" of {n_speakers:,} speakers")


def _numbers(found: TrialTable) -> dict[str, Any]:
    from llrkit.errors import EmptyClassError
    from llrkit.evaluation.evaluate import evaluate
    from llrkit.io.checks import as_trials_checked

    numbers: dict[str, Any] = {"n_trials": found.table.height}
    if found.label is None:
        return numbers
    try:
        result = evaluate(as_trials_checked(found))
    except EmptyClassError:
        return numbers
    return {
        **numbers, "n_target": result.n_target, "n_nontarget": result.n_nontarget, "eer": result.eer,
        "min_cllr": result.min_cllr,
    }  # fmt: skip


@contextmanager
def watching() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for each thing that a training does, one after the other."""
    with ExitStack() as stack:
        now: list[Any] = ["", 0, None]

        def watch(what: str, done: int, total: int) -> None:
            if now[0] != what:
                stack.close()
                now[:] = [what, 0, stack.enter_context(stage(what, total, "steps"))]
            now[2](done - now[1])
            now[1] = done

        yield watch
