"""Detectors of wrong order and odd outcomes: a deed without what comes before it elsewhere."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from helix.discover.calls import (
    Steps,
    earlier,
    latest_first,
    leaves,
    only_reads,
    path_of,
    spelled,
    tools_of,
)
from helix.discover.norms import LEAST_HOLDERS, LEAST_SHARE, Examined, Norm
from helix.fieldpath import Each
from helix.model.trace import Observation, Trace

YES = r"(?i)\b(?:yes|yeah|yep|ok|okay|sure|confirm(?:ed)?|agree(?:d)?|proceed|go ahead|please do)\b"
_LONGEST = 40
_FLAGS = ("success", "ok", "isError", "is_error", "error")
_ENOUGH, _SHARE = LEAST_HOLDERS["habit"], LEAST_SHARE["habit"]
Condition = tuple[Steps, Any]


def preconditions(examined: Examined) -> Iterator[Norm]:
    """A deed without the call, or without its answer, that comes before it elsewhere."""
    for route, traces in examined.cohorts():
        for deed in latest_first(traces, tools_of(traces)):
            if not only_reads(deed):
                yield from _before(deed, route, traces)


def _before(deed: str, route: str | None, traces: Sequence[Trace]) -> Iterator[Norm]:
    runs = [found for trace in traces if (found := _first(trace, deed))]
    if len(runs) < _ENOUGH:
        return
    names = sorted({call.name for before in runs for call in before[1]} - {deed})
    for name in names:
        answered = [[c for c in before if c.name == name] for _, before in runs]
        answered = [calls for calls in answered if calls]
        if len(answered) < max(_ENOUGH, _SHARE * len(runs)):
            continue
        where = [(s, v) for s, v in _usual(answered) if _named(v, traces)]
        if len(answered) == len(runs) and not where:
            continue
        first: dict[str, Any] = {"tool": name}
        if where:
            first["where"] = [{"path": spelled(s), "equals": v} for s, v in where]
        told = " and ".join(f"{spelled(s[1:])} {v}" for s, v in where)
        yield Norm(
            detector="order",
            lens="off-path",
            kind=f"{deed} without {name}" + (f" ({told})" if told else ""),
            about=f"{name} before {deed}",
            statement=f"Pass = {deed} follows a call of {name}"
            + (f" that answers {told}." if told else "."),
            code_eval={"primitive": "required-order", "first": first, "then": {"tool": deed}},
            fault=f"{deed} is called without {name} before it"
            + (f" that answers {told}" if told else ""),
            route=route,
            weight=2 + len(where),
        )


def _first(trace: Trace, deed: str) -> tuple[Observation, list[Observation]] | None:
    """Return the first call of a deed and what was called before it."""
    calls = trace.tools(deed)
    return (calls[0], list(earlier(trace, calls[0]))) if calls else None


def _usual(runs: Sequence[Sequence[Observation]]) -> list[Condition]:
    """Return the answers that nearly all runs got from a call, and that some run did not."""
    seen: dict[Steps, list[set[Any]]] = defaultdict(list)
    for calls in runs:
        held: dict[Steps, set[Any]] = defaultdict(set)
        for call in calls:
            for steps, value in _states(call):
                held[steps].add(value)
        for steps, values in held.items():
            seen[steps].append(values)
    found = []
    for steps, sets in sorted(seen.items(), key=repr):
        value, count = _commonest(sets)
        if len(sets) > count >= max(_ENOUGH, _SHARE * len(sets)):
            found.append((steps, value))
    return found


def _named(value: Any, traces: Sequence[Trace]) -> bool:
    """Whether an answer may be a condition: a flag, or a word that the agent was given.

    A state of the world that most runs happen to meet (an order that was delivered) is none.
    """
    if isinstance(value, bool):
        return True
    word = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)
    told = sum(any(word.search(text) for text in _instructions(trace)) for trace in traces)
    return told * 2 >= len(traces)


def _instructions(trace: Trace) -> Iterator[str]:
    for _, leaf in leaves(trace.input):
        if isinstance(leaf, str):
            yield leaf
    yield from (m.text for m in trace.transcript if m.role in ("system", "developer"))


def outcomes(examined: Examined) -> Iterator[Norm]:
    """A deed whose result says something else than it says elsewhere: pending, not confirmed."""
    for tool in tools_of(examined.traces):
        if only_reads(tool):
            continue
        for steps, value in _usual([trace.tools(tool) for trace in examined.traces]):
            yield _outcome(tool, steps, value)


def _outcome(tool: str, steps: Steps, value: Any) -> Norm:
    field = spelled(steps[1:])
    return Norm(
        detector="odd-outcome",
        lens="tool-output-failure",
        kind=f"{tool}.{field} is not {value}",
        about=f"{tool}.{field}",
        statement=f"Pass = the {field} of every result of {tool} is {value}.",
        code_eval={
            "primitive": "string-equality", "field": path_of(tool, steps), "expected": value
        },
        fault=f"a result of {tool} has another {field} than {value}",
        dimension="operational-deviation",
    )  # fmt: skip


def agreements(examined: Examined) -> Iterator[Norm]:
    """A deed that the last message of the user before it does not agree to, where others do."""
    yes = re.compile(YES)
    for route, traces in examined.cohorts():
        for deed in tools_of(traces):
            if only_reads(deed):
                continue
            agreed = [_agreed(trace, deed, yes) for trace in traces if trace.tools(deed)]
            asked = [one for one in agreed if one is not None]
            if not asked or len(asked) < _SHARE * len(agreed) or all(asked):
                continue
            yield Norm(
                detector="no-agreement",
                lens="off-path",
                kind=f"{deed} without the user's yes",
                about=f"yes before {deed}",
                statement=f"Pass = the last thing that the user said before {deed} is a yes.",
                code_eval={
                    "primitive": "required-order",
                    "first": {"message": "user", "matches": YES},
                    "latest_of": {"message": "user"},
                    "then": {"tool": deed},
                },
                fault=f"{deed} is called although the user did not say yes before it",
                route=route,
                weight=3,
            )


def _agreed(trace: Trace, deed: str, yes: re.Pattern[str]) -> bool | None:
    """Whether every call of a deed follows a yes; None where the user said the task alone."""
    said = [m for m in trace.transcript if m.role == "user" and not m.control]
    answers = []
    for call in trace.tools(deed):
        before = [message for message in said if message.seq < call.seq]
        if len(before) < 2:
            return None
        answers.append(yes.search(before[-1].text) is not None)
    return all(answers)


def _states(call: Observation) -> Iterator[Condition]:
    """Yield what a result says in one word: short texts and flags, but not whether it failed."""
    for steps, value in leaves(call.output, ("output",)):
        if any(isinstance(step, Each) for step in steps) or steps[-1] in _FLAGS:
            continue
        if isinstance(value, bool) or (isinstance(value, str) and 0 < len(value) <= _LONGEST):
            yield steps, value


def _commonest(sets: Sequence[set[Any]]) -> tuple[Any, int]:
    counts = Counter(value for values in sets for value in values)
    return min(counts.items(), key=lambda pair: (-pair[1], repr(pair[0])))


DETECTORS = (preconditions, outcomes, agreements)
