"""SWE-agent trajectories (.traj): {environment, trajectory[], history[], info, replay_config}.

`trajectory` and `history` are two copies of one run. The steps are read from the first; the second
gives what is said before them and the tool calls of models that make some. Where there is only a
history it is read as a conversation. Demonstrations (`is_demo`) are no part of the run and are
left out, counted in `raw.leftOut`. An action in text is a command of the shell: a call of `bash`
with {command}. The source has no times; a message's id is its place: `s0` in the trajectory, `m0`
in the history.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.ingest.pairing import Call, Result
from helix.model.canonical import source_digest
from helix.model.jsontext import decode_container
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

SHELL: Final = "bash"
ACTOR_KEYS: Final = frozenset({"action", "thought", "message_type"})
COPIES: Final = ("messages", "query")
_PLACED = frozenset({"role", "tool_call_ids", "tool_calls"})

Message = dict[str, Any]


def detect(value: Any) -> Match | None:
    """Recognise steps with an action, or a history whose messages have actions or thoughts."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    steps, history = first.get("trajectory"), first.get("history")
    if _are_objects(steps) and all("action" in s and "observation" in s for s in steps[:3]):
        return Match("trajectory[] of steps with action and observation", specificity=2)
    if _are_objects(history) and any(m.keys() & ACTOR_KEYS for m in history):
        return Match("history[] of messages with action, thought or message_type", specificity=2)
    return None


def _are_objects(value: Any) -> TypeGuard[list[Message]]:
    return isinstance(value, list) and bool(value) and all(isinstance(i, dict) for i in value)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one run."""
    for record in records:
        if not isinstance(record.value, dict):
            raise FormatError("a run must be an object with a list 'trajectory' or 'history'")
        yield _Run(record).trace()


class _Run:
    """One run in the making."""

    def __init__(self, record: Record) -> None:
        self._value = record.value
        self._steps = _objects(record.value, "trajectory")
        self._history = _objects(record.value, "history") or _first_copy(self._steps)
        source = Source(record.file, record.line, "swe_agent", source_digest(record.data))
        self._talk = Conversation(source, None)
        self._twins: dict[int, int] = {}

    def trace(self) -> Trace:
        if self._steps:
            self._open()
            self._match()
            for at, step in enumerate(self._steps):
                self._step(f"s{at}", step, self._history[self._twins[at]] if self._has(at) else {})
        else:
            self._talk_through()
        rest, labels = split({k: v for k, v in self._value.items() if k not in _LISTS})
        info = rest.get("info")
        info = info if isinstance(info, dict) else {}
        trace = self._talk.finish(
            labels=labels, usage=usage_of(info), output=ending(info), task=_task(rest)
        )
        trace.raw = lambda: {**rest, **self._left_over(trace)}
        return trace

    def _has(self, at: int) -> bool:
        return at in self._twins

    def _open(self) -> None:
        """Say what stands before the agent's first turn."""
        for at, message in enumerate(self._history):
            if message.get("role") == "assistant" and not message.get("is_demo"):
                return
            if not message.get("is_demo"):
                self._talk.say(f"m{at}", _role(message), text_of(message.get("content")))

    def _match(self) -> None:
        """Find each step's turn in the history: the next one with the same action."""
        turns: dict[str, list[int]] = {}
        for at, message in enumerate(self._history):
            if message.get("role") == "assistant" and not message.get("is_demo"):
                turns.setdefault(repr(message.get("action")), []).append(at)
        reached = 0
        for at, step in enumerate(self._steps):
            places = turns.get(repr(step.get("action")), [])
            found = bisect_left(places, reached)
            if found < len(places):
                self._twins[at] = places[found]
                reached = places[found] + 1

    def _step(self, name: str, step: Message, twin: Message) -> None:
        self._talk.say(name, "assistant", _said(step))
        result = None if step.get("observation") is None else Result(text_of(step["observation"]))
        calls = twin.get("tool_calls")
        action = step.get("action")
        if isinstance(calls, list) and calls:
            given = {"result": result} if len(calls) == 1 else {}
            made = [self._talk.function_call(call, name, **given) for call in calls]
            if len(made) > 1 and result is not None:
                self._talk.result(result, made)
        elif isinstance(action, str) and action.strip():
            self._talk.call(None, SHELL, {"command": action}, result=result)
        elif result is not None and result.text:
            self._talk.event(f"{name}-observation", "observation", result)

    def _talk_through(self) -> None:
        """Read the history alone; what follows a call is its result."""
        made: list[Call] = []
        for at, message in enumerate(self._history):
            if message.get("is_demo"):
                continue
            role, text = _role(message), text_of(message.get("content"))
            keys = message.get("tool_call_ids")
            key = normalised_id(keys[0]) if isinstance(keys, list) and len(keys) == 1 else None
            if made and role in ("user", "tool"):
                self._talk.result(Result(text or "", key=key, message_id=f"m{at}"), made)
                made = []
                continue
            self._talk.say(f"m{at}", role, text)
            if role != "assistant":
                continue
            calls, action = message.get("tool_calls"), message.get("action")
            if isinstance(calls, list) and calls:
                made = [self._talk.function_call(call, f"m{at}") for call in calls]
            elif isinstance(action, str) and action.strip():
                made = [self._talk.call(None, SHELL, {"command": action})]

    def _left_over(self, trace: Trace) -> dict[str, Any]:
        """Return what the steps and the history hold beside the model, and what was left out."""
        told = {m.text for m in trace.transcript} | {o.output_text for o in trace.observations}
        told |= {_command(o.input) for o in trace.observations if o.name == SHELL}
        known = {m["content"] for m in self._history if isinstance(m.get("content"), str)}
        kept: dict[str, Any] = {"steps": {}, "history": {}}
        repeated = 0
        for at, step in enumerate(self._steps):
            fresh, copies = _without_copies(step, known)
            repeated += copies
            kept["steps"][f"s{at}"] = _extra(fresh, told, frozenset())
        told |= {step["action"] for step in self._steps if isinstance(step.get("action"), str)}
        twins = set(self._twins.values())
        for at, message in enumerate(self._history):
            if not message.get("is_demo"):
                placed = _PLACED if at in twins or not self._steps else _PLACED - {"tool_calls"}
                kept["history"][f"m{at}"] = _extra(message, told, placed)
        demos = sum(1 for m in self._history if m.get("is_demo"))
        kept["leftOut"] = {"demonstrations": demos, "repeatedMessages": repeated}
        pruned = {key: {k: v for k, v in part.items() if v} for key, part in kept.items()}
        return {key: part for key, part in pruned.items() if part}


_LISTS = frozenset({"trajectory", "history"})


def _objects(value: Mapping[str, Any], key: str) -> list[Message]:
    items = value.get(key)
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise FormatError(f"'{key}' must be a list of objects")
    return items


def _first_copy(steps: list[Message]) -> list[Message]:
    """The messages that the first step was asked with, where there is no history."""
    for key in COPIES:
        copy = steps[0].get(key) if steps else None
        if _are_objects(copy):
            return copy
    return []


def _role(message: Message) -> str:
    role = message.get("role")
    return role if isinstance(role, str) else "user"


def _said(step: Message) -> str | None:
    return text_of(step.get("response") or step.get("thought"))


def _without_copies(step: Message, known: set[str]) -> tuple[Message, int]:
    """Return a step without the messages that it only repeats, and how many these are."""
    fresh, repeated = dict(step), 0
    for key in COPIES:
        if isinstance(step.get(key), list):
            fresh[key] = [m for m in step[key] if not _is_copy(m, known)]
            repeated += len(step[key]) - len(fresh[key])
    return fresh, repeated


def _is_copy(message: Any, known: set[str]) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, str) and content in known


def _extra(holder: Message, told: set[str | None], placed: frozenset[str]) -> Message:
    """Return what a step or message holds that the model does not say word for word."""
    said = _said(holder) or text_of(holder.get("content")) or ""
    extra: Message = {}
    for key, value in holder.items():
        if key in placed or value in (None, "", [], {}):
            continue
        if isinstance(value, str) and (value in told or (key == "thought" and value in said)):
            continue
        if key != "content" or not is_plain(value) or text_of(value) not in told:
            extra[key] = value
    return extra


def usage_of(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage that `info.model_stats` records."""
    stats = info.get("model_stats")
    names = {
        "promptTokens": "tokens_sent", "completionTokens": "tokens_received",
        "costUsd": "instance_cost",
    }  # fmt: skip
    if not isinstance(stats, dict):
        return {}
    return {name: stats[key] for name, key in names.items() if stats.get(key) is not None}


def ending(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `info` says that a run ended with: its submission and its status."""
    names = {"response": "submission", "exitStatus": "exit_status"}
    ended = {name: info.get(key) for name, key in names.items()}
    return {name: value for name, value in ended.items() if isinstance(value, str) and value}


def _command(arguments: Any) -> str | None:
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return command if isinstance(command, str) else None


def _task(rest: Mapping[str, Any]) -> str | None:
    config = rest.get("replay_config")
    config = decode_container(config) if isinstance(config, str) else config
    problem = config.get("problem_statement") if isinstance(config, dict) else None
    named = problem.get("id") if isinstance(problem, dict) else None
    return normalised_id(rest.get("instance_id")) or normalised_id(named)


FORMAT = Format("swe_agent", "1", detect, read)
