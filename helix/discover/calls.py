"""What a batch's tool calls look like: values at places, what came earlier, what only reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from helix.checks.success import Outcomes
from helix.checks.verbs import READING, name_words
from helix.fieldpath import EACH, FieldPath, Step, render_steps
from helix.model.trace import Observation, Trace

MOST_LEAVES = 400
Steps = tuple[Step, ...]


def tools_of(traces: Sequence[Trace]) -> list[str]:
    """Return the names of all tools that are called, sorted."""
    return sorted({call.name for trace in traces for call in trace.tools()})


def latest_first(traces: Sequence[Trace], tools: Sequence[str]) -> list[str]:
    """Return tools by how late in a run they are called, the last first: the deeds that count."""
    places: dict[str, list[float]] = {tool: [] for tool in tools}
    for trace in traces:
        calls = trace.tools()
        for at, call in enumerate(calls, 1):
            if call.name in places:
                places[call.name].append(at / len(calls))
    return sorted(tools, key=lambda tool: (-fmean(places[tool] or [0.0]), tool))


def only_reads(tool: str) -> bool:
    """Whether a tool only reads, as the first word of its name says."""
    words = name_words(tool)
    return bool(words) and words[0] in READING


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield the values that hold no other, with the path of each, `[*]` for any place of a list."""
    stack, seen = [(steps, value)], 0
    while stack and seen < MOST_LEAVES:
        here, held = stack.pop()
        if isinstance(held, dict):
            stack.extend(((*here, str(key)), below) for key, below in reversed(held.items()))
        elif isinstance(held, list):
            stack.extend(((*here, EACH), below) for below in reversed(held))
        else:
            seen += 1
            yield here, held


def path_of(tool: str, steps: Steps) -> str:
    """Return the path of a place in the calls of a tool."""
    return str(FieldPath(root=None, steps=steps, observation=tool))


def spelled(steps: Steps) -> str:
    """Return a place inside a call as it is spelled in a check."""
    return render_steps(steps)


def named(tool: str, steps: Steps) -> str:
    """Return a place in the words of a kind: the tool, then the field."""
    return f"{tool}.{render_steps(steps[1:])}" if len(steps) > 1 else tool


def earlier(trace: Trace, call: Observation) -> Iterator[Observation]:
    """Yield the calls that certainly came before a call: not those of the same turn."""
    for other in trace.tools():
        if other.seq < call.seq and not other.beside(call):
            yield other


def failed(trace: Trace) -> list[Observation]:
    """Return the calls that declare that they failed."""
    outcomes = Outcomes(trace, ())
    return [call for call in trace.tools() if outcomes.of(call).state == "fail"]
