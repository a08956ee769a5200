"""Is what a source says still there: the texts of JSON, and those that no path of a trace holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reading_of import read_paths

from helix.model.select import ADDRESSABLE
from helix.model.trace import Trace

CITABLE = 8


def texts(value: Any, *, keys: bool = False) -> Iterator[str]:
    """Yield every text in a value; the type of a thing is no evidence."""
    if isinstance(value, dict):
        for key, item in value.items():
            if keys:
                yield key
            if key != "type" or not isinstance(item, str):
                yield from texts(item, keys=keys)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item, keys=keys)
    elif isinstance(value, str):
        yield value


def lost(source: Any, traces: Iterable[Trace]) -> set[str]:
    """Return the texts of a source that stand in no value and no key of a path of the traces."""
    held: set[str] = set()
    for trace in traces:
        held.add(trace.id)
        for root in ADDRESSABLE:
            held.update(texts(trace.part(root), keys=True))
    wanted = {text for text in texts(source) if len(text) >= CITABLE} - held
    everything = "\0".join(held)
    return {text for text in wanted if text not in everything}


def values(path: Path) -> list[Any]:
    """Return the JSON values of a file, a document or lines; what is no JSON is left out."""
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def sample(shared: Path, name: str) -> tuple[dict[str, Any], Trace]:
    """Return a recorded answer of a provider, as its JSON and as the one trace that is read."""
    path = shared / "traces" / "provider_api_items" / name
    traces, failures = read_paths(str(path))
    assert failures == []
    assert len(traces) == 1
    return values(path)[0], traces[0]
