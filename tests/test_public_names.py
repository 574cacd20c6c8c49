"""``__all__`` is what can be imported and what the stub lists, and little is imported for it."""

import inspect
import json
import pickle
import re
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path

import pytest
from stubs import ROOMS_WITH_STUB

import llrkit as lk
from house import homes_of
from llrkit.base.public_names import elsewhere, namespaces
from llrkit.cli import cli

MIGRATION = Path(__file__).parents[1] / "docs" / "reference" / "migration.md"
COMMANDS_BEFORE = Path(__file__).parent / "golden" / "commands_before.json"
"""Commands with their options before they became jobs; this list stays as it is."""
# what was at the top before there were namespaces; this list stays as it is
OLD_NAMES = re.findall(
    r"\w+",
    """
    act_dcf AdaptationError AffineMap alpha_scan auc biometrics bound_elub bound_fixed bound_invariance
    bound_map bound_sentence bound_sources brier_score c_primary calibrate Calibration calibration_loss
    calibration_null CalibrationCheck CalibrationLoss CalibrationNull case_report CaseReport
    ChangedFileWarning check_calibration check_shift class_gap ClassScores ClassSource ClassVectors cllr
    cllr_cal cluster ClusterError compare compare_many_systems compare_systems Comparison compound_llr
    compound_trials condition_table ConditionedMap ConditionTable ConstantScoreError Criteria
    cross_calibrate cross_entropy cross_entropy_curve CrossCalibration curve_bands CurveBands DaskSource
    DeLong delong_test det_slope det_straightness dev_pav diagnose Diagnosis eer eer_roc eer_threshold
    EmptyClassError evaluate Evaluation expected_calibration_error FileChangedError FileFormatError
    fit_adapted fit_bayes fit_best fit_bigaussian fit_by fit_cmlg fit_expectation fit_fusion fit_gamma
    fit_gaussian fit_kde fit_lineup fit_logistic fit_mixture fit_nig fit_pav fit_quality fit_rule
    fit_saturating fit_student_t fit_tied_nig fit_unsupervised ForkedProcessError format_table hter
    InfiniteScoreError InputError LabelError LeftOutWarning LinearMap llr_band llr_precision LlrkitError
    LlrkitWarning LlrPrecision load_map Map map_uncertainty MapFileError MapUncertainty MemoryLimitError
    Meter min_cllr min_dcf misleading_trials MisleadingTrial MissingPackageError MissingScoresWarning
    mixing_curve multiclass NaNScoreError NoOverlapWarning NotInvertibleError operating_point OperatingPoint
    PairwiseComparison plot PooledClassesWarning PoorFitWarning prbep preset read_criteria read_trials
    reliability_curve ReliabilityCurve ReversedScoresWarning rule_cost sample_trials ScaleWarning
    scan_trials score_decomposition ScoreDecomposition Scores ScoreSource SeparationError ShapeWarning
    ShiftCheck ShiftMonitor ShiftWarning simulate simulate_trials SkippedFilesWarning speech SpeechWarning
    spoof SystemComparison SystemCountError theory Threshold threshold_for TooFewTrialsError
    TrainingRangeWarning Trials UnconfirmedPresetError UnknownNameError UnreadableWarning validate
    Validation verbal_scale weigh write_report write_trials
    """,
)
GONE = {
    "Comparison": "is what `lk.compare` returns; it is not constructed by users",
    "ConditionTable": "is what `lk.condition_table` returns; it is not constructed by users",
}
MOST_AT_THE_TOP = 75


@pytest.mark.parametrize("room", ROOMS_WITH_STUB)
def test_all_is_the_stub_and_can_be_imported(room, need):
    if room == "llrkit.sklearn":
        need("sklearn")
    module, homes = import_module(room), homes_of(room)
    assert module.__all__ == dir(module) == sorted(homes)
    for name, home in homes.items():
        value = import_module(f"{room}.{name}") if home == room else getattr(import_module(home), name)
        assert value is getattr(module, name), name
    with pytest.raises(AttributeError, match="eerr"):
        _ = module.eerr


def test_few_names_are_at_the_top_and_every_namespace_is():
    assert len(lk.__all__) <= MOST_AT_THE_TOP
    assert {name for name in dir(lk) if inspect.ismodule(getattr(lk, name))} == set(namespaces())
    for space, names in namespaces().items():
        assert all(hasattr(getattr(lk, space), name) for name in names), space


def new_place(name):
    """Where an old name is now, as its message says."""
    with pytest.raises(AttributeError) as told:
        getattr(lk, name)
    return re.search(r"llrkit\.(\w+\.\w+)(?=$|\?)", str(told.value))[1]


def test_every_old_name_is_found_or_gone_and_the_page_of_migration_tells_where():
    moved = {name: new_place(name) for name in OLD_NAMES if name not in lk.__all__ and name not in GONE}
    for name, place in moved.items():
        space, _, last = place.partition(".")
        assert last == name
        assert hasattr(getattr(lk, space), name)
    table = ["| before | now |", "|---|---|"]
    table += [f"| `lk.{name}` | `lk.{moved[name]}` |" for name in sorted(moved, key=moved.get)]
    gone = [f"- `lk.{name}` {instead}." for name, instead in GONE.items()]
    page = MIGRATION.read_text(encoding="utf-8")
    for wanted in ("\n".join(table), "\n".join(gone)):
        assert wanted in page, f"docs/reference/migration.md needs these lines:\n{wanted}"
    assert not set(GONE) & set(lk.__all__)


def rows_of_migration(title):
    """The code in each cell of the table below a title: before, (of,) now."""
    section = MIGRATION.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[re.findall(r"`([^`]+)`", cell) for cell in line.strip("| ").split(" | ")] for line in lines]


def commands_now(group, path=""):
    """Every command with its options; of a group, those that it takes itself."""
    found = {path: {name for option in group.params for name in option.opts}}
    for name, command in getattr(group, "commands", {}).items():
        found |= commands_now(command, f"{path} {name}".strip())
    return found


def test_every_old_command_and_option_is_there_or_on_the_page_of_migration():
    name = re.compile(r"llrkit((?: [a-z][a-z-]*)+)")
    moved = {
        name.match(before[0])[1].strip(): name.match(now[0])[1].strip()
        for before, now in rows_of_migration("Commands")
        if " --" not in before[0]  # a command that lost some options only
    }
    told = {
        (command, option.split()[0])
        for options, commands, _ in rows_of_migration("Options")
        for option in options
        for command in commands
    }
    there = commands_now(cli)
    before = json.loads(COMMANDS_BEFORE.read_text(encoding="utf-8"))
    for command, options in before.items():
        now = moved.get(command, command)
        assert now in there, command
        lost = {f"--{option}" for option in options.split()} - there[now]
        assert lost == {option for owner, option in told if owner == command}, (command, now)
    assert set(moved) <= set(before)
    assert {command for command, _ in told} <= set(before)


MEANT = {
    "fit_kde": "llrkit.fit_kde is now llrkit.fits.fit_kde",
    "fit_gaussian": "llrkit.fit_gaussian is now llrkit.fits.fit_gaussian",
    "NaNScoreError": "llrkit.NaNScoreError is now llrkit.errors.NaNScoreError",
    "roc_curve": "llrkit has no 'roc_curve'; did you mean llrkit.evaluate(scores, labels).roc?",
    "confusion": (
        "llrkit has no 'confusion'; did you mean llrkit.multiclass.confusion or llrkit.plot.confusion?"
    ),
    **{
        wrong: f"llrkit has no {wrong!r}; did you mean llrkit.{right}?"
        for wrong, right in {
            "minDCF": "min_dcf", "compute_eer": "eer", "Cllr": "cllr", "min_Cllr": "min_cllr", "EER": "eer",
            "det_curve": "evaluate(scores, labels).det", "roc_auc_score": "auc", "isotonic": "fit_pav",
            "kde": "fits.fit_kde", "evalaute": "evaluate", "fit_stduent_t": "fits.fit_student_t",
            "preset": "theory.preset", "Score": "Scores", "logistc": "fit_logistic",
        }.items()
    },
    "sklearn_": "llrkit has no 'sklearn_'; dir(llrkit) lists what there is",
    "torch": "llrkit.torch is there after 'import llrkit.torch'",
    "__wrapped__": "No llrkit attribute __wrapped__",
    "_repr_html_": "No llrkit attribute _repr_html_",
}  # fmt: skip


@pytest.mark.parametrize("name", MEANT)
def test_a_name_that_is_not_there_is_answered(name, monkeypatch):
    monkeypatch.delitem(vars(lk), name, raising=False)  # another test may have imported llrkit.torch
    with pytest.raises(AttributeError) as told:
        getattr(lk, name)
    assert str(told.value) == MEANT[name]
    # Python adds no second guess
    assert "".join(traceback.format_exception_only(told.value)).count("mean") <= 1


def test_words_of_others_are_none_of_ours_and_lead_somewhere():
    result = lk.evaluate(lk.Scores([1.0], [0.0]))
    for word, place in elsewhere().items():
        found = lk
        for step in place.replace("evaluate(scores, labels)", "evaluate").split("."):
            found = getattr(result if found is lk.evaluate else found, step)
        assert not hasattr(lk, word)


def test_tools_that_look_at_a_package_are_not_disturbed():
    assert not hasattr(lk, "no_such_name")
    assert getattr(lk, "no_such_name", 3) == 3
    assert inspect.unwrap(lk) is lk
    assert inspect.getmodule(lk.evaluate).__name__ == "llrkit.verbs.evaluate"
    for thing in (lk.fits.fit_kde, lk.errors.NaNScoreError, lk.trust.SystemComparison):
        assert pickle.loads(pickle.dumps(thing)) is thing
    with pytest.raises(ImportError, match="no_such_name"):
        from llrkit import no_such_name  # noqa: F401


# what each line adds must not load the packages beside it
LIGHT = {
    "import llrkit": ("numpy", "scipy", "polars", "matplotlib", "plotly", "click", "pandas", "sklearn"),
    "import llrkit as lk; lk.evaluate(lk.Scores([1.0], [0.0]))": ("polars", "matplotlib", "click", "pandas"),
    "import llrkit as lk; lk.fit_best(lk.sample_trials())": ("scipy.optimize", "matplotlib", "click"),
}


@pytest.mark.slow
@pytest.mark.parametrize("line", LIGHT)
def test_little_is_imported(line):
    program = f"import json, sys\n{line}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) & set(LIGHT[line]) == set()


SHUFFLED = """
import importlib, pkgutil, random
import llrkit as lk
modules = sorted(found.name for found in pkgutil.walk_packages(lk.__path__, "llrkit."))
modules.remove("llrkit.__main__")
random.Random(1).shuffle(modules)
for name in modules:
    try:
        importlib.import_module(name)
    except (ModuleNotFoundError, lk.errors.MissingPackageError) as error:
        missing = error.__context__ if isinstance(error, lk.errors.MissingPackageError) else error
        if missing.name.startswith("llrkit"):
            raise
for name in lk.__all__:
    assert getattr(lk, name) is not None
assert lk.eer(lk.Scores([2.0, 3.5], [-1.0])) == 0.0
"""


@pytest.mark.slow
def test_every_name_works_after_importing_all_modules_in_random_order():
    done = subprocess.run([sys.executable, "-W", "error", "-c", SHUFFLED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
