"""Whether a trace can carry a judgement at all (METHOD 35), decided by code before any judge.

A trace that says it is truncated, or that holds nothing, is never judged. One result that was
cut is a fact about that result, and no reason to refuse the trace. A correct hold has no
tool call, but it has a message, an input or a response: it is not empty (METHOD 14).
"""

from __future__ import annotations

from collections.abc import Sequence

from helix.errors import PathError
from helix.fieldpath import parse
from helix.model.select import select
from helix.model.trace import Trace
from helix.model.verdict import Fidelity


def assess(
    trace: Trace, truncation_flags: Sequence[str], truncation_fields: Sequence[str]
) -> Fidelity:
    """Return complete, or the reason why the trace cannot be judged."""
    for flag in truncation_flags:
        if flag in trace.flags:
            return Fidelity(complete=False, reason=f"the trace carries the flag '{flag}'")
    for field in truncation_fields:
        if any(place.value is True for place in select(trace, parse(field))):
            return Fidelity(complete=False, reason=f"the trace says {field}=true")
    if not trace.observations and not trace.transcript and not _response(trace):
        return Fidelity(
            complete=False, reason="the trace has no observation, no message and no response"
        )
    return Fidelity(complete=True)


def check_fields(fields: Sequence[str]) -> list[str]:
    """Return what is wrong with the configured truncation fields, one line each."""
    faults = []
    for field in fields:
        try:
            parse(field)
        except PathError as error:
            faults.append(str(error))
    return faults


def _response(trace: Trace) -> bool:
    if isinstance(trace.output, dict):
        return any(value not in (None, "", [], {}) for value in trace.output.values())
    return trace.output not in (None, "", [])
