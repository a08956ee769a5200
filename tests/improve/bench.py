"""A loop around a copy of the toy agent, as the tests of this folder begin it."""

from __future__ import annotations

import datetime
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helix.improve import Improved, improve
from helix.model.config import Config
from helix.registry import (
    Case,
    Fresh,
    Registry,
    SubjectContext,
    SubjectRunner,
    load,
)
from helix.registry.items import Respond
from helix.reports.improvement import request_page

DESK = Path(__file__).with_name("desk")
NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
Agent = Callable[[Case, SubjectContext], dict[str, Any]]


def desk(folder: Path) -> Path:
    """Copy the toy agent, its suite, cases and engineer into a folder."""
    shutil.copytree(DESK, folder / "desk", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "desk"


def config(folder: Path, own: Mapping[str, Any] | None = None, **sections: Any) -> Config:
    """Return the configuration of a loop around the toy agent in `folder`, of two repeats."""
    here = folder / "desk"
    improving = {
        "subject": "command",
        "command": [sys.executable, str(here / "agent.py"), "{repeat}"],
        "engineer": "command",
        "cases": str(here / "cases.jsonl"),
        "subject_files": [str(here / "agent.py"), str(here / "rules.txt")],
        "repeats": 2,
        **(own or {}),
    }
    given = {
        "subject": {"name": "desk"},
        "criteria": {"file": str(here / "suite.yaml")},
        "judge": {"backend": "none"},
        "paths": {"state": str(folder / "state")},
        "improve": improving,
        **sections,
    }
    return Config.model_validate(given)


def engineer(folder: Path, how: str) -> dict[str, Any]:
    """Return the settings of the scripted engineer that acts in this way."""
    return {"engineer_command": [sys.executable, str(folder / "desk" / "engineer.py"), how]}


def run(folder: Path, settings: Config, name: str = "loop", **more: Any) -> Improved:
    """Carry the loop in `folder/name` on."""
    return improve(settings, run_dir=folder / name, page=request_page, now=NOW, **more)


def steps(folder: Path, name: str | None = None) -> list[dict[str, Any]]:
    """Return the lines of swings.jsonl, those of one kind where it is named."""
    lines = (folder / "loop" / "swings.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [step for step in found if name in (None, step["step"])]


def registry_with(agent: Agent, amend: Respond | None = None) -> Callable[[], Registry]:
    """Return what loads a registry that has the subject `toy`, which runs in this process."""

    def record(cases: Sequence[Case], context: SubjectContext) -> Fresh:
        files = {case.id: context.folder / f"{case.id}.json" for case in cases}
        for case in cases:
            if not files[case.id].exists():
                files[case.id].write_text(json.dumps(agent(case, context)), "utf-8")
        return Fresh(files)

    def loaded() -> Registry:
        registry = load()
        registry.add("subjects", SubjectRunner("toy", "1", record, amend), "tests")
        return registry

    return loaded
