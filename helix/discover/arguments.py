"""Detectors of wrong arguments: no referent, no such field, no such form; results that differ."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from helix.discover.calls import Steps, earlier, leaves, named, path_of, spelled, tools_of
from helix.discover.norms import Examined, Norm
from helix.fieldpath import Each
from helix.model.trace import Observation, Trace

_LONGEST = 80
_REFERENT = re.compile(r"(?=.*[\d@])[^\s]{4,80}")
_COMPUTED = re.compile(r"\d{4}-\d\d-\d\d.*|[\d.,:+-]+|https?://.*", re.DOTALL)
MOST_CALLS = 5
PRODUCER_SHARE = 0.9
FORMS = {
    "email address": r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$",
    "web address": r"^https?://[^\s/]+\S*$",
    "date": r"^\d{4}-\d{2}-\d{2}$",
    "time": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}\S*$",
    "UUID": r"^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$",
}


@dataclass(slots=True)
class _Use:
    """How one argument was used: in which traces, and where its values came from."""

    traces: set[str] = field(default_factory=set)
    odd: set[str] = field(default_factory=set)
    nowhere: set[str] = field(default_factory=set)
    lacking: dict[tuple[str, Steps], set[str]] = field(default_factory=dict)


def referents(examined: Examined) -> Iterator[Norm]:
    """An id or address that no earlier message or result of the run produced."""
    uses: dict[tuple[str, Steps], _Use] = defaultdict(_Use)
    for trace in examined.traces:
        for call in trace.tools():
            _look_up(trace, call, uses)
    for (tool, steps), use in sorted(uses.items(), key=repr):
        if len(use.odd) * 4 > len(use.traces):
            continue
        yield _from_nowhere(tool, steps, _producer(use))


def _from_nowhere(tool: str, steps: Steps, producer: tuple[str, Steps] | None) -> Norm:
    place = named(tool, steps)
    code_eval: dict[str, object] = {
        "primitive": "value-flow",
        "tool": tool,
        "argument": spelled(steps),
    }
    origin, fault = "said or returned", "nothing earlier in the run said or returned"
    if producer is not None:
        code_eval = {
            "primitive": "ref-integrity",
            "producer": path_of(*producer),
            "consumer": path_of(tool, steps),
        }
        origin, fault = f"returned by {producer[0]}", f"no earlier call of {producer[0]} returned"
    return Norm(
        detector="missing-referent",
        lens="missing-context",
        kind=f"{place} from nowhere",
        about=f"origin of {place}",
        statement=f"Pass = {place} holds what was {origin} before the call.",
        code_eval={**code_eval, "on_missing": "na"},
        fault=f"{place} holds what {fault}",
        strength="rule",
        dimension="data-correctness",
        weight=1 if producer is None else 2,
    )


def _look_up(trace: Trace, call: Observation, uses: dict[tuple[str, Steps], _Use]) -> None:
    """Note of each argument that looks like a reference where its value came from."""
    wanted = [(s, v) for s, v in leaves(call.input, ("input",)) if isinstance(v, str) and v]
    if not wanted:
        return
    produced: dict[str, set[tuple[str, Steps]]] = defaultdict(set)
    told = [trace.input, *(m.text for m in trace.transcript if m.seq < call.seq)]
    for other in earlier(trace, call):
        told.append(other.output)
        for steps, value in leaves(other.output, ("output",)):
            if isinstance(value, str) and len(value) <= _LONGEST:
                produced[value].add((other.name, steps))
    said = "\n".join(text for one in told for text in _texts(one))
    for steps, value in wanted:
        use = uses[call.name, steps]
        use.traces.add(trace.id)
        if not _REFERENT.fullmatch(value) or _COMPUTED.fullmatch(value):
            use.odd.add(trace.id)
        if value not in said:
            use.nowhere.add(trace.id)
        for origin in use.lacking.keys() | produced.get(value, set()):
            before = use.traces - {trace.id}
            use.lacking.setdefault(origin, before)
            if origin not in produced.get(value, ()):
                use.lacking[origin].add(trace.id)


def _producer(use: _Use) -> tuple[str, Steps] | None:
    """Return what nearly all values came from that came from anywhere, the fewest steps first."""
    known = len(use.traces) - len(use.nowhere)
    if known < 2:
        return None
    scored = [
        (len(lacking), len(origin[1]), repr(origin), origin)
        for origin, lacking in use.lacking.items()
    ]
    if not scored:
        return None
    lacking, _, _, origin = min(scored)
    return origin if len(use.traces) - lacking >= PRODUCER_SHARE * known else None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    for _, leaf in leaves(value):
        if isinstance(leaf, str):
            yield leaf


def absent_fields(examined: Examined) -> Iterator[Norm]:
    """A call that lacks an argument which calls of that tool have."""
    for tool in tools_of(examined.traces):
        calls = [call for trace in examined.traces for call in trace.tools(tool)]
        given = [call.input for call in calls if isinstance(call.input, dict)]
        counts = Counter(key for one in given for key in one)
        usual = [key for key in sorted(counts) if counts[key] >= 0.9 * len(given)]
        if len(given) < MOST_CALLS or all(counts[key] == len(given) for key in usual):
            continue
        yield Norm(
            detector="missing-argument",
            lens="missing-context",
            kind=f"{tool} without a usual argument",
            about=f"arguments of {tool}",
            statement=f"Pass = every call of {tool} names {', '.join(usual)}.",
            code_eval={
                "primitive": "schema-conformance",
                "field": path_of(tool, ("input",)),
                "required_keys": usual,
            },
            fault=f"a call of {tool} lacks an argument that its other calls have",
            dimension="data-correctness",
        )


def malformed(examined: Examined) -> Iterator[Norm]:
    """An argument that has another form than it has elsewhere: no email address, no date."""
    values: dict[tuple[str, Steps], list[str]] = defaultdict(list)
    for trace in examined.traces:
        for call in trace.tools():
            for steps, value in leaves(call.input, ("input",)):
                if isinstance(value, str) and not any(isinstance(s, Each) for s in steps):
                    values[call.name, steps].append(value)
    for (tool, steps), found in sorted(values.items(), key=repr):
        for form, pattern in FORMS.items():
            fit = sum(re.search(pattern, value) is not None for value in found)
            if fit >= MOST_CALLS and 0.8 * len(found) <= fit < len(found):
                place = named(tool, steps)
                yield Norm(
                    detector="malformed-argument",
                    lens="missing-context",
                    kind=f"{place} is no {form}",
                    about=f"form of {place}",
                    statement=f"Pass = {place} is a well-formed {form}.",
                    code_eval={
                        "primitive": "format-validity",
                        "field": path_of(tool, steps),
                        "pattern": pattern,
                        "on_missing": "na",
                    },
                    fault=f"{place} is no well-formed {form}",
                    dimension="data-correctness",
                )


def other_results(examined: Examined) -> Iterator[Norm]:
    """A result that names another value than the call gave under the same name."""
    agree: Counter[tuple[str, Steps]] = Counter()
    differ: Counter[tuple[str, Steps]] = Counter()
    for trace in examined.traces:
        for call in trace.tools():
            given = {s[1:]: v for s, v in leaves(call.input, ("input",)) if isinstance(v, str)}
            for steps, value in leaves(call.output, ("output",)):
                if steps[1:] in given and isinstance(value, str):
                    (agree if given[steps[1:]] == value else differ)[call.name, steps[1:]] += 1
    for tool, steps in sorted(differ, key=repr):
        if agree[tool, steps] < MOST_CALLS:
            continue
        place = named(tool, ("input", *steps))
        yield Norm(
            detector="other-result",
            lens="tool-output-failure",
            kind=f"{place} comes back changed",
            about=f"result of {place}",
            statement=f"Pass = the result of {tool} names the {spelled(steps)} of the call.",
            code_eval={
                "primitive": "ref-integrity",
                "producer": path_of(tool, ("input", *steps)),
                "consumer": path_of(tool, ("output", *steps)),
                "on_missing": "na",
            },
            fault=f"the result of {tool} names another {spelled(steps)} than the call",
            weight=2,
            dimension="data-correctness",
        )


DETECTORS = (malformed, referents, absent_fields, other_results)
