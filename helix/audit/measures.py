"""What each dimension of the determinism scorecard reads from a run (METHOD 70).

A measure returns a JSON value, or None where the run does not hold what it reads. Sets that grow
with the run are told by their size and a digest. Fields that a run of another program lacks are
missing and no error; a file that is damaged is an ArtifactError.
"""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Final, TypeVar

import msgspec

from helix.errors import ArtifactError
from helix.fieldpath import MISSING, parse_relative, resolve
from helix.model.canonical import canonical_bytes
from helix.model.lines import decode_line
from helix.runs import RunFiles
from helix.stats import median_interval

CAPS: Final = ("budget", "timeout", "unread")
"""The causes that a limit leaves: money, calls or tokens; seconds; what a judge can read."""

_GATES: Final = {"fail": 0, "incomplete": 1}
_RESULTS: Final = {"fail": 0, "uncertain": 1}
_SEVERITIES: Final = {"CRIT": 0, "HIGH": 1, "MED": 2, "LOW": 3}
T = TypeVar("T")


class _Part(msgspec.Struct, rename="camel"):
    """The part of a line that is measured; what else stands there is skipped."""


class _Trace(_Part):
    id: str | None = None
    route: str | None = None
    selected: bool = True
    latency_ms: float | None = None


class _Code(_Part):
    result: str | None = None


class _Cell(_Part):
    criterion_id: str | None = None
    cause: str | None = None
    produced_by: str = "judge"
    code: _Code | None = None


class _Provenance(_Part):
    prompt: str | None = None


class _Line(_Part):
    trajectory_id: str | None = None
    replicate: int = 0
    dense_map: dict[str, str] | None = None
    verdicts: tuple[_Cell, ...] = ()
    not_applicable: tuple[_Cell, ...] = ()
    not_adjudicated: dict[str, str] = {}
    provenance: _Provenance | None = None


class _Localize(_Part):
    locus: str | None = None


class _Failure(_Part):
    trace_id: str | None = None
    kind: str | None = None
    criterion_id: str | None = None
    localize: _Localize | None = None


def latency(run: RunFiles) -> Any:
    """Return the median of what the chosen traces took, with its interval at 95 %."""
    entries = _rows(run, "manifest.jsonl", _Trace)
    took = [e.latency_ms for e in entries or () if e.selected and e.latency_ms is not None]
    if not took:
        return None
    return {"n": len(took), "p50": statistics.median(took), "interval": median_interval(took)}


def same_latency(a: Any, b: Any) -> bool:
    """Whether each median lies within the other's interval; without one they must be equal."""
    return _within(a, b) and _within(b, a)


def _within(one: Any, other: Any) -> bool:
    low, high = other["interval"] or (other["p50"], other["p50"])
    return bool(low <= one["p50"] <= high)


def render_crashes(run: RunFiles) -> Any:
    """Return the reports that could not be made."""
    return _at(run, "runmeta.json", "reports.crashed")


def gate_completeness(run: RunFiles) -> Any:
    """Return the gaps, and the gating criteria that hold a run back without being named."""
    gaps = _at(run, "scorecard.json", "gate.gaps")
    if gaps is None:
        return None
    failing = _at(run, "scorecard.json", "gate.failing") or []
    rows = _at(run, "scorecard.json", "criteria")
    if rows is None:
        return {"gaps": gaps, "unnamed": None}
    told = {*failing, *(gap.partition(": ")[0] for gap in gaps)}
    held = [r.get("criterionId") for r in rows if r.get("gate") in _GATES]
    return {"gaps": gaps, "unnamed": [name for name in held if name not in told]}


def sample_size(run: RunFiles) -> Any:
    """Return how many traces were chosen and evaluated, and how many judged them."""
    traces = _at(run, "scorecard.json", "traces")
    asked = [_at(run, "scorecard.json", f"{role}.backend") for role in ("judge", "verifier")]
    if traces is None and asked == [None, None]:
        return None
    judges = sum(backend not in (None, "none") for backend in asked)
    return {"traces": traces, "judges": judges}


def primary_signal(run: RunFiles) -> Any:
    """Return the run verdict, and the criterion that stands worst."""
    verdict = _at(run, "scorecard.json", "runVerdict")
    rows = _at(run, "scorecard.json", "criteria") or []
    if verdict is None and not rows:
        return None
    held = [row for row in rows if row.get("result") in _RESULTS or row.get("gate") in _GATES]
    worst = min(held, key=_standing)["criterionId"] if held else None
    return {"runVerdict": verdict, "worstCriterion": worst}


def _standing(row: dict[str, Any]) -> tuple[int, int, int, Fraction]:
    share = row.get("prevalence") or {"k": 0, "n": 0}
    return (
        _GATES.get(str(row.get("gate")), len(_GATES)),
        _RESULTS.get(str(row.get("result")), len(_RESULTS)),
        _SEVERITIES.get(str(row.get("severity")), len(_SEVERITIES)),
        -Fraction(share["k"], share["n"]) if share["n"] else Fraction(0),
    )


def finding_ids(run: RunFiles) -> Any:
    """Return the set of findings: what failed, in which trace."""
    found = _rows(run, "failures.jsonl", _Failure)
    if found is None:
        return None
    return _set(sorted({(f.kind or "", f.trace_id or "", f.criterion_id or "") for f in found}))


def remedy_ranking(run: RunFiles) -> Any:
    """Return what to mend in the order of how many failures it accounts for, with its locus."""
    found = _rows(run, "failures.jsonl", _Failure)
    if found is None:
        return None
    counts = Counter(
        (f.criterion_id or f.kind or "", (f.localize and f.localize.locus) or "") for f in found
    )
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"criterion": name, "locus": locus or None, "n": n} for (name, locus), n in ranked]


def slice_plan(run: RunFiles) -> Any:
    """Return what was put before the judge of each trace: the digests of its packets."""
    lines = _rows(run, "verdicts.jsonl", _Line)
    asked = [
        (line.trajectory_id, line.replicate, line.provenance.prompt)
        for line in lines or ()
        if line.provenance is not None and line.provenance.prompt is not None
    ]
    return _set(asked) if asked else None


def sampling_buckets(run: RunFiles) -> Any:
    """Return how many traces of each route were found and chosen, and which."""
    entries = _rows(run, "manifest.jsonl", _Trace)
    if entries is None:
        return None
    found: Counter[str] = Counter()
    chosen: list[tuple[str, str]] = []
    for entry in entries:
        found[entry.route or ""] += 1
        if entry.selected:
            chosen.append((entry.route or "", entry.id or ""))
    taken = Counter(route for route, _ in chosen)
    buckets = {route: {"k": taken[route], "n": n} for route, n in sorted(found.items())}
    return {"buckets": buckets, "chosen": _set(chosen)}


def coverage_confidence(run: RunFiles) -> Any:
    """Return how much was adjudicated, how much of it is grounded, and how the judge stands."""
    cells = _at(run, "scorecard.json", "cells")
    grounded = _at(run, "scorecard.json", "grounded")
    validation = _at(run, "scorecard.json", "validation.status")
    if cells is None and grounded is None and validation is None:
        return None
    done = None
    if isinstance(cells, dict) and {"total", "notAdjudicated"} <= cells.keys():
        done = {"k": cells["total"] - cells["notAdjudicated"], "n": cells["total"]}
    rows = _at(run, "scorecard.json", "criteria")
    coverage = None
    if rows is not None:
        measured = {r["criterionId"]: (r.get("standing") or {}).get("coverage") for r in rows}
        coverage = {name: share for name, share in measured.items() if share is not None}
    return {
        "adjudicated": done,
        "grounded": grounded,
        "validation": validation,
        "coverage": coverage,
    }


def code_signals(run: RunFiles) -> Any:
    """Return what code said of each cell that it had a part in."""
    lines = _rows(run, "verdicts.jsonl", _Line)
    if lines is None:
        return None
    found = [
        (line.trajectory_id, line.replicate, cell.criterion_id, state)
        for line in lines
        for cell in (*line.verdicts, *line.not_applicable)
        if (state := _by_code(line, cell)) is not None
    ]
    return _set(found) if found else None


def _by_code(line: _Line, cell: _Cell) -> str | None:
    if cell.code is not None:
        return cell.code.result
    if cell.produced_by != "code":
        return None
    return (line.dense_map or {}).get(cell.criterion_id or "")


def entity_identity(run: RunFiles) -> Any:
    """Return the subject's profile: what it is called, and the digest of all that is known."""
    profile = _at(run, "subject.json", "")
    if not isinstance(profile, dict):
        return None
    return {"identity": profile.get("identity"), "profile": _digest([profile])}


def first_cap(run: RunFiles) -> Any:
    """Return which limit was reached first in plan order, and how many cells each one cost."""
    lines = _rows(run, "verdicts.jsonl", _Line)
    if lines is None:
        return None
    tripped: Counter[str] = Counter()
    first = None
    for line in lines:
        for criterion, cause in _causes(line):
            tripped[cause] += 1
            first = first or {"cap": cause, "trace": line.trajectory_id, "criterion": criterion}
    return {"first": first, "cells": dict(sorted(tripped.items()))}


def _causes(line: _Line) -> Iterator[tuple[str | None, str]]:
    causes = dict(line.not_adjudicated)
    causes |= {c.criterion_id: c.cause for c in line.verdicts if c.criterion_id and c.cause}
    for criterion in line.dense_map or causes:
        if causes.get(criterion) in CAPS:
            yield criterion, causes[criterion]


def awareness(run: RunFiles) -> Any:
    """Return the memory entries that the run knew, with the digest of each."""
    return _at(run, "runmeta.json", "awareness.memory")


def heatmap_cells(run: RunFiles) -> Any:
    """Return how many cells stand how, and the digest of every one of them."""
    lines = _rows(run, "verdicts.jsonl", _Line)
    if lines is None:
        return None
    states: Counter[str] = Counter()
    total = hashlib.sha256()
    for line in lines:
        states.update((line.dense_map or {}).values())
        total.update(canonical_bytes([line.trajectory_id, line.replicate, line.dense_map]) + b"\n")
    return {"states": dict(sorted(states.items())), "digest": total.hexdigest()}


def _set(found: list[Any]) -> dict[str, Any]:
    return {"n": len(found), "digest": _digest(found)}


def _digest(values: Iterable[Any]) -> str:
    total = hashlib.sha256()
    for value in values:
        total.update(canonical_bytes(value) + b"\n")
    return total.hexdigest()


def _at(run: RunFiles, artifact: str, path: str) -> Any:
    """Return what stands at a path of a document; None where it or the document is missing."""
    file = run.folder / artifact
    if not file.exists():
        return None
    try:
        found = decode_line(file.read_bytes(), Any)
    except ValueError as error:
        raise ArtifactError(f"{artifact} is damaged: {error}") from None
    except OSError as error:
        raise ArtifactError(f"{artifact} cannot be read: {error.strerror}") from None
    value = resolve(found, parse_relative(path).steps) if path else found
    return None if value is MISSING else value


def _rows(run: RunFiles, artifact: str, kind: type[T]) -> Iterator[T] | None:
    """Return what is measured of each line; None where there is no such file."""
    file = run.folder / artifact
    return _lines(run, artifact, kind) if file.exists() else None


def _lines(run: RunFiles, artifact: str, kind: type[T]) -> Iterator[T]:
    try:
        with open(run.folder / artifact, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield decode_line(line, kind)
                except ValueError as error:
                    where = f"{artifact}, line {number}"
                    raise ArtifactError(f"{where} is damaged: {error}") from None
    except OSError as error:
        raise ArtifactError(f"{artifact} cannot be read: {error.strerror}") from None
