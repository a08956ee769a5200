"""The verdict lines of a run joined to its traces, one at a time, however many there are.

Traces come in the order in which they are read, lines in plan order. Where the two agree, which
they do for a run's own files, nothing is held; a line that is passed over waits as bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from helix.model.lines import decode_line, encode_line
from helix.model.verdict import Cause, CellState, MatrixVerdictFile
from helix.reports.run import CellView, RunReport, TraceView, laid_out, trace_view
from helix.reports.stream import RunStream
from helix.reports.words import Standing

UNREAD = "its steps were not read"
Waiting = dict[str, list[tuple[int, bytes]]]


def joined(run: RunStream) -> Iterator[TraceView]:
    """Yield every trajectory of a run once, with its steps where its trace can be read."""
    many = Counter(line.trajectory_id for line in run.lines)
    ahead, waiting = enumerate(run.lines), Waiting()
    originals = run.originals(frozenset(many)) if run.originals and many else ()
    for trace in originals:
        for at, line in _of(trace.id, many, ahead, waiting):
            yield laid_out(trace_view(at, line, run.rows, run.below), trace)
    left = [pair for pairs in waiting.values() for pair in pairs]
    for at, data in left:
        yield _unread(run, at, decode_line(data, MatrixVerdictFile))
    for at, line in ahead:
        yield _unread(run, at, line)


def _of(
    trace: str,
    many: Counter[str],
    ahead: Iterator[tuple[int, MatrixVerdictFile]],
    waiting: Waiting,
) -> Iterator[tuple[int, MatrixVerdictFile]]:
    """Yield the lines of one trace with their places, and let those before them wait."""
    for at, data in waiting.pop(trace, []):
        many[trace] -= 1
        yield at, decode_line(data, MatrixVerdictFile)
    while many[trace] > 0:
        at, line = next(ahead)
        if line.trajectory_id == trace:
            many[trace] -= 1
            yield at, line
        else:
            waiting.setdefault(line.trajectory_id, []).append((at, encode_line(line)))


def _unread(run: RunStream, at: int, line: MatrixVerdictFile) -> TraceView:
    return replace(trace_view(at, line, run.rows, run.below), hidden=UNREAD)


def outline(run: RunStream) -> RunReport:
    """Return a run with how its cells stand and nothing of what was said of them.

    A cell that stands as another does is the same value, so that a trace takes some 2 KB.
    """
    known: dict[tuple[int, CellState, Standing, Cause | None], CellView] = {}

    def bare(cell: CellView) -> CellView:
        key = (cell.row.index, cell.state, cell.standing, cell.cause)
        if key not in known:
            known[key] = replace(cell, entry=None, refs=(), reason="")
        return known[key]

    traces = tuple(
        replace(view, line=_bare(view.line), cells=tuple(map(bare, view.cells)))
        for view in run.traces
    )
    lines = tuple(view.line for view in traces)
    return RunReport(run.scorecard, lines, run.rows, traces, run.meta, run.folder, run.subject)


def _bare(line: MatrixVerdictFile) -> MatrixVerdictFile:
    """Return a line with its identity, fidelity and warnings, which pages of all traces tell."""
    return MatrixVerdictFile(
        trajectory_id=line.trajectory_id,
        replicate=line.replicate,
        route=line.route,
        task=line.task,
        fidelity=line.fidelity,
        dense_map={},
        warnings=line.warnings,
    )


__all__ = ["joined", "outline"]
