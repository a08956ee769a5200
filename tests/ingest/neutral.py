"""The shared cases' neutral steps, written as OpenAI chat and as Helix' canonical record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from helix.ingest import from_dict
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

Steps = dict[str, Any]


def as_chat(trace: Steps) -> Steps:
    """A conversation: calls of one turn stand in one assistant message."""
    messages: list[Steps] = []
    turn: Any = None
    for step in trace["steps"]:
        if step["kind"] == "call":
            if turn is None or step.get("turn") != turn:
                messages.append({"role": "assistant", "content": None, "tool_calls": []})
            turn = step.get("turn")
            messages[-1].setdefault("tool_calls", []).append(_chat_call(step))
        elif step["kind"] == "result" or step.get("role") == "tool":
            turn = None
            messages.append(_chat_result(step))
        elif step["kind"] == "message":
            turn = step.get("turn")
            message = {"role": step["role"], "content": step["text"]}
            if "calls" in step:
                message["tool_calls"] = [_chat_call(call) for call in step["calls"]]
            messages.append(message)
    opened = [{"role": "user", "content": "please"}, *messages]
    return {"id": trace["trace_id"], "messages": opened}


def _chat_call(step: Steps) -> Steps:
    function = {"name": step["tool"]}
    if "args" in step:
        args = step["args"]
        function["arguments"] = json.dumps(args) if isinstance(args, dict) else args
    identity = {"id": step["call_id"]} if "call_id" in step else {}
    return {**identity, "type": "function", "function": function}


def _chat_result(step: Steps) -> Steps:
    content = step.get("text", step.get("data"))
    if "content" in step:
        content = [_chat_part(part) for part in step["content"]]
    message = {"role": "tool", "content": content}
    for key, name in (("call_id", "tool_call_id"), ("tool", "name"), ("status", "status")):
        if key in step:
            message[name] = step[key]
    return message


def _chat_part(part: Steps) -> Steps:
    if part["type"] == "text":
        return part
    url = f"data:{part['media']};base64,{part['base64']}"
    return {"type": "image_url", "image_url": {"url": url}}


def as_helix(trace: Steps) -> Steps:
    """A canonical record without seq, where the source gives none."""
    record: Steps = {"transcript": [], "observations": []}
    if "trace_id" in trace:
        record["id"] = trace["trace_id"]
    for step in trace["steps"]:
        if step["kind"] == "message":
            record["transcript"].append({k: step[k] for k in ("id", "role", "text")})
        else:
            record["observations"].append(_helix_observation(step))
    if not record["transcript"]:
        del record["transcript"]
    return record


def _helix_observation(step: Steps) -> Steps:
    kind = {"call": "TOOL", "result": "EVENT", "span": "TOOL"}[step["kind"]]
    made: Steps = {"id": step["id"], "type": kind, "name": step.get("tool") or step["kind"]}
    for key, name in (
        ("args", "input"), ("data", "output"), ("text", "outputText"), ("parent", "parentId"),
        ("t", "startTime"), ("seq", "seq"),
    ):  # fmt: skip
        if key in step:
            made[name] = step[key]
    return made


def _detect(value: Any) -> Match | None:
    found = isinstance(value, dict) and "steps" in value
    return Match("steps", specificity=9) if found else None


def _read(records: Sequence[Record]) -> Iterator[Trace]:
    for record in records:
        source = Source(record.file, record.line, "neutral", source_digest(record.data))
        yield from_dict(as_helix(record.value), source)


NEUTRAL = Format("neutral", "1", _detect, _read)
