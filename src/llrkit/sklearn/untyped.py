"""What scikit-learn, which has no types, takes and gives: the names that the estimators use for it."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy.typing as npt
import sklearn.base
import sklearn.utils.parallel
import sklearn.utils.validation

from llrkit._arrays import Array

SklearnObject: TypeAlias = Any
"""A classifier, a splitter, tags or a router of scikit-learn."""
# type checkers that read its sources take defaults for types, and would refuse every array
clone: SklearnObject = sklearn.base.clone
validate_data: SklearnObject = sklearn.utils.validation.validate_data
Parallel: SklearnObject = sklearn.utils.parallel.Parallel
Weights: TypeAlias = npt.ArrayLike | None
"""How often each trial counts; None for once."""


class HasClasses(Protocol):
    """A classifier that was fitted."""

    classes_: Array
