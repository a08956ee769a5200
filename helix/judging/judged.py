"""What a judge left behind for one trace, whatever the axis on which it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from helix.judging.reply import Answer
from helix.model.request import NoReply, Reply
from helix.model.verdict import JudgeStep, NotApplicable, Verdict, Verifying


@dataclass(frozen=True, slots=True)
class Judged:
    """Verdicts and na entries by row, and of each row that has neither, why (METHOD 40).

    `answer` holds the walk where one reply held it; `walk` are the steps of the verifier. Of
    several replies the digests are taken together, and all models and parameters are named.
    """

    verdicts: dict[str, Verdict]
    not_applicable: dict[str, NotApplicable]
    missing: dict[str, NoReply]
    prompt_digest: str
    reply_digest: str | None = None
    answer: Answer | None = None
    decisions: tuple[dict[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    returned_model: str | None = None
    reviewers: tuple[str, ...] = ()
    effective: dict[str, Any] | tuple[dict[str, Any] | None, ...] | None = None
    verifying: Verifying | None = None
    walk: tuple[JudgeStep, ...] = field(default=())


def by_the_pin(reply: Reply | NoReply, models: tuple[str, ...], section: str) -> Reply | NoReply:
    """Return the reply, or none where its model is not among `models`; none named allows any.

    A reply by another model is never read (METHOD 42). `section` is judge or verifier.
    """
    if isinstance(reply, NoReply) or not models:
        return reply
    if reply.returned_model is None or reply.returned_model in models:
        return reply
    return NoReply(
        "judge-error",
        f"the answer is by the model '{reply.returned_model}', the pin is '{models[0]}': if that "
        f"is the same model, add {section}.model_aliases=['{reply.returned_model}']",
    )
