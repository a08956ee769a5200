"""Rates of one criterion with what they are worth: intervals, and pass^k over tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from helix.gate.groups import each
from helix.model.scorecard import Ratio, Repeats
from helix.model.verdict import CellState
from helix.stats import clustered_share, pass_at_k, pass_hat_k

CONFIDENCE = 0.95
MOST = 10
DECIDED: Final = ("pass", "fail")
Tasks = Mapping[Any, Sequence[CellState]]


def failing_interval(tasks: Tasks) -> tuple[float, float] | None:
    """Return Wilson's interval of the failing share of decided cells; None where none is.

    Runs of one task count what they leave together.
    """
    fails = each(tasks, lambda group: [float(s == "fail") for s in group if s in DECIDED])
    return clustered_share(fails).interval(CONFIDENCE)


def repeats(tasks: Tasks) -> Repeats | None:
    """Return pass^k and pass@k; None where no task has two runs.

    na is set aside. A task with an undecided run is left out and counted, because that run could
    still be either.
    """
    applying = each(tasks, lambda group: [s for s in group if s != "na"])
    runs = [group for group in applying.values() if group]
    if not any(len(group) > 1 for group in runs):
        return None
    items = [(group.count("pass"), len(group)) for group in runs if "uncertain" not in group]
    most = min([MOST, *(n for _, n in items)]) if items else 0
    return Repeats(
        tasks=len(items),
        undecided=len(runs) - len(items),
        pass_hat=tuple(_ratio(pass_hat_k(items, k)) for k in range(1, most + 1)),
        pass_at=tuple(_ratio(pass_at_k(items, k)) for k in range(1, most + 1)),
    )


def _ratio(rate: Fraction | None) -> Ratio:
    return Ratio(k=0, n=0) if rate is None else Ratio(k=rate.numerator, n=rate.denominator)
