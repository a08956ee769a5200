"""Survey: every trace is looked at once before anything is spent (DESIGN “look, then ask”).

Identity, digest, route, flags and fidelity of each trace come from here, and with them the
collisions, the sample, the shard and the cost estimate.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from helix.errors import ConfigError, SelectionError, TraceError, did_you_mean
from helix.fieldpath import parse
from helix.files import atomic_writer
from helix.grounding import assess
from helix.ingest import Input
from helix.model.config import Config, SubjectConfig, Waiver
from helix.model.lines import encode_line
from helix.model.manifest import Load, LoadFailure, Manifest, ManifestEntry, Survey, located
from helix.model.select import select
from helix.model.trace import Observation, Trace
from helix.planning import matched
from helix.registry import Registry

NAMED = 5
LONGEST_KIND = 100
"""A longer text is no kind of event but one of its own."""
LONGEST_MS = 10**12
Watch = Callable[[Iterable[Trace | LoadFailure]], Iterable[Trace | LoadFailure]]


def opened(subject: SubjectConfig, registry: Registry, watch: Watch = iter) -> tuple[Input, Survey]:
    """Open the traces that a subject names and look at them; `watch` sees each item pass.

    TraceError where none is named, or one cannot be read.
    """
    if not subject.traces:
        raise TraceError(
            "subject.traces must name a file, folder, glob or - (got nothing): "
            "add subject.traces=TRACES.jsonl"
        )
    try:
        source = Input.open(subject.traces, subject.format, registry)
        return source, look(watch(source), len(source.files), subject)
    except OSError as error:
        at = error.filename or subject.traces
        raise TraceError(f"subject.traces: {at} cannot be read: {error.strerror}") from error


def look(source: Iterable[Trace | LoadFailure], files: int, subject: SubjectConfig) -> Survey:
    """Read everything once and return one small entry per trace, none of them chosen yet."""
    entries = Manifest()
    failures: list[LoadFailure] = []
    tools: Counter[str] = Counter()
    events: Counter[str] = Counter()
    roles: set[str] = set()
    for item in source:
        if isinstance(item, LoadFailure):
            failures.append(item)
            continue
        tools.update({o.name for o in item.tools()})
        events.update(_event(item))
        roles.update(m.role for m in item.transcript if not m.control)
        entries.append(_entry(len(entries), routed(item, subject), subject))
    _refuse_collisions(entries)
    load = Load(files=files, traces=len(entries), failures=tuple(failures))
    return Survey(
        entries=entries,
        load=load,
        tools=tuple(sorted(tools)),
        roles=tuple(sorted(roles)),
        calling=dict(sorted(tools.items())),
        events=dict(sorted(events.items())),
    )


def routed(trace: Trace, subject: SubjectConfig) -> Trace:
    """Give a trace without a route the one that the subject's `route_field` holds."""
    if trace.route is None and subject.route_field is not None:
        places = select(trace, parse(subject.route_field))
        found = [p.value for p in places if isinstance(p.value, str) and p.value]
        if len(found) == 1:
            trace.route = found[0]
    return trace


def changed(file: str) -> TraceError:
    """Return the error of an input that is no longer what was surveyed."""
    return TraceError(f"{file} changed while it was being read; type the command again")


def choose(
    survey: Survey, config: Config, sampler: Any, failed: frozenset[str] | None = None
) -> Survey:
    """Return the survey with the traces marked that this run evaluates.

    Picking by hand comes first, then the sample, then this shard's share; `failed` are the traces
    that `select.failed_from` names.
    """
    entries = _picked(survey.entries, config.select.traces, failed)
    sampling = config.sampling
    sampled = frozenset(sampler.choose(entries, sampling.n, sampling.seed))
    shard = config.shard
    chosen = (
        entry.ordinal
        for entry in entries
        if entry.ordinal in sampled and share(entry.id, shard.count) == shard.index
    )
    return msgspec.structs.replace(survey, entries=survey.entries.choosing(chosen))


def check_waivers(survey: Survey, waivers: Iterable[Waiver]) -> None:
    """Refuse a waiver for a trace that is not in the input: it would vouch for nothing."""
    about = [waiver.trace for waiver in waivers if waiver.trace is not None]
    known = {entry.id for entry in survey.entries} if about else set()
    for trace in about:
        if trace not in known:
            hint = did_you_mean(trace, known)
            raise ConfigError(f"gate.waivers: no trace has the id '{trace}'{hint}")


def share(trace_id: str, count: int) -> int:
    """Return the shard of a trace: the same on every machine, whatever else is in the input."""
    data = hashlib.sha256(trace_id.encode("utf-8", "backslashreplace")).digest()
    return int.from_bytes(data[:8], "big") % count


def write_manifest(folder: Path, survey: Survey) -> None:
    """Write manifest.jsonl, in the plan's order."""
    with atomic_writer(folder / "manifest.jsonl") as file:
        for entry in survey.entries:
            file.write(encode_line(entry) + b"\n")


def _entry(ordinal: int, trace: Trace, subject: SubjectConfig) -> ManifestEntry:
    return ManifestEntry(
        ordinal=ordinal,
        id=trace.id,
        digest=trace.source.digest,
        file=trace.source.file,
        line=trace.source.line,
        format=trace.source.format,
        route=trace.route,
        task=trace.task,
        flags=trace.all_flags,
        fidelity=assess(trace, subject.truncation_flags, subject.truncation_fields),
        observations=len(trace.observations),
        selected=False,
        failures=sum(map(declares_error, trace.observations)),
        latency_ms=_latency(trace),
    )


def _latency(trace: Trace) -> float | None:
    """Return the milliseconds that a trace says it took; None for what is no such number."""
    took = trace.usage.get("latencyMs")
    if not isinstance(took, int | float) or isinstance(took, bool):
        return None
    return took if 0 <= took < LONGEST_MS else None


def declares_error(step: Observation) -> bool:
    """Whether a step declares an error beside its result, which is not decoded for it."""
    said = {(word or "").casefold() for word in (step.status, step.level)}
    return step.error is not None or "error" in said


def _event(trace: Trace) -> list[str]:
    """Return the kind of event that a trace answers, where its input says so."""
    event = trace.input.get("event") if isinstance(trace.input, dict) else None
    if isinstance(event, dict):
        event = next((event[key] for key in ("type", "kind", "name") if key in event), None)
    return [event] if isinstance(event, str) and 0 < len(event) <= LONGEST_KIND else []


def _some(places: Sequence[str]) -> str:
    more = f" and {len(places) - NAMED:,} more" if len(places) > NAMED else ""
    return ", ".join(places[:NAMED]) + more


def _refuse_collisions(entries: Sequence[ManifestEntry]) -> None:
    # Hashes are a fraction of the ids, which are only looked at where two are equal.
    hashes = sorted(hash(entry.id) for entry in entries)
    if all(one != two for one, two in itertools.pairwise(hashes)):
        return
    places: dict[str, list[str]] = {}
    for entry in entries:
        places.setdefault(entry.id, []).append(located(entry.file, entry.line))
    twice = {trace: found for trace, found in places.items() if len(found) > 1}
    if not twice:
        return
    lines = [f"  '{trace}' in {_some(found)}" for trace, found in twice.items()]
    more = f"\n  and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
    raise TraceError(
        "trace ids must be unique; these stand more than once:\n"
        + "\n".join(lines[:NAMED])
        + more
        + "\nRemove the copies, or give the traces ids of their own."
    )


def _picked(
    entries: Sequence[ManifestEntry], wanted: Sequence[str], failed: frozenset[str] | None
) -> Sequence[ManifestEntry]:
    if not wanted and failed is None:
        return entries
    known = {entry.id for entry in entries}
    named = matched("select.traces: no trace has the id", wanted, known)
    if failed is not None and not failed & known:
        raise SelectionError(
            "select.failed_from: none of the traces that were undecided or failing there is in "
            "subject.traces"
        )
    picked = [entry for entry in entries if not wanted or entry.id in named]
    return [entry for entry in picked if failed is None or entry.id in failed]
