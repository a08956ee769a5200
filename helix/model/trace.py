"""The canonical trace: one shape whatever the source, so that a path reads in every format.

Messages are what was said (`transcript`), observations what was done (`observations`); one
`seq` runs through both, so that “a write after the user's yes” is decidable. A tool call joined
to its result is one observation. Slotted and lazy: text is decoded when it is first read, and
the source text stays, because that is what judges quote (DESIGN “The trace”).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from helix.fieldpath import MISSING
from helix.model.jsontext import decode_container

FLAGS: Final = (
    "duplicate-call-id",
    "orphan-result",
    "missing-result",
    "ambiguous-pairing",
    "ambiguous-order",
    "parent-missing",
    "parent-cycle",
    "invalid-arguments",
    "non-finite-number",
    "truncated",
    "copied-context",
    "redacted",
    "lone-surrogate",
    "paired-by-position",
    "duplicate-id",
    "derived-id",
)
TRACE_SCHEMA_VERSION: Final = "1.0"
TOOL: Final = "TOOL"

# A class, because a deep copy keeps it as it is.
NOT_READ: Final[Any] = type("NotRead", (), {})
_OWNERS: Final = "owners by id"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a trace came from: file, 1-based line (0 for a whole file), format, digest."""

    file: str
    line: int
    format: str
    digest: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "format": self.format,
            "digest": self.digest,
        }


_OBSERVATION: Final = {
    "id": "id", "seq": "seq", "type": "type", "name": "name", "input": "input", "output": "output",
    "inputText": "input_text", "outputText": "output_text", "error": "error", "level": "level",
    "status": "status", "startTime": "start_time", "endTime": "end_time", "parentId": "parent_id",
    "flags": "flags",
}  # fmt: skip


class Observation:
    """One thing that was done: a tool call with its result, a generation, a span.

    Give `input` or `input_text`, and `output` or `output_text`; a text is decoded on first read.
    Arguments: a JSON object, else kept as text. A result: decoded when it is a JSON object or
    array, else `{"text": …}`; absent when the call has no result. Times are integer nanoseconds.
    """

    __slots__ = (
        "_input", "_output", "end_time", "error", "flags", "id", "input_text", "level", "name",
        "output_text", "parent_id", "seq", "start_time", "status", "type",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        seq: int,
        name: str,
        type: str = TOOL,
        *,
        input: Any = NOT_READ,
        input_text: str | None = None,
        output: Any = NOT_READ,
        output_text: str | None = None,
        error: str | None = None,
        level: str | None = None,
        status: str | None = None,
        start_time: int | None = None,
        end_time: int | None = None,
        parent_id: str | None = None,
        flags: Iterable[str] = (),
    ) -> None:
        self.id, self.seq, self.name, self.type = id, seq, name, type
        self._input, self.input_text = input, input_text
        self._output, self.output_text = output, output_text
        self.error, self.level, self.status = error, level, status
        self.start_time, self.end_time, self.parent_id = start_time, end_time, parent_id
        self.flags: tuple[str, ...] = tuple(flags)

    @property
    def input(self) -> Any:
        """The decoded arguments; None when nothing was recorded."""
        if self._input is NOT_READ:
            self._input = decode_arguments(self.input_text)
        return self._input

    @property
    def output(self) -> Any:
        """The decoded result; None when there is none."""
        if self._output is NOT_READ:
            self._output = decode_result(self.output_text)
        return self._output

    @property
    def undecoded(self) -> tuple[str, ...]:
        """The texts that nobody decoded yet."""
        texts = []
        if self._input is NOT_READ and self.input_text is not None:
            texts.append(self.input_text)
        if self._output is NOT_READ and self.output_text is not None:
            texts.append(self.output_text)
        return tuple(texts)

    @property
    def has_output(self) -> bool:
        """Whether a result was recorded, even an empty one."""
        if self._output is NOT_READ:
            return self.output_text is not None
        return self._output is not None

    def beside(self, other: Observation) -> bool:
        """Whether both are of one turn, so that neither was made knowing the other's result."""
        return self.parent_id is not None and self.parent_id == other.parent_id

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON shape of canonical JSONL, absent fields left out.

        `input` and `output` are always there (null when nothing was recorded).
        """
        found = ((key, self.read(key)) for key in _OBSERVATION)
        return {
            key: None if value is MISSING else value
            for key, value in found
            if value is not MISSING or key == "output"
        }

    def walked(self) -> dict[str, Any]:
        """Return the JSON shape that paths walk: a result that was not recorded is not there."""
        found = ((key, self.read(key)) for key in _OBSERVATION)
        return {key: value for key, value in found if value is not MISSING}

    def fields(self, key: Any) -> dict[str, Any]:
        """Return what `walked` holds under one key, and decode nothing else; all for no key."""
        if not isinstance(key, str):
            return self.walked()
        value = self.read(key)
        return {} if value is MISSING else {key: value}

    def read(self, key: Any) -> Any:
        """Return what `walked` holds under one key, or MISSING, and decode nothing else."""
        if key == "input":
            return self.input
        if key == "output":
            value = self.output
        elif key == "flags":
            value = list(self.flags) or None
        else:
            value = getattr(self, _OBSERVATION[key]) if key in _OBSERVATION else None
        return MISSING if value is None else value


def decode_arguments(text: str | None) -> Any:
    """Return a call's arguments: {} for none, the object or list it spells, else the text."""
    if text is None or not text.strip():
        return {}
    value = decode_container(text)
    return text if value is None else value


def decode_result(text: str | None) -> Any:
    """Return a call's result: None for none, the object or list it spells, else {"text": text}."""
    if text is None:
        return None
    value = decode_container(text)
    return {"text": text} if value is None else value


@dataclass(slots=True)
class Message:
    """One thing that was said. `control` marks text that only poses as a turn of the user."""

    id: str
    seq: int
    role: str
    text: str
    observation_ids: tuple[str, ...] = ()
    control: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON shape of the message."""
        record: dict[str, Any] = {
            "id": self.id,
            "seq": self.seq,
            "role": self.role,
            "text": self.text,
            "observationIds": list(self.observation_ids),
        }
        if self.control:
            record["control"] = True
        return record

    def fields(self, key: Any) -> dict[str, Any]:
        """Return the part of `to_dict` in which a path with that first step goes on."""
        return {"text": self.text} if key == "text" else self.to_dict()


@dataclass(slots=True)
class Trace:
    """One recorded run of the subject. `labels` are never in a packet and never addressable.

    `raw` is what has no other place in the model, without labels; it may be given as a function,
    which is called on first read.
    """

    id: str
    source: Source
    input: Any = None
    output: Any = None
    observations: list[Observation] = field(default_factory=list)
    transcript: list[Message] = field(default_factory=list)
    route: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    labels: dict[str, Any] = field(default_factory=dict)
    task: str | None = None
    _raw: Any = None
    _parts: dict[str, Any] | None = None

    @property
    def raw(self) -> Any:
        """What the source held beside the model, without labels."""
        if callable(self._raw):
            self._raw = self._raw()
        return self._raw

    @raw.setter
    def raw(self, value: Any | Callable[[], Any]) -> None:
        self._raw = value

    @property
    def all_flags(self) -> tuple[str, ...]:
        """The trace's own flags and those of its observations, sorted, each once."""
        return tuple(sorted({*self.flags, *(f for o in self.observations for f in o.flags)}))

    def tools(self, name: str | None = None) -> list[Observation]:
        """Return the tool calls in order, all of them or those of one name."""
        return [o for o in self.observations if o.type == TOOL and (name is None or o.name == name)]

    @property
    def owners(self) -> dict[str, Observation | Message]:
        """What an id names: the first observation of that id, else the first message."""
        if self._parts is None:
            self._parts = {}
        if _OWNERS not in self._parts:
            held: list[Observation | Message] = [*self.observations, *self.transcript]
            self._parts[_OWNERS] = {item.id: item for item in reversed(held)}
        owners: dict[str, Observation | Message] = self._parts[_OWNERS]
        return owners

    def part(self, root: str) -> Any:
        """Return what a root of the path grammar stands for, as plain JSON values."""
        if self._parts is None:
            self._parts = {}
        if root not in self._parts:
            self._parts[root] = self._build(root)
        return self._parts[root]

    def _build(self, root: str) -> Any:
        if root == "observations":
            return [o.walked() for o in self.observations]
        if root == "transcript":
            return [m.to_dict() for m in self.transcript]
        return getattr(self, root)

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical JSON shape, labels included (the form of Helix JSONL)."""
        record: dict[str, Any] = {"schemaVersion": TRACE_SCHEMA_VERSION, "id": self.id}
        for key, value in (("route", self.route), ("task", self.task)):
            if value is not None:
                record[key] = value
        if self.metadata:
            record["metadata"] = self.metadata
        if self.flags:
            record["flags"] = list(self.flags)
        record |= {"input": self.input, "output": self.output}
        record["observations"] = [o.to_dict() for o in self.observations]
        record["transcript"] = self.part("transcript")
        extras = {"usage": self.usage, "labels": self.labels, "raw": self.raw}
        record |= {key: value for key, value in extras.items() if value}
        return record
