"""What a discovery comes to: everything that its artifacts and its report are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from helix.discover.asking import Asked
from helix.discover.categories import Emergent
from helix.discover.fixtures import Fixture
from helix.discover.norms import Examined, Trial
from helix.discover.proposing import Proposed
from helix.discover.saturation import Curve
from helix.errors import ExitCode
from helix.model.config import Config
from helix.model.criterion import Suite
from helix.model.discovery import Determination
from helix.model.manifest import Survey
from helix.model.preference import Preference


@dataclass(slots=True)
class Discovered:
    """What came of a discovery, before and after it was written."""

    config: Config
    survey: Survey
    folder: Path
    examined: Examined
    trials: list[Trial]
    determinations: list[Determination]
    emergent: Emergent
    rows: list[Proposed]
    fixtures: list[Fixture]
    curve: Curve
    asked: Asked | None = None
    preferences: tuple[Preference, ...] = ()
    grown: tuple[str, ...] = ()
    living: Path | None = None

    @property
    def suite(self) -> Suite:
        """The criteria as a suite file."""
        return Suite(
            suite=self.config.subject.name, criteria=tuple(row.criterion for row in self.rows)
        )

    @property
    def exit_code(self) -> ExitCode:
        """0 when the work was done, 5 where answers are awaited, 4 where something broke."""
        if self.asked is not None and self.asked.broken:
            return ExitCode.INTERNAL
        if self.asked is not None and self.asked.pending:
            return ExitCode.WAITING
        return ExitCode.PASS
