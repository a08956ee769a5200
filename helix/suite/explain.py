"""How a code verdict came about, step by step: what was read, found, compared and cited.

Nothing is recorded while a check runs. A check is pure, so it is asked again, and so is every
check inside it, each about the part of the trace that it saw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from helix.checks.conditions import Selector, calls, events
from helix.checks.parts import Part, within
from helix.checks.run import decide
from helix.checks.window import Windowed, reaching
from helix.errors import PathError
from helix.fieldpath import MISSING, FieldPath
from helix.grounding import assess, resolve_refs
from helix.model.config import SubjectConfig
from helix.model.select import at_address, select
from helix.model.tokens import as_text
from helix.model.trace import Trace
from helix.model.verdict import Ref
from helix.registry import CheckContext, Decision
from helix.suite.compile import CompiledRow
from helix.suite.problems import known_keys
from helix.suite.routes import off_route

MOST_SHOWN = 8
MOST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Found:
    """One place or event that a parameter leads to; `fits` is None where nobody can say."""

    obs: str
    path: str
    text: str | None
    fits: bool | None = True
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What a selector or path of a parameter leads to: the first few of `count`."""

    key: str
    what: str
    count: int
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Cited:
    """A ref, whether it resolves, and the text that stands there; None where nothing does."""

    ref: Ref
    text: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One check: its role in the check above, what it read and found, and what it decided."""

    role: str
    primitive: str
    parameters: dict[str, Any]
    looks: tuple[Look, ...]
    decision: Decision
    cited: tuple[Cited, ...]
    parts: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """A row, a trace, what code says of it and how; `note` is what else a reader must know."""

    row: CompiledRow
    trace: str
    decision: Decision | None
    step: Step | None
    note: str | None = None


def explain(
    row: CompiledRow, trace: Trace, context: CheckContext, subject: SubjectConfig
) -> Explanation:
    """Return how the cell of a row and a trace comes about, as far as code decides it."""
    fidelity = assess(trace, subject.truncation_flags, subject.truncation_fields)
    if not fidelity.complete:
        text = f"{fidelity.reason}; such a trace is never judged"
        return Explanation(row, trace.id, Decision("uncertain", text, cause="truncated"), None)
    elsewhere = off_route(row.criterion, trace, subject.routes)
    if elsewhere is not None:
        return Explanation(row, trace.id, elsewhere, None)
    if row.check is None or row.params is None:
        return Explanation(row, trace.id, None, None, "a judge decides this row; code says nothing")
    step = _step("", Part(check=row.check, params=row.params), trace, context)
    note = None
    if row.klass == "hybrid":
        rest = "a judge decides the rest" if step.decision.state == "pass" else "no judge is asked"
        note = f"the row is hybrid: {rest}"
    return Explanation(row, trace.id, step.decision, step, note)


def _step(role: str, part: Part, trace: Trace, context: CheckContext) -> Step:
    decision = decide(part, trace, context)
    inner: list[Step] = []
    params: BaseModel = part.params
    if isinstance(params, Windowed):
        inner += _windows(params, trace, context)
        params = params.window
    else:
        inner += [_step(key, sub, trace, context) for key, sub in _named(params)]
    resolved = resolve_refs(trace, decision.refs)
    return Step(
        role=role,
        primitive=part.check.name,
        parameters=_written(params),
        looks=tuple(_looks(params, trace)),
        decision=decision,
        cited=tuple(Cited(ref, _standing(trace, ref)) for ref in resolved),
        parts=tuple(inner),
    )


def _windows(params: Windowed, trace: Trace, context: CheckContext) -> Iterator[Step]:
    """Yield the condition of a window, and the check itself in every window that is possible."""
    when = params.window.when
    if when is not None:
        premise = _step("when", when, trace, context)
        yield premise
        if premise.decision.state != "pass":
            return
    seen = list(reaching(trace, params.window, context))
    for number, part in enumerate(seen, start=1):
        of = f" {number} of {len(seen)} possible" if len(seen) > 1 else ""
        held = f"{len(part.observations)} calls or spans, {len(part.transcript)} messages"
        yield _step(f"window{of} ({held})", params.of, part, context)


def _written(params: BaseModel) -> dict[str, Any]:
    """Return parameters as they were read, defaults too, without the checks inside."""
    inner = {name for name in type(params).model_fields if any(within(getattr(params, name)))}
    whole = params.model_dump(mode="json", exclude=inner, fallback=str)
    given = params.model_dump(mode="json", exclude=inner, exclude_unset=True, fallback=str)
    return {
        key: given.get(key, value)
        for key, value in whole.items()
        if key in given or value not in (None, [])
    }


def _named(params: BaseModel) -> Iterator[tuple[str, Part]]:
    """Yield the checks inside a check with their keys, e.g. `of[1]`."""
    model = type(params)
    for name, key in zip(model.model_fields, known_keys(model), strict=True):
        value = getattr(params, name)
        for at, part in enumerate(within(value)):
            yield (key if isinstance(value, Part) else f"{key}[{at}]"), part


def _looks(value: Any, trace: Trace, key: str = "") -> Iterator[Look]:
    """Yield what each selector, path and tool name of parameters leads to."""
    if isinstance(value, Part):
        return
    if isinstance(value, Selector):
        yield _events(value, trace, key)
    elif isinstance(value, FieldPath):
        if value.root is not None or value.observation is not None:
            yield _places(value, trace, key)
    elif isinstance(value, tuple | list):
        for at, item in enumerate(value):
            yield from _looks(item, trace, f"{key}[{at}]" if len(value) > 1 else key)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            held = getattr(value, name)
            below = f"{key}.{name}" if key else name
            if name == "tool" and held:
                yield _tools(held, trace, below)
            else:
                yield from _looks(held, trace, below)


def _events(selector: Selector, trace: Trace, key: str) -> Look:
    found = events(trace, selector)
    shown = tuple(
        Found(e.id, e.place.path, _short(e.place.value), e.hit, e.cause) for e in found[:MOST_SHOWN]
    )
    return Look(key, str(selector), len(found), shown)


def _tools(names: Sequence[str], trace: Trace, key: str) -> Look:
    found = calls(trace, tuple(names))
    shown = tuple(Found(o.id, "name", o.name) for o in found[:MOST_SHOWN])
    return Look(key, f"call of {' or '.join(names)}", len(found), shown)


def _places(path: FieldPath, trace: Trace, key: str) -> Look:
    found = select(trace, path)
    shown = tuple(
        Found(place.obs, place.path, None, False, "missing")
        if place.missing
        else Found(place.obs, place.path, _short(place.value))
        for place in found[:MOST_SHOWN]
    )
    return Look(key, str(path), len(found), shown)


def _standing(trace: Trace, ref: Ref) -> str | None:
    if ref.scan is not None:
        return None
    try:
        value = at_address(trace, ref.obs, ref.path)
    except PathError:
        return None
    return None if value is MISSING else _short(value)


def _short(value: Any) -> str:
    text = as_text(value)
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
