"""lint-grounding: whether the verdicts of a run are grounded as their tier requires (METHOD 56).

Looks at finished lines and the traces they are about, and at nothing that made them. A defect of a
line of this version is an error; in an older line it is a warning, it counts against grounded, and
a verdict is taken back only where none of its refs resolves (METHOD 4, 46, 67).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from helix.grounding.bind import lacking
from helix.grounding.ground import Ground
from helix.grounding.resolve import all_weak, dead, resolve_refs
from helix.grounding.settle import uncertain
from helix.grounding.texts import says
from helix.model.legacy import is_current
from helix.model.packet import Premise
from helix.model.trace import Trace
from helix.model.verdict import (
    MACHINERY_CAUSES,
    MatrixVerdictFile,
    NotApplicable,
    Ref,
    Verdict,
    by_code_alone,
)

Level = Literal["error", "warning"]
Kind = Literal[
    "no-refs", "dead-ref", "no-claim", "no-critique", "no-litmus", "unbound-term", "no-block",
    "blocked-decided", "interpretation", "absence", "dense-map", "walk", "no-trace", "other-trace",
]  # fmt: skip
_ABSENCE = re.compile(
    r"\b(?:did|does|do|was|were|is|are|has|have|had) not\b|n't\b|n’t\b|\bnever\b|\bno\b|\bnothing\b"
    r"|\bnone\b|\bwithout\b",
    re.IGNORECASE,
)
_WALK = {
    "understanding": "understanding",
    "expectedTrajectory": "expected_trajectory",
    "agentSteps": "agent_steps",
    "judgeSteps": "judge_steps",
}


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong with the grounding of a line, and whether that is an error."""

    level: Level
    kind: Kind
    trace: str
    criterion: str | None
    text: str


@dataclass(slots=True)
class Linted:
    """What was found in some lines: defects, grounded of decided, verdicts that were taken back."""

    defects: list[Defect] = field(default_factory=list)
    lines: int = 0
    decided: int = 0
    grounded: int = 0
    taken_back: list[tuple[str, str]] = field(default_factory=list)

    def add(
        self,
        line: MatrixVerdictFile,
        trace: Trace | None,
        *,
        terms: Mapping[str, Sequence[str]],
        channels: Collection[str],
        premises: Sequence[Premise] = (),
    ) -> MatrixVerdictFile:
        """Take in a line, and return it as it stands: an old one without what does not resolve.

        `terms` are those of the rows that are known, `channels` what the subject declares complete,
        `premises` what people vouched for when it was judged.
        """
        self.lines += 1
        level: Level = "error" if is_current(line) else "warning"
        found = list(_defects(line, _ground(line, trace, tuple(channels), premises), terms))
        for kind, criterion, text in found:
            self.defects.append(
                Defect(_level(kind, level), kind, line.trajectory_id, criterion, text)
            )
        bad = {c for kind, c, _ in found if kind in ("no-refs", "dead-ref", "absence")}
        decided = [v for v in line.verdicts if v.result != "uncertain"]
        self.decided += len(decided)
        self.grounded += sum(trace is not None and v.criterion_id not in bad for v in decided)
        if trace is None or is_current(line):
            return line
        kept = tuple(self._kept(v, trace, line.trajectory_id) for v in line.verdicts)
        dense = {**line.dense_map, **{v.criterion_id: v.result for v in kept}}
        return msgspec.structs.replace(line, verdicts=kept, dense_map=dense)

    def _kept(self, verdict: Verdict, trace: Trace, of: str) -> Verdict:
        refs = resolve_refs(trace, verdict.refs)
        if verdict.result == "uncertain" or not refs or len(dead(refs)) < len(refs):
            return verdict
        self.taken_back.append((of, verdict.criterion_id))
        text = "none of its refs resolves"
        return uncertain(verdict, "dead-ref", "factual-intent", text)


def lint(
    pairs: Iterable[tuple[MatrixVerdictFile, Trace | None]],
    *,
    terms: Mapping[str, Sequence[str]] | None = None,
    channels: Collection[str] = (),
    premises: Sequence[Premise] = (),
) -> Linted:
    """Return what is found in lines, each with its trace, or None where that was not read."""
    found = Linted()
    for line, trace in pairs:
        found.add(line, trace, terms=terms or {}, channels=channels, premises=premises)
    return found


Found = tuple[Kind, "str | None", str]


def _level(kind: Kind, level: Level) -> Level:
    return "warning" if kind in ("walk", "no-trace") else level


def _ground(
    line: MatrixVerdictFile,
    trace: Trace | None,
    channels: tuple[str, ...],
    premises: Sequence[Premise],
) -> Ground | None:
    if trace is None:
        return None
    told = tuple(premise for premise in premises if premise.concerns(line.dense_map, trace.id))
    return Ground(trace, channels, premises=told)


def _defects(
    line: MatrixVerdictFile, ground: Ground | None, terms: Mapping[str, Sequence[str]]
) -> Iterator[Found]:
    trace = None if ground is None else ground.trace
    if trace is None:
        yield "no-trace", None, "the trace was not read, so no citation could be looked up"
    elif line.provenance is not None and line.provenance.trace != trace.source.digest:
        yield "other-trace", None, "the trace is not the one that was judged: its digest differs"
    for verdict in line.verdicts:
        cid = verdict.criterion_id
        yield from ((kind, cid, text) for kind, text in _filled(verdict, terms.get(cid, ())))
        if ground is not None:
            yield from ((kind, cid, text) for kind, text in _cited(verdict, ground))
    for entry in line.not_applicable:
        yield from ((kind, entry.criterion_id, text) for kind, text in _excused(entry, ground))
    yield from _accounted(line)
    yield from _walked(line, trace)


def _filled(verdict: Verdict, terms: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """Yield what the tier of a verdict requires and does not have."""
    decided = verdict.result != "uncertain"
    if not says(verdict.critique):
        yield "no-critique", "has no critique"
    if decided and verdict.blocked_by is not None:
        yield "blocked-decided", "is decided, and says what it is blocked by"
    if not decided and verdict.blocked_by is None and verdict.cause not in MACHINERY_CAUSES:
        yield "no-block", "is uncertain, and does not say what it is blocked by"
    if decided and not verdict.refs:
        yield "no-refs", "is decided, and cites nothing"
    if by_code_alone(verdict):
        held = ("litmus", "bindings", "assumptions")
        if named := [name for name in held if getattr(verdict, name)]:
            yield "interpretation", f"is by code, and holds {', '.join(named)}"
        return
    if not decided:
        return
    if not says(verdict.claim):
        yield "no-claim", "is decided, and claims nothing"
    if verdict.litmus is None:
        yield "no-litmus", "is decided, and does not say what further premise it needs"
    unbound = [b.term for b in verdict.bindings if b.ref is None]
    if missing := [*lacking(verdict, terms), *unbound]:
        yield "unbound-term", f"is decided, and binds no referent of: {', '.join(missing)}"


def _looked_up(
    cell: Verdict | NotApplicable, refs: Sequence[Ref], ground: Ground
) -> tuple[Ref, ...]:
    return resolve_refs(ground.trace, refs) if by_code_alone(cell) else ground.resolved(refs)


def _cited(verdict: Verdict, ground: Ground) -> Iterator[tuple[Kind, str]]:
    bound = [b.ref for b in verdict.bindings if b.ref is not None]
    refs = _looked_up(verdict, [*verdict.refs, *bound], ground)
    told = {(r.obs, r.path, r.value) for r in dead([*verdict.refs, *bound])}
    decided = verdict.result != "uncertain"
    yield from _dead([r for r in refs if decided or (r.obs, r.path, r.value) not in told])
    if verdict.code is not None:
        yield from _dead(resolve_refs(ground.trace, verdict.code.refs))
    if decided and verdict.refs and not ground.tells_of_trace(verdict.refs):
        yield "no-refs", "is decided, and cites nothing of the trace, but what people vouch for"
    if by_code_alone(verdict) or not decided or not _ABSENCE.search(verdict.claim or ""):
        return
    if all_weak(refs[: len(verdict.refs)]):
        yield "absence", "states an absence, and names no inspected field and no scan"


def _excused(entry: NotApplicable, ground: Ground | None) -> Iterator[tuple[Kind, str]]:
    if not by_code_alone(entry) and not entry.refs:
        yield "no-refs", "is said not to apply, and cites nothing"
    if not says(entry.critique):
        yield "no-critique", "has no critique"
    if ground is not None:
        yield from _dead(_looked_up(entry, entry.refs, ground))


def _dead(refs: Sequence[Ref]) -> Iterator[tuple[Kind, str]]:
    for ref in dead(refs):
        kind: Kind = "absence" if ref.value is None else "dead-ref"
        yield kind, f"{ref.obs} {ref.path}: {ref.note}"


def _accounted(line: MatrixVerdictFile) -> Iterator[Found]:
    """Yield the cells that the dense map and the verdicts tell differently (METHOD 34)."""
    told: dict[str, str] = {v.criterion_id: v.result for v in line.verdicts}
    told |= {entry.criterion_id: "na" for entry in line.not_applicable}
    told |= dict.fromkeys(line.not_adjudicated, "uncertain")
    for criterion in sorted({*told, *line.dense_map}):
        said, held = told.get(criterion), line.dense_map.get(criterion)
        if said != held:
            text = f"is {said or 'nowhere'} among the verdicts and {held or 'nowhere'} in denseMap"
            yield "dense-map", criterion, text


def _walked(line: MatrixVerdictFile, trace: Trace | None) -> Iterator[Found]:
    """Yield what a judged line lacks of the walk; who did nothing has no steps (METHOD 36)."""
    judged = any(v.produced_by == "judge" for v in line.verdicts)
    if not judged or not line.fidelity.complete:
        return
    lost = [name for name, attribute in _WALK.items() if not getattr(line, attribute)]
    if trace is not None and not trace.observations and "agentSteps" in lost:
        lost.remove("agentSteps")
    if lost:
        yield "walk", None, f"the walk lacks {', '.join(lost)}"
