"""What a map of two classes says beyond LLRs: posterior probabilities and decisions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np

from llrkit._arrays import Array, BoolArray, FloatArray, Numbers
from llrkit.errors import InputError
from llrkit.scores import Scores
from llrkit.theory.odds import posterior
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import operating_point

if TYPE_CHECKING:
    from llrkit.scores import Trials

Columns: TypeAlias = Mapping[str, Array]
Point: TypeAlias = OperatingPoint | str | float


class DecidingMap:
    """Posteriors and decisions of whatever can be called with scores and gives LLRs."""

    @abstractmethod
    def __call__(
        self, scores: object, columns: Columns | None = None, *, outside: str | None = None
    ) -> float | FloatArray | Scores:
        """LLRs of scores."""

    @overload
    def posteriors(
        self, scores: float, prior: float, columns: Columns | None = None, *, outside: str | None = None
    ) -> float: ...
    @overload
    def posteriors(
        self,
        scores: Numbers | Trials,
        prior: float,
        columns: Columns | None = None,
        *,
        outside: str | None = None,
    ) -> FloatArray: ...
    def posteriors(
        self, scores: object, prior: float, columns: Columns | None = None, *, outside: str | None = None
    ) -> float | FloatArray:
        """The probability of a target after each score, ``sigmoid(llr + logit prior)``.

        Scores are numbers as the training file held them, or ``Trials``; ``columns`` and ``outside`` are as
        when the map is called.

        Examples
        --------
        >>> import llrkit as lk
        >>> calibrate = lk.AffineMap(a=2.0, b=-1.0)
        >>> calibrate.posteriors([0.5, 0.5 + np.log(99) / 2], 0.01)
        array([0.01, 0.5 ])
        """
        return posterior(self._llrs_of_rows(scores, columns, outside), prior)

    @overload
    def decide(
        self, scores: float, point: Point, columns: Columns | None = None, *, outside: str | None = None
    ) -> bool: ...
    @overload
    def decide(
        self,
        scores: Numbers | Trials,
        point: Point,
        columns: Columns | None = None,
        *,
        outside: str | None = None,
    ) -> BoolArray: ...
    def decide(
        self, scores: object, point: Point, columns: Columns | None = None, *, outside: str | None = None
    ) -> bool | BoolArray:
        """Which scores to accept at an operating point: those whose LLR is at least its Bayes threshold.

        Examples
        --------
        >>> import llrkit as lk
        >>> calibrate = lk.AffineMap(a=2.0, b=-1.0)
        >>> calibrate.decide([0.5, 3.0], "sre08")
        array([False,  True])
        """
        accepted = self._llrs_of_rows(scores, columns, outside) >= operating_point(point).threshold
        return np.asarray(accepted) if np.ndim(accepted) else bool(accepted)

    def _llrs_of_rows(self, scores: object, columns: Columns | None, outside: str | None) -> FloatArray:
        if isinstance(scores, Scores):
            raise InputError(
                "Scores keep the classes in separate arrays, so there are no rows; give an array, or Trials"
            )
        return np.asarray(self(scores, columns, outside=outside), dtype=np.float64)
