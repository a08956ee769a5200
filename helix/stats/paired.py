"""Two judges, prompts or runs on the same items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helix.stats.intervals import Interval, clustered_error, remaining, z_of


@dataclass(frozen=True, slots=True)
class McNemar:
    """The test of two paired rates: χ², continuity-corrected χ², and the exact p."""

    chi2: float
    chi2_corrected: float
    exact_p: float


def mcnemar(first_only: int, second_only: int) -> McNemar | None:
    """Return McNemar's test of the items that just one of two got right; None when there are none.

    Source: McNemar 1947, as statsmodels computes it; a tie is not corrected, as in R.
    """
    if first_only + second_only == 0:
        return None
    from statsmodels.stats import contingency_tables as tables

    table = [[0, first_only], [second_only, 0]]
    plain = tables.mcnemar(table, exact=False, correction=False)
    corrected = tables.mcnemar(table, exact=False, correction=first_only != second_only)
    exact = tables.mcnemar(table, exact=True)
    return McNemar(float(plain.statistic), float(corrected.statistic), float(exact.pvalue))


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference of paired items, its clustered standard error, and an interval."""

    value: float
    error: float
    interval: Interval


def paired_difference(
    clusters: Mapping[str, Sequence[tuple[bool, bool]]], confidence: float = 0.95
) -> Difference | None:
    """Return (rate of the first − rate of the second) over pairs, grouped by task; None without.

    See `mean_difference`.
    """
    grouped = {task: [int(a) - int(b) for a, b in pairs] for task, pairs in clusters.items()}
    return mean_difference(grouped, confidence)


def mean_difference(
    clusters: Mapping[Any, Sequence[int]], confidence: float = 0.95
) -> Difference | None:
    """Return the mean of what paired items differ by, grouped by task; None without an item.

    An item is 1 where the first alone got it right, −1 where the second alone did, else 0. The
    error is clustered (Miller, arXiv 2411.00640). The interval adds one item to each kind of
    discordant pair, which holds for small samples too (Bonett & Price 2012), on the number of
    pairs that clusters leave.
    """
    n = sum(map(len, clusters.values()))
    if not n:
        return None
    ahead = sum(v == 1 for cluster in clusters.values() for v in cluster)
    behind = sum(v == -1 for cluster in clusters.values() for v in cluster)
    value = (ahead - behind) / n
    error = clustered_error(clusters) or 0.0
    size = remaining(clusters, (ahead + behind) / n - value**2)
    first, second = (ahead / n * size + 1) / (size + 2), (behind / n * size + 1) / (size + 2)
    middle = first - second
    half = z_of(confidence) * math.sqrt((first + second - middle**2) / (size + 2))
    return Difference(value, error, (max(-1.0, middle - half), min(1.0, middle + half)))
