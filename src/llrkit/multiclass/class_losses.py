"""ClassLosses: logarithmic losses, decisions and detections of each class, in one look at the trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Counts, FloatArray, IntArray
from llrkit.core.summary_algebra import ReadOnlyArrays, SummaryBase
from llrkit.multiclass.class_blocks import against_others, loglik_blocks, sums_of_others
from llrkit.scores.class_scores import ClassVectors

_NEARLY = 1e-10  # closer to the threshold than this, the LLR itself decides


@dataclass(frozen=True, eq=False)
class Detection(ReadOnlyArrays):
    """A question: is the LLR of each class against the weighted others at least ``threshold``?"""

    weights: FloatArray
    threshold: float


@dataclass(frozen=True, eq=False)
class ClassLosses(SummaryBase):
    """Soft and hard losses of log-likelihoods at a prior.

    ``loss[k]`` is the sum over trials of class k of ``-log`` of the posterior of k, in nats;
    ``confused[k, j]`` counts those whose most probable class is j (the first of several);
    ``decided[c][k, j]`` those for which decision j has the least expected cost under cost matrix c;
    ``accepted[d, t, k]`` those that detection d takes for class t.
    """

    classes: tuple[str, ...]
    n: Counts
    loss: FloatArray
    confused: Counts
    decided: tuple[Counts, ...]
    accepted: Counts

    @classmethod
    def at(
        cls,
        log_prior: FloatArray,
        costs: Sequence[FloatArray] = (),
        detections: Sequence[Detection] = (),
    ) -> Callable[[ClassVectors], ClassLosses]:
        """A summarizer at a prior, for cost matrices and detection thresholds.

        Examples
        --------
        >>> from llrkit.scores.class_scores import ClassScores
        >>> chunk = ClassScores([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]], [0, 1, 1])
        >>> ClassLosses.at(np.log([0.5, 0.5]))(chunk).confused.tolist()
        [[1, 0], [1, 1]]
        """

        def make(chunk: ClassVectors) -> ClassLosses:
            k = len(chunk.classes)
            flat = bool((log_prior == log_prior[0]).all())
            loss = np.zeros(k)
            top_class: list[IntArray] = []
            best: list[list[IntArray]] = [[] for _ in costs]
            cells: list[list[IntArray]] = [[] for _ in detections]
            for loglik, codes in loglik_blocks(chunk):
                weighted = loglik if flat else loglik + log_prior[:, None]
                top = weighted.max(axis=0)
                relative = np.exp(weighted - top)
                loss += np.bincount(codes, _losses_of_classes(weighted, top, relative, codes), k)
                top_class.append(weighted.argmax(axis=0))
                for cost, decisions in zip(costs, best, strict=True):
                    decisions.append(np.einsum("kj,km->jm", cost, relative).argmin(axis=0))
                if detections and not flat:
                    relative = np.exp(loglik - loglik.max(axis=0))
                for detection, cell in zip(detections, cells, strict=True):
                    models, trials = _accepted_detections(loglik, relative, detection)
                    cell.append(models * k + codes[trials])
            accepted = [_count_cells(cell, k * k).reshape(k, k) for cell in cells]
            return cls(
                chunk.classes,
                chunk.counts,
                loss,
                _decision_counts(chunk.codes, top_class, (k, k)),
                tuple(
                    _decision_counts(chunk.codes, taken, cost.shape)
                    for taken, cost in zip(best, costs, strict=True)
                ),
                np.array(accepted, dtype=np.int64).reshape(-1, k, k),
            )

        return make

    def __add__(self, other: ClassLosses) -> ClassLosses:
        return ClassLosses(
            self.classes,
            self.n + other.n,
            self.loss + other.loss,
            self.confused + other.confused,
            tuple(a + b for a, b in zip(self.decided, other.decided, strict=True)),
            self.accepted + other.accepted,
        )

    def __mul__(self, weight: float) -> ClassLosses:
        return ClassLosses(
            self.classes,
            self.n * weight,
            self.loss * weight,
            self.confused * weight,
            tuple(counts * weight for counts in self.decided),
            self.accepted * weight,
        )


def _decision_counts(codes: IntArray, decisions: list[IntArray], shape: tuple[int, int]) -> Counts:
    """How often each decision was taken for each class."""
    cells = [codes * shape[1] + np.concatenate(decisions)] if decisions else []
    return _count_cells(cells, shape[0] * shape[1]).reshape(shape)


def _count_cells(cells: list[IntArray], size: int) -> Counts:
    every = np.concatenate(cells) if cells else np.empty(0, dtype=np.intp)
    return np.bincount(every, minlength=size).astype(np.int64)


def _losses_of_classes(
    weighted: FloatArray, top: FloatArray, relative: FloatArray, codes: IntArray
) -> FloatArray:
    """``log(1 + rest / own)`` of each trial, which keeps the digits of small losses and large ones finite."""
    trials = np.arange(len(codes))
    own = relative[codes, trials]
    relative[codes, trials] = 0.0
    rest = relative.sum(axis=0)
    relative[codes, trials] = own
    right = own >= rest
    ratio = np.divide(rest, own, out=np.zeros(len(own)), where=right)
    wrong = np.log(rest + own) - (weighted[codes, trials] - top)
    return np.asarray(np.where(right, np.log1p(ratio), wrong))


def _accepted_detections(
    loglik: FloatArray, relative: FloatArray, detection: Detection
) -> tuple[IntArray, IntArray]:
    """Models and trials of every acceptance; ``relative`` are likelihoods over the largest of the trial.

    ``x_t >= log b`` says that the share of the class in ``sum_n w_n e^{l_n}`` is at least b / (b w_t + rest),
    which takes no logarithm; where rounding could matter, the LLR itself decides.
    """
    weights, odds = detection.weights, float(np.exp(detection.threshold))
    least = odds / (odds * weights + sums_of_others(weights))
    total = np.einsum("k,km->m", weights, relative)
    bound = np.multiply.outer(least, total) if np.ptp(least) else least[0] * total
    accepts = relative >= bound * (1.0 - _NEARLY)
    surely = relative >= bound * (1.0 + _NEARLY)
    if np.count_nonzero(accepts) != np.count_nonzero(surely):
        models, trials = (accepts & ~surely).nonzero()
        accepts[models, trials] = against_others(loglik[:, trials], models, weights) >= detection.threshold
    places = np.flatnonzero(accepts)
    return np.divmod(places, accepts.shape[1])
