"""``llrkit recognize train``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.output import json_option, named_file, shown_warnings, write_json
from llrkit.cli.recognize_inputs import (
    Check,
    SpeechInput,
    Watch,
    channel_option,
    counted_speech,
    input_options,
    require_folder,
    require_second_list,
    second_list_options,
    seconds_of_speech,
    seconds_option,
    trained_front_end,
    was_given,
    watching,
    where_option,
)
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.recognize.recognizer import Recognizer
    from llrkit.recognize.training_stages import Stages

_ADAPTATIONS = ("center", "coral", "coral+", "kaldi", "interpolate")
_BACKENDS = ("plda", "htplda", "psda", "tpsda", "cosine", "lda", "lda-cosine", "svm", "ubm-gmm")
_OF_BACKENDS = {"relevance": "ubm-gmm", "top_gaussians": "ubm-gmm", "cost": "svm"}
_WITHOUT_EM = ("cosine", "lda-cosine", "svm")
_OF_SCORERS = ("rank", "degrees", "speaker_dims", "channel_dims")


@click.command("train")
@click.argument("speech", metavar="[LIST|EMBEDDINGS]", required=False)
@click.option("-o", "--output", required=True, metavar="FILE", help="The recognizer (NPZ).")
@click.option("--backend", type=click.Choice(_BACKENDS), default="plda", show_default=True,
              help="How embeddings are scored; ubm-gmm scores frames. htplda: heavy-tailed, tpsda: toroidal, "
              "lda: lda-cosine.")  # fmt: skip
@click.option("--gaussians", type=int, metavar="N",
              help="Number of Gaussians of the background model; by default chosen from the "
              "amount of data.")  # fmt: skip
@click.option("--factors", type=int, metavar="N",
              help="Dimensions of an i-vector; by default chosen from the amount of data.")  # fmt: skip
@click.option("--iterations", default=10, show_default=True, help="Steps of each EM.")
@click.option("--steps", metavar="NAME,NAME", help="Before scoring: center, whiten[:DIM], lda[:DIM], wccn, "
              "length. By default what suits the back-end.")  # fmt: skip
@click.option("--rank", type=int, metavar="N", help="Dimensions of the speaker space of plda (default all) "
              "and htplda (default half).")  # fmt: skip
@click.option("--degrees", type=float, metavar="N",
              help="Degrees of freedom of htplda; by default estimated.")  # fmt: skip
@click.option("--speaker-dims", metavar="N,N", help="Dimensions of the speaker factors of tpsda, one number "
              "each; by default one factor with all that the channel leaves.")  # fmt: skip
@click.option("--channel-dims", metavar="N,N", help="Dimensions of the channel factors of tpsda, 0 for none; "
              "by default one factor with a quarter of the dimensions.")  # fmt: skip
@click.option("--uncertainty", is_flag=True, help="PLDA trusts short utterances less (posterior covariance).")
@click.option("--relevance", default=16.0, show_default=True, help="Relevance factor of ubm-gmm.")
@click.option("--top-gaussians", default=5, show_default=True, help="Gaussians used in each frame by "
              "ubm-gmm; 0 for all.")  # fmt: skip
@click.option("--cost", default=1.0, show_default=True, help="Cost parameter of the svm.")
@seconds_option
@click.option("--rate", type=int, metavar="HZ", help="Sample rate in Hz; by default that of most files.")
@channel_option
@click.option("--normalize", type=click.Choice(["utterance", "sliding", "none"]), default="utterance",
              show_default=True, help="How mean and variance of the cepstra are normalized.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same recognizer.")
@click.option("--no-stages", is_flag=True, help="Do not keep background model, statistics and i-vectors in "
              "the folder FILE.stages, from which an interrupted run continues.")  # fmt: skip
@click.option("--adapt", metavar="LIST|EMBEDDINGS", help="Speech of the new domain, to which the "
              "back-end is adapted; its speakers are used only by interpolate.")  # fmt: skip
@second_list_options("adapt")
@click.option("--adaptation", type=click.Choice(_ADAPTATIONS), default="center", show_default=True,
              help="Method of adaptation: means, CORAL; for PLDA also CORAL+, Kaldi's, or interpolation "
              "with a PLDA of --adapt.")  # fmt: skip
@click.option("--adaptation-weight", type=float, metavar="G", help="Weight of the new domain, 0 to 1, for "
              "coral+ (default 0.8) and interpolate (0.5).")  # fmt: skip
@where_option("Only utterances that satisfy a condition such as 'split = train'.")
@input_options
@json_option
def train_command(**options: Any) -> None:
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
      llrkit recognize train xvectors.npz --backend tpsda --speaker-dims 60,40 --channel-dims 40 -o t.npz
      llrkit recognize train --from model.npz --adapt new.tsv --adaptation coral+ -o adapted.npz
    """
    from llrkit.recognize.embeddings import Embeddings
    from llrkit.recognize.frames.utterance_frames import Frames
    from llrkit.recognize.overlap_checks import check_repeats, check_splits
    from llrkit.recognize.recognizer_training import STEPS, train_recognizer, training_sizes
    from llrkit.recognize.speech_sources import Sources
    from llrkit.recognize.training_sizes import require_feasible

    speech, output, json_path = options["speech"], options["output"], options["json_path"]
    backend = "lda-cosine" if options["backend"] == "lda" else options["backend"]
    steps = options["steps"].split(",") if options["steps"] else None
    own = _checked_options(options, backend, steps)
    require_folder(output)
    sizes = {"n_gaussians": options["gaussians"], "n_factors": options["factors"]}
    with watching() as watch, shown_warnings():
        base = _base_recognizer(options["source"])
        stages = _stages(options, base)
        domain: list[tuple[SpeechInput, Any, Any]] = []

        def check(given: Any, used: Any) -> None:
            check_repeats(Sources.of(given))
            check_splits(given, options["where"], "trained")
            if base is None and isinstance(given, Embeddings):
                _refuse_sizes(options)
            if base is not None or isinstance(given, Embeddings):
                _refuse_idle(options, backend)
            made = None if base is None or base.extractor is None else base.extractor.model
            require_feasible(
                given, backend, steps=steps if steps is not None else STEPS[backend], rank=own["rank"],
                speaker_dims=own["speaker_dims"], channel_dims=own["channel_dims"],
                dim=None if made is None else made.n_factors, **(sizes if base is None else {}),
            )  # fmt: skip
            if options["adapt"] is not None:
                domain.append(_open_domain(options, base, used))

        new = None
        given, front_end = _training_speech(options, base, watch, stages, check)
        origin = options["source"] if base is None and options["source"] else speech or options["source"]
        for inputs, found, used in domain:
            new = inputs.load(found, used, watch)
        with named_file(origin):
            if base is None and isinstance(given, Frames):
                why = training_sizes(given, **sizes, watch=watch).why
                if why:
                    click.echo(f"Sizes chosen from the amount of data: {why}.", err=json_path == "-")
            trained = train_recognizer(
                given, backend, steps=steps, iterations=options["iterations"], **own,
                uncertainty=options["uncertainty"], relevance=options["relevance"],
                top_gaussians=options["top_gaussians"] or None, cost=options["cost"], front_end=front_end,
                rng=options["seed"], watch=watch, stages=stages,
                extractor=None if base is None else base.extractor, adapt=new,
                adaptation=options["adaptation"], adaptation_weight=options["adaptation_weight"], **sizes,
            )  # fmt: skip
    trained.save(output)
    known = None if given.speakers is None else len(set(given.speakers))
    told = f"{trained!r} trained on {counted_speech(len(given), known)}. Saved in {output}"
    click.echo(told, err=json_path == "-")
    write_json(_numbers(backend, given, known, trained), "recognize-train", json_path)


def _checked_options(options: dict[str, Any], backend: str, steps: list[str] | None) -> dict[str, Any]:
    """Those of the scorer, after everything that can be told before a file is read."""
    from llrkit.recognize.recognizer_options import require_options

    for name, owner in _OF_BACKENDS.items():
        if was_given(name) and backend != owner:
            raise InputError(f"--{name.replace('_', '-')} is an option of {owner}, not of {backend}")
    require_second_list("adapt", options)
    if options["adapt"] is None and (was_given("adaptation") or options["adaptation_weight"] is not None):
        raise InputError("--adaptation and --adaptation-weight need --adapt")
    own = {name: options[name] for name in _OF_SCORERS}
    for name in ("speaker_dims", "channel_dims"):
        own[name] = _sizes_of(f"--{name.replace('_', '-')}", own[name])
    require_options(
        backend, steps, uncertainty=options["uncertainty"], adapted=options["adapt"] is not None,
        adaptation=options["adaptation"], weight=options["adaptation_weight"], **own,
    )  # fmt: skip
    return own


def _sizes_of(option: str, text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(f"{option} {text}: expected whole numbers with commas, for example 60,20")
    return [] if parts == ["0"] and option == "--channel-dims" else [int(part) for part in parts]


def _refuse_sizes(options: dict[str, Any]) -> None:
    for name in ("gaussians", "factors"):
        if options[name] is not None:
            raise InputError(f"--{name} is for training from speech; the input holds embeddings")


def _refuse_idle(options: dict[str, Any], backend: str) -> None:
    """What says nothing where only a back-end is trained."""
    if options["no_stages"]:
        raise InputError("--no-stages is for training a background model; here only the back-end is trained")
    if was_given("iterations") and backend in _WITHOUT_EM:
        raise InputError(f"--iterations is for EM, which {backend} does not use")


def _open_domain(
    options: dict[str, Any], base: Recognizer | None, front_end: Any
) -> tuple[SpeechInput, Any, Any]:
    """The speech of ``--adapt``, of which nobody needs to know who speaks; no frames are loaded yet."""
    from llrkit.recognize.overlap_checks import check_splits

    inputs = SpeechInput.of(options)
    of_audio = inputs.of_audio if options["speech"] is None else ()
    if base is not None:  # --from names the recognizer, not a file of embeddings
        inputs = replace(inputs, source=None)
        front_end = front_end or (None if base.extractor is None else base.extractor.front_end)
    inputs = replace(inputs.of_another("adapt", options), of_audio=of_audio)
    given, used = inputs.open(
        options["adapt"], front_end,
        lambda given, _: check_splits(given, options["adapt_where"], "adapted", "--adapt-where"),
    )  # fmt: skip
    return inputs, given, used


def _base_recognizer(source: str | None) -> Recognizer | None:
    """The recognizer whose extractor is used, if ``--from`` names one."""
    from llrkit.io.binary.numpy_files import read_arrays
    from llrkit.recognize.recognizer import SCHEMA, Recognizer

    if source is None or not Path(source).is_file() or Path(source).suffix.lower() != ".npz":
        return None
    if str(read_arrays(Path(source)).get("schema", "")) != SCHEMA:
        return None
    base = Recognizer.load(source)
    if base.extractor is None or base.extractor.model is None:
        raise InputError(f"{source}: this recognizer makes no embeddings, so nothing can be taken from it")
    return base


def _stages(options: dict[str, Any], base: Recognizer | None) -> Stages | None:
    from llrkit.recognize.training_stages import Stages

    if base is not None:
        return Stages(Path(f"{options['source']}.stages"))
    return None if options["no_stages"] else Stages(Path(f"{options['output']}.stages"))


def _training_speech(
    options: dict[str, Any], base: Recognizer | None, watch: Watch, stages: Stages | None,
    check: Check,
) -> tuple[Any, Any]:  # fmt: skip
    from llrkit.recognize.frames.front_end import FrontEnd
    from llrkit.recognize.training_stages import IVECTORS

    speech = options["speech"]
    inputs = SpeechInput.of(options)
    if base is None:
        if speech is None:
            raise InputError("give a list of speech or a file of embeddings, or a recognizer with --from")
        how = FrontEnd(
            sample_rate=options["rate"], channel=options["channel"], normalize=options["normalize"],
            seconds=options["seconds"],
        )  # fmt: skip
        return inputs.read(speech, how, watch, stages, check)
    for name in ("gaussians", "factors", "rate", "normalize"):
        if was_given(name):
            raise InputError(
                f"--{name} is set by {options['source']}: with --from only the back-end is trained"
            )
    assert base.extractor is not None
    if speech is not None:
        how_then = trained_front_end(base, options["seconds"], options["channel"])
        return replace(inputs, source=None).read(speech, how_then, watch, None, check)
    assert stages is not None
    file = stages.folder / IVECTORS
    if not file.is_file():
        raise InputError(
            f"{options['source']}: its training i-vectors are not in {file}; give the list of the training"
        )
    # options of audio can only be about the speech of the new domain, if there is any
    of_audio = () if options["adapt"] is not None else inputs.of_audio
    own = replace(inputs, source=None, of_audio=of_audio)
    given, _ = own.read(str(file), None, watch, None, check)
    return given, base.extractor.front_end


def _numbers(backend: str, given: Any, known: int | None, trained: Recognizer) -> dict[str, Any]:
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
