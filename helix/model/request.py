"""The boundary between judging and the engine: a request goes out, a reply or none comes back.

The engine knows requests, not criteria: everything that can change an answer is in the fields
that `cache_key` digests, and nothing else is (METHOD 44, DESIGN “Judge boundary”).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal

import msgspec

from helix.model.canonical import (
    Same,
    canonical_bytes,
    canonical_text,
    constant_text,
    digest_bytes,
    encoded,
)
from helix.model.verdict import Cause

Role = Literal["judge", "verifier", "determiner"]
Axis = Literal["trajectory", "criterion", "code-quality"]
ReplySource = Literal["live", "cache", "recorded", "shared"]
CHARACTERS_PER_TOKEN = 4
# Letters and marks that Unicode shows as nothing: joiners, fillers, variation selectors, blanks.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)


class Message(msgspec.Struct, frozen=True, dict=True):
    """One rendered message of a prompt."""

    role: Literal["system", "user", "assistant"]
    """Who speaks."""
    content: str
    """The text."""

    @classmethod
    def of(cls, role: Literal["system", "user", "assistant"], lines: Sequence[str]) -> Message:
        """Return the message of these lines, and encode it while they are apart."""
        message = cls(role, "\n".join(lines))
        vars(message)["encoded"] = encoded((role, *lines))
        return message

    @cached_property
    def encoded(self) -> bytes:
        """Role and content as keys digest them."""
        return encoded((self.role, self.content))


class Price(msgspec.Struct, frozen=True):
    """What one token of a model costs, as the configuration says, in millionths of a US dollar."""

    prompt: float
    """A token that is sent."""
    completion: float
    """A token that is received."""


class Pin(msgspec.Struct, frozen=True, rename="camel"):
    """Which model is asked and how: requested parameters, temperature 0 (METHOD 42)."""

    backend: str
    """The name of the backend."""
    model: str
    """The model, as the backend calls it."""
    identity: str
    temperature: float | None = 0.0
    """0; null only where the model refuses it and the configuration allows that."""
    seed: int | None = None
    """The seed that is asked for; null asks for none."""
    max_tokens: int | None = None
    """The longest reply that is asked for, in tokens; null leaves it to the provider."""
    extra: dict[str, Any] = {}
    """Further parameters, as they are sent."""
    base_url: str | None = None
    """The server that is asked; null is the provider's own."""
    structured: Literal["auto", "schema", "instruction"] = "auto"
    """How the form of a reply is asked for: by its schema, by words, or what the model takes."""
    price: Price | None = None
    """What a token costs; changes no answer, so that it is in no key. null is not told."""


class Unit(msgspec.Struct, frozen=True, rename="camel"):
    """What a request is about; recordings are found by it, so that they survive a better prompt."""

    role: Role
    """Who is asked: judge, verifier, or the determiner of discover."""
    axis: Axis
    """Whether it asks about a whole trace, one criterion, or a code change."""
    trace_id: str
    trace_digest: str
    criteria: tuple[str, ...]
    """The ids of the rows that it asks about, in their order."""
    criteria_digest: str
    """SHA-256 of what those rows say."""
    replicate: int
    attempt: int = 0


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """One question to a judge or verifier."""

    unit: Unit
    """What it is about."""
    pin: Pin
    """Who is asked, under what."""
    messages: tuple[Message, ...]
    """The prompt."""
    nonce: str
    reply_schema: dict[str, Any] | None = None
    """The JSON Schema of the wanted reply; null asks for free text."""
    not_by: tuple[str, ...] = ()
    """Who may not answer, by name; changes who is asked and not what: in no key (METHOD 47)."""

    @property
    def prompt_digest(self) -> str:
        """The digest of the rendered messages: the key of the task (METHOD 39)."""
        return digest_bytes(*(message.encoded for message in self.messages))

    @property
    def recording_key(self) -> str:
        """The key that recorded replies are found by: the unit without its prompt."""
        return digest_bytes(canonical_bytes(msgspec.to_builtins(self.unit)))

    def cache_key(self, protocol: int) -> str:
        """The key of the reply cache: all that can change the answer, replicate included.

        `protocol` is the backend's protocol number. 0 and 0.0 are one temperature; the order of
        parameters does not matter. `identity` names who answers and is part of the key.
        """
        # The canonical JSON of these five by name: the long ones are written once for many.
        parts = {
            "attempt": canonical_text(self.unit.attempt),
            "pin": _pin_text(Same(self.pin)),
            "protocol": canonical_text(protocol),
            "replicate": canonical_text(self.unit.replicate),
            "schema": constant_text(self.reply_schema),
        }
        header = "{" + ",".join(f'"{name}":{text}' for name, text in parts.items()) + "}"
        bodies = (message.encoded for message in self.messages)
        return digest_bytes(header.encode(*_LOSSY), *bodies)


FIRST_PROMPT = 2


class Question(msgspec.Struct, frozen=True, rename="camel"):
    """What a kept reply answers; `prompt` is the digest of its unit's first prompt."""

    unit: Unit
    nonce: str
    pin: Pin
    prompt: str

    @classmethod
    def of(cls, request: Request) -> Question:
        """Return what a request asks, without its text; a re-prompt begins with the first one."""
        first = msgspec.structs.replace(request, messages=request.messages[:FIRST_PROMPT])
        return cls(request.unit, request.nonce, request.pin, first.prompt_digest)


@lru_cache(maxsize=64)
def _pin_text(same: Same) -> str:
    pin = msgspec.to_builtins(same.value)
    del pin["price"]
    if pin["temperature"] is not None:
        pin["temperature"] = float(pin["temperature"])
    return canonical_text(pin)


def same_name(one: str, other: str) -> bool:
    """Whether two names are one reviewer's: case, space, forms of letters and the unseen aside."""
    return _plain(one) == _plain(other)


def _plain(name: str) -> str:
    seen = "".join(filter(_is_seen, unicodedata.normalize("NFKC", name).casefold()))
    return " ".join(unicodedata.normalize("NFKC", seen).split())


def _is_seen(character: str) -> bool:
    """Whether a character leaves a trace on a page, or is white space that parts two words."""
    if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs"):
        return character.isspace()
    return not _UNSEEN.match(character)


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """What a reply cost; null is not recorded, which is not 0 (METHOD 86)."""

    prompt_tokens: int | None = None
    """Tokens sent."""
    completion_tokens: int | None = None
    """Tokens received."""
    cost_micro_usd: int | None = None
    """Millionths of a US dollar."""


class Reply(msgspec.Struct, frozen=True, rename="camel"):
    """What came back, as it came."""

    text: str
    """The answer."""
    finish_reason: str | None = None
    """Why the model stopped, as the provider says; null where it does not."""
    returned_model: str | None = None
    reasoning: str | None = None
    """What the model thought before it answered; null where none came apart."""
    usage: Usage = Usage()
    """What it cost."""
    effective: dict[str, Any] | None = None
    made_by: str | None = None
    draw: str | None = None
    """What the provider calls this answer, so that one that comes twice is known; null has no
    name."""
    source: ReplySource = "live"
    """live: asked for now; shared: by a request alike; else where it lay."""


class NoReply(msgspec.Struct, frozen=True, rename="camel"):
    """No answer will come in this run: the cause, and the text of what went wrong."""

    cause: Cause
    text: str


_LOSSY = ("utf-8", "backslashreplace")


class Unavailable(Exception):
    """A backend cannot answer: why (a cause), and whether asking again may help.

    `retry_after` is the number of seconds that the provider asked to wait; `rate_limited` says
    that it refused because it is asked too often (status 429), so that it is asked less. `billed`
    says that it may have been paid for all the same, as what missed its deadline always may.
    """

    def __init__(
        self,
        text: str,
        cause: Cause = "unavailable",
        *,
        retry: bool = False,
        retry_after: float | None = None,
        rate_limited: bool = False,
        billed: bool = False,
    ) -> None:
        super().__init__(text)
        self.text, self.cause, self.retry, self.retry_after = text, cause, retry, retry_after
        self.rate_limited, self.billed = rate_limited, billed or cause == "timeout"


class Pending(Exception):
    """A task was written out and waits for its answer; the trace is set aside (exit 5)."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key
