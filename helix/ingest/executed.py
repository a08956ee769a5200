"""One span and what becomes of it: the observation in the making, the calls that it executed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from helix.ingest.history import Said, ToolCall, spelled
from helix.ingest.pairing import NOT_RECORDED, Call

GENERATION: Final = "GENERATION"
AGENT: Final = "AGENT"
SPAN: Final = "SPAN"
MESSAGE: Final = "MESSAGE"


@dataclass(slots=True)
class Span:
    """One span, whatever the source calls it. Times are nanoseconds.

    `type` is the observation's; a MESSAGE is none, only the message that it `said`, under its id.
    Of a TOOL span `name` is the tool's, `call_key` the call's id.
    `input` and `output` are values, or text as `input_text` and `output_text`. `heard` are the
    messages that a model was given, its whole history included, `said` those that it answered.
    `order` is the source's own sequence. `usage` has promptTokens, completionTokens, costUsd.
    `rest` is what has no other place, or a function that returns it: `raw.spans[id]`.
    """

    id: str | None
    name: str
    type: str = SPAN
    parent: str | None = None
    start: int | None = None
    end: int | None = None
    order: Any = None
    input: Any = NOT_RECORDED
    input_text: str | None = None
    output: Any = NOT_RECORDED
    output_text: str | None = None
    free_text: bool = False
    error: str | None = None
    status: str | None = None
    level: str | None = None
    heard: Sequence[Said] = ()
    said: Sequence[Said] = ()
    call_key: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    rest: Any = None

    @property
    def has_input(self) -> bool:
        """Whether an input was recorded."""
        return self.input is not NOT_RECORDED or self.input_text is not None

    @property
    def has_output(self) -> bool:
        """Whether an output was recorded."""
        return self.output is not NOT_RECORDED or self.output_text is not None


@dataclass(slots=True)
class Done:
    """An observation in the making: a span, a call, or both."""

    id: str
    seq: int = -1
    span: Span | None = None
    call: Call | None = None
    key: str | None = None
    total: int = 0
    repeated: int = 0
    sources: list[Any] = field(default_factory=list)


class Claims:
    """The TOOL spans that no call in a message was found for yet."""

    def __init__(self, dones: Iterable[Done]) -> None:
        self._by_key: dict[str, deque[Done]] = defaultdict(deque)
        self._by_arguments: dict[tuple[str, str], deque[Done]] = defaultdict(deque)
        self._claimed: set[str] = set()
        for done in dones:
            call = done.call
            if call is not None and call.key is not None:
                self._by_key[call.key].append(done)
            if call is not None:
                self._by_arguments[call.name, spelled(call.arguments)].append(done)

    def claim(self, call: ToolCall) -> Done | None:
        """Return the first span of a call, once: by id, or by arguments where one has no id."""
        held = [self._by_arguments.get((call.name, spelled(call.arguments)))]
        if call.key is not None:
            held.insert(0, self._by_key.get(call.key))
        for waiting in held:
            while waiting and waiting[0].id in self._claimed:
                waiting.popleft()
            for done in waiting or ():
                key = done.call.key if done.call is not None else None
                if done.id not in self._claimed and (None in (key, call.key) or key == call.key):
                    self._claimed.add(done.id)
                    return done
        return None


def spelling(text: str | None, value: Any) -> str:
    """Return one spelling of a result, whether it was recorded as a text or as a value."""
    return spelled(value if text is None and value is not NOT_RECORDED else text)
