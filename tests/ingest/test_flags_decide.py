"""From a file to a verdict: what a trace cannot tell makes a check uncertain, no pass, no fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import helix

SUITE = """\
suite: flags
version: 1
criteria:
  - criterion_id: asked
    statement: Pass = the door was looked at.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: "obs:look@first.input.at"}
  - criterion_id: found-open
    statement: Pass = the look found it open.
    severity: HIGH
    class: code
    code_eval: {primitive: string-equality, field: "obs:look.output.text", expected: open}
  - criterion_id: looked-first
    statement: Pass = nothing is opened before it was looked at.
    severity: HIGH
    class: code
    may_not_apply: true
    code_eval: {primitive: required-order, first: {tool: look}, then: {tool: enter}}
"""
Told = dict[str, tuple[str, str | None]]


def judged(folder: Path, lines: list[Any], **subject: Any) -> tuple[Told, str | None]:
    """Each criterion's state and cause in the one trace of a file; why it is not whole, if so."""
    traces, suite = folder / "traces.jsonl", folder / "suite.yaml"
    traces.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    suite.write_text(SUITE, encoding="utf-8")
    done = helix.evaluate(traces, suite, run_dir=folder / "run", subject=subject)
    (line,) = done.verdicts()
    causes = {verdict.criterion_id: verdict.cause for verdict in line.verdicts}
    told = {name: (state, causes.get(name)) for name, state in line.dense_map.items()}
    return told, line.fidelity.reason


def call(key: str | None, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {**({"id": key} if key else {}), "type": "function", "function": function}


def chat(*keys: str | None) -> dict[str, Any]:
    """Two looks in one turn, then their results: open and open."""
    results = [
        {"role": "tool", "content": "open", **({"tool_call_id": key} if key else {})}
        for key in keys
    ]
    made = [call(key, "look", at=side) for key, side in zip(keys, ("left", "right"), strict=True)]
    opened = [{"role": "user", "content": "Which door is open?"}]
    return {"id": "t", "messages": [*opened, {"role": "assistant", "tool_calls": made}, *results]}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("a", "b"), ("pass", None)),
        (("a", "a"), ("uncertain", "ambiguous-order")),
        ((None, None), ("uncertain", "ambiguous-order")),
    ],
    ids=["ids", "one id twice", "no ids"],
)
def test_a_result_that_may_belong_to_either_call_decides_nothing(
    tmp_path: Path, keys: tuple[str | None, ...], expected: tuple[str, str | None]
) -> None:
    told, _ = judged(tmp_path, [chat(*keys)])
    assert told["found-open"] == expected
    # What does not depend on the results is decided all the same.
    assert told["asked"] == ("pass", None)


def span(number: int, name: str, start: int, parent: str = "") -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": '{"at": "left"}',
        "gen_ai.tool.call.result": "open",
    }
    return {
        "traceId": "0" * 31 + "1",
        "spanId": f"{number:016x}",
        "parentSpanId": parent,
        "name": f"execute_tool {name}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
        "status": {},
    }


@pytest.mark.parametrize(
    ("looked", "entered", "expected"),
    [
        (1000, 2000, ("pass", None)),
        (2000, 1000, ("fail", None)),
        (1000, 1000, ("uncertain", "ambiguous-order")),
    ],
    ids=["before", "after", "at the same time"],
)
def test_an_order_that_no_time_tells_decides_nothing(
    tmp_path: Path, looked: int, entered: int, expected: tuple[str, str | None]
) -> None:
    spans = [span(1, "look", looked), span(2, "enter", entered)]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    told, _ = judged(tmp_path, [document])
    assert told["looked-first"] == expected
    assert told["found-open"] == ("pass", None)


def test_a_trace_that_says_it_is_cut_is_not_judged(tmp_path: Path) -> None:
    record = {"id": "t", "flags": ["truncated"], "observations": [{"name": "look"}]}
    told, reason = judged(tmp_path, [record])
    assert reason == "the trace carries the flag 'truncated'"
    assert {state for state, _ in told.values()} == {"uncertain"}


@pytest.mark.parametrize("named", [True, False])
def test_a_configured_marker_decides_whether_a_recorded_session_is_whole(
    tmp_path: Path, shared: Path, named: bool
) -> None:
    sample = (shared / "traces/mutagent_unitf/traces.jsonl").read_text(encoding="utf-8")
    record = json.loads(sample.splitlines()[0])
    fields = {"truncation_fields": ["raw.ext.eval.incomplete"]} if named else {}
    _, reason = judged(tmp_path, [record], **fields)
    assert reason == ("the trace says raw.ext.eval.incomplete=true" if named else None)
