"""Weights that make conditions count alike, however many trials each has."""

from __future__ import annotations

from typing import Any

Weights = dict[Any, tuple[float, float]]


def nist_weights(sizes: Weights) -> Weights:
    """Weights of the targets and non-targets of each condition: largest count over own count, as NIST.

    Examples
    --------
    >>> nist_weights({"clean": (10, 100), "noisy": (5, 400)})
    {'clean': (1.0, 4.0), 'noisy': (2.0, 1.0)}
    """
    largest = [max(size[class_index] for size in sizes.values()) for class_index in (0, 1)]
    return {
        key: (largest[0] / size[0] if size[0] else 0.0, largest[1] / size[1] if size[1] else 0.0)
        for key, size in sizes.items()
    }


def scaled_to_size(weights: Weights, sizes: Weights) -> Weights:
    """The same weights, scaled so that each class keeps its number of trials."""
    scale = []
    for class_index in (0, 1):
        weighted = sum(weights[key][class_index] * sizes[key][class_index] for key in sizes)
        scale.append(sum(size[class_index] for size in sizes.values()) / weighted if weighted else 0.0)
    return {key: (t * scale[0], n * scale[1]) for key, (t, n) in weights.items()}
