"""The traces that a plain command's `--traces` names."""

from __future__ import annotations

from collections.abc import Iterator

from helix.app import console
from helix.app.plugins import registry
from helix.app.tried import open_traces
from helix.model.trace import Trace
from helix.reports.visible import visible


def traces(path: str, format: str = "auto") -> Iterator[Trace]:
    """Yield every trace that can be read; what cannot is told on standard error."""
    for item in open_traces(path, format, registry()):
        if isinstance(item, Trace):
            yield item
        else:
            line = f" line {item.line}" if item.line else ""
            console.tell(visible(f"{item.file}{line}: {item.reason}"))


def ids(path: str) -> list[str]:
    """Return the ids of all traces."""
    return [trace.id for trace in traces(path)]
