"""What is said of the rows of a suite, and of two suites beside each other, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from helix.app.plugins import registry
from helix.model.criterion import Criterion, Suite
from helix.model.history import Change
from helix.model.validation import Trust
from helix.reports.visible import one_line, visible
from helix.reports.words import NOT_RECORDED, columns, counted
from helix.suite.compile import CompiledRow, compile, gating_reason
from helix.suite.dumping import row_page
from helix.suite.living import Living, changed_fields
from helix.trust import last_measured

_COLUMNS = ("id", "class", "severity", "origin", "grounding", "gates", "why", "status", "judge",
            "changes")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """A row and how it stands; `trust` is how its judge was measured last, under any pipeline.

    `kept` says whether the suite keeps a history at all.
    """

    row: Criterion
    severity: str
    klass: str
    gating: bool
    why: str
    trust: Trust | None
    history: tuple[Change, ...]
    kept: bool

    @property
    def grounding(self) -> str:
        """How a mined row is grounded; one that does not say counts as inferred (METHOD 67)."""
        if self.row.discovery is not None:
            return self.row.discovery.grounding
        return "inferred" if self.row.origin == "mined" else "-"

    @property
    def judge(self) -> str:
        """How the judge of the row was measured last."""
        if self.klass == "code":
            return "code decides"
        if self.trust is None:
            return "never measured"
        model = (self.trust.pipeline.judge or {}).get("pin", {}).get("model", NOT_RECORDED)
        return f"{self.trust.status} ({model}, {self.trust.at})"

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        return (
            one_line(self.row.criterion_id), self.klass, self.severity, self.row.origin,
            self.grounding, "yes" if self.gating else "no", one_line(self.why, 40),
            self.row.status, one_line(self.judge, 40),
            str(len(self.history)) if self.kept else NOT_RECORDED,
        )  # fmt: skip

    def as_json(self, *, whole: bool = False) -> dict[str, Any]:
        """Return the facts as plain data; the whole row and its history where they are wanted."""
        standing = None if self.trust is None else msgspec.to_builtins(self.trust)
        told: dict[str, Any] = {
            "criterionId": self.row.criterion_id,
            "class": self.klass,
            "severity": self.severity,
            "origin": self.row.origin,
            "grounding": None if self.grounding == "-" else self.grounding,
            "gating": self.gating,
            "why": self.why,
            "status": self.row.status,
            "lastMeasured": standing and {k: standing[k] for k in ("status", "reason", "at")},
            "changes": len(self.history) if self.kept else None,
        }
        if whole:
            told["row"] = self.row.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            told["history"] = [msgspec.to_builtins(change) for change in self.history]
        return told

    def page(self) -> Iterator[str]:
        """Yield the lines of `helix criteria show`."""
        yield visible(row_page(self.row)).rstrip()
        yield ""
        yield one_line(f"gates: {'yes' if self.gating else 'no'} ({self.why})")
        yield one_line(f"judge: {self.judge}")
        yield "history:" if self.history else f"history: {NOT_RECORDED}"
        yield from (f"  {one_line(_told(change))}" for change in self.history)


def facts(living: Living, state: str | Path, source: str | None = None) -> list[Facts]:
    """Return the facts of every row, tombstones too; SuiteError where a row does not compile.

    `source` is the file of a suite that is no living one.
    """
    from helix.suite import load

    compiled = compile(living.suite if source is None else load(source), registry())
    rows = {row.id: row for row in compiled.rows}
    return [
        _fact(row, rows.get(row.criterion_id), living, state, kept=source is None)
        for row in living.suite.criteria
    ]


def _fact(
    row: Criterion, compiled: CompiledRow | None, living: Living, state: str | Path, *, kept: bool
) -> Facts:
    klass = compiled.klass if compiled else row.klass or "-"
    severity = compiled.severity if compiled else row.severity or "LOW"
    return Facts(
        row=row,
        severity=severity if compiled or row.severity else "-",
        klass=klass,
        gating=compiled is not None and compiled.gating,
        why=gating_reason(row, severity),
        trust=last_measured(state, living.suite.suite, row.criterion_id),
        history=living.changes(row.criterion_id),
        kept=kept,
    )


def table(found: Sequence[Facts]) -> Iterator[str]:
    """Yield the lines of `helix criteria list`."""
    if not found:
        yield "the suite has no rows"
        return
    yield from columns([_COLUMNS, *(fact.cells() for fact in found)])
    gating = sum(fact.gating for fact in found)
    retired = sum(fact.row.status == "retired" for fact in found)
    yield f"{counted(len(found), 'row')}: {gating} gate, {retired} retired"


def _told(change: Change) -> str:
    who = f" by {change.by}" if change.by else ""
    when = f"{change.at or 'undated'}: "
    what = f" ({', '.join(change.fields)})" if change.fields else ""
    under = f" under version {change.subject_version}" if change.subject_version else ""
    filled = f"; by default: {', '.join(change.filled)}" if change.filled else ""
    return f"{when}{change.event}{what}{who}{under}{': ' if change.why else ''}{change.why}{filled}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Two suites row by row; `back` are tombstones that are active again."""

    added: tuple[str, ...]
    retired: tuple[str, ...]
    changed: dict[str, tuple[str, ...]]
    lost: tuple[str, ...]
    back: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        return {
            "added": list(self.added),
            "retired": list(self.retired),
            "changed": {row: list(keys) for row, keys in self.changed.items()},
            "lost": list(self.lost),
            "backFromRetirement": list(self.back),
        }


def diff(before: Suite, after: Suite) -> Difference:
    """Return how two suites differ, row by row in their order."""
    old = {row.criterion_id: row for row in before.criteria}
    new = {row.criterion_id: row for row in after.criteria}
    both = [(old[name], row) for name, row in new.items() if name in old]
    changed = {a.criterion_id: changed_fields(a, b) for a, b in both if a != b}
    turned = {a.criterion_id: (a.status, b.status) for a, b in both}
    return Difference(
        added=tuple(name for name in new if name not in old),
        retired=tuple(n for n, pair in turned.items() if pair == ("active", "retired")),
        changed={n: keys for n, keys in changed.items() if keys != ("status",)},
        lost=tuple(name for name in old if name not in new),
        back=tuple(n for n, pair in turned.items() if pair == ("retired", "active")),
    )


def diff_lines(found: Difference) -> Iterator[str]:
    """Yield the lines of `helix criteria diff`, errors first."""
    yield from (one_line(f"error: {n}: lost; retire a row, never delete it") for n in found.lost)
    yield from (one_line(f"error: {n}: back from retirement") for n in found.back)
    yield from (one_line(f"added: {name}") for name in found.added)
    yield from (one_line(f"retired: {name}") for name in found.retired)
    for name, keys in found.changed.items():
        yield one_line(f"changed: {name}: {', '.join(keys)}")
    yield (
        f"{len(found.added)} added, {len(found.retired)} retired, {len(found.changed)} changed, "
        f"{len(found.lost)} lost"
    )
