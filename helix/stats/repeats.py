"""Repeats of the same items: does it always pass, does it ever, does the answer flip.

`items` are (passes, repeats) per item. No item, or an item with too few repeats, is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from helix.stats.intervals import Interval, wilson

Items = Sequence[tuple[int, int]]


def pass_hat_k(items: Items, k: int) -> Fraction | None:
    """Return pass^k, the chance that k repeats of an item all pass: mean of C(c,k)/C(n,k).

    Source: tau-bench.
    """
    if not _enough(items, k):
        return None
    return sum(Fraction(math.comb(c, k), math.comb(n, k)) for c, n in items) / Fraction(len(items))


def pass_at_k(items: Items, k: int) -> Fraction | None:
    """Return pass@k, the chance that one of k repeats passes: mean of 1 − C(n−c,k)/C(n,k)."""
    failed = pass_hat_k([(n - c, n) for c, n in items], k)
    return None if failed is None else 1 - failed


def flip_rate(items: Items) -> Fraction | None:
    """Return the chance that two repeats of an item disagree: mean of 2k(R−k)/(R(R−1))."""
    if not _enough(items, 2):
        return None
    return sum(Fraction(2 * k * (n - k), n * (n - 1)) for k, n in items) / Fraction(len(items))


def flip_interval(items: Items, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's interval of the flip rate on as many trials as there are items.

    With two repeats an item flips or does not; with more the interval is wider than need be,
    because no mean of values in 0..1 varies more than one of zeros and ones.
    """
    rate = flip_rate(items)
    return None if rate is None else wilson(float(rate) * len(items), len(items), confidence)


def entropy(items: Items) -> float | None:
    """Return the mean entropy of an item's repeats in bits: 0 always the same, 1 half and half."""
    if not _enough(items, 1):
        return None
    bits = (-p * math.log2(p) for k, n in items for p in (k / n, 1 - k / n) if p > 0)
    return abs(math.fsum(bits)) / len(items)


def _enough(items: Items, repeats: int) -> bool:
    return bool(items) and all(n >= repeats for _, n in items)
