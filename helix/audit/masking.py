"""What is masked before runs are compared: fields by artifact, never words (METHOD 69).

A field is masked because it says how a run was carried out, and not what it decided. A path, a
time or a host that stands in a critique or a reason is a difference and is shown as one. Where a
folder is masked, the file's own name stays, and a path that is relative stands as it was typed.
All other bytes are those of the artifact: order of keys, spacing and the spelling of a number.
"""

from __future__ import annotations

import json
import ntpath
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from helix.errors import ArtifactError
from helix.fieldpath import EACH, Step, parse_relative

MASKING_VERSION: Final = "1"
COMPARED: Final = (
    "plan.json",
    "manifest.jsonl",
    "verdicts.jsonl",
    "scorecard.json",
    "decisions.jsonl",
    "failures.jsonl",
    "candidates.jsonl",
    "subject.json",
)
"""The artifacts of a run that are compared, in the order in which a run makes them."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A field of an artifact that is masked: all of it, or the folder of an absolute path."""

    artifact: str
    path: str
    what: Literal["value", "folder"]
    why: str


MASKS: Final = (
    Mask("plan.json", "runs", "value", "executor, limits, folders, reports: not what decides"),
    Mask("manifest.jsonl", "file", "folder", "where the traces lie on this machine"),
    Mask(
        "manifest.jsonl", "latencyMs", "value", "a duration; the dimension latency-p50 compares it"
    ),
    Mask("scorecard.json", "usage", "value", "calls, cache hits and cost of this execution"),
    Mask("scorecard.json", "load.failures[*].file", "folder", "where the traces lie"),
)
"""The masking set; a change to it raises MASKING_VERSION."""

_decoder = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
Rest = tuple[tuple[Step, ...], Mask]


def masked(artifact: str, data: bytes) -> bytes:
    """Return the bytes of an artifact as they are compared; ArtifactError for what is not JSON.

    An artifact without a mask is returned as it is, whatever it holds.
    """
    if not _masks(artifact):
        return data
    if not artifact.endswith(".jsonl"):
        return masked_value(artifact, data, artifact)
    return b"\n".join(
        masked_value(artifact, line, f"{artifact}, line {number}")
        for number, line in enumerate(data.split(b"\n"), 1)
    )


def masked_value(artifact: str, data: bytes, where: str) -> bytes:
    """Return one JSON value of an artifact masked; `where` it stands is told if it is damaged."""
    masks = _masks(artifact)
    if not masks or not data.strip():
        return data
    # Bytes that are not UTF-8 come back as they were.
    text = data.decode("utf-8", "surrogateescape")
    try:
        cut = _Cut(text)
        end = cut.space(cut.value(cut.space(0), masks))
        if end != len(text):
            raise ValueError(f"more after its end (character {end})")
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{where} is damaged: {error}") from None
    return cut.masked().encode("utf-8", "surrogateescape")


@lru_cache
def _masks(artifact: str) -> tuple[Rest, ...]:
    return tuple((parse_relative(m.path).steps, m) for m in MASKS if m.artifact == artifact)


class _Cut:
    """Walks a JSON text along the masked paths, and keeps where each masked value stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[tuple[int, int, str]] = []

    def space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int, masks: Sequence[Rest]) -> int:
        """Return where the value that begins at `at` ends."""
        opening = self._text[at : at + 1]
        if opening == "{" and any(rest for rest, _ in masks):
            return self._items(at, "}", masks)
        if opening == "[" and any(rest for rest, _ in masks):
            return self._items(at, "]", masks)
        value, end = _decoder.raw_decode(self._text, at)
        for rest, mask in masks:
            if not rest:
                self._found.append((at, end, _instead(value, mask, self._text[at:end])))
        return end

    def _items(self, at: int, closing: str, masks: Sequence[Rest]) -> int:
        at = self.space(at + 1)
        if self._text[at : at + 1] == closing:
            return at + 1
        while True:
            step: Step = EACH
            if closing == "}":
                step, at = _decoder.raw_decode(self._text, at)
                if not isinstance(step, str):
                    raise ValueError(f"a key must be a text (character {at})")
                at = self.space(self._past(self.space(at), ":"))
            inner = [(rest[1:], mask) for rest, mask in masks if rest and rest[0] == step]
            end = self.value(at, inner) if inner else _decoder.raw_decode(self._text, at)[1]
            at = self.space(end)
            if self._text[at : at + 1] == closing:
                return at + 1
            at = self.space(self._past(at, ","))

    def _past(self, at: int, mark: str) -> int:
        if self._text[at : at + 1] != mark:
            raise ValueError(f"'{mark}' is missing (character {at})")
        return at + 1

    def masked(self) -> str:
        parts, last = [], 0
        for start, end, instead in self._found:
            parts += [self._text[last:start], instead]
            last = end
        return "".join([*parts, self._text[last:]])


def _instead(value: Any, mask: Mask, text: str) -> str:
    if mask.what == "value":
        return "null"
    if not isinstance(value, str):
        return text
    for kind in (posixpath, ntpath):
        if kind.isabs(value):
            return json.dumps(kind.basename(value), ensure_ascii=False)
    return text
