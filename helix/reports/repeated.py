"""What repeats of the same cells say, in words: flips, and who differs (METHOD 73)."""

from __future__ import annotations

from collections.abc import Iterator

from helix.model.scorecard import Component, CriterionRow, Flips, Scorecard, Variance
from helix.reports.words import counted

PARTS = ("agent", "judge", "verifier")
UNTOLD = "cannot be told"


def flips(row: CriterionRow) -> str | None:
    """Return how often two answers on one trace disagree; None where none was asked for twice."""
    return None if row.flips is None else flips_told(row.flips)


def flips_told(found: Flips) -> str:
    """Return a flip rate with its interval and what it was measured on."""
    left = f", {counted(found.undecided, 'undecided repeat')}" if found.undecided else ""
    over = f"over {counted(found.traces, 'trace')}{left}"
    if found.interval is None:
        return f"flip rate undefined {over}"
    return f"flip rate {percent(found.rate.k, found.rate.n, found.interval)} {over}"


def split(found: Variance | None) -> str | None:
    """Return why answers disagree, part by part; None where no part can be told."""
    if found is None:
        return None
    told = [f"{name} {part(getattr(found, name))}" for name in PARTS]
    return f"disagreement: {', '.join(told)}"


def part(found: Component | None) -> str:
    """Return one part of the disagreement with its interval."""
    if found is None:
        return UNTOLD
    return percent(max(found.rate.k, 0), found.rate.n, found.interval)


def percent(k: int, n: int, interval: tuple[float, float]) -> str:
    """Return a rate and its interval."""
    low, high = interval
    return f"{k / n:.1%} ({low:.0%} to {high:.0%})"


def told(card: Scorecard, most: int) -> Iterator[str]:
    """Yield what a run's repeats come to: the rows that flip, the worst first, then the split.

    Nothing where no trace was answered twice and no task has two traces.
    """
    asked = [row for row in card.criteria if row.flips is not None]
    flipping = sorted(filter(_rate, asked), key=_rate, reverse=True)
    if asked:
        of = counted(len(asked), "repeated criterion", "repeated criteria")
        yield f"{len(flipping)} of {of} {'flips' if len(asked) == 1 else 'flip'}"
    for row in flipping[:most]:
        yield f"{row.criterion_id}: {flips(row)}"
    if len(flipping) > most:
        yield f"and {counted(len(flipping) - most, 'more criterion', 'more criteria')} that flip"
    if (whole := split(card.variance)) is not None:
        yield whole


def _rate(row: CriterionRow) -> float:
    return row.flips.rate.k / row.flips.rate.n if row.flips and row.flips.rate.n else 0.0
