"""Accuracy, which is no number until the spread has passed (METHOD 73, 76)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from helix.errors import HelixError
from helix.improve.spread import Spread


class UnstableError(HelixError):
    """Accuracy was asked for before the gate on the spread passed."""


@dataclass(frozen=True)
class Accuracy:
    """Passes over all cells of all runs without na, exactly; an uncertain is no pass.

    It can be made of a spread that passed and of nothing else: UnstableError.
    """

    spread: Spread

    def __post_init__(self) -> None:
        if not self.spread.passed:
            raise UnstableError(
                "accuracy must be measured after the spread has passed (got "
                f"{len(self.spread.flapping)} cells that flap, "
                f"{len(self.spread.under_sampled)} of {len(self.spread.cases)} cases under-sampled)"
            )

    @cached_property
    def cells(self) -> int:
        """How many cells count: all but na."""
        return sum(state != "na" for cell in self.spread.cells for state in cell.states)

    @cached_property
    def passes(self) -> int:
        """How many of them are a pass."""
        return sum(state == "pass" for cell in self.spread.cells for state in cell.states)

    def gap(self, target: Fraction) -> Fraction:
        """Return how far the share of passes is from the target; where nothing counts, all of it.

        Never below 0.
        """
        share = Fraction(self.passes, self.cells) if self.cells else Fraction(0)
        return max(Fraction(0), target - share)

    def meets(self, target: Fraction) -> bool:
        """Whether the share of passes reaches the target; nothing that counts reaches none."""
        return self.cells > 0 and not self.gap(target)
