"""One Claude Code session in the making: its records in order, its sub-agents, what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from helix.ingest.content import text_of
from helix.ingest.conversation import Conversation
from helix.ingest.formats.anthropic_blocks import Blocks, usage_of
from helix.ingest.identity import normalised_id
from helix.ingest.pairing import Call, Result
from helix.ingest.times import nanoseconds
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Record

NAME: Final = "claude_code"
SPOKEN: Final = ("user", "assistant")
CONSTANT: Final = ("sessionId", "cwd", "gitBranch", "version", "userType", "entrypoint")
_READ = frozenset(
    {"type", "uuid", "parentUuid", "message", "isSidechain", "toolUseResult", *CONSTANT}
)
_EMPTY: Final[tuple[Any, ...]] = ("", [], {})


@dataclass(slots=True)
class Line:
    """A record and the name it has where it has no uuid."""

    name: str
    value: dict[str, Any]

    @property
    def id(self) -> str:
        """The uuid, or the line."""
        return normalised_id(self.value.get("uuid")) or self.name


@dataclass(slots=True)
class _Agent:
    """A sub-agent: its observation, and what it said last."""

    call: Call
    said: str | None = None
    asked: str | None = None


@dataclass(slots=True)
class _Counts:
    """Usage per message, the last that was told; None for one that tells none."""

    usage: dict[str, dict[str, Any]] = field(default_factory=dict)

    def total(self) -> dict[str, Any]:
        """Return the sums over all messages; a figure that one of them lacks is left out."""
        told = list(self.usage.values())
        keys = ("promptTokens", "completionTokens")
        return {k: sum(u[k] for u in told) for k in keys if told and all(k in u for u in told)}


class Session:
    """Reads records one by one; `finish` gives the trace."""

    def __init__(self, lines: Sequence[Line], records: Sequence[Record]) -> None:
        digest = source_digest(b"\n".join(record.data for record in records))
        spoken = [line.value for line in lines if line.value["type"] in SPOKEN]
        agents = {normalised_id(value.get("agentId")) for value in spoken}
        self._is_agent = (
            bool(spoken) and all(v.get("isSidechain") is True for v in spoken) and len(agents) == 1
        )
        sessions = [s for line in lines if (s := normalised_id(line.value.get("sessionId")))]
        session = sessions[-1] if sessions else None
        if session and self._is_agent and (agent := next(iter(agents))):
            session = f"{session}/agent-{agent}"
        self._talk = Conversation(Source(records[0].file, 0, NAME, digest), session)
        self._blocks = Blocks(self._talk)
        self._metadata: dict[str, Any] = {}
        self._now: dict[str, Any] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._records: dict[str, Any] = {}
        self._seen: dict[str, dict[str, Any]] = {}
        self._first: dict[str, str] = {}
        self._counts = _Counts()
        self._agents: dict[str, _Agent] = {}
        self._group: dict[str, str] = {}
        self._started: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._repeated = 0
        self._before: str | None = None

    def read(self, line: Line) -> None:
        """Read one record; its uuid seen before with the same message, it counts once."""
        value, kind = line.value, line.value["type"]
        seen = self._seen.get(line.id)
        if seen is not None and seen.get("message") == value.get("message"):
            self._repeated += 1
            return
        self._seen.setdefault(line.id, value)
        if kind == "user":
            self._user(line, value["message"])
        elif kind == "assistant":
            self._assistant(line, value["message"])
        elif kind == "system":
            self._system(line)
        else:
            self._records[line.name] = value
            return
        self._keep(line)
        self._before = line.id

    def finish(self) -> Trace:
        """Return the trace of the session."""
        for agent in self._agents.values():
            agent.call.result = Result(text=agent.said)
        metadata = dict(self._metadata)
        if self._started:
            metadata["agents"] = self._started
        return self._talk.finish(
            metadata=metadata,
            usage=self._counts.total(),
            flags=self._blocks.flags,
            raw=self._left_over,
        )

    def _user(self, line: Line, message: Mapping[str, Any]) -> None:
        value, time = line.value, nanoseconds(line.value.get("timestamp"))
        agent = self._agent(line, text_of(message["content"]))
        is_prompt = agent is not None and agent.asked == line.id
        if not is_prompt or _results(message):
            self._blocks.given(
                line.id,
                "user",
                message["content"],
                time=time,
                control=bool(value.get("isMeta") or value.get("isCompactSummary")),
                within=agent.call if agent else None,
            )
        elif not isinstance(message["content"], str):
            self._kept.setdefault(line.id, {})["content"] = message["content"]
        self._told(line, message)

    def _assistant(self, line: Line, message: Mapping[str, Any]) -> None:
        key = normalised_id(message.get("id")) or line.id
        time = nanoseconds(line.value.get("timestamp"))
        agent = self._agent(line, None)
        content = message["content"]
        self._blocks.answer(
            line.id, content, key=key, time=time, within=agent.call if agent else None
        )
        if agent is not None:
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [b for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
            agent.said = text_of(texts) if texts else agent.said
            agent.call.end = time
        else:
            self._note_started(content)
        self._counts.usage[key] = usage_of(message.get("usage"))
        rest = {k: v for k, v in message.items() if k not in ("role", "content") and v is not None}
        rest = {} if rest == {"type": "message"} else rest
        if rest:
            first = self._first.setdefault(key, line.id)
            self._kept.setdefault(first, {})["message"] = rest

    def _system(self, line: Line) -> None:
        value = line.value
        kind = value.get("subtype")
        text = text_of(value.get("content"))
        failed = value.get("level") == "error" or kind == "api_error"
        error = (text or str(kind)) if failed else None
        told = Result(text=text, error=error, status=None if error is None else "error")
        name = kind if isinstance(kind, str) and kind else "system"
        self._talk.event(line.id, name, told, start=nanoseconds(value.get("timestamp")))

    def _agent(self, line: Line, prompt: str | None) -> _Agent | None:
        """Return the sub-agent that a record is of; None for the session's own agent."""
        value = line.value
        if self._is_agent or value.get("isSidechain") is not True:
            return None
        parent = normalised_id(value.get("parentUuid"))
        group = normalised_id(value.get("agentId")) or self._group.get(parent or "") or line.id
        self._group[line.id] = group
        if group not in self._agents:
            time = nanoseconds(value.get("timestamp"))
            asked = {} if prompt is None else {"prompt": prompt}
            call = self._talk.event(
                group, "agent", Result(), type="AGENT", arguments=asked, start=time
            )
            self._agents[group] = _Agent(call, asked=None if prompt is None else line.id)
            self._link(group, self._asked.get(prompt or ""))
        return self._agents[group]

    def _note_started(self, content: Any) -> None:
        """Remember calls by the prompt they hold: a sub-agent without id starts with it."""
        for block in content if isinstance(content, list) else ():
            given = block.get("input") if isinstance(block, dict) else None
            key = normalised_id(block.get("id")) if isinstance(given, dict) else None
            prompt = given.get("prompt") if isinstance(given, dict) else None
            if key is not None and isinstance(prompt, str):
                self._asked[prompt] = key

    def _link(self, group: str, key: str | None) -> None:
        agent, call = self._agents.get(group), self._blocks.call_of(key or "")
        if agent is None or call is None or call.seq > agent.call.seq:
            return
        agent.call.within = call
        given = call.arguments if isinstance(call.arguments, dict) else {}
        kind = given.get("subagent_type")
        agent.call.name = kind if isinstance(kind, str) and kind else agent.call.name

    def _told(self, line: Line, message: Mapping[str, Any]) -> None:
        """Keep what the harness tells of a result, and the sub-agent that it names."""
        told = line.value.get("toolUseResult")
        results = _results(message)
        if isinstance(told, dict) and len(results) == 1:
            agent, key = normalised_id(told.get("agentId")), results[0].get("tool_use_id")
            if agent is not None and isinstance(key, str):
                self._started[agent] = key
                self._link(agent, key)
        texts = {text_of(result.get("content")) or "" for result in results}
        if not _is_empty(told) and not (isinstance(told, str) and told in texts):
            self._kept.setdefault(line.id, {})["toolUseResult"] = told

    def _keep(self, line: Line) -> None:
        """Keep what no other place holds of a record; what never changes stands in metadata."""
        value = line.value
        rest = {k: v for k, v in value.items() if k not in _READ and not _is_empty(v)}
        if value["type"] == "system" and isinstance(value.get("content"), str):
            rest.pop("content", None)
        for key in CONSTANT:
            told = value.get(key)
            if _is_empty(told):
                continue
            if key not in self._metadata:
                self._metadata[key] = self._now[key] = told
            elif told != self._now[key]:
                rest[key] = self._now[key] = told
        parent = value.get("parentUuid")
        if parent is not None and parent != self._before:
            rest["parentUuid"] = parent
        if rest:
            self._kept.setdefault(line.id, {}).update(rest)

    def _left_over(self) -> dict[str, Any]:
        """Return, per record, what the model lacks of it; `results`, where each result stood.

        `records` are those that are no part of the conversation, `repeated` counts what was
        dropped because its uuid had been there.
        """
        for name, found in self._blocks.kept.items():
            self._kept.setdefault(name, {})["blocks"] = found
        results = {done: name for name, (done, _) in self._talk.results.items()}
        told = {
            "messages": self._kept,
            "results": results,
            "records": self._records,
            "repeated": self._repeated,
        }
        return {key: value for key, value in told.items() if value}


def _is_empty(value: Any) -> bool:
    """Whether a value says nothing; 0 says something, false does not."""
    return value is None or value is False or value in _EMPTY


def _results(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [
        block
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
