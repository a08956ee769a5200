"""Runs executions, compares them, and says by what they part; makes none of them (METHOD 71).

Two executions settle whether anything varies. Only where something does is the first repeated
under the same conditions, and once for each condition alone: that is how a mechanism gets its name.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

import helix
from helix.audit.conditions import Conditions, Program, singly
from helix.audit.covering import covered
from helix.audit.diff import diff_runs
from helix.audit.differing import differing
from helix.audit.dimensions import score
from helix.audit.executions import Executor, refuse_shared, taken
from helix.audit.localizing import Role, Shown, localized
from helix.audit.pinned import dropped
from helix.audit.tracking import Seen, tracked
from helix.errors import ArtifactError
from helix.model.audited import Audited, Coverage, Execution, Pair
from helix.model.criterion import Criterion
from helix.model.tracked import TrackedDefects
from helix.registry import DeterminismDimension
from helix.runs import RunFiles, object_of

FIRST: Final = "first"
AGAIN: Final = "again"
APART_S: Final = 1.0
"""The first two executions start in different seconds, so that a clock in seconds shows."""
_VERSION: Final = "import platform; print(platform.python_version())"
Rows = Callable[[RunFiles], tuple[Criterion, ...] | str]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is audited: a program to execute `times` times, or finished `runs`.

    `vary` names the conditions that change from the second execution on. Each of `pythons` and
    `executors` is one more execution in which that alone differs. `dimensions` are measured;
    `rows` returns the criteria of a run's suite, or says why they are not known.
    """

    own: str
    rows: Rows
    dimensions: tuple[DeterminismDimension, ...]
    executor: Executor | None = None
    runs: tuple[Path, ...] = ()
    times: int = 2
    vary: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    executors: tuple[str, ...] = ()
    known_executors: tuple[str, ...] = ()
    defects: TrackedDefects | None = None
    apart_s: float = APART_S


def audit(asked: Asked, on_execution: Callable[[str], None] = lambda name: None) -> Audited:
    """Carry the audit out; UsageError where executions are not what an audit may compare."""
    if asked.executor is None:
        return _Taken(asked).audited()
    return _Executed(asked, on_execution).audited()


@dataclass(slots=True)
class _Comparison:
    """What both kinds of audits share: executions, and what each shows against the first."""

    asked: Asked
    executions: list[Execution] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def _show(self, at: int, role: Role) -> bool:
        """Hold an execution against the first; return whether anything differs."""
        first, execution = self.executions[0], self.executions[at]
        refuse_shared(self.executions, self.asked.own)
        if execution.failed is not None:
            return True
        a, b = Path(first.run), Path(execution.run)
        groups = differing(a, b)
        found = score([RunFiles(a), RunFiles(b)], self.asked.dimensions)
        self.shown.append(Shown(role, first, execution, groups, found.different))
        return bool(self.shown[-1].groups)

    def _result(self, command: Sequence[str], asked_for: int) -> Audited:
        """Return the result; the first `asked_for` executions are scored, the others explain."""
        scored = self.executions[:asked_for]
        finished = [one for one in scored if one.failed is None]
        crashed = [one for one in self.executions if one.failed is not None]
        measured = self.executions[0].failed is None and asked_for > 1
        runs = [RunFiles(Path(one.run)) for one in finished] if measured else []
        pairs = [
            Pair(a=finished[0].name, b=one.name, diff=diff_runs(runs[0].folder, run.folder))
            for one, run in list(zip(finished, runs, strict=False))[1:]
        ]
        total = score(runs, self.asked.dimensions) if len(runs) > 1 else None
        lost = [x for one, run in zip(finished, runs, strict=False)
                for x in dropped(run.folder, one.name)]  # fmt: skip
        findings = localized(self.shown, lost, crashed) if measured else ()
        varied = frozenset(name for one in finished for name in one.varied)
        executed = self.asked.executor is not None
        unknown = [one.name for one in scored if one.failed is not None]
        seen = Seen(runs, pairs, total, findings, varied, executed, unknown)
        return Audited(
            verdict="notMeasured" if not measured else "different" if findings else "equal",
            command=tuple(command),
            executions=tuple(self._told(one) for one in self.executions),
            score=total,
            pairs=tuple(pairs),
            findings=findings,
            coverage=self._coverage(runs),
            defects=tracked(self.asked.defects, seen) if self.asked.defects else (),
            notes=tuple(self.notes),
        )

    def _told(self, execution: Execution) -> Execution:
        """Return an execution with its run as it is found from the folder of the audit."""
        if self.asked.executor is None:
            return execution
        base = self.asked.executor.root.parent
        return msgspec.structs.replace(
            execution, run=Path(execution.run).relative_to(base).as_posix()
        )

    def _coverage(self, runs: Sequence[RunFiles]) -> Coverage:
        if not runs:
            return Coverage(unknown="no execution is finished")
        rows = self.asked.rows(runs[0])
        if isinstance(rows, str):
            return Coverage(unknown=rows)
        return covered(rows, object_of(runs[0].folder / "scorecard.json"))


class _Taken(_Comparison):
    """Finished runs, that others have made."""

    def audited(self) -> Audited:
        self.executions = [taken(folder) for folder in self.asked.runs]
        refuse_shared(self.executions, self.asked.own)
        for at in range(1, len(self.executions)):
            self._show(at, "taken")
        unknown = [one.name for one in self.executions if one.identity is None]
        if unknown:
            self.notes.append(f"who made it is not recorded: {', '.join(unknown)}")
        plans = {str(object_of(run / "plan.json").get("digest")) for run in self.asked.runs}
        if len(plans) > 1:
            self.notes.append(
                "the runs decide by different plans, so that differences may be meant"
            )
        return self._result((), len(self.executions))


class _Executed(_Comparison):
    """Executions that are made now, by processes of their own."""

    def __init__(self, asked: Asked, on_execution: Callable[[str], None]) -> None:
        super().__init__(asked)
        assert asked.executor is not None
        self.executor: Executor = asked.executor
        self.on_execution = on_execution

    def audited(self) -> Audited:
        vary = tuple(self._variable(self.executor.program))
        self.executor.clear()
        first, differs = self._execute(Conditions(FIRST)), False
        if first.failed is None:
            wait = (first.started_at or 0) + self.asked.apart_s - time.time()
            time.sleep(max(0.0, min(wait, self.asked.apart_s)))
            for conditions, role in self._others(vary):
                differs |= self._showing(conditions, role)
        asked_for = len(self.executions)
        if differs:
            self._explain(vary)
        return self._result(self.executor.program.words, asked_for)

    def _explain(self, vary: Sequence[str]) -> None:
        """Repeat the first execution, as often as it was varied, and vary each condition alone."""
        for number in range(1, self.asked.times):
            name = AGAIN if number == 1 else f"{AGAIN} {number}"
            self._showing(Conditions(name), "again")
        for conditions in singly(Conditions("", tuple(vary))):
            self._showing(conditions, "alone")

    def _showing(self, conditions: Conditions, role: Role) -> bool:
        self._execute(conditions)
        return self._show(len(self.executions) - 1, role)

    def _execute(self, conditions: Conditions) -> Execution:
        """Execute; a run that cannot be compared, being damaged, is none."""
        self.on_execution(conditions.name)
        execution = self.executor.execute(conditions, len(self.executions) + 1)
        if execution.failed is None:
            try:
                differing(Path(execution.run), Path(execution.run))
            except ArtifactError as error:
                execution = msgspec.structs.replace(execution, failed=str(error))
        self.executions.append(execution)
        return execution

    def _others(self, vary: tuple[str, ...]) -> Iterator[tuple[Conditions, Role]]:
        for number in range(2, self.asked.times + 1):
            name = "varied" if self.asked.times == 2 else f"varied {number - 1}"
            yield Conditions(name, vary, seed=number - 1), "main"
        for python in self.asked.pythons:
            absent = self._absent(python)
            if absent is None:
                version = _printed(python, _VERSION)
                varied = ("interpreter",)
                yield Conditions(python, varied, python=python, version=version), "interpreter"
            else:
                self.notes.append(f"{python} is left out: {absent}")
        yield from self._executors()

    def _executors(self) -> Iterator[tuple[Conditions, Role]]:
        program = self.executor.program
        for name in self.asked.executors:
            if not program.takes("executor"):
                self.notes.append(f"executor {name} is left out: {{executor}} is not in its words")
            elif program.helix and name not in self.asked.known_executors:
                known = ", ".join(self.asked.known_executors)
                self.notes.append(f"executor {name} is left out: not installed (known: {known})")
            elif name != program.executor:
                yield Conditions(f"executor {name}", ("executor",), executor=name), "executor"

    def _variable(self, program: Program) -> Iterator[str]:
        for name in self.asked.vary:
            if name == "concurrency" and not program.takes("concurrency"):
                self.notes.append(
                    "concurrency does not vary: {concurrency} stands in no word of audit.command"
                )
            else:
                yield name

    def _absent(self, python: str) -> str | None:
        """Return why an interpreter cannot execute the program; None where it can."""
        program = self.executor.program
        if not program.takes("python"):
            return "{python} stands in no word of audit.command"
        if shutil.which(python) is None:
            return "it is not here"
        if not _printed(python, _VERSION):
            return "it does not start"
        version = _printed(python, "import helix; print(helix.__version__)")
        if not program.helix or version == helix.__version__:
            return None
        return f"it has Helix {version}" if version else "Helix is not installed for it"


def _printed(python: str, code: str) -> str:
    """Return what an interpreter prints; nothing where it fails."""
    words = [python, "-c", code]
    found = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    return "" if found.returncode else found.stdout.strip()
