"""From spans to one trace: what every span format shares (OTLP, OpenInference, Langfuse, …).

A span is one observation. Messages that spans carry are said where they are new: what a model
was given before its GENERATION, what it answered after it and all that runs inside it. A call in
a message and the span that executed it are one observation, by call id, else by name and equal
arguments; a call that no span executed is an observation of its own, right after its message. A
span around others that carry messages (an agent's, a wrapper's) adds only what they do not have.

Order: an explicit sequence where every span has one, else the start, a parent before its children.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helix.ingest.conversation import ORPHAN, asked, input_of, is_control, output_of
from helix.ingest.executed import AGENT, GENERATION, MESSAGE, SPAN, Claims, Done, Span, spelling
from helix.ingest.history import History, News, Said, ToolCall, keys_of, spelled, without
from helix.ingest.identity import Ids, derived_id, normalised_id
from helix.ingest.pairing import NOT_RECORDED, Call, Pairing, Result
from helix.ingest.tree import arranged
from helix.ingest.usage import summed
from helix.model.trace import TOOL, Message, Observation, Source, Trace

__all__ = ["AGENT", "GENERATION", "MESSAGE", "SPAN", "Span", "build"]


def build(source: Source, trace_id: str | None, spans: Sequence[Span], **parts: Any) -> Trace:
    """Return the trace of one trace id's spans; `parts` are further fields of it.

    `raw` may be a dict or a function that returns one; `spans` is added to it. `input` and
    `output` add to what the messages, or without any the root span, say.
    """
    return _Builder(source, trace_id, spans).build(parts)


class _Builder:
    def __init__(self, source: Source, trace_id: str | None, spans: Sequence[Span]) -> None:
        self._source = source
        self._id = trace_id or derived_id(source.digest)
        self._flags = set() if trace_id else {"derived-id"}
        self._spans = spans
        self._ids = Ids(self._id)
        self._history = History()
        self._pairing = Pairing()
        self._known: dict[str, Done] = {}
        self._texts: set[str | None] = set()
        self._results: set[str] = set()
        self._unspelled: list[tuple[str | None, Any]] = []
        self._emitted: list[Done] = []
        self._orphans: list[Observation] = []
        self._messages: list[Message] = []
        self._links: list[list[Done]] = []
        self._seq = 0
        self._tree = arranged(spans)
        self._done = [self._span(span) for span in spans]
        self._claims = Claims(self._done[at] for at in self._tree.order)
        self._heard: dict[int, News] = {}
        self._inner = {
            key
            for at, span in enumerate(spans)
            if at not in self._tree.outer
            for key in (*keys_of(span.heard), *keys_of(span.said))
        }

    def build(self, parts: dict[str, Any]) -> Trace:
        for at, is_end in self._tree.walk():
            if is_end:
                self._ends(at)
            else:
                self._starts(at)
        self._pairing.close()
        observations = [_observation(done) for done in self._emitted]
        observations = sorted([*observations, *self._orphans], key=lambda o: o.seq)
        for message, made in zip(self._messages, self._links, strict=True):
            message.observation_ids = tuple(done.id for done in made)
        raw = parts.pop("raw", None)
        flags = {*self._flags, *parts.pop("flags", ())}
        trace = Trace(
            id=self._id,
            source=self._source,
            input={**self._asked(), **parts.pop("input", {})},
            output={**self._answer(observations), **parts.pop("output", {})},
            observations=observations,
            transcript=self._messages,
            usage=parts.pop("usage", None) or self._usage(),
            flags=tuple(sorted(flags)),
            **parts,
        )
        trace.raw = lambda: self._raw(raw)
        return trace

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1

    def _span(self, span: Span) -> Done:
        taken, repeated = self._ids.take(normalised_id(span.id) or "span")
        if repeated and span.id:
            span.flags.append("duplicate-id")
        done = Done(taken, span=span)
        if span.type == TOOL:
            done.key = span.call_key
            done.call = Call(span.call_key, span.name, -1, span.parent, flags=span.flags)
            done.call.free_text = span.free_text
            if span.has_input:
                done.call.arguments = span.input_text
                if span.input is not NOT_RECORDED:
                    done.call.arguments = span.input
        return done

    def _starts(self, at: int) -> None:
        span, done = self._spans[at], self._done[at]
        span.flags += self._tree.flags[at]
        if span.type == MESSAGE:
            self._flags |= set(span.flags)
            self._message(span.said[0], at)
            return
        heard = span.heard
        if at in self._tree.outer:
            heard = without(heard, self._inner)
        news = self._history.hear(heard)
        self._heard[at] = news
        done.total, done.repeated = len(span.heard), len(span.heard) - len(news.new)
        self._say(news, at)
        done.seq = self._next()
        self._emitted.append(done)
        if done.call is not None:
            done.call.seq = done.seq
            if done.call.key is not None:
                self._known[done.call.key] = done
            if span.has_output:
                self._texts.add(span.output_text)
                self._unspelled.append((span.output_text, span.output))
            elif span.error is None:
                self._pairing.call(done.call)

    def _ends(self, at: int) -> None:
        said = self._spans[at].said if self._spans[at].type != MESSAGE else ()
        if at in self._tree.outer:
            said = without(said, self._inner)
        if said:
            self._say(self._history.reply(said, self._heard[at]), at)

    def _say(self, news: News, at: int) -> None:
        for said in news.new:
            if said.source is not None:
                self._done[at].sources.append(said.source)
            if said.text or said.calls:
                self._message(said, at)
            for result in said.results:
                self._result(result, at)

    def _message(self, said: Said, at: int) -> None:
        taken = self._done[at].id
        if self._spans[at].type != MESSAGE:
            taken, _ = self._ids.take(f"m{len(self._messages)}")
        text = said.text or ""
        control = is_control(said.role, text)
        self._messages.append(Message(taken, self._next(), said.role, text, control=control))
        self._links.append([self._called(call, at) for call in said.calls])

    def _called(self, asked_for: ToolCall, at: int) -> Done:
        """Return the observation of a call: that of the span which executed it, or a new one."""
        done = self._claims.claim(asked_for)
        if done is None or done.call is None or done.span is None:
            done = self._unclaimed(asked_for, at)
        elif not done.span.has_input:
            done.call.arguments, done.call.free_text = asked_for.arguments, asked_for.free_text
        elif spelled(done.call.arguments) != spelled(asked_for.arguments):
            asked = {"callId": asked_for.key, "arguments": asked_for.arguments}
            self._done[at].sources.append(asked)
        if done.span is not None and done.call is not None:
            if done.call.key is None or asked_for.key is None:
                done.call.flag("paired-by-position")
            if done.call.key is None:
                done.key = asked_for.key
                done.call.key = None if done.seq >= 0 else asked_for.key
        if asked_for.key is not None:
            self._known[asked_for.key] = done
        return done

    def _unclaimed(self, asked_for: ToolCall, at: int) -> Done:
        """Return the observation of a call that no span executed."""
        name = asked_for.name
        call = Call(asked_for.key, name, self._next(), self._done[at].id, asked_for.arguments)
        call.free_text = asked_for.free_text
        taken, repeated = self._ids.take(call.key or f"call-{call.seq}")
        if repeated:
            call.flag("duplicate-id")
        self._pairing.call(call)
        made = Done(taken, call.seq, call=call)
        self._emitted.append(made)
        return made

    def _result(self, result: Result, at: int) -> None:
        """Give a result to its call; one that a span recorded already is a repetition."""
        known = self._known.get(result.key) if result.key is not None else None
        recorded = known is not None or (result.key is None and self._is_recorded(result))
        if recorded and not self._pairing.is_open(result.key):
            self._repeated(result, known, at)
            return
        flags = self._pairing.result(result)
        if flags:
            told = {"callId": result.key, "name": result.tool}
            seq = self._next()
            taken, _ = self._ids.take(f"{ORPHAN}-{seq}")
            given = {key: value for key, value in told.items() if value is not None}
            self._orphans.append(
                Observation(
                    taken, seq, ORPHAN, "EVENT", input=given, flags=flags, **output_of(result)
                )
            )

    def _repeated(self, result: Result, known: Done | None, at: int) -> None:
        """Keep what a repetition says otherwise than the span did: an error, other words."""
        span = known.span if known is not None else None
        if span is not None and span.error is None and result.error is not None:
            span.error, span.status = result.error, result.status
        if not self._is_recorded(result):
            value = result.text if result.value is NOT_RECORDED else result.value
            self._done[at].sources.append({"callId": result.key, "content": value})

    def _is_recorded(self, result: Result) -> bool:
        if result.text is not None and result.text in self._texts:
            return True  # Most are repeated to the letter, and need no other spelling.
        self._results |= {spelling(text, value) for text, value in self._unspelled}
        self._unspelled.clear()
        return spelling(result.text, result.value) in self._results

    def _asked(self) -> dict[str, Any]:
        told = asked(self._messages)
        root = self._root()
        if "prompt" not in told and root is not None and root.type != TOOL:
            told |= _told(root.input, root.input_text, "prompt")
        return told

    def _answer(self, observations: Sequence[Observation]) -> dict[str, Any]:
        """The last thing that the agent said after its last call, else what the root returned."""
        last = max((o.seq for o in observations if o.type == TOOL), default=-1)
        for message in reversed(self._messages):
            if message.seq < last:
                break
            if message.role == "assistant" and message.text:
                return {"response": message.text}
        root = self._root()
        if root is None or root.type == TOOL:
            return {}
        return _told(root.output, root.output_text, "response")

    def _root(self) -> Span | None:
        return self._spans[self._tree.order[0]] if self._spans else None

    def _usage(self) -> dict[str, Any]:
        """The sums of the innermost spans that tell their usage, and how long the root took.

        A model's answer outside of these spans makes every sum a part.
        """
        spans = self._spans
        told = self._tree.innermost(bool(span.usage) for span in spans)
        models = self._tree.innermost(bool(s.usage) or s.type == GENERATION for s in spans)
        silent = not all(self._stands_in(at, told) for at in models)
        used = [spans[at].usage for at in told]
        keys = dict.fromkeys(key for usage in used for key in usage)
        total = summed(used, {key: key for key in keys}, silent=silent)
        root = self._root()
        if root is not None and root.start is not None and root.end is not None:
            total["latencyMs"] = (root.end - root.start) / 1e6
        return total

    def _stands_in(self, at: int | None, holders: Sequence[int]) -> bool:
        while at is not None and at not in holders:
            at = self._tree.parents[at]
        return at is not None

    def _raw(self, given: Any) -> dict[str, Any] | None:
        raw = dict((given() if callable(given) else given) or {})
        kept = {}
        for done in self._done:
            rest = done.span.rest if done.span else None
            rest = rest() if callable(rest) else rest
            if done.sources:
                rest = {**(rest or {}), "messages": done.sources}
            if done.key is not None:
                rest = {**(rest or {}), "callId": done.key}
            if rest:
                kept[done.id] = rest
        if kept:
            raw["spans"] = kept
        return raw or None


def _observation(done: Done) -> Observation:
    span, call = done.span, done.call
    if span is None:
        assert call is not None
        told = {**input_of(call), **output_of(call.result)}
        return Observation(
            done.id, done.seq, call.name, parent_id=call.parent_id, flags=call.flags, **told
        )
    told = {"error": span.error, "status": span.status}
    if call is not None:
        told |= input_of(call)
        if call.result is not None:
            told |= {key: v for key, v in output_of(call.result).items() if v is not None}
    else:
        told |= _generic_input(done, span)
    if span.has_output:
        told["output_text"] = span.output_text
        if span.output is not NOT_RECORDED:
            told["output"] = span.output
    elif call is None and span.said:
        texts = [s.text for s in span.said if s.text and s.role == "assistant"]
        told["output_text"] = "\n".join(texts) if texts else None
    return Observation(
        done.id,
        done.seq,
        span.name,
        span.type,
        level=span.level,
        start_time=span.start,
        end_time=span.end,
        parent_id=span.parent,
        flags=tuple(dict.fromkeys(span.flags)),
        **told,
    )


def _generic_input(done: Done, span: Span) -> dict[str, Any]:
    if span.input is not NOT_RECORDED:
        return {"input": span.input, "input_text": span.input_text}
    if span.input_text is not None:
        return {"input_text": span.input_text}
    if done.total:
        return {"input": {"messages": done.total, "repeated": done.repeated}}
    return {"input": None}


def _told(value: Any, text: str | None, key: str) -> dict[str, Any]:
    if value is NOT_RECORDED:
        return {key: text} if text is not None else {}
    if isinstance(value, dict):
        return value
    return {key: value} if value is not None else {}
