"""The folder of the memory: one file per fact, and MEMORY.md, which lists them (METHOD 78, 79)."""

from __future__ import annotations

import datetime
import os
import re
import stat
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from helix.errors import ArtifactError, SelectionError, UsageError, did_you_mean
from helix.files import atomic_write, clear_parts, held
from helix.memory.classify import classify
from helix.memory.entry import (
    HOW,
    LIFECYCLES,
    LONGEST_LINE,
    TYPES,
    WHY,
    Entry,
    Fault,
    Lifecycle,
    Type,
    body_fault,
    lacking,
    line_fault,
    links,
    name_fault,
    parse,
)
from helix.memory.refusals import refusal
from helix.model.preference import Preference

FOLDER: Final = "memory"
INDEX: Final = "MEMORY.md"
LARGEST: Final = 64_000
_LONGEST_SLUG: Final = 48
_LINE = re.compile(r"- \[(?P<title>[^\[\]]+)\]\((?P<name>[^()]*)\.md\) — (?P<hook>.+)")


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a fact: its entry, and whether it took the place of an earlier one."""

    entry: Entry
    updated: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact as it is told. What is None is made of the text, or kept from the earlier entry."""

    text: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    type: Type | None = None
    lifecycle: Lifecycle | None = None
    why: str | None = None
    how: str | None = None


class Memory:
    """The entries under `paths.state`; whatever is broken is a fault, and never an entry."""

    def __init__(self, state: str | Path) -> None:
        self.folder = Path(state) / FOLDER

    def read(self) -> tuple[tuple[Entry, ...], tuple[Fault, ...]]:
        """Return the sound entries, sorted by name, and what is wrong with files."""
        entries: list[Entry] = []
        faults: list[Fault] = []
        for path in self._files():
            entry, wrong = self._entry(path)
            faults += wrong
            if entry is not None:
                entries.append(entry)
        return tuple(entries), tuple(faults)

    def get(self, name: str) -> Entry:
        """Return an entry by its name; SelectionError where there is none that is sound."""
        entries, faults = self.read()
        for entry in entries:
            if entry.name == name:
                return entry
        broken = [fault for fault in faults if fault.file == f"{name}.md"]
        if broken:
            raise ArtifactError(f"{self.folder}: {broken[0]}")
        near = did_you_mean(name, [entry.name for entry in entries])
        raise SelectionError(f"{self.folder}: no entry has the name {name!r}{near}")

    def add(self, draft: Draft, today: datetime.date, known: Collection[str] = ()) -> Added:
        """Keep a fact under its name and list it; UsageError where it must not be kept.

        An entry of the same name is updated, and dated `today`. `known` are ids of criteria and
        traces, which a fact about the subject would name.
        """
        draft = replace(draft, text=draft.text.replace("\r\n", "\n").strip())
        if (wrong := body_fault(draft.text)) is not None:
            raise UsageError(wrong)
        with held(self.folder, "memory", "type the command again"):
            name = _name(draft)
            path = self.folder / f"{name}.md"
            before, _ = self._entry(path) if path.exists() or path.is_symlink() else (None, [])
            entry = _entry_of(draft, name, before, today)
            title = draft.title or self._titles().get(name) or _title(name)
            if (wrong := line_fault(title)) is not None or set(title) & set("[]()"):
                raise UsageError(f"title {wrong or 'must hold no brackets'}")
            said = "\n".join((name, title, entry.description, entry.body))
            if (why := refusal(said, known)) is not None:
                raise UsageError(f"this is not remembered: {why}")
            index = self._index_with(entry, title)
            atomic_write(path, entry.page.encode("utf-8"))
            atomic_write(self.folder / INDEX, index.encode("utf-8"))
            clear_parts(self.folder)
            return Added(entry, before is not None)

    def check(self) -> list[Fault]:
        """Return what is wrong: files, links that lead nowhere, and an index that tells otherwise.

        No memory at all is sound.
        """
        if not self.folder.is_dir():
            return []
        entries, faults = self.read()
        held_names = {path.stem for path in self._files()}
        found = [*faults, *self._strange(), *self._broken_links(held_names)]
        found += self._drift({entry.name: entry for entry in entries}, held_names)
        return sorted(found, key=lambda fault: (fault.file, fault.line, fault.text))

    def _files(self) -> list[Path]:
        return sorted(p for p in self.folder.glob("*.md") if p.name != INDEX)

    def _entry(self, path: Path) -> tuple[Entry | None, list[Fault]]:
        if (wrong := name_fault(path.stem)) is not None:
            return None, [Fault(path.name, 0, f"the file's name {wrong}")]
        text, fault = _text(path)
        return (None, [fault]) if fault else parse(text, path.name, path.stem)

    def _index(self) -> tuple[list[str], Fault | None]:
        path = self.folder / INDEX
        if not path.exists() and not path.is_symlink():
            return [], None
        text, fault = _text(path)
        return text.split("\n"), fault

    def _titles(self) -> dict[str, str]:
        lines, _ = self._index()
        return {found["name"]: found["title"] for found in map(_LINE.fullmatch, lines) if found}

    def _index_with(self, entry: Entry, title: str) -> str:
        """Return the index with one line of an entry, every other line of it left alone."""
        lines, fault = self._index()
        if fault is not None:
            raise ArtifactError(f"{self.folder}: {fault}")
        while lines and not lines[-1].strip():
            lines.pop()
        own = f"- [{title}]({entry.name}.md) — {entry.description}"
        kept: list[str] = []
        for line in lines:
            found = _LINE.fullmatch(line)
            if found is None or found["name"] != entry.name:
                kept.append(line)
            elif own not in kept:
                kept.append(own)
        return "\n".join([*kept, *([] if own in kept else [own])]) + "\n"

    def _strange(self) -> Iterator[Fault]:
        for path in sorted(self.folder.iterdir()):
            if not path.name.startswith(".") and path.suffix != ".md":
                yield Fault(path.name, 0, "is no entry: one fact per file, NAME.md")

    def _broken_links(self, names: Collection[str]) -> Iterator[Fault]:
        for path in self._files():
            text, fault = _text(path)
            for line, name in links(text) if fault is None else ():
                if name not in names:
                    near = did_you_mean(name, names)
                    yield Fault(path.name, line + 1, f"[[{name}]] leads to no entry{near}")

    def _drift(self, entries: dict[str, Entry], names: Collection[str]) -> Iterator[Fault]:
        lines, fault = self._index()
        if fault is not None:
            yield fault
            return
        listed: dict[str, int] = {}
        for number, line in enumerate(lines, 1):
            found = _LINE.fullmatch(line)
            if found is None:
                if line.startswith("- "):
                    yield Fault(INDEX, number, "must read - [Title](name.md) — what it says")
                continue
            name = found["name"]
            if name not in names:
                yield Fault(INDEX, number, f"{name}.md does not exist{did_you_mean(name, names)}")
            elif name in listed:
                yield Fault(INDEX, number, f"{name} is listed in line {listed[name]} already")
            elif name in entries and found["hook"] != entries[name].description:
                yield Fault(INDEX, number, f"{name} is described otherwise in its file")
            listed.setdefault(name, number)
        for name in sorted(set(names) - set(listed)):
            yield Fault(INDEX, 0, f"{name}.md is not listed")


def entries_for(state: str | Path, stage: Lifecycle) -> tuple[tuple[Entry, ...], tuple[Fault, ...]]:
    """Return the entries that a run of a stage loads, and the faults of others (METHOD 80)."""
    entries, faults = Memory(state).read()
    return tuple(e for e in entries if e.lifecycle in (stage, "general")), faults


def preferences(entries: Iterable[Entry]) -> tuple[Preference, ...]:
    """Return entries as the data that a run may be given."""
    return tuple(Preference(name=e.name, digest=e.digest, text=e.body) for e in entries)


def _text(path: Path) -> tuple[str, Fault | None]:
    """Return what a plain file of fair size says, or why it is not read; links are not followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
        try:
            plain = stat.S_ISREG(os.fstat(handle).st_mode)
            data = _read(handle) if plain else b""
        finally:
            os.close(handle)
    except OSError as error:
        link = path.is_symlink()
        why = "must be a plain file (got a link)" if link else f"cannot be read: {error.strerror}"
        return "", Fault(path.name, 0, why)
    if not plain:
        return "", Fault(path.name, 0, "must be a plain file")
    if len(data) > LARGEST:
        return "", Fault(path.name, 0, f"must be at most {LARGEST:,} bytes")
    try:
        return data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n"), None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return "", Fault(path.name, line, "must be UTF-8")


def _read(handle: int) -> bytes:
    with os.fdopen(os.dup(handle), "rb") as file:
        return file.read(LARGEST + 1)


def _entry_of(draft: Draft, name: str, before: Entry | None, today: datetime.date) -> Entry:
    text = draft.text
    of = draft.type or classify(text)
    if of is None:
        raise UsageError(
            f"its type cannot be told from its words: add --type, one of {', '.join(TYPES)}"
        )
    for mark, given in ((WHY, draft.why), (HOW, draft.how)):
        if given:
            text = f"{text}\n\n{mark} {' '.join(given.split())}"
    if missing := lacking(of, text):
        options = {WHY: "--why TEXT", HOW: "--how TEXT"}
        asked = " and ".join(options[mark] for mark in missing)
        raise UsageError(f"a fact of type {of} says why, and how to apply it: add {asked}")
    description = draft.description or _first(text)
    if (wrong := line_fault(description)) is not None:
        raise UsageError(f"description {wrong}")
    lifecycle = draft.lifecycle or (before.lifecycle if before else "general")
    if of not in TYPES or lifecycle not in LIFECYCLES:
        raise UsageError(f"type and lifecycle must be known (got {of} and {lifecycle})")
    if (wrong := body_fault(text)) is not None:
        raise UsageError(wrong)
    return Entry(name, description, of, lifecycle, today.isoformat(), text)


def _name(draft: Draft) -> str:
    """Return the name that was given, or one that the title or the text makes."""
    if draft.name is None:
        made = slug(draft.title or draft.description or _first(draft.text))
        if name_fault(made) is not None:
            raise UsageError("no name can be made of the text: add --name lower-case-words")
        return made
    if (wrong := name_fault(draft.name)) is not None:
        made = slug(draft.name)
        hint = f"; did you mean '{made}'?" if name_fault(made) is None else ""
        raise UsageError(f"name {wrong}{hint}")
    return draft.name


def slug(text: str) -> str:
    """Return a text as a name: its first words in plain lower-case letters, joined by hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")
    if len(name) > _LONGEST_SLUG:
        name = name[: _LONGEST_SLUG + 1].rpartition("-")[0] or name[:_LONGEST_SLUG]
    return name


def _title(name: str) -> str:
    return name.replace("-", " ").capitalize()


def _first(text: str) -> str:
    """Return the first sentence of a text, on one line and not too long."""
    line = " ".join(text.split("\n", 1)[0].split())
    sentence = re.split(r"(?<=[.!?]) ", line, maxsplit=1)[0]
    if len(sentence) <= LONGEST_LINE:
        return sentence
    return sentence[: LONGEST_LINE - 1].rpartition(" ")[0].rstrip(" ,;:") + "…"
