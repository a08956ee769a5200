"""What a judge's word is worth on one criterion, and the pass rate behind its errors (METHOD 61).

Measured by `validate` for the pipeline that judges here; without it a judge is unvalidated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helix.gate.rates import CONFIDENCE, Tasks
from helix.model.scorecard import Ratio, Standing, Status
from helix.model.verdict import CellState
from helix.stats import Share, clip, clustered_share, lang_reiczigel, rogan_gladen

_PASS: tuple[CellState, ...] = ("pass",)


@dataclass(frozen=True, slots=True)
class Trusted:
    """How a judge stands on a criterion; `tpr` and `tnr` are None where it never was measured."""

    status: Status = "unvalidated"
    reason: str = "never measured against labels"
    tpr: Share | None = None
    tnr: Share | None = None
    coverage: Ratio | None = None

    @property
    def measured(self) -> bool:
        """Whether rates may be corrected by what was measured."""
        return self.status in ("validated", "provisional")

    def bounds(self, tasks: Tasks, confidence: float | None) -> tuple[float, float] | None:
        """Return the lowest and highest corrected pass rate that cells allow; None if all are na.

        An undecided cell counts as fail for the lower bound and as pass for the upper (METHOD 66).
        """
        cells = {task: [s for s in group if s != "na"] for task, group in tasks.items()}
        if not any(cells.values()):
            return None
        low = self._interval(cells, _PASS, confidence or CONFIDENCE)
        high = self._interval(cells, ("pass", "uncertain"), confidence or CONFIDENCE)
        return (low[0], high[1]) if low and high else (0.0, 1.0)

    def standing(self, tasks: Tasks) -> Standing:
        """Return what the scorecard says of it, with the corrected rate of the decided cells."""
        decided = {t: [s for s in group if s in ("pass", "fail")] for t, group in tasks.items()}
        seen, found, interval = _share(decided, _PASS).rate, None, None
        if self.measured and seen is not None and self.tpr and self.tnr:
            found = rogan_gladen(seen, self.tpr.rate or 0, self.tnr.rate or 0)
            interval = self._interval(decided, _PASS, CONFIDENCE)
        return Standing(
            status=self.status,
            reason=self.reason,
            coverage=self.coverage,
            rate=None if found is None else float(found.value),
            interval=None if found is None else interval,
        )

    def _interval(
        self, cells: Tasks, good: Sequence[CellState], confidence: float
    ) -> tuple[float, float] | None:
        if not self.measured or self.tpr is None or self.tnr is None:
            return None
        found = lang_reiczigel(_share(cells, good), self.tpr, self.tnr, confidence)
        return None if found is None else clip(found)


def _share(cells: Tasks, good: Sequence[CellState]) -> Share:
    return clustered_share({t: [float(s in good) for s in group] for t, group in cells.items()})
