"""What `build-evals` leaves: one judge per row as it is asked, and one verdict per row and trace.

METHOD 2, 38, 39.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.verdict import Result, Shape, Verdict

JUDGES_SCHEMA_VERSION = "1.0"


def _version() -> str:
    return JUDGES_SCHEMA_VERSION


class CriterionVerdict(Verdict, frozen=True, kw_only=True):
    """One line of criterion-verdicts.jsonl: a row's verdict on a trace, and who gave it."""

    schema_version: str = msgspec.field(default_factory=_version)
    trace_id: str
    replicate: int = 0
    judge_model: str | None = None
    temperature: float | None = None
    judge_identity: str | None = None


class Shot(Shape, frozen=True, kw_only=True):
    """One decided example, of a trace in the TRAIN split (METHOD 39)."""

    trace_id: str
    split: Literal["train"] = msgspec.field(default_factory=lambda: "train")
    """train, always."""
    text: str
    """The part of that trace that the row needs."""
    critique: str
    result: Result
    """What it was decided to be."""


class JudgeSpec(Shape, frozen=True, kw_only=True):
    """One line of judges.jsonl: how one row is asked."""

    schema_version: str = msgspec.field(default_factory=_version)
    criterion_id: str
    criterion_digest: str
    """SHA-256 of what the row says."""
    statement: str
    pass_condition: str = ""
    fail_condition: str = ""
    judge_inputs: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    few_shot: tuple[Shot, ...] = ()
    """Decided examples that are in the prompt."""
    candidates: tuple[Shot, ...] = ()
    """Verdicts of this run that could be, once a person has looked at them."""
    prompt_digest: str
    """SHA-256 of `system` and `user`."""
    system: str
    """The rubric."""
    user: str
    """The question; `{recording}` stands for the part of a trace, `{nonce}` for its fence's
    word."""
