"""The primitive state-equals: a final state is what it should be, but for what is ignored.

Objects are compared whatever the order of their keys, lists element by element unless they are
named as unordered (METHOD 29).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import Field, JsonValue, model_validator

from helix.checks.conditions import equal
from helix.checks.evidence import MOST_REFS, Citing, gap, nonfinite, quote, shown, spot
from helix.checks.fields import FIELD, decide_field
from helix.checks.outcome import ON_MISSING, OnMissing, Reading
from helix.checks.parameters import Name, Params, PathParam, example
from helix.checks.values import counterpart, worst
from helix.errors import PathError
from helix.fieldpath import MISSING, Each, Step, parse_relative, render_steps
from helix.model.canonical import canonical_text
from helix.model.select import Place
from helix.model.trace import Trace
from helix.registry import Check, CheckContext, Decision

Steps = tuple[Step, ...]


class StateParams(Params):
    """Parameters of state-equals: the state, and what it should be, as a literal or a place.

    `ignore_paths` and `unordered` are paths inside the state, such as `orders[*].updatedAt`.
    """

    model_config = example(
        field="output.state", expected={"status": "closed"}, ignore_keys=["updatedAt"]
    )
    field: PathParam = Field(description=FIELD)
    expected: JsonValue = Field(default=None, description="The state that it must equal.")
    other: PathParam | None = Field(default=None, description="A place that holds that state.")
    ignore_keys: tuple[Name, ...] = Field(
        default=(), description="Keys that do not count, wherever they stand."
    )
    ignore_paths: tuple[Name, ...] = Field(default=(), description="Places that do not count.")
    unordered: bool | tuple[Name, ...] = Field(
        default=False, description="Lists whose order does not count: true for all, or their paths."
    )
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)

    @model_validator(mode="after")
    def _fits(self) -> StateParams:
        if ("expected" in self.model_fields_set) == (self.other is not None):
            raise ValueError("needs either expected or other")
        for text in (*self.ignore_paths, *self.lists):
            try:
                parse_relative(text)
            except PathError as error:
                raise ValueError(str(error)) from None
        return self

    @property
    def lists(self) -> tuple[str, ...]:
        """The paths of lists that are named as unordered."""
        return () if isinstance(self.unordered, bool) else self.unordered


def state_equals(trace: Trace, params: StateParams, context: CheckContext) -> Decision:
    """Whether a state equals the expected one, without what is ignored.

    | state | decision |
    |---|---|
    | equal; the order of keys does not count, `1` is `1.0` | pass |
    | a key or element too few or too many, or another value, also of another type | fail |
    | the only differences look the same (`"42"` and `42`) | uncertain (not-decidable) |
    | a non-finite number, and nothing else differs | uncertain (not-decidable) |
    | a list in another order: equal where it is `unordered`, else | fail |
    | empty object or list | as the expected state says |
    | `field` or `other` missing | uncertain (missing-field; `on_missing`) |
    | no such call | na, or uncertain (unknown-tool) |
    | result that may belong to another call | uncertain (ambiguous-order) |
    """
    comparison = _Comparison.of(params)
    wanted = None if params.other is None else counterpart(trace, params.other, params.on_missing)

    def read(place: Place) -> Reading:
        if wanted is None:
            return _compared(trace, place, comparison, params.expected, None)
        if isinstance(wanted, Reading):
            return wanted
        readings = [_compared(trace, place, comparison, o.value, o) for o in wanted]
        return worst(readings, params.other.quantifier if params.other else None)

    return decide_field(trace, context, params.field, params.on_missing, read)


def _compared(
    trace: Trace, place: Place, comparison: _Comparison, expected: Any, other: Place | None
) -> Reading:
    found = list(comparison.differences(place.value, expected, ()))
    where, whole = spot(trace, place), quote(trace, place)
    certain = [difference for difference in found if difference.certain]
    beside: tuple[Citing, ...] = () if other is None else (quote(trace, other),)
    if not found:
        return Reading("pass", f"{where} equals the expected state", (whole, *beside))
    told = certain or found
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    text = f"{where} differs at {told[0].text}{more}"
    citing = (*(_cited(trace, place, one) for one in told[:MOST_REFS]), *beside)
    if certain:
        return Reading("fail", text, citing)
    return Reading("uncertain", f"{text}, which cannot be compared", citing, "not-decidable")


def _cited(trace: Trace, place: Place, difference: _Difference) -> Citing:
    steps = (*parse_relative(place.path).steps, *difference.steps)
    at = Place(place.obs, render_steps(steps), difference.actual, place.seq)
    return gap(trace, at) if difference.actual is MISSING else quote(trace, at)


@dataclass(frozen=True, slots=True)
class _Difference:
    """One place where two states differ, and whether they certainly do."""

    steps: tuple[str | int, ...]
    actual: Any
    expected: Any
    certain: bool

    @property
    def text(self) -> str:
        at = render_steps(self.steps) or "its root"
        if self.actual is MISSING:
            return f"{at}: missing, not {shown(self.expected)}"
        if self.expected is MISSING:
            return f"{at}: {shown(self.actual)}, where nothing is expected"
        return f"{at}: {shown(self.actual)}, not {shown(self.expected)}"


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What counts when two states are compared."""

    keys: frozenset[str]
    paths: tuple[Steps, ...]
    lists: tuple[Steps, ...] | None

    @classmethod
    def of(cls, params: StateParams) -> _Comparison:
        """Return the comparison that the parameters ask for; `lists` is None for all lists."""
        return cls(
            frozenset(params.ignore_keys),
            tuple(parse_relative(path).steps for path in params.ignore_paths),
            None
            if params.unordered is True
            else tuple(parse_relative(path).steps for path in params.lists),
        )

    def differences(
        self, actual: Any, expected: Any, at: tuple[str | int, ...]
    ) -> Iterator[_Difference]:
        """Yield every place that differs and counts."""
        if isinstance(actual, dict) and isinstance(expected, dict):
            for key in [*expected, *(key for key in actual if key not in expected)]:
                below = (*at, key)
                if not self._ignored(key, below):
                    pair = actual.get(key, MISSING), expected.get(key, MISSING)
                    yield from self._pair(*pair, below)
        elif isinstance(actual, list) and isinstance(expected, list):
            if self.lists is None or _named(at, self.lists):
                yield from self._bags(actual, expected, at)
                return
            for index in range(max(len(actual), len(expected))):
                below = (*at, index)
                if not self._ignored(None, below):
                    pair = _item(actual, index), _item(expected, index)
                    yield from self._pair(*pair, below)
        else:
            same = equal(actual, expected)
            if same is not True:
                yield _Difference(at, actual, expected, same is False)

    def _pair(self, actual: Any, expected: Any, at: tuple[str | int, ...]) -> Iterator[_Difference]:
        if actual is MISSING or expected is MISSING:
            yield _Difference(at, actual, expected, True)
        else:
            yield from self.differences(actual, expected, at)

    def _bags(
        self, actual: list[Any], expected: list[Any], at: tuple[str | int, ...]
    ) -> Iterator[_Difference]:
        """Yield the elements of two unordered lists that have no partner in the other."""
        bare = [self._kept(item, (*at, n)) for n, item in enumerate(actual)]
        want = [self._kept(item, (*at, n)) for n, item in enumerate(expected)]
        if nonfinite(bare) or nonfinite(want):
            yield _Difference(at, actual, expected, False)
            return
        spare = _without_partner(bare, want)
        lost = _without_partner(want, bare)
        certain = _looks(bare[n] for n in spare) != _looks(want[n] for n in lost)
        for index in spare:
            yield _Difference((*at, index), actual[index], MISSING, certain)
        for index in lost:
            yield _Difference((*at, len(actual) + index), MISSING, expected[index], certain)

    def _kept(self, value: Any, at: tuple[str | int, ...]) -> Any:
        if isinstance(value, dict):
            return {
                key: self._kept(item, (*at, key))
                for key, item in value.items()
                if not self._ignored(key, (*at, key))
            }
        if isinstance(value, list):
            kept = [
                self._kept(item, (*at, n))
                for n, item in enumerate(value)
                if not self._ignored(None, (*at, n))
            ]
            loose = self.lists is None or _named(at, self.lists)
            return sorted(kept, key=canonical_text) if loose else kept
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def _ignored(self, key: str | None, at: tuple[str | int, ...]) -> bool:
        return key in self.keys or _named(at, self.paths)


def _named(at: tuple[str | int, ...], paths: tuple[Steps, ...]) -> bool:
    return any(len(path) == len(at) and all(map(_fits, path, at)) for path in paths)


def _fits(step: Step, at: str | int) -> bool:
    return isinstance(step, Each) or step == at


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else MISSING


def _without_partner(items: list[Any], others: list[Any]) -> list[int]:
    """Return which items are in excess of those that the other list holds as well."""
    there = Counter(map(canonical_text, others))
    lone = []
    for index, item in enumerate(items):
        text = canonical_text(item)
        if there[text]:
            there[text] -= 1
        else:
            lone.append(index)
    return lone


def _looks(items: Iterable[Any]) -> Counter[str]:
    """Count elements by what they look like, numbers and their texts alike."""
    return Counter(canonical_text(_as_text(item)) for item in items)


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return value if isinstance(value, str) else canonical_text(value)


CHECKS = (Check("state-equals", "1", StateParams, state_equals),)
