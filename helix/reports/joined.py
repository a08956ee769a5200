"""The verdict lines of a run joined to its traces, one at a time, however many there are.

Traces come in the order in which they are read, lines in plan order. Where the two agree, which
they do for a run's own files, nothing is held; a line that is passed over waits as bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from helix.model.lines import decode_line, encode_line
from helix.model.verdict import Cause, CellState, MatrixVerdictFile
from helix.reports.run import UNREAD, CellView, RunReport, TraceView, laid_out, trace_view
from helix.reports.stream import RunStream
from helix.reports.words import Standing

Waiting = dict[str, list[tuple[int, bytes]]]


def joined(run: RunStream, ids: Iterable[str]) -> Iterator[TraceView]:
    """Yield every trajectory of a run once, with its steps where its trace can be read.

    `ids` are those of the lines, each as often as it has a line.
    """
    many = Counter(ids)
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


class Outline:
    """A run with how its cells stand and nothing of what was said of them.

    A cell that stands as another does is the same value, so that a trace takes some 2 KB.
    """

    def __init__(self, run: RunStream) -> None:
        self._run = run
        self._traces: list[TraceView] = []
        self._known: dict[tuple[int, CellState, Standing, Cause | None], CellView] = {}

    def drawn(self) -> Iterator[TraceView]:
        """Yield the trajectories as they are, and keep the outline of each."""
        for view in self._run.traces:
            cells = tuple(map(self._cell, view.cells))
            self._traces.append(replace(view, line=_bare(view.line), cells=cells))
            yield view

    def report(self) -> RunReport:
        """Return what was kept."""
        run, traces = self._run, tuple(self._traces)
        lines = tuple(view.line for view in traces)
        return RunReport(run.scorecard, lines, run.rows, traces, run.meta, run.folder, run.subject)

    def _cell(self, cell: CellView) -> CellView:
        key = (cell.row.index, cell.state, cell.standing, cell.cause)
        if key not in self._known:
            self._known[key] = replace(cell, entry=None, refs=(), reason="")
        return self._known[key]


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
