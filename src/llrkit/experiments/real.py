"""The comparison of calibrations on real embeddings and on real scores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from llrkit import speech
from llrkit.base.arguments import Array
from llrkit.base.process import tracked
from llrkit.base.text import Json, as_list, as_object
from llrkit.core.groups import natural_order
from llrkit.core.summaries import Moments
from llrkit.errors import InputError, SeparationError
from llrkit.experiments import lists
from llrkit.experiments.lists import ListTable
from llrkit.fits.best import cross_calibrate
from llrkit.fits.gaussian import shape_statistics
from llrkit.metrics.costs import cllr
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.trials import Trials
from llrkit.verbs.evaluate import Evaluation

SHAPE = ("skewness_target", "skewness_nontarget", "kurtosis_target", "kurtosis_nontarget", "sd_ratio")


@dataclass(frozen=True)
class RealResult:
    """The table of an experiment on real data, and what has to be known to read it."""

    table: ListTable
    shapes: tuple[Mapping[str, float], ...]
    """For each list: skewness and excess kurtosis of both classes, spread of non-targets over targets."""
    about: Mapping[str, Json]
    seconds: float
    closer: Mapping[str, Evaluation]
    """One of the lists: raw scores, and both calibrations."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Conditions that could not be used, with the reason."""
    regularized: tuple[str, ...] = ()
    """Lists whose training trials do not overlap: logistic regression was regularized there."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain = self.table.to_dict()
        rows = zip(map(as_object, as_list(plain["lists"])), self.shapes, strict=True)
        return {
            **plain,
            "lists": [{**row, **numbers} for row, numbers in rows],
            "paper": dict(lists.PAPER),
            "seconds": self.seconds,
            "trials": self.table.trials,
            **self.about,
            "skipped": dict(self.skipped),
            "regularized": list(self.regularized),
        }


def shape_of(source: ScoreSource) -> dict[str, float]:
    """How far scores are from two Gaussians of equal variance.

    Examples
    --------
    >>> import llrkit as lk
    >>> measures = shape_of(lk.Scores([0.0, 2.0], [-2.0, 2.0]))
    >>> measures["sd_ratio"], measures["skewness_target"]
    (2.0, 0.0)
    """
    measures = shape_statistics(source.reduce(Moments.of))
    return {name: measures[name] for name in SHAPE}


SPLITS = ("train", "dev", "eval")
SHRINKAGE = 1e-3
ITERATIONS = 10


def run_real_embeddings(embeddings: speech.Embeddings, *, scorer: str = "plda") -> RealResult:
    """Train a recognizer on the background, calibrate on 'dev', evaluate on 'eval', for all durations.

    Enrollment is from side A, tests are from side B; non-targets have the gender of the model. Rows whose
    column ``suspect_label`` is true are left out.

    Parameters
    ----------
    embeddings
        With speakers and the columns ``split`` ('train', 'dev', 'eval'), ``duration``, ``side`` ('A', 'B')
        and ``gender``; the background may have a column ``corpus``, each of which is centered by itself.
    scorer
        'plda' (trained by EM), 'plda-moments' or 'cosine'.
    """
    began = time.perf_counter()
    splits = prepared_splits(embeddings)
    backend = speech.Backend(speech.Chain())  # scores by the cosine
    if scorer != "cosine":
        chain = speech.Chain((speech.train_wccn(splits["train"], shrinkage=SHRINKAGE), speech.LengthNorm()))
        iterations = 0 if scorer == "plda-moments" else ITERATIONS
        trained = speech.train_plda(chain(splits["train"]), iterations=iterations, shrinkage=SHRINKAGE)
        backend = speech.Backend(chain, trained.model)
    ready = {split: backend.prepare(splits[split]) for split in ("dev", "eval")}
    # Durations are names such as 5, 20 and full; by the alphabet 20 would come before 5.
    durations = sorted(np.unique(ready["eval"].column("duration")).tolist(), key=natural_order)
    pairs = [(enroll, test) for enroll in durations for test in durations]
    train = {pair: _scored_list(backend, ready["dev"], *pair) for pair in pairs}
    pooled = lists.fit_both(lists.pool_lists(list(train.values())))
    results, shapes, regularized = [], [], []
    for enroll, test in tracked(pairs, "evaluating", len(pairs), "lists"):
        maps = lists.fit_both(train[enroll, test])
        if lists.is_regularized(maps):
            regularized.append(f"{enroll}/{test}")
        scores = _scored_list(backend, ready["eval"], enroll, test)
        every = maps | {f"pooled_{name}": fitted for name, fitted in pooled.items()}
        results.append(lists.measure_list(scores, every, enroll=enroll, test=test))
        shapes.append(shape_of(scores))
    speakers = {split: len(np.unique(splits[split].known_speakers)) for split in SPLITS}
    about: dict[str, Json] = {"scorer": scorer, "speakers": speakers}
    # After the loop: the list of the longest durations on both sides.
    closer = lists.closer_look(scores, lists.calibrated(scores, maps))
    table, seconds = ListTable(tuple(results)), time.perf_counter() - began
    return RealResult(table, tuple(shapes), about, seconds, closer, regularized=tuple(regularized))


def prepared_splits(embeddings: speech.Embeddings) -> Mapping[str, speech.Embeddings]:
    """The three splits, made comparable: unit length, centered, unit length again.

    Each background corpus is centered by its own mean, the others by the mean of 'dev': nothing of 'eval' is
    used.
    """
    for name in ("split", "duration", "side", "gender"):
        # Called for its error, before anything is computed.
        embeddings.column(name)
    if "suspect_label" in embeddings.columns:
        embeddings = embeddings.select(~embeddings.column("suspect_label").astype(bool))
    unit = speech.LengthNorm()
    splits = {split: unit(embeddings.where(split=split)) for split in SPLITS}
    seen: dict[str, str] = {}
    for split, rows in splits.items():
        for speaker in np.unique(rows.known_speakers).tolist():
            # A speaker in two splits would make the calibration, or the evaluation, too good.
            if seen.setdefault(speaker, split) != split:
                raise InputError(f"speaker {speaker!r} is in the splits {seen[speaker]!r} and {split!r}")
    background = splits["train"]
    vectors = background.vectors.astype(np.float64)
    # Without a column of corpora the background is one corpus.
    corpora: Array = background.columns.get("corpus", np.zeros(len(background)))
    for corpus in np.unique(corpora):
        # Each corpus has a mean of its own, which PLDA would take for differences between speakers.
        vectors[corpora == corpus] -= vectors[corpora == corpus].mean(axis=0)
    # By the mean of dev alone: eval is not to be used for anything.
    center = speech.train_centering(splits["dev"])
    centered = {split: unit(center(splits[split])) for split in ("dev", "eval")}
    return {"train": unit(background.replace(vectors=vectors)), **centered}


def _scored_list(backend: speech.Backend, embeddings: speech.Embeddings, enroll: str, test: str) -> Scores:
    """Trials of one combination of durations."""
    left, right = embeddings.where(side="A", duration=enroll), embeddings.where(side="B", duration=test)
    return speech.matrix_scores(backend.scores(left, right), left, right, same=["gender"])


def run_real_scores(
    trials: Trials,
    by: Sequence[str],
    *,
    training: str = "folds",
    groups: Sequence[str] | None = None,
    folds: int = 5,
) -> RealResult:
    """Run the experiment on every combination of conditions of a table of scored trials.

    Parameters
    ----------
    by
        The columns whose values are the conditions; the first one names the rows of the heat map, the
        others its columns.
    training
        'folds': every trial is calibrated by trials of its condition that share no group with it.
        'same': calibration is trained on the trials that are evaluated, which is too good.
    groups, folds
        As in :func:`~llrkit.fits.best.cross_calibrate`.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.1)
    >>> trials = lk.simulate.simulate_trials(pair, n_target=400, n_nontarget=3000).trials()
    >>> result = run_real_scores(trials, ["gender"], training="same")
    >>> [(row.enroll, round(row.cmlg - row.logistic, 2)) for row in result.table.lists]
    [('f', 0.0), ('m', 0.0)]
    """
    began = time.perf_counter()
    results, shapes, regularized, skipped = [], [], [], {}
    largest: tuple[Trials, dict[str, ScoreSource]] | None = None
    for values, cell in tracked(_cells_of_conditions(trials, list(by)), "calibrating", unit="conditions"):
        name = "/".join(values)
        try:
            if training == "same":
                maps = lists.fit_both(cell)
                llrs, rescued = lists.calibrated(cell, maps), lists.is_regularized(maps)
            else:
                # LLRs by maps that saw neither the trial nor its groups; without overlap, regularized ones.
                llrs, rescued = {}, False
                for method in lists.METHODS:
                    cross = partial(cross_calibrate, cell, method=method, groups=groups, folds=folds)
                    try:
                        llrs[method] = cross().source
                    except SeparationError:
                        rescued = True
                        llrs[method] = cross(regularization=lists.REGULARIZATION).source
        except InputError as error:
            skipped[name] = str(error)
            continue
        # Without maps: the LLRs are cross-validated, so no single map made them.
        measured = lists.measure_list(cell, {}, enroll=values[0], test="/".join(values[1:]))
        results.append(replace(measured, cmlg=cllr(llrs["cmlg"]), logistic=cllr(llrs["logistic"])))
        shapes.append(shape_of(cell))
        if rescued:
            regularized.append(name)
        # The condition with most trials is shown in full.
        if largest is None or len(cell) > len(largest[0]):
            largest = cell, llrs
    if largest is None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(skipped.items())[:3])
        raise InputError(f"no condition of {', '.join(by)} can be used: {reasons}")
    used = folds if training == "folds" else 0
    about: dict[str, Json] = {"by": list(by), "training": training, "folds": used}
    closer = lists.closer_look(*largest)
    table, seconds = ListTable(tuple(results)), time.perf_counter() - began
    return RealResult(table, tuple(shapes), about, seconds, closer, skipped, tuple(regularized))


def _cells_of_conditions(trials: Trials, by: list[str]) -> Iterator[tuple[list[str], Trials]]:
    for value, cell in trials.by(by[0]).items():
        if len(by) == 1:
            yield [str(value)], cell
        else:
            yield from (([str(value), *rest], inner) for rest, inner in _cells_of_conditions(cell, by[1:]))
