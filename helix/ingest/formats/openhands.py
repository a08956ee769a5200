"""OpenHands: the event list of a session, or the lines of an evaluation's output.jsonl.

Events have an id (with gaps) and are actions or observations; `cause` of an observation is the
id of its action. A call's observation has the action's id, its name and arguments are those of
the function call that the event carries, else the action's; its output is the text with
`success` and the `metadata` (exit code) of the observation. Only an observation `error` or
`user_rejected` is a declared error. `finish` has no result: what it says is the response.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.conversation import Conversation
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import is_label, split
from helix.ingest.pairing import NOT_RECORDED, Call, Result
from helix.ingest.times import nanoseconds
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

ENVELOPE: Final = ("instance_id", "history")
# What the harness does of itself; nobody called it.
_HARNESS = frozenset(
    {
        "agent_state_changed", "change_agent_state", "condensation", "condensation_request",
        "loop_recovery", "null", "pause", "recall", "resume", "start", "stop",
    }
)  # fmt: skip
_ERRORS = frozenset({"error", "user_rejected"})
# The gold patch and tests, and what a judge or the user thought of the run.
_LABELS = frozenset(
    {"instance", "success", "comment_success", "result_explanation", "resolved", "report"}
)
_ROLES = {"agent": "assistant", "user": "user", "environment": "environment"}


def detect(value: Any) -> Match | None:
    """Recognise a list of events, or an object that holds one as its history."""
    if isinstance(value, dict):
        if _are_events(_flat(value.get("history"))):
            return Match("history[] of actions and observations with a source", specificity=3)
        return None
    if _are_events(value):
        reason = "a list of actions and observations with id and source"
        return Match(reason, list_is_one_trace=True, specificity=3)
    if isinstance(value, list) and value and isinstance(value[0], dict) and detect(value[0]):
        return Match("a list of runs with history[]", specificity=3)
    return None


def _are_events(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_event, value[:3]))


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or "source" not in value:
        return False
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return acts or (isinstance(value.get("observation"), str) and "content" in value)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one run, named by its instance."""
    for record in records:
        value = record.value
        events = _flat(value.get("history") if isinstance(value, dict) else value)
        if not isinstance(events, list):
            raise FormatError("a run must be a list of events or hold one as 'history'")
        envelope = dict(value) if isinstance(value, dict) else {}
        envelope.pop("history", None)
        rest, labels = split(envelope, key=lambda key: is_label(key) or key in _LABELS)
        yield _Run(record, normalised_id(rest.get("instance_id"))).trace(events, rest, labels)


def _flat(history: Any) -> Any:
    """Older files pair each action with its observation; the events are the same."""
    if not isinstance(history, list) or not history or not isinstance(history[0], list):
        return history
    return [event for pair in history for event in (pair if isinstance(pair, list) else [pair])]


class _Run:
    """One trace in the making.

    `_kept` is what the model has no place for, by event id; `_own` are the harness's own actions.
    """

    def __init__(self, record: Record, trace_id: str | None) -> None:
        source = Source(record.file, record.line, "openhands", source_digest(record.data))
        self._talk = Conversation(source, trace_id)
        self._calls: dict[str, Call] = {}
        self._responses: set[str] = set()
        self._own: set[str] = set()
        self._kept: dict[str, Any] = {}
        self._answer: str | None = None

    def trace(self, events: list[Any], rest: dict[str, Any], labels: dict[str, Any]) -> Trace:
        """Return the trace of all events."""
        for at, event in enumerate(events):
            if not isinstance(event, dict):
                raise FormatError(f"events[{at}] must be an object")
            name = normalised_id(event.get("id")) or str(at)
            known = {"id"}
            if isinstance(event.get("action"), str):
                known |= self._action(event, name)
            elif isinstance(event.get("observation"), str):
                known |= self._observation(event, name)
            extra = {k: v for k, v in event.items() if k not in known and v is not None}
            if extra:
                self._kept[name] = extra
        return self._talk.finish(
            output={} if self._answer is None else {"response": self._answer},
            raw={**rest, **({"events": self._kept} if self._kept else {})},
            labels=labels,
        )

    def _action(self, event: Mapping[str, Any], name: str) -> set[str]:
        """Add an action; return the keys that the model holds of it."""
        action = event["action"]
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        if action in _HARNESS:
            self._own.add(name)
            return set()
        if action in ("message", "system"):
            role = "system" if action == "system" else _role(event)
            self._talk.say(f"m{name}", role, _text(args.get("content"), event.get("message")))
            self._answer = None if role == "user" else self._answer
            return {"message"} if event.get("message") == args.get("content") else set()
        thought = _text(args.get("thought"))
        if action == "finish":
            self._answer = _text(args.get("final_thought"), thought, event.get("message"))
            thought = thought or self._answer
        self._turn(event, name, thought)
        call, known = _call_of(event, args)
        made = self._talk.call(
            name,
            *call,
            start=nanoseconds(event.get("timestamp")),
            result=Result() if action == "finish" else None,
        )
        self._calls[name] = made
        return known

    def _turn(self, event: Mapping[str, Any], name: str, thought: str | None) -> None:
        """Say what led to a call; calls of one model response stand in one message."""
        response = normalised_id(_response(event).get("id"))
        if response is None or thought or response not in self._responses:
            self._talk.say(f"m{name}", _role(event), thought)
        if response is not None:
            self._responses.add(response)

    def _observation(self, event: Mapping[str, Any], name: str) -> set[str]:
        cause = normalised_id(event.get("cause"))
        call = self._calls.get(cause or "")
        if call is None and (event["observation"] in _HARNESS or cause in self._own):
            return set()
        extras = event.get("extras")
        extras = extras if isinstance(extras, dict) else {}
        told = {"success": event.get("success"), "metadata": extras.get("metadata")}
        told = {key: value for key, value in told.items() if value is not None}
        content = event.get("content")
        text = content if isinstance(content, str) else None
        failed = event["observation"] in _ERRORS
        if call is not None:
            call.end = nanoseconds(event.get("timestamp"))
        value = {"text": text, **told} if told and text is not None else NOT_RECORDED
        self._talk.result(
            Result(
                text=text,
                value=content if text is None and content is not None else value,
                error=(text or "error") if failed else None,
                status="error" if failed else None,
                message_id=f"m{name}",
                tool=event["observation"],
                key=cause,
            )
        )
        known = {"content"} if value is NOT_RECORDED else {"content", "success"}
        same = self._kept.get(cause or "", {}).get("tool_call_metadata")
        return known | (
            {"tool_call_metadata"} if same == event.get("tool_call_metadata") else set()
        )


def _role(event: Mapping[str, Any]) -> str:
    source = event.get("source")
    return _ROLES.get(source, source) if isinstance(source, str) else "assistant"


def _response(event: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = event.get("tool_call_metadata")
    response = metadata.get("model_response") if isinstance(metadata, dict) else None
    return response if isinstance(response, dict) else {}


def _call_of(event: Mapping[str, Any], args: dict[str, Any]) -> tuple[tuple[str, Any], set[str]]:
    """Return ((name, arguments), the keys that they hold whole)."""
    metadata = event.get("tool_call_metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("function_name"), str):
        return (str(event["action"]), args), {"args"}
    name = metadata["function_name"]
    choices = _response(event).get("choices")
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and call.get("id") == metadata.get("tool_call_id"):
                return (name, function.get("arguments")), set()
    return (name, args), {"args"}


def _text(*values: Any) -> str | None:
    """Return the first of the values that says something."""
    return next((v for v in values if isinstance(v, str) and v), None)


FORMAT = Format("openhands", "1", detect, read)
