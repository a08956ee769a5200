"""Verdict lines of a run joined to its traces, one at a time, however many there are.

Traces come in the order in which they are read, lines in plan order. Where the two agree, which
they do for a run's own files, nothing is held; a wanted line that is passed over waits as bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from helix.model.lines import decode_line, encode_line
from helix.model.verdict import MatrixVerdictFile
from helix.reports.run import UNREAD, TraceView, laid_out, trace_view
from helix.reports.stream import RunStream

Waiting = dict[str, list[tuple[int, bytes]]]


def joined(run: RunStream, views: Iterable[TraceView]) -> Iterator[TraceView]:
    """Yield each of these trajectories of a run once, with its steps if its trace can be read."""
    views = tuple(views)
    many, wanted = Counter(view.id for view in views), {view.index for view in views}
    ahead, waiting = (pair for pair in enumerate(run.lines) if pair[0] in wanted), Waiting()
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
