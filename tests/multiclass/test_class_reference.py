"""The tables that luferrer/expected_cost printed: raw, temperature (calt) and affine (cal), five folds."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk

mc = lk.multiclass
pytestmark = pytest.mark.slow
SETS = {
    "SST2 GPT2-4sh": "sst2_gpt2_4shot", "SST2 GPT2-0sh": "sst2_gpt2",
    "PNEUM Resnet-50": "pneumoniamnist_resnet50", "ADRENAL Resnet-50": "adrenalmnist_resnet50",
    "PATH Resnet-50": "pathmnist_resnet50", "IEMOCAP W2V2": "iemocap_wav2vec_pt",
    "AGNEWS GPT2-0sh": "agnews_gpt2", "CIFAR10 Resnet-20": "cifar10_resnet-20",
    "CIFAR10 Vgg19": "cifar10_vgg19_bn", "CIFAR10 RepVgg-a2": "cifar10_repvgg_a2",
    "CIFAR100 Resnet-20": "cifar100_resnet-20",
}  # fmt: skip
# as listed by hand in the README of the reference values
NORMALIZED = {
    "SST2 GPT2-4sh": 1.073, "SST2 GPT2-0sh": 0.917, "PNEUM Resnet-50": 0.802, "ADRENAL Resnet-50": 0.931,
    "PATH Resnet-50": 0.329, "IEMOCAP W2V2": 0.635, "AGNEWS GPT2-0sh": 0.814, "CIFAR10 Resnet-20": 0.122,
    "CIFAR10 Vgg19": 0.153, "CIFAR10 RepVgg-a2": 0.092, "CIFAR100 Resnet-20": 0.266,
}  # fmt: skip
ROUNDING = 0.0005 + 1e-9


@pytest.fixture(scope="module")
def printed(shared):
    """(set, row) -> C01, Cab, Cimb, CE, RCL of the first table."""
    text = (shared / "data/multiclass_expected_cost/reference_tables_from_notebooks.txt").read_text()
    row = re.compile(r"(.{25})(raw|calt|cal) +\|" + r" +([\d.]+)" * 3 + r" +\| +([\d.]+) +\| +([-\d.]+)")
    found = {}
    for line in text.splitlines():
        match = row.match(line)
        if match:
            found[match[1].strip(), match[2]] = [float(value) for value in match.groups()[2:]]
    assert len(found) > 30
    return found


@pytest.fixture(scope="module")
def load(shared, need):
    need("sklearn")
    from sklearn.model_selection import StratifiedKFold

    def get(name):
        with np.load(shared / f"data/multiclass_expected_cost/{SETS[name]}.npz") as arrays:
            logits, labels = arrays["logits"].astype(np.float64), arrays["target"].astype(int)
        fold = np.empty(len(labels), dtype=int)
        for i, (_, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(logits, labels)):
            fold[test] = i
        return logits, labels, {"fold": fold}

    return get


def costs(k):
    uneven = mc.zero_one_cost(k)
    uneven[k - 1, :] = 10.0
    uneven[k - 1, k - 1] = 0.0
    return [mc.zero_one_cost(k), mc.zero_one_cost(k, abstain=0.1), uneven]


def numbers(scores, k):
    return [*(mc.expected_cost(scores, cost, prior="counts") for cost in costs(k)),
            mc.cllr(scores, prior="counts", normalized=True)]  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_raw_posteriors_to_the_printed_digits(printed, load, name):
    logits, labels, columns = load(name)
    k = logits.shape[1]
    scores = lk.scores.ClassScores.from_posteriors(logits, labels, range(k), prior="counts", columns=columns)
    assert_allclose(numbers(scores, k), printed[name, "raw"][:4], atol=ROUNDING)
    assert_allclose(mc.cllr(scores, prior="counts", normalized=True), NORMALIZED[name], atol=ROUNDING)


@pytest.mark.parametrize("name", SETS)
def test_five_fold_affine_calibration_within_its_rounding(printed, load, name):
    logits, labels, columns = load(name)
    k = logits.shape[1]
    scores = lk.scores.ClassScores.from_posteriors(logits, labels, range(k), prior="counts", columns=columns)
    crossed = mc.cross_calibrate(scores, folds="fold", prior="counts").source
    found, expected = numbers(crossed, k), printed[name, "cal"]
    relative = 100 * (1 - found[3] / mc.cllr(scores, prior="counts", normalized=True))
    if name.startswith("ADRENAL"):
        # 298 trials: there the printed calibration stopped short of the optimum. Ours is at the optimum (its
        # gradient is 0) and gives 0.782 where 0.783 was printed; decisions near a threshold change with it.
        assert_allclose(found[3], expected[3], atol=0.0011)
        assert_allclose(relative, printed[name, "raw"][4], atol=0.15)
        return
    assert_allclose(found[3], expected[3], atol=ROUNDING)
    assert_allclose(relative, printed[name, "raw"][4], atol=0.05 + 1e-9)
    # one trial more or less on the other side of a threshold
    assert_allclose(
        found[:3],
        expected[:3],
        atol=ROUNDING + 10.0 / len(labels) / (1 - np.bincount(labels).max() / len(labels)),
    )


@pytest.mark.parametrize("name", SETS)
def test_five_fold_temperature_scaling_within_its_rounding(printed, load, name):
    """Of posteriors: every trial counts the same, and the prior stays inside the scaled logits."""
    logits, labels, columns = load(name)
    k = logits.shape[1]
    given = lk.scores.ClassScores(logits, labels, range(k), columns=columns)
    crossed = mc.cross_calibrate(
        given, mc.fit_temperature, folds="fold", prior="flat", weights="counts"
    ).source
    scaled = crossed.reduce(lambda chunk: _Kept(chunk.loglik)).values
    scores = lk.scores.ClassScores.from_posteriors(scaled, labels, range(k), prior="counts", columns=columns)
    assert_allclose(numbers(scores, k), printed[name, "calt"][:4], atol=ROUNDING)
    relative = 100 * mc.calibration_loss(scores, folds="fold", prior="counts").relative
    # ADRENAL: as above, the printed affine calibration is not quite at its optimum
    assert_allclose(
        relative, printed[name, "calt"][4], atol=0.15 if name.startswith("ADRENAL") else 0.05 + 1e-9
    )


class _Kept:
    def __init__(self, values):
        self.values = values

    def __add__(self, other):
        return _Kept(np.concatenate([self.values, other.values]))
