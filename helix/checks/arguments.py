"""The arguments of calls: what is known of them, when two are the same, and argument-schema."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Annotated, Any

from pydantic import Field

from helix.checks.conditions import ANY, calls
from helix.checks.evidence import nonfinite, quote
from helix.checks.fields import schema_faults
from helix.checks.outcome import (
    ON_MISSING,
    OnMissing,
    Reading,
    all_of,
    capped,
    missing,
    no_call,
    unknown_tools,
)
from helix.checks.parameters import Name, Params, SchemaParam, example
from helix.model.select import Place
from helix.model.trace import Observation, Trace
from helix.model.verdict import Cause
from helix.registry import Check, CheckContext, Decision


class ArgumentSchemaParams(Params):
    """Parameters of argument-schema."""

    model_config = example(
        schemas={"book": {"required": ["guests"], "properties": {"guests": {"maximum": 8}}}}
    )
    schemas: Annotated[dict[Name, SchemaParam], Field(min_length=1)] = Field(
        description="A JSON Schema for each tool, without remote references; `*`: for the others."
    )
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)


def argument_schema(trace: Trace, params: ArgumentSchemaParams, context: CheckContext) -> Decision:
    """Whether the arguments of every call conform to the JSON Schema of its tool.

    | arguments of each call | decision |
    |---|---|
    | conform; a call without arguments has `{}` | pass |
    | violate the schema, also by their type; text that is no JSON is text | fail |
    | not recorded | uncertain (missing-field; `on_missing`) |
    | redacted, or hold a non-finite number | uncertain (not-decidable) |
    | no call of the tools | na, or uncertain (unknown-tool) |
    """
    found = calls(trace, tuple(params.schemas))
    if not found:
        return no_call(tuple(params.schemas), trace, context)
    decision = all_of([_conforms(trace, call, params) for call in found])
    return capped(decision, unknown_tools(params.schemas, trace, context), ("pass", "na"))


def place_of(call: Observation) -> Place:
    """Return the place of a call's arguments."""
    return Place(call.id, "input", call.input, call.seq)


def hidden(call: Observation) -> Cause | None:
    """Return why the arguments of a call cannot be compared, or None where they can."""
    if call.input is None:
        return "missing-field"
    return "not-decidable" if "redacted" in call.flags or nonfinite(call.input) else None


def fingerprint(value: Any) -> Hashable:
    """Return a key that two JSON values share where they are equal: `1` is `1.0`, not `true`."""
    if isinstance(value, dict):
        return ("object", frozenset((key, fingerprint(below)) for key, below in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(fingerprint, value)))
    return (isinstance(value, bool), value)


def _conforms(trace: Trace, call: Observation, params: ArgumentSchemaParams) -> Reading:
    place = place_of(call)
    where = f"input of {call.id} ({call.name})"
    if call.input is None:
        return missing(trace, place, params.on_missing, f"{where} was not recorded")
    if "redacted" in call.flags:
        text = f"{where} was redacted"
        return Reading("uncertain", text, (quote(trace, place),), "not-decidable")
    schema = params.schemas.get(call.name) or params.schemas[ANY]
    faults = schema_faults(trace, place, schema)
    if faults:
        return faults[0]
    return Reading("pass", f"{where} conforms to the schema", (quote(trace, place),))


CHECKS = (Check("argument-schema", "1", ArgumentSchemaParams, argument_schema),)
