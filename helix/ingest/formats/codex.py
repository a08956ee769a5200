"""Codex rollouts: JSON Lines of {timestamp, type, payload}; a file is one session.

`response_item`s are the Responses items of the session. `event_msg`s repeat them for display:
what an item says already is counted once, what only an event says is kept. A tool's exit code
stands in its output and is not an error that anyone declared. A message's id is `m` and its
line, counted from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.content import text_of
from helix.ingest.conversation import Conversation
from helix.ingest.detection import describe
from helix.ingest.formats.openai_responses import usage_of
from helix.ingest.formats.response_items import Items
from helix.ingest.identity import normalised_id
from helix.ingest.pairing import Result
from helix.ingest.times import nanoseconds
from helix.model.canonical import source_digest
from helix.model.manifest import LoadFailure
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

NAME: Final = "codex"
KINDS: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
SPOKEN: Final = {"user_message": "user", "agent_message": "assistant"}
ERRORS: Final = ("error", "stream_error")
SHOWN: Final = (*ERRORS, "turn_aborted", "context_compacted", "thread_rolled_back")
_GUIDANCE = "# AGENTS.md instructions"
_OMITTED = re.compile(r"omitted \d+ of \d+ lines|\d+ (?:tokens|chars) truncated")

_Line = tuple[Record, str, dict[str, Any]]


def detect(value: Any) -> Match | None:
    """Recognise a line of a rollout by its type and payload."""
    if isinstance(value, dict) and value.get("type") in KINDS and _has_payload(value):
        return Match(f"type {value['type']} with a payload", specificity=3)
    return None


def _has_payload(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("payload"), Mapping)


def read(records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
    """Read the records of a file as one session; a bad one is a failure, the others stay."""
    lines: list[_Line] = []
    for record in records:
        value = record.value
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(kind, str) or not _has_payload(value):
            reason = f"{NAME}: a line must have a type and a payload (got {describe(value)})"
            yield LoadFailure(file=record.file, line=record.line, reason=reason)
        else:
            lines.append((record, kind, value["payload"]))
    session = _Session(lines)
    for record, kind, payload in lines:
        try:
            session.read(record, kind, payload)
        except FormatError as error:
            yield LoadFailure(file=record.file, line=record.line, reason=f"{NAME}: {error}")
    if lines:
        yield session.finish()


class _Session:
    """One session in the making."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        metas = (payload for _, kind, payload in lines if kind == "session_meta")
        self._meta: dict[str, Any] = next(metas, {})
        file = lines[0][0].file if lines else ""
        digest = source_digest(b"\n".join(record.data for record, _, _ in lines))
        self._talk = Conversation(
            Source(file, 0, NAME, digest), normalised_id(self._meta.get("id"))
        )
        self._items = Items(self._talk)
        self._said = frozenset(_said_by_items(lines))
        self._typed = frozenset(_typed_by_user(lines))
        self._raw: dict[str, Any] = {}
        self._tokens: Mapping[str, Any] = {}
        self._context: dict[str, Any] = {}
        self._say_instructions()

    def read(self, record: Record, kind: str, payload: dict[str, Any]) -> None:
        """Read one line."""
        name = f"m{record.line}"
        stamp = record.value.get("timestamp")
        time = nanoseconds(stamp)
        self._note("times", name, stamp)
        if kind == "response_item":
            self._items.read(payload, name, time=time, control=self._is_of_harness(payload))
        elif kind == "event_msg":
            self._event(name, payload, time)
        elif kind == "turn_context":
            changed = {k: v for k, v in payload.items() if self._context.get(k, ...) != v}
            self._context |= changed
            self._note("contexts", name, changed)
        elif kind == "compacted":
            told = payload.get("message")
            rest = {key: value for key, value in payload.items() if key != "message"}
            text = told if isinstance(told, str) else None
            self._talk.event(name, kind, Result(text=text), start=time)
            self._note("compacted", name, rest if text is not None else payload)
        elif payload is not self._meta:
            self._note("records", name, {"type": kind, "payload": payload})

    def finish(self) -> Trace:
        """Return the trace of the session."""
        read = ("instructions", "base_instructions")
        trace = self._talk.finish(
            metadata={k: v for k, v in self._meta.items() if v is not None and k not in read},
            usage=self._usage(),
            flags=("copied-context",) if self._meta.get("forked_from_id") else (),
            raw=self._left_over,
        )
        for observation in trace.observations:
            if _says_cut(observation.output_text):
                observation.flags = (*observation.flags, "truncated")
        return trace

    def _left_over(self) -> dict[str, Any]:
        """Per line: what the model lacks of it; `results`, where each result stood."""
        results = {done: name for name, (done, _) in self._talk.results.items()}
        raw = {"items": self._items.kept, "results": results, **self._raw}
        return {k: v for k, v in {**raw, "tokenCount": self._tokens}.items() if v}

    def _say_instructions(self) -> None:
        base = self._meta.get("base_instructions")
        for told in (
            base.get("text") if isinstance(base, Mapping) else base,
            self._meta.get("instructions"),
        ):
            if isinstance(told, str):
                self._talk.say("instructions", "system", told)

    def _event(self, name: str, payload: Mapping[str, Any], time: int | None) -> None:
        kind = str(payload.get("type"))
        text = payload.get("text" if "text" in payload else "message")
        if kind in SPOKEN:
            if isinstance(text, str) and text not in self._said:
                self._items.read(
                    {"type": "message", "role": SPOKEN[kind], "content": text}, name, time=time
                )
        elif kind == "agent_reasoning":
            if not isinstance(text, str) or text not in self._said:
                self._note("reasoning", name, text)
        elif kind == "token_count":
            self._tokens = payload if payload.get("info") or not self._tokens else self._tokens
        elif kind in SHOWN:
            rest = {key: value for key, value in payload.items() if key != "type"}
            error = str(text or kind) if kind in ERRORS else None
            result = Result(error=error, status=None if error is None else "error")
            self._talk.event(name, kind, result, arguments=rest, start=time)
        else:
            rest = {
                k: v for k, v in payload.items() if not (isinstance(v, str) and v in self._said)
            }
            self._note("events", name, rest)

    def _is_of_harness(self, item: Mapping[str, Any]) -> bool:
        """Whether a message of the user is no one's: guidance, or tagged and shown to nobody."""
        if item.get("type") != "message" or item.get("role") != "user":
            return False
        text = text_of(item.get("content")) or ""
        if text.startswith(_GUIDANCE):
            return True
        shown = bool(self._typed & {text, *_parts(item.get("content"))})
        return bool(self._typed) and not shown and text.lstrip().startswith("<")

    def _usage(self) -> dict[str, Any]:
        info = self._tokens.get("info")
        return usage_of(info.get("total_token_usage")) if isinstance(info, Mapping) else {}

    def _note(self, section: str, name: str, value: Any) -> None:
        if value not in (None, "", {}, []):
            self._raw.setdefault(section, {})[name] = value


def _says_cut(text: str | None) -> bool:
    if text is None or not ("omitted" in text or "truncated" in text):
        return False
    return _OMITTED.search(text) is not None


def _parts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else (content,):
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            yield text


def _said_by_items(lines: Sequence[_Line]) -> Iterator[str]:
    for _, kind, payload in lines:
        if kind == "response_item":
            for key in ("content", "summary"):
                yield from _parts(payload.get(key))
            if payload.get("type") == "message":
                yield text_of(payload.get("content")) or ""


def _typed_by_user(lines: Sequence[_Line]) -> Iterator[str]:
    for _, kind, payload in lines:
        if kind == "event_msg" and payload.get("type") == "user_message":
            yield from _parts(payload.get("message"))


FORMAT = Format(NAME, "1", detect, read, whole_file=True)
