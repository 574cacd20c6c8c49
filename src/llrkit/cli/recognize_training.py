"""``llrkit recognize train``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from llrkit.cli.options import asking
from llrkit.cli.output import json_option, named_file, write_json
from llrkit.cli.recognize_input_options import (
    Check,
    Speech,
    SpeechInput,
    channel_option,
    counted_speech,
    input_options,
    require_folder,
    second_list_options,
    seconds_of_speech,
    seconds_option,
    trained_front_end,
    was_given,
    where_option,
)
from llrkit.cli.recognize_progress import Watch, watching
from llrkit.cli.recognize_training_options import (
    OfExtractor,
    ToTrain,
    check_options,
    refuse_idle,
    refuse_sizes,
)
from llrkit.cli.shown_warnings import shown_warnings
from llrkit.errors import InputError
from llrkit.speech.models import ADAPTATIONS, BACKENDS, NORMALIZATIONS

if TYPE_CHECKING:
    from llrkit.base.text import Json
    from llrkit.speech.frames import FrontEnd, Stages
    from llrkit.speech.recognizer import Recognizer


@click.command("train")
@click.argument("speech", metavar="[LIST|EMBEDDINGS]", required=False)
@click.option("-o", "--output", required=True, metavar="FILE", help="The recognizer (NPZ).")
@click.option("--backend", type=click.Choice((*BACKENDS, "lda")), default="plda", show_default=True,
              help="How embeddings are scored; ubm-gmm scores frames. lda: lda-cosine.")  # fmt: skip
@click.option("--gaussians", type=int, metavar="N",
              help="Number of Gaussians of the background model; by default chosen from the "
              "amount of data.")  # fmt: skip
@click.option("--factors", type=int, metavar="N",
              help="Dimensions of an i-vector; by default chosen from the amount of data.")  # fmt: skip
@click.option("--iterations", default=10, show_default=True, help="Steps of each EM.")
@click.option("--steps", metavar="NAME,NAME", help="Before scoring: center, whiten[:DIM], lda[:DIM], wccn, "
              "length. By default what suits the back-end.")  # fmt: skip
@click.option("--rank", type=int, metavar="N", help="Dimensions of the speaker space of plda (default all).")
@click.option("--uncertainty", is_flag=True, help="PLDA trusts short utterances less (posterior covariance).")
@click.option("--relevance", default=16.0, show_default=True, help="Relevance factor of ubm-gmm.")
@click.option("--top-gaussians", default=5, show_default=True, help="Gaussians used in each frame by "
              "ubm-gmm; 0 for all.")  # fmt: skip
@click.option("--cost", default=1.0, show_default=True, help="Cost parameter of the svm.")
@seconds_option
@click.option("--rate", type=int, metavar="HZ", help="Sample rate in Hz; by default that of most files.")
@channel_option
@click.option("--normalize", type=click.Choice(NORMALIZATIONS), default="utterance",
              show_default=True, help="How mean and variance of the cepstra are normalized.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same recognizer.")
@click.option("--no-stages", is_flag=True, help="Do not keep background model, statistics and i-vectors in "
              "the folder FILE.stages, from which an interrupted run continues.")  # fmt: skip
@click.option("--adapt", metavar="LIST|EMBEDDINGS", help="Speech of the new domain, to which the "
              "back-end is adapted; its speakers are used only by interpolate.")  # fmt: skip
@second_list_options("adapt")
@click.option("--adaptation", type=click.Choice(ADAPTATIONS), default="center", show_default=True,
              help="Method of adaptation: means, CORAL; for PLDA also CORAL+, Kaldi's, or interpolation "
              "with a PLDA of --adapt.")  # fmt: skip
@click.option("--adaptation-weight", type=float, metavar="G", help="Weight of the new domain, 0 to 1, for "
              "coral+ (default 0.8) and interpolate (0.5).")  # fmt: skip
@where_option("Only utterances that satisfy a condition such as 'split = train'.")
@input_options
@json_option
@asking(ToTrain)
def train_command(asked: ToTrain) -> None:
    """Train a recognizer on speakers that will neither enroll nor be tested.

    From audio or frames: a background model and i-vectors, then the back-end. From embeddings: the back-end
    alone, as with --from MODEL, which takes everything before it from another recognizer; without a list its
    own training i-vectors are used.

    \b
    Examples:
      llrkit recognize train train.tsv -o model.npz
      llrkit recognize train --from model.npz --backend lda -o lda.npz
      llrkit recognize train train.tsv --backend ubm-gmm --gaussians 256 --seconds 30 -o model.npz
      llrkit recognize train train.tsv --from feats.scp --factors 100 -o model.npz
      llrkit recognize train xvectors.npz --where "split = train" --steps lda:150,length -o model.npz
      llrkit recognize train train.tsv --from several.npz --vectors ecapa -o model.npz
      llrkit recognize train --from model.npz --adapt new.tsv --adaptation coral+ -o adapted.npz
    """
    from llrkit.speech.embeddings import Embeddings
    from llrkit.speech.frames import Frames
    from llrkit.speech.recognizer import STEPS, require_feasible, train_recognizer, training_sizes
    from llrkit.speech.sides import Sources, check_repeats, check_splits

    speech, output, json_path = asked.speech, asked.output, asked.json_path
    backend = "lda-cosine" if asked.backend == "lda" else asked.backend
    steps = asked.steps.split(",") if asked.steps else None
    check_options(asked, backend, steps)
    require_folder(output)
    sizes: OfExtractor = {"n_gaussians": asked.gaussians, "n_factors": asked.factors}
    no_sizes: OfExtractor = {}
    with watching() as watch, shown_warnings():
        base = _base_recognizer(asked.source)
        stages = _stages_folder(asked, base)
        domain: list[tuple[SpeechInput, Speech, FrontEnd | None]] = []

        def check(given: Speech, used: FrontEnd | None) -> None:
            check_repeats(Sources.of(given))
            check_splits(given, asked.where, "trained")
            if base is None and isinstance(given, Embeddings):
                refuse_sizes(asked)
            if base is not None or isinstance(given, Embeddings):
                refuse_idle(asked, backend)
            made = None if base is None or base.extractor is None else base.extractor.model
            require_feasible(
                given, backend, steps=steps if steps is not None else STEPS[backend], rank=asked.rank,
                dim=None if made is None else made.n_factors, **(sizes if base is None else no_sizes),
            )  # fmt: skip
            if asked.adapt is not None:
                domain.append(_open_domain(asked.adapt, asked, base, used))

        new = None
        given, front_end = _training_speech(asked, base, watch, stages, check)
        origin = asked.source if base is None and asked.source else speech or asked.source or ""
        for inputs, found, used in domain:
            new = inputs.load(found, used, watch)
        with named_file(origin):
            if base is None and isinstance(given, Frames):
                why = training_sizes(given, asked.gaussians, asked.factors, watch=watch).why
                if why:
                    click.echo(f"Sizes chosen from the amount of data: {why}.", err=json_path == "-")
            trained = train_recognizer(
                given, backend, steps=steps, iterations=asked.iterations, rank=asked.rank,
                uncertainty=asked.uncertainty, relevance=asked.relevance,
                top_gaussians=asked.top_gaussians or None, cost=asked.cost, front_end=front_end,
                rng=asked.seed, watch=watch, stages=stages,
                extractor=None if base is None else base.extractor, adapt=new,
                adaptation=asked.adaptation, adaptation_weight=asked.adaptation_weight, **sizes,
            )  # fmt: skip
    trained.save(output)
    known = None if given.speakers is None else len(set(given.speakers))
    told = f"{trained!r} trained on {counted_speech(len(given), known)}. Saved in {output}"
    click.echo(told, err=json_path == "-")
    write_json(_training_numbers(backend, given, known, trained), "recognize-train", json_path)


def _open_domain(
    speech: str, asked: ToTrain, base: Recognizer | None, front_end: FrontEnd | None
) -> tuple[SpeechInput, Speech, FrontEnd | None]:
    """The speech of ``--adapt``, whose speakers need not be known; no frames are loaded yet."""
    from llrkit.speech.sides import check_splits

    inputs = SpeechInput.of(asked)
    of_audio = inputs.of_audio if asked.speech is None else ()
    if base is not None:  # --from names the recognizer, not a file of embeddings
        inputs = replace(inputs, source=None)
        front_end = front_end or (None if base.extractor is None else base.extractor.front_end)
    inputs = replace(inputs.of_another(speech, asked.domain), of_audio=of_audio)
    given, used = inputs.open(
        speech, front_end,
        lambda given, _: check_splits(given, asked.adapt_where, "adapted", "--adapt-where"),
    )  # fmt: skip
    return inputs, given, used


def _base_recognizer(source: str | None) -> Recognizer | None:
    """The recognizer whose extractor is used, if ``--from`` names one."""
    from llrkit.io.array_files import read_arrays
    from llrkit.speech.recognizer import Recognizer

    if source is None or not Path(source).is_file() or Path(source).suffix.lower() != ".npz":
        return None
    if str(read_arrays(Path(source)).get("schema", "")) != Recognizer.schema:
        return None
    base = Recognizer.load(source)
    if base.extractor is None or base.extractor.model is None:
        raise InputError(f"{source}: this recognizer makes no embeddings, so nothing can be taken from it")
    return base


def _stages_folder(asked: ToTrain, base: Recognizer | None) -> Stages | None:
    from llrkit.speech.frames import Stages

    if base is not None:
        return Stages(Path(f"{asked.source}.stages"))
    return None if asked.no_stages else Stages(Path(f"{asked.output}.stages"))


def _training_speech(
    asked: ToTrain, base: Recognizer | None, watch: Watch, stages: Stages | None, check: Check,
) -> tuple[Speech, FrontEnd | None]:  # fmt: skip
    from llrkit.speech.frames import IVECTORS, FrontEnd

    speech = asked.speech
    inputs = SpeechInput.of(asked)
    if base is None:
        if speech is None:
            raise InputError("give a list of speech or a file of embeddings, or a recognizer with --from")
        how = FrontEnd(
            sample_rate=asked.rate, channel=asked.channel, normalize=asked.normalize,
            seconds=asked.seconds,
        )  # fmt: skip
        return inputs.read(speech, how, watch, stages, check)
    for name in ("gaussians", "factors", "rate", "normalize"):
        if was_given(name):
            raise InputError(f"--{name} is set by {asked.source}: with --from only the back-end is trained")
    assert base.extractor is not None
    if speech is not None:
        how_then = trained_front_end(base, asked.seconds, asked.channel)
        return replace(inputs, source=None).read(speech, how_then, watch, None, check)
    assert stages is not None
    file = stages.folder / IVECTORS
    if not file.is_file():
        raise InputError(
            f"{asked.source}: its training i-vectors are not in {file}; give the list of the training"
        )
    # options of audio can only be about the speech of the new domain, if there is any
    of_audio = () if asked.adapt is not None else inputs.of_audio
    own = replace(inputs, source=None, of_audio=of_audio)
    given, _ = own.read(str(file), None, watch, None, check)
    return given, base.extractor.front_end


def _training_numbers(backend: str, given: Speech, known: int | None, trained: Recognizer) -> dict[str, Json]:
    extractor = trained.extractor
    history = {} if extractor is None else {"background_model": extractor.ubm.log_likelihoods.tolist()}
    sizes = {} if extractor is None else {"n_gaussians": extractor.ubm.n_gaussians}
    if extractor is not None and extractor.model is not None:
        history["factors"] = extractor.model.log_likelihoods.tolist()
        sizes["n_factors"] = extractor.model.n_factors
    return {
        "backend": backend, "n_utterances": len(given), "n_speakers": known, **sizes,
        "log_likelihoods": history, **seconds_of_speech(given),
    }  # fmt: skip
