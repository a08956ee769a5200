"""The traces that a plain command's `--traces` names."""

from __future__ import annotations

from collections.abc import Iterator

from helix.app import console
from helix.app.plugins import registry
from helix.app.tried import traces_path
from helix.errors import TraceError, UsageError
from helix.ingest import Input
from helix.model.trace import Trace
from helix.reports.visible import visible


def traces(path: str, format: str = "auto") -> Iterator[Trace]:
    """Yield every trace that can be read; what cannot is told on standard error."""
    try:
        source = Input.open(traces_path(path), format, registry())
        for item in source:
            if isinstance(item, Trace):
                yield item
            else:
                line = f" line {item.line}" if item.line else ""
                console.tell(visible(f"{item.file}{line}: {item.reason}"))
    except TraceError as error:
        raise UsageError(str(error).replace("subject.traces", "--traces")) from None


def ids(path: str) -> list[str]:
    """Return the ids of all traces."""
    return [trace.id for trace in traces(path)]
