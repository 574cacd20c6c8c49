"""Numbers printed by BOSARIS 1.06 (GNU Octave 7.3), bob.measure, ROCAnalysis.jl and eer.py.

``bosaris-1.06.tsv`` holds what BOSARIS printed for the score sets of ``tests/support/generated_sets.py``,
which formulas define: that test needs no data. Tests on real scores are skipped where the data are not
beside the clone.
"""

from pathlib import Path

import numpy as np
import pytest
from generated_sets import read_table, two_classes
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.core.cells import count_trials
from llrkit.core.pav import error_path, pav_blocks

# set: n_tar, n_non, rocch_eer, cllr, min_cllr,
#      (min DCF, act DCF) at sre10 (P=0.001), P=0.05, sre08 (P=0.01, Cmiss=10)
BOSARIS = {
    "evalita09_ru": (
        15252, 9600, 0.0773850903397039, 0.289852854467942, 0.271322920768182,
        (0.906635195384212, 2.20237214791503), (0.415334710201941, 0.433124672174141),
        (0.345930623852609, 0.35877871754524),
    ),
    "spkr_shift_psr.trn": (
        1177, 118997, 0.0135920866520551, 0.209151368997281, 0.0494709540153141,
        (0.31929579141843, 0.67714528462192), (0.100975222175089, 0.324822008285638),
        (0.0816208706317457, 0.263280619034762),
    ),
    "spkr_shift_psr.tst": (
        1964, 112108, 0.00097521039261248, 0.125583523262964, 0.00263244582815452,
        (0.0244399185336049, 0.607988063881083), (0.00746145501097756, 0.229136190102401),
        (0.00535099010213965, 0.177498483605095),
    ),
    "sre08_tno": (
        20449, 78327, 0.056177784152623, 0.250140666090057, 0.223793494834739,
        (0.991833341483691, 2.00161262456878), (0.424982962087361, 0.432535908556958),
        (0.32210635284738, 0.337554934352759),
    ),
    "voxceleb1_o.ivector_cosine": (
        18860, 18860, 0.155843651516736, 7.83483839816575, 0.49773012460465,
        (0.818504772004242, 394.522057264051), (0.613202545068929, 8.7203605514316),
        (0.553239660657476, 4.66904559915164),
    ),
    "voxceleb1_o.ivector_lda": (
        18860, 18860, 0.0792662133782463, 4.11087557638647, 0.278517841187518,
        (0.737486744432662, 307.448780487805), (0.415853658536585, 7.84284199363733),
        (0.356468716861082, 4.29208907741251),
    ),
    "voxceleb1_o.ivector_plda": (
        18860, 18860, 0.0562105391956929, 0.552677106839867, 0.198559893814328,
        (0.608006362672322, 0.930434782608696), (0.336903499469777, 0.351961823966066),
        (0.276569459172853, 0.294475079533404),
    ),
    "voxceleb1_o.resnet_aam": (
        18860, 18860, 0.0154757338507705, 0.837560295314228, 0.0612655000298238,
        (0.29135737009544, 1.0), (0.104294803817603, 1.0), (0.0841145281018028, 1.0),
    ),
}  # fmt: skip
POINTS = (lk.OperatingPoint(0.001), lk.OperatingPoint(0.05), lk.OperatingPoint(0.01, 10, 1))
GENERATED = read_table(Path(__file__).with_name("bosaris-1.06.tsv"))


@pytest.mark.filterwarnings("ignore::llrkit.errors.LlrkitWarning")  # reversed scores, and posteriors
@pytest.mark.parametrize("printed", GENERATED, ids=lambda printed: printed["set"])
def test_generated_sets_against_bosaris(printed):
    scores = lk.Scores(*two_classes()[printed["set"]])
    result = lk.evaluate(scores, points=POINTS)
    assert (result.n_target, result.n_nontarget) == (printed["n_tar"], printed["n_non"])
    names = [f"{kind}_{point}" for kind in ("mindcf", "actdcf") for point in ("p001", "p05", "sre08")]
    dcfs = [printed[name] for name in names]
    expected = [printed["rocch_eer"], printed["cllr"], *dcfs]
    functions = [metric(scores, point=p) for metric in (lk.min_dcf, lk.act_dcf) for p in POINTS]
    assert_allclose([lk.eer(scores), lk.cllr(scores), *functions], expected, rtol=0, atol=1e-12)
    points = [p.min_dcf for p in result.points] + [p.act_dcf for p in result.points]
    assert_allclose([result.eer, result.cllr, *points], expected, rtol=0, atol=1e-12)
    # BOSARIS adds up to 1e-6 to its LLRs to keep them increasing
    assert_allclose([lk.min_cllr(scores), result.min_cllr], printed["min_cllr"], rtol=0, atol=3e-7)


@pytest.mark.parametrize("name", BOSARIS)
def test_real_scores_against_bosaris(name, reference_set):
    n_target, n_nontarget, eer, cllr, min_cllr, *dcfs = BOSARIS[name]
    result = lk.evaluate(reference_set(name), points=POINTS)
    assert (result.n_target, result.n_nontarget) == (n_target, n_nontarget)
    assert_allclose([result.eer, result.cllr], [eer, cllr], rtol=0, atol=1e-12)
    assert_allclose([[p.min_dcf, p.act_dcf] for p in result.points], dcfs, rtol=0, atol=1e-12)
    assert_allclose(result.min_cllr, min_cllr, rtol=0, atol=1e-7)


def test_evalita_bayes_error_rates_against_rocanalysis(reference_set):
    # ROCAnalysis.jl test/dcf.jl: prior log-odds -log(9.9), threshold +log(9.9)
    scores = reference_set("evalita09_ru")
    point = lk.OperatingPoint(1 / 10.9)
    assert_allclose(point.log_odds, -np.log(9.9), rtol=1e-15)
    bayes = lk.act_dcf(scores, point=point) * point.default_cost
    assert_allclose(bayes, 0.03291547867387523, rtol=0, atol=1e-13)
    assert_allclose(
        lk.min_dcf(scores, point=point) * point.default_cost, 0.03173675448189074, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize(
    ("name", "default", "actual", "minimum"),
    [
        ("sre08", 0.1, 0.035877871754524004, 0.034593062385260914),
        ("evalita09", 0.5, 0.23094942466561763084, 0.21843024685287174003),
    ],
)
def test_evalita_dcf_against_rocanalysis(name, default, actual, minimum, reference_set):
    scores = reference_set("evalita09_ru")
    assert lk.operating_point(name).default_cost == default
    assert_allclose(lk.act_dcf(scores, point=name) * default, actual, rtol=0, atol=1e-13)
    assert_allclose(lk.min_dcf(scores, point=name) * default, minimum, rtol=0, atol=1e-13)


def test_gaussian_scores_against_rocanalysis():
    # ROCAnalysis.jl test/big.jl: what targets N(2, 2) and non-targets N(-2, 2) approach
    scores = lk.Scores(*two_classes()["gaussian"])
    found = [lk.cllr(scores), lk.eer(scores), 1 - lk.auc(scores)]
    assert_allclose(found, [0.5140558, 0.158655, 0.0786496], rtol=0, atol=5e-4)
    assert_allclose(lk.min_cllr(scores), 0.5140558, rtol=0, atol=5e-3)  # it fits the sample


@pytest.fixture(scope="module")
def bob(shared):
    def read(name):
        folder = shared / "data/bob_testdata/bob.measure"
        return lk.Scores(
            np.loadtxt(folder / f"{name}-positives.txt"), np.loadtxt(folder / f"{name}-negatives.txt")
        )

    return read


def test_bob_nonsep_against_bob(bob):
    scores = bob("nonsep")
    assert_allclose(lk.eer(scores), 0.116363636363636, rtol=0, atol=1e-14)  # "obtained using Bosaris 1.06"
    assert_allclose(lk.cllr(scores), 3.61833, rtol=0, atol=5e-6)
    assert_allclose(lk.auc(scores), 0.9326, rtol=0, atol=5e-5)
    # ties pooled; breaking them non-target first would give 0.33736
    assert_allclose(lk.min_cllr(scores), 0.4030620, rtol=0, atol=5e-8)


def test_bob_nonsep_hull_against_bosaris(bob):
    hull = error_path(pav_blocks(count_trials(bob("nonsep")).bins()))
    # the reference page has the two names swapped: counted, 26 of the 50 targets are above all non-targets
    assert_allclose(hull.p_fa, [1, 0.68, 0.28, 0.1, 0.06, 0, 0], rtol=0, atol=1e-15)
    assert_allclose(hull.p_miss, [0, 0, 0.08, 0.12, 0.22, 0.48, 1], rtol=0, atol=1e-15)


def test_bob_linsep_against_bob(bob):
    scores = bob("linsep")
    assert_allclose(lk.cllr(scores), 1.2097942129, rtol=0, atol=1e-10)  # printed without rounding
    assert_array_equal([lk.min_cllr(scores), lk.eer(scores), lk.auc(scores)], [0, 0, 1])


@pytest.mark.parametrize(
    ("scores", "labels", "eer"),
    [
        ([0, 1], [0, 1], 0),
        ([0, 1], [1, 0], 1 / 2),
        ([0, 0, 1], [0, 1, 1], 1 / 3),
        ([0, 1, 1], [0, 0, 1], 1 / 3),
    ],
)
def test_toy_rocch_eer_against_eer_py(scores, labels, eer):
    # davidavdav/eer.py tests/eer.py
    assert_allclose(lk.eer(lk.Scores.from_labels(scores, labels)), eer, rtol=1e-15)


@pytest.mark.parametrize(
    ("column", "percent"), [("ivector_cosine", 15.6), ("ivector_lda", 7.937), ("ivector_plda", 5.652)]
)
def test_voxceleb_eer_roc_against_kaldi(column, percent, reference_set):
    # voxceleb-ivector README.md, Kaldi compute-eer
    assert_allclose(
        100 * lk.metrics.eer_roc(reference_set(f"voxceleb1_o.{column}")), percent, rtol=0, atol=6e-3
    )


def test_voxceleb_resnet_against_sv_score_calibration(reference_set):
    # sv_score_calibration, calibration_all.ipynb: EER 1.5642 %, min DCF at P = 0.05
    scores = reference_set("voxceleb1_o.resnet_aam")
    assert_allclose(100 * lk.metrics.eer_roc(scores), 1.5642, rtol=0, atol=6e-5)
    assert_allclose(
        lk.min_dcf(scores, point=lk.OperatingPoint(0.05)), 0.10429480381760269, rtol=0, atol=1e-14
    )
