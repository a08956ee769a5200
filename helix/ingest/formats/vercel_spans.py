"""What a span of the Vercel AI SDK says, versions 4 to 6 (`ai.*` attributes).

The model is called in `ai.*.doGenerate` and `.doStream`; the spans around them repeat its words.
From version 7 the SDK follows OTel's GenAI conventions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from helix.ingest.history import Said, ToolCall
from helix.ingest.identity import normalised_id
from helix.ingest.messages import messages_of, tool_call
from helix.ingest.otlp import Wire
from helix.ingest.spans import GENERATION, SPAN, Span
from helix.model.jsontext import decode_container
from helix.model.trace import TOOL

OPERATION: Final = "ai.operationId"
TOOL_CALL: Final = "ai.toolCall"
_INNER: Final = (".doGenerate", ".doStream")


def is_own(attributes: Mapping[str, Any]) -> bool:
    """Whether the attributes of a span are those of the SDK."""
    return OPERATION in attributes or "ai.toolCall.name" in attributes


def span(w: Wire) -> Span:
    """Return a span by its ai.* attributes."""
    operation = str(w.attributes.get(OPERATION) or w.name).split(" ")[0]
    error, status = w.error()
    made = Span(w.id, w.name, SPAN, w.parent, w.start, w.end, error=error, status=status)
    if operation == TOOL_CALL:
        made.type = TOOL
        made.name = w.text("ai.toolCall.name") or w.name
        made.call_key = normalised_id(w.take("ai.toolCall.id"))
        made.input_text = w.text("ai.toolCall.args", "ai.toolCall.input")
        made.output_text = w.text("ai.toolCall.result", "ai.toolCall.output")
        return made
    made.usage = w.numbers(
        {
            "promptTokens": ("ai.usage.promptTokens", "ai.usage.inputTokens", "ai.usage.tokens"),
            "completionTokens": ("ai.usage.completionTokens", "ai.usage.outputTokens"),
        }
    )
    if ".embed" in operation:
        made.type = "EMBEDDING" if operation.endswith(".doEmbed") else SPAN
        _embedding(w, made)
        return made
    made.type = GENERATION if operation.endswith(_INNER) else SPAN
    made.heard, made.said = _heard(w), _said(w)
    return made


def _embedding(w: Wire, made: Span) -> None:
    """Take what was embedded; the vectors stay in raw."""
    made.input_text = w.text("ai.value")
    if made.input_text is None:
        values = w.take("ai.values")
        if values is not None:
            made.input = values


def _heard(w: Wire) -> list[Said]:
    held = w.attributes.get("ai.prompt.messages")
    found = w.memo.messages(held, "user") if held is not None else None
    if found is not None:
        w.used.add("ai.prompt.messages")
        return found
    prompt = w.attributes.get("ai.prompt")
    decoded = decode_container(prompt) if isinstance(prompt, str) else prompt
    if not isinstance(decoded, dict):
        return []
    heard: list[Said] = []
    if isinstance(decoded.get("system"), str):
        heard.append(Said("system", decoded["system"]))
    for key in ("messages", "prompt"):
        heard += messages_of(decoded.get(key), "user") or []
    if heard and decoded.keys() <= {"system", "messages", "prompt"}:
        w.used.add("ai.prompt")
    return heard


def _said(w: Wire) -> list[Said]:
    text = w.text("ai.response.text", "ai.result.text")
    if text is None:
        text = w.text("ai.response.object", "ai.result.object")
    name = next((n for n in ("ai.response.toolCalls", "ai.result.toolCalls") if n in w.attributes),
                "")  # fmt: skip
    calls = _calls(w.attributes.get(name))
    if calls:
        w.used.add(name)
    return [Said("assistant", text, calls)] if text or calls else []


def _calls(held: Any) -> list[ToolCall]:
    decoded = decode_container(held) if isinstance(held, str) else held
    if not isinstance(decoded, list):
        return []
    return [tool_call(call) for call in decoded if isinstance(call, dict)]
