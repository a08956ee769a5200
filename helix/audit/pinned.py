"""Whether what was asked of a judge took effect: each parameter of the pin, in each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from helix.audit.localizing import Dropped
from helix.runs import object_of

_PARAMETERS: Final = ("temperature", "seed", "maxTokens")


def dropped(run: Path, execution: str) -> Iterator[Dropped]:
    """Yield each parameter that a run asked for and that some answer was not given under.

    Another value in its place is as good as none (METHOD 42). An answer that recorded no
    parameters says nothing of them.
    """
    card = object_of(run / "scorecard.json")
    for role in ("judge", "verifier"):
        record = card.get(role)
        if not isinstance(record, dict):
            continue
        for name, asked in _asked(record):
            for effective in (_at(answer, name) for answer in _answers(record)):
                if effective != asked:
                    yield Dropped(role, name, asked, effective, execution)
                    break


def _asked(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    requested = record.get("requested")
    if not isinstance(requested, dict):
        return
    for name in _PARAMETERS:
        if requested.get(name) is not None:
            yield name, requested[name]
    extra = requested.get("extra")
    for name, value in extra.items() if isinstance(extra, dict) else ():
        yield f"extra.{name}", value


def _answers(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    effective = record.get("effective")
    several = effective if isinstance(effective, list) else (effective,)
    yield from (one for one in several if isinstance(one, dict))


def _at(found: Mapping[str, Any], name: str) -> Any:
    outer, _, inner = name.partition(".")
    value = found.get(outer)
    return value.get(inner) if inner and isinstance(value, dict) else (None if inner else value)
