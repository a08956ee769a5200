"""One trace laid out as steps, with every cited span marked where it stands.

What the agent did is numbered as its judge counts it (METHOD 33); messages go by their ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from helix.errors import PathError
from helix.fieldpath import MISSING, parse_relative, walk
from helix.grounding.texts import fold
from helix.model.jsontext import NonFinite
from helix.model.tokens import as_text
from helix.model.trace import TOOL, Message, Observation, Trace
from helix.model.verdict import Ref
from helix.reports.spans import Mark, Span, cut, find
from helix.reports.visible import one_line

StepKind = Literal["asked", "message", "call", "span", "ended", "record"]
Address = tuple[str | int, ...]
MAX_LINES = 300
MAX_DEPTH = 12
LONG_LINES = 24
LONG_CHARACTERS = 1200
_SCALAR_LIKE = re.compile(r"true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?|")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a ref leads on the page: an anchor, and its step in words.

    `elsewhere` is where a dead quote really stands; where nothing else is known, it is the place.
    """

    anchor: str
    step: str
    elsewhere: Target | None = None


@dataclass(frozen=True, slots=True)
class LineView:
    """One value of a field: depth, key, and its text cut at the marks.

    `style` tells a string from a literal (number, true, false, null) and from a string that looks
    like one; a `level` only names what is nested below it. A text that a message says word for word
    is shown there, at `same`, and not here. `address` leads from the step's owner to the value.
    """

    depth: int
    key: str
    spans: tuple[Span, ...]
    style: Literal["string", "quoted", "literal", "level"]
    same: Target | None = None
    address: Address = ()


@dataclass(frozen=True, slots=True)
class BlockView:
    """One field of a step: its lines, how many values were left out, whether it is cited.

    A `long` block is folded until somebody opens it, or evidence does.
    """

    anchor: str
    title: str
    lines: tuple[LineView, ...]
    characters: int
    left_out: int
    cited: bool
    long: bool


@dataclass(frozen=True, slots=True)
class StepView:
    """One step: `n` is its number among what the agent did, None for all else."""

    anchor: str
    n: int | None
    kind: StepKind
    title: str
    owner: str
    notes: tuple[str, ...]
    blocks: tuple[BlockView, ...]
    failed: bool

    @property
    def cited(self) -> bool:
        """Whether evidence stands in it."""
        return any(block.cited for block in self.blocks)


@dataclass(slots=True)
class _Leaf:
    depth: int
    key: str
    address: Address
    value: Any
    level: bool = False
    marks: list[Mark] = field(default_factory=list)
    same: _Step | None = None

    @property
    def shown(self) -> bool:
        return not self.level and self.same is None

    @property
    def text(self) -> str:
        return as_text(self.value)

    @property
    def style(self) -> Literal["string", "quoted", "literal", "level"]:
        if self.level:
            return "level"
        if not isinstance(self.value, str) or isinstance(self.value, NonFinite):
            return "literal"
        return "quoted" if _SCALAR_LIKE.fullmatch(self.value) else "string"


@dataclass(slots=True)
class _Block:
    anchor: str
    title: str
    address: Address
    value: Any
    leaves: list[_Leaf]
    cited: bool = False


@dataclass(slots=True)
class _Step:
    anchor: str
    n: int | None
    kind: StepKind
    title: str
    owner: str
    notes: list[str] = field(default_factory=list)
    blocks: list[_Block] = field(default_factory=list)
    failed: bool = False

    @property
    def words(self) -> str:
        if self.kind == "message":
            return f"message {one_line(self.owner, 40)}"
        return f"step {self.n}" if self.n is not None else self.title

    def add(self, title: str, address: Address, value: Any) -> None:
        anchor = f"{self.anchor}-b{len(self.blocks)}"
        self.blocks.append(_Block(anchor, title, address, value, list(_leaves(value, address))))


def lay_out(
    trace: Trace, prefix: str, refs: Sequence[Ref], numbers: Mapping[str, int]
) -> tuple[tuple[StepView, ...], dict[Ref, Target]]:
    """Return a trace's steps in seq order and the place of each ref that leads anywhere.

    `numbers` are those of the agent's steps, by observation id. Anchors start with `prefix`. A ref
    whose text is not where it points leads to the step it points at, and says where the text
    stands instead.
    """
    steps = list(_steps(trace, prefix, numbers))
    _say_once(steps)
    marker = _Marker(trace, steps, prefix)
    targets = {ref: target for ref in refs if (target := marker.target(ref)) is not None}
    return tuple(_finished(step) for step in steps), targets


def _steps(trace: Trace, prefix: str, numbers: Mapping[str, int]) -> Iterator[_Step]:
    if trace.input is not None:
        asked = _Step(f"{prefix}-asked", None, "asked", "what was asked", trace.id)
        asked.add("input", ("input",), trace.input)
        yield asked
    items: list[Message | Observation] = [*trace.transcript, *trace.observations]
    spoken = (i for i in items if not (isinstance(i, Message) and i.observation_ids and not i.text))
    in_order = sorted(spoken, key=lambda i: (i.seq, numbers.get(i.id, 0)))
    for at, item in enumerate(in_order, start=1):
        anchor = f"{prefix}-s{at}"
        if isinstance(item, Message):
            yield _message(item, anchor)
        else:
            yield _call(item, anchor, numbers.get(item.id))
    if trace.output is not None:
        ended = _Step(f"{prefix}-ended", None, "ended", "how it ended", trace.id)
        ended.add("output", ("output",), trace.output)
        yield ended
    record = _Step(f"{prefix}-record", None, "record", "what was recorded beside", trace.id)
    for root in ("metadata", "usage"):
        if trace.part(root):
            record.add(root, (root,), trace.part(root))
    if record.blocks:
        yield record


def _say_once(steps: Sequence[_Step]) -> None:
    """Leave out of what was asked the texts that a message says word for word."""
    said: dict[str, _Step] = {}
    for step in steps:
        if step.kind == "message" and step.blocks[0].value:
            said.setdefault(step.blocks[0].value, step)
    for leaf in (leaf for s in steps if s.kind == "asked" for b in s.blocks for leaf in b.leaves):
        if isinstance(leaf.value, str):
            leaf.same = said.get(leaf.value)


def _message(message: Message, anchor: str) -> _Step:
    step = _Step(anchor, None, "message", message.role, message.id)
    if message.control:
        step.notes.append("poses as a turn of the user")
    step.add("text", ("text",), message.text)
    return step


def _call(observation: Observation, anchor: str, n: int | None) -> _Step:
    tool = observation.type == TOOL
    step = _Step(anchor, n, "call" if tool else "span", observation.name, observation.id)
    if not tool:
        step.notes.append(observation.type.lower())
    step.failed = observation.error is not None or observation.level == "ERROR"
    step.notes += [flag.replace("-", " ") for flag in observation.flags]
    if observation.input not in (None, {}):
        step.add("arguments", ("input",), observation.input)
    if observation.has_output:
        step.add("result", ("output",), observation.output)
    elif tool:
        step.notes.append("no result recorded")
    for name in ("error", "status", "level"):
        if (value := getattr(observation, name)) is not None:
            step.add(name, (name,), value)
    return step


def _leaves(value: Any, address: Address, key: str = "", depth: int = 0) -> Iterator[_Leaf]:
    """Yield one leaf per value, and one per level that is entered below the root."""
    if not isinstance(value, dict | list) or not value or depth > MAX_DEPTH:
        yield _Leaf(max(depth - 1, 0), key, address, value)
        return
    if depth:
        yield _Leaf(depth - 1, key, address, value, level=True)
    if isinstance(value, dict):
        if not depth and set(value) == {"text"}:
            yield _Leaf(0, "", (*address, "text"), value["text"])
            return
        for name, item in value.items():
            yield from _leaves(item, (*address, str(name)), str(name), depth + 1)
        return
    for at, item in enumerate(value):
        yield from _leaves(item, (*address, at), f"[{at}]", depth + 1)


class _Marker:
    """Finds the span that a ref cites and marks it, each span once."""

    def __init__(self, trace: Trace, steps: list[_Step], prefix: str) -> None:
        self._trace, self._steps, self._prefix = trace, steps, prefix
        self._count = 0

    def target(self, ref: Ref) -> Target | None:
        """Return where a ref leads, marking its text where it stands."""
        owner, address = self._address(ref)
        home = next((s for s in self._steps if s.owner == owner and _holds(s, address)), None)
        home = home or next((s for s in self._steps if s.owner == owner != self._trace.id), None)
        stands = None if home is None else self._mark_in(home, address, ref.value)
        if ref.match == "dead":
            away = self._elsewhere(ref.value or "")
            if home is None:
                return away and Target(away.anchor, away.step, away)
            return Target(home.anchor, home.words, away)
        if home is None:
            return None
        return Target(stands or home.anchor, home.words)

    def _address(self, ref: Ref) -> tuple[str, Address]:
        try:
            steps = parse_relative(ref.path).steps
        except PathError:
            return ref.obs, ()
        address: Address = tuple(s for s in steps if isinstance(s, str | int))
        if ref.obs == self._trace.id and len(address) > 1 and isinstance(address[1], int):
            holders: Sequence[Message | Observation] = ()
            if address[0] == "observations":
                holders = self._trace.observations
            elif address[0] == "transcript":
                holders = self._trace.transcript
            if -len(holders) <= address[1] < len(holders):
                return holders[address[1]].id, address[2:]
        source = {"inputText": "input", "outputText": "output"}
        if address and address[0] in source:
            address = (source[str(address[0])],)
        asked = (leaf for step in self._steps[:1] for b in step.blocks for leaf in b.leaves)
        for leaf in asked if ref.obs == self._trace.id else ():
            if leaf.same is not None and leaf.address == address:
                return leaf.same.owner, ("text",)
        return ref.obs, address

    def _mark_in(self, step: _Step, address: Address, cited: str | None) -> str | None:
        block = next((b for b in step.blocks if address[: len(b.address)] == b.address), None)
        if block is None:
            return None
        below, value = next(walk(block.value, address[len(block.address) :]), ((), MISSING))
        if value is MISSING:
            return None
        at = (*block.address, *below)
        block.cited = True
        for leaf in (leaf for leaf in block.leaves if leaf.address[: len(at)] == at):
            if not leaf.shown:
                continue
            span = _span(leaf, cited, whole=leaf.address == at)
            if span is not None:
                return self._mark(leaf, span)
        return block.anchor

    def _mark(self, leaf: _Leaf, span: tuple[int, int]) -> str:
        for mark in leaf.marks:
            if (mark.start, mark.end) == span:
                return mark.anchor
        anchor = f"{self._prefix}-m{self._count}"
        self._count += 1
        leaf.marks.append(Mark(*span, anchor))
        return anchor

    def _elsewhere(self, cited: str) -> Target | None:
        if len(fold(cited)) < 4:
            return None
        for step in self._steps:
            for block in step.blocks:
                for leaf in block.leaves:
                    if leaf.shown and (span := find(leaf.text, cited)):
                        block.cited = True
                        return Target(self._mark(leaf, span), step.words)
        return None


def _holds(step: _Step, address: Address) -> bool:
    return any(address[: len(block.address)] == block.address for block in step.blocks)


def _span(leaf: _Leaf, cited: str | None, whole: bool) -> tuple[int, int] | None:
    if cited is None or fold(cited) == fold(leaf.text):
        return (0, len(leaf.text)) if whole or cited else None
    return find(leaf.text, cited) if leaf.style in ("string", "quoted") else None


def _finished(step: _Step) -> StepView:
    blocks = tuple(_block(block) for block in step.blocks)
    return StepView(
        step.anchor, step.n, step.kind, step.title, step.owner, tuple(step.notes), blocks,
        step.failed,
    )  # fmt: skip


def _block(block: _Block) -> BlockView:
    kept = [leaf for at, leaf in enumerate(block.leaves) if at < MAX_LINES or leaf.marks]
    lines = tuple(_line(leaf) for leaf in kept)
    texts = [leaf.text for leaf in kept if leaf.shown]
    characters = sum(map(len, texts))
    height = len(lines) + sum(text.count("\n") for text in texts)
    return BlockView(
        block.anchor,
        block.title,
        lines,
        characters,
        left_out=len(block.leaves) - len(kept),
        cited=block.cited,
        long=characters > LONG_CHARACTERS or height > LONG_LINES,
    )


def _line(leaf: _Leaf) -> LineView:
    spans = cut(leaf.text, leaf.marks) if leaf.shown else ()
    same = None if leaf.same is None else Target(leaf.same.anchor, leaf.same.words)
    return LineView(leaf.depth, leaf.key, spans, leaf.style, same, leaf.address)
