"""Slow, obvious definitions: every threshold tried, every pair compared, in exact fractions."""

import math
from fractions import Fraction
from itertools import pairwise

REJECT_ALL = "reject all"


def thresholds(target, nontarget):
    """All thresholds that can matter: every distinct score, then one above everything."""
    return [*sorted(set(target) | set(nontarget)), REJECT_ALL]


def error_counts(target, nontarget):
    """(misses, false alarms) of ``score >= threshold`` for every threshold, from accept all to reject all."""
    points = []
    for t in thresholds(target, nontarget):
        if t is REJECT_ALL:
            points.append((len(target), 0))
        else:
            points.append((sum(x < t for x in target), sum(x >= t for x in nontarget)))
    return points


def error_rates(target, nontarget):
    nt, nn = len(target), len(nontarget)
    return [(Fraction(m, nt), Fraction(f, nn)) for m, f in error_counts(target, nontarget)]


def lower_hull(points):
    """Vertices of the lower-left convex hull of (rising, falling) points, collinear ones left out."""
    hull = []
    for p in sorted(set(points), key=lambda point: (point[0], -point[1])):
        while len(hull) > 1 and _turn(hull[-2], hull[-1], p) <= 0:
            hull.pop()
        hull.append(p)
    # sorted by misses: at equal misses the fewer false alarms come last; the start may be above the hull
    return hull


def _turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def diagonal_crossing(points):
    """Where a polyline from (0, top) to (right, 0) meets rising = falling."""
    for (m0, f0), (m1, f1) in pairwise(points):
        if m0 == f0:
            return m0
        if m0 < f0 and m1 >= f1:
            share = Fraction(f0 - m0) / ((f0 - m0) + (m1 - f1))
            return m0 + share * (m1 - m0)
    raise AssertionError("no crossing")


def eer(target, nontarget):
    return diagonal_crossing(lower_hull(error_rates(target, nontarget)))


def eer_roc(target, nontarget):
    return diagonal_crossing(error_rates(target, nontarget))


def prbep(target, nontarget):
    return diagonal_crossing(lower_hull(error_counts(target, nontarget)))


def auc(target, nontarget):
    twice = sum(2 * (t > n) + (t == n) for t in target for n in nontarget)
    return Fraction(twice, 2 * len(target) * len(nontarget))


def dcf(p_miss, p_fa, p, c_miss=1, c_fa=1):
    """Normalized detection cost; exact when the arguments are."""
    cost = c_miss * p * p_miss + c_fa * (1 - p) * p_fa
    return cost / min(c_miss * p, c_fa * (1 - p))


def min_dcf(target, nontarget, p, c_miss=1, c_fa=1):
    return min(dcf(m, f, p, c_miss, c_fa) for m, f in set(error_rates(target, nontarget)))


def rates_at(target, nontarget, threshold):
    return (
        Fraction(sum(x < threshold for x in target), len(target)),
        Fraction(sum(x >= threshold for x in nontarget), len(nontarget)),
    )


def isotonic(target, nontarget):
    """Optimal non-decreasing share of targets per distinct score, by the min-max formula."""
    values = sorted(set(target) | set(nontarget))
    n_t = [sum(x == v for x in target) for v in values]
    n_n = [sum(x == v for x in nontarget) for v in values]

    def mean(a, b):
        t = sum(n_t[a : b + 1])
        return Fraction(t, t + sum(n_n[a : b + 1]))

    k = len(values)
    shares = [max(min(mean(a, b) for b in range(i, k)) for a in range(i + 1)) for i in range(k)]
    return values, n_t, n_n, shares


def pav_llrs(target, nontarget):
    """PAV LLR of each distinct score."""
    values, _, _, shares = isotonic(target, nontarget)
    ratio = Fraction(len(nontarget), len(target))
    llr = {}
    for value, p in zip(values, shares, strict=True):
        if p == 0:
            llr[value] = -math.inf
        elif p == 1:
            llr[value] = math.inf
        else:
            llr[value] = math.log(p / (1 - p) * ratio)
    return llr


def min_cross_entropy(target, nontarget, p=Fraction(1, 2)):
    """Cross-entropy in bits after PAV at prior ``p``; all inside the logarithms is exact."""
    nt, nn = len(target), len(nontarget)
    odds = Fraction(p) / (1 - Fraction(p))
    total = 0.0
    for n_t, n_n, share in zip(*isotonic(target, nontarget)[1:], strict=True):
        if n_t:
            lr = math.inf if share == 1 else share / (1 - share) * Fraction(nn, nt)
            total += float(p) * n_t / nt * (0.0 if share == 1 else math.log2(1 + 1 / (lr * odds)))
        if n_n:
            lr = share / (1 - share) * Fraction(nn, nt)
            total += float(1 - p) * n_n / nn * math.log2(1 + lr * odds)
    return total


def min_cllr(target, nontarget):
    return min_cross_entropy(target, nontarget)


def log2_1p_exp(x):
    """log2(1 + e^x) for one number."""
    if x == math.inf:
        return math.inf
    return (max(x, 0.0) + math.log1p(math.exp(-abs(x)))) / math.log(2.0)


def cllr(target, nontarget):
    t = math.fsum(log2_1p_exp(-x) for x in target if x != -math.inf) / len(target)
    n = math.fsum(log2_1p_exp(x) for x in nontarget if x != math.inf) / len(nontarget)
    if -math.inf in target or math.inf in nontarget:
        return math.inf
    return (t + n) / 2


def eer_threshold(target, nontarget):
    """The smallest score at which |Pmiss - Pfa| is smallest; inf only if nothing else is as good."""
    best = None
    for t, (m, f) in zip(thresholds(target, nontarget), error_rates(target, nontarget), strict=True):
        if best is None or abs(m - f) < best[0]:
            best = (abs(m - f), math.inf if t is REJECT_ALL else t)
    return best[1]
