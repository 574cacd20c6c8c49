"""A verdict on calibration in words that the evidence bears."""

from __future__ import annotations

from dataclasses import dataclass

from llrkit.trust.calibration.recalibration import IdentityTest, Recalibration

LEVEL = 0.03
PART_LEVEL = SHAPE_LEVEL = 0.01
WRONG_WAY = "pointing the wrong way: higher LLRs belong to non-targets"
FINE = "no evidence of miscalibration"


@dataclass(frozen=True)
class Verdict:
    """What is wrong with the calibration, as far as the trials can tell."""

    calibrated: bool
    """False where there is evidence of miscalibration."""
    parts: tuple[str, ...]
    """``"over-confident"``, ``"under-confident"``, ``"same-source"``, ``"different-source"``, ``"shape"``."""
    text: str

    def __str__(self) -> str:
        return self.text


def verdict(line: Recalibration, p_shape: float | None = None, level: float = LEVEL) -> Verdict:
    """The verdict of a recalibration, and of the null distribution of Cllr - min Cllr.

    Factor and offset are tested together at ``level``; if they are not 1 and 0, those of the two that are
    not by themselves at 1 % are named, or else the one that is further off. If they are, a Cllr - min Cllr
    beyond 99 % of its null distribution (``p_shape``) says that the LLRs are off in another way.

    Examples
    --------
    >>> line = Recalibration(0.5, 0.0, ((0.002, 0.0), (0.0, 0.02)), 100.0, 1e-20, float("inf"))
    >>> verdict(line).text
    'over-confident by a factor 2.0'
    """
    if line.p_value >= level:
        if p_shape is not None and p_shape <= SHAPE_LEVEL:
            text = "miscalibrated, but neither by a factor nor by an offset: look at the curves"
            return Verdict(False, ("shape",), text)
        return Verdict(True, (), FINE)
    tests = {"factor": line.p_factor, "bias": line.p_bias}
    named = [name for name, p in tests.items() if p <= PART_LEVEL] or [min(tests, key=tests.__getitem__)]
    parts, words = [], []
    if "factor" in named:
        over = line.factor > 1.0 or line.factor < 0.0
        parts.append("over-confident" if over else "under-confident")
        if line.a <= 0.0:
            words.append(WRONG_WAY)
        else:
            words.append(f"{parts[-1]} by a factor {max(line.factor, 1.0 / line.factor):.1f}")
    if "bias" in named:
        parts.append("same-source" if line.bias > 0.0 else "different-source")
        words.append(f"biased towards {parts[-1]} by {abs(line.bias):.1f} nats")
    return Verdict(False, tuple(parts), " and ".join(words))


def verdict_without_line(test: IdentityTest, gap: tuple[float, float], level: float = LEVEL) -> Verdict:
    """The verdict where the classes do not overlap: whether something is wrong, but not by how much.

    Parameters
    ----------
    gap
        The highest LLR of non-targets and the lowest of targets.

    Examples
    --------
    >>> verdict_without_line(IdentityTest(30.0, 3e-7, float("inf"), (-5.0, 1.0)), (-0.2, 0.1)).parts
    ('under-confident',)
    """
    if test.p_value >= level:
        return Verdict(True, (), f"{FINE}, but the classes do not overlap")
    if gap[0] > gap[1]:
        return Verdict(False, ("over-confident",), WRONG_WAY)
    slope, offset = test.gradient
    if gap[0] <= 0.0 <= gap[1] and abs(slope) >= abs(offset):
        direction = text = "under-confident" if slope < 0.0 else "over-confident"
    else:  # an offset would make all decisions at 0 right, or help more than a factor
        direction = "same-source" if offset > 0.0 else "different-source"
        text = f"biased towards {direction}"
    return Verdict(False, (direction,), f"{text}; the classes do not overlap, so nobody can tell by how much")
