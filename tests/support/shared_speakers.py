"""Small sets of trials that share speakers, some of whom are easier to recognize than others."""

import numpy as np

import llrkit as lk


def sample(n_speakers=12, n=400, seed=0, names=False, crossed=False):
    """Random trials; ``crossed`` gives targets two different speakers now and then."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, n_speakers, n), rng.integers(0, n_speakers, n)
    label = left == right
    if crossed:
        label ^= rng.random(n) < 0.1
    ease = rng.normal(size=n_speakers)
    score = np.round(np.where(label, 2.0, -2.0) + ease[left] + ease[right] + rng.normal(0, 2, n), 1)
    who = [f"s{i}" for i in range(n_speakers)] if names else list(range(n_speakers))
    columns = {"left": [who[i] for i in left], "right": [who[i] for i in right]}
    return lk.Trials({"score": score, "label": label, **columns})
