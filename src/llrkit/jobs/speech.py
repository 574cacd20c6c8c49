"""speech: a speaker recognizer is trained, enrolls and scores; embeddings, cohorts, models of Kaldi."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from llrkit.base.files import existing_file
from llrkit.base.options import declared
from llrkit.base.process import stage
from llrkit.base.text import Json, counted
from llrkit.errors import EmptyClassError, InputError
from llrkit.io.array_files import read_arrays
from llrkit.io.selection import find_listed, read_trial_list, select_trials, split_conditions
from llrkit.io.table_columns import TrialTable
from llrkit.io.trial_checks import as_trials_checked
from llrkit.io.write import write_table, written_as
from llrkit.jobs import options as of
from llrkit.jobs.job import Run, named_file
from llrkit.speech import options as asks
from llrkit.speech.backends import kaldi_backend
from llrkit.speech.embeddings import Embeddings, write_embeddings
from llrkit.speech.frames import IVECTORS, Frames, FrontEnd, Stages, Watch, load_all
from llrkit.speech.lists import holds_arrays, read_speech
from llrkit.speech.recognizer import Recognizer, require_feasible, train_recognizer, training_sizes
from llrkit.speech.scoring import require_top, row_columns, scored_pairs
from llrkit.speech.sides import COHORT_SCHEMA, Side, Sources, check_repeats, check_splits
from llrkit.verbs.evaluate import evaluate

Speech = Frames | Embeddings


def train(run: Run) -> None:
    """A recognizer, from speech, embeddings, or what another recognizer makes of speech."""
    asked, inputs, to = run.job[asks.TrainOptions], run.job[asks.SpeechInput], run.job[of.RecognizerOutput]
    speech, source = run.job[of.TrainingFile].speech, inputs.source
    domain = _second_list(run, asks.AdaptInput, "adapt", asked.adapt)
    _require_folder(to.output)
    base = _base_recognizer(source)
    extractor = None if base is None else base.extractor
    if base is not None:  # --from names the recognizer, not a file of embeddings
        inputs = replace(inputs, source=None)
        why = f"is set by {source}: with --from only the back-end is trained"
        run.job.refuse(why, asks.FrontEndOptions, only=("sample_rate", "normalize"))
    kept = Stages(Path(f"{to.output if base is None else source}.stages"))
    stages = kept if to.stages and base is None else None
    file = speech or str(kept.folder / IVECTORS)
    if speech is None and base is None:
        raise InputError("give a list of speech or a file of embeddings, or a recognizer with --from")
    if speech is None and not Path(file).is_file():
        raise InputError(f"{source}: its training i-vectors are not in {file}; give the list of the training")
    # without a list, options of audio can only be about the speech of the new domain
    about_domain = speech is None and domain is not None
    with _watching() as watch:
        training = _open(run, file, inputs, _front_end(run, base), audio=not about_domain)
        with training.named():
            check_repeats(Sources.of(training.given))
            check_splits(training.given, inputs.where, "trained")
            if not to.stages and (base is not None or isinstance(training.given, Embeddings)):
                why = "{} is for training a background model; here only the back-end is trained"
                raise to.error(why, "stages")
            require_feasible(training.given, asked, extractor)
        new = None
        if domain is not None:
            how = training.front_end or _front_end(run, base)
            new = _open_second(run, asked.adapt, inputs, domain, how, audio=about_domain)
            check_splits(new.given, domain.where, "adapted", "--adapt-where")
        given = training.load(watch, stages)
        asked = replace(asked, adapt=None if new is None else new.load(watch))
        with training.named():
            if base is None and isinstance(given, Frames):
                sizes = training_sizes(given, asked, watch)
                run.say(*([f"Sizes chosen from the amount of data: {sizes.why}."] if sizes.why else []))
            trained = train_recognizer(
                given, options=asked, front_end=training.front_end, watch=watch, stages=stages,
                extractor=extractor,
            )  # fmt: skip
    trained.save(to.output)
    known = None if given.speakers is None else len(set(given.speakers))
    who = "" if known is None else f" of {counted(known, 'speaker')}"
    run.say(f"{trained!r} trained on {counted(len(given), 'utterance')}{who}. Saved in {to.output}")
    run.content = {"backend": asked.backend, "n_utterances": len(given), "n_speakers": known}
    history: dict[str, Json] = {}
    if (made := trained.extractor) is not None:
        history["background_model"] = made.ubm.log_likelihoods.tolist()
        run.content["n_gaussians"] = made.ubm.n_gaussians
        if made.model is not None:
            history["factors"] = made.model.log_likelihoods.tolist()
            run.content["n_factors"] = made.model.n_factors
    run.content |= {"log_likelihoods": history, **_seconds_of_speech(given)}


def enroll(run: Run) -> None:
    """A model of each speaker, or of each utterance."""
    to = run.job[of.EnrolledOutput]
    with _opened_for_model(run, to.output) as (recognizer, opened, watch):
        if opened.given.speakers is None and not to.each:
            raise InputError("to enroll one model per speaker the speakers must be known, or give --each")
        given = opened.load(watch)
        enrolled = recognizer.enroll(given, each=to.each, watch=watch)
    enrolled.save(to.output)
    n_models, n = counted(len(enrolled), "model"), counted(len(given), "utterance")
    run.say(f"{n_models} from {n}. Saved in {to.output}")
    run.content = {"n_models": len(enrolled), "n_utterances": len(given), **_seconds_of_speech(given)}


def cohort(run: Run) -> None:
    """Impostors, made once for the normalization of many scores."""
    output = run.job[of.ModelOutput].output
    with _opened_for_model(run, output) as (recognizer, opened, watch):
        given = opened.load(watch)
        check_splits(given, opened.inputs.where, "a cohort")
        impostors = recognizer.cohort(given, watch=watch)
        impostors.save(output, cohort=True)
    run.say(f"A cohort of {counted(len(impostors), 'utterance')}. Saved in {output}")
    run.content = {"n_utterances": len(given), **_seconds_of_speech(given)}


def extract(run: Run) -> None:
    """Embeddings of recordings, before any step of the back-end."""
    output = run.job[of.ArrayOutput].output
    with _opened_for_model(run, output) as (recognizer, opened, watch):
        if recognizer.extractor is not None and recognizer.extractor.model is None:
            raise InputError("a ubm-gmm recognizer scores frames and makes no embeddings")
        given = opened.load(watch)
        embeddings = recognizer.embed(given, watch=watch)
        write_embeddings(embeddings.replace(columns=row_columns(embeddings)), output)
    n = counted(len(embeddings), "embedding")
    run.say(f"{n} of {embeddings.dim} dimensions. Saved in {output}")
    run.content = {"n_utterances": len(given), "dim": embeddings.dim, **_seconds_of_speech(given)}


def score(run: Run) -> None:
    """Scores of test utterances against enrolled models."""
    files, asked, to = run.job[of.EnrolledFile], run.job[asks.ScoreOptions], run.job[of.ScoreOutput]
    others = _second_list(run, asks.CohortInput, "cohort", asked.cohort)
    written_as(Path(to.output), to.to)
    for path in (to.output, to.key_output):
        _require_folder(path or to.output)
    recognizer, models = Recognizer.load(files.model), Side.load(files.enrolled)
    impostors = None if others is None else _saved_cohort(run, str(asked.cohort))
    with named_file(files.enrolled):
        recognizer.require_own_sides(models)
    with named_file(str(asked.cohort)):
        recognizer.require_own_sides(models, impostors)
    listed = run.job[of.TrialChoice].trials
    trial_list = None if listed is None else read_trial_list(listed)
    on_segments, on_trials = split_conditions(run.job[asks.SpeechInput].where)
    inputs = replace(run.job[asks.SpeechInput], where=tuple(on_segments))
    how = _front_end(run, recognizer)
    with _watching() as watch:
        # options of audio may be about the cohort
        audio = others is None or holds_arrays(str(asked.cohort))
        tested = _open(run, run.job[of.SpeechFile].speech, inputs, how, audio=audio)
        new = None
        if others is not None and impostors is None:
            new = _open_second(run, asked.cohort, inputs, others, how, audio=False)
            with new.named():
                check_splits(new.given, others.where, "a cohort", "--cohort-where")
        of_cohort = impostors if new is None else new.given
        if asked.top is not None and of_cohort is not None:
            require_top(asked.top, len(of_cohort))
        given = tested.load(watch)
        if trial_list is not None:  # an unknown id is told before anything is computed
            find_listed(trial_list, models.ids.tolist(), list(given.ids))
        with tested.named():
            segments = recognizer.prepare(given, watch=watch)
        if new is not None:
            with new.named():
                impostors = recognizer.cohort(new.load(watch), watch=watch)
        scores = recognizer.scores(
            models, segments, normalize=asked.normalize, cohort=impostors, top=asked.top, watch=watch
        )
    scored = scored_pairs(scores, models, segments, trial_list)
    if on_trials:
        scored = select_trials(scored, on_trials)
    write_table(scored, to.output, format=to.to, key=to.key_output)
    measured = _measured_by_labels(scored)
    eer = f", EER {100 * measured['eer']:.2f} %" if "eer" in measured else ""
    n_trials = scored.table.height
    run.say(f"{counted(n_trials, 'score')} written to {to.output}{eer}")
    counts = {"n_models": len(models), "n_utterances": len(segments), "n_trials": n_trials}
    run.content = {**counts, **measured, **_seconds_of_speech(given)}


def import_kaldi(run: Run) -> None:
    """A recognizer of embeddings from the PLDA of a Kaldi recipe."""
    given, output = run.job[of.KaldiModel], run.job[of.ModelOutput].output
    backend = kaldi_backend(
        given.plda, mean=given.mean, transform=given.transform, normalize_length=given.normalize_length
    )
    Recognizer(asks.RecognizerOptions(backend="plda"), backend=backend).save(output)
    run.say(f"{backend.plda!r} of Kaldi. Saved in {output}")


# what is read


@dataclass(frozen=True)
class _Opened:
    """Speech of which lists and headers were read; no frames are loaded yet."""

    given: Speech
    front_end: FrontEnd | None
    """Where frames are made from audio."""
    inputs: asks.SpeechInput
    file: str

    def named(self) -> AbstractContextManager[None]:
        """Errors name the file that holds the speech."""
        return named_file(str(self.inputs.source or self.file))

    def load(self, watch: Watch, stages: Stages | None = None) -> Speech:
        """The same with its frames."""
        if not isinstance(self.given, Frames):
            return self.given
        return load_all(self.given, self.front_end, self.inputs.bad_files, stages, watch)


def _open(run: Run, file: str, inputs: asks.SpeechInput, how: FrontEnd, *, audio: bool = True) -> _Opened:
    """Read lists and headers; ``audio`` says that options of audio are about this list, which has some."""
    given, used = read_speech(file, front_end=how, options=inputs)
    if audio and used is None:
        why = "is for audio files; the input holds none"
        run.job.refuse(why, asks.FrontEndOptions)
        run.job.refuse(why, asks.SpeechInput, only=("folder", "bad_files"))
    return _Opened(given, used, inputs, file)


def _front_end(run: Run, trained: Recognizer | None) -> FrontEnd:
    """That of the training, or the usual one, but for what was asked."""
    extractor = None if trained is None else trained.extractor
    how = FrontEnd() if extractor is None or extractor.front_end is None else extractor.front_end
    # a recognizer that was trained without resampling may still be given files of another rate
    return replace(how, **{"resample": True, **run.job[asks.FrontEndOptions].given()})


@contextmanager
def _opened_for_model(run: Run, output: str) -> Iterator[tuple[Recognizer, _Opened, Watch]]:
    """A recognizer and the speech it is given, which errors in this block name."""
    _require_folder(output)
    recognizer = Recognizer.load(run.job[of.RecognizerFile].model)
    how = _front_end(run, recognizer)
    opened = _open(run, run.job[of.SpeechFile].speech, run.job[asks.SpeechInput], how)
    with _watching() as watch, opened.named():
        yield recognizer, opened, watch


def _second_list(run: Run, kind: type[asks.ListInput], name: str, path: object) -> asks.ListInput | None:
    """What is told of a second list; options of one that is not given are refused, before any work."""
    if path is None:
        run.job.refuse(f"needs --{name}", kind)
        return None
    existing_file(str(path))
    return run.job[kind]


def _open_second(
    run: Run, path: object, first: asks.SpeechInput, second: asks.ListInput, how: FrontEnd, *, audio: bool
) -> _Opened:
    """A second list: what is told of the first alone does not hold."""
    own = {name: getattr(second, name) for name in declared(asks.ListInput)}
    if second.source is None and not holds_arrays(str(path)):
        own["source"] = first.source
    return _open(run, str(path), replace(first, **own), how, audio=audio)


def _base_recognizer(source: object) -> Recognizer | None:
    """The recognizer whose extractor is used, if ``--from`` names one."""
    if source is None or _schema_of(str(source)) != Recognizer.schema:
        return None
    base = Recognizer.load(str(source))
    if base.extractor is None or base.extractor.model is None:
        raise InputError(f"{source}: this recognizer makes no embeddings, so nothing can be taken from it")
    return base


def _saved_cohort(run: Run, file: str) -> Side | None:
    """The impostors, if they were saved before."""
    if _schema_of(file) != COHORT_SCHEMA:
        return None
    run.job.refuse(f"is for a list; {file} is a saved cohort", asks.CohortInput)
    return Side.load(file, cohort=True)


def _schema_of(file: str) -> str:
    """What a file of arrays says that it is; nothing of other files."""
    if Path(file).suffix.lower() != ".npz" or not Path(file).is_file():
        return ""
    return str(read_arrays(Path(file)).get("schema", ""))


def _require_folder(output: str) -> None:
    """Refuse what could not be written at the end, before any work."""
    if not Path(output).absolute().parent.is_dir():
        raise InputError(f"{output}: the folder {Path(output).parent} does not exist")


@contextmanager
def _watching() -> Iterator[Watch]:
    """One stage after the other, of what is told as (what is done, how much of it, of how much)."""
    with ExitStack() as stack:
        now, before = "", 0
        advance: Callable[[float], None] | None = None

        def watch(what: str, done: int, total: int) -> None:
            nonlocal now, before, advance
            if advance is None or now != what:
                stack.close()
                now, before, advance = what, 0, stack.enter_context(stage(what, total, "steps"))
            advance(done - before)
            before = done

        yield watch


# what is made of it


def _measured_by_labels(scored: TrialTable) -> dict[str, float]:
    """The numbers that need labels; empty without them."""
    if scored.label is None:
        return {}
    try:
        result = evaluate(as_trials_checked(scored))
    except EmptyClassError:
        return {}
    names = ("n_target", "n_nontarget", "eer", "min_cllr")
    return {name: getattr(result, name) for name in names}


def _seconds_of_speech(given: Speech) -> dict[str, Json]:
    """For JSON: the seconds of speech of each file, if they are known."""
    spoken = given.columns.get("speech_seconds")
    if spoken is None:
        return {}
    seconds = np.asarray(spoken, dtype=float).tolist()
    return {"speech_seconds": dict(zip(map(str, given.ids), seconds, strict=True))}
