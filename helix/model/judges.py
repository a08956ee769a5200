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
    """One line of criterion-verdicts.jsonl: a row's verdict on a trace, and who gave it under what.

    `temperature` null is a model that refused 0; `judgeModel` null is a cell that code decided.
    """

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
    text: str
    critique: str
    result: Result


class JudgeSpec(Shape, frozen=True, kw_only=True):
    """One line of judges.jsonl: the fixed prompt of one row, and what could go into it.

    `user` holds `{recording}` where the slice of a trace stands and `{nonce}` where its fence's
    does; `prompt_digest` is that of `system` and `user`. `candidates` are verdicts of this run
    that could become `few_shot`, once a person has looked at them.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    criterion_id: str
    criterion_digest: str
    statement: str
    pass_condition: str = ""
    fail_condition: str = ""
    judge_inputs: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    few_shot: tuple[Shot, ...] = ()
    candidates: tuple[Shot, ...] = ()
    prompt_digest: str
    system: str
    user: str
