"""What `helix calibrate` works on, and what it prints."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from helix.app.plugins import registry
from helix.app.quoting import quoted
from helix.app.suite_rows import STATE
from helix.calibrate import TABLE, Desk, Item, Queue, replay, step
from helix.errors import SelectionError, UsageError, unknown
from helix.files import atomic_write, file_name
from helix.model.calibration import Entry, State
from helix.model.criterion import Criterion, Suite
from helix.model.packet import Premise
from helix.premises import FOLDER, log_path, premises
from helix.reports.visible import one_line
from helix.reports.words import UNBLOCK, counted, wrapped
from helix.runs import RunFiles
from helix.suite import compile, load
from helix.suite.dumping import suite_page
from helix.suite.living import suite_path

REGROUND = "re-ground"
MOST_CELLS = 5
_SHOWN = 160
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)
_TYPED = {
    "re-ground": "--field PATH",
    "ratify": "--norm TEXT",
    "re-scope": "--statement TEXT",
    "verify": "--fact TEXT",
    "eliminate": "--assumption TEXT",
    "withdraw": "--premise ID",
    "retire": "",
}


@dataclass
class Sitting:
    """The desk of a state, and the run that is worked on, if one was named."""

    state: Path
    desk: Desk
    run: Path | None
    suite: str | None

    @classmethod
    def open(cls, args: argparse.Namespace) -> Sitting:
        """Open what a command's arguments name; the state is the run's where none is given."""
        run = None if args.run is None else RunFiles.open(args.run).folder
        given = args.state
        if given is None and run is not None:
            given = RunFiles(run).plan().runs.get("paths", {}).get("state")
        state = Path(given or STATE)
        return cls(state, Desk.open(state), run, args.suite)

    @cached_property
    def files(self) -> RunFiles:
        """The run that is worked on."""
        if self.run is None:
            raise UsageError("name the run that left it undecided: add --run RUN")
        return RunFiles(self.run)

    @property
    def plan_digest(self) -> str:
        """The digest of the run's plan."""
        return self.files.plan().digest

    @property
    def subject_version(self) -> str | None:
        """The version of the subject that the run was of, as far as it was recorded."""
        if self.run is None:
            return None
        version: str | None = self.files.plan().decides["subject"].get("version")
        return version

    @property
    def log_file(self) -> str:
        """Where the log lies."""
        return str(log_path(self.state))

    def row(self, criterion_id: str) -> Criterion:
        """Return a row: of the living suite, else of the suite that was named or that the run had.

        UsageError where it is in none of them.
        """
        living = {row.criterion_id: row for row in self.desk.living.suite.criteria}
        if criterion_id in living:
            return living[criterion_id]
        rows = {row.criterion_id: row for row in self._suite().criteria}
        if criterion_id not in rows:
            raise SelectionError(unknown("criterion", criterion_id, {**living, **rows}))
        return rows[criterion_id]

    def _suite(self) -> Suite:
        file = self.suite
        if file is None and self.run is not None:
            file = self.files.plan().runs.get("criteriaFile")
        if file is None:
            raise UsageError(
                "the living suite does not have this row: add --run RUN, or --suite SUITE"
            )
        return load(file).suite

    def check(self, row: Criterion) -> None:
        """Raise SuiteError where a row does not compile."""
        compile(Suite(suite="calibration", criteria=(row,)), registry())

    def reground(self, row: Criterion, fields: Sequence[str]) -> dict[str, Any]:
        """Write a suite in which the row reads more of the trace; return it and how to run it."""
        more = [field for field in fields if field not in row.judge_inputs]
        if not more:
            raise UsageError(f"'{row.criterion_id}' reads {', '.join(fields)} already")
        asked = row.model_copy(update={"judge_inputs": (*row.judge_inputs, *more)})
        self.check(asked)
        name = self.desk.living.suite.suite if self.run is None else self.files.scorecard().suite
        path = self.state / FOLDER / REGROUND / f"{file_name(row.criterion_id)}.suite.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, suite_page(Suite(suite=name, criteria=(asked,))))
        traces = [] if self.run is None else self._undecided(row.criterion_id)
        return {"suite": str(path), "traces": traces, "command": self._command(path, traces)}

    def _undecided(self, criterion_id: str) -> list[str]:
        lines = self.files.lines()
        return list(
            dict.fromkeys(
                line.trajectory_id
                for line in lines
                if line.dense_map.get(criterion_id) == "uncertain"
            )
        )

    def _command(self, suite: Path, traces: Sequence[str]) -> str:
        """Return what to type: the run's own command where it is known, with this suite."""
        typed = None if self.run is None else _command_of(self.run)
        words = [f"criteria.file={suite}"]
        if traces:
            ids = (t if _PLAIN.fullmatch(t) else quoted(t) for t in traces)
            words.append(f"select.traces=[{','.join(ids)}]")
        first = typed or "helix evaluate subject.traces=TRACES"
        return " ".join([first, *map(shlex.quote, words)])


def _command_of(run: Path) -> str | None:
    try:
        found = json.loads((run / "runmeta.json").read_text(encoding="utf-8")).get("command")
    except (OSError, ValueError, AttributeError):
        return None
    return found if isinstance(found, str) and found else None


def queue_json(found: Queue) -> dict[str, Any]:
    """Return the queue as plain data."""
    return {
        "items": [
            {
                "criterionId": item.criterion_id,
                "kind": item.kind,
                "severity": item.severity,
                "gating": item.gating,
                "state": item.state,
                "actions": list(item.actions),
                "cells": [
                    {"traceId": cell.trace_id, "cause": cell.cause, "text": cell.text,
                     "assumptions": list(cell.assumptions)}
                    for cell in item.cells
                ],
            }
            for item in found.items
        ],
        "machinery": dict(found.machinery),
    }  # fmt: skip


def queue_lines(found: Queue, run: str) -> Iterator[str]:
    """Yield the queue as text, and what to type for each item."""
    for item in found.items:
        yield from _item_lines(item, run)
    if not found.items:
        yield "nothing waits for people"
    if found.machinery:
        causes = ", ".join(f"{n} {cause}" for cause, n in found.machinery.items())
        yield from wrapped(f"not here, since asking again may decide it: {causes}")


def _item_lines(item: Item, run: str) -> Iterator[str]:
    gates = "gates" if item.gating else "does not gate"
    stands = f", {item.state}" if item.state else ""
    count = counted(len(item.cells), "trace")
    head = f"{item.criterion_id} ({item.severity}, {gates}{stands}): {item.kind}, {count}"
    yield from wrapped(one_line(head))
    for cell in item.cells[:MOST_CELLS]:
        yield from wrapped(one_line(f"{cell.trace_id}: {cell.cause}: {cell.text}", _SHOWN), "  ")
        for text in cell.assumptions:
            yield from wrapped(f"assumed: {one_line(text, _SHOWN)}", "    ")
    if len(item.cells) > MOST_CELLS:
        yield f"  and {len(item.cells) - MOST_CELLS} more"
    yield from wrapped(f"{UNBLOCK[item.kind]}; one of:", "  ")
    for action in item.actions:
        words = ["helix", "calibrate", action, shlex.quote(one_line(item.criterion_id)),
                 "--run", shlex.quote(run), _TYPED[action], "--by NAME --why TEXT"]  # fmt: skip
        yield f"    {' '.join(filter(None, words))}"


def log_lines(log: Iterable[Entry], chosen: Sequence[Entry]) -> Iterator[str]:
    """Yield the chosen entries of a log, with the states before and after each."""
    states: dict[str, State] = {}
    wanted = {id(entry) for entry in chosen}
    for entry in log:
        before = states.get(entry.criterion_id)
        states = step(states, entry)
        if id(entry) in wanted:
            turn = f"{before or 'new'} → {states[entry.criterion_id]}"
            yield one_line(f"{entry.at or 'undated'}: {entry.criterion_id}: {turn}: {_said(entry)}")


def _said(entry: Entry) -> str:
    who = f" by {entry.by}" if entry.by else " by a run"
    about = f" of {entry.trace_id}" if entry.trace_id else ""
    what = [*entry.kinds, *entry.fields, entry.text, entry.result, entry.premise]
    told = "; ".join(str(part) for part in what if part)
    why = f" ({entry.why})" if entry.why else ""
    return f"{entry.action}{about}{who}{': ' if told else ''}{told}{why}"


def premise_line(premise: Premise) -> str:
    """Return a premise as one line."""
    where = f" of {premise.trace_id}" if premise.trace_id else ""
    who = f"{premise.kind}, {premise.by}, {premise.at}"
    return one_line(f"{premise.id} for {premise.criterion_id}{where}: {premise.text} ({who})")


def told(
    sitting: Sitting, before: Desk, after: Desk, rerun: dict[str, Any] | None
) -> dict[str, Any]:
    """Return what an action did, as plain data."""
    entry = after.log[-1]
    old, new = replay(before.log), replay(after.log)
    fresh = {p.id for p in premises(after.log)} - {p.id for p in premises(before.log)}
    changed = after.living != before.living
    return {
        "criterionId": entry.criterion_id,
        "action": entry.action,
        "before": old.get(entry.criterion_id),
        "after": new[entry.criterion_id],
        "possible": list(TABLE[new[entry.criterion_id]]),
        "premises": sorted(fresh),
        "suite": str(suite_path(sitting.state)) if changed else None,
        "log": sitting.log_file,
        "rerun": rerun,
    }


def told_lines(did: dict[str, Any], entry: Entry) -> Iterator[str]:
    """Yield what an action did, as text."""
    turn = f"{did['before'] or 'new'} → {did['after']}"
    yield one_line(f"{entry.criterion_id}: {turn}: {_said(entry)}")
    for premise in did["premises"]:
        yield f"{premise} enters the questions of later runs"
    if did["suite"]:
        yield f"the row is kept in {did['suite']}; run it with criteria.file={did['suite']}"
    if did["rerun"]:
        yield f"{did['rerun']['suite']} reads more of the trace; type:"
        yield f"  {did['rerun']['command']}"
