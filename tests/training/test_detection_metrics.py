"""Metrics for torch: a metric of torchmetrics, exact over batches and processes."""

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import one_rank
import pytest

import llrkit as lk

pytestmark = pytest.mark.slow  # torch

RNG = np.random.default_rng(3)
LABELS = RNG.random(600) < 0.3
SCORES = RNG.normal(np.where(LABELS, 1.5, -1.5), 1.2)


@pytest.fixture(scope="module")
def torch(need):
    need("torchmetrics")
    return need("torch")


@pytest.fixture(scope="module")
def metrics_of(torch):
    from llrkit.torch import DetectionMetrics

    return DetectionMetrics


def expected(scores, labels, points):
    """The numbers by other names, from the functions of the library."""
    result = {
        name: getattr(lk.metrics, name)(scores, labels)
        for name in ("eer", "eer_roc", "auc", "cllr", "min_cllr")
    }
    result["cllr_cal"] = result["cllr"] - result["min_cllr"]
    for name, point in points.items():
        result[f"min_dcf_{name}"] = lk.min_dcf(scores, labels, point=point)
        result[f"act_dcf_{name}"] = lk.act_dcf(scores, labels, point=point)
    return result


def fed(metric, torch, n_batches=7, order=None):
    order = np.arange(len(SCORES)) if order is None else order
    for part in np.array_split(order, n_batches):
        metric.update(torch.tensor(SCORES[part]), torch.tensor(LABELS[part]))
    return metric


def test_batches_in_any_order_give_the_numbers_of_all_trials(torch, metrics_of):
    numbers = expected(SCORES, LABELS, {"0.01_10_1": "sre08", "0.5": 0.5})
    for order in (None, RNG.permutation(len(SCORES)), np.argsort(LABELS)):
        metric = fed(metrics_of(points=["0.01,10,1", 0.5]), torch, order=order)
        computed = metric.compute()
        assert {name: float(value) for name, value in computed.items()} == numbers
        assert all(value.dtype == torch.float64 and value.ndim == 0 for value in computed.values())
    assert metric.evaluation.eer == numbers["eer"]


def test_presets_that_average_have_a_number_of_their_own(torch, metrics_of):
    computed = fed(metrics_of(points=["sre12"]), torch).compute()
    assert float(computed["act_c_primary_sre12"]) == lk.c_primary(SCORES, LABELS, evaluation="sre12")
    assert {"min_dcf_sre12_0.01", "min_c_primary_sre12"} <= computed.keys()


def test_one_number_is_a_scalar_that_trainers_log(torch, metrics_of):
    import torchmetrics

    metric = metrics_of("min_dcf_sre08")
    assert isinstance(metric, torchmetrics.Metric)
    of_batch = metric(torch.tensor(SCORES[:100]), torch.tensor(LABELS[:100]))
    assert of_batch.ndim == 0
    assert float(of_batch) == lk.min_dcf(SCORES[:100], LABELS[:100], point="sre08")
    metric(torch.tensor(SCORES[100:]), torch.tensor(LABELS[100:]))
    assert float(metric.compute()) == lk.min_dcf(SCORES, LABELS, point="sre08")
    both = torchmetrics.MetricCollection({"eer": metrics_of("eer"), "auc": metrics_of("auc")})
    for start in (0, 300):
        both.update(torch.tensor(SCORES[start : start + 300]), torch.tensor(LABELS[start : start + 300]))
    assert {name: float(value) for name, value in both.compute().items()} == {
        "eer": lk.eer(SCORES, LABELS), "auc": lk.auc(SCORES, LABELS)
    }  # fmt: skip
    with pytest.raises(lk.errors.UnknownNameError):
        metrics_of("EER")


def test_half_precision_gradients_and_words(torch, metrics_of):
    for kind in (torch.float16, torch.bfloat16, torch.float32):
        values = torch.tensor(SCORES).to(kind).requires_grad_()
        metric = metrics_of("auc", positive="me")
        metric.update(values, np.where(LABELS, "me", "other"))
        assert float(metric.compute()) == lk.auc(values.detach().double().numpy(), LABELS)


def test_batches_of_one_class_are_welcome_and_no_trials_are_nan(torch, metrics_of):
    metric = metrics_of("eer")
    of_batch = metric(torch.tensor([1.0, 2.0]), torch.tensor([1, 1]))
    assert np.isnan(float(of_batch)), "a batch of one class has no EER, and nothing is said batch by batch"
    with pytest.warns(lk.LlrkitWarning):
        assert np.isnan(float(metric.compute()))
    metric.update(torch.tensor([0.0]), torch.tensor([0]))
    assert float(metric.compute()) == 0.0
    metric.reset()
    assert metric.target == []
    with pytest.raises(lk.errors.NaNScoreError):
        metric.update(torch.tensor([float("nan")]), torch.tensor([1]))


@pytest.mark.filterwarnings("ignore:You are using `torch.load`:FutureWarning")  # by torch 2.4 itself
def test_metrics_travel(torch, metrics_of):
    metric = fed(metrics_of("cllr"), torch)
    value = lk.cllr(SCORES, LABELS)
    for travel in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), lambda one: one.clone()):
        assert float(travel(metric).compute()) == value
    metric.persistent(True)
    again = metrics_of("cllr")
    again.persistent(True)
    again.load_state_dict(metric.state_dict())
    with pytest.warns(UserWarning, match="called before the ``update`` method"):
        assert float(again.compute()) == value
    half = metric.half()
    assert float(half.compute()) == value, "the state keeps its precision when a model loses its own"


def test_the_loops_of_the_documentation_run(torch, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "training.md"
    loop, module = page.read_text(encoding="utf-8").split("## torch and Lightning")[1].split("```\n")[1::2]
    batches = [(torch.tensor(SCORES[start::3]), torch.tensor(LABELS[start::3])) for start in range(3)]
    names = {"batches": batches}
    exec(loop, names)
    assert float(names["numbers"]["min_dcf_voxceleb"]) == lk.min_dcf(SCORES, LABELS, point="voxceleb")

    class LightningModule(torch.nn.Module):
        """As much of Lightning's as the page uses."""

        def log_dict(self, numbers):
            self.logged = numbers

    lightning = ModuleType("lightning")
    lightning.LightningModule = LightningModule
    monkeypatch.setitem(sys.modules, "lightning", lightning)
    exec(module, names)
    trained = names["Verification"]()
    trained.scores = lambda batch: batch["scores"]
    for number, (scores, labels) in enumerate(batches):
        trained.validation_step({"scores": scores, "same_speaker": labels}, number)
    trained.on_validation_epoch_end()
    assert float(trained.logged["eer"]) == lk.eer(SCORES, LABELS)
    assert trained.metrics.target == [], "the next epoch begins with nothing"


@pytest.mark.parametrize("size", [2, 3])
def test_processes_with_different_numbers_of_trials_give_the_pooled_numbers(torch, tmp_path, size):
    """Gloo over loopback. One process has no target, and of three one has no trial at all."""
    program = Path(one_rank.__file__)
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(program), str(rank), str(size), str(tmp_path / "store")],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(size)
    ]  # fmt: skip
    try:
        printed = [process.communicate(timeout=150) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
            process.wait()
    assert [process.returncode for process in ranks] == [0] * size, [err[-2000:] for _, err in printed]
    results = [json.loads(out.splitlines()[-1]) for out, _ in printed]
    sizes = [result.pop("own") for result in results]
    assert sum(sizes) == one_rank.N
    assert len(set(sizes)) == size
    assert (0 in sizes) == (size == 3)
    scores, labels = one_rank.trials()
    numbers = expected(
        scores, labels, {"sre08": "sre08", "sre12_0.01": 0.01, "sre12_0.001": 0.001, "0.5": 0.5}
    )
    for result in results:
        assert result.pop("same")
        assert float.fromhex(result.pop("one")) == numbers["min_dcf_sre08"]
        values = {name: float.fromhex(value) for name, value in result.items()}
        assert values.pop("act_c_primary_sre12") == lk.c_primary(scores, labels, evaluation="sre12")
        assert values.pop("min_c_primary_sre12") == lk.c_primary(
            scores, labels, evaluation="sre12", actual=False
        )
        assert values == numbers
