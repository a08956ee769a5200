"""From messages, calls and results in order to one trace: what every chat format shares.

One `seq` runs through messages and the calls made in them: the message first, then its calls. A
result is part of its call's observation and has no place of its own, unless it has no call: then
it is an EVENT named `orphan-result`, so that it is seen and never counted as a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.identity import Ids, derived_id, normalised_id
from helix.ingest.pairing import NOT_RECORDED, Call, Pairing, Result, arguments
from helix.model.trace import TOOL, Message, Observation, Source, Trace

ORPHAN: Final = "orphan-result"
SYSTEM_ROLES: Final = ("system", "developer")
_CONTROL_ANYWHERE = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
_CONTROL_AT_START = (
    "<environment_context>", "<user_instructions>", "<system-reminder>", "<turn_aborted>",
    "Caveat:", "<command-name>", "<command-message>", "<local-command-", "<bash-input>",
    "<bash-stdout>", "<bash-stderr>", "[Request interrupted by user",
)  # fmt: skip


def is_control(role: str, text: str) -> bool:
    """Whether a turn of the user is text that the harness put there."""
    if role != "user":
        return False
    marked = "###" in text and any(mark in text for mark in _CONTROL_ANYWHERE)
    return marked or text.lstrip().startswith(_CONTROL_AT_START)


@dataclass(slots=True)
class _Orphan:
    result: Result
    seq: int
    flags: tuple[str, ...]


@dataclass(slots=True)
class Turn:
    """A message as it was said; `text` is None where the source has no content at all.

    `control` says that the source declares it to be the harness's own.
    """

    id: str
    seq: int
    role: str
    text: str | None
    control: bool = False
    calls: list[Call] = field(default_factory=list)


class Conversation:
    """One trace in the making; `trace_id` None gives it a derived one.

    After `finish`, `results` has for each message that held a result (its id, the id and the
    name of the observation that has it; an orphan has no name).
    """

    def __init__(self, source: Source, trace_id: str | None) -> None:
        self._source = source
        self._id = trace_id or derived_id(source.digest)
        self._flags = set() if trace_id else {"derived-id"}
        self._ids = Ids(self._id)
        self._pairing = Pairing()
        self._turns: list[Turn] = []
        self._done: list[Call | _Orphan] = []
        self._seq = 0
        self.results: dict[str, tuple[str, str | None]] = {}

    def say(self, wanted_id: str, role: str, text: str | None, *, control: bool = False) -> Turn:
        """Add a message; its text may grow until `finish`."""
        taken, repeated = self._ids.take(wanted_id)
        if repeated:
            self._flags.add("duplicate-id")
        turn = Turn(taken, self._seq, role, text, control)
        self._seq += 1
        self._turns.append(turn)
        return turn

    def call(
        self,
        key: str | None,
        name: str,
        source: Any,
        *,
        free_text: bool = False,
        turn: Turn | None = None,
        **parts: Any,
    ) -> Call:
        """Add a call made in the last message, or in `turn`; `source` is its arguments as spelled.

        `parts` are further fields of the call; one that has its `result` waits for none.
        """
        parent = turn or (self._turns[-1] if self._turns else None)
        call = Call(
            key, name, self._next(), parent.id if parent else None, source, free_text, **parts
        )
        if call.within is None and parent is not None:
            parent.calls.append(call)
        self._done.append(call)
        if call.result is None:
            self._pairing.call(call)
        return call

    def function_call(self, call: Any, where: str, **parts: Any) -> Call:
        """Add a call in the shape of OpenAI's chat; FormatError says `where`, for no such call."""
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise FormatError(f"{where}: a tool call must have a function with a name")
        key = normalised_id(call.get("id"))
        return self.call(key, function["name"], function.get("arguments"), **parts)

    def event(self, key: str, name: str, result: Result, **parts: Any) -> Call:
        """Add what was seen or done without being a call of the last message."""
        event = Call(key, name, self._next(), None, result=result, **{"type": "EVENT", **parts})
        self._done.append(event)
        return event

    def result(self, result: Result, among: Sequence[Call] | None = None) -> None:
        """Add a result; it goes to its call (one of `among` if it has no id), or stands alone."""
        flags = self._pairing.result(result, among)
        if flags:
            self._done.append(_Orphan(result, self._next(), flags))

    def finish(self, **parts: Any) -> Trace:
        """Return the trace; `parts` are further fields of it (metadata, labels, raw, …).

        `input` and `output` add to what the messages say, and come first.
        """
        self._pairing.close()
        named: dict[int, str] = {}
        observations = [self._observation(item, named) for item in self._done]
        transcript = [self._message(turn, named) for turn in self._turns]
        raw = parts.pop("raw", None)
        flags = {*self._flags, *parts.pop("flags", ())}
        trace = Trace(
            id=self._id,
            source=self._source,
            input={**asked(transcript), **parts.pop("input", {})},
            output={**self._output(), **parts.pop("output", {})},
            observations=observations,
            transcript=transcript,
            flags=tuple(sorted(flags)),
            **parts,
        )
        trace.raw = raw
        return trace

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1

    def _observation(self, item: Call | _Orphan, named: dict[int, str]) -> Observation:
        if isinstance(item, _Orphan):
            return self._orphan(item)
        taken, repeated = self._ids.take(item.key or f"call-{item.seq}")
        named[item.seq] = taken
        if repeated:
            item.flag("duplicate-id")
        self._note(item.result, taken, item.name)
        asked = input_of(item)
        return Observation(
            taken,
            item.seq,
            item.name,
            item.type,
            start_time=item.start,
            end_time=item.end,
            parent_id=named[item.within.seq] if item.within else item.parent_id,
            flags=item.flags,
            **asked,
            **output_of(item.result),
        )

    def _orphan(self, item: _Orphan) -> Observation:
        taken, _ = self._ids.take(f"{ORPHAN}-{item.seq}")
        self._note(item.result, taken, None)
        told = {"callId": item.result.key, "name": item.result.tool}
        return Observation(
            taken,
            item.seq,
            ORPHAN,
            "EVENT",
            input={key: value for key, value in told.items() if value is not None},
            end_time=item.result.time,
            flags=item.flags,
            **output_of(item.result),
        )

    def _note(self, result: Result | None, observation_id: str, name: str | None) -> None:
        if result is not None and result.message_id is not None:
            self.results[result.message_id] = (observation_id, name)

    def _message(self, turn: Turn, named: dict[int, str]) -> Message:
        text, role = turn.text or "", turn.role
        calls = tuple([named[call.seq] for call in turn.calls]) if turn.calls else ()
        control = turn.control or (role == "user" and is_control(role, text))
        return Message(turn.id, turn.seq, role, text, calls, control)

    def _output(self) -> dict[str, Any]:
        """The last thing that the agent said after its last call; none if it ended with a call."""
        calls = (i for i in reversed(self._done) if isinstance(i, _Orphan) or i.type == TOOL)
        last = next((item.seq for item in calls), -1)
        for turn in reversed(self._turns):
            if turn.seq < last:
                break
            if turn.role == "assistant" and turn.text is not None:
                return {"response": turn.text}
        return {}


def asked(transcript: Iterable[Message]) -> dict[str, Any]:
    """Return the first turn that is really the user's, and the instructions before any other."""
    told: dict[str, Any] = {}
    system: list[str] = []
    opening = True
    for message in transcript:
        if opening and message.role in SYSTEM_ROLES:
            system.append(message.text)
            continue
        opening = False
        if message.role == "user" and not message.control:
            told["prompt"] = message.text
            break
    if system:
        told["system"] = "\n\n".join(system)
    return told


def input_of(call: Call) -> dict[str, Any]:
    """Return the input of a call's observation; flag what is no arguments."""
    if call.type != TOOL:
        return {"input": call.arguments}
    if call.free_text:
        said = call.arguments if isinstance(call.arguments, str) else ""
        return {"input": said, "input_text": said}
    value, text, valid = arguments(call.arguments)
    if not valid:
        call.flag("invalid-arguments")
    return {"input": value, "input_text": text}


def output_of(result: Result | None) -> dict[str, Any]:
    """Return the output, error and status of a call's observation."""
    if result is None:
        return {}
    told: dict[str, Any] = {"error": result.error, "status": result.status}
    if isinstance(result.value, str) and result.text is None:
        return {**told, "output_text": result.value}
    if result.value is not NOT_RECORDED:
        told["output"] = result.value
    return {**told, "output_text": result.text}
