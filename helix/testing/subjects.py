"""The conformance suite of subject runners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helix.errors import ConfigError
from helix.ingest import Input
from helix.model.config import ImproveConfig
from helix.model.trace import Trace
from helix.registry import Case, Fresh, SubjectContext, SubjectRunner, load
from helix.testing import sample
from helix.testing.contract import require, require_item

CASES = (Case("a/b", {"id": "a/b", "n": 1}), Case("ü", {"id": "ü", "n": 2}))


def subject_conforms(
    item: SubjectRunner,
    section: Mapping[str, Any] | None = None,
    cases: Sequence[Case] = CASES,
    *,
    waits: bool = False,
    format: str = "auto",
) -> None:
    """Require that a runner accounts for every case, and leaves the traces that are there.

    `section` is the section `improve` of a configuration, and `format` that of the traces. With
    `waits` the runner only says what is to be recorded; without, every case must have a trace.
    """
    who = require_item("subjects", item)
    config = ImproveConfig.model_validate({**(section or {}), "subject": item.name})
    if item.ready is not None:
        try:
            item.ready(config, "subject")
        except ConfigError as error:
            raise AssertionError(f"{who} is not ready with these settings: {error}") from None
    with sample.folder() as scratch:
        context = SubjectContext(config, 1, 1, scratch / "traces", scratch / "aside", format)
        for made in (context.folder, context.aside):
            made.mkdir()
        fresh = item.run(cases, context)
        _accounts(who, cases, fresh)
        if waits:
            require(fresh.waiting and fresh.told, f"{who} must say which cases wait, and for what")
            return
        require(not fresh.lost and not fresh.waiting, f"{who} must run every case (lost: {fresh})")
        ids = [_one_trace(who, case, file, format).id for case, file in fresh.files.items()]
        require(
            len(set(ids)) == len(ids),
            f"{who}: the trace of each case must bear an id of its own (got {ids})",
        )
        before = _written(fresh)
        second = item.run(cases, context)
        require(
            _written(second) == before,
            f"{who}: asked again, it must leave the traces that are there as they are",
        )


def _written(fresh: Fresh) -> dict[str, tuple[Path, int, bytes]]:
    """Return of each case its file, when that was written, and what it holds."""
    return {
        case: (file, file.stat().st_mtime_ns, file.read_bytes())
        for case, file in fresh.files.items()
    }


def _accounts(who: str, cases: Sequence[Case], fresh: Fresh) -> None:
    require(isinstance(fresh, Fresh), f"{who}: run must return Fresh (got {type(fresh).__name__})")
    told = [*fresh.files, *fresh.lost, *fresh.waiting]
    wanted = sorted(case.id for case in cases)
    require(
        sorted(told) == wanted,
        f"{who}: each case must have a file, be lost or wait ({wanted}; got {sorted(told)})",
    )


def _one_trace(who: str, case: str, file: Path, format: str) -> Trace:
    require(file.is_file(), f"{who}: the trace of case {case!r} is not there")
    found = list(Input.open(str(file), format, load([])))
    if len(found) == 1 and isinstance(found[0], Trace):
        return found[0]
    raise AssertionError(f"{who}: the file of case {case!r} must hold one trace (got {len(found)})")
