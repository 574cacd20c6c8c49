"""Is one system better than the other? Differences on the same trials, with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtr

from llrkit._arrays import FloatArray
from llrkit._format import number as shown
from llrkit.core.special import probability
from llrkit.errors import SystemCountError, UnknownNameError
from llrkit.metrics.measure import measure
from llrkit.metrics.measurements import Measurements
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import DerivedSource
from llrkit.scores.labeled import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.operating_points import OperatingPoint
from llrkit.trust.intervals.bootstrap import bootstrap_numbers, checked_replicates, tail_probabilities
from llrkit.trust.intervals.dyadic import Contributions, covariance
from llrkit.trust.intervals.functionals import Functional, functionals, trial_numbers
from llrkit.trust.intervals.interval import quantile
from llrkit.trust.intervals.resample import speaker_resampling
from llrkit.trust.intervals.speakers import find_speakers, require_columns

KINDS = ("trial", "speaker", "bootstrap")


@dataclass(frozen=True)
class Difference:
    """A number of two systems on the same trials; ``difference`` is the first less the second."""

    first: float
    second: float
    low: float
    high: float
    standard_error: float
    p_value: float
    """Two-sided test that there is no difference."""

    @property
    def difference(self) -> float:
        """First less second."""
        return self.first - self.second


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparison:
    """What :func:`compare_systems` found, by name of the number (as in ``Evaluation.intervals``)."""

    names: tuple[str, str]
    kind: str
    level: float
    differences: Mapping[str, Difference]
    no_test: Mapping[str, str]
    evaluations: tuple[Measurements, Measurements]
    n_speakers: int | None

    def __getitem__(self, name: str) -> Difference:
        if name not in self.differences:
            raise UnknownNameError(
                f"no difference for {name!r}; there are: {', '.join(self.differences)}"
                + (f" ({self.no_test[name]})" if name in self.no_test else "")
            )
        return self.differences[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        rows = {name: {**asdict(d), "difference": d.difference} for name, d in self.differences.items()}
        return {
            "systems": list(self.names), "kind": self.kind, "level": self.level, "differences": rows,
            "no_test": dict(self.no_test), "n_speakers": self.n_speakers,
        }  # fmt: skip

    def __repr__(self) -> str:
        rows = [["", *self.names, "difference", f"{100 * self.level:g} % interval", "p"]]
        for name, d in self.differences.items():
            ends = f"[{shown(d.low)}, {shown(d.high)}]"
            rows.append(
                [name, shown(d.first), shown(d.second), shown(d.difference), ends, f"{d.p_value:.2g}"]
            )
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )


def one_system(source: ScoreSource, which: int) -> DerivedSource:
    """One system of a source that has several."""

    def select(chunk: Scores) -> Scores:
        if chunk.target.ndim != 2:
            raise SystemCountError("scores of two systems are needed, got one")
        target, nontarget = chunk.target[:, which], chunk.nontarget[:, which]
        return Scores.part(target, nontarget, chunk.columns, chunk.categories)

    return DerivedSource(source, select, score=(source.roles.score[which],))


@dataclass(frozen=True, eq=False)
class PairedInfluences:
    """The influences of both systems side by side, so that their covariance is known."""

    influences: tuple[Contributions, Contributions]

    @property
    def size(self) -> int:
        """Number of sums of both."""
        return self.influences[0].size + self.influences[1].size

    def columns(self, class_index: int) -> tuple[int, ...]:
        """The sums of a class."""
        shift = self.influences[0].size
        return (
            *self.influences[0].columns(class_index),
            *(shift + column for column in self.influences[1].columns(class_index)),
        )

    def of(self, values: npt.NDArray[Any], class_index: int) -> list[FloatArray]:
        """What each trial adds, by both of its scores."""
        first, second = (one.of(values[:, k], class_index) for k, one in enumerate(self.influences))
        return [*first, *second]


@takes_labels
def compare_systems(
    source: ScoreSource,
    points: Sequence[OperatingPoint | str | float] = ("sre08", "sre10"),
    *,
    ci: str = "trial",
    speakers: str | Sequence[str] | None = None,
    recordings: str | Sequence[str] | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    allow_unconfirmed: bool = False,
) -> SystemComparison:
    """Differences between two systems that scored the same trials, with intervals and tests.

    Parameters
    ----------
    source
        Trials with two scores each: ``Trials(..., score=["a", "b"])``, or ``Scores`` of shape (n, 2).
    ci, speakers, recordings, level, replicates, seed
        As in :func:`evaluate`: ``"trial"`` (for AUC this is DeLong's test, see :func:`delong_test`),
        ``"speaker"`` or ``"bootstrap"``, where both systems are evaluated on the same replicates.

    The two systems see the same trials, so most of what chance does to one it does to the other: the
    interval of the difference is much shorter than those of the two numbers suggest.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> first = lk.theory.GaussianLLR.from_eer(0.10).rvs(500, 5000, rng)
    >>> both = [np.column_stack([x, x + rng.normal(0, 1.5, len(x))]) for x in first]
    >>> comparison = lk.compare_systems(lk.Scores(*both), points=[0.1])
    >>> comparison["eer"].difference < 0, comparison["eer"].p_value < 0.001
    (True, True)
    """
    source = as_source(source)
    require_columns(ci, KINDS, speakers, recordings)
    probability(level, "level")
    names = _system_names(source)
    systems = [one_system(source, k) for k in (0, 1)]
    results = [measure(one, points, allow_unconfirmed=allow_unconfirmed) for one in systems]
    trials = trial_numbers(source)
    numbers = [functionals(result, trials) for result in results]
    reasons = {
        a.name: a.reason or b.reason
        for a, b in zip(numbers[0].numbers, numbers[1].numbers, strict=True)
        if a.reason or b.reason
    }
    pairs = [
        (a, b) for a, b in zip(numbers[0].numbers, numbers[1].numbers, strict=True) if a.name not in reasons
    ]
    speaker_set = find_speakers(source, speakers) if speakers and ci == "speaker" else None
    if ci == "bootstrap":
        assert speakers is not None
        resampling = speaker_resampling(source, speakers, recordings, seed)
        drawn = [
            bootstrap_numbers(one, result, resampling, checked_replicates(replicates), slope=False)
            for one, result in zip(systems, results, strict=True)
        ]
        n_speakers = resampling.speakers.n
        differences = {
            a.name: _bootstrap_difference(a, b, drawn[0][a.name] - drawn[1][a.name], n_speakers, level)
            for a, b in pairs
        }
    else:
        both = PairedInfluences((numbers[0].influences, numbers[1].influences))
        spread = covariance(source, both, speaker_set)
        n_speakers = spread.n_speakers
        df = n_speakers - 1.0 if speaker_set is not None else math.inf
        differences = {}
        for a, b in pairs:
            variance = spread.variance(np.concatenate([a.coefficients, -b.coefficients]))
            differences[a.name] = _normal_difference(a, b, math.sqrt(max(variance, 0.0)), df, level)
    return SystemComparison(
        names, ci, level, MappingProxyType(differences), MappingProxyType(reasons), (results[0], results[1]),
        n_speakers or None,
    )  # fmt: skip


def _normal_difference(a: Functional, b: Functional, error: float, df: float, level: float) -> Difference:
    gap, reach = a.value - b.value, quantile(level, df) * error
    if error > 0.0:
        z = -abs(gap) / error
        p = 2.0 * float(ndtr(z) if math.isinf(df) else stdtr(df, z))
    else:
        p = 1.0 if gap == 0.0 else 0.0
    return Difference(a.value, b.value, gap - reach, gap + reach, error, p)


def _bootstrap_difference(
    a: Functional, b: Functional, drawn: FloatArray, n_speakers: int, level: float
) -> Difference:
    gap = a.value - b.value
    moved = drawn + 2.0 * (gap - float(drawn.mean()))  # see percentile_interval
    low, high = (float(end) for end in np.quantile(moved, tail_probabilities(n_speakers, level)))
    beyond = min(np.count_nonzero(moved <= 0.0), np.count_nonzero(moved >= 0.0))
    p = min(1.0, 2.0 * (float(beyond) + 1.0) / (len(moved) + 1.0))
    return Difference(a.value, b.value, low, high, float(drawn.std()), p)


def _system_names(source: ScoreSource) -> tuple[str, str]:
    """The names of the two systems."""
    names = source.roles.score
    if len(names) != 2:
        raise SystemCountError(f"scores of two systems are needed, got {len(names)}")
    return names[0], names[1]
