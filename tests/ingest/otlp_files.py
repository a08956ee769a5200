"""Small OTLP documents for tests, and counts of real ones made without the importers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Fields = dict[str, Any]


def any_value(value: Any) -> Fields:
    """A value as OTLP's AnyValue."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attributes(value)}}
    return {"stringValue": value}


def attributes(held: Fields) -> list[Fields]:
    """Attributes as OTLP's key/value pairs."""
    return [{"key": key, "value": any_value(value)} for key, value in held.items()]


def span(name: str, held: Fields, *, trace: str = "t1", **fields: Any) -> Fields:
    """One OTLP span; `parent`, `start` and `end` in nanoseconds, other fields as they are."""
    made = {"traceId": trace, "spanId": fields.pop("id", name), "name": name, "kind": 1}
    parent, start, end = (fields.pop(key, None) for key in ("parent", "start", "end"))
    if parent is not None:
        made["parentSpanId"] = parent
    if start is not None:
        made["startTimeUnixNano"] = str(start)
        made["endTimeUnixNano"] = str(start + 1 if end is None else end)
    return {**made, "attributes": attributes(held), "status": {}, **fields}


def batch(*spans: Fields) -> Fields:
    """One OTLP document."""
    scoped = {"scope": {"name": "tests"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scoped]}]}


def message(role: str, *parts: Fields) -> Fields:
    """A message of the GenAI conventions."""
    return {"role": role, "parts": list(parts)}


def said(text: str) -> Fields:
    """A text part."""
    return {"type": "text", "content": text}


def asked(key: str | None, name: str, given: Any) -> Fields:
    """A tool_call part."""
    identity = {} if key is None else {"id": key}
    return {"type": "tool_call", **identity, "name": name, "arguments": given}


def answered(key: str | None, response: Any) -> Fields:
    """A tool_call_response part."""
    identity = {} if key is None else {"id": key}
    return {"type": "tool_call_response", **identity, "response": response}


def chat(name: str, heard: list[Fields], replied: list[Fields], **fields: Any) -> Fields:
    """A span of one model call, its messages as JSON text."""
    held = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(heard),
        "gen_ai.output.messages": json.dumps(replied),
    }
    return span(name, held, **fields)


def tool(name: str, key: str | None, given: str, returned: str | None, **fields: Any) -> Fields:
    """A span of one tool execution."""
    held = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    held["gen_ai.tool.call.arguments"] = given
    if key is not None:
        held["gen_ai.tool.call.id"] = key
    if returned is not None:
        held["gen_ai.tool.call.result"] = returned
    return span(f"execute_tool {name}", held, id=fields.pop("id", f"span-{key}"), **fields)


def raw_spans(file: Path) -> Iterator[tuple[Fields, Fields]]:
    """Every span of a real file with its attributes as plain text, read by json alone."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines() if file.suffix == ".jsonl" else [text]
    for line in lines:
        pending: list[Any] = [json.loads(line)]
        while pending:
            node = pending.pop()
            if isinstance(node, list):
                pending += node
            elif isinstance(node, dict) and ("spanId" in node or "spanContext" in node):
                held = node["attributes"]
                if isinstance(held, list):
                    held = {a["key"]: next(iter(a["value"].values())) for a in held}
                yield node, held
            elif isinstance(node, dict):
                pending += node.values()
