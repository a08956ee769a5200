"""What a span says by OpenInference's conventions, flattened or nested."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from helix.ingest.history import Said
from helix.ingest.identity import normalised_id
from helix.ingest.messages import message, messages_of
from helix.ingest.otlp import Wire
from helix.ingest.spans import AGENT, GENERATION, SPAN, Span
from helix.model.jsontext import decode_container
from helix.model.trace import TOOL

KIND: Final = "openinference.span.kind"
KINDS: Final = {
    "LLM": GENERATION, "EMBEDDING": "EMBEDDING", "CHAIN": "CHAIN", "RETRIEVER": "RETRIEVER",
    "RERANKER": "RERANKER", "TOOL": TOOL, "AGENT": AGENT, "GUARDRAIL": "GUARDRAIL",
    "EVALUATOR": "EVALUATOR", "PROMPT": "PROMPT",
}  # fmt: skip
REDACTED: Final = "__REDACTED__"
_NESTED: Final = ("llm", "input", "output", "tool", "openinference", "retrieval", "embedding")


def is_own(attributes: Mapping[str, Any]) -> bool:
    """Whether the attributes of a span are OpenInference's."""
    return KIND in attributes or _nested_kind(attributes) is not None


def _nested_kind(attributes: Mapping[str, Any]) -> Any:
    held = attributes.get("openinference")
    inner = held.get("span") if isinstance(held, dict) else None
    return inner.get("kind") if isinstance(inner, dict) else None


def span(w: Wire) -> Span:
    """Return a span by its OpenInference attributes."""
    if KIND not in w.attributes:
        w.attributes = _flattened(w.attributes)
    kind = KINDS.get(str(w.take(KIND)).upper(), SPAN)
    error, status = w.error()
    made = Span(w.id, w.name, kind, w.parent, w.start, w.end, error=error, status=status)
    made.usage = w.numbers(
        {
            "promptTokens": ("llm.token_count.prompt",),
            "completionTokens": ("llm.token_count.completion",),
            "costUsd": ("llm.cost.total",),
        }
    )
    if REDACTED in w.attributes.values():
        made.flags.append("redacted")
    if kind == TOOL:
        _tool(w, made)
    else:
        made.heard, made.said = _messages(w, "input"), _messages(w, "output")
        if kind != GENERATION or not made.heard:
            made.input_text = _value(w, "input")
        if kind != GENERATION or not made.said:
            made.output_text = _value(w, "output")
    return made


def _value(w: Wire, side: str) -> str | None:
    value = w.attributes.get(f"{side}.value")
    if not isinstance(value, str):
        return None
    w.used |= {f"{side}.value", f"{side}.mime_type"}
    return value


def _tool(w: Wire, made: Span) -> None:
    name = w.text("tool.name", "tool_call.function.name")
    made.name = name or w.name
    made.call_key = normalised_id(w.take("tool.id", "tool_call.id"))
    given = _value(w, "input")
    if given is None:
        given = w.text("tool_call.function.arguments")
    if given is None and not _is_schema(w.attributes.get("tool.parameters")):
        given = w.text("tool.parameters")
    made.input_text, made.output_text = given, _value(w, "output")
    mime = str(w.attributes.get("input.mime_type") or "")
    made.free_text = "json" not in mime and given is not None and decode_container(given) is None


def _is_schema(value: Any) -> bool:
    """Whether a tool's parameters are what it takes, not what it was given."""
    held = decode_container(value) if isinstance(value, str) else value
    return isinstance(held, dict) and ("properties" in held or held.get("type") == "object")


def _messages(w: Wire, side: str) -> list[Said]:
    """Return a model's messages; without any, what its value holds of them."""
    role = "user" if side == "input" else "assistant"
    name = f"llm.{side}_messages"
    found = [message(item, role) for item in w.nested(f"{name}.")] if _has(w, name) else []
    if not found and name in w.attributes:
        found = messages_of(w.attributes[name], role) or []
        w.used |= {name} if found else set()
    if found or w.attributes.get(KIND) != "LLM":
        return found
    value = w.attributes.get(f"{side}.value")
    return messages_of(value, role) or []


def _has(w: Wire, name: str) -> bool:
    """Whether a span may hold messages: models do, others are asked by the first message."""
    return w.attributes.get(KIND) == "LLM" or f"{name}.0.message.role" in w.attributes


def _flattened(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested attributes under their dotted names; lists of messages stay lists."""
    found: dict[str, Any] = {}
    pending = deque(attributes.items())
    while pending:
        name, value = pending.popleft()
        opened = name.partition(".")[0] in _NESTED and name != "tool.parameters"
        if opened and isinstance(value, dict) and value:
            pending.extend((f"{name}.{key}", inner) for key, inner in value.items())
        else:
            found[name] = value
    return found
