"""Damaged copies of the span samples: whatever stands in a span, its trace or a failure comes out.

Attributes hold JSON inside JSON, so values are swapped there as well.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from otlp_files import any_value
from reading_of import read_bytes

from helix.errors import HelixError

ROUNDS = 60
FOLDER = "traces/otlp_spans"
SAMPLES = (
    "agentpile/pydantic_ai_2.58.0.json", "agentpile/openai_agents_0.24.0_oi_2.5.3.jsonl",
    "vercel_ai_v6_js_spans/ai-generateText-doGenerate.json",
    "vercel_ai_v6_js_spans/ai-streamText.json",
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, "", "x", [], {}, [None], [[]], {"a": None}, "[", "{}", "[{}]",
    '[{"role":"user"}]', '{"role":"tool"}', [{"role": "assistant", "tool_calls": [None, 1, {}]}],
    "\ud800", 10**30, {"type": "tool_call"}, [{"type": "tool_result"}], any_value({"a": [1]}),
)  # fmt: skip
Steps = tuple[str | int, ...]


def places(value: Any, at: Steps = ()) -> Iterator[Steps]:
    """The path of every value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        yield (*at, key)
        if isinstance(item, dict | list):
            yield from places(item, (*at, key))


def swap(document: Any, chance: random.Random) -> None:
    """Put an odd value in the place of one; in a text that is JSON, of one inside it."""
    *above, last = chance.choice(list(places(document)))
    holder = document
    for step in above:
        holder = holder[step]
    inner = None
    if isinstance(holder[last], str) and chance.random() < 0.7:
        try:
            inner = json.loads(holder[last])
        except ValueError:
            inner = None
    if isinstance(inner, dict | list) and inner:
        swap(inner, chance)
        holder[last] = json.dumps(inner)
    else:
        holder[last] = chance.choice(ODD)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_swapped_value_is_a_trace_or_told(shared: Path, tmp_path: Path, name: str) -> None:
    chance = random.Random(name)
    text = (shared / FOLDER / name).read_text(encoding="utf-8")
    lines = text.splitlines() if name.endswith("l") else [text]
    whole = 0
    for _ in range(ROUNDS):
        documents = [json.loads(line) for line in lines]
        for _ in range(chance.randint(1, 4)):
            swap(chance.choice(documents), chance)
        data = "\n".join(map(json.dumps, documents)).encode()
        try:
            found, failures = read_bytes(data, tmp_path)
        except HelixError as error:
            assert "could not look" not in str(error)
            continue
        assert not any("cannot read it" in failure.reason for failure in failures)
        assert found or failures
        whole += len(found)
        for trace in found:
            json.dumps(trace.to_dict())
    assert whole > ROUNDS // 2
