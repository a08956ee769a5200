"""`helix criteria lint --run`: lint-grounding over a finished run and the traces that it judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from helix.app.traces_of import traces as traces_of
from helix.errors import ArtifactError, UsageError
from helix.grounding.lint import Linted, lint
from helix.model.legacy import read_line
from helix.model.packet import Premise
from helix.model.plan import Plan
from helix.model.trace import Trace
from helix.model.verdict import MatrixVerdictFile
from helix.reports.visible import visible
from helix.reports.words import counted
from helix.runs import RunFiles

PLAN, VERDICTS = "plan.json", "verdicts.jsonl"


def linted(run: str, traces: str | None, format: str, terms: Mapping[str, Sequence[str]]) -> Linted:
    """Return what lint-grounding finds in a run's folder, or in a file of verdict lines.

    The traces are those that the run's plan names, unless others are given; `terms` are those of
    the rows that are known. Lines are held in memory, traces pass by.
    """
    path = Path(run)
    file = path / VERDICTS if path.is_dir() else path
    channels: Sequence[str] = ()
    premises: tuple[Premise, ...] = ()
    if (file.parent / PLAN).is_file():
        plan = RunFiles(file.parent).plan()
        subject = plan.decides.get("subject", {})
        channels = subject.get("complete_channels", ())
        premises = _premises(file.parent / PLAN, plan)
        traces = traces or _one(plan.runs.get("traces"))
        format = subject.get("format", format) if format == "auto" else format
    by_trace: dict[str, list[MatrixVerdictFile]] = {}
    for line in _lines(file):
        by_trace.setdefault(line.trajectory_id, []).append(line)
    if not traces:
        raise UsageError(f"add --traces PATH: nothing beside {file} says what was judged")
    pairs = _paired(by_trace, traces_of(traces, format))
    return lint(pairs, terms=terms, channels=channels, premises=premises)


def as_text(found: Linted) -> str:
    """Return the defects, one line each, then what they come to."""
    lines = [
        f"{d.level}: {d.trace}{f' {d.criterion}' if d.criterion else ''}: {d.text} ({d.kind})"
        for d in found.defects
    ]
    lines += [f"taken back: {trace} {criterion}" for trace, criterion in found.taken_back]
    errors = sum(defect.level == "error" for defect in found.defects)
    counts = f"{counted(errors, 'error')}, {counted(len(found.defects) - errors, 'warning')}"
    lines.append(
        f"{counts}; {found.grounded} of {counted(found.decided, 'decided verdict')} grounded "
        f"in {counted(found.lines, 'line')}"
    )
    return visible("\n".join(lines))


def as_json(run: str, found: Linted) -> dict[str, Any]:
    """Return the same as plain JSON."""
    return {
        "run": run,
        "lines": found.lines,
        "grounded": {"k": found.grounded, "n": found.decided},
        "defects": [dataclasses.asdict(defect) for defect in found.defects],
        "takenBack": [{"trace": t, "criterion": c} for t, c in found.taken_back],
    }


def _paired(
    by_trace: dict[str, list[MatrixVerdictFile]], traces: Iterable[Trace]
) -> Iterator[tuple[MatrixVerdictFile, Trace | None]]:
    for trace in traces:
        yield from ((line, trace) for line in by_trace.pop(trace.id, ()))
    yield from ((line, None) for lines in by_trace.values() for line in lines)


def _premises(file: Path, plan: Plan) -> tuple[Premise, ...]:
    """Return what people vouched for when the run was judged, as its plan says."""
    try:
        return msgspec.convert(plan.decides.get("premises", ()), tuple[Premise, ...])
    except msgspec.ValidationError as error:
        raise ArtifactError(f"{file} is damaged: premises: {error}") from None


def _one(traces: Any) -> str | None:
    if isinstance(traces, list) and len(traces) == 1:
        return str(traces[0])
    return traces if isinstance(traces, str) else None


def _lines(file: Path) -> Iterator[MatrixVerdictFile]:
    try:
        with open(file, "rb") as stream:
            for number, data in enumerate(stream, 1):
                if data.strip():
                    yield _line(file, number, data)
    except OSError as error:
        raise ArtifactError(f"{file} cannot be read: {error.strerror}") from None


def _line(file: Path, number: int, data: bytes) -> MatrixVerdictFile:
    try:
        return read_line(data)
    except ValueError as error:
        raise ArtifactError(f"{file}, line {number} is damaged: {error}") from None
