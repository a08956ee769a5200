"""Intervals of a rate, without a library: Wilson, and the sample size that clusters leave."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist


def wilson(k: float, n: float, confidence: float) -> tuple[float, float] | None:
    """Return Wilson's score interval of k successes in n trials, two-sided; None when n is 0.

    Source: Wilson 1927; reference values of Newcombe 1998 are tests.
    """
    if n <= 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    p = k / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def clustered_size(clusters: Mapping[str, Sequence[float]]) -> float:
    """Return the effective number of items when items of one cluster go together.

    n/deff, with deff the ratio of the clustered to the naive variance of the mean, never below 1;
    where the naive variance is 0 it is the number of clusters. Source: Miller, arXiv 2411.00640.
    """
    values = [v for cluster in clusters.values() for v in cluster]
    n = len(values)
    if n == 0:
        return 0.0
    mean = sum(values) / n
    naive = mean * (1 - mean) / n
    if naive == 0:
        return float(sum(1 for cluster in clusters.values() if cluster))
    clustered = sum(sum(v - mean for v in cluster) ** 2 for cluster in clusters.values()) / n**2
    return n / max(1.0, clustered / naive)
