"""Replies that are read by key: `replay` finds them in recordings (METHOD 44).

A recording file is JSON Lines in `judge.dir`: first a header that says how the replies were made,
then one recording a line. Recordings are found by the unit (role, axis, trace and criteria
digests, replicate, attempt), so that they survive a better prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from helix.backends.settings import section_of
from helix.errors import ArtifactError, ConfigError, UsageError
from helix.files import atomic_write, is_file
from helix.model.canonical import canonical_bytes
from helix.model.jsontext import decode
from helix.model.request import Pin, Reply, Request, Unavailable, Unit, Usage
from helix.model.verdict import Shape
from helix.registry import JudgeSettings

RECORDING_SCHEMA_VERSION = "1.0"
LONGEST_HEADER = 100_000
_NO_PIN = Pin(backend="", model="", identity="")
S = TypeVar("S", "RecordingHeader", "Recording")


class RecordingHeader(Shape, frozen=True, kw_only=True):
    """The first line of a recording file: what the replies are of, who made them, how, when."""

    schema_version: str = msgspec.field(default_factory=lambda: RECORDING_SCHEMA_VERSION)
    recordings: str
    made_by: str
    made_how: str
    date: str | None = None


class Cached(Shape, frozen=True, kw_only=True):
    """What the reply cache needs to keep a recorded reply again."""

    key: str
    """Its key in the cache."""
    pin: Pin
    """Who was asked, under what."""
    prompt: str
    """The digest of the unit's first prompt."""
    made_by: str | None = None


class Recording(Shape, frozen=True, kw_only=True):
    """One reply, and the unit that it answers."""

    schema_version: str = msgspec.field(default_factory=lambda: RECORDING_SCHEMA_VERSION)
    key: str
    """The unit's digest, by which it is found."""
    unit: Unit
    """What it answers."""
    nonce: str
    """That of the prompt that was answered; a replay puts its own prompt's in its place."""
    model: str | None = None
    """The model that the reply names; null where it names none."""
    asked: str | None = None
    """The model that was pinned; null where that is not recorded."""
    text: str
    """The answer."""
    finish_reason: str | None = None
    """Why the model stopped, as the provider says; null where it does not."""
    reasoning: str | None = None
    """What the model thought before it answered; null where none came apart."""
    usage: Usage | None = None
    """What it cost; null where not recorded."""
    effective: dict[str, Any] | None = None
    made_by: str | None = None
    """Who gave the answer, by name; null where the file's first line says it."""
    made_how: str | None = None
    """How it was made; null where the file's first line says it."""
    draw: str | None = None
    """What the provider calls this answer, so that one that comes twice is known; null has no
    name."""
    cached: Cached | None = None
    """Where it lay in the reply cache; null where it comes from elsewhere."""


class Mailbox:
    """The backend that looks replies up; `on_miss` raises Unavailable, or Pending in dispatch."""

    def __init__(
        self, find: Callable[[Request], Reply | None], on_miss: Callable[[Request], NoReturn]
    ) -> None:
        self._find, self._on_miss = find, on_miss

    async def __aenter__(self) -> Mailbox:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def ask(self, request: Request) -> Reply:
        """Return the reply that lies here for the request."""
        reply = self._find(request)
        return self._on_miss(request) if reply is None else reply


class Recordings:
    """The recorded replies of a folder, by recording key; texts stay on disk until asked for.

    Raises ArtifactError for a line that is no recording, for one key with two replies, and for one
    draw under two replicates, which is no repeat (METHOD 73).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._headers: dict[Path, RecordingHeader] = {}
        self._places: dict[str, tuple[Path, int, int]] = {}
        self._draws: dict[tuple[str, str], tuple[int, Path, int]] = {}
        for file in sorted(folder.glob("*.jsonl")):
            self._index(file)

    def __len__(self) -> int:
        return len(self._places)

    def find(self, request: Request) -> Reply | None:
        """Return the recorded reply of the request's unit, or None."""
        place = self._places.get(request.recording_key)
        if place is None:
            return None
        found = self._read(place)
        if found.model is None and found.asked not in (None, request.pin.model):
            raise Unavailable(
                f"the recorded reply {request.recording_key} was asked of the model "
                f"'{found.asked}', the pin is '{request.pin.model}'"
            )
        return Reply(
            text=found.text.replace(found.nonce, request.nonce),
            finish_reason=found.finish_reason,
            returned_model=found.model,
            reasoning=found.reasoning,
            usage=found.usage or Usage(),
            effective=found.effective,
            made_by=found.made_by or self._headers[place[0]].made_by,
            draw=found.draw,
            source="recorded",
        )

    def missing(self, request: Request) -> NoReturn:
        """Say which recording is missing; the folder is in the plan, the text stays comparable."""
        unit = request.unit
        raise Unavailable(
            f"no recorded reply {request.recording_key} ({unit.role} of trace "
            f"'{unit.trace_id}', replicate {unit.replicate}, attempt {unit.attempt})"
        )

    def _index(self, file: Path) -> None:
        if not is_file(file):
            raise ArtifactError(f"{file} must be a file of recordings (it is no plain file)")
        start = 0
        with open(file, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if number == 1:
                    self._headers[file] = _decoded(line, RecordingHeader, file, number)
                elif line.strip():
                    self._place(_decoded(line, Recording, file, number), file, number, start)
                start += len(line)
        if file not in self._headers:
            raise ArtifactError(f"{file} is empty; its first line must say how it was made")

    def _place(self, found: Recording, file: Path, number: int, start: int) -> None:
        key = _sound_key(found, file, number)
        place = (file, number, start)
        first = self._places.setdefault(key, place)
        if first is not place and self._read(first).text != found.text:
            raise ArtifactError(
                f"{file}, line {number}: key {key} has another reply in {first[0]}, "
                f"line {first[1]}; keep one of them"
            )
        if found.draw is not None:
            self._once(found, found.draw, file, number)

    def _once(self, found: Recording, draw: str, file: Path, number: int) -> None:
        at = found.unit.replicate
        known = (unit_key(msgspec.structs.replace(found.unit, replicate=0)), draw)
        first, where, line = self._draws.setdefault(known, (at, file, number))
        if first != at:
            raise ArtifactError(
                f"{file}, line {number}: the answer '{draw}' under replicate {at} is the one under "
                f"replicate {first} in {where}, line {line}; one draw is one repeat: keep one"
            )

    def _read(self, place: tuple[Path, int, int]) -> Recording:
        file, number, start = place
        with open(file, "rb") as lines:
            lines.seek(start)
            return _decoded(lines.readline(), Recording, file, number)


def open_replay(settings: JudgeSettings) -> Mailbox:
    """Open the recordings of `judge.dir`; a reply that is not there is unavailable."""
    key = f"{section_of(settings)}.dir"
    if not settings.config.dir:
        raise ConfigError(f"{key} must name the folder of the recordings (got nothing)")
    folder = Path(settings.config.dir)
    if not folder.is_dir():
        raise ConfigError(f"{key} must be a folder (got {folder})")
    recordings = Recordings(folder)
    if not recordings:
        raise ConfigError(f"{key} must hold recordings in *.jsonl files (none in {folder})")
    return Mailbox(recordings.find, recordings.missing)


def recording(
    request: Request, reply: Reply, *, made_by: str | None = None, made_how: str | None = None
) -> Recording:
    """Return the recording of a reply: the model that it names, else the one that was asked."""
    return Recording(
        key=request.recording_key,
        unit=request.unit,
        nonce=request.nonce,
        model=reply.returned_model,
        asked=None if reply.returned_model else request.pin.model,
        text=reply.text,
        finish_reason=reply.finish_reason,
        reasoning=reply.reasoning,
        usage=None if reply.usage == Usage() else reply.usage,
        effective=reply.effective,
        made_by=made_by or reply.made_by,
        made_how=made_how,
        draw=reply.draw,
    )


def write_recordings(
    path: str | Path, header: RecordingHeader, recordings: Iterable[Recording]
) -> None:
    """Write a recording file whole, in the order of units, so that a rewrite changes nothing."""
    ordered = sorted(recordings, key=lambda r: canonical_bytes(msgspec.to_builtins(r.unit)))
    lines = (canonical_bytes(msgspec.to_builtins(one)) + b"\n" for one in (header, *ordered))
    atomic_write(path, b"".join(lines))


def read_recordings(path: Path) -> Iterator[tuple[str, Recording]]:
    """Yield the recordings of a file, or of a folder's *.jsonl files, each with where it stands.

    Raises ArtifactError for a line that is no recording, and UsageError where there is no file.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files or not all(map(is_file, files)):
        raise UsageError(f"recordings must be a file or a folder of *.jsonl files (got {path})")
    for file in files:
        with open(file, "rb") as lines:
            _decoded(next(lines, b""), RecordingHeader, file, 1)
            for number, line in enumerate(lines, 2):
                if line.strip():
                    found = _decoded(line, Recording, file, number)
                    _sound_key(found, file, number)
                    yield f"{file}, line {number}", found


def _sound_key(found: Recording, file: Path, number: int) -> str:
    key = unit_key(found.unit)
    if found.key != key:
        raise ArtifactError(
            f"{file}, line {number}: key must be {key}, the digest of its unit "
            f"(got {found.key}); record the reply anew"
        )
    return key


def is_recordings(file: Path) -> bool:
    """Whether a file begins as a recording file does."""
    if not is_file(file):
        return False
    try:
        with open(file, "rb") as lines:
            _decoded(lines.readline(LONGEST_HEADER), RecordingHeader, file, 1)
    except (OSError, ArtifactError):
        return False
    return True


def unit_key(unit: Unit) -> str:
    """Return the key that the recordings of a unit are found by."""
    return Request(unit=unit, pin=_NO_PIN, messages=(), nonce="").recording_key


def _decoded(line: bytes, kind: type[S], file: Path, number: int) -> S:
    what = "header" if kind is RecordingHeader else "recording"
    try:
        found = msgspec.convert(decode(line)[0], kind)
    except (msgspec.ValidationError, ValueError) as error:
        raise ArtifactError(f"{file}, line {number}: no {what} of replies: {error}") from None
    if found.schema_version.partition(".")[0] != RECORDING_SCHEMA_VERSION.partition(".")[0]:
        raise ArtifactError(
            f"{file}, line {number}: schemaVersion must be {RECORDING_SCHEMA_VERSION} "
            f"(got {found.schema_version})"
        )
    return found
