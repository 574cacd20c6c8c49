"""The biometric zoo: speakers who are hard to recognize, easy to imitate, or both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import grouped
from llrkit.errors import InputError
from llrkit.metrics.curve_base import Curve
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source


@dataclass(frozen=True, eq=False)
class ZooCurve(Curve):
    """Mean target and mean non-target score of each speaker, and the quartiles over speakers.

    A speaker in the upper quarter of both is a *chameleon*, in the lower quarter of both a *phantom*; with
    high target and low non-target scores a *dove*, the other way round a *worm* (Yager & Dunstone 2010).
    """

    speakers: tuple[str, ...]
    target_mean: FloatArray
    nontarget_mean: FloatArray
    target_quartiles: tuple[float, float]
    """First and third quartile of the target means."""
    nontarget_quartiles: tuple[float, float]
    n_left_out: int = 0
    """Speakers without finite scores of both classes."""

    @property
    def animals(self) -> tuple[str, ...]:
        """What each speaker is; empty for most."""
        low_t, high_t = self.target_quartiles
        low_n, high_n = self.nontarget_quartiles
        names = []
        for target, nontarget in zip(self.target_mean, self.nontarget_mean, strict=True):
            quarters = (
                int(target >= high_t) - int(target <= low_t),
                int(nontarget >= high_n) - int(nontarget <= low_n),
            )
            names.append(_ANIMALS.get(quarters, ""))
        return tuple(names)


_ANIMALS = {(1, 1): "chameleon", (-1, -1): "phantom", (1, -1): "dove", (-1, 1): "worm"}


def zoo_curve(source: ScoreSource, by: str) -> ZooCurve:
    """Mean scores of each speaker, where ``by`` is the column that names the speaker of a trial.

    References
    ----------
    N. Yager and T. Dunstone, "The biometric menagerie", IEEE PAMI 32 (2010).

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> scores = Scores([4.0, 2.0, 3.0], [-1.0, 0.0, -4.0], {"who": (["a", "b", "b"], ["a", "b", "b"])})
    >>> zoo_curve(scores, "who").target_mean, zoo_curve(scores, "who").nontarget_mean
    (array([4. , 2.5]), array([-1., -2.]))
    """
    moments = as_source(source).with_columns(by).reduce(grouped(Moments.of, by)).groups
    usable = {
        key: m for key, m in moments.items() if key is not None and m.target.n > 0 and m.nontarget.n > 0
    }
    if not usable:
        raise InputError(f"no value of {by!r} has both target and non-target trials")
    keys = sorted(usable, key=lambda value: (value,))
    target = np.array([float(usable[key].target.mean[0]) for key in keys])
    nontarget = np.array([float(usable[key].nontarget.mean[0]) for key in keys])
    quartiles = [tuple(float(q) for q in np.quantile(means, (0.25, 0.75))) for means in (target, nontarget)]
    return ZooCurve(
        tuple(map(str, keys)),
        target,
        nontarget,
        target_quartiles=(quartiles[0][0], quartiles[0][1]),
        nontarget_quartiles=(quartiles[1][0], quartiles[1][1]),
        n_left_out=len(moments) - len(usable),
    )
