"""Agreement of raters, corrected for chance; where chance explains everything it is undefined.

`counts` has one row per item and one column per category: how many raters chose it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def cohen_kappa(table: Sequence[Sequence[int]]) -> float | None:
    """Return Cohen's κ of a square table of two raters; None when both always say one category.

    Source: Cohen 1960, as statsmodels computes it.
    """
    n = sum(map(sum, table))
    columns = [sum(column) for column in zip(*table, strict=True)]
    chance = sum(sum(row) * column for row, column in zip(table, columns, strict=True))
    if n == 0 or chance == n * n:
        return None
    from statsmodels.stats.inter_rater import cohens_kappa

    return float(cohens_kappa(list(map(list, table)), return_results=False))


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Return Fleiss' κ; None without two raters, or when only one category was ever chosen.

    Every item needs the same number of raters, else ValueError. Source: Fleiss 1971, as
    statsmodels computes it.
    """
    raters = {sum(row) for row in counts}
    if len(raters) > 1:
        raise ValueError(f"every item must have as many raters (got {sorted(raters)})")
    if not raters or raters.pop() < 2 or _categories(counts) < 2:
        return None
    from statsmodels.stats import inter_rater

    return float(inter_rater.fleiss_kappa(list(map(list, counts))))


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]], level: Level = "nominal"
) -> float | None:
    """Return Krippendorff's α of one row per rater, one column per item; None is not rated.

    None when fewer than two different values can be paired. Source: Krippendorff 2011, computed
    by the package `krippendorff`.
    """
    columns = [[v for v in item if v is not None] for item in zip(*ratings, strict=True)]
    if len({value for item in columns if len(item) > 1 for value in item}) < 2:
        return None
    import krippendorff

    data = [[math.nan if value is None else value for value in row] for row in ratings]
    return float(krippendorff.alpha(reliability_data=data, level_of_measurement=level))


def gwet_ac1(counts: Sequence[Sequence[int]]) -> float | None:
    """Return Gwet's AC1 over the categories that are columns; None where no item has two raters.

    (po − pe)/(1 − pe) with pe = Σπ(1 − π)/(q − 1), which for two categories is 2π(1 − π).
    Unlike κ it stays near the observed agreement where one category is rare. Source: Gwet 2008.
    """
    rated = [row for row in counts if sum(row) > 0]
    paired = [row for row in rated if sum(row) > 1]
    categories = len(rated[0]) if rated else 0
    if not paired or categories < 2:
        return None
    observed = sum(_pairs(row) for row in paired) / len(paired)
    shares = [
        sum(row[column] / sum(row) for row in rated) / len(rated) for column in range(categories)
    ]
    chance = sum(share * (1 - share) for share in shares) / (categories - 1)
    return (observed - chance) / (1 - chance)


def _pairs(row: Sequence[int]) -> float:
    """Return the share of the pairs of raters of an item that agree."""
    n = sum(row)
    return sum(count * (count - 1) for count in row) / (n * (n - 1))


def _categories(counts: Sequence[Sequence[int]]) -> int:
    return sum(any(column) for column in zip(*counts, strict=True))
