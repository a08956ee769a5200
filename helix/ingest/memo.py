"""The messages of one trace, each distinct JSON text of one read once.

Every model call resends its history, so most of a trace's message texts are copies: they are cut
out undecoded and looked up.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from helix.ingest.history import Said
from helix.ingest.messages import messages_of
from helix.model.jsontext import decode

_DECODER: Final = json.JSONDecoder()
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Memo:
    """Reads as `messages_of` does; copies of a message are the same object."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, bytes], Said | None] = {}

    def messages(self, value: Any, role: str) -> list[Said] | None:
        """Return the messages that a value, or the JSON text of one, holds."""
        if not isinstance(value, str) or value[:1] != "[":
            return messages_of(value, role)
        try:
            items = _LIST.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return messages_of(value, role)
        found: list[Said] = []
        for item in items:
            key = (role, bytes(item))
            if key not in self._read:
                self._read[key] = _one(key[1], role)
            said = self._read[key]
            if said is None:
                return messages_of(value, role)
            found.append(said)
        return found or None


def leading(value: str, role: str) -> list[Said]:
    """Return the whole messages before the place where a list of them was cut."""
    found: list[Said] = []
    at = value.index("[") + 1 if value.lstrip()[:1] == "[" else len(value)
    while (begin := value.find("{", at)) >= 0 and not value[at:begin].strip(" \t\r\n,"):
        try:
            item, at = _DECODER.raw_decode(value, begin)
        except (ValueError, RecursionError):
            break
        found += messages_of([item], role) or []
    return found


def _one(data: bytes, role: str) -> Said | None:
    value, _ = decode(data)
    if isinstance(value, str):
        return Said(role, value)
    found = messages_of([value], role) if isinstance(value, dict) else None
    return found[0] if found else None
