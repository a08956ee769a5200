"""What travels between the run and its workers: frames of MessagePack, closed shapes, no code.

What may hold any text (config, entries, units, replies) travels as the JSON that artifacts have,
so that lone surrogates arrive as they are.
"""

from __future__ import annotations

import json
import struct
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar, cast

import msgspec

from helix.adjudication import Written
from helix.engine.distant import Answer
from helix.model.canonical import Same
from helix.model.lines import decode_line, encode_line
from helix.model.request import Message, NoReply, Pending, Pin, Reply, Request, Unit

T = TypeVar("T")
HEADER: Final = struct.Struct(">Q")
_WHOLE: Final = ("utf-8", "surrogatepass")
_ESCAPE: Final = b"\\ud"


class Begin(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The run as data; `tools` and `roles` are those that the survey saw."""

    config: bytes
    suite: bytes | None
    today: str
    plan: str
    tools: tuple[str, ...]
    roles: tuple[str, ...]


class Part(msgspec.Struct, frozen=True, array_like=True):
    """One record: where it is, and the manifest's entries of all traces in it, mostly one.

    With `format` it is `size` bytes at `offset` of a file of lines, with `skip` lines before;
    else it comes in its file after `skip` traces.
    """

    name: bytes
    path: str
    entries: tuple[bytes, ...]
    ordinals: tuple[int, ...]
    format: str | None = None
    offset: int = 0
    size: int = 0
    skip: int = 0


class Chunk(msgspec.Struct, frozen=True, tag=True):
    """Traces to begin."""

    parts: tuple[Part, ...]


class Step(msgspec.Struct, frozen=True, tag=True):
    """A conversation to go on with: where its trace is, and all answers that it was given."""

    ordinal: int
    part: Part
    answers: tuple[Said, ...]


class Said(msgspec.Struct, frozen=True, array_like=True):
    """An answer, as JSON, and its kind; of a task that waits, the key."""

    kind: str
    data: bytes

    @classmethod
    def of(cls, answer: Answer | Pending) -> Said:
        """Return the answer as it travels."""
        if isinstance(answer, Pending):
            return cls("pending", encode_line(answer.key))
        return cls("reply" if isinstance(answer, Reply) else "none", encode_line(answer))

    def answer(self) -> Answer | Pending:
        """Return the answer as it was."""
        if self.kind == "pending":
            return Pending(decode_line(self.data, str))
        if self.kind == "none":
            return decode_line(self.data, NoReply)
        return decode_line(self.data, Reply)


class Wording(msgspec.Struct, frozen=True, array_like=True):
    """One message of a prompt, encoded as keys digest it; `exact` where that lost a surrogate."""

    role: Literal["system", "user", "assistant"]
    encoded: bytes
    exact: bytes | None = None

    @classmethod
    def of(cls, message: Message) -> Wording:
        """Return the message as it travels."""
        kept = message.encoded
        lossy = _ESCAPE in kept
        return cls(message.role, kept, message.content.encode(*_WHOLE) if lossy else None)

    def message(self) -> Message:
        """Return the message as it was, its encoding with it."""
        whole = self.encoded[len(self.role) + 1 :] if self.exact is None else self.exact
        made = Message(self.role, whole.decode(*_WHOLE))
        vars(made)["encoded"] = self.encoded
        return made


class _Own(msgspec.Struct, frozen=True, array_like=True):
    unit: Unit
    nonce: str
    not_by: tuple[str, ...]


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A request, in parts: what is its own as JSON, what many share as JSON, what is long apart."""

    own: bytes
    pin: bytes
    schema: bytes
    messages: tuple[Wording, ...]

    @classmethod
    def of(cls, request: Request) -> Asked:
        """Return the request as it travels."""
        return cls(
            own=encode_line(_Own(request.unit, request.nonce, request.not_by)),
            pin=_shared(Same(request.pin)),
            schema=_shared(Same(request.reply_schema)),
            messages=tuple(map(Wording.of, request.messages)),
        )

    def request(self) -> Request:
        """Return the request as it was; requests of one pin and schema share these."""
        own = decode_line(self.own, _Own)
        return Request(
            unit=own.unit,
            pin=_pin(self.pin),
            messages=tuple(wording.message() for wording in self.messages),
            nonce=own.nonce,
            reply_schema=_schema(self.schema),
            not_by=own.not_by,
        )


@lru_cache(maxsize=64)
def _shared(same: Same) -> bytes:
    return encode_line(same.value)


@lru_cache(maxsize=64)
def _pin(data: bytes) -> Pin:
    return decode_line(data, Pin)


@lru_cache(maxsize=64)
def _schema(data: bytes) -> dict[str, Any] | None:
    return cast("dict[str, Any] | None", json.loads(data))


class Result(msgspec.Struct, frozen=True, array_like=True):
    """How far a conversation came: what it wrote, what it asks, or how it ended without a line.

    `part` is the place of its record in the chunk.
    """

    ordinal: int
    part: int = 0
    written: Written | None = None
    request: Asked | None = None
    waits: bytes | None = None
    error: bytes | None = None


class Results(msgspec.Struct, frozen=True, tag=True):
    """What came of a chunk or a step."""

    results: tuple[Result, ...]


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The worker has prepared the same run."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The worker cannot go on: the class of the error, and its text."""

    kind: str
    text: bytes


ToWorker = Begin | Chunk | Step
FromWorker = Ready | Results | Refused
_encoder = msgspec.msgpack.Encoder()
_to_worker = msgspec.msgpack.Decoder(ToWorker)
_from_worker = msgspec.msgpack.Decoder(FromWorker)


def frame(message: ToWorker | FromWorker) -> bytes:
    """Return a message with its length before it."""
    data = _encoder.encode(message)
    return HEADER.pack(len(data)) + data


def to_worker(data: bytes) -> ToWorker:
    """Read what a worker is told."""
    return _to_worker.decode(data)


def from_worker(data: bytes) -> FromWorker:
    """Read what a worker tells."""
    return _from_worker.decode(data)
