"""The names of scorers, made known to scikit-learn: ``scoring="eer"`` after importing :mod:`llrkit.sklearn`.

scikit-learn keeps its scorers in a dict, and every function that takes ``scoring`` a copy of the names, made
when its module was imported. Both are private, and there is no other way to add a name: a version that keeps
them elsewhere takes the scorers themselves (``scoring=scorers.eer``), as all versions do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from sklearn.metrics import _scorer


def make_known(scorers: Mapping[str, Any]) -> None:
    """Let scikit-learn take scorers by name; names it has itself keep their meaning.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> import llrkit.sklearn
    >>> get_scorer("eer")
    DetectionScorer(eer, greater is better)
    """
    known: dict[str, Any] | None = getattr(_scorer, "_SCORERS", None)
    if not isinstance(known, dict):
        return
    own = frozenset(known)
    new = {name: scorer for name, scorer in scorers.items() if name not in own}
    known.update(new)  # modules that are imported from now on copy these names too
    for options in _copied_names():
        if options >= own:
            options.update(new)


def _copied_names() -> Iterator[set[str]]:
    """The sets of names that the functions and classes of imported modules accept as ``scoring``."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("sklearn.")]
    for module in modules:
        if isinstance(module, ModuleType):
            for thing in list(vars(module).values()):
                for constraint in _scoring_constraints(thing):
                    options = getattr(constraint, "options", None)
                    if isinstance(options, set):
                        yield options


def _scoring_constraints(thing: Any) -> list[Any]:
    """What a function or an estimator accepts as ``scoring``."""
    if not callable(thing):
        return []
    for name in ("_skl_parameter_constraints", "_parameter_constraints"):
        constraints = getattr(thing, name, None)
        if isinstance(constraints, dict) and isinstance(constraints.get("scoring"), list):
            return list(constraints["scoring"])
    return []
