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
    """One thing that went wrong in a trace (METHOD 50, 51)."""

    lens: Lens
    """What went wrong: the path taken, a tool's result, or context that was missing."""
    kind: str
    """What it is, in a few words that other traces share."""
    text: str
    """What happened here, in a sentence."""
    refs: tuple[Ref, ...] = ()
    """What shows it."""
    assumptions: tuple[Assumption, ...] = ()
    """What it takes for granted without evidence."""
    detector: str | None = None
    """The detector of code that found it; null where a determiner did."""
    root: bool = True
    """False for what another detection of the same trace led to."""
    led_by: str | None = None
    """The kind of that one; null for a root."""
    route: Route = "eval"
    """Where it goes: a criterion, a fix, or infrastructure."""


class DeterminedBy(Shape, frozen=True, kw_only=True):
    """Who was asked, and under what; null is not recorded (METHOD 42)."""

    model: str
    """The model that was asked."""
    temperature: float | None
    identity: str
    reviewer: str | None = None
    """Who answered, as the reply says; null where it does not."""
    returned_model: str | None = None
    effective: dict[str, Any] | None = None
    prompt: str | None = None
    """The digest of the prompt."""
    reply: str | None = None
    """The digest of the reply."""


class Determination(Shape, frozen=True, kw_only=True):
    """One line of determinations.jsonl: what became of one trace, by no criterion (METHOD 49)."""

    schema_version: str = msgspec.field(default_factory=_version)
    trace_id: str
    trace_digest: str
    verdict: Result
    """Whether the run went well."""
    goal: str | None = None
    """What was wanted; null where it is not told."""
    happened: str | None = None
    """What was done; null where it is not told."""
    outcome: str | None = None
    """How it ended; null where it is not told."""
    root_cause: str | None = None
    """Why it failed; null where it did not, or nobody knows."""
    refs: tuple[Ref, ...] = ()
    """What shows it; all of it resolves."""
    evidence_pointer: str | None = None
    """The id of the message or step where the root is; null for none."""
    detections: tuple[Detection, ...] = ()
    """What went wrong in it."""
    critique: str | None = None
    """Why, in words; null where nobody said."""
    assumptions: tuple[Assumption, ...] = ()
    """What was said and not shown, and is no fact."""
    whole: bool = True
    """False where only input, tool sequence and end were read, the trace being too large."""
    produced_by: Literal["code", "determiner"] = "code"
    """Whether code alone looked, or a determiner read it."""
    cause: Cause | None = None
    blocked_by: BlockedBy | None = None
    determined_by: DeterminedBy | None = None
    """Who read it; null where code alone looked."""
    warnings: tuple[str, ...] = ()
    """What was asked again, and what was taken back."""


class Category(Shape, frozen=True, kw_only=True):
    """An emergent kind of failure (METHOD 52)."""

    name: str
    """What it is called."""
    definition: str
    """What it is, in a sentence."""
    lens: Lens
    """What went wrong: the path taken, a tool's result, or context that was missing."""
    klass: Literal["code", "judge"] = msgspec.field(name="class")
    """Whether code can see it, or a judge has to."""
    fix_or_eval: Route
    """Where it goes: a criterion, a fix, or infrastructure."""
    example_trace_ids: tuple[str, ...]
    """Traces that show it, at most 5."""
    k: int
    """Traces that show it."""
    n: int
    """Traces that were examined for it."""
    detectors: tuple[str, ...] = ()
    """The detectors of code that see it."""
    kinds: tuple[str, ...] = ()
    """The kinds of detection that it is made of."""


class MinedRow(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """One criterion that discover proposes."""

    criterion_id: str
    category: str
    """The category that it is about."""
    statement: str
    klass: str = msgspec.field(name="class")
    """Who decides it: code or judge."""
    severity: str
    """CRIT, HIGH, MED or LOW, by how often it was seen."""
    grounding: str
    """What it rests on; observed fires on broken traces and on no healthy one."""
    k: int
    """Traces that show it."""
    n: int
    """Traces that were examined for it."""
    detector: str | None
    """The detector that suggested its check; null for a judge's row."""
    fires: tuple[str, ...]
    """Traces of this batch that its check fails; none for a judge's row."""
    passes: tuple[str, ...]
    """Traces of this batch that its check passes; none for a judge's row."""
    held_out: bool
    """Whether the same check was found without the traces of its fixtures."""


class Triage(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """How many traces there were, and how they were determined."""

    found: int
    """Traces that could be read."""
    unreadable: int
    """Files and records that could not be read."""
    sampled: int
    """Traces that were taken."""
    cut_off: int
    """Those set aside as cut off or empty."""
    examined: int
    """Those that were looked at."""
    read: int
    """Those that a determiner answered for; code alone looked at the rest."""
    pending: int
    """Those whose answer is waited for."""
    fail: int
    """Those that went wrong."""
    passed: int
    """Those that went well."""
    uncertain: int
    """Those of which that is not known."""


class DiscoveryRecord(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """discovery.json: all that the report of a discovery needs beside its lines (METHOD 85)."""

    schema_version: str = msgspec.field(default_factory=_version)
    subject: str
    """The agent's name."""
    purpose: str | None
    """What it is for; null is not known."""
    tools: tuple[str, ...]
    """The tools that the traces call."""
    routes: dict[str, int]
    """Traces by the kind of request."""
    judge: str | None
    """The backend that determined; null where code alone looked."""
    model: str | None
    """The model that determined; null where code alone looked."""
    preferences: tuple[str, ...]
    """Memory entries that the determiner was given, by name."""
    sampling: dict[str, Any]
    """How traces were chosen: the section `sampling`."""
    triage: Triage
    """How many traces there were, and how they were determined."""
    categories: tuple[Category, ...]
    """The kinds of failure, the most frequent first."""
    folded: tuple[Category, ...]
    """Those beyond `discover.max_categories`."""
    symptoms: tuple[str, ...]
    """Kinds that only ever followed from another one."""
    criteria: tuple[MinedRow, ...]
    """The criteria that are proposed."""
    window: int
    """How many traces without a new kind end the search."""
    saturated_at: int | None
    """After how many traces that was so; null where it never was."""
    stopped: bool
    """Whether asking stopped there."""
    usage: dict[str, Any] | None
    """What it cost, which depends on how it went; null where nobody was asked."""
    detectors: dict[str, int] | None = None
    """Checks that each detector suggested; null where not recorded."""
