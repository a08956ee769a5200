"""Who&When: 13 recorded multi-agent runs, their mistakes counted from 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_paths, read_value

from helix.model.trace import Trace

MESSAGES = {
    "algorithm_generated_112.json": 10, "algorithm_generated_21.json": 6,
    "algorithm_generated_38.json": 6, "algorithm_generated_44.json": 10,
    "algorithm_generated_78.json": 10, "algorithm_generated_80.json": 8,
    "algorithm_generated_93.json": 6, "algorithm_generated_99.json": 7,
    "hand_crafted_14.json": 32, "hand_crafted_3.json": 93, "hand_crafted_33.json": 9,
    "hand_crafted_34.json": 5, "hand_crafted_48.json": 5,
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(shared: Path) -> list[tuple[dict[str, Any], Trace]]:
    traces, failures = read_paths(str(shared / "traces/who_and_when"))
    assert failures == []
    return [(json.loads(Path(t.source.file).read_text(encoding="utf-8")), t) for t in traces]


def test_every_sample_holds_its_messages_and_no_call(runs: list[tuple[Any, Trace]]) -> None:
    found = {Path(t.source.file).name: len(t.transcript) for _, t in runs}
    assert found == MESSAGES
    for run, trace in runs:
        assert [m.text for m in trace.transcript] == [m["content"] for m in run["history"]]
        assert (trace.observations, trace.all_flags) == ([], ())
        assert trace.id == trace.task == run["question_ID"]
        assert trace.input == {"prompt": run["question"]}


def test_the_mistaken_step_is_a_text_that_counts_from_0_and_names_the_agent(
    runs: list[tuple[Any, Trace]],
) -> None:
    for run, trace in runs:
        step = trace.labels["mistake_step"]
        assert step == run["mistake_step"]
        assert isinstance(step, str)
        spoke = next(m for m in trace.transcript if m.id == f"m{step}")
        assert spoke.role.lower().startswith(trace.labels["mistake_agent"].lower())


def test_who_spoke_is_the_role_and_the_sources_own_role_stays(
    runs: list[tuple[Any, Trace]],
) -> None:
    people = 0
    for run, trace in runs:
        for at, (message, said) in enumerate(zip(run["history"], trace.transcript, strict=True)):
            people += said.role == "user"
            told = trace.raw.get("messages", {}).get(f"m{at}", {}).get("role", said.role)
            assert told == message["role"]
            assert said.role in (message.get("name"), message["role"], "user")
    assert people == 5


def test_the_answer_and_the_mistake_are_labels(runs: list[tuple[Any, Trace]]) -> None:
    for run, trace in runs:
        told = {k: v for k, v in run.items() if k.startswith(("mistake_", "is_correct"))}
        assert trace.labels == told | {"ground_truth": run["ground_truth"]}
        assert "mistake" not in json.dumps(trace.raw)


def test_the_response_is_what_was_said_before_the_stop_mark(
    runs: list[tuple[Any, Trace]],
) -> None:
    stopped = 0
    for run, trace in runs:
        said = [m["content"] for m in run["history"]]
        stopped += said[-1] == "TERMINATE"
        assert trace.output == {"response": said[-2] if said[-1] == "TERMINATE" else said[-1]}
        assert [m.text for m in trace.transcript if m.control] == [
            text for text in said if text == "TERMINATE"
        ]
    assert stopped == 6


def test_parts_without_a_place_and_broken_messages(tmp_path: Path) -> None:
    run = {
        "question": "q",
        "mistake_step": "0",
        "history": [
            {"role": "human", "content": [{"type": "image", "url": "https://x.test/i.png"}]},
            {"role": "user", "name": "Agent", "content": None, "time": "noon"},
        ],
    }
    trace = read_value(run, tmp_path)
    assert trace.all_flags == ("derived-id",)
    assert [(m.role, m.text) for m in trace.transcript] == [
        ("user", "[image: https://x.test/i.png]"),
        ("Agent", ""),
    ]
    assert trace.raw["messages"] == {
        "m0": {"role": "human", "content": run["history"][0]["content"]},  # type: ignore[index]
        "m1": {"role": "user", "time": "noon"},
    }
    traces, failures = read_paths(str(tmp_path))
    assert (len(traces), failures) == (1, [])
