"""The primitive json-compare: a value beside a literal, or beside another value (METHOD 29).

A text is never compared as a number. Numbers are compared as they are written, so that
`0.1 + 0.2` is what it looks like and `152.66` is one cent from `152.67`.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from helix.checks.arguments import fingerprint
from helix.checks.conditions import equal
from helix.checks.evidence import Citing, gap, look, nonfinite, quote, shown, spot
from helix.checks.fields import FIELD, decide_field
from helix.checks.outcome import ON_MISSING, OnMissing, Reading
from helix.checks.parameters import Params, PathParam, example
from helix.fieldpath import FieldPath
from helix.model.select import Place, select
from helix.model.tokens import as_text
from helix.model.trace import Trace
from helix.model.verdict import Cause
from helix.registry import Check, CheckContext, Decision

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "contains", "between"]
Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_NUMERIC = ("==", "!=", "<=", ">=", "between")
_ORDERED = ("<", "<=", ">", ">=")


class CompareParams(Params):
    """Parameters of json-compare: an operator, and what stands on its right.

    `between` takes a value `[low, high]`, both included. A tolerance widens what counts as equal:
    by `abs_tolerance`, or by `rel_tolerance` times the larger of the two, whichever is more.
    """

    model_config = example(
        field="obs:pay.input.amount", op="<=", other="obs:quote@last.output.total"
    )
    field: PathParam = Field(description=FIELD)
    op: Operator = Field(description="How the two are compared.")
    value: JsonValue = Field(default=None, description="A literal to compare with.")
    other: PathParam | None = Field(
        default=None, description="A place to compare with; every value of it, or one with @any."
    )
    abs_tolerance: Tolerance = Field(default=0.0, description="How far apart equal numbers may be.")
    rel_tolerance: Tolerance = Field(default=0.0, description="The same, as a share of the larger.")
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)

    @model_validator(mode="after")
    def _fits(self) -> CompareParams:
        if ("value" in self.model_fields_set) == (self.other is not None):
            raise ValueError("needs either value or other")
        if (self.abs_tolerance or self.rel_tolerance) and self.op not in _NUMERIC:
            raise ValueError(f"tolerances go with {', '.join(_NUMERIC)} (got op {self.op})")
        if self.op == "between" and (self.other or not _is_range(self.value)):
            raise ValueError(f"between needs value: [low, high] (got {shown(self.value)})")
        if self.other is None and self.op == "in" and not isinstance(self.value, list | str | dict):
            raise ValueError(f"in needs a list, an object or a text (got {shown(self.value)})")
        if self.other is None and self.op in _ORDERED and not _has_order(self.value):
            raise ValueError(f"{self.op} needs a number or an ISO date (got {shown(self.value)})")
        return self


def json_compare(trace: Trace, params: CompareParams, context: CheckContext) -> Decision:
    """Whether a value compares with another as the operator says.

    | value | decision |
    |---|---|
    | the comparison holds, within the tolerance | pass |
    | it does not | fail |
    | `<` and its kin, `between`: two numbers, or two ISO dates of one form | decided |
    | the same of a text and a number, of two kinds of date, of others | uncertain (not-decidable) |
    | `==`, `!=`: two JSON types; with the literal null, decided | uncertain (not-decidable) |
    | `in`, `contains`: element of a list, key of an object, part of a text | decided |
    | the same where an element only looks equal (`"42"` and `42`) | uncertain (not-decidable) |
    | a non-finite number on either side | uncertain (not-decidable) |
    | `field` or `other` missing, or nothing at `other` | uncertain (missing-field; `on_missing`) |
    | no call of the tool of `field` | na, or uncertain (unknown-tool) |
    | result that may belong to another call | uncertain (ambiguous-order) |
    """
    found = None if params.other is None else counterpart(trace, params.other, params.on_missing)
    rights = _Rights(found, params) if isinstance(found, list) else found

    def read(place: Place) -> Reading:
        if rights is None:
            return _against(trace, place, params, params.value, None)
        if isinstance(rights, Reading):
            return rights
        telling = rights.telling(place.value)
        readings = [_against(trace, place, params, right.value, right) for right in telling]
        return worst(readings, rights.quantifier)

    return decide_field(trace, context, params.field, params.on_missing, read)


def worst(readings: Sequence[Reading], quantifier: str | None) -> Reading:
    """Return the reading that decides: of all, one that fails; of any, one that passes."""
    states = ("pass", "uncertain") if quantifier == "any" else ("fail", "uncertain")
    found = (reading for state in states for reading in readings if reading.state == state)
    return next(found, readings[0])


def counterpart(trace: Trace, path: FieldPath, on_missing: OnMissing) -> list[Place] | Reading:
    """Return the places that a field is compared with, or the reading of one that is not there."""
    places = select(trace, path)
    flagged = {o.id for o in trace.observations if "ambiguous-pairing" in o.flags}
    if any(place.obs in flagged and place.path.startswith("output") for place in places):
        text = f"{path}, which is compared with, may be another call's result"
        return Reading("uncertain", text, (), "ambiguous-order")
    gone = next((place for place in places if place.missing), None)
    if places and gone is None:
        return places
    channel = path if path.observation is None else FieldPath(None, ("name",), path.observation)
    proof = look(trace, channel) if gone is None else gap(trace, gone)
    cause: Cause | None = "missing-field" if on_missing == "uncertain" else None
    return Reading(on_missing, f"{path}, which is compared with, is missing", (proof,), cause)


class _Rights:
    """What a field is compared with: of many values, those that decide."""

    def __init__(self, places: list[Place], params: CompareParams) -> None:
        self.quantifier = params.other.quantifier if params.other else None
        distinct = {fingerprint(place.value): place for place in reversed(places)}
        self._places = list(distinct.values())[::-1]
        numbers = all(_is_number(place.value) for place in self._places)
        ordered = params.op in (*_ORDERED, "==", "!=")
        self._sorted = sorted(self._places, key=lambda p: _exact(p.value)) if numbers else []
        self._numeric = numbers and ordered
        self._nearest = params.op == ("==" if self.quantifier == "any" else "!=")

    def telling(self, left: Any) -> list[Place]:
        """Return the places to compare with: of numbers the outermost, or the nearest."""
        if not (self._numeric and _is_number(left)) or len(self._sorted) < 3:
            return self._places
        if not self._nearest:
            return [self._sorted[0], self._sorted[-1]]
        at = bisect_left(self._sorted, _exact(left), key=lambda place: _exact(place.value))
        return self._sorted[max(at - 1, 0) : at + 1]


def _against(
    trace: Trace, place: Place, params: CompareParams, right: Any, other: Place | None
) -> Reading:
    holds = _holds(params, place.value, right)
    beside = shown(right) if other is None else f"{spot(trace, other)} ({shown(right)})"
    text = f"{spot(trace, place)} is {shown(place.value)}"
    citing: tuple[Citing, ...] = (quote(trace, place),)
    if other is not None:
        citing += (quote(trace, other),)
    if holds is None:
        text = f"{text}, which cannot be compared with {beside}"
        return Reading("uncertain", text, citing, "not-decidable")
    said = f"{text}, {'which is' if holds else 'not'} {params.op} {beside}"
    return Reading("pass" if holds else "fail", said, citing)


def _holds(params: CompareParams, left: Any, right: Any) -> bool | None:
    if nonfinite(left) or nonfinite(right):
        return None
    if params.op == "between":
        return _both(_ordered(params, left, right[0], ">="), _ordered(params, left, right[1], "<="))
    if params.op in _ORDERED:
        return _ordered(params, left, right, params.op)
    if params.op == "in":
        return _inside(left, right)
    if params.op == "contains":
        return _inside(right, left)
    same = _same(params, left, right)
    return same if params.op == "==" or same is None else not same


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _same(params: CompareParams, left: Any, right: Any) -> bool | None:
    if _is_number(left) and _is_number(right):
        return _near(params, left, right)
    if params.other is None and right is None:
        return left is None
    if _is_number(left) or _is_number(right) or type(left) is not type(right):
        return None
    return equal(left, right)


def _ordered(params: CompareParams, left: Any, right: Any, op: str) -> bool | None:
    if _is_number(left) and _is_number(right):
        if "=" in op and _near(params, left, right):
            return True
        pair: tuple[Any, Any] = (_exact(left), _exact(right))
    else:
        moments = (_moment(left), _moment(right))
        if None in moments or _form(left) != _form(right):
            return None
        pair = moments
    compared: dict[str, Callable[[Any, Any], bool]] = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    return compared[op](*pair)


def _inside(needle: Any, hay: Any) -> bool | None:
    if isinstance(hay, str):
        return needle in hay if isinstance(needle, str) else None
    if not isinstance(hay, dict | list):
        return None
    answers = [equal(needle, item) for item in hay]
    return True if True in answers else None if None in answers else False


def _near(params: CompareParams, left: float, right: float) -> bool:
    one, two = _exact(left), _exact(right)
    share = _exact(params.rel_tolerance) * max(abs(one), abs(two))
    return abs(one - two) <= max(_exact(params.abs_tolerance), share)


def _exact(number: float) -> Fraction:
    """Return a number as it is written; a float's nearest binary neighbour is not what was said."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _moment(value: Any) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _form(value: Any) -> tuple[bool, bool]:
    """Return whether a moment has a time of day, and whether it has a zone."""
    moment = _moment(value)
    return len(as_text(value)) > 10, moment is not None and moment.tzinfo is not None


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _has_order(value: Any) -> bool:
    return _is_number(value) or _moment(value) is not None


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_has_order, value))


CHECKS = (Check("json-compare", "1", CompareParams, json_compare),)
