"""A report: one line per trace, how it stands and its id.

A renderer projects what it is given and adds nothing. Ids and texts come from traces, which may be
hostile: `visible` spells out whatever could act on a reader's screen.
"""

from __future__ import annotations

from collections.abc import Iterator

from helix.registry import Renderer
from helix.reports.stream import RunStream
from helix.reports.visible import one_line


def render(run: RunStream) -> Iterator[bytes]:
    """The gate, and a line for each trace: how it stands, and its id."""
    yield f"gate: {run.scorecard.run_verdict}\n".encode()
    for trace in run.traces:
        yield f"{trace.standing:<10}  {one_line(trace.name)}\n".encode()


RENDERER = Renderer("example", "1", "example.txt", render, stream=True)
