"""The cells of one trace: what code decided and what a judge said, each row once (METHOD 34)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from helix.grounding import dead, resolve_refs
from helix.judging.judged import Judged
from helix.model.criterion import Criterion
from helix.model.trace import Trace
from helix.model.verdict import (
    MACHINERY_CAUSES,
    BlockedBy,
    BlockKind,
    Cause,
    CellState,
    CodePart,
    NotApplicable,
    ProducedBy,
    Verdict,
)
from helix.registry import Decision


def code_cell(trace: Trace, criterion: str, decision: Decision) -> Verdict | NotApplicable:
    """Turn a check's decision into a cell; a check whose own evidence is dead is a check error."""
    refs = resolve_refs(trace, decision.refs)
    gone = dead(refs)
    if gone and decision.state != "uncertain":
        place = f"{gone[0].obs} {gone[0].path}: {gone[0].note}"
        text = f"{decision.detail} (the check cites a place that does not resolve: {place})"
        return Verdict(
            criterion_id=criterion,
            critique=text,
            result="uncertain",
            refs=refs,
            produced_by="code",
            cause="check-error",
        )
    if decision.state == "na":
        return NotApplicable(
            criterion_id=criterion, critique=decision.detail, refs=refs, produced_by="code"
        )
    return Verdict(
        criterion_id=criterion,
        critique=decision.detail,
        result=decision.state,
        confidence=None if decision.state == "uncertain" else 1.0,
        claim=decision.detail if decision.state != "uncertain" else None,
        refs=refs,
        produced_by="code",
        cause=decision.cause,
        blocked_by=_block(decision.cause, decision.detail),
    )


def _block(cause: Cause | None, text: str) -> BlockedBy | None:
    if cause is None or cause in MACHINERY_CAUSES:
        return None
    kind: BlockKind = "scope" if cause == "unresolved-route" else "factual-intent"
    return BlockedBy(kind=kind, text=text)


@dataclass(slots=True)
class Cells:
    """The cells of one line: verdicts, na entries, the dense map, and who nobody adjudicated."""

    verdicts: list[Verdict] = field(default_factory=list)
    excused: list[NotApplicable] = field(default_factory=list)
    dense: dict[str, CellState] = field(default_factory=dict)
    nobody: dict[str, Cause] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def cells_of(
    rows: Sequence[Criterion],
    code: Mapping[str, Verdict | NotApplicable],
    residual: Sequence[Criterion],
    judged: Judged | None,
    blocked: str | None,
) -> Cells:
    """Return every row's cell, in suite order; `blocked` says why no judged row may be decided."""
    cells = Cells()
    left = {row.criterion_id for row in residual}
    for row in rows:
        cid = row.criterion_id
        found = code.get(cid)
        made: ProducedBy = "hybrid" if row.klass == "hybrid" else "judge"
        part = _part(found) if row.klass == "hybrid" else None
        cell: Verdict | NotApplicable | None
        if cid not in left:
            cell = found
            if cell is not None and row.klass == "hybrid":
                cell = msgspec.structs.replace(cell, produced_by="hybrid", code=part)
        elif blocked is not None:
            cell = Verdict(
                criterion_id=cid,
                critique=blocked,
                result="uncertain",
                produced_by=made,
                code=part,
                cause="unresolved-route",
                blocked_by=BlockedBy(kind="scope", text=blocked),
            )
        else:
            cell = _judged_cell(cid, judged, made, part)
        _place(cells, cid, cell, judged)
    return cells


def _judged_cell(
    criterion: str, judged: Judged | None, made: ProducedBy, part: CodePart | None
) -> Verdict | NotApplicable | None:
    if judged is None:
        return None
    found = judged.verdicts.get(criterion) or judged.not_applicable.get(criterion)
    if found is None:
        return None
    return msgspec.structs.replace(found, produced_by=made, code=part)


def _place(
    cells: Cells, criterion: str, cell: Verdict | NotApplicable | None, judged: Judged | None
) -> None:
    if cell is None:
        cells.dense[criterion] = "uncertain"
        missing = judged.missing.get(criterion) if judged is not None else None
        cells.nobody[criterion] = missing.cause if missing is not None else "unavailable"
        if missing is not None and missing.text:
            cells.reasons[criterion] = missing.text
    elif isinstance(cell, NotApplicable):
        cells.excused.append(cell)
        cells.dense[criterion] = "na"
    else:
        cells.verdicts.append(cell)
        cells.dense[criterion] = cell.result


def _part(found: Verdict | NotApplicable | None) -> CodePart | None:
    if found is None:
        return None
    state: CellState = "na" if isinstance(found, NotApplicable) else found.result
    return CodePart(result=state, critique=found.critique, refs=found.refs)
