"""Primitives that read fields: presence, string-equality, format-validity, schema-conformance.

All four quantify alike (METHOD 26, DESIGN “The trace”): every value that `field` reaches must
hold; with `@any` one is enough; `@first` and `@last` keep one call. No call of a known tool is
na, of an unknown tool uncertain; a `[*]` over an empty list is na.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import Field, model_validator

from helix.checks.conditions import equal
from helix.checks.evidence import (
    MOST_REFS,
    gap,
    look,
    nonfinite,
    quote,
    shown,
    spot,
    standing_there,
)
from helix.checks.outcome import (
    ON_MISSING,
    OnMissing,
    Reading,
    Why,
    all_of,
    any_of,
    cited,
    missing,
    no_call,
)
from helix.checks.parameters import (
    Name,
    Params,
    PathParam,
    PatternParam,
    Scalar,
    SchemaParam,
    example,
)
from helix.fieldpath import FieldPath, parse_relative, render_steps, resolve
from helix.model.select import Place, matching, select
from helix.model.trace import Observation, Trace
from helix.registry import Check, CheckContext, Decision

FIELD = "What is read: all that it reaches must hold, or one with `@any`."
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_AMBIGUOUS = "the order of the calls is not known"


class PresenceParams(Params):
    """Parameters of presence."""

    model_config = example(field="output.response")
    field: PathParam = Field(description=FIELD)
    on_missing: OnMissing = Field(default="fail", description=ON_MISSING)


class EqualityParams(Params):
    """Parameters of string-equality; `expected` may be a text, a number, true, false or null."""

    model_config = example(field="obs:pay.input.currency", expected="EUR")
    field: PathParam = Field(description=FIELD)
    expected: Scalar = Field(description="The value it must equal.")
    case_insensitive: bool = Field(default=False, description="Whether case is ignored.")
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)


class FormatParams(Params):
    """Parameters of format-validity; `pattern` is searched for anywhere in the text."""

    model_config = example(field="obs:send_mail.input.to", pattern="^[^@ ]+@[^@ ]+$")
    field: PathParam = Field(description=FIELD)
    pattern: PatternParam = Field(description="What must be found in the text.")
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)


class SchemaParams(Params):
    """Parameters of schema-conformance: required keys, a JSON Schema, or both."""

    model_config = example(field="obs:book.input", required_keys=["date", "guests"])
    field: PathParam = Field(description=FIELD)
    required_keys: tuple[Name, ...] = Field(default=(), description="Keys that it must have.")
    json_schema: SchemaParam | None = Field(
        default=None, description="A JSON Schema that it must conform to; no remote references."
    )
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)

    @model_validator(mode="after")
    def _something_required(self) -> SchemaParams:
        if not self.required_keys and self.json_schema is None:
            raise ValueError("needs required_keys, json_schema or both")
        return self


def presence(trace: Trace, params: PresenceParams, context: CheckContext) -> Decision:
    """Whether a field holds something.

    | value | decision |
    |---|---|
    | any value, also 0 and false | pass |
    | null, blank text, empty list or object | fail |
    | missing, a result not recorded | fail (`on_missing`) |
    | a non-finite number | pass: something stands there |
    | no such call | na, or uncertain (unknown-tool) |
    | result that may belong to another call | uncertain (ambiguous-order) |
    """

    def read(place: Place) -> Reading:
        citing = (quote(trace, place),)
        blank = isinstance(place.value, str) and not place.value.strip()
        if blank or place.value in _EMPTY:
            return Reading("fail", lambda: f"{spot(trace, place)} is empty", citing)
        return Reading("pass", lambda: f"{spot(trace, place)} is present", citing)

    return decide_field(trace, context, params.field, params.on_missing, read)


def string_equality(trace: Trace, params: EqualityParams, context: CheckContext) -> Decision:
    """Whether a field equals the expected value.

    | value | decision |
    |---|---|
    | equal; `1` and `1.0` are | pass |
    | another value of the same JSON type, also blank text | fail |
    | missing | uncertain (missing-field; `on_missing`) |
    | another JSON type, null, a non-finite number | uncertain (not-decidable) |
    | no such call | na, or uncertain (unknown-tool) |
    | result that may belong to another call | uncertain (ambiguous-order) |
    """
    expected = params.expected
    kind = _json_kind(expected)
    folds = params.case_insensitive and isinstance(expected, str)

    def read(place: Place) -> Reading:
        value, citing = place.value, (quote(trace, place),)

        where = partial(standing_there, trace, place)
        if _json_kind(value) != kind:
            text = f"{where()}, which cannot be compared with {shown(expected)}"
            return Reading("uncertain", text, citing, "not-decidable")
        same = value.casefold() == str(expected).casefold() if folds else equal(value, expected)
        if same:
            return Reading("pass", where, citing)
        return Reading("fail", lambda: f"{where()}, not {shown(expected)}", citing)

    return decide_field(trace, context, params.field, params.on_missing, read)


def format_validity(trace: Trace, params: FormatParams, context: CheckContext) -> Decision:
    """Whether the pattern is found in a text field; anchor it with ^ and $ for the whole text.

    | value | decision |
    |---|---|
    | text in which the pattern is found | pass |
    | other text, also empty text | fail |
    | missing | uncertain (missing-field; `on_missing`) |
    | no text: number, boolean, null, list, object, non-finite | uncertain (not-decidable) |
    | no such call | na, or uncertain (unknown-tool) |
    | result that may belong to another call | uncertain (ambiguous-order) |
    """
    pattern = params.pattern

    def read(place: Place) -> Reading:
        def said(what: str) -> str:
            return f"{standing_there(trace, place)}, which {what}"

        if not isinstance(place.value, str) or nonfinite(place.value):
            own = (quote(trace, place),)
            return Reading("uncertain", lambda: said("is no text"), own, "not-decidable")
        span = pattern.find(place.value)
        if span is not None:
            text: Why = lambda: f"{spot(trace, place)} matches '{pattern.text}'"  # noqa: E731
            return Reading("pass", text, (quote(trace, place, span),))
        citing = (quote(trace, place), gap(trace, place, pattern.text))
        return Reading("fail", lambda: said(f"does not match '{pattern.text}'"), citing)

    return decide_field(trace, context, params.field, params.on_missing, read)


def schema_conformance(trace: Trace, params: SchemaParams, context: CheckContext) -> Decision:
    """Whether a field has the required keys and conforms to the JSON Schema.

    | value | decision |
    |---|---|
    | has every key (null counts as had) and conforms | pass |
    | lacks a key, or violates the schema, also by its type | fail |
    | empty object or list | as the keys and the schema say |
    | missing | uncertain (missing-field; `on_missing`) |
    | holds a non-finite number, and only the schema is in question | uncertain (not-decidable) |
    | no such call | na, or uncertain (unknown-tool) |
    | result that may belong to another call | uncertain (ambiguous-order) |
    """

    def read(place: Place) -> Reading:
        faults = [*_key_faults(trace, place, params.required_keys)]
        if params.json_schema is not None and not faults:
            faults = schema_faults(trace, place, params.json_schema)
        return faults[0] if faults else _conforms(trace, place, params)

    return decide_field(trace, context, params.field, params.on_missing, read)


def decide_field(
    trace: Trace,
    context: CheckContext,
    path: FieldPath,
    on_missing: OnMissing,
    read: Callable[[Place], Reading],
) -> Decision:
    """Read every place of a selector and fold the readings by its quantifier."""
    places = select(trace, path)
    if not places:
        return _nothing(trace, context, path)
    blocked = _blocked(trace, path)

    def reading(place: Place) -> Reading:
        if blocked and place.obs in blocked[_reads_result(place)]:
            text = f"{spot(trace, place)}: {_AMBIGUOUS}"
            return Reading("uncertain", text, (), "ambiguous-order")
        if place.missing:
            return missing(trace, place, on_missing, lambda: f"{spot(trace, place)} is missing")
        return read(place)

    readings = [reading(place) for place in places]
    return any_of(readings) if path.quantifier == "any" else all_of(readings)


def _nothing(trace: Trace, context: CheckContext, path: FieldPath) -> Decision:
    if path.observation is not None and not matching(trace, path.observation):
        return no_call((path.observation,), trace, context)
    return Decision("na", f"{path} reaches an empty list", cited([look(trace, path)]))


def _reads_result(place: Place) -> bool:
    return place.path.startswith("output")


def _blocked(trace: Trace, path: FieldPath) -> dict[bool, set[str]]:
    """Return the ids that cannot be read for sure: for results (True), and for any field."""
    flagged = [o for o in trace.observations if o.flags]
    if not flagged:
        return {}
    order: set[str] = set()
    if path.quantifier in ("first", "last"):
        rivals = matching(trace, str(path.observation))
        if len(rivals) > 1 and any("ambiguous-order" in o.flags for o in rivals):
            order = {o.id for o in rivals}
    elif path.root == "observations" and path.steps and isinstance(path.steps[0], int):
        order = _flagged(flagged, "ambiguous-order")
    return {False: order, True: order | _flagged(flagged, "ambiguous-pairing")}


def _flagged(observations: list[Observation], flag: str) -> set[str]:
    return {o.id for o in observations if flag in o.flags}


def _json_kind(value: object) -> str:
    if type(value) in (str, bool, type(None)):
        return type(value).__name__
    if nonfinite(value):
        return "non-finite"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _key_faults(trace: Trace, place: Place, keys: tuple[str, ...]) -> list[Reading]:
    if not keys:
        return []
    if not isinstance(place.value, dict):
        text = f"{standing_there(trace, place)}, which is no object"
        return [Reading("fail", text, (quote(trace, place),))]
    absent = [key for key in keys if key not in place.value]
    if not absent:
        return []
    where = spot(trace, place)
    steps = parse_relative(place.path).steps
    gaps = [gap(trace, Place(place.obs, render_steps((*steps, key)), None)) for key in absent]
    text = f"{where} lacks {', '.join(absent)}"
    return [Reading("fail", text, (*gaps[:MOST_REFS], quote(trace, place)))]


def schema_faults(trace: Trace, place: Place, schema: SchemaParam) -> list[Reading]:
    """Return the reading of a value that violates a schema or cannot be checked, or nothing."""
    if nonfinite(place.value):
        text = f"{spot(trace, place)} holds a number that JSON does not have"
        return [Reading("uncertain", text, (quote(trace, place),), "not-decidable")]
    try:
        faults = schema.faults(place.value)
    except ValueError as error:  # text that is not Unicode cannot be checked
        text = f"{spot(trace, place)} cannot be checked against the schema: {error}"
        return [Reading("uncertain", text, (), "not-decidable")]
    if not faults:
        return []
    message, inside = faults[0]
    steps = (*parse_relative(place.path).steps, *inside)
    culprit = Place(place.obs, render_steps(steps), resolve(place.value, inside), place.seq)
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    text = f"{spot(trace, culprit)}: {message[:200]}{more}"
    return [Reading("fail", text, (quote(trace, culprit),))]


def _conforms(trace: Trace, place: Place, params: SchemaParams) -> Reading:
    def text() -> str:
        keys = ", ".join(params.required_keys)
        said = [f"has {keys}"] if keys else []
        said += ["conforms to the schema"] if params.json_schema is not None else []
        return f"{spot(trace, place)} {' and '.join(said)}"

    parts = [place]
    if params.required_keys:
        steps = parse_relative(place.path).steps
        parts = [
            Place(place.obs, render_steps((*steps, key)), place.value[key], place.seq)
            for key in params.required_keys[:MOST_REFS]
        ]
    return Reading("pass", text, tuple(quote(trace, part) for part in parts))


CHECKS = (
    Check("presence", "1", PresenceParams, presence),
    Check("string-equality", "1", EqualityParams, string_equality),
    Check("format-validity", "1", FormatParams, format_validity),
    Check("schema-conformance", "1", SchemaParams, schema_conformance),
)
