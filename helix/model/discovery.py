"""What discover finds: determinations of traces, what was detected in them, categories (49–52)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix.model.verdict import Assumption, BlockedBy, Cause, Ref, Result, Shape

DISCOVERY_SCHEMA_VERSION = "1.0"
Lens = Literal["off-path", "tool-output-failure", "missing-context"]
Route = Literal["eval", "fix", "infrastructure"]


def _version() -> str:
    return DISCOVERY_SCHEMA_VERSION


class Detection(Shape, frozen=True, kw_only=True):
    """One thing that went wrong in a trace: its lens, its kind in a few words, what shows it.

    `detector` names the detector of code that found it, null where a determiner did. `root` is
    False for what another detection of the same trace led to; `led_by` is then that one's kind.
    """

    lens: Lens
    kind: str
    text: str
    refs: tuple[Ref, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    detector: str | None = None
    root: bool = True
    led_by: str | None = None
    route: Route = "eval"


class DeterminedBy(Shape, frozen=True, kw_only=True):
    """Who was asked under what, and digests of prompt and reply; null is not recorded (42)."""

    model: str
    temperature: float | None
    identity: str
    reviewer: str | None = None
    returned_model: str | None = None
    effective: dict[str, Any] | None = None
    prompt: str | None = None
    reply: str | None = None


class Determination(Shape, frozen=True, kw_only=True):
    """One line of determinations.jsonl: what became of one trace, judged by no criterion (49).

    `whole` is False where the trace was too large and only input, tool sequence and end were read.
    Every ref resolves; what was said and not shown is in `assumptions`, and is no fact.
    `evidence_pointer` is the id of the message or step where the root is. `warnings` say what was
    asked again and what was taken back.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    trace_id: str
    trace_digest: str
    verdict: Result
    goal: str | None = None
    happened: str | None = None
    outcome: str | None = None
    root_cause: str | None = None
    refs: tuple[Ref, ...] = ()
    evidence_pointer: str | None = None
    detections: tuple[Detection, ...] = ()
    critique: str | None = None
    assumptions: tuple[Assumption, ...] = ()
    whole: bool = True
    produced_by: Literal["code", "determiner"] = "code"
    cause: Cause | None = None
    blocked_by: BlockedBy | None = None
    determined_by: DeterminedBy | None = None
    warnings: tuple[str, ...] = ()


class Category(Shape, frozen=True, kw_only=True):
    """An emergent kind of failure: k of n examined traces show it (METHOD 52)."""

    name: str
    definition: str
    lens: Lens
    klass: Literal["code", "judge"] = msgspec.field(name="class")
    fix_or_eval: Route
    example_trace_ids: tuple[str, ...]
    k: int
    n: int
    detectors: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class MinedRow(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """One criterion that discover proposes, its category, and the traces that show its check.

    `fires` and `passes` are of this batch; `held_out` says whether the same check was found without
    the traces of its fixtures. A judge's row has neither.
    """

    criterion_id: str
    category: str
    statement: str
    klass: str = msgspec.field(name="class")
    severity: str
    grounding: str
    k: int
    n: int
    detector: str | None
    fires: tuple[str, ...]
    passes: tuple[str, ...]
    held_out: bool


class Triage(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """How many traces were found, taken, examined, set aside as cut off, and how they ended.

    `read` counts those that a determiner answered for; the rest code alone looked at.
    """

    found: int
    unreadable: int
    sampled: int
    cut_off: int
    examined: int
    read: int
    pending: int
    fail: int
    passed: int
    uncertain: int


class DiscoveryRecord(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """discovery.json: all that the report of a discovery needs beside its lines (METHOD 85).

    Null is not recorded. `detectors` counts the checks that each detector of code suggested.
    `usage` is the only part that depends on how it went.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    subject: str
    purpose: str | None
    tools: tuple[str, ...]
    routes: dict[str, int]
    judge: str | None
    model: str | None
    preferences: tuple[str, ...]
    sampling: dict[str, Any]
    triage: Triage
    categories: tuple[Category, ...]
    folded: tuple[Category, ...]
    symptoms: tuple[str, ...]
    criteria: tuple[MinedRow, ...]
    window: int
    saturated_at: int | None
    stopped: bool
    usage: dict[str, Any] | None
    detectors: dict[str, int] | None = None
