"""What the improve loop writes down: a line for each step, and what it came to (METHOD 76)."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.scorecard import Ratio, Whole
from helix.model.verdict import Shape

IMPROVEMENT_SCHEMA_VERSION = "1.0"
Target = Literal["agentspec", "impl"]
StepName = Literal[
    "began", "evaluated", "told-apart", "scored", "calibrated", "requested", "answered",
    "unchanged", "changed", "ended",
]  # fmt: skip
Ending = Literal[
    "full-green", "clock", "swings", "streak", "undecided", "rejected", "traces", "verdicts",
    "response",
]  # fmt: skip
"""Why the loop ended, or what it waits for: traces, verdicts, a response."""


def _version() -> str:
    return IMPROVEMENT_SCHEMA_VERSION


class SubjectMark(Whole, frozen=True, kw_only=True):
    """What tells one state of the subject from another; null is not known."""

    files: str | None = None
    """The digest of what `improve.subject_files` names."""
    version: str | None = None
    """Its version, as somebody names it."""


class Lost(Whole, frozen=True, kw_only=True):
    """A case that has no answer in a repeat."""

    case: str
    """The id of the case."""
    repeat: int
    """Which repeat, from 1."""
    reason: str
    """Why."""


class Score(Whole, frozen=True, kw_only=True):
    """What a swing came to."""

    flapping: int
    """Cases that vary by more than `improve.max_variance` allows."""
    agent: tuple[str, ...]
    """Those of them that vary because the agent does."""
    judge: tuple[str, ...]
    """Those that vary because the judge does."""
    unclear: tuple[str, ...]
    """Those of which nobody can tell."""
    under_sampled: tuple[str, ...]
    """Cases that have too few answers."""
    failing: int
    """Cells with evidence, which a request can be made of."""
    accuracy: Ratio | None
    """Cells that pass, of all without na; null where it was not measured."""
    gap: Ratio | None
    """What the accuracy lacks to `improve.target`; null where it was not measured."""
    lost: tuple[Lost, ...] = ()
    """Cases without an answer."""


class Step(Shape, frozen=True, kw_only=True):
    """One line of swings.jsonl: one thing that was done, never changed and never taken back."""

    schema_version: str = msgspec.field(default_factory=_version)
    step: StepName
    """What was done."""
    swing: int
    """In which round, from 1."""
    elapsed_s: float
    """Seconds at work so far, over all calls of the command."""
    plan: str | None = None
    """The digest of what decides, where the loop began; else null."""
    subject: SubjectMark | None = None
    """The state of the subject, where it began or changed; else null."""
    repeat: int | None = None
    """Which repeat was evaluated, from 1; else null."""
    settled: bool | None = None
    """Whether nothing of that repeat is left to be done; else null."""
    score: Score | None = None
    """What the swing came to, where it was scored; else null."""
    criteria: tuple[str, ...] = ()
    """The rows that went to calibration."""
    request: str | None = None
    """The id of the change request; else null."""
    target: Target | None = None
    """What it asks to be amended; else null."""
    cases: int | None = None
    """How many cells it is about; else null."""
    decision: Literal["amended", "rejected"] | None = None
    """What became of it, where it was answered; else null."""
    note: str | None = None
    """What the engineer says; null for nothing."""
    why: Ending | None = None
    """Why the loop ended or what it waits for; else null."""
    exit: int | None = None
    """The exit code that it ended with; else null."""


class Asked(Whole, frozen=True, kw_only=True):
    """One change request of a swing, and what came of it."""

    request: str
    """Its id."""
    target: Target
    """What it asks to be amended."""
    cases: int
    """How many cells it is about."""
    decision: Literal["amended", "rejected"] | None = None
    """What became of it; null is no answer yet."""
    unchanged: bool = False
    """Whether the subject was said to be amended and was not."""
    note: str | None = None
    """What the engineer says; null for nothing."""


class Swing(Whole, frozen=True, kw_only=True):
    """One round of the loop."""

    swing: int
    """Its number, from 1."""
    score: Score | None
    """What it came to; null where it was not measured."""
    asked: tuple[Asked, ...] = ()
    """What was asked for."""
    calibrated: tuple[str, ...] = ()
    """The rows that went to calibration."""


class Improvement(Whole, frozen=True, kw_only=True):
    """improve.json: how the loop stands (METHOD 76)."""

    schema_version: str = msgspec.field(default_factory=_version)
    id: str
    """The loop's name: `improve.id`."""
    ending: Ending
    """Why it ended, or what it waits for."""
    exit: int
    """The exit code."""
    elapsed_s: float
    """Seconds at work, over all calls of the command."""
    flapping: int | None
    """Cases that flap in the last measured swing; null where none was measured."""
    gap: Ratio | None
    """What its accuracy lacks to the target; null where it was not measured."""
    swings: tuple[Swing, ...]
    """Round by round."""
