"""Each decision is made once: Python, jobs (which commands run) and the app decide alike."""

import inspect
import json
import shutil
import warnings
from contextlib import chdir
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose
from shared_speakers import sample

import llrkit as lk
from llrkit.app.project import Project, ScoreFile, Settings
from llrkit.app.steps import do, task_of
from llrkit.base.options import declared, defaults
from llrkit.io.formats import sha256_of
from llrkit.io.read_options import Reading
from llrkit.jobs.job import Job, run_job
from llrkit.jobs.options import ForensicWords, SayOptions
from llrkit.jobs.table import VERBS
from llrkit.report.layouts import case_document, validation_document
from llrkit.verbs.case import CaseReport
from llrkit.verbs.options import CompareOptions, TrialIntervalOptions
from llrkit.verbs.validate import Validation

ACCURACY = "[[criterion]]\ncharacteristic = 'accuracy'\n"
PROPOSITIONS = {"h1": "he spoke", "h2": "another man spoke"}


class Python:
    """The verbs, called with what was read."""

    @staticmethod
    def evaluate(file, **options):
        return lk.evaluate(lk.read_trials(file), **options)

    @staticmethod
    def threshold(file, **options):
        return lk.threshold_for(lk.read_trials(file), **options)

    @staticmethod
    def compare(first, second, **options):
        both = pl.read_csv(first).with_columns(second=pl.read_csv(second)["score"])
        return lk.trust.compare_many_systems(lk.Trials(both, score=["score", "second"]), **options)

    @staticmethod
    def validate(file, criteria, calibration=None, **reading):
        trials, how = lk.read_trials(file, **reading), Reading.of(None, reading)
        fitted = None if calibration is None else lk.load_map(calibration)
        return lk.validate(trials, criteria=criteria, calibration=fitted, reading=how)

    @staticmethod
    def case(calibration, validation=None, **texts):
        known = None if validation is None else lk.read_trials(validation)
        return lk.case_report(lk.load_map(calibration), 0.5, validation=known, **texts)


class Jobs:
    """The jobs, with what a command line or a form says."""

    @staticmethod
    def _result(verb, **typed):
        given = {name: str(value) if hasattr(value, "parts") else value for name, value in typed.items()}
        return run_job(
            Job.of(verb, {name: value for name, value in given.items() if value is not None})
        ).result

    def evaluate(self, file, **options):
        return self._result("evaluate", scores=file, **options)

    def threshold(self, file, **options):
        return self._result("threshold", scores=file, eer=True, **options)[0]

    def compare(self, first, second, **options):
        return self._result("compare", scores=(str(first), str(second)), ids="enroll,test", **options)

    def validate(self, file, criteria, calibration=None, **reading):
        return self._result("validate", scores=file, criteria=criteria, map=calibration, **reading)

    def case(self, calibration, validation=None, **texts):
        return self._result("case", map=calibration, score=("0.5",), validation=validation, **texts)


@pytest.fixture(params=[Python(), Jobs()], ids=["Python", "job"])
def surface(request):
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training trials and others with their speakers, two calibrations, and the LLRs of the first."""
    folder = tmp_path_factory.mktemp("decisions")
    for seed, name in ((1, "dev"), (2, "eval"), (3, "other")):
        trials = sample(20, 1500, seed=seed, names=True)
        ids = [f"{name}{i}" for i in range(len(trials.table))]
        table = trials.table.with_columns(enroll=pl.Series(ids), test=pl.Series(ids))
        table.write_csv(folder / f"{name}.csv")
    table = pl.read_csv(folder / "eval.csv")
    noise = pl.Series(np.random.default_rng(4).normal(size=len(table)))
    table.with_columns(pl.col("score") + noise).write_csv(folder / "second.csv")
    for name, method in (("first", "logistic"), ("another", "cmlg")):
        fitted = lk.calibrate(lk.read_trials(folder / "dev.csv"), method=method, bound="none").map
        fitted.save(folder / f"{name}.json")
    code, _, err = run("apply", folder / "first.json", folder / "eval.csv", "-o", folder / "llrs.csv")
    assert code == 0, err
    return folder


def criteria_file(folder, text):
    (folder / "criteria.toml").write_text(text)
    return folder / "criteria.toml"


# LLRs that another calibration made


def test_llrs_of_another_calibration_are_refused(surface, folder, tmp_path):
    criteria = criteria_file(tmp_path, ACCURACY + "at_most = 0.9\n")
    wanted = lk.cllr(lk.load_map(folder / "first.json").on(lk.read_trials(folder / "eval.csv")))
    renamed = shutil.copy(folder / "first.json", tmp_path / "renamed.json")
    for name in (folder / "first.json", renamed):
        found = surface.validate(folder / "llrs.csv", criteria, name)
        assert not found.applied
        assert_allclose(found.evaluation.cllr, wanted, rtol=1e-12)
    with pytest.raises(
        lk.InputError, match=r"llrs\.csv: these LLRs were made by first\.json \(.*not by another"
    ):
        surface.validate(folder / "llrs.csv", criteria, folder / "another.json")
    with pytest.raises(lk.InputError, match="these LLRs were made by first"):
        surface.case(folder / "another.json", folder / "llrs.csv", **PROPOSITIONS)


# the file that a change is counted from


def test_a_change_is_counted_from_a_file_that_is_read_as_the_scores_are(surface, folder, tmp_path):
    for name in ("eval", "other"):
        table = pl.read_csv(folder / f"{name}.csv").with_columns(pl.col("score") / np.log(10.0))
        table.write_csv(tmp_path / f"{name}.csv")
    table = pl.read_csv(tmp_path / "eval.csv")
    table.select("enroll", "test", "label").write_csv(tmp_path / "key.csv")
    table.drop("label").write_csv(tmp_path / "unlabeled.csv")
    criteria = criteria_file(tmp_path, ACCURACY + "at_most = 0.0\nchange_from = 'other.csv'\n")
    where = ("score > -2",)
    found = surface.validate(
        tmp_path / "unlabeled.csv", criteria, key=str(tmp_path / "key.csv"), log10=True, where=where
    )
    scores = lk.read_trials(tmp_path / "eval.csv", log10=True, where=where)
    wanted = lk.cllr(scores) - lk.cllr(lk.read_trials(tmp_path / "other.csv", log10=True))
    assert_allclose(found.rows[0].result, wanted, rtol=1e-12)
    assert found.cautions == (
        "other.csv, from which a change is counted: read without the key and the conditions, which are for "
        "the scores that are validated.",
    )


# intervals decide


WITH_INTERVALS = "[options]\nspeakers = ['left', 'right']\n"


def test_the_interval_of_a_criterion_decides_where_it_has_one(surface, folder, tmp_path):
    result = lk.evaluate(lk.read_trials(folder / "eval.csv"), speakers=("left", "right"))
    inside = f"at_most = {(result.cllr + result.intervals['cllr'][1]) / 2}\n"
    loss = ACCURACY + "metric = 'cllr_cal'\nat_most = 9.0\n"
    rows = ACCURACY + inside + ACCURACY + inside + "use = 'estimate'\n" + loss
    decided, alone, never = surface.validate(
        folder / "eval.csv", criteria_file(tmp_path, WITH_INTERVALS + rows)
    ).rows
    assert (decided.decision, alone.decision, never.decision) == ("not decided", "passed", "passed")
    assert decided.criterion.endswith("with its whole interval")
    assert not alone.criterion.endswith("with its whole interval")
    assert "judged by its estimate: it is compared with its null distribution" in never.note
    row = surface.validate(folder / "eval.csv", criteria_file(tmp_path, ACCURACY + inside)).rows[0]
    assert row.decision == "passed"
    assert row.note == "judged by its estimate: no intervals were asked for (ci in [options])"
    for text in (ACCURACY + inside, WITH_INTERVALS + loss):
        with pytest.raises(lk.InputError, match="has no interval for use"):
            surface.validate(folder / "eval.csv", criteria_file(tmp_path, text + "use = 'interval'\n"))


# default intervals


def test_intervals_are_of_speakers_where_these_are_named(surface, folder):
    file, speakers = folder / "eval.csv", {"speakers": ("left", "right")}
    assert surface.evaluate(file).uncertainty is None
    assert surface.evaluate(file, **speakers).uncertainty.kind == "speaker"
    assert surface.threshold(file).ci == "trial"
    assert surface.threshold(file, **speakers).ci == "speaker"
    assert surface.compare(file, folder / "second.csv").pairs[0].kind == "trial"
    assert surface.compare(file, folder / "second.csv", **speakers).pairs[0].kind == "speaker"


def test_the_options_of_compare_are_the_keywords_of_the_library():
    keywords = {
        name: parameter.default
        for function in (lk.compare_systems, lk.trust.compare_many_systems)
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("source", "labels", "options")
    }
    columns = dict.fromkeys(("speakers", "recordings"), ())  # none, as the command line says it
    assert dict(defaults(CompareOptions)) == {**keywords, **columns}
    assert declared(CompareOptions)["ci"].choices == ("trial", "speaker", "bootstrap")
    assert TrialIntervalOptions.otherwise == "trial"


# default words


@pytest.mark.parametrize("verb", ["validate", "case", "evaluate", "threshold", "report"])
def test_a_verb_has_the_words_of_its_field(verb):
    words = next(part for part in VERBS[verb].parts if issubclass(part, SayOptions))
    assert words().words == ("forensic" if verb in ("validate", "case") else "nist")


def test_documents_of_python_have_the_words_of_the_jobs():
    for function in (Validation.to_markdown, CaseReport.to_markdown, validation_document, case_document):
        assert inspect.signature(function).parameters["words"].default == ForensicWords().words
    assert inspect.signature(lk.write_report).parameters["words"].default == SayOptions().words


# propositions


@pytest.mark.parametrize("texts", [{}, {"h1": "he spoke"}, {"h1": "he spoke", "h2": " . "}])
def test_a_case_without_both_propositions_is_refused(surface, folder, texts):
    missing = "h2" if texts else "h1"
    with pytest.raises(lk.InputError, match=f"{missing} is missing: an LLR says nothing without") as refused:
        surface.case(folder / "first.json", **texts)
    assert refused.value.typed.startswith(f"--{missing} is missing")


def test_a_case_between_one_proposition_and_itself_is_refused(surface, folder):
    with pytest.raises(lk.InputError, match="h1 and h2 are the same proposition"):
        surface.case(folder / "first.json", h1="he spoke", h2="he  spoke.")


class App:
    """The steps of the app, with what a form says, in a project of its own."""

    def __init__(self, place):
        self.project = Project.new("a", place / "project")

    def _done(self, step, file, form, speakers=(), reading=None):
        name = Path(file).name
        shutil.copy(file, self.project.folder / "files" / name)
        facts = {"n_target": 1, "n_nontarget": 1, "columns": ["left", "right", "score"]}
        self.project.files[name] = ScoreFile(name, 1, "0", "train", dict(reading or {}), facts)
        self.project.settings = Settings(speakers=tuple(speakers))
        task, _ = task_of(step, {"scores": name, **form}, self.project, "out")
        (self.project.folder / "out").mkdir(exist_ok=True)
        with chdir("."):
            return do(task), self.project.folder / "out"

    def calibrate(self, file, method="logistic", bound=None, speakers=(), **reading):
        form = {"method": method, "bound": bound or "sources"}
        page, out = self._done("calibrate", file, form, speakers, reading)
        return lk.load_map(out / "calibration.json"), page["remarks"]

    def evaluate(self, file, speakers=()):
        _, out = self._done("evaluate", file, {}, speakers)
        return json.loads((out / "evaluation.json").read_text())


class PythonCalibrates:
    """The verb, called with what was read."""

    @staticmethod
    def calibrate(file, speakers=(), **asked):
        reading = {name: asked.pop(name) for name in ("missing_scores",) if name in asked}
        made = lk.calibrate(lk.read_trials(file, **reading), speakers=speakers or None, **asked)
        return made.map, [*made.remarks, *made.cautions]


class JobCalibrates:
    """The job, with what a command line says."""

    def __init__(self, place):
        self.output = str(place / "map.json")

    def calibrate(self, file, speakers=(), **asked):
        typed = {"scores": str(file), "output": self.output, "speakers": ",".join(speakers) or None, **asked}
        made = run_job(Job.of("calibrate", {k: v for k, v in typed.items() if v is not None})).result
        return lk.load_map(self.output), [*made.remarks, *made.cautions]


@pytest.fixture(params=["Python", "job", "app"])
def calibrates(request, tmp_path):
    """Each surface that calibrates."""
    made = {"Python": lambda _: PythonCalibrates(), "job": JobCalibrates, "app": App}
    return made[request.param](tmp_path)


# bounds, folds and remarks of a calibration


def test_a_calibration_is_bounded_by_its_sources_unless_told_otherwise(calibrates, folder):
    bounded, _ = calibrates.calibrate(folder / "dev.csv")
    dev = lk.read_trials(folder / "dev.csv")
    wanted = lk.maps.bound_sources(lk.fit_logistic(dev), dev)
    assert (bounded.low, bounded.high) == (wanted.low, wanted.high)
    free, _ = calibrates.calibrate(folder / "dev.csv", bound="none")
    assert free.kind == lk.fit_logistic(dev).kind
    of_speakers, _ = calibrates.calibrate(folder / "dev.csv", speakers=("left", "right"))
    assert of_speakers.high < bounded.high


def test_the_folds_of_a_choice_keep_speakers_together(calibrates, folder):
    chosen, _ = calibrates.calibrate(folder / "dev.csv", method="best", speakers=("left", "right"))
    by_speaker = lk.fit_best(lk.read_trials(folder / "dev.csv"), groups=("left", "right"))
    alone = lk.fit_best(lk.read_trials(folder / "dev.csv"))
    details = chosen.map.details if "cross_validation" not in chosen.details else chosen.details
    assert details["expected_cllr"] == by_speaker.details["expected_cllr"] != alone.details["expected_cllr"]


def test_what_is_said_of_a_calibration_is_said_everywhere(calibrates, tmp_path):
    scores = np.concatenate([np.linspace(0.5, 4, 12), np.linspace(-3, 1.5, 40)])
    table = pl.DataFrame({"score": scores, "label": [1] * 12 + [0] * 40})
    table.write_csv(tmp_path / "few.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, remarks = calibrates.calibrate(tmp_path / "few.csv", method="bayes")
    said = " ".join(remarks)
    assert "The bounds limit" in said
    assert "12 target" in said or "12 same-source" in said


def test_trials_that_were_left_out_are_recorded(folder, tmp_path):
    table = pl.read_csv(folder / "dev.csv").with_columns(pl.col("score").cast(pl.String))
    table[0, "score"] = "NA"
    table.write_csv(tmp_path / "gap.csv")
    for surface in (JobCalibrates(tmp_path), App(tmp_path)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted, _ = surface.calibrate(tmp_path / "gap.csv", missing_scores="drop")
        assert fitted.provenance["training_left_out"] == 1
        assert fitted.provenance["training_sha256"] == sha256_of(tmp_path / "gap.csv")


def test_the_app_has_intervals_of_speakers_where_these_are_named(folder, tmp_path):
    app = App(tmp_path)
    assert "intervals" not in app.evaluate(folder / "eval.csv")
    assert app.evaluate(folder / "eval.csv", ("left", "right"))["ci"]["kind"] == "speaker"


# the steps of the app that rest on a calibration


def _validated(app, folder, file, calibration, form, speakers=()):
    (app.project.folder / "documents").mkdir(exist_ok=True)
    shutil.copy(calibration, app.project.folder / "documents" / "calibration.json")
    app.project.results["calibrate"] = {"made": "now"}
    _, out = app._done(
        "validate", file, {"on0": "on", "metric0": "cllr", "limit0": "at_most", **form}, speakers
    )
    return json.loads((out / "validation.json").read_text())


def test_the_app_refuses_llrs_of_another_calibration(folder, tmp_path, need):
    need("docx")
    found = _validated(
        App(tmp_path / "one"), folder, folder / "llrs.csv", folder / "first.json", {"value0": "0.9"}
    )
    assert found["evaluation"]["cllr"] == pytest.approx(
        lk.cllr(lk.read_trials(folder / "llrs.csv")), rel=1e-12
    )
    with pytest.raises(lk.InputError, match="these LLRs were made by first"):
        _validated(
            App(tmp_path / "two"), folder, folder / "llrs.csv", folder / "another.json", {"value0": "0.9"}
        )


def test_the_app_decides_by_the_interval_and_speaks_of_sources(folder, tmp_path, need):
    need("docx")
    llrs = lk.load_map(folder / "first.json").on(lk.read_trials(folder / "eval.csv"))
    result = lk.evaluate(llrs, speakers=("left", "right"))
    inside = {"value0": repr((result.cllr + result.intervals["cllr"][1]) / 2)}
    app = App(tmp_path)
    row = _validated(app, folder, folder / "eval.csv", folder / "first.json", inside, ("left", "right"))[
        "matrix"
    ][0]
    assert row["decision"] == "not decided"
    row = _validated(app, folder, folder / "eval.csv", folder / "first.json", inside)["matrix"][0]
    assert row["decision"] == "passed"
    assert "same-source" in (app.project.folder / "out" / "validation.md").read_text()


@pytest.mark.parametrize("texts", [{}, {"h1": "he spoke"}, {"h1": "he spoke", "h2": "he  spoke."}])
def test_the_app_refuses_a_case_without_two_propositions(texts, tmp_path):
    project = Project.new("a", tmp_path / "a")
    project.results["calibrate"] = {"made": "now"}
    with pytest.raises(lk.InputError, match=r"is missing: an LLR says nothing|are the same proposition"):
        task_of("case", {"score": "0.5", **texts}, project, "out")
