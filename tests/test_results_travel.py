"""Every result of a public function can be pickled, copied, made a table, and shown in a notebook."""

import copy
import inspect
import io
import json
import pickle

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import llrkit as lk
from llrkit.base.text import spelled
from llrkit.results.result import Result

RNG = np.random.default_rng(11)
LABELS = RNG.random(900) < 0.3
SCORES = RNG.normal(np.where(LABELS, 2.0, -2.0), 2.5)
LEFT, RIGHT = RNG.integers(0, 12, 900), RNG.integers(0, 12, 900)
EVIL = "<script>alert(1)</script>"
TRIALS = lk.Trials(
    {"score": SCORES, "other": SCORES + RNG.normal(size=900), "label": LABELS, "left": LEFT, "right": RIGHT,
     "seconds": RNG.choice([100, 20, 3], 900), "room": RNG.choice([EVIL, "b"], 900)},
    score="score",
)  # fmt: skip
BOTH = lk.Trials(TRIALS.table, score=["score", "other"])
CLASSES = lk.scores.ClassScores(
    RNG.normal(size=(300, 3)) + 2 * np.eye(3)[np.arange(300) % 3], np.arange(300) % 3
)
CRITERIA = {"criterion": [{"characteristic": "accuracy", "metric": "cllr", "at_most": 0.9}]}
SPOOF = lk.spoof.SpoofTrials(
    pl.DataFrame({"sasv": RNG.normal(size=300) + np.repeat([2.0, 0.0, 1.0], 100),
                  "label": np.repeat(["target", "nontarget", "spoof"], 100),
                  "attack": np.repeat(["-", "-", EVIL], 100)})
)  # fmt: skip
TANDEM = lk.spoof.SpoofTrials(
    pl.DataFrame({"asv": RNG.normal(size=300) + np.repeat([3.0, -3.0, 2.0], 100),
                  "cm": RNG.normal(size=300) + np.repeat([2.0, 2.0, -2.0], 100),
                  "label": np.repeat(["target", "nontarget", "spoof"], 100),
                  "attack": np.repeat(["-", "-", EVIL], 100)})
)  # fmt: skip

RESULTS = {
    "Evaluation": lambda: lk.evaluate(TRIALS, by="room", ci="trial"),
    "Comparison": lambda: lk.compare(TRIALS, TRIALS, methods="cmlg,logistic"),
    "ConditionTable": lambda: lk.condition_table(TRIALS, by="room"),
    "Diagnosis": lambda: lk.diagnose(TRIALS),
    "CrossCalibration": lambda: lk.cross_calibrate(TRIALS, method="cmlg", groups="left", folds=3),
    "Threshold": lambda: lk.threshold_for(TRIALS),
    "PriorScan": lambda: lk.alpha_scan(TRIALS, test=TRIALS),
    "Calibration": lambda: lk.calibrate(TRIALS, method="cmlg"),
    "Adaptation": lambda: lk.adapt(lk.calibrate(TRIALS, method="cmlg").map, TRIALS),
    "ShiftCheck": lambda: lk.check_shift(lk.calibrate(TRIALS, method="cmlg").map, TRIALS),
    "CalibrationCheck": lambda: lk.check_calibration(TRIALS),
    "CalibrationLoss": lambda: lk.trust.calibration_loss(TRIALS),
    "CalibrationNull": lambda: lk.trust.calibration_null(
        lk.theory.GaussianLLR.from_eer(0.1), 50, 200, replicates=20
    ),
    "MapUncertainty": lambda: lk.trust.map_uncertainty(TRIALS, method="cmlg"),
    "LlrPrecision": lambda: lk.trust.llr_precision(TRIALS, speakers=("left", "right")),
    "LlrBand": lambda: lk.trust.llr_band(TRIALS, speakers=("left", "right")),
    "DeLong": lambda: lk.trust.delong_test(BOTH),
    "SystemComparison": lambda: lk.compare_systems(BOTH),
    "PairwiseComparison": lambda: lk.trust.compare_many_systems(BOTH),
    "CurveBands": lambda: lk.trust.curve_bands(TRIALS, result=lk.evaluate(TRIALS, ece=True)),
    "ScoreDecomposition": lambda: lk.metrics.score_decomposition(TRIALS),
    "ReliabilityCurve": lambda: lk.metrics.reliability_curve(TRIALS),
    "CrossEntropyCurve": lambda: lk.metrics.cross_entropy_curve(TRIALS),
    "DetSlope": lambda: lk.metrics.det_slope(TRIALS),
    "DetStraightness": lambda: lk.metrics.det_straightness(TRIALS, simulations=9),
    "MixingCurve": lambda: lk.fits.mixing_curve(lk.fits.fit_mixture(TRIALS)),
    "Validation": lambda: lk.validate(TRIALS, criteria=CRITERIA),
    "CaseReport": lambda: lk.case_report(lk.fit_cmlg(TRIALS), 1.0, h1="it is", h2=EVIL),
    "MisleadingTrial": lambda: lk.trust.misleading_trials(TRIALS)[0],
    "ClassEvaluation": lambda: lk.multiclass.evaluate(CLASSES),
    "ClassComparison": lambda: lk.multiclass.compare(CLASSES, CLASSES, "temperature"),
    "Confusion": lambda: lk.multiclass.confusion(CLASSES),
    "ClassDets": lambda: lk.multiclass.class_dets(lk.multiclass.evaluate(CLASSES)),
    "ClassCalibration": lambda: lk.multiclass.class_calibration(lk.multiclass.evaluate(CLASSES)),
    "Idempotence": lambda: lk.multiclass.idempotence(CLASSES),
    "PairHistogram": lambda: lk.multiclass.pair_histograms(CLASSES, most=1)[0],
    "Refinement": lambda: lk.multiclass.refine(CLASSES),
    "SpoofEvaluation": lambda: lk.spoof.evaluate(SPOOF),
    "AttackDetection": lambda: lk.spoof.attack_detection(TANDEM),
    "SasvComparison": lambda: lk.spoof.compare(TANDEM, TANDEM),
}
# maps, sources, numbers, texts and what a user made himself are no results
NO_RESULTS = ("Map", "Trials", "Source", "Files", "Scores", "Criteria", "Preset", "OperatingPoint", "Costs")
ELSEWHERE = {"TandemCostCurve", "TandemEerPath"}  # curves, as others are


def public_results():
    names = set()
    for module in (lk, lk.metrics, lk.maps, lk.fits, lk.trust, lk.multiclass, lk.spoof):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function):
                returned = inspect.unwrap(function).__annotations__.get("return") or "None"
                for word in ("tuple[", "list[", ", ...", "]"):
                    returned = returned.replace(word, "")
                # of a result with parameters its own name is what counts
                names.add(returned.removeprefix("curves.").partition("[")[0])
    plain = {"None", "float", "str", "FloatArray", "Iteratorpl.Client", "IteratorClient"}
    return {
        name for name in names - plain
        if not name.startswith(("float", "Iterator")) and not name.endswith(NO_RESULTS)
    }  # fmt: skip


def test_every_public_result_is_in_this_test():
    assert public_results() - ELSEWHERE == set(RESULTS)


@pytest.fixture(scope="module", params=RESULTS)
def made(request):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lk.LlrkitWarning)
        result = RESULTS[request.param]()
    assert type(result).__name__ == request.param
    return result


def plain(result):
    return json.dumps(spelled(result.to_dict()), sort_keys=True)


def test_results_travel(made, need):
    need("joblib")
    import joblib

    assert isinstance(made, Result)
    before = plain(made)
    assert plain(pickle.loads(pickle.dumps(made))) == before
    assert plain(copy.deepcopy(made)) == before
    file = io.BytesIO()
    joblib.dump(made, file)
    file.seek(0)
    assert plain(joblib.load(file)) == before


def test_results_become_frames(made, need):
    need("pandas")
    frame = made.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.height > 0
    assert made.to_frame("pandas").shape == frame.shape
    with pytest.raises(lk.errors.UnknownNameError, match="polars and pandas"):
        made.to_frame("excel")


def test_results_show_themselves_in_notebooks(made):
    html = made._repr_html_()
    assert html.startswith(("<table", "<div"))
    assert "<script" not in html
    assert " object at 0x" not in html


@pytest.mark.parametrize(  # bins at once, and later
    ("n_target", "smaller"), [(2_000, 4), pytest.param(100_000, 2, marks=pytest.mark.slow)]
)
def test_curves_of_an_evaluation_travel_without_the_trials(n_target, smaller):
    big = RNG.normal(size=400_000)
    result = lk.evaluate(lk.Scores(big[:n_target] + 3, big))
    again = pickle.loads(pickle.dumps(result))
    assert len(pickle.dumps(result)) < big.nbytes / smaller
    for name in ("roc", "rocch", "pav", "tippett", "bayes_error", "histogram"):
        here, there = getattr(result, name), getattr(again, name)
        for column in here.to_frame().columns:
            assert_array_equal(there.to_frame()[column].to_numpy(), here.to_frame()[column].to_numpy())
    with pytest.raises(ValueError, match="read-only"):
        again.roc.p_miss[0] = 1.0
    with pytest.raises(TypeError):
        again.groups["x"] = again


def test_the_frame_of_an_evaluation_has_groups_and_intervals():
    half = lk.OperatingPoint(0.5, name="half")
    result = lk.evaluate(TRIALS, points=[half], by=("seconds", "room"), ci="trial")
    frame = result.to_frame()
    assert frame.columns[:4] == ["seconds", "room", "n_target", "n_nontarget"]
    assert frame["seconds"].to_list() == [None, 3, 3, 20, 20, 100, 100]
    table = TRIALS.table
    for row in frame.iter_rows(named=True):
        part = table
        for name in ("seconds", "room"):
            part = part if row[name] is None else part.filter(pl.col(name) == row[name])
        alone = lk.evaluate(lk.Trials(part, score="score"), points=[half], ci="trial")
        assert row["eer"] == alone.eer
        assert (row["cllr_low"], row["cllr_high"]) == pytest.approx(alone.intervals["cllr"], rel=1e-9)
        assert row["act_dcf half"] == alone.act_dcf(half)


def test_groups_keep_the_type_and_the_natural_order_of_their_values():
    assert list(lk.evaluate(TRIALS, by="seconds").groups) == [3, 20, 100]
    words = TRIALS.table.with_columns(pl.format("{} s", "seconds").alias("length"))
    assert list(lk.evaluate(lk.Trials(words, score="score"), by="length").groups) == ["3 s", "20 s", "100 s"]
    with pytest.raises(lk.InputError, match="one column"):
        lk.evaluate(TRIALS, by=("seconds", "room"), shared="target")
    with pytest.raises(lk.InputError, match="several different ones"):
        lk.evaluate(TRIALS, by=("room", "room"))


def test_tables_and_texts_of_results():
    result = lk.evaluate(TRIALS, by=["room", "seconds"])
    assert lk.format_table(result, "csv", columns="eer").startswith('"room, seconds",eer')
    for curve in (result.det, result.tippett, lk.metrics.reliability_curve(TRIALS)):
        assert len(repr(curve)) < 200  # no arrays
