"""A run whose traces are read one at a time: for reports of rows, however many there are.

The views are the composer's own (`helix.reports.run`); only nothing is kept of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from helix.model.criterion import Criterion
from helix.model.manifest import Manifest, ManifestEntry
from helix.model.scorecard import Scorecard
from helix.model.subject import SubjectRecord
from helix.model.trace import Trace
from helix.model.verdict import MatrixVerdictFile
from helix.reports.placed import ByTrace, Selected, placed
from helix.reports.run import RowView, RunMeta, RunReport, TraceView, row_views, trace_view

NOTHING_RECORDED = RunMeta()
Place = tuple[str, int]
Originals = Callable[[frozenset[str]], Iterable[Trace]]
Mode = Literal["auto", "single", "directory"]


@dataclass(frozen=True, slots=True)
class RunStream:
    """What `RunReport` tells of a run, its traces read anew each time they are asked for.

    `below` and `sources` say where each trace was read: below the folder of all, and as file and
    1-based line (0 for a whole file). `selected` are the traces that were to be evaluated.
    `originals` reads the traces of these ids again, in any order; None where they are not to be
    had. `mode` is how many files a page may be, `worst` how many traces it lists (None: all), and
    `name` the file name of the report.
    """

    scorecard: Scorecard
    rows: tuple[RowView, ...]
    read: Callable[[], Iterable[MatrixVerdictFile]]
    meta: RunMeta = NOTHING_RECORDED
    folder: str = ""
    below: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, Place] = field(default_factory=dict)
    selected: Iterable[str] = ()
    subject: SubjectRecord | None = None
    originals: Originals | None = None
    mode: Mode = "auto"
    worst: int | None = None
    name: str = "report.html"

    @property
    def lines(self) -> Iterator[MatrixVerdictFile]:
        """The verdict lines in plan order."""
        return iter(self.read())

    @property
    def traces(self) -> Iterator[TraceView]:
        """The trajectories in plan order, without their steps."""
        for at, line in enumerate(self.read()):
            yield trace_view(at, line, self.rows, self.below)


Run = RunReport | RunStream
"""A run as a report of rows takes it, held or read."""


def stream(
    scorecard: Scorecard,
    read: Callable[[], Iterable[MatrixVerdictFile]],
    *,
    suite: Sequence[Criterion] = (),
    manifest: Iterable[ManifestEntry] = (),
    meta: RunMeta = NOTHING_RECORDED,
    subject: SubjectRecord | None = None,
    originals: Originals | None = None,
) -> RunStream:
    """Return a run as a stream; `read` yields its verdict lines from the first on at each call."""
    entries = Manifest.of(manifest)
    folder, below = placed(entries)
    return RunStream(
        scorecard,
        row_views(scorecard, suite),
        read,
        meta,
        folder,
        below,
        ByTrace(entries, lambda entry: (entry.file, entry.line)),
        Selected(entries),
        subject,
        originals,
    )
