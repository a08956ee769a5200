"""What a judge is given of one trace: the residual rows, the steps, the words (METHOD 30, 31)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import msgspec

from helix.model.verdict import AgentStep, BlockKind, Result, Shape


class SubjectProfile(Shape, frozen=True, kw_only=True):
    """Who the subject is, as a judge is told (METHOD 31)."""

    identity: str
    """The agent's name."""
    provenance: Literal["given", "reconstructed"]
    """given where the configuration says more of it than its name."""
    purpose: str | None = None
    """What it is for; null is not known."""
    tools: tuple[str, ...] = ()
    """The tools it is known to have, else those that the trace calls."""
    skill: str | None = None
    """The skill that it follows; null is not known."""
    scope: str | None = None
    """What it may do; null is not known."""
    harness: str = "unknown"
    """What runs it; `unknown` where it cannot be known."""
    version: str | None = None
    """Its version; null is not known."""
    inferred_fields: tuple[str, ...] = ()
    """Which of these fields come from the trace and not from the configuration."""
    events: tuple[str, ...] = ()
    """Kinds of event that it answers."""
    routes: tuple[str, ...] = ()
    """Kinds of request that it is declared to know."""


class Example(Shape, frozen=True, kw_only=True):
    """One decided example of a row, from the TRAIN split (METHOD 39)."""

    text: str
    """The part of that trace that the row needs."""
    critique: str
    result: Result
    """What it was decided to be."""


class PacketRow(Shape, frozen=True, kw_only=True):
    """One row that code left to the judge (METHOD 21)."""

    criterion_id: str
    statement: str
    severity: str
    """CRIT, HIGH, MED, LOW, or unset."""
    pass_condition: str = ""
    fail_condition: str = ""
    dimension: str | None = None
    """What is to be right: what is done, with which data, or how it is done."""
    judge_inputs: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    code_finding: str | None = None
    """What the code half of a hybrid row found; null in other rows."""
    examples: tuple[Example, ...] = ()
    """Examples of decided traces; never one of this trace."""


def cut_mark(left_out: int) -> str:
    """Return what stands in a text where characters of it are not shown."""
    return f"\n[{left_out} characters not shown]\n"


class Leaf(Shape, frozen=True, kw_only=True):
    """One citable value of a trace."""

    obs: str
    """The id of the observation, message or trace that owns it."""
    path: str
    """The field path inside the owner."""
    text: str
    """The text as shown; empty where `sameAs` shows it."""
    elided: int = 0
    """Characters of it that are not shown."""
    same_as: str | None = None
    """The id of the message that shows this very text; null where it is shown here."""

    @property
    def pieces(self) -> tuple[str, ...]:
        """The text in the pieces that are left of it."""
        return tuple(self.text.split(cut_mark(self.elided))) if self.elided else (self.text,)


class ShownMessage(Shape, frozen=True, kw_only=True):
    """One message as shown."""

    id: str
    """Its id."""
    seq: int
    """Its place in the order of all that was said and done."""
    role: str
    """Who spoke."""
    text: str
    """The text as shown."""
    control: bool = False
    """Whether it only poses as a turn."""
    elided: int = 0
    """Characters of it that are not shown."""


class ShownStep(Shape, frozen=True, kw_only=True):
    """One observation as shown."""

    step: AgentStep
    """What was done, as a fact."""
    seq: int
    """Its place in the order of all that was said and done."""
    name: str
    """The tool's name, or what else was done."""
    type: str
    """TOOL for a tool call, else the kind of observation."""
    leaves: tuple[Leaf, ...] = ()
    """Its citable values."""
    left_out: int = 0
    """Values of it that are not shown."""
    flags: tuple[str, ...] = ()
    """What is odd about its recording."""


class Premise(Shape, frozen=True, kw_only=True):
    """A ratified norm or a fact that a person verified; citable, inside the prompt (METHOD 30)."""

    id: str
    """What it is cited by."""
    text: str
    """The norm or fact."""
    kind: BlockKind
    """Whether it settles a fact, a norm, or what the row covers."""
    by: str
    """Who vouches for it."""
    at: str
    """When, as it was given (ISO 8601)."""
    criterion_id: str | None = None
    """The row that it is about; null is any."""
    trace_id: str | None = None
    """The trace that it is about; null is any."""

    def concerns(self, criteria: Collection[str], trace_id: str) -> bool:
        """Whether it is about one of these criteria, in this trace."""
        of_row = self.criterion_id is None or self.criterion_id in criteria
        return of_row and self.trace_id in (None, trace_id)


class Coverage(Shape, frozen=True, kw_only=True):
    """The read-coverage ledger: of observations and messages, how many were shown."""

    shown: int
    """Shown whole."""
    truncated: int
    """Shown in part."""
    elided: int
    """Not shown for want of room."""
    outside: int = 0
    """Not shown because no row needs them."""
    unread: tuple[str, ...] = ()
    """The ids of those cut or left out for want of room."""


class MatrixPacket(Shape, frozen=True, kw_only=True):
    """One trace as data for the judge: never a label, never a code row (METHOD 30)."""

    subject: str
    """The agent's name."""
    trajectory_id: str
    """The id of the trace."""
    criteria: tuple[PacketRow, ...]
    """The rows that are asked about."""
    trajectory: tuple[ShownStep, ...]
    """What was done, in order."""
    transcript: tuple[ShownMessage, ...]
    """What was said, in order."""
    input: tuple[Leaf, ...] = ()
    """The values of the trace's input."""
    output: tuple[Leaf, ...] = ()
    """The values of the trace's output, and of what else it records of itself."""
    route: str | None = None
    subject_profile: SubjectProfile | None = None
    """Who the agent is; null where nothing is told."""
    premises: tuple[Premise, ...] = ()
    """What people vouch for."""
    coverage: Coverage = Coverage(shown=0, truncated=0, elided=0)
    """How much of the trace is shown."""
    pin: dict[str, Any] = msgspec.field(default_factory=dict)
    """`model` and `temperature` that are asked."""
