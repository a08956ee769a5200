"""Whether a call succeeded: what it declares, what its result says, or that nobody can know.

A call failed where it has an error, a status or level of one, or a result that says so in the
usual words (`success: false`, `ok: false`, `isError: true`, `error: …`), or where the suite's own
condition holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from helix.checks.conditions import Conditions, Where, meets
from helix.checks.evidence import quote, shown
from helix.checks.outcome import Reading
from helix.checks.parameters import Params
from helix.model.select import Place
from helix.model.trace import Observation, Trace

_FALSE = ("success", "ok")
_TRUE = ("isError", "is_error")
_WORDS = frozenset({"error", "failed", "failure", "err"})


class Succeeding(Params):
    """The base of checks that ask which calls succeeded."""

    failed_where: Conditions = Field(
        default=(), description="What else means that a call failed, beside a declared error."
    )


class Outcomes:
    """What each call of one trace came to; asked for one call at a time."""

    def __init__(self, trace: Trace, failed_where: tuple[Where, ...]) -> None:
        self._trace, self._where = trace, failed_where
        self._rivals: list[str] | None = None

    def of(self, call: Observation) -> Reading:
        """Return pass for a call that succeeded, fail for one that did not, else uncertain."""
        named = f"{call.id} ({call.name})"
        if "ambiguous-pairing" in call.flags and len(set(self._of_rivals())) != 1:
            text = f"the result of {named} may be another call's"
            return Reading("uncertain", text, (), "ambiguous-order")
        return self._alone(call, named)

    def _alone(self, call: Observation, named: str) -> Reading:
        for path, value in declared(call):
            place = Place(call.id, path, value, call.seq)
            text = f"{named} failed: {path} is {shown(value)}"
            return Reading("fail", text, (quote(self._trace, place),))
        if not call.has_output:
            text = f"the result of {named} was not recorded"
            return Reading("uncertain", text, (), "missing-field")
        if self._where:
            match = meets(call, self._where)
            if match.hit is None:
                text = f"whether {named} failed cannot be said"
                return Reading("uncertain", text, (), match.cause)
            if match.hit:
                place = match.place or _name(call)
                text = f"{named} failed: {place.path} is {shown(place.value)}"
                return Reading("fail", text, (quote(self._trace, place, match.span),))
        return Reading("pass", f"{named} succeeded", (quote(self._trace, _name(call)),))

    def _of_rivals(self) -> list[str]:
        """Return the states of all results that may be another call's."""
        if self._rivals is None:
            rivals = [o for o in self._trace.observations if "ambiguous-pairing" in o.flags]
            self._rivals = [self._alone(rival, "").state for rival in rivals]
        return self._rivals


def declared(call: Observation) -> Iterator[tuple[str, Any]]:
    """Yield each place where a call says that it failed."""
    if call.error is not None:
        yield "error", call.error
    for path, word in (("status", call.status), ("level", call.level)):
        if word is not None and word.casefold() in _WORDS:
            yield path, word
    output = call.output if call.has_output else None
    if not isinstance(output, dict):
        return
    for key in _FALSE:
        if output.get(key) is False:
            yield f"output.{key}", False
    for key in _TRUE:
        if output.get(key) is True:
            yield f"output.{key}", True
    error = output.get("error")
    if error is True or (isinstance(error, str | dict) and error):
        yield "output.error", error


def _name(call: Observation) -> Place:
    return Place(call.id, "name", call.name, call.seq)
