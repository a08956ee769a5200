"""What an audit found: every cell that was compared, and every assertion that broke."""

from __future__ import annotations

from dataclasses import dataclass, field

from helix.backends.dispatch import Tray

RANK = {"fail": 0, "uncertain": 1, "incomplete": 1, "na": 2, "pass": 3}


@dataclass(frozen=True, slots=True)
class Move:
    """One compared cell: of which row and kind, planted how, what it was and what it became.

    `reads` is whether a code row reads what was planted; None where a judge decides. `bare` is
    whether nothing was planted, so that what moves is unsteady by itself.
    """

    criterion: str
    kind: str
    trace: str
    payload: str
    klass: str
    place: str
    where: str
    before: str
    after: str
    reads: bool | None = None
    bare: bool = False

    @property
    def moved(self) -> bool:
        """Whether the cell is not what it was."""
        return self.before != self.after

    @property
    def gained(self) -> bool:
        """Whether the cell moved towards a pass: a fail that is none any more counts too."""
        return RANK[self.after] > RANK[self.before]

    @property
    def passed(self) -> bool:
        """Whether the cell became a pass."""
        return self.moved and self.after == "pass"

    @property
    def astray(self) -> bool:
        """Whether a code row moved that does not read what was planted."""
        return self.moved and self.reads is False


@dataclass(slots=True)
class Findings:
    """What came of an audit: every compared cell, and every assertion about a prompt that broke.

    `judge` is who was asked, None for nobody; `dry` who would have been. `broken` holds
    (assertion, trace, payload id, place). `unanswered` counts judged cells that nobody answered,
    `pending` the recordings that wait for a dispatched answer in `trays`, `failed` those that an
    internal error stopped.
    """

    seed: int
    per_class: int
    judge: str | None = None
    dry: str | None = None
    rows: dict[str, str] = field(default_factory=dict)
    traces: int = 0
    copies: int = 0
    skipped: int = 0
    unreadable: int = 0
    prompts: int = 0
    cells: list[Move] = field(default_factory=list)
    broken: list[tuple[str, str, str, str]] = field(default_factory=list)
    unanswered: int = 0
    pending: int = 0
    trays: tuple[Tray, ...] = ()
    failed: int = 0

    @property
    def gained(self) -> list[Move]:
        """The cells that moved towards a pass."""
        return [cell for cell in self.cells if cell.gained]

    @property
    def astray(self) -> list[Move]:
        """The cells of code rows that moved though the row reads nothing that was planted."""
        return [cell for cell in self.cells if cell.astray]

    @property
    def tested(self) -> bool:
        """Whether anything was compared or asserted."""
        return bool(self.cells or self.prompts)
