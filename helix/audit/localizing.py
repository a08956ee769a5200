"""From places where executions differ to roots: who showed it, by what mechanism, in which scope.

A finding is one root in one scope (METHOD 72): a mechanism, and every place where it shows. What
follows from a place upstream (a scorecard from its lines) stands beside it as a consequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from helix.audit.differing import Group, Key
from helix.audit.evidence import evident
from helix.audit.mechanisms import BY_CONDITION, DOMINANT, MEANINGS
from helix.audit.parting import told
from helix.fieldpath import MISSING
from helix.model.audit import DimensionScore
from helix.model.audited import Execution, Finding, Mechanism, Place, Scope
from helix.model.criterion import Severity

Role = Literal["main", "again", "alone", "interpreter", "executor", "taken"]
UPSTREAM: Final[Mapping[str, tuple[str, ...]]] = {
    "scorecard.json": ("plan.json", "manifest.jsonl", "verdicts.jsonl"),
    "decisions.jsonl": ("verdicts.jsonl",),
    "failures.jsonl": ("verdicts.jsonl",),
    "candidates.jsonl": ("verdicts.jsonl",),
}
"""Artifacts that are made with or of others: what differs there follows from these."""

_HEADLINE: Final = frozenset({"primary-signal", "render-crashes"})
_COUNTS: Final = frozenset(
    {"sample-size", "finding-ids", "sampling-buckets", "coverage-confidence"}
)
_ORDER: Final = ("CRIT", "HIGH", "MED", "LOW")
Root = tuple[Mechanism, Scope]


@dataclass(slots=True)
class Shown:
    """What an execution shows against the first: the places, and the dimensions that differ."""

    role: Role
    first: Execution
    execution: Execution
    groups: dict[Key, Group]
    dimensions: tuple[DimensionScore, ...] = ()

    def __post_init__(self) -> None:
        """A dimension that differs and reads what is not compared is a place of its own."""
        artifacts = {group.artifact for group in self.groups.values()}
        for one in self.dimensions:
            if one.artifact not in artifacts:
                group = Group(one.artifact, one.field, "value", judged=False, count=1)
                group.samples.append((one.values[0], one.values[-1]))
                self.groups.setdefault(group.key, group)

    def of(self, artifact: str) -> tuple[str, ...]:
        """Return the dimensions that differ and read an artifact."""
        return tuple(one.name for one in self.dimensions if one.artifact == artifact)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A parameter that a run asked for and that did not take effect; `role` judge or verifier.

    `effective` is what stood in its place, None for nothing.
    """

    role: str
    name: str
    asked: Any
    effective: Any
    execution: str


@dataclass(slots=True)
class _Draft:
    places: dict[Key, Place] = field(default_factory=dict)
    shown_by: list[str] = field(default_factory=list)

    def add(self, key: Key, place: Place, shown_by: str) -> None:
        self.places.setdefault(key, place)
        if shown_by not in self.shown_by:
            self.shown_by.append(shown_by)


def localized(
    shown: Sequence[Shown], dropped: Sequence[Dropped], crashed: Sequence[Execution] = ()
) -> tuple[Finding, ...]:
    """Return the findings, the gravest first; `crashed` are executions that left no run."""
    drafts: dict[Root, _Draft] = {}
    for key, source, roots, consequence in _explained(shown, bool(dropped)):
        for root in roots:
            place = _place(source, source.groups[key], consequence)
            drafts.setdefault(root, _Draft()).add(key, place, source.execution.name)
    for one in dropped:
        place = _not_effective(one)
        draft = drafts.setdefault(("dropped-parameter", "COMMAND"), _Draft())
        draft.add((place.artifact, place.path, place.kind, False), place, one.execution)
    for execution in crashed:
        draft = drafts.setdefault(("crash", "COMMAND"), _Draft())
        key = ("scorecard.json", execution.name, "missing", False)
        draft.add(key, _no_run(execution), execution.name)
    _couple(drafts)
    found = [_finding(root, draft, drafts) for root, draft in drafts.items()]
    return tuple(sorted(found, key=lambda one: (_ORDER.index(one.severity), one.id)))


def _sources(shown: Sequence[Shown]) -> Iterator[tuple[Key, Shown]]:
    """Yield each place with the executions that explain it best.

    What differs under the same conditions is explained by that alone; else by every execution
    that varied one thing; else by those that varied all.
    """
    for key in dict.fromkeys(key for one in shown for key in one.groups):
        having = [one for one in shown if key in one.groups]
        again = [one for one in having if one.role == "again"]
        alone = [one for one in having if one.role in ("alone", "interpreter", "executor")]
        yield from ((key, one) for one in again[:1] or alone or having[:1])


def _explained(
    shown: Sequence[Shown], dropped: bool
) -> Iterator[tuple[Key, Shown, tuple[Root, ...], bool]]:
    """Yield each place with who shows it, its roots, and whether it follows from another place."""
    own: dict[Key, dict[Root, None]] = {}
    following: list[tuple[Key, Shown, list[Key]]] = []
    for key, source in _sources(shown):
        group = source.groups[key]
        seen = None
        if group.kind == "value":
            seen = evident(group.samples, source.first, source.execution)
        before = UPSTREAM.get(group.artifact, ())
        upstream = [other for other in source.groups if other[0] in before]
        if seen is None and upstream:
            following.append((key, source, upstream))
            continue
        root: Root = (seen, "COMMAND") if seen else _by_role(source, group, dropped)
        own.setdefault(key, {})[root] = None
        yield key, source, (root,), False
    for key, source, upstream in following:
        yield key, source, tuple({root: None for k in upstream for root in own.get(k, ())}), True


def _by_role(source: Shown, group: Group, dropped: bool) -> Root:
    judged: Mechanism = "dropped-parameter" if dropped else "answer"
    scope: Scope = "COMMAND" if dropped else "AGENT"
    match source.role:
        case "again":
            return (judged, scope) if group.judged else ("seed", "COMMAND")
        case "alone":
            return BY_CONDITION[source.execution.varied[0]], "COMMAND"
        case "interpreter" | "executor":
            return source.role, "COMMAND"
        case "main":
            return "together", "COMMAND"
    if group.artifact == "plan.json":
        return "specification", "SKILL"
    return (judged, scope) if group.judged else ("unexplained", "COMMAND")


def _place(source: Shown, group: Group, consequence: bool) -> Place:
    a, b = told(*group.samples[0])
    return Place(
        artifact=group.artifact,
        path=group.path,
        kind=group.kind,
        count=group.count,
        line=group.line,
        a=a,
        b=b,
        dimensions=source.of(group.artifact),
        consequence=consequence,
    )


def _not_effective(one: Dropped) -> Place:
    nothing = one.effective is None
    a, b = told(one.asked, MISSING if nothing else one.effective)
    return Place(
        artifact="scorecard.json",
        path=f"{one.role}.effective.{one.name}",
        kind="missing" if nothing else "value",
        count=1,
        line=None,
        a=a,
        b=b,
    )


def _no_run(execution: Execution) -> Place:
    return Place(
        artifact="scorecard.json",
        path="",
        kind="missing",
        count=1,
        line=None,
        a="written",
        b=execution.failed,
    )


def _couple(drafts: dict[Root, _Draft]) -> None:
    """Give each deviation of the agent with a dominant root the twin that cures it."""
    for (mechanism, scope), draft in list(drafts.items()):
        if scope != "AGENT" or MEANINGS[mechanism].root_cause not in DOMINANT:
            continue
        if _twin(mechanism, drafts) is None:
            twin = drafts.setdefault((mechanism, "COMMAND"), _Draft())
            for key, place in draft.places.items():
                twin.add(key, place, draft.shown_by[0])


def _twin(mechanism: Mechanism, drafts: Iterable[Root]) -> str | None:
    """Return the finding of the same root in the scope of the skill or the command."""
    cause = MEANINGS[mechanism].root_cause
    for other, scope in drafts:
        if scope != "AGENT" and MEANINGS[other].root_cause == cause:
            return _id(other, scope)
    return None


def _id(mechanism: Mechanism, scope: Scope) -> str:
    return f"{mechanism}.{scope.lower()}"


def _finding(root: Root, draft: _Draft, drafts: Iterable[Root]) -> Finding:
    mechanism, scope = root
    meaning = MEANINGS[mechanism]
    places = tuple(draft.places.values())
    dimensions = tuple(dict.fromkeys(name for place in places for name in place.dimensions))
    spawned = scope == "COMMAND" and meaning.defect_class == "agent-discretion"
    return Finding(
        id=_id(mechanism, scope),
        severity=_severity(mechanism, dimensions),
        scope=scope,
        defect_class="missing-determinism" if spawned else meaning.defect_class,
        control=meaning.control,
        root_cause=meaning.root_cause,
        mechanism=mechanism,
        what=meaning.what,
        cure=meaning.cure,
        shown_by=tuple(draft.shown_by),
        dimensions=dimensions,
        places=places,
        twin=_twin(mechanism, drafts) if scope == "AGENT" else None,
    )


def _severity(mechanism: Mechanism, dimensions: Sequence[str]) -> Severity:
    """Return the severity by what varies with it (METHOD 22)."""
    if mechanism == "crash" or _HEADLINE.intersection(dimensions):
        return "CRIT"
    if _COUNTS.intersection(dimensions):
        return "HIGH"
    return "MED" if dimensions or mechanism == "dropped-parameter" else "LOW"
