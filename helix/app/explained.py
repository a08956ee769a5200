"""An explanation of one code verdict, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from helix.registry import Decision
from helix.reports.summary import scanned
from helix.reports.visible import visible
from helix.reports.words import counted
from helix.suite.explain import Cited, Explanation, Found, Look, Step

_HIT = {True: "fits", False: "does not fit", None: "may fit"}


def as_text(told: Explanation) -> str:
    """Return the explanation step by step; what traces hold is made visible."""
    criterion = told.row.criterion
    lines = [
        f"{told.row.id} ({told.row.klass}, {told.row.severity}): {criterion.statement}",
        f"trace {told.trace}",
        "",
    ]
    if told.step is not None:
        lines += [*_step(told.step, ""), ""]
    if told.decision is None:
        lines.append("decision: none")
    else:
        lines.append(f"decision: {_decided(told.decision)}")
        if told.step is None:
            lines.append(f"  {told.decision.detail}")
    if told.note:
        lines.append(f"note: {told.note}")
    return visible("\n".join(lines))


def as_json(told: Explanation) -> dict[str, Any]:
    """Return the explanation as plain JSON."""
    return {
        "criterionId": told.row.id,
        "traceId": told.trace,
        "statement": told.row.criterion.statement,
        "class": told.row.klass,
        "decision": None if told.decision is None else _plain(told.decision),
        "note": told.note,
        "steps": None if told.step is None else _nested(told.step),
    }


def _step(step: Step, indent: str) -> Iterator[str]:
    role = f"{step.role}: " if step.role else ""
    yield f"{indent}{role}{step.primitive} → {_decided(step.decision)}"
    deeper = f"{indent}  "
    for key, value in step.parameters.items():
        yield f"{deeper}{key} = {json.dumps(value, ensure_ascii=False)}"
    for look in step.looks:
        yield from _look(look, deeper)
    for part in step.parts:
        yield from _step(part, deeper)
    yield f"{deeper}because {_one_line(step.decision.detail)}"
    for cited in step.cited:
        yield f"{deeper}ref {_cited(cited)}"


def _look(look: Look, indent: str) -> Iterator[str]:
    yield f"{indent}{look.key}: {look.what}: {counted(look.count, 'match', 'matches')}"
    for found in look.found:
        yield f"{indent}  {_found(found)}"
    if look.count > len(look.found):
        yield f"{indent}  and {look.count - len(look.found)} more"


def _found(found: Found) -> str:
    text = "not there" if found.text is None else f"“{_one_line(found.text)}”"
    doubt = "" if found.fits or found.text is None else f" ({_HIT[found.fits]}: {found.why})"
    return f"{found.obs} {found.path}: {text}{doubt}"


def _cited(cited: Cited) -> str:
    ref = cited.ref
    if ref.scan is not None:
        return f"{ref.obs}: {scanned(ref.scan)} ({ref.match or 'not resolved'})"
    stands = "nothing stands there" if cited.text is None else f"there stands “{cited.text}”"
    note = f"; {ref.note}" if ref.note else ""
    return _one_line(f"{ref.obs} {ref.path}: “{ref.value}” ({ref.match}); {stands}{note}")


def _decided(decision: Decision) -> str:
    return f"{decision.state} ({decision.cause})" if decision.cause else decision.state


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _nested(step: Step) -> dict[str, Any]:
    return {
        "role": step.role,
        "primitive": step.primitive,
        "parameters": step.parameters,
        "looks": [
            {"key": k.key, "what": k.what, "count": k.count, "found": [_seen(f) for f in k.found]}
            for k in step.looks
        ],
        "decision": _plain(step.decision),
        "refs": [{**msgspec.to_builtins(c.ref), "text": c.text} for c in step.cited],
        "parts": [_nested(part) for part in step.parts],
    }


def _seen(found: Found) -> dict[str, Any]:
    return {"obs": found.obs, "path": found.path, "text": found.text, "fits": found.fits,
            "why": found.why}  # fmt: skip


def _plain(decision: Decision) -> dict[str, Any]:
    return {"state": decision.state, "cause": decision.cause, "detail": decision.detail}
