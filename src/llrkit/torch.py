"""Metrics for training loops in torch: exact, in batches, and over several processes.

Needs the extra ``torch`` (``pip install 'llrkit[torch]'``).
"""

from __future__ import annotations

import math
import re
import warnings
from typing import TypeAlias

import numpy.typing as npt

from llrkit.base.arguments import FloatArray
from llrkit.base.process import warn_caller
from llrkit.base.text import not_among
from llrkit.errors import EmptyClassError, LlrkitWarning, MissingPackageError, UnknownNameError
from llrkit.metrics.measure import resolve_points
from llrkit.theory.operating_points import Points
from llrkit.verbs.conditions import Meter, batch_by_class
from llrkit.verbs.evaluate import Evaluation

try:
    import torch
    from torchmetrics import Metric
except ModuleNotFoundError:
    raise MissingPackageError.of_extra("llrkit.torch needs torch and torchmetrics", "torch") from None

__all__ = ["DetectionMetrics"]

PLAIN = ("eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal")
Batch: TypeAlias = "torch.Tensor | npt.ArrayLike"
"""Scores or labels."""
Numbers: TypeAlias = "torch.Tensor | dict[str, torch.Tensor]"
"""One number, or all by name."""


class DetectionMetrics(Metric):  # type: ignore[misc]
    """EER, AUC, Cllr and detection costs of all trials of all processes, exactly.

    Every process keeps its scores as float64 (8 bytes a trial). ``compute`` gathers those of all processes,
    however many each has, and gives the numbers of :func:`llrkit.evaluate` of all trials at once, to the last
    bit. While a class has no trial the numbers are NaN, with a warning: a trainer's sanity check may see few.

    Parameters
    ----------
    metric
        One number to compute, as a scalar that Lightning's ``self.log(name, metric)`` takes: ``"eer"``,
        ``"eer_roc"``, ``"auc"``, ``"cllr"``, ``"min_cllr"``, ``"cllr_cal"``, and for each operating point
        such as sre08 ``"min_dcf_sre08"`` and ``"act_dcf_sre08"``. By default a dictionary of all.
    points
        Operating points, as for :func:`llrkit.evaluate`.
    positive
        The label of the targets, if it is none of the usual ones.
    **options
        Options of ``torchmetrics.Metric``, such as ``sync_on_compute``.

    Examples
    --------
    >>> import torch
    >>> metrics = DetectionMetrics(points=[0.01])
    >>> metrics.update(torch.tensor([2.0, -1.0, 0.5]), torch.tensor([1, 0, 0]))
    >>> metrics.update(torch.tensor([1.5, 3.0]), torch.tensor([1, 1]))
    >>> {name: round(float(value), 3) for name, value in metrics.compute().items()}
    {'eer': 0.0, 'eer_roc': 0.0, 'auc': 1.0, 'cllr': 0.555, 'min_cllr': 0.0, 'cllr_cal': 0.555,
     'min_dcf_0.01': 0.0, 'act_dcf_0.01': 1.0}
    >>> eer = DetectionMetrics("eer")
    >>> float(eer(torch.tensor([2.0, -1.0, 0.5]), torch.tensor([1, 0, 0])))
    0.0
    """

    is_differentiable = False
    # Some of the numbers are better when higher, some when lower.
    higher_is_better = None
    # forward then needs no second update with the state of all batches.
    full_state_update = False

    target: list[torch.Tensor]
    nontarget: list[torch.Tensor]

    def __init__(
        self,
        metric: str | None = None,
        *,
        points: Points = ("sre08", "sre10"),
        positive: object = None,
        **options: object,
    ) -> None:
        super().__init__(**options)
        self.points, self.positive = points, positive
        # Names are fixed here, so that a misspelled one is an error before training and not after an
        # epoch.
        self.names = _names_of_metrics(points)
        if metric is not None and metric not in self.names:
            raise UnknownNameError(f"there is no metric {not_among(metric, self.names, '; there are ')}")
        self.metric = metric
        self.evaluation: Evaluation | None = None
        self._of_one_batch = False
        self.set_dtype(torch.float64)  # also of the empty state of a process without trials
        for name in ("target", "nontarget"):
            # Exact numbers need every score, so states are concatenated and not summed.
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, preds: Batch, target: Batch) -> None:
        """Take a batch: scores, higher meaning more target-like, and as many labels.

        Parameters
        ----------
        preds
            Scores, higher meaning more target-like.
        target
            Labels, as many as scores.
        """
        # The scores stay on the device they came from, where torchmetrics gathers them.
        device = preds.device if isinstance(preds, torch.Tensor) else self.device
        of_targets, of_nontargets = batch_by_class(preds, target, self.positive)
        # 64 bits, so that the numbers are those of llrkit.evaluate to the last bit.
        self.target.append(torch.as_tensor(of_targets, dtype=torch.float64, device=device))
        self.nontarget.append(torch.as_tensor(of_nontargets, dtype=torch.float64, device=device))

    def forward(self, *args: Batch, **kwargs: Batch) -> Numbers:
        """Take a batch and give the numbers of that batch alone, NaN where it holds one class.

        Parameters
        ----------
        *args
            Scores and labels of the batch.
        **kwargs
            The same by name.
        """
        self._of_one_batch = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LlrkitWarning)  # about few trials, batch after batch
                numbers: Numbers = super().forward(*args, **kwargs)
                return numbers
        finally:
            self._of_one_batch = False

    def compute(self) -> Numbers:
        """The numbers of all trials so far; the whole evaluation is in ``.evaluation``."""
        # The state may have come from other processes, so the evaluation starts from it alone.
        meter = Meter(self.points)
        meter.load_state_dict({name: self._gathered(name) for name in ("target", "nontarget")})
        try:
            self.evaluation = meter.compute()
            numbers = dict(zip(self.names, _values_of_metrics(self.evaluation), strict=True))
        except EmptyClassError as error:
            # A single batch of one class is nothing to warn about.
            if not self._of_one_batch:
                warn_caller(f"{error}: the metrics are NaN", LlrkitWarning)
            self.evaluation, numbers = None, dict.fromkeys(self.names, math.nan)
        tensors = {
            name: torch.tensor(value, dtype=torch.float64, device=self.device)
            for name, value in numbers.items()
        }
        return tensors if self.metric is None else tensors[self.metric]

    def _gathered(self, name: str) -> FloatArray:
        """All scores of a class: a list of batches in this process, one tensor of all when gathered."""
        state = getattr(self, name)
        # torchmetrics turns the list into one tensor when it gathers.
        if isinstance(state, list):
            state = torch.cat(state) if state else torch.empty(0, dtype=torch.float64)
        scores: FloatArray = state.detach().cpu().numpy()
        return scores


def _names_of_metrics(points: Points) -> tuple[str, ...]:
    requested = resolve_points(points, allow_unconfirmed=False)
    of_points = [point.name for point in requested.points]
    of_means = [name for name, _ in requested.primaries]
    costs = [f"{kind}_dcf_{_plain_logger_name(name)}" for name in of_points for kind in ("min", "act")]
    means = [f"{kind}_c_primary_{_plain_logger_name(name)}" for name in of_means for kind in ("min", "act")]
    return (*PLAIN, *costs, *means)


def _values_of_metrics(evaluation: Evaluation) -> list[float]:
    """The values in the order of the names."""
    values = [float(getattr(evaluation, name)) for name in PLAIN]
    for point in evaluation.points:
        values += [point.min_dcf, point.act_dcf]
    for mean in evaluation.primaries:
        values += [mean.min, mean.act]
    return values


def _plain_logger_name(name: str) -> str:
    """A name that every logger takes: letters, digits, underscores, dots and hyphens.

    Examples
    --------
    >>> _plain_logger_name("P=0.01,Cmiss=10,Cfa=1"), _plain_logger_name("sre12:P=0.001")
    ('0.01_10_1', 'sre12_0.001')
    """
    return re.sub(r"[^\w.-]", "_", re.sub(r"\b(P|Cmiss|Cfa)=", "", name))
