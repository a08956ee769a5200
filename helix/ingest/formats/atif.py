"""ATIF trajectories 1.0–1.8: {schema_version, agent, steps[], subagent_trajectories[], …}.

A step is a message (`step-<step_id>`), its calls, and what was observed. A result without
`source_call_id` belongs to the one call of its step, by position; where the step has no call that
waits, it is an EVENT `observation`. Copied context is said where it stands and flagged; a copied
call is an EVENT, so that the original alone counts. An embedded sub-agent is one AGENT observation
of its parent's trace with its calls inside; what it said else is in `raw`. A sub-agent or a
continuation in a file of its own is a trace of its own. The format declares no tool errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.ingest.pairing import Call, Result
from helix.ingest.times import nanoseconds
from helix.ingest.usage import summed
from helix.model.canonical import source_digest
from helix.model.trace import TOOL, Source, Trace
from helix.registry import Format, Match, Record

COPIED: Final = "copied-context"
LABELS: Final = ("extra.agentpile.outcome",)
_ROLES = {"agent": "assistant"}
_PARTS = frozenset({"steps", "subagent_trajectories", "agent"})
_CALL_KEYS = frozenset({"tool_call_id", "function_name", "arguments"})
_USAGE = {"promptTokens": "prompt_tokens", "completionTokens": "completion_tokens",
          "costUsd": "cost_usd"}  # fmt: skip

Json = dict[str, Any]


def detect(value: Any) -> Match | None:
    """Recognise a trajectory by its schema_version, or an object of several."""
    first = value[0] if isinstance(value, list) and value else value
    if _is_trajectory(first):
        return Match(f"steps[] with schema_version {first['schema_version']}", specificity=3)
    if isinstance(first, dict) and first and all(map(_is_trajectory, first.values())):
        return Match("an object of trajectories with schema_version ATIF", specificity=3)
    return None


def _is_trajectory(value: Any) -> TypeGuard[Json]:
    return (
        isinstance(value, dict)
        and str(value.get("schema_version", "")).upper().startswith("ATIF")
        and isinstance(value.get("steps"), list)
    )


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one trajectory, or as the trajectories that it holds by name."""
    for record in records:
        value = record.value
        if isinstance(value, dict) and "steps" not in value and value:
            for name, trajectory in value.items():
                yield _Run(record, trajectory, name).trace()
        else:
            yield _Run(record, value, None).trace()


class _Run:
    """One trajectory in the making."""

    def __init__(self, record: Record, value: Any, name: str | None) -> None:
        self._value = value
        _steps(value)
        named = normalised_id(value.get("trajectory_id")) or normalised_id(value.get("session_id"))
        source = Source(record.file, record.line, "atif", source_digest(record.data))
        self._talk = Conversation(source, named or name)
        self._flags: set[str] = set()

    def trace(self) -> Trace:
        self._walk(self._value, "", None)
        agent = _mapping(self._value, "agent")
        about = {"agent": agent.get("name"), "model": agent.get("model_name")}
        trace = self._talk.finish(
            flags=self._flags,
            labels=_labels(self._value),
            usage=_usage(self._value),
            metadata={key: value for key, value in about.items() if value is not None},
        )
        trace.raw = lambda: _left_over(self._value, _told(trace))
        return trace

    def _walk(self, value: Json, prefix: str, within: Call | None) -> None:
        """Take in the steps of a trajectory, each sub-agent after the step that names it."""
        waiting = _children(value)
        for at, step in enumerate(_steps(value)):
            calls = self._step(f"{prefix}{_name(step, at)}", step, within)
            for ref, call in _refs(step, calls):
                found = next((child for child in waiting if _is_meant(ref, child)), None)
                if found is not None:
                    waiting = [child for child in waiting if child is not found]
                    self._agent(found, call or within)
        for child in waiting:
            self._agent(child, within)

    def _step(self, name: str, step: Json, within: Call | None) -> list[Call]:
        """Take in a step; return its calls. Inside of a sub-agent nothing is said."""
        copied = step.get("is_copied_context") is True
        if copied:
            self._flags.add(COPIED)
        if within is None:
            source = step.get("source")
            role = source if isinstance(source, str) else "agent"
            self._talk.say(name, _ROLES.get(role, role), text_of(step.get("message")))
        start = nanoseconds(step.get("timestamp"))
        made: list[Call] = []
        for call in _list(step, "tool_calls", name):
            tool = call.get("function_name")
            if not isinstance(tool, str) or not tool:
                raise FormatError(f"{name}: a tool call must have a function_name")
            key = normalised_id(call.get("tool_call_id"))
            kind = "EVENT" if copied else TOOL
            made.append(
                self._talk.call(
                    key, tool, call.get("arguments"), type=kind, start=start, within=within
                )
            )
            if copied:
                made[-1].flag(COPIED)
        for at, result in enumerate(_results(step, name)):
            self._result(f"{name}-observation-{at + 1}", result, made, within)
        return made

    def _result(self, name: str, result: Json, made: list[Call], within: Call | None) -> None:
        key = normalised_id(result.get("source_call_id"))
        told = Result(text_of(result.get("content")), key=key)
        if key is not None:
            self._talk.result(told)
        elif any(call.result is None for call in made):
            self._talk.result(told, made)
        elif told.text is not None:
            self._talk.event(name, "observation", told, within=within)

    def _agent(self, value: Json, within: Call | None) -> None:
        """Take in an embedded sub-agent: an AGENT observation around its calls."""
        steps = _steps(value)
        agent = _mapping(value, "agent")
        said = [s for s in steps if s.get("source") == "agent" and s.get("message")]
        asked = next((s for s in steps if s.get("source") == "user"), None)
        times = [t for s in steps if (t := nanoseconds(s.get("timestamp"))) is not None]
        key = normalised_id(value.get("trajectory_id")) or normalised_id(value.get("session_id"))
        event = self._talk.event(
            key or "subagent",
            str(agent.get("name") or "subagent"),
            Result(text_of(said[-1]["message"]) if said else None),
            type="AGENT",
            arguments={"prompt": text_of(asked.get("message"))} if asked else None,
            within=within,
            start=min(times, default=None),
            end=max(times, default=None),
        )
        self._walk(value, f"{event.key}-", event)


def _steps(value: Any) -> list[Json]:
    steps = value.get("steps") if isinstance(value, dict) else None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise FormatError("a trajectory must be an object with a list 'steps' of objects")
    return steps


def _name(step: Json, at: int) -> str:
    return f"step-{normalised_id(step.get('step_id')) or at + 1}"


def _list(holder: Mapping[str, Any], key: str, where: str) -> list[Json]:
    value = holder.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise FormatError(f"{where}: {key} must be a list of objects")
    return value


def _mapping(holder: Mapping[str, Any], key: str) -> Json:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _results(step: Json, where: str) -> list[Json]:
    return _list(_mapping(step, "observation"), "results", where)


def _refs(step: Json, calls: list[Call]) -> Iterator[tuple[Json, Call | None]]:
    """Yield each sub-agent that the step's results name, with the call that started it."""
    for result in _results(step, ""):
        key = normalised_id(result.get("source_call_id"))
        call = next((c for c in calls if c.key == key), None) if key else None
        call = calls[0] if call is None and len(calls) == 1 else call
        refs = result.get("subagent_trajectory_ref")
        for ref in refs if isinstance(refs, list) else [refs]:
            if isinstance(ref, dict):
                yield ref, call


def _is_meant(ref: Json, trajectory: Json) -> bool:
    for key in ("trajectory_id", "session_id"):
        if ref.get(key) is not None and trajectory.get(key) is not None:
            return bool(ref[key] == trajectory[key])
    return False


def _children(value: Json) -> list[Json]:
    return _list(value, "subagent_trajectories", "the trajectory")


def _usage(value: Json) -> Json:
    """The totals that the source gives, else the sums of what its steps give."""
    final = _mapping(value, "final_metrics")
    given = {n: final[f"total_{k}"] for n, k in _USAGE.items() if f"total_{k}" in final}
    own = [
        _mapping(step, "metrics")
        for step in _steps(value)
        if step.get("source") == "agent" and step.get("is_copied_context") is not True
    ]
    open_ones = {n: k for n, k in _USAGE.items() if given.get(n) is None}
    return summed(own, open_ones) | {n: v for n, v in given.items() if v is not None}


def _envelope(value: Json) -> tuple[Json, Json]:
    return split({k: v for k, v in value.items() if k not in _PARTS}, paths=LABELS)


def _labels(value: Json) -> Json:
    """Return the labels of a trajectory, of its steps by name, and of its sub-agents."""
    labels = dict(_envelope(value)[1])
    steps = {_name(s, at): split(_mapping(s, "extra"))[1] for at, s in enumerate(_steps(value))}
    children = [_labels(child) for child in _children(value)]
    if any(steps.values()):
        labels["steps"] = {name: found for name, found in steps.items() if found}
    if any(children):
        labels["subagent_trajectories"] = children
    return labels


def _told(trace: Trace) -> set[str | None]:
    said: set[str | None] = {message.text for message in trace.transcript}
    return said | {observation.output_text for observation in trace.observations}


def _left_over(value: Json, told: set[str | None]) -> Json:
    """Return what the model has no place for: `steps` by their names, sub-agents in their order."""
    steps = {_name(s, at): _step_extra(s, told) for at, s in enumerate(_steps(value))}
    raw = {**_envelope(value)[0], "agent": value.get("agent")}
    raw["steps"] = {name: extra for name, extra in steps.items() if extra}
    raw["subagent_trajectories"] = [_left_over(child, told) for child in _children(value)]
    return {key: part for key, part in raw.items() if part not in (None, {}, [])}


def _step_extra(step: Json, told: set[str | None]) -> Json:
    placed = ("step_id", "message", "tool_calls", "observation", "extra")
    extra = {key: v for key, v in step.items() if key not in placed and v not in (None, "", [], {})}
    message = step.get("message")
    if message and (not is_plain(message) or text_of(message) not in told):
        extra["message"] = message
    calls = step.get("tool_calls") or ()
    if any(set(call) - _CALL_KEYS for call in calls):
        extra["tool_calls"] = [{k: v for k, v in c.items() if k != "arguments"} for c in calls]
    results = [_result_extra(result, told) for result in _results(step, "")]
    if any(set(result) - {"source_call_id"} for result in results):
        extra["observation"] = {"results": results}
    rest = split(_mapping(step, "extra"))[0]
    if rest:
        extra["extra"] = rest
    return extra


def _result_extra(result: Json, told: set[str | None]) -> Json:
    content = result.get("content")
    if content is not None and is_plain(content) and text_of(content) in told:
        return {key: v for key, v in result.items() if key != "content"}
    return result


FORMAT = Format("atif", "1", detect, read)
