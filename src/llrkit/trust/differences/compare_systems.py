"""Is one system better than the other? Differences on the same trials, with intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._format import not_among
from llrkit._format import number as shown
from llrkit._plain import Json
from llrkit._random import RNG, seed_of
from llrkit._results import Result, text_table
from llrkit.core.elementary_functions import probability
from llrkit.errors import SystemCountError, UnknownNameError
from llrkit.metrics.measure import measure
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.presets import Points
from llrkit.trust.differences.difference_error import DifferenceError
from llrkit.trust.differences.paired_errors import (
    PairedInfluences,
    class_sizes,
    one_system,
    speaker_errors,
    trial_errors,
)
from llrkit.trust.intervals.bootstrap import bootstrap_numbers, checked_replicates, tail_probabilities
from llrkit.trust.intervals.number_functionals import Functional, functionals, trial_numbers
from llrkit.trust.intervals.resampling import speaker_resampling
from llrkit.trust.intervals.speakers import find_speakers, kind_asked_for, require_columns

KINDS = ("trial", "speaker", "bootstrap")
INDEPENDENT_TRIALS = (
    "tests and intervals hold if trials are independent; if they share speakers, give speakers"
)


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
class SystemComparison(Result):
    """What :func:`compare_systems` found, by name of the number (as in ``Evaluation.intervals``)."""

    names: tuple[str, str]
    """Names of the two systems."""
    kind: str
    """Kind of the intervals and tests."""
    level: float
    """Confidence level of the intervals."""
    differences: Mapping[str, Difference]
    """Difference of each number, with its interval and p-value."""
    no_test: Mapping[str, str]
    """Numbers without a test, with the reason."""
    evaluations: tuple[Measurements, Measurements]
    """Metrics of the two systems."""
    n_speakers: int | None
    """Number of speakers; None if trials are taken as independent."""

    @property
    def independent(self) -> bool:
        """Whether trials were taken as independent."""
        return self.kind == "trial"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tests are based on, in words."""
        return (INDEPENDENT_TRIALS,) if self.independent else ()

    def __getitem__(self, name: str) -> Difference:
        if name not in self.differences:
            raise UnknownNameError(
                f"no difference for {not_among(name, self.differences, '; there are: ')}"
                + (f" ({self.no_test[name]})" if name in self.no_test else "")
            )
        return self.differences[name]

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        rows = {name: {**asdict(d), "difference": d.difference} for name, d in self.differences.items()}
        return {
            "systems": list(self.names), "kind": self.kind, "level": self.level, "differences": rows,
            "no_test": dict(self.no_test), "n_speakers": self.n_speakers, "notes": list(self.notes),
        }  # fmt: skip

    def _frame_rows(self) -> list[dict[str, Json]]:
        systems = {"first_system": self.names[0], "second_system": self.names[1]}
        return [
            {"number": name, **systems, **asdict(one), "difference": one.difference}
            for name, one in self.differences.items()
        ]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        rows = []
        for name, d in self.differences.items():
            ends = f"[{shown(d.low)}, {shown(d.high)}]"
            rows.append(
                [name, shown(d.first), shown(d.second), shown(d.difference), ends, f"{d.p_value:.2g}"]
            )
        return ["", *self.names, "difference", f"{100 * self.level:g} % interval", "p"], rows

    def __repr__(self) -> str:
        return "\n".join([text_table(*self.table()), *self.notes])


@takes_labels
def compare_systems(
    source: ScoreSource,
    points: Points = ("sre08", "sre10"),
    *,
    ci: str | None = None,
    speakers: str | Sequence[str] | None = None,
    recordings: str | Sequence[str] | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    rng: RNG = 0,
    allow_unconfirmed: bool = False,
) -> SystemComparison:
    """Differences between two systems that scored the same trials, with intervals and tests.

    The two systems see the same trials, so most of what chance does to one it does to the other: the
    interval of the difference is much shorter than those of the two numbers suggest.

    Parameters
    ----------
    source
        Trials with two scores each: ``Trials(..., score=["a", "b"])``, or ``Scores`` of shape (n, 2).
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    ci
        ``"trial"``: trials are independent. For AUC this is DeLong's test, see :func:`delong_test`; for
        minimum costs and minimum Cllr, whose map is fitted, a jackknife that leaves out groups of trials;
        for other numbers the delta method. ``"speaker"``: a jackknife that leaves out one speaker after
        the other, for both systems; rates, minima and 1 - AUC by the logarithm of their ratio. Rates and
        actual costs with errors of fewer than a quarter of all speakers (effectively) are tested by random
        signs of the speakers, those of fewer than 4 speakers not at all. ``"bootstrap"``: speakers are drawn
        with replacement, the same for both systems. By default ``"speaker"`` if ``speakers`` are given,
        otherwise ``"trial"``.
    speakers, recordings, level, replicates, rng
        As in :func:`evaluate`.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

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
    seed = seed_of(rng)
    source = as_source(source)
    ci = kind_asked_for(ci, speakers, "trial")
    require_columns(ci, KINDS, speakers, recordings)
    probability(level, "level")
    whole_number(replicates, 1, "replicates")
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
    n_speakers: int | None = None
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
        if ci == "speaker":
            assert speakers is not None
            known = find_speakers(source, speakers)
            n_speakers, errors = known.n_speakers, speaker_errors(source, results, both, pairs, known)
        else:
            errors = {**trial_errors(source, results, both, pairs, min(trials or class_sizes(results[0])))}
        reasons |= {name: error for name, error in errors.items() if isinstance(error, str)}
        differences = {
            a.name: _difference_of_numbers(a, b, error, level)
            for a, b in pairs
            if not isinstance(error := errors[a.name], str)
        }
    return SystemComparison(
        names, ci, level, MappingProxyType(differences), MappingProxyType(reasons), (results[0], results[1]),
        n_speakers,
    )  # fmt: skip


def _difference_of_numbers(a: Functional, b: Functional, error: DifferenceError, level: float) -> Difference:
    gap, reach = a.value - b.value, error.reach(level)
    return Difference(a.value, b.value, gap - reach, gap + reach, error.standard_error, error.p_value(gap))


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
        raise SystemCountError(
            f"scores of two systems are needed, got {len(names)}: two arrays go side by side, "
            "np.column_stack([first, second]) and the labels"
        )
    return names[0], names[1]
