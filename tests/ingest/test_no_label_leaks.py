"""No label is in anything that a judge, a criterion or a ref can see, whatever the format.

Every label of every sample is replaced by a canary, and the canary is looked for: in the request
that a judge would get, and below every root that a path may start at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leaves import documents
from reading_of import read_bytes
from samples import SAMPLES, TRACES, loaded

from helix.judging import PacketSettings, build
from helix.judging.packet import sliced
from helix.judging.rendering import render
from helix.model.canonical import canonical_text
from helix.model.config import SubjectConfig
from helix.model.criterion import Criterion
from helix.model.request import Pin, Unit
from helix.model.select import ADDRESSABLE
from helix.model.trace import Trace

CANARY = "canary-7f3a9"
# Where each format holds what is right, or how good the run was; * is every element or value.
LABELS = {
    "agentrx": ["reward", "info.task", "info.reward_info"],
    "atif": ["extra.agentpile.labels", "extra.agentpile.outcome.score"],
    "inspect": [
        "samples.*.target", "samples.*.scores", "results.scores", "reductions",
        "samples.*.events.*.score", "samples.*.events.*.target",
    ],
    "langfuse": ["trace.scores", "scores"],
    "tau_bench": ["reward", "info.task", "info.reward_info"],
    "trajectory_judge": ["label"],
    "unitf": ["ext.eval.results"],
    "who_and_when": [
        "ground_truth", "is_correct", "is_corrected", "mistake_agent", "mistake_step",
        "mistake_reason", "mistake_type",
    ],
}  # fmt: skip
LABELLED = [
    path
    for path, formats in SAMPLES.items()
    if formats[0] in LABELS and not path.endswith(".eval") and "no-samples" not in path
]
PIN = Pin(backend="scripted", model="m", identity="scripted:m")
SETTINGS = PacketSettings(SubjectConfig(name="desk"), PIN, 10_000_000)
ROW = Criterion.model_validate(
    {"criterion_id": "c1", "statement": "Pass = it holds.", "severity": "HIGH", "class": "judge"}
)


def request_of(trace: Trace) -> str:
    """All that a judge would be sent about a trace, by a row that asks for everything too."""
    unit = Unit("judge", "trajectory", trace.id, trace.source.digest, ("c1",), "d", 0)
    everything = ROW.model_copy(update={"judge_inputs": (*ADDRESSABLE, "observations[*][*]")})
    packets = [
        build(trace, (ROW,), {}, SETTINGS),
        build(trace, (everything,), {}, SETTINGS),
        sliced(trace, (everything,), {}, SETTINGS),
    ]
    requests = [render(packet, unit, PIN, ()) for packet in packets]
    return "\n".join(message.content for r in requests for message in r.messages)


def planted(value: Any) -> Any:
    """The value with every leaf replaced by the canary; its shape and its keys stay."""
    if isinstance(value, dict):
        return {key: planted(below) for key, below in value.items()}
    if isinstance(value, list):
        return [planted(below) for below in value]
    return CANARY


def plant(value: Any, steps: list[str]) -> int:
    """Replace what stands at a place; return how often there was something."""
    if not isinstance(value, dict | list):
        return 0
    head, *rest = steps
    if isinstance(value, list):
        keys: list[Any] = list(range(len(value))) if head == "*" else []
        rest = rest if head == "*" else []
    else:
        keys = list(value) if head == "*" else [head] * (head in value)
    found = 0
    for key in keys:
        if rest:
            found += plant(value[key], rest)
        elif value[key] not in (None, [], {}):
            value[key] = planted(value[key])
            found += 1
    return found


def with_canaries(path: str) -> tuple[bytes, int]:
    """A sample as JSON Lines with canaries for labels, and how many labels there were."""
    found, lines = 0, []
    for document, _ in documents(TRACES / path):
        for value in document if isinstance(document, list) else [document]:
            found += sum(plant(value, place.split(".")) for place in LABELS[SAMPLES[path][0]])
        lines.append(json.dumps(document))
    return "\n".join(lines).encode(), found


def visible_parts(trace: Trace) -> Iterator[tuple[str, str]]:
    yield "request", request_of(trace)
    yield "id", trace.id
    for root in ADDRESSABLE:
        yield root, canonical_text(trace.part(root))


@pytest.mark.parametrize("path", LABELLED)
def test_a_label_is_seen_nowhere_but_in_the_labels(path: str, tmp_path: Path) -> None:
    data, found = with_canaries(path)
    traces, failures = read_bytes(data, tmp_path, "sample.jsonl")
    assert failures == []
    assert {trace.source.format for trace in traces} <= set(SAMPLES[path])
    for trace in traces:
        assert [name for name, text in visible_parts(trace) if CANARY in text] == []
    assert any(CANARY in canonical_text(trace.labels) for trace in traces) == (found > 0)


@pytest.mark.parametrize("name", LABELS)
def test_every_format_with_labels_has_a_sample_that_holds_some(name: str) -> None:
    paths = [path for path in LABELLED if SAMPLES[path][0] == name]
    if not paths:
        pytest.skip("../shared is not here")
    assert any(with_canaries(path)[1] for path in paths)


@pytest.mark.parametrize("path", [path for path in SAMPLES if "no-samples" not in path])
def test_a_request_is_made_of_every_sample(path: str) -> None:
    for trace in loaded(path)[0]:
        text = request_of(trace)
        for key in ("ground_truth", "mistake_agent", "mistake_step", "reward_info"):
            assert key not in text
