"""Repeats of the same items: does it always pass, does it ever.

`items` are (passes, repeats) per item. No item, or an item with too few repeats, is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

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


def _enough(items: Items, repeats: int) -> bool:
    return bool(items) and all(n >= repeats for _, n in items)
