"""Intervals of a rate, and the sample size that clusters leave."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

Interval = tuple[float, float]
Method = Literal["wilson", "exact", "jeffreys"]
Clusters = Mapping[Any, Sequence[float]]
"""Observations by cluster; what a cluster is called does not matter."""


class Share(NamedTuple):
    """k of n; n may be an effective size, and then k need not be whole either."""

    k: float | Fraction
    n: float | Fraction

    @property
    def rate(self) -> Fraction | None:
        """Return k/n, exact; None when n is 0, which is neither 0 nor 1."""
        return Fraction(self.k) / Fraction(self.n) if self.n else None

    def interval(self, confidence: float = 0.95, method: Method = "wilson") -> Interval | None:
        """Return a two-sided interval of the rate; None when n is 0.

        Wilson 1927 is computed here; `exact` is Clopper–Pearson 1934 and `jeffreys` the posterior
        of a Beta(½, ½) prior, both by quantiles of scipy's beta, so that n need not be whole.
        """
        if method == "wilson":
            return wilson(float(self.k), float(self.n), confidence)
        if self.n <= 0:
            return None
        from scipy.stats import beta

        good, bad, tail = float(self.k), float(self.n - self.k), (1 - confidence) / 2
        if method == "jeffreys":
            low, high = beta.ppf([tail, 1 - tail], good + 0.5, bad + 0.5)
            return float(low), float(high)
        return (
            float(beta.ppf(tail, good, bad + 1)) if good > 0 else 0.0,
            float(beta.ppf(1 - tail, good + 1, bad)) if bad > 0 else 1.0,
        )


def z_of(confidence: float) -> float:
    """Return the two-sided normal quantile: 1.959964 for 0.95."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson(k: float, n: float, confidence: float) -> Interval | None:
    """Return Wilson's score interval of k successes in n trials, two-sided; None when n is 0.

    Source: Wilson 1927; reference values of Newcombe 1998 are tests. It is computed without a
    library, because every gate needs it and none should wait for one.
    """
    if n <= 0:
        return None
    z = z_of(confidence)
    p = k / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At none and at all the ends are 0 and 1, which floats miss by a hair.
    return max(0.0, middle - half) if k > 0 else 0.0, min(1.0, middle + half) if k < n else 1.0


def clustered_size(clusters: Clusters) -> float:
    """Return the effective number of items when items of one cluster go together.

    See `remaining`; the variance of one item is that of zeros and ones.
    """
    values = [v for cluster in clusters.values() for v in cluster]
    mean = sum(values) / len(values) if values else 0.0
    return remaining(clusters, mean * (1 - mean))


def remaining(clusters: Clusters, variance: float) -> float:
    """Return n/deff: how many of n items are left, whose variance is `variance` one by one.

    deff is the ratio of the clustered to the naive variance of the mean, never below 1. Where the
    variance is 0, or all items are of one cluster, nothing tells how clusters differ: then it is
    the number of clusters. Source: Miller, arXiv 2411.00640.
    """
    n, kept = sum(map(len, clusters.values())), sum(map(bool, clusters.values()))
    if variance <= 0 or kept < 2:
        return float(kept)
    error = clustered_error(clusters) or 0.0
    return n / max(1.0, error * error * n / variance)


def clustered_error(clusters: Clusters) -> float | None:
    """Return the standard error of the mean of all items, clustered; None when there are none.

    √Σ_c(Σ_{i∈c}(s_i − s̄))² / n. Source: Miller, arXiv 2411.00640.
    """
    n = sum(map(len, clusters.values()))
    if not n:
        return None
    mean = sum(v for cluster in clusters.values() for v in cluster) / n
    total = sum(sum(v - mean for v in cluster) ** 2 for cluster in clusters.values())
    return math.sqrt(total) / n


def clustered_share(clusters: Clusters) -> Share:
    """Return the share of ones, cut down to its effective size: its rate stays, exactly."""
    values = [v for cluster in clusters.values() for v in cluster]
    if not values:
        return Share(0, 0)
    if len(values) == sum(map(bool, clusters.values())):
        return Share(Fraction(sum(values)), len(values))
    size = Fraction(clustered_size(clusters))
    return Share(Fraction(sum(values)) / len(values) * size, size)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Return an interval of the median between two of the values; None where they are too few.

    By order statistics and the binomial, whatever the distribution: six values are enough for 95 %.
    Source: Conover 1999, as scipy's `quantile_test` has it.
    """
    if not values:
        return None
    from scipy.stats import quantile_test

    found = quantile_test(values, p=0.5).confidence_interval(confidence)
    low, high = float(found.low), float(found.high)
    return None if math.isnan(low) or math.isnan(high) else (low, high)
