"""What a map of two classes says beyond LLRs: posterior probabilities and decisions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from llrkit.errors import InputError
from llrkit.scores import Scores
from llrkit.theory.odds import posterior
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import operating_point


class DecidingMap:
    """Posteriors and decisions of whatever can be called with scores and gives LLRs."""

    @abstractmethod
    def __call__(self, scores: Any, columns: Any = None, *, outside: str | None = None) -> Any:
        """LLRs of scores."""

    def posteriors(
        self, scores: Any, prior: float, columns: Any = None, *, outside: str | None = None
    ) -> Any:
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

    def decide(
        self,
        scores: Any,
        point: OperatingPoint | str | float,
        columns: Any = None,
        *,
        outside: str | None = None,
    ) -> Any:
        """Which scores to accept at an operating point: those whose LLR is at least its Bayes threshold.

        Examples
        --------
        >>> import llrkit as lk
        >>> calibrate = lk.AffineMap(a=2.0, b=-1.0)
        >>> calibrate.decide([0.5, 3.0], "sre08")
        array([False,  True])
        """
        accepted = (
            np.asarray(self._llrs_of_rows(scores, columns, outside)) >= operating_point(point).threshold
        )
        return accepted if accepted.ndim else bool(accepted)

    def _llrs_of_rows(self, scores: Any, columns: Any, outside: str | None) -> Any:
        if isinstance(scores, Scores):
            raise InputError(
                "Scores keep the classes in separate arrays, so there are no rows; give an array, or Trials"
            )
        return self(scores, columns, outside=outside)
