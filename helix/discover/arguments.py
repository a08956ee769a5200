"""Detectors of wrong arguments: no referent, no such field, no such form; results that differ."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from helix.discover.calls import Steps, leaves, named, path_of, spelled, tools_of
from helix.discover.norms import Examined, Norm
from helix.fieldpath import Each
from helix.model.trace import Observation, Trace

_LONGEST = 80
_REFERENT = re.compile(r"(?=.*[\d@])[^\s]{4,80}")
_COMPUTED = re.compile(r"\d{4}-\d\d-\d\d.*|[\d.,:+-]+|https?://.*", re.DOTALL)
MOST_CALLS = 5
Origin = tuple[str, Steps]
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
    """How one argument was used: in which traces, and in which its values came from where.

    `odd` are traces in which it does not look like a reference, `nowhere` those in which nothing
    earlier held it; `made` counts for each producer the traces in which all values came from it.
    """

    traces: set[str] = field(default_factory=set)
    odd: set[str] = field(default_factory=set)
    nowhere: set[str] = field(default_factory=set)
    made: Counter[Origin] = field(default_factory=Counter)


def referents(examined: Examined) -> Iterator[Norm]:
    """An id or address that no earlier message or result of the run produced."""
    uses: dict[Origin, _Use] = defaultdict(_Use)
    for trace in examined.traces:
        _look_up(trace, uses)
    for (tool, steps), use in sorted(uses.items(), key=repr):
        if len(use.odd) * 4 > len(use.traces):
            continue
        if use.nowhere:
            yield _from_nowhere(tool, steps, None)
        producer = _producer(use)
        if producer is not None and use.made[producer] < len(use.traces):
            yield _from_nowhere(tool, steps, producer)


def _from_nowhere(tool: str, steps: Steps, producer: tuple[str, Steps] | None) -> Norm:
    place = named(tool, steps)
    code_eval: dict[str, object] = {
        "primitive": "value-flow",
        "tool": tool,
        "argument": spelled(steps),
    }
    kind = f"{place} from nowhere"
    origin = "was said or returned earlier in the run"
    fault = "nothing earlier in the run said or returned"
    if producer is not None:
        kind = f"{place} not from {producer[0]}"
        code_eval = {
            "primitive": "ref-integrity",
            "producer": path_of(*producer),
            "consumer": path_of(tool, steps),
        }
        origin = f"{producer[0]} returned before the call"
        fault = f"no earlier call of {producer[0]} returned"
    return Norm(
        detector="missing-referent",
        lens="missing-context",
        kind=kind,
        about=f"origin of {place}",
        statement=f"Pass = {place} holds what {origin}.",
        code_eval={**code_eval, "on_missing": "na"},
        fault=f"{place} holds what {fault}",
        strength="rule",
        dimension="data-correctness",
        weight=1 if producer is None else 2,
    )


def _look_up(trace: Trace, uses: dict[Origin, _Use]) -> None:
    """Note of each argument that looks like a reference where its values came from."""
    told = _Told(trace)
    origins: dict[Origin, set[Origin]] = {}
    for call in trace.tools():
        told.up_to(call)
        for steps, value in leaves(call.input, ("input",)):
            if not isinstance(value, str) or not value:
                continue
            place = (call.name, steps)
            use = uses[place]
            use.traces.add(trace.id)
            if not _REFERENT.fullmatch(value) or _COMPUTED.fullmatch(value):
                use.odd.add(trace.id)
                continue
            found: set[Origin] = told.produced.get(value, set())
            origins[place] = origins[place] & found if place in origins else set(found)
            if not found and not told.said(value):
                use.nowhere.add(trace.id)
    for place, makers in origins.items():
        uses[place].made.update(makers)


class _Told:
    """What was said and returned in a trace before a call, gathered as the calls go by."""

    def __init__(self, trace: Trace) -> None:
        self._messages = deque(sorted(trace.transcript, key=lambda message: message.seq))
        self._calls = deque(sorted(trace.tools(), key=lambda call: call.seq))
        self._texts = list(_texts(trace.input))
        self.produced: dict[str, set[Origin]] = defaultdict(set)

    def up_to(self, call: Observation) -> None:
        """Take in what came before a call; calls of its own turn run beside it."""
        while self._messages and self._messages[0].seq < call.seq:
            self._texts.append(self._messages.popleft().text)
        while self._calls and self._calls[0].seq < call.seq:
            if self._calls[0].beside(call):
                break
            self._take(self._calls.popleft())

    def said(self, value: str) -> bool:
        """Whether a value stands anywhere in what came before."""
        return any(value in text for text in self._texts)

    def _take(self, call: Observation) -> None:
        for steps, value in leaves(call.output, ("output",)):
            if isinstance(value, str):
                self._texts.append(value)
                if len(value) <= _LONGEST:
                    self.produced[value].add((call.name, steps))


def _producer(use: _Use) -> Origin | None:
    """Return what nearly all values came from that came from anywhere, the fewest steps first."""
    known = len(use.traces) - len(use.nowhere)
    ranked = sorted(
        (-count, len(origin[1]), repr(origin), origin) for origin, count in use.made.items()
    )
    if known < 2 or not ranked or -ranked[0][0] < PRODUCER_SHARE * known:
        return None
    return ranked[0][3]


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
