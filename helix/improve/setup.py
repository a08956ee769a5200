"""What a loop begins with: everything is checked before the subject runs once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helix.errors import ConfigError
from helix.gate import exact_ratio
from helix.improve.cases import read_cases
from helix.improve.mark import files_digest
from helix.improve.terminator import Bounds
from helix.model.canonical import digest
from helix.model.config import Config, ImproveConfig
from helix.model.improvement import SubjectMark
from helix.registry import Case, Registry, SubjectRunner
from helix.registry.items import Respond
from helix.suite import load

_PINNED = ("subject", "judge", "verifier", "sampling", "gate", "select", "checks")
# The digests of two sets of files say nothing of whether the subject has changed.
_PINNED_OWN = ("subject", "command", "call", "repeats", "subject_files")


@dataclass(frozen=True, slots=True)
class Setup:
    """A loop that may begin: its configuration, cases, runners, bounds.

    `plan` is the digest of what may not change while it goes on, `statements` those of the rows.
    """

    config: Config
    folder: Path
    subject: SubjectRunner
    respond: Respond
    cases: tuple[Case, ...]
    bounds: Bounds
    statements: dict[str, str]
    plan: str

    @classmethod
    def of(cls, config: Config, folder: Path, registry_of: Callable[[], Registry]) -> Setup:
        """Check the configuration; ConfigError says all that is wrong with it."""
        if wrong := list(_faults(config)):
            raise ConfigError("; ".join(wrong))
        own, registry = config.improve, registry_of()
        subject: SubjectRunner = registry.get("subjects", own.subject)
        engineer: SubjectRunner = registry.get("subjects", own.engineer)
        if engineer.respond is None:
            raise ConfigError(f"improve.engineer must answer requests (got {own.engineer})")
        if subject.ready is not None:
            subject.ready(own, "subject")
        if engineer.ready is not None:
            engineer.ready(own, "engineer")
        cases = read_cases(own.cases)
        suite = load(str(config.criteria.file))
        return cls(
            config=config,
            folder=folder,
            subject=subject,
            respond=engineer.respond,
            cases=cases,
            bounds=_bounds(own),
            statements={row.criterion_id: row.statement for row in suite.criteria},
            plan=_plan(config, cases),
        )

    def mark(self, version: str | None) -> SubjectMark:
        """Return what tells the subject as it stands now from others."""
        without = (self.folder, Path(self.config.paths.state))
        files = files_digest(self.config.improve.subject_files, without)
        return SubjectMark(files=files, version=version)


def _bounds(own: ImproveConfig) -> Bounds:
    return Bounds(
        target=exact_ratio(own.target, "improve.target"),
        max_swings=own.max_swings,
        max_seconds=own.max_minutes * 60,
        streak=own.streak,
    )


def _plan(config: Config, cases: tuple[Case, ...]) -> str:
    whole = config.model_dump(mode="json")
    own = [whole["improve"][name] for name in _PINNED_OWN]
    suite = hashlib.sha256(Path(str(config.criteria.file)).read_bytes()).hexdigest()
    inputs = [dict(case.input) for case in cases]
    return digest([{name: whole[name] for name in _PINNED}, own, suite, inputs])


def _faults(config: Config) -> Iterator[str]:
    if config.subject.traces is not None:
        yield "subject.traces must be null: the subject records its traces afresh"
    if not config.criteria.file:
        yield "criteria.file must name a suite: add criteria.file=SUITE.yaml"
    if config.sampling.strategy != "all" or config.sampling.n is not None:
        yield "sampling.strategy must be all: every fresh trace is evaluated"
    if config.shard.count != 1:
        yield "shard.count must be 1: a loop is not divided"
    if config.select.traces or config.select.failed_from:
        yield "select.traces and select.failed_from must be empty: name cases instead"
    if config.run.dry:
        yield "run.dry must be false: a loop runs the subject"
