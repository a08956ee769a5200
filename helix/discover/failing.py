"""Detectors of what went wrong by its own word: failed calls, failures left standing, no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from helix.checks.success import declared
from helix.discover.calls import Steps, failed, leaves, only_reads, path_of, spelled, tools_of
from helix.discover.norms import Examined, Norm
from helix.model.trace import TOOL, Observation

MOST_NAMED = 8
_PROSE, _WORDS = 80, 10
Marker = tuple[str, tuple[tuple[str, Any], ...]]


def unanswered(examined: Examined) -> Iterator[Norm]:
    """A run that ends without a response, where others have one."""
    yield Norm(
        detector="no-response",
        lens="off-path",
        kind="no response",
        about="output.response",
        statement="Pass = the run ends with a response.",
        code_eval={"primitive": "presence", "field": "output.response"},
        fault="the run ends without a response",
        dimension="operational-deviation",
    )


def failed_deeds(examined: Examined) -> Iterator[Norm]:
    """A call that does something, fails, and never succeeds in that run."""
    found: dict[str, dict[Marker, bool]] = {}
    for trace in examined.traces:
        for call in failed(trace):
            again = any(_succeeds_after(call, other) for other in trace.tools(call.name))
            markers = found.setdefault(call.name, {})
            marker = _marker(call)
            markers[marker] = markers.get(marker, False) or again
    for tool in sorted(found):
        for (path, test), retried in sorted(found[tool].items(), key=repr):
            if retried:
                continue
            yield _failed_deed(tool, path, dict(test))


def _failed_deed(tool: str, path: str, test: dict[str, Any]) -> Norm:
    reads = only_reads(tool)
    flag = path.removeprefix("output.") in ("success", "ok") and test == {"fail_equals": False}
    marker: dict[str, Any] = {"success_path": path}
    if not flag:
        marker = {"fail_field": path, **test, "on_missing": "pass"}
    return Norm(
        detector="tool-failure",
        lens="tool-output-failure",
        kind=f"{tool} fails",
        about=f"{tool} failure",
        statement=f"Pass = every call of {tool} succeeds.",
        code_eval={"primitive": "tool-output-failure", "tool": tool, **marker},
        fault=f"a call of {tool} fails, and none succeeds later",
        strength="failure",
        dimension="operational-deviation",
        to="infrastructure" if reads else "eval",
    )


def unrecovered(examined: Examined) -> Iterator[Norm]:
    """A failed call after which nothing is done about it, where other runs do something."""
    remedies: dict[Marker, set[str]] = {}
    for trace in examined.traces:
        for call in failed(trace):
            after = [other.name for other in trace.tools() if other.seq > call.seq]
            remedies.setdefault(_marker(call), set()).update(n for n in after if n != call.name)
    for (path, test), tools in sorted(remedies.items(), key=repr):
        recovery: dict[str, Any] = {"recovery_tools": ["@same", *sorted(tools)]}
        if len(tools) > MOST_NAMED:
            recovery = {"recovery": [{"tool": "*"}]}
        told = f" ({path})" if len(remedies) > 1 else ""
        yield Norm(
            detector="unrecovered-failure",
            lens="tool-output-failure",
            kind=f"failed call left standing{told}",
            about=f"recovery {path}",
            statement="Pass = after a failed call something is done about it"
            + (f": {', '.join(sorted(tools))}." if 0 < len(tools) <= MOST_NAMED else "."),
            code_eval={
                "primitive": "recovery-after-failure", "fail_field": path, **dict(test), **recovery
            },
            fault="a call fails, and nothing that other runs do about it follows",
            strength="failure",
        )  # fmt: skip


def broken_spans(examined: Examined) -> Iterator[Norm]:
    """A step that is no tool call and declares an error: a generation, an agent, a span."""
    kinds = {
        step.type
        for trace in examined.traces
        for step in trace.observations
        if step.type != TOOL and next(declared(step), None) is not None
    }
    for kind in sorted(kinds):
        yield Norm(
            detector="error-span",
            lens="tool-output-failure",
            kind=f"{kind} step with an error",
            about=f"error of {kind}",
            statement=f"Pass = no {kind} step declares an error.",
            code_eval={"primitive": "error-spans", "type": kind},
            fault=f"a {kind} step declares an error",
            strength="failure",
            dimension="operational-deviation",
            to="infrastructure",
        )


def repeated(examined: Examined) -> Iterator[Norm]:
    """The same call over and over, and a deed that was done twice."""
    yield Norm(
        detector="loop",
        lens="off-path",
        kind="same calls over and over",
        about="loops",
        statement="Pass = no call or cycle of calls is made three times in a row.",
        code_eval={"primitive": "loops", "times": 3, "cycle": 2},
        fault="the same calls are made over and over",
        strength="rule",
        weight=2,
    )
    for tool in tools_of(examined.traces):
        if not only_reads(tool):
            yield Norm(
                detector="duplicate",
                lens="off-path",
                kind=f"{tool} done twice",
                about=f"{tool} twice",
                statement=f"Pass = {tool} does the same thing no more than once.",
                code_eval={"primitive": "duplicate-writes", "tool": tool},
                fault=f"{tool} succeeds twice with the same arguments",
            )


def unbacked(examined: Examined) -> Iterator[Norm]:
    """A reply, or a text that is sent, which claims a deed that no call did (English)."""
    fields = [("the response", "output.response")]
    fields += [
        (f"{tool}.{spelled(steps[1:])}", path_of(tool, steps))
        for tool, steps in _written(examined)
        if not only_reads(tool)
    ]
    for place, path in fields:
        yield Norm(
            detector="unbacked-claim",
            lens="off-path",
            kind=f"{place} claims what was not done",
            about=f"claims of {place}",
            statement=f"Pass = what {place} says was done, a call of this run did.",
            code_eval={"primitive": "claimed-action", "field": path, "on_missing": "na"},
            fault=f"{place} claims a deed that no successful call of the run did",
            strength="reading",
            weight=2,
        )


def _written(examined: Examined) -> list[tuple[str, Steps]]:
    """Return the arguments that hold prose."""
    prose: Counter[tuple[str, Steps]] = Counter()
    for trace in examined.traces:
        for call in trace.tools():
            for steps, value in leaves(call.input, ("input",)):
                if isinstance(value, str) and len(value) >= _PROSE and value.count(" ") >= _WORDS:
                    prose[call.name, steps] += 1
    return sorted((place for place, count in prose.items() if count >= 2), key=repr)


def _marker(call: Observation) -> Marker:
    """Return where and how a failed call says so, as parameters of a check."""
    path, value = next(declared(call))
    if isinstance(value, bool):
        return path, (("fail_equals", value),)
    pattern = f"(?i)^{value}$" if path in ("status", "level") else "(?s)."
    return path, (("fail_matches", pattern),)


def _succeeds_after(call: Observation, other: Observation) -> bool:
    return other.seq > call.seq and other.has_output and next(declared(other), None) is None


DETECTORS = (unanswered, failed_deeds, unrecovered, broken_spans, repeated, unbacked)
