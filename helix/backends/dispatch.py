"""`dispatch`: questions are set down as files, and whoever can read answers them (METHOD 38).

A question without a usable answer becomes a task in `judge.dir`, with a copy in the run's folder,
and waits; the same command reads what has arrived since. A file that cannot be used is named with
its fault and its task goes on waiting: no broken file becomes a verdict or ends the run.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import msgspec

from helix.backends.answers import Refused, answer_text, usable
from helix.backends.mailbox import Mailbox
from helix.backends.settings import section_of
from helix.errors import BackendError, ConfigError
from helix.files import atomic_write, keep_out_of_git
from helix.model.lines import decode_line
from helix.model.request import Pending, Reply, Request
from helix.model.task import JudgeTask, request_of, task_of, task_page
from helix.registry import JudgeSettings

PROTOCOL = 1
FOLDER = "dispatch"
GUIDE = "README.md"
_GUIDE_SOURCE = Path(__file__).with_name("dispatch.md")
_TASK_NAME = re.compile(r"[0-9a-f]{64}\.(?:packet|task)\.json")
ANSWER_NAME = re.compile(r"([0-9a-f]{64})\.verdict\.json")
_OWN_NAME = re.compile(rf"{re.escape(GUIDE)}|rubric-[a-z-]+\.md|\..*|{_TASK_NAME.pattern}")
_MOST_TASK_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task without a usable answer: its file, what it is about, what is wrong with the answer."""

    file: str
    role: str
    trace_id: str
    attempt: int
    fault: str | None = None

    @property
    def answer(self) -> str:
        """The name of the file that is to answer it."""
        return f"{self.file.partition('.')[0]}.verdict.json"


@dataclass(frozen=True, slots=True)
class Tray:
    """How a folder of tasks stands after a run: what waits, and what the run had no use for.

    `unused` are files that answer no task of it, `idle` unanswered tasks that it did not ask;
    `copies` is the folder of the run that holds what waits, and nothing else.
    """

    folder: str
    waiting: tuple[WaitingTask, ...] = ()
    unused: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    copies: str | None = None


@dataclass(slots=True)
class _Seen:
    asked: set[str] = field(default_factory=set)
    waiting: dict[str, WaitingTask] = field(default_factory=dict)


class Dispatch(Mailbox):
    """The backend that reads answers from a folder and writes tasks into it.

    A folder that nobody named is `own` to Helix, and git passes it over.
    """

    def __init__(self, section: str, folder: Path, run_dir: Path, *, own: bool) -> None:
        super().__init__(self._find, self._miss)
        self._own = own
        self.folder, self.seen = folder, _Seen()
        self._section, self.copies = section, run_dir / FOLDER
        _clear(self.copies)

    def _find(self, request: Request) -> Reply | None:
        key = request.cache_key(PROTOCOL)
        self.seen.asked.add(key)
        task = self.folder / _task_name(request, key)
        place = _answer_place(self.folder, key)
        fault = None
        try:
            text = answer_text(place)
            if text is not None:
                _unchanged(task, key)
                return usable(text, request)
        except Refused as refused:
            fault = str(refused)
        unit = request.unit
        waits = WaitingTask(task.name, unit.role, unit.trace_id, unit.attempt, fault)
        self.seen.waiting[key] = waits
        return None

    def _miss(self, request: Request) -> NoReturn:
        key = request.cache_key(PROTOCOL)
        name, answer = _task_name(request, key), _answer_place(self.folder, key)
        page = task_page(task_of(request, key, str(answer)))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if self._own:
                keep_out_of_git(self.folder)
            _keep(self.folder / GUIDE, _GUIDE_SOURCE.read_bytes())
            _keep(self.folder / rubric_name(request), _rubric(request))
            # A changed task stays as it is while an answer lies beside it, so that both are seen.
            if not _holds(self.folder / name, key) and not (
                os.path.lexists(answer) and os.path.lexists(self.folder / name)
            ):
                atomic_write(self.folder / name, page)
            self.copies.mkdir(parents=True, exist_ok=True)
            _keep(self.copies / name, page)
        except OSError as error:
            raise BackendError(
                f"{self._section}.dir: the task {name} cannot be written: {error}; "
                f"set {self._section}.dir to a folder that can be written"
            ) from error
        raise Pending(key)


def open_dispatch(settings: JudgeSettings) -> Dispatch:
    """Open the folder `judge.dir`, by default `dispatch` below `paths.state`; nothing is made."""
    section = section_of(settings)
    folder = Path(settings.config.dir or Path(settings.state_dir) / FOLDER)
    for place in (folder, *folder.parents):
        if place.is_dir():
            break
        if place.exists() or place.is_symlink():
            raise ConfigError(f"{section}.dir must be a folder (got {folder}; {place} is none)")
    if next(folder.glob("*.jsonl"), None) is not None:
        raise ConfigError(
            f"{section}.dir must be a folder of its own (got {folder}, which holds recordings): "
            f"type {section}.dir={Path(settings.state_dir) / FOLDER}"
        )
    return Dispatch(section, folder, Path(settings.run_dir), own=not settings.config.dir)


def trays(backends: Iterable[object]) -> tuple[Tray, ...]:
    """Return how the folders of the dispatching backends stand, judge and verifier together."""
    merged: dict[Path, _Seen] = {}
    copies: dict[Path, str] = {}
    for backend in backends:
        if isinstance(backend, Dispatch):
            copies[backend.folder] = str(backend.copies)
            seen = merged.setdefault(backend.folder, _Seen())
            seen.asked |= backend.seen.asked
            seen.waiting |= backend.seen.waiting
    return tuple(
        Tray(
            str(folder),
            tuple(seen.waiting.values()),
            *_strange(folder, seen.asked),
            copies=copies[folder],
        )
        for folder, seen in merged.items()
    )


def answered(folder: Path) -> Iterator[tuple[Request, Reply] | None]:
    """Yield each question of a folder with its answer, by name.

    None stands for an answer that cannot be used, and for one whose question is not there or was
    changed.
    """
    for place in sorted(folder.glob("*.verdict.json")):
        key = place.name.partition(".")[0]
        task = _read(folder / f"{key}.packet.json") or _read(folder / f"{key}.task.json")
        if task is None or not _is(task, key):
            yield None
            continue
        request = request_of(task)
        try:
            text = answer_text(place)
            yield None if text is None else (request, usable(text, request))
        except Refused:
            yield None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question of a folder without a usable answer: where the answer goes, what ails one there.

    `request` is None where the file is no question, or is not the one that it is named by.
    """

    file: Path
    answer: Path
    request: Request | None
    fault: str | None = None


def unanswered(folder: Path) -> Iterator[Unanswered]:
    """Yield the questions of a folder that wait for an answer, by name.

    An answer goes beside its question. In a run's folder of copies it goes to where the copy says,
    if the very same question lies there: a file that was tampered with names no other place.
    """
    for place in sorted(folder.iterdir()):
        if not _TASK_NAME.fullmatch(place.name):
            continue
        key, task = place.name.partition(".")[0], _read(place)
        answer = _answer_place(folder, key)
        if task is None or not _is(task, key):
            yield Unanswered(place, answer, None)
            continue
        named = Path(task.answer)
        if named.name == answer.name and _holds(named.with_name(place.name), key):
            answer = named
        request, fault = request_of(task), None
        try:
            text = answer_text(answer)
            if text is not None:
                usable(text, request)
                continue
        except Refused as refused:
            fault = str(refused)
        yield Unanswered(place, answer, request, fault)


def _strange(folder: Path, asked: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files of a folder that answer nothing, and open tasks that were not asked."""
    try:
        names = sorted(place.name for place in folder.iterdir())
    except OSError:
        return (), ()
    answers = {found[1]: name for name in names if (found := ANSWER_NAME.fullmatch(name))}
    used = {answers[key] for key in asked if key in answers}
    unused = tuple(name for name in names if name not in used and not _OWN_NAME.fullmatch(name))
    tasks = (name for name in names if _TASK_NAME.fullmatch(name))
    known = asked | answers.keys()
    return unused, tuple(name for name in tasks if name.partition(".")[0] not in known)


def _task_name(request: Request, key: str) -> str:
    unit = request.unit
    packet = unit.role == "judge" and unit.axis == "trajectory" and unit.criteria
    return f"{key}.{'packet' if packet else 'task'}.json"


def _answer_place(folder: Path, key: str) -> Path:
    return folder / f"{key}.verdict.json"


def rubric_name(request: Request) -> str:
    """Return the name of the file that holds the rules of a question."""
    unit = request.unit
    if unit.role != "judge":
        return f"rubric-{unit.role}.md"
    return f"rubric-{unit.axis}.md" if unit.criteria else "rubric-expectation.md"


def _rubric(request: Request) -> bytes:
    system = [m.content for m in request.messages if m.role == "system"]
    return "\n".join([*system, ""]).encode("utf-8", "backslashreplace")


def _unchanged(task: Path, key: str) -> None:
    """Refuse an answer that lies beside a task whose text is no longer the one that was asked."""
    if os.path.lexists(task) and not _holds(task, key):
        raise Refused(
            f"{task.name} was changed after it was written, so this may answer another question; "
            "delete both files, run again and answer anew"
        )


def _holds(task: Path, key: str) -> bool:
    """Whether a file is the task of this key: its text has the digest that it is named by."""
    found = _read(task)
    return found is not None and _is(found, key)


def _is(task: JudgeTask, key: str) -> bool:
    return task.key == key == request_of(task).cache_key(PROTOCOL)


def _read(place: Path) -> JudgeTask | None:
    try:
        data = _bytes(place)
        return None if data is None else decode_line(data, JudgeTask)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _bytes(place: Path) -> bytes | None:
    """Return what a plain file of fair size holds; a pipe would be waited for without end."""
    found = os.lstat(place)
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_TASK_BYTES:
        return None
    return place.read_bytes()


def _keep(place: Path, data: bytes) -> None:
    """Write a file unless it holds just that, so that running again rewrites nothing."""
    with contextlib.suppress(OSError):
        if _bytes(place) == data:
            return
    atomic_write(place, data)


def _clear(copies: Path) -> None:
    """Drop the copies that an earlier run left in the same run directory."""
    with contextlib.suppress(OSError):
        for place in copies.iterdir():
            if _TASK_NAME.fullmatch(place.name):
                place.unlink()
