"""What a span says by OTel's GenAI conventions, new and old.

`gen_ai.operation.name` says what a span is. Messages: `gen_ai.input.messages` and its kin,
structured or JSON text; before those span events (`gen_ai.user.message`, `gen_ai.choice`),
`gen_ai.prompt` and `gen_ai.completion`, Traceloop's `gen_ai.prompt.N.*` and
`traceloop.entity.*`, Pydantic AI's `all_messages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from helix.ingest.history import Said
from helix.ingest.identity import normalised_id
from helix.ingest.memo import leading
from helix.ingest.messages import is_cut, message, messages_of
from helix.ingest.otlp import Wire, plain
from helix.ingest.spans import AGENT, GENERATION, SPAN, Span
from helix.model.jsontext import decode_container
from helix.model.trace import TOOL

OPERATIONS: Final = {
    "chat": GENERATION, "generate_content": GENERATION, "text_completion": GENERATION,
    "completion": GENERATION, "embeddings": "EMBEDDING", "retrieval": "RETRIEVER",
    "create_agent": AGENT, "invoke_agent": AGENT, "invoke_workflow": "CHAIN",
    "execute_tool": TOOL, "plan": "CHAIN",
}  # fmt: skip
TRACELOOP: Final = {"workflow": "CHAIN", "task": SPAN, "agent": AGENT, "tool": TOOL}
_EVENT_ROLES: Final = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant", "gen_ai.tool.message": "tool",
}  # fmt: skip
_CHOICE: Final = "gen_ai.choice"
_ENTITY_IN: Final = "traceloop.entity.input"
_ENTITY_OUT: Final = "traceloop.entity.output"


def span(w: Wire) -> Span:
    """Return a span by its gen_ai.* attributes."""
    kind = _kind(w)
    error, status = w.error()
    made = Span(
        w.id,
        _tool_name(w) if kind == TOOL else w.name,
        kind,
        w.parent,
        w.start,
        w.end,
        error=error,
        status=status,
        usage=_usage(w),
    )
    if kind == TOOL:
        made.call_key = normalised_id(w.take("gen_ai.tool.call.id"))
        _put(made, "input", w.take("gen_ai.tool.call.arguments", "tool_arguments", _ENTITY_IN))
        _put(made, "output", w.take("gen_ai.tool.call.result", "tool_response", _ENTITY_OUT))
        return made
    made.heard, made.said = _heard(w), _said(w)
    if kind != GENERATION or not made.heard:
        _put(made, "input", w.take(_ENTITY_IN))
    if kind != GENERATION or not made.said:
        _put(made, "output", w.take("final_result", _ENTITY_OUT))
    return made


def _kind(w: Wire) -> str:
    known = OPERATIONS.get(str(w.attributes.get("gen_ai.operation.name")))
    known = known or TRACELOOP.get(str(w.attributes.get("traceloop.span.kind")))
    if known is not None:
        return known
    names = w.attributes
    if "gen_ai.tool.name" in names or "gen_ai.tool.call.id" in names:
        return TOOL
    if "llm.request.type" in names:
        return "EMBEDDING" if names["llm.request.type"] == "embedding" else GENERATION
    model = "gen_ai.request.model" in names or "gen_ai.response.model" in names
    return GENERATION if model and "gen_ai.agent.name" not in names else SPAN


def _tool_name(w: Wire) -> str:
    name = w.take("gen_ai.tool.name", "traceloop.entity.name")
    return name if isinstance(name, str) and name else w.name.removeprefix("execute_tool ")


def _put(made: Span, side: str, value: Any) -> None:
    if isinstance(value, str):
        setattr(made, f"{side}_text", value)
    elif value is not None:
        setattr(made, side, value)


def _usage(w: Wire) -> dict[str, Any]:
    found = {
        "promptTokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        "completionTokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        "costUsd": ("gen_ai.usage.cost", "operation.cost"),
    }
    return w.numbers(found)


def _heard(w: Wire) -> list[Said]:
    heard = _instructions(w.take("gen_ai.system_instructions"))
    for name in ("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.request.messages"):
        heard += _messages(w, name, "user")
    if _is_traceloop(w):
        heard += [_flat(item, "user") for item in w.nested("gen_ai.prompt.")]
    for name, held in _events(w):
        if name in _EVENT_ROLES:
            heard.append(_flat({"role": _EVENT_ROLES[name], **held}, "user"))
        heard += _messages_in(w, held, "gen_ai.input.messages", "user")
        if name == "gen_ai.content.prompt":
            heard += messages_of(held.get("gen_ai.prompt"), "user") or []
    return heard


def _said(w: Wire) -> list[Said]:
    said: list[Said] = []
    for name in ("gen_ai.output.messages", "gen_ai.completion", "pydantic_ai.all_messages",
                 "all_messages"):  # fmt: skip
        said += _messages(w, name, "assistant")
    if _is_traceloop(w):
        said += [_flat(item, "assistant") for item in w.nested("gen_ai.completion.")]
    for name, held in _events(w):
        if name == _CHOICE:
            said.append(_choice(held))
        said += _messages_in(w, held, "gen_ai.output.messages", "assistant")
        if name == "gen_ai.content.completion":
            said += messages_of(held.get("gen_ai.completion"), "assistant") or []
    for item in _listed(w, "all_messages_events"):
        said.append(_flat(item, str(item.get("role") or "user")))
    return said


def _is_traceloop(w: Wire) -> bool:
    return "gen_ai.prompt.0.role" in w.attributes or "llm.request.type" in w.attributes


def _instructions(value: Any) -> list[Said]:
    value = decode_container(value) or value if isinstance(value, str) else value
    if not value:
        return []
    return [message({"role": "system", "content": value})]


def _messages(w: Wire, name: str, role: str) -> list[Said]:
    if name not in w.attributes:
        return []
    value = w.attributes[name]
    found = w.memo.messages(value, role)
    if found is not None:
        w.used.add(name)
    elif is_cut(value):
        w.is_cut = True
        return leading(value, role)
    return found or []


def _messages_in(w: Wire, held: Mapping[str, Any], name: str, role: str) -> list[Said]:
    return w.memo.messages(held[name], role) or [] if name in held else []


def _events(w: Wire) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the events that carry messages: of the span, or in Pydantic AI's `events`."""
    for event in w.events:
        if event.name.startswith("gen_ai."):
            w.used.add(event.name)
            yield event.name, event.attributes
    for item in _listed(w, "events"):
        yield str(item.get("event.name")), item


def _listed(w: Wire, name: str) -> list[dict[str, Any]]:
    value = w.attributes.get(name)
    value = decode_container(value) if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return []
    w.used.add(name)
    return value


def _choice(held: Mapping[str, Any]) -> Said:
    inner = held.get("message")
    inner = decode_container(inner) or inner if isinstance(inner, str) else plain(inner)
    if isinstance(inner, str):
        inner = {"content": inner}
    told = {k: v for k, v in held.items() if k != "message"}
    return _flat({"role": "assistant", **told, **(inner if isinstance(inner, dict) else {})}, "")


def _flat(held: Mapping[str, Any], role: str) -> Said:
    """Return a message whose lists may be JSON text, without the keys that only events have."""
    opened = {k: v for k, v in held.items() if k not in ("event.name", "gen_ai.system")}
    for key in ("content", "tool_calls", "parts"):
        inner = decode_container(opened[key]) if isinstance(opened.get(key), str) else None
        typed = isinstance(inner, list) and all(isinstance(i, dict) and "type" in i for i in inner)
        if typed or (key == "tool_calls" and isinstance(inner, list)):
            opened[key] = inner
    return message({"content": None, **opened}, role)
