"""Artifact lines as bytes: fast where text is plain Unicode, exact where it is not.

msgspec writes and reads. A lone surrogate, which it refuses, is written as its JSON escape and
read back by the lenient reader, so that every writer succeeds and nothing is replaced.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from helix.errors import ArtifactError
from helix.model.jsontext import decode

T = TypeVar("T")
LONGEST_REASON = 300
_FOLDERS = re.compile(r"(?<![\w/\\:.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'\":]+[/\\])+")
_encoder = msgspec.json.Encoder()


def portable(reason: str) -> str:
    """Return what went wrong as a line may hold it: short, and without this machine's folders."""
    text = " ".join(_FOLDERS.sub("", reason).split())
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 1]}…"


def encode_line(value: Any) -> bytes:
    """Return a shape or plain value as one line of JSON, without the newline."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def encode_page(value: Any) -> bytes:
    """Return a shape or plain value as indented JSON with a final newline."""
    line = encode_line(value)
    try:
        return msgspec.json.format(line, indent=2) + b"\n"
    except msgspec.DecodeError:
        # The escape of a lone surrogate.
        return json.dumps(json.loads(line), ensure_ascii=True, indent=2).encode("ascii") + b"\n"


def decode_line(data: bytes, kind: type[T]) -> T:
    """Read a line into its shape; raises ValueError with the path of the fault."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeError):
        return msgspec.convert(decode(data)[0], kind)


def of_version(
    where: object, data: bytes, kind: type[T], version: str, *, damaged: str = "", other: str = ""
) -> T:
    """Read a shape; ArtifactError for a fault, and for another major version where it bears one.

    `damaged` and `other` end the two messages: what to do about it.
    """
    try:
        found = decode_line(data, kind)
    except ValueError as error:
        raise ArtifactError(f"{where} is damaged: {error}{damaged}") from None
    written = str(getattr(found, "schema_version", version))
    if written.partition(".")[0] != version.partition(".")[0]:
        raise ArtifactError(f"{where} must have schemaVersion {version} (got {written}){other}")
    return found


def read_page(path: Path, kind: type[T], version: str, *, damaged: str = "", other: str = "") -> T:
    """Read a file of one shape as `of_version` does; one that cannot be read is damaged too."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path} is damaged: {error}{damaged}") from None
    return of_version(path, data, kind, version, damaged=damaged, other=other)
