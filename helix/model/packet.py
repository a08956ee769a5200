"""What a judge is given of one trace: the residual rows, the steps, the words (METHOD 30, 31)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import msgspec

from helix.model.verdict import AgentStep, BlockKind, Result, Shape


class SubjectProfile(Shape, frozen=True, kw_only=True):
    """Who the subject is; what was inferred is named, an unknown harness stays `unknown`."""

    identity: str
    provenance: Literal["given", "reconstructed"]
    purpose: str | None = None
    tools: tuple[str, ...] = ()
    skill: str | None = None
    scope: str | None = None
    harness: str = "unknown"
    version: str | None = None
    inferred_fields: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()


class Example(Shape, frozen=True, kw_only=True):
    """One decided example of a row, from the TRAIN split (METHOD 39)."""

    text: str
    critique: str
    result: Result


class PacketRow(Shape, frozen=True, kw_only=True):
    """One row that code left to the judge; a hybrid brings what code found (METHOD 21)."""

    criterion_id: str
    statement: str
    severity: str
    pass_condition: str = ""
    fail_condition: str = ""
    dimension: str | None = None
    judge_inputs: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    code_finding: str | None = None
    examples: tuple[Example, ...] = ()


def cut_mark(left_out: int) -> str:
    """Return what stands in a text where characters of it are not shown."""
    return f"\n[{left_out} characters not shown]\n"


class Leaf(Shape, frozen=True, kw_only=True):
    """One citable value: owner id, path inside it, text as shown.

    `same_as` is the id of the message that shows this very text, which is then left out here.
    """

    obs: str
    path: str
    text: str
    elided: int = 0
    same_as: str | None = None

    @property
    def pieces(self) -> tuple[str, ...]:
        """The text in the pieces that are left of it."""
        return tuple(self.text.split(cut_mark(self.elided))) if self.elided else (self.text,)


class ShownMessage(Shape, frozen=True, kw_only=True):
    """One message as shown."""

    id: str
    seq: int
    role: str
    text: str
    control: bool = False
    elided: int = 0


class ShownStep(Shape, frozen=True, kw_only=True):
    """One observation as shown: the fact and its citable leaves, `left_out` of them not shown."""

    step: AgentStep
    seq: int
    name: str
    type: str
    leaves: tuple[Leaf, ...] = ()
    left_out: int = 0
    flags: tuple[str, ...] = ()


class Premise(Shape, frozen=True, kw_only=True):
    """A ratified norm or a fact that a person verified; citable, inside the prompt (METHOD 30).

    It is shown where the criterion and the trace that it is about are; null is any.
    """

    id: str
    text: str
    kind: BlockKind
    by: str
    at: str
    criterion_id: str | None = None
    trace_id: str | None = None

    def concerns(self, criteria: Collection[str], trace_id: str) -> bool:
        """Whether it is about one of these criteria, in this trace."""
        of_row = self.criterion_id is None or self.criterion_id in criteria
        return of_row and self.trace_id in (None, trace_id)


class Coverage(Shape, frozen=True, kw_only=True):
    """The read-coverage ledger: observations and messages shown whole, cut, left out, by count.

    `outside` counts those that the slice of the rows leaves out; `unread` names the others.
    """

    shown: int
    truncated: int
    elided: int
    outside: int = 0
    unread: tuple[str, ...] = ()


class MatrixPacket(Shape, frozen=True, kw_only=True):
    """One trace as data for the judge: never a label, never a code row (METHOD 30)."""

    subject: str
    trajectory_id: str
    criteria: tuple[PacketRow, ...]
    trajectory: tuple[ShownStep, ...]
    transcript: tuple[ShownMessage, ...]
    input: tuple[Leaf, ...] = ()
    output: tuple[Leaf, ...] = ()
    route: str | None = None
    subject_profile: SubjectProfile | None = None
    premises: tuple[Premise, ...] = ()
    coverage: Coverage = Coverage(shown=0, truncated=0, elided=0)
    pin: dict[str, Any] = msgspec.field(default_factory=dict)
