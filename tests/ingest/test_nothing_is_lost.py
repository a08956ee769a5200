"""Every text of a sample that a person could cite is reached by a path of its traces.

What is left out is left out by a rule, and counted here per format. Repeated history needs no
rule: what is said twice in the source is reached once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from leaves import LEAST, Reached, documents, is_time, is_word_of_the_format, strings
from samples import SAMPLES, TRACES, loaded

from helix.model.select import ADDRESSABLE
from helix.model.trace import Trace

FORMATS = sorted({formats[0] for formats in SAMPLES.values()})


def is_demonstration(document: Any, path: tuple[str | int, ...]) -> bool:
    """Whether a leaf belongs to a message that was put in to show how it is done."""
    if path[:1] != ("history",) or not isinstance(path[1], int):
        return False
    return bool(document["history"][path[1]].get("is_demo"))


RULES: dict[str, Callable[[Any, tuple[str | int, ...], str, Reached], bool]] = {
    "label": lambda _, path, text, reached: reached.is_label(text),
    "time": lambda _, path, text, reached: is_time(text),
    "word of the format": lambda _, path, text, reached: is_word_of_the_format(path, text),
    "step of a path": lambda _, path, text, reached: reached.is_key(text),
    "demonstration": lambda document, path, text, reached: is_demonstration(document, path),
}


def unreached(path: str) -> Iterator[tuple[str | None, tuple[str | int, ...], str]]:
    """Every leaf of a sample that no path reaches, with the rule that leaves it out, if any."""
    traces, failures = loaded(path)
    reached = Reached(traces)
    damaged = {failure.line for failure in failures}
    for document, line in documents(TRACES / path):
        if line in damaged:
            continue
        for at, text in strings(document):
            if len(text) >= LEAST and not reached.holds(text):
                rule = next(
                    (r for r, fits in RULES.items() if fits(document, at, text, reached)), None
                )
                yield rule, at, text


@pytest.mark.parametrize("path", [p for p in SAMPLES if "no-samples" not in p])
def test_every_text_is_reached_by_a_path_or_left_out_by_a_rule(path: str) -> None:
    lost = [(at, text[:80]) for rule, at, text in unreached(path) if rule is None]
    assert lost == []


# Labels are kept as labels; a time is a number; a step of a path is a key under `raw`.
LEFT_OUT: dict[str, dict[str, int]] = {
    "agentrx": {"label": 51, "word of the format": 140},
    "atif": {"label": 3},
    "claude_code": {"step of a path": 90, "word of the format": 200},
    "codex": {"word of the format": 1749},
    "inspect": {"label": 268},
    "langfuse": {"label": 166, "time": 432},
    "openai_responses": {"word of the format": 8},
    "openinference": {"time": 48, "word of the format": 235},
    "otel_genai": {"time": 26, "word of the format": 133},
    "swe_agent": {"demonstration": 1},
    "tau_bench": {"label": 47, "word of the format": 119},
    "trajectory_judge": {"label": 141},
    "unitf": {"label": 66, "time": 693},
    "who_and_when": {"label": 21},
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_left_out_by_rule_is_counted(name: str) -> None:
    paths = [p for p, formats in SAMPLES.items() if formats[0] == name and "no-samples" not in p]
    counts = Counter(rule for path in paths for rule, _, _ in unreached(path) if rule)
    assert dict(counts) == LEFT_OUT.get(name, {})


@pytest.mark.parametrize("part", ["observations", "raw"])
def test_a_trace_that_lacks_a_part_is_found_out(part: str) -> None:
    path = next((p for p in SAMPLES if p.startswith("openhands/trajs/wrong")), None)
    if path is None:
        pytest.skip("../shared is not here")
    (trace,), _ = loaded(path)
    parts = {root: trace.part(root) for root in ADDRESSABLE}
    lame = Trace(trace.id, trace.source)
    lame._parts = {**parts, part: None}
    (document, _), *_ = documents(TRACES / path)
    whole, missing = (Reached([t]) for t in (trace, lame))
    lost = [text for _, text in strings(document) if whole.holds(text) and not missing.holds(text)]
    assert lost != []
