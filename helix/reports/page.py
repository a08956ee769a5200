"""What the page of a run tells besides its traces: facts that every trace's part may need."""

from __future__ import annotations

from dataclasses import dataclass

from helix.model.scorecard import Scorecard


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The facts of a page that a trace's part is rendered with, whole or by itself."""

    card: Scorecard
