"""A check: a pure function of a trace and its parameters, which cites the place that decided."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from helix.checks import CheckContext, Decision, Params, cite
from helix.fieldpath import parse
from helix.model.select import select
from helix.model.trace import Trace
from helix.registry import Check

ANSWER = parse("output.response")


class BrevityParams(Params):
    """Parameters of the check; a key that is not among them is an error when a suite loads."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"words": 50}]})
    words: int = Field(ge=1, description="The most words that the answer may have.")


def decide(trace: Trace, params: BrevityParams, context: CheckContext) -> Decision:
    """Whether the answer has at most so many words.

    | the answer | decision |
    |---|---|
    | has at most `words` words | pass |
    | has more | fail |
    | is not there, or holds no word | na |
    """
    place = next(iter(select(trace, ANSWER)), None)
    words = place.value.split() if place and isinstance(place.value, str) else []
    if place is None or not words:
        return Decision("na", "there is no answer")
    detail, refs = f"the answer has {len(words)} words", (cite(trace, place),)
    if len(words) <= params.words:
        return Decision("pass", detail, refs)
    return Decision("fail", detail, refs)


CHECK = Check("example-brevity", "1", BrevityParams, decide)
