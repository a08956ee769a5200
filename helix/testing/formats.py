"""The conformance suite of trace formats."""

from __future__ import annotations

import json
import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from helix.errors import HelixError
from helix.ingest import Input
from helix.model.manifest import LoadFailure
from helix.model.trace import FLAGS, Message, Observation, Trace
from helix.registry import Format
from helix.testing.contract import require, require_item
from helix.testing.sample import folder, registry_with, trace_of

_STRANGE: tuple[Any, ...] = (
    None,
    True,
    3,
    "text",
    [],
    {},
    [{}],
    [[]],
    {"id": 1},
    [None],
    {"a": {}},
)


def format_conforms(item: Format, files: Iterable[bytes], foreign: Iterable[bytes] = ()) -> None:
    """Require that a format reads its files, recognises them alone, and survives damaged ones.

    `files` are the contents of whole files, each in this format and without a fault; `foreign` are
    those of files that it must not take for its own.
    """
    who = require_item("formats", item)
    for value in _STRANGE:
        found = item.detect(value)
        require(found is None, f"{who} must not recognise {json.dumps(value)} (got {found})")
    examples = list(files)
    require(examples, f"{who}: needs at least one file as an example")
    for data in examples:
        _reads(who, item, data)
        _survives(who, item, data)
    for data in foreign:
        _is_not_taken(who, item, data)


def _reads(who: str, item: Format, data: bytes) -> None:
    with folder() as scratch:
        file = scratch / "traces"
        file.write_bytes(data)
        source = _opened(item, file, all_formats=True)
        try:
            first, second = list(source), list(source)
        except HelixError as error:
            raise AssertionError(f"{who} does not read an example: {error}") from None
    for bad in (one for one in first if isinstance(one, LoadFailure)):
        raise AssertionError(f"{who}: line {bad.line} of an example is not read: {bad.reason}")
    traces = [one for one in first if isinstance(one, Trace)]
    again = [one for one in second if isinstance(one, Trace)]
    require(traces, f"{who}: an example holds no trace")
    ids = [trace.id for trace in traces]
    require(len(set(ids)) == len(ids), f"{who}: two traces of one file have the same id ({ids})")
    for trace, other in zip(traces, again, strict=True):
        require(
            trace.to_dict() == other.to_dict() and trace.source == other.source,
            f"{who}: trace {trace.id} is another when the file is read again",
        )
        _is_sound(who, item, trace, str(file))


def _is_sound(who: str, item: Format, trace: Trace, file: str) -> None:
    told = f"{who}: trace {trace.id!r}"
    require(isinstance(trace.id, str) and trace.id, f"{told} must have an id, as text")
    require(
        trace.source.format == item.name,
        f"{told}: source.format must be {item.name} (got {trace.source.format}); "
        "another format may have recognised the file: raise Match.specificity",
    )
    digest = trace.source.digest
    require(
        len(digest) == 64 and set(digest) <= set(string.hexdigits),
        f"{told}: source.digest must be helix.model.canonical.source_digest (got {digest!r})",
    )
    require(trace.source.file == file, f"{told}: source.file must be the record's file")
    parts: list[Message | Observation] = [*trace.transcript, *trace.observations]
    numbers = [part.seq for part in parts]
    require(
        all(isinstance(seq, int) for seq in numbers) and len(set(numbers)) == len(numbers),
        f"{told}: one seq must run through messages and observations (got {sorted(numbers)})",
    )
    _has_unique_ids(told, trace)
    strange = set(trace.all_flags) - set(FLAGS)
    require(not strange, f"{told}: flags must be among {', '.join(FLAGS)} (got {strange})")
    _goes_round(told, trace)


def _has_unique_ids(told: str, trace: Trace) -> None:
    names = [*(o.id for o in trace.observations), *(m.id for m in trace.transcript)]
    twice = sorted({name for name in names if names.count(name) > 1})
    require(not twice, f"{told}: ids of messages and observations must be unique (got {twice})")


def _goes_round(told: str, trace: Trace) -> None:
    """Require that Helix's own format can hold the trace and gives it back."""
    whole = trace.to_dict()
    try:
        text = json.dumps(whole)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{told} holds a value that is no JSON ({error})") from None
    back = trace_of(json.loads(text)).to_dict()
    changed = [key for key in whole if whole[key] != back.get(key)]
    require(not changed, f"{told}: {', '.join(changed)} cannot be written as helix and read back")


def _survives(who: str, item: Format, data: bytes) -> None:
    """Require that damage is a failure or an error that says so, and never a crash."""
    for harmed in (data[: len(data) // 2], data[: len(data) // 2] + b"\0{", data + b"\xff"):
        with folder() as scratch:
            file = scratch / "traces"
            file.write_bytes(harmed)
            try:
                for _ in _opened(item, file, all_formats=False):
                    pass
            except HelixError:
                continue
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                raise AssertionError(f"{who}: a damaged file crashes it ({told})") from error


def _is_not_taken(who: str, item: Format, data: bytes) -> None:
    with folder() as scratch:
        file = scratch / "traces"
        file.write_bytes(data)
        try:
            traces = [one for one in _opened(item, file, all_formats=True) if _by(item, one)]
        except HelixError:
            return
    require(not traces, f"{who} takes a foreign file for its own ({data[:60]!r} …)")


def _by(item: Format, one: Trace | LoadFailure) -> bool:
    return isinstance(one, Trace) and one.source.format == item.name


def _opened(item: Format, file: Path, *, all_formats: bool) -> Input:
    named = "auto" if all_formats else item.name
    return Input.open(str(file), named, registry_with("formats", item))
