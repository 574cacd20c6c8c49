"""Side information of a trial (duration, quality) as further columns of a linear fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from llrkit._arguments import yes_or_no
from llrkit._arrays import Array, FloatArray
from llrkit.calibrate.maps import Columns
from llrkit.calibrate.option_checks import finite_numbers, names_of, one_of
from llrkit.core.column_values import decoded
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource

FEATURES = ("linear", "durations", "bilinear")


@dataclass(frozen=True)
class Quality:
    """Which columns say something about the trials, and how they enter.

    ``linear``
        each column as it is;
    ``durations``
        two columns, the durations of the two sides in seconds: the logarithms, their product, the
        absolute and the squared logarithm of their ratio, and the sum of the inverses (Mandasari, Saeidi,
        McLaren & van Leeuwen 2013);
    ``bilinear``
        2 m columns, first the m qualities of one side, then the m of the other: the symmetric form
        ``q_1' W q_2`` with both vectors extended by 1 (BOSARIS).

    With ``scaled`` the scores are also multiplied with each feature, so that the slope depends on them.
    """

    columns: tuple[str, ...] = ()
    features: str = "linear"
    scaled: bool = False

    def __post_init__(self) -> None:
        one_of(self.features, FEATURES, "kind of features")
        if self.features == "durations" and len(self.columns) != 2:
            raise InputError(f"durations are two columns, one for each side; got {list(self.columns)}")
        if self.features == "bilinear" and (not self.columns or len(self.columns) % 2):
            raise InputError(
                "bilinear features need as many columns of one side as of the other; "
                f"got {list(self.columns)}"
            )

    def widen(self, scores: Array, columns: Columns) -> FloatArray:
        """Scores of K systems followed by the features, shape (n, K + F)."""
        base = scores.astype(np.float64, copy=False)
        base = base[:, None] if base.ndim == 1 else base
        if not self.columns:
            return base
        features = self._features(
            [finite_numbers(columns[name], name, "a quality measure") for name in self.columns]
        )
        wide = [base, *(feature[:, None] for feature in features)]
        if self.scaled:
            wide += [base * feature[:, None] for feature in features]
        return np.concatenate(wide, axis=1)

    def _features(self, values: list[FloatArray]) -> list[FloatArray]:
        if self.features == "linear":
            return values
        if self.features == "durations":
            for name, value in zip(self.columns, values, strict=True):
                if len(value) and value.min() <= 0:
                    raise InputError(f"column {name!r}: durations must be positive, got {value.min():g}")
            one, two = values
            log_one, log_two = np.log(one), np.log(two)
            ratio = log_one - log_two
            return [log_one, log_two, log_one * log_two, np.abs(ratio), ratio**2, 1.0 / one + 1.0 / two]
        m = len(values) // 2
        ones = np.ones_like(values[0])
        first, second = [*values[:m], ones], [*values[m:], ones]
        # symmetric in the two sides; the last pair, 1 * 1, is the offset
        pairs = list(combinations_with_replacement(range(m + 1), 2))[:-1]
        return [first[i] * second[j] + first[j] * second[i] for i, j in pairs]

    def term_names(self, systems: Sequence[str]) -> list[str]:
        """What each column made by :meth:`widen` is called.

        Examples
        --------
        >>> Quality(("a", "b"), "durations").term_names(["plda"])[:4]
        ['plda', 'log a', 'log b', 'log a log b']
        >>> Quality(("snr",), scaled=True).term_names(["plda"])
        ['plda', 'snr', 'plda snr']
        """
        features = self._feature_names()
        scaled = [f"{system} {feature}" for feature in features for system in systems] if self.scaled else []
        return [*systems, *features, *scaled]

    def _feature_names(self) -> list[str]:
        if self.features == "linear":
            return list(self.columns)
        if self.features == "durations":
            one, two = self.columns
            ratio = f"log {one}/{two}"
            return [f"log {one}", f"log {two}", f"log {one} log {two}", f"|{ratio}|", f"({ratio})^2",
                    f"(1/{one} + 1/{two})"]  # fmt: skip
        m = len(self.columns) // 2
        first, second = [*self.columns[:m], "1"], [*self.columns[m:], "1"]
        pairs = list(combinations_with_replacement(range(m + 1), 2))[:-1]
        return [f"({first[i]} {second[j]} + {first[j]} {second[i]})" for i, j in pairs]

    @property
    def _n_features(self) -> int:
        return len(self._features([np.ones(1)] * len(self.columns)))

    def source(self, source: ScoreSource) -> ScoreSource:
        """The source whose systems are the scores followed by the features."""
        if not self.columns:
            return source
        scores = source.roles.score
        added = self._n_features * (1 + len(scores) if self.scaled else 1)
        names = (*scores, *(f"feature{i + 1}" for i in range(added)))
        return DerivedSource(source, self._widened, self.columns, score=names)

    def _widened(self, chunk: Scores) -> Scores:
        # words stand in a chunk as codes: a duration read from text must be its value, not its code
        target, nontarget = (
            self.widen(scores, {name: decoded(chunk, name, class_index) for name in self.columns})
            for class_index, scores in enumerate((chunk.target, chunk.nontarget))
        )
        return Scores.part(target, nontarget, chunk.columns, chunk.categories)


def quality(columns: Sequence[str] | str, features: str = "linear", scaled: bool = False) -> Quality:
    """A :class:`Quality` from what a user gave.

    Examples
    --------
    >>> quality("snr").columns
    ('snr',)
    """
    return Quality(names_of(columns, "quality measures"), features, yes_or_no(scaled, "scaled"))
