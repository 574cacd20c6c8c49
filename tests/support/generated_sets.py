"""Scores that formulas define: quantiles of distributions, no random numbers, the same in every language."""

import numpy as np
from scipy.special import expit, logit, ndtri


def uniform(n):
    """(i + 1/2) / n for i = 0 .. n - 1."""
    return (np.arange(n) + 0.5) / n


def normal(n):
    return ndtri(uniform(n))


def logistic(n):
    return logit(uniform(n))


def rounded(x, steps):
    return np.floor(steps * x + 0.5) / steps


def two_classes():
    """Name -> (target scores, non-target scores)."""
    return {
        "gaussian": (2 + 2 * normal(500), -2 + 2 * normal(5000)),  # LLRs that are nearly calibrated
        "unequal": (3 + 3 * normal(300), -1 + 1.5 * normal(3000)),
        "cosine": (0.55 + 0.12 * normal(400), 0.05 + 0.09 * normal(4000)),
        "ties": (rounded(1 + 1.7 * normal(200), 2), rounded(-1 + 1.3 * normal(1000), 2)),
        "tails": (4 + 2 * logistic(250), -4 + 1.5 * logistic(2500)),
        "saturated": (rounded(expit(6 + 4 * normal(400)), 1000), rounded(expit(-2 + 6 * normal(1500)), 1000)),
        "balanced": (1 + 1.4 * normal(20000), -1 + 1.4 * normal(20000)),
        "reversed": (-1 + normal(300), 1 + normal(700)),
        "tiny": (np.array([-1, 0.5, 2, 3]), np.array([-3, -2, -1, 0, 1.0])),
    }


def three_kinds():
    """Name -> kind -> (ASV scores, CM scores); no two scores are equal."""

    def kind(n, asv_mean, asv_sd, cm_mean, cm_sd):
        # 101 and n have no common factor: the two systems err nearly independently
        return asv_mean + asv_sd * normal(n), cm_mean + cm_sd * normal(n)[101 * np.arange(n) % n]

    return {
        "weak countermeasure": {
            "target": kind(300, 3.0, 1.6, 1.0, 1.5),
            "nontarget": kind(700, -3.0, 1.7, 1.1, 1.5),
            "spoof": kind(500, 1.5, 1.9, -1.3, 1.4),
        },
        "strong countermeasure": {
            "target": kind(251, 2.0, 1.1, 4.0, 1.9),
            "nontarget": kind(400, -1.5, 1.3, 3.9, 2.0),
            "spoof": kind(900, 1.8, 1.2, -3.2, 1.7),
        },
    }


def several_classes(n=241, k=4):
    """(log-likelihoods, labels): class c has column c raised; class 0 has most trials, class k - 1 fewest."""
    labels = np.floor(k * uniform(n) ** 1.5).astype(int)
    # n is prime: every multiplier visits all quantiles, in an order of its own
    columns = [1.3 * normal(n)[(17 + 6 * c) * np.arange(1, n + 1) % n] for c in range(k)]
    return np.column_stack(columns) + 1.5 * np.eye(k)[labels], labels


def read_table(path):
    """Rows of a table that another program printed: numbers where they are numbers."""
    header, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [dict(zip(header, [row[0], *map(float, row[1:])], strict=True)) for row in rows]
