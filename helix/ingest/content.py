"""What a message's content says: text parts joined, everything else a declared placeholder."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?(;base64)?,")
_DATA_KEYS = (
    "data", "base64", "url", "file_data", "image_url", "file_id", "image", "audio", "video",
    "document",
)  # fmt: skip
_TEXT_TYPES = ("text", "input_text", "output_text")


def text_of(content: Any) -> str | None:
    """Return the text of a message's content, None for none; parts stand in lines of their own."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    return json.dumps(content, ensure_ascii=False)


def is_plain(content: Any) -> bool:
    """Whether the text holds everything that the content holds."""
    if isinstance(content, list):
        return all(isinstance(p, str) or _plain_text(p) is not None for p in content)
    return content is None or isinstance(content, str)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return json.dumps(part, ensure_ascii=False)
    plain = _plain_text(part)
    if plain is not None:
        return plain
    for media, path in _paths(part):
        return f"[{media}: {path}]"
    for media, data in _binaries(part, None):
        return placeholder(media, data)
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            return str(part[key])
    return f"[{part.get('type', 'part')}]"


def _plain_text(part: Any) -> str | None:
    if not isinstance(part, Mapping) or part.get("type", "text") not in _TEXT_TYPES:
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


def placeholder(media: str, data: str) -> str:
    """Return what stands for binary data: its media type, size and digest; for a link, the link."""
    head = _DATA_URL.match(data)
    if head:
        media, data = head.group(1) or media, data[head.end() :]
    elif re.match(r"[a-z][a-z0-9+.-]*://", data):
        return f"[{media}: {data}]"
    try:
        binary = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        binary = data.encode("utf-8", "surrogatepass")
    return f"[{media}: {len(binary)} bytes, sha256 {hashlib.sha256(binary).hexdigest()}]"


def _paths(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (media type, path) of what a part keeps in a file of its own."""
    for holder in (part, part.get("source")):
        if isinstance(holder, Mapping) and isinstance(holder.get("path"), str):
            yield str(holder.get("media_type") or part.get("type") or "file"), holder["path"]


def _binaries(part: Any, media: str | None) -> Iterator[tuple[str, str]]:
    """Yield (media type, data) of what a part carries, in the spellings that exporters use."""
    kind = str(part.get("type") or "binary")
    media = str(
        part.get("media_type") or part.get("mime_type") or part.get("mimeType") or media or kind
    )
    if isinstance(part.get("format"), str):
        media = f"audio/{part['format']}"
    for key in _DATA_KEYS:
        if isinstance(part.get(key), str):
            yield media, part[key]
    for key in ("image_url", "input_audio", "file", "source", "image", "audio"):
        if isinstance(part.get(key), Mapping):
            yield from _binaries(part[key], media)
