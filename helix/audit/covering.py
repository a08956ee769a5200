"""Each component in the three dimensions, and every gap with its reason (METHOD 23)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from helix.model.audited import Coverage, CoverageGap
from helix.model.criterion import Criterion, Dimension


def covered(criteria: Iterable[Criterion], card: Mapping[str, Any]) -> Coverage:
    """Return the gaps of a run in one pass: its suite's rows against its scorecard.

    A component is covered in a dimension where at least one of its criteria decided a cell.
    """
    rows = {str(row.get("criterionId")): row for row in _objects(card.get("criteria"))}
    of: dict[str, list[Criterion]] = {
        str(one.get("component")): [] for one in _objects(card.get("components"))
    }
    for one in criteria:
        row = rows.get(one.criterion_id, {})
        component = row.get("component") or one.component or card.get("subject")
        of.setdefault(str(component), []).append(one)
    gaps = [
        CoverageGap(component=name, dimension=dimension, reason=reason)
        for name, held in of.items()
        for dimension in get_args(Dimension)
        if (reason := _gap([one for one in held if one.dimension == dimension], rows))
    ]
    return Coverage(components=tuple(of), gaps=tuple(gaps))


def _gap(held: Sequence[Criterion], rows: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return why criteria do not cover a dimension; None where they do."""
    if not held:
        return "no criterion"
    active = [one.criterion_id for one in held if one.status == "active"]
    if not active:
        return f"only retired criteria: {', '.join(one.criterion_id for one in held)}"
    ran = [name for name in active if name in rows]
    if not ran:
        return f"not selected: {', '.join(active)}"
    if any(_decided(rows[name]) for name in ran):
        return None
    return f"no cell was decided: {', '.join(ran)}"


def _decided(row: Mapping[str, Any]) -> bool:
    counts = row.get("counts")
    return isinstance(counts, dict) and any(counts.get(state) for state in ("pass", "fail"))


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; other programs write other things under the same names."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
