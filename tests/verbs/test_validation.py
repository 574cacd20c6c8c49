"""The validation matrix: criteria read, numbers judged, faults named, reports complete and safe."""

import math
import tomllib

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pieces import Pieces
from shared_speakers import sample

import llrkit as lk
from llrkit.verbs.criteria import REPORT_FIELDS, criteria_from_dict, criteria_template
from llrkit.verbs.given_calibration import find_scope
from llrkit.verbs.validate import number_of

MODEL = lk.theory.GaussianLLR.from_eer(0.05)


@pytest.fixture(scope="module")
def scores():
    return lk.Scores(*MODEL.rvs(300, 3000, np.random.default_rng(2)))


def rows(*criteria, **more):
    return {"criterion": [{"characteristic": "accuracy", **one} for one in criteria], **more}


def judged(source, *criteria, replicates=0, **more):
    return lk.validate(source, criteria=rows(*criteria, **more), replicates=replicates)


def test_every_metric_is_judged_on_both_sides_of_its_value(scores):
    result = lk.evaluate(scores, points=["sre08", 0.3])
    names = ["eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal"]
    names += ["act_dcf sre08", "min_dcf:P=0.3", "p_fa P=0.3"]
    values = {name: number_of(result, name)[0] for name in names}
    assert values["act_dcf sre08"] == result.points[0].act_dcf
    assert values["min_dcf:P=0.3"] == result.points[1].min_dcf
    criteria = [{"metric": name, "at_most": value} for name, value in values.items()]
    criteria += [{"metric": name, "at_most": value * 0.999} for name, value in values.items()]
    criteria += [{"metric": name, "at_least": value} for name, value in values.items()]
    found = judged(scores, *criteria, options={"points": ["sre08", 0.3]})
    n = len(names)
    assert [row.passed for row in found.rows] == [True] * n + [False] * n + [True] * n
    assert [row.result for row in found.rows[:n]] == list(values.values())
    assert not found.passed


def test_validate_takes_the_infinite_llrs_that_evaluate_takes():
    target, nontarget = MODEL.rvs(100, 900, np.random.default_rng(2))
    target[0] = np.inf
    for wrong in (-np.inf, np.inf):
        nontarget[0] = wrong
        llrs = lk.Scores(target, nontarget)
        found = lk.validate(
            llrs, criteria=criteria_from_dict(tomllib.loads(criteria_template())), replicates=0
        )
        assert_allclose(found.rows[0].result, lk.cllr(llrs))
        assert (found.rows[0].decision == "failed") == math.isinf(lk.cllr(llrs))
        assert not (found.passed and math.isinf(lk.cllr(llrs)))


def test_checked_metrics_and_verdict(scores):
    found = judged(
        scores, {"metric": "dev_pav", "at_most": 1.0}, {"metric": "cv_loss", "at_most": 0.01},
        {"metric": "verdict"}, {"metric": "misleading_target", "at_most": 100},
        {"metric": "misleading_nontarget", "at_most": 1.0}, {"metric": "cllr_cal", "at_most": 0.05},
        replicates=30,
    )  # fmt: skip
    assert [row.passed for row in found.rows] == [True, True, True, True, False, True]
    assert_allclose(found.rows[0].result, lk.trust.dev_pav(scores))
    assert_allclose(found.rows[3].result, -scores.target.min())
    assert_allclose(found.rows[4].result, scores.nontarget.max())
    doubled = lk.Scores(2 * scores.target, 2 * scores.nontarget)
    row = judged(doubled, {"metric": "verdict"}).rows[0]
    assert not row.passed
    assert row.result.startswith("over-confident by a factor 2.0")


def test_whole_interval_must_be_within_the_bound():
    trials = sample(30, 5000, seed=3)
    options = {"ci": "speaker", "speakers": ["left", "right"], "points": [0.3]}
    result = lk.evaluate(trials, ci="speaker", speakers=("left", "right"), points=[0.3])
    low, high = result.intervals["cllr"]
    middle = {"at_most": (result.cllr + high) / 2}
    found = judged(
        trials, {**middle, "use": "estimate"}, middle, {"at_most": high, "at_least": low, "use": "interval"},
        options=options,
    )  # fmt: skip
    assert [row.passed for row in found.rows] == [True, None, True]
    assert found.rows[1].interval == (low, high)
    with pytest.raises(lk.InputError):
        judged(trials, {**middle, "use": "interval"})


def test_an_upper_bound_decides_where_there_is_no_interval():
    rng = np.random.default_rng(8)
    speaker = np.repeat(np.arange(20), 4)
    i, j = np.triu_indices(len(speaker), 1)
    p, q = speaker[i], speaker[j]
    # one speaker makes nearly all false alarms
    x = np.where(p == q, 1.5, -6.0 + 6.5 * ((p == 7) | (q == 7))) + 1.2 * rng.normal(size=len(p))
    trials = lk.Trials({"score": x, "label": p == q, "left": p, "right": q})
    options = {"ci": "speaker", "speakers": ["left", "right"], "points": [0.5]}
    used = lk.evaluate(trials, **options).uncertainty
    bound = used.upper_bound["points.0.p_fa"]
    assert "points.0.p_fa" not in used.intervals
    name = {"metric": f"p_fa {lk.OperatingPoint(0.5).name}", "use": "interval"}
    found = judged(
        trials, {**name, "at_most": 1.01 * bound}, {**name, "at_most": 0.99 * bound},
        {**name, "at_most": 1.0, "at_least": 1.01 * bound}, options=options,
    )  # fmt: skip
    assert [row.passed for row in found.rows] == [True, None, False]


def test_worst_condition_decides():
    rng = np.random.default_rng(1)
    noise = {"clean": 0.02, "noisy": 0.2}
    t, n = zip(*(lk.theory.GaussianLLR.from_eer(e).rvs(200, 1000, rng) for e in noise.values()), strict=True)
    names = [np.repeat(list(noise), k) for k in (200, 1000)]
    both = lk.Scores(np.concatenate(t), np.concatenate(n), {"condition": tuple(names)})
    criteria = [{"metric": "eer", "at_most": 0.12}, {"metric": "eer", "at_most": 0.3}]
    criteria.append({"metric": "auc", "at_least": 0.9})
    found = judged(both, *({**one, "by": "condition"} for one in criteria))
    assert [row.passed for row in found.rows] == [False, True, False]
    assert "condition = noisy" in found.rows[0].note
    assert_allclose(found.rows[0].result, lk.eer(lk.Scores(t[1], n[1])))


def test_change_from_another_file(tmp_path, scores):
    lk.write_trials(
        lk.Trials({"score": np.concatenate([scores.target, scores.nontarget]) * 2,
                   "label": np.repeat([1, 0], [300, 3000])}),
        tmp_path / "other.csv",
    )  # fmt: skip
    file = tmp_path / "criteria.toml"
    file.write_text(
        '[[criterion]]\ncharacteristic = "robustness"\nat_most = 0.0\nchange_from = "other.csv"\n'
        '[[criterion]]\ncharacteristic = "generalization"\nat_least = 0.0\nchange_from = "other.csv"\n'
    )
    found = lk.validate(scores, criteria=file, replicates=0)
    other = lk.cllr(lk.Scores(2 * scores.target, 2 * scores.nontarget))
    assert_allclose(found.rows[0].result, lk.cllr(scores) - other)
    assert [row.passed for row in found.rows] == [True, False]


def test_misleading_trials_by_name_and_in_order():
    table = {
        "s": [1.0, -2.0, -0.5, 3.0, -1.0, 4.0],
        "label": [1, 1, 1, 0, 0, 0],
        "model": list("abcdef"),
        "seg": [1, 2, 3, 4, 5, 6],
    }
    trials = lk.Trials(table, score="s", enroll="model", test="seg")
    found = lk.trust.misleading_trials(trials)
    assert [(one.is_target, one.llr, one.trial["model"], one.trial["row"]) for one in found] == [
        (True, -2.0, "b", 1), (True, -0.5, "c", 2), (False, 4.0, "f", 5), (False, 3.0, "d", 3)
    ]  # fmt: skip
    assert len(lk.trust.misleading_trials(trials, n=1)) == 2
    arrays = lk.trust.misleading_trials(Pieces(lk.Scores([1.0, -2.0], [0.5, 3.0, -1.0]), pieces=3))
    assert [(one.llr, one.trial) for one in arrays] == [
        (-2.0, {"position": 1}), (3.0, {"position": 1}), (0.5, {"position": 0})
    ]  # fmt: skip
    with pytest.raises(lk.InputError):
        lk.trust.misleading_trials(trials, n=0)


def test_misleading_trials_of_files(tmp_path, monkeypatch):
    trials = sample(10, 400)
    path = tmp_path / "t.csv"
    lk.write_trials(trials, path)
    monkeypatch.setenv("LLRKIT_AT_ONCE", "512")
    found = lk.trust.misleading_trials(lk.scan_trials(path), n=4)
    in_memory = lk.trust.misleading_trials(lk.read_trials(path), n=4)
    assert [one.to_dict() for one in found] == [one.to_dict() for one in in_memory]
    assert [one.llr for one in found] == [one.llr for one in lk.trust.misleading_trials(trials, n=4)]
    lines = path.read_text().splitlines()
    for one in found:  # the place is a line of the file that holds the LLR
        file, line = one.place.split(", line ")
        assert file == str(path)
        assert repr(one.llr) in lines[int(line) - 1]


def test_verbal_scale_is_symmetric():
    for lr, word in (
        (1.9, "no support for either"), (2.1, "weak"), (9.9, "weak"), (11, "moderate"), (99, "moderate"),
        (101, "moderately strong"), (1001, "strong"), (10_001, "very strong"), (999_999, "very strong"),
        (1_000_001, "extremely strong"), (math.inf, "extremely strong"),
    ):  # fmt: skip
        for sign, side in ((1, "the same source"), (-1, "different sources")):
            wanted = word if word.startswith("no") else f"{word} support for {side}"
            assert lk.theory.verbal_scale(sign * math.log(lr)) == wanted
            assert lk.theory.verbal_scale(sign * math.log10(lr), log10=True) == wanted
    with pytest.raises(lk.errors.NaNScoreError):
        lk.theory.verbal_scale(math.nan)


ONE = "[[criterion]]\ncharacteristic = 'accuracy'\n"


FAULTS = [
    "", ONE, ONE + "at_most = nan", ONE + "at_most = 1\nat_least = 2", ONE + "at_most = 1\nuse = 'mean'",
    ONE + "at_most = 1\ncolor = 2", "[options]\nmagic = 1\n" + ONE + "at_most = 1",
    f"[options]\nci = 'trial'\n{ONE}metric = 'cllr_cal'\nuse = 'interval'\nat_most = 1",
    "[[criterion]\n", "\udcff",
]  # fmt: skip


def test_faults_of_a_criteria_file_are_refused_with_its_name(tmp_path):
    path = tmp_path / "criteria.toml"
    with pytest.raises(lk.errors.FileFormatError):
        lk.read_criteria(path)
    for text in FAULTS:
        path.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(lk.errors.FileFormatError, match=str(path)):
            lk.read_criteria(path)


def test_criteria_that_cannot_be_judged_are_refused(scores):
    for criterion in ({"metric": "speed"}, {"metric": "act_dcf sre99"}, {"metric": "eer", "by": "room"}):
        with pytest.raises(lk.LlrkitError):
            judged(scores, {"at_most": 1, **criterion})


def test_report_states_what_is_missing_and_is_safe():
    trials = sample(30, 3000, seed=3)
    report = {name: f"the {name}" for name in REPORT_FIELDS if name != "bounds"}
    report["system"] = "<script>alert(1)</script> | & co"
    plain = rows({"at_most": 0.9}, options={"ci": "speaker", "speakers": ["left", "right"]}, report=report)
    text = lk.validate(trials, criteria=plain, replicates=20).to_markdown()
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\| &amp; co" in text
    assert "**bounds**: not stated" in text


def test_setting_counts_sources_recordings_and_llrs_beyond_what_trials_support():
    table = {
        "llr": [9.0, 1.0, 0.5, -9.0, -1.0, 8.0, -2.0],
        "label": [1, 1, 1, 0, 0, 0, 0],
        "model": ["m1", "m2", "m2", "m1", "m1", "m2", "m3"],
        "seg": ["s1", "s2", "s3", "s2", "s3", "s1", "s1"],
        "who": ["a", "b", "b", "a", "a", "b", "c"],
        "other": ["a", "b", "b", "b", "b", "a", "a"],
    }
    trials = lk.Trials(table, score="llr", enroll="model", test="seg")
    found = find_scope(trials, lk.evaluate(trials), speakers=("who", "other"))
    assert (found.n_target, found.n_nontarget) == (3, 4)
    assert (found.sources.n, found.sources.n_target, found.sources.n_nontarget) == (3, 2, 3)
    assert (found.recordings.n, found.recordings.n_target, found.recordings.n_nontarget) == (6, 5, 6)
    assert (found.lowest, found.highest) == (-9.0, 9.0)
    elub = lk.maps.bound_elub(lk.maps.AffineMap(a=1.0, b=0.0), trials)
    assert found.supported == (elub.low, elub.high)
    assert found.n_beyond == sum(not elub.low <= x <= elub.high for x in table["llr"])
    assert found.beyond_by == max(9.0 - elub.high, elub.low + 9.0) > 0
    assert found.calibration is found.bounds is None


@pytest.mark.parametrize(
    "bound",
    [
        lambda m, s: lk.maps.bound_fixed(m, -1.5, 2.0),
        lambda m, s: lk.maps.bound_sources(m, 10),
        lk.maps.bound_elub,
        lk.maps.bound_invariance,
    ],
)
def test_llrs_at_and_beyond_bounds_are_counted(scores, bound):
    fitted = bound(lk.fit_logistic(scores), scores)
    llrs = fitted(scores)
    for calibration in (fitted, lk.maps.AffineMap(a=1.0, b=0.0).then(fitted)):
        found = lk.validate(
            llrs, criteria=rows({"at_most": 1.0}), calibration=calibration, apply=False, replicates=0
        )
        bounds = found.setting.bounds
        values = np.concatenate([llrs.target, llrs.nontarget])
        assert (bounds.low, bounds.high) == (fitted.low, fitted.high)
        assert bounds.n_at_low == np.count_nonzero(values == fitted.low) > 0
        assert bounds.n_at_high == np.count_nonzero(values == fitted.high) > 0
        assert bounds.n_beyond == 0
    # LLRs that the map cannot have made are noticed
    other = lk.validate(
        scores, criteria=rows({"at_most": 1.0}), calibration=fitted, apply=False, replicates=0
    )
    wide = np.concatenate([scores.target, scores.nontarget])
    outside = np.count_nonzero((wide < fitted.low) | (wide > fitted.high))
    assert other.setting.bounds.n_beyond == outside > 0
