"""Resolving a ref: does the cited text stand where it is said to stand? (METHOD 4, 5, 11)

Nothing else counts: text that stands elsewhere leaves the ref dead, and the note says where it
really is. Whitespace is folded on both sides; an ellipsis is a character like any other.

What a judge cites is held to more than what a check computes. The bookkeeping of a trace (ids,
order, times, types, roles, flags) is there whatever happened, so it is weak; the name of a call
is evidence that the tool was called. A scan counts only over a channel declared complete that is
there: an empty list was looked at, a field that is missing held nothing that could be looked at.
Whether a pattern asks the right thing is for the verifier; here it must compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import re2

from helix.errors import PathError
from helix.fieldpath import MISSING, parse, parse_relative
from helix.grounding.texts import Leaf, fold, leaves, stands_in
from helix.model.canonical import Same
from helix.model.section import between
from helix.model.select import at_address, owner, select
from helix.model.tokens import as_text, occurrences
from helix.model.trace import Observation, Trace
from helix.model.verdict import MAX_CITED, MatchKind, Ref, Scan

SHORT = 8
COMMON = 3
BOOKKEEPING = frozenset(
    {"control", "endTime", "flags", "id", "observationIds", "parentId", "role", "seq", "startTime",
     "type"}
)  # fmt: skip


def resolve_refs(
    trace: Trace, refs: Sequence[Ref], *, complete_channels: Sequence[str] | None = None
) -> tuple[Ref, ...]:
    """Return the refs with `match` set, and `note` where one is dead.

    `complete_channels` bounds what an absence may be read from; None lets any channel count,
    which is for code checks alone.
    """
    found = tuple(_resolve(trace, ref, complete_channels) for ref in refs)
    return found if complete_channels is None else tuple(_weighed(trace, ref) for ref in found)


def dead(refs: Sequence[Ref]) -> list[Ref]:
    """Return the refs that do not resolve."""
    return [ref for ref in refs if ref.match == "dead"]


def all_weak(refs: Sequence[Ref]) -> bool:
    """Whether there are refs and none is more than weak."""
    return bool(refs) and all(ref.match in ("weak", "dead") for ref in refs)


def repeat_scan(trace: Trace, scan: Scan) -> Scan:
    """Look again: how many values the channel holds, and how many match the pattern."""
    path = parse(scan.channel)
    part = between(trace, scan.first, scan.last)
    places = [p for p in select(part, path) if not p.missing]
    pattern = _compile(scan.pattern)
    matches = sum(1 for p in places if pattern.search(_searchable(p.value)) is not None)
    return msgspec.structs.replace(scan, items=len(places), matches=matches)


def _resolve(trace: Trace, ref: Ref, channels: Sequence[str] | None) -> Ref:
    if ref.scan is not None:
        return _resolve_scan(trace, ref, ref.scan, channels)
    if ref.value is None:
        return _dead(ref, "an absence needs a scan of the channel that could have held it")
    if len(ref.value) > MAX_CITED:
        return _dead(ref, f"cites {len(ref.value)} characters; at most {MAX_CITED} are allowed")
    try:
        value = at_address(trace, ref.obs, ref.path)
    except PathError as error:
        return _dead(ref, str(error))
    if value == ref.value and ref.value.strip():
        return _found(ref, "exact")
    cited = fold(ref.value)
    if not cited:
        return _dead(ref, "cites nothing")
    if value is MISSING:
        return _dead(ref, _where_else(trace, ref, cited))
    kind = _compare(cited, value, _source_text(trace, ref, value))
    if kind == "dead":
        return _dead(ref, _where_else(trace, ref, cited))
    if kind == "contains" and (len(cited) < SHORT or _common(trace, cited)):
        kind = "weak"
    return _found(ref, kind)


def _weighed(trace: Trace, ref: Ref) -> Ref:
    """Return a judge's ref, weak where it rests on bookkeeping or on a whole holder of it."""
    if ref.match not in ("exact", "contains"):
        return ref
    steps = parse_relative(ref.path).steps
    if ref.obs == trace.id:
        if steps[0] not in ("observations", "transcript"):
            return ref
        steps = steps[2:]
    if not steps or steps[0] in BOOKKEEPING:
        return _found(ref, "weak")
    return ref


def _compare(cited: str, value: Any, source: str | None) -> MatchKind:
    if isinstance(value, str):
        field = fold(value)
        if cited == field:
            return "exact"
        return "contains" if stands_in(cited, field) else "dead"
    if cited == fold(as_text(value)):
        return "exact"
    if source is not None and stands_in(cited, fold(source)):
        return "contains"
    return "dead"


def _resolve_scan(trace: Trace, ref: Ref, scan: Scan, channels: Sequence[str] | None) -> Ref:
    if owner(trace, ref.obs) is None:
        return _dead(ref, f"nothing in the trace has the id '{ref.obs}'")
    if channels is not None and scan.channel not in channels:
        listed = ", ".join(channels) or "none"
        return _dead(ref, f"channel '{scan.channel}' is not declared complete (declared: {listed})")
    if channels is not None and (scan.first, scan.last) != (None, None):
        return _dead(ref, "a scan of a part of the trace does not show that the rest holds nothing")
    if ref.value is not None:
        return _dead(ref, "an absence cites no value; cite what stands there in a ref of its own")
    try:
        again = repeat_scan(trace, scan)
    except (PathError, re2.error, UnicodeError) as error:
        return _dead(ref, f"the scan cannot be repeated: {error}")
    if again.matches != 0:
        return _dead(ref, f"the scan found {again.matches} matches of {again.items} items")
    if again.items != scan.items:
        return _dead(ref, f"the scan looked at {again.items} items, not {scan.items}")
    if channels is not None and not again.items and _leads_nowhere(trace, scan.channel):
        return _dead(ref, f"channel '{scan.channel}' is not there, so nothing was looked at")
    return msgspec.structs.replace(ref, match="scan", note=None)


def _leads_nowhere(trace: Trace, channel: str) -> bool:
    return any(place.missing for place in select(trace, parse(channel)))


def _source_text(trace: Trace, ref: Ref, value: Any) -> str | None:
    """Return the text that a decoded value was spelled in."""
    found = owner(trace, ref.obs) if isinstance(value, dict | list) else None
    if isinstance(found, Observation):
        return {"input": found.input_text, "output": found.output_text}.get(ref.path)
    return None


def _common(trace: Trace, cited: str) -> bool:
    count = 0
    for leaf, text in _folded(Same(trace)):
        if cited not in text:
            continue
        if isinstance(leaf.value, str):
            count += sum(1 for _ in occurrences(cited, text))
        elif cited == text:
            count += 1
        if count > COMMON:
            return True
    return False


@lru_cache(maxsize=4)
def _folded(same: Same) -> tuple[tuple[Leaf, str], ...]:
    """Return every leaf of a trace with its text as it is compared: a reply may hold many refs."""
    found = ((leaf, leaf.text) for leaf in leaves(same.value))
    return tuple((leaf, fold(t) if isinstance(leaf.value, str) else t) for leaf, t in found)


def _where_else(trace: Trace, ref: Ref, cited: str) -> str:
    if owner(trace, ref.obs) is None:
        lead = f"nothing in the trace has the id '{ref.obs}'"
    elif at_address(trace, ref.obs, ref.path) is MISSING:
        lead = f"'{ref.obs}' has no field '{ref.path}'"
    else:
        lead = "the text does not stand there"
        there = at_address(trace, ref.obs, ref.path)
        if cited and isinstance(there, str) and cited in fold(there):
            return "the text stands there only inside of longer words; cite whole words"
    for leaf, text in _folded(Same(trace)):
        if cited in text and isinstance(leaf.value, str) and stands_in(cited, text):
            return f"{lead}; it stands in {leaf.obs} {leaf.path}"
    return f"{lead}, nor anywhere else in the trace"


def _found(ref: Ref, kind: MatchKind) -> Ref:
    return Ref(obs=ref.obs, path=ref.path, value=ref.value, match=kind)


def _dead(ref: Ref, note: str) -> Ref:
    return msgspec.structs.replace(ref, match="dead", note=note)


def _searchable(value: Any) -> str:
    return as_text(value).encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=256)
def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)
