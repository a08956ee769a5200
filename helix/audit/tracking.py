"""Tracked defects: whether the pass condition of each holds on what was executed now (METHOD 71).

Nothing that an earlier audit said counts: a fix is one when its condition passes on this code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from helix.audit import measures
from helix.audit.masking import COMPARED
from helix.audit.mechanisms import BY_CONDITION, MEANINGS
from helix.errors import ArtifactError, SuiteError, UsageError, did_you_mean
from helix.model.audit import DeterminismScore
from helix.model.audited import Finding, Pair, Status, Tracked
from helix.model.tracked import PassCondition, TrackedDefects
from helix.runs import RunFiles
from helix.suite.source import parse

_NEEDED: Final[Mapping[str, str]] = {
    **{mechanism: condition for condition, mechanism in BY_CONDITION.items()},
    "path": "directory",
    "interpreter": "interpreter",
    "executor": "executor",
}
"""What must have varied for a mechanism to show."""

_SHOWN_BY_VALUES: Final = frozenset({"clock", "path", "float-text", "dropped-parameter"})
_OF_ALL: Final = frozenset({"artifact_equal", "dimension_equal", "finding_ids", "gate_gaps"})
"""Conditions of all executions, so that none of them holds where one left no run."""

Answer = tuple[Status, str]
_TOLD: Final = 5
_ORDER: Final[Sequence[Status]] = ("doesNotHold", "couldNotBeChecked", "holds")


@dataclass(frozen=True, slots=True)
class Seen:
    """What an audit saw of the executions that were asked for: the finished runs, and the rest.

    `pairs` are of the first run and each other one. `varied` are the conditions that varied;
    `executed` is False for finished runs, of which only the values say why they differ. `crashed`
    are the executions that left no run.
    """

    runs: Sequence[RunFiles]
    pairs: Sequence[Pair]
    score: DeterminismScore | None
    findings: Sequence[Finding]
    varied: frozenset[str]
    executed: bool = True
    crashed: Sequence[str] = ()


def load_defects(file: str, dimensions: Sequence[str]) -> TrackedDefects:
    """Read a file of tracked defects; UsageError names what in it is wrong."""
    try:
        source = parse(Path(file).read_text(encoding="utf-8-sig"), file)
        defects = TrackedDefects.model_validate(source.value)
    except SuiteError as error:
        raise UsageError(f"audit.defects: {error}") from None
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, x['loc'])) or 'the file'}: {x['msg']}"
            for x in error.errors(include_url=False, include_input=False)[:_TOLD]
        ]
        raise UsageError(f"audit.defects: {file}: {'; '.join(faults)}") from None
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise UsageError(f"audit.defects: {file!r:.200} cannot be read: {told}") from None
    for line, key in source.doubled:
        raise UsageError(
            f"audit.defects: {file}:{line}: a key must be there once (got {key} again)"
        )
    for defect in defects.defects:
        for fault in _unknown(defect.passes_when, dimensions):
            raise UsageError(f"audit.defects: {file}, {defect.id}: {fault}")
    return defects


def tracked(defects: TrackedDefects, seen: Seen) -> tuple[Tracked, ...]:
    """Return of each defect whether its condition holds; of several parts the worst tells."""
    found = []
    for defect in defects.defects:
        parts = list(defect.passes_when.parts())
        answers = [_answer(name, seen, asked) for name, asked in parts]
        status, reason = min(answers, key=lambda answer: _ORDER.index(answer[0]))
        condition = "; ".join(f"{name}: {asked}" for name, asked in parts)
        found.append(
            Tracked(
                id=defect.id, what=defect.what, condition=condition, status=status, reason=reason
            )
        )
    return tuple(found)


def _answer(name: str, seen: Seen, asked: Any) -> Answer:
    status, reason = _CHECKS[name](seen, asked)
    if status == "holds" and name in _OF_ALL and seen.crashed:
        return "couldNotBeChecked", f"of these no run is left: {', '.join(seen.crashed)}"
    return status, reason


def _unknown(condition: PassCondition, dimensions: Sequence[str]) -> Iterator[str]:
    known: Mapping[str, Sequence[str]] = {
        "artifact_equal": COMPARED,
        "dimension_equal": dimensions,
        "no_finding": tuple(MEANINGS),
    }
    for name, asked in condition.parts():
        choices = known.get(name)
        if choices is not None and asked not in choices:
            near = did_you_mean(str(asked), choices)
            yield f"{name} must be one of {', '.join(choices)} (got '{asked}'){near}"


def _runs_identical(seen: Seen, asked: Any) -> Answer:
    if len(seen.runs) < asked:
        return "couldNotBeChecked", f"{len(seen.runs)} executions are finished of {asked}"
    parted = [
        f"{pair.b} in {', '.join(one.artifact for one in pair.diff.different)}"
        for pair in seen.pairs
        if pair.diff.different
    ]
    if parted:
        return "doesNotHold", f"differing from {seen.pairs[0].a}: {'; '.join(parted)}"
    return "holds", f"{len(seen.runs)} runs are identical after masking"


def _artifact_equal(seen: Seen, asked: Any) -> Answer:
    found = {x.status for p in seen.pairs for x in p.diff.artifacts if x.artifact == asked}
    if not found or found == {"missing"}:
        return "couldNotBeChecked", f"no two runs hold {asked}"
    if found == {"equal"}:
        return "holds", f"{asked} is the same in {len(seen.runs)} runs"
    return "doesNotHold", f"{asked} differs"


def _dimension_equal(seen: Seen, asked: Any) -> Answer:
    scores = seen.score.dimensions if seen.score is not None else ()
    one = next((x for x in scores if x.name == asked), None)
    if one is None or one.status == "notMeasured":
        why = f": {one.reason}" if one is not None and one.reason else ""
        return "couldNotBeChecked", f"{asked} was not measured{why}"
    if one.status == "equal":
        return "holds", f"{asked} is the same in {len(seen.runs)} runs"
    return "doesNotHold", f"{asked} differs"


def _finding_ids(seen: Seen, _: Any) -> Answer:
    return _dimension_equal(seen, "finding-ids")


def _gate_gaps(seen: Seen, _: Any) -> Answer:
    unnamed: dict[str, None] = {}
    for run in seen.runs:
        try:
            found = measures.gate_completeness(run)
        except ArtifactError as error:
            return "couldNotBeChecked", str(error)
        if found is None:
            return "couldNotBeChecked", f"{run.folder.name} does not hold gate.gaps"
        if found["unnamed"] is None:
            return "couldNotBeChecked", f"{run.folder.name} does not hold criteria"
        unnamed |= dict.fromkeys(found["unnamed"])
    if not seen.runs:
        return "couldNotBeChecked", "no execution is finished"
    if unnamed:
        return "doesNotHold", f"the gate does not name {', '.join(unnamed)}"
    return "holds", "the gate names everything that holds it back"


def _no_finding(seen: Seen, asked: Any) -> Answer:
    found = [one.id for one in seen.findings if one.mechanism == asked]
    if found:
        return "doesNotHold", f"found: {', '.join(found)}"
    if len(seen.runs) < 2:
        return "couldNotBeChecked", "less than two executions are finished"
    if not seen.executed and asked not in _SHOWN_BY_VALUES:
        return "couldNotBeChecked", "finished runs do not show it"
    if seen.executed and asked in _NEEDED and _NEEDED[asked] not in seen.varied:
        return "couldNotBeChecked", f"{_NEEDED[asked]} was not varied"
    return "holds", "nothing of the kind was found"


_CHECKS: Final[Mapping[str, Callable[[Seen, Any], Answer]]] = {
    "runs_identical": _runs_identical,
    "artifact_equal": _artifact_equal,
    "dimension_equal": _dimension_equal,
    "finding_ids": _finding_ids,
    "gate_gaps": _gate_gaps,
    "no_finding": _no_finding,
}
