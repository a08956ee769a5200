"""Every shared ingest case that the chat formats and Helix' own can express."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from neutral import NEUTRAL, as_chat, as_helix
from reading_of import read_bytes, read_paths, read_value

from helix.model.canonical import canonical_text
from helix.model.jsontext import NonFinite
from helix.model.trace import Trace


@pytest.fixture(scope="session")
def cases(shared: Path) -> Path:
    return shared / "cases" / "trace_ingest"


def case(cases: Path, name: str) -> dict[str, Any]:
    found = next(cases.glob(f"{name}-*.json"))
    return json.loads(found.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def outputs(trace: Trace) -> dict[str, Any]:
    return {o.id: o.output_text for o in trace.tools()}


@pytest.mark.parametrize("spelled", [as_chat, as_helix])
def test_t01_four_spellings_of_no_arguments_are_four_calls_without_arguments(
    cases: Path, tmp_path: Path, spelled: Any
) -> None:
    told = case(cases, "T01")
    trace = read_value(spelled(told["input"]["trace"]), tmp_path)
    calls = trace.tools("list_lockers")
    assert len(calls) == told["expected"]["calls"]
    assert [call.input for call in calls] == told["expected"]["normalised_args"]
    assert all("invalid-arguments" not in call.flags for call in calls)


def test_t03_a_line_that_is_not_utf8_is_named_and_the_others_are_read(cases: Path) -> None:
    folder = cases / "T03-invalid-utf8-line"
    expected = json.loads((folder / "case.json").read_text(encoding="utf-8"))["expected"]
    traces, failures = read_paths(str(folder / "*.jsonl"), NEUTRAL)
    assert [trace.id for trace in traces] == expected["ingested"]
    assert [
        {"file": Path(f.file).name, "line": f.line, "byte_in_line": f.byte} for f in failures
    ] == expected["rejected"]
    assert "�" not in json.dumps([trace.to_dict() for trace in traces])


@pytest.mark.parametrize("spelled", [as_chat, as_helix])
def test_t04_half_a_surrogate_pair_and_control_characters_survive_and_are_flagged(
    cases: Path, tmp_path: Path, spelled: Any
) -> None:
    told = case(cases, "T04")["input"]["trace"]
    trace = read_value(spelled(told), tmp_path)
    assert "lone-surrogate" in trace.flags
    assert trace.observations[0].output == {"text": told["steps"][0]["text"]}
    assert trace.transcript[-1].text == told["steps"][1]["text"]
    json.loads(canonical_text(trace.to_dict()))


def test_t05_numbers_that_json_does_not_have_are_flagged_and_big_ones_stay_exact(
    cases: Path, tmp_path: Path
) -> None:
    told = case(cases, "T05")
    traces, failures = read_bytes(
        told["input"]["text"].encode(), tmp_path, told["input"]["file_name"], NEUTRAL
    )
    assert failures == []
    assert traces[0].flags == ("non-finite-number",)
    found = traces[0].observations[0].output
    assert [found["ph"], found["flow"], found["level"]] == ["NaN", "-Infinity", "1e999"]
    assert all(isinstance(found[key], NonFinite) for key in ("ph", "flow", "level"))
    assert str(found["count"]) == told["expected"]["integer_exact"]
    json.loads(canonical_text(traces[0].to_dict()), parse_constant=pytest.fail)


def test_t06_parallel_results_pair_by_id_and_the_calls_share_their_turn(
    cases: Path, tmp_path: Path
) -> None:
    told = case(cases, "T06")
    trace = read_value(as_chat(told["input"]["trace"]), tmp_path)
    assert outputs(trace) == told["expected"]["pairs"]
    assert len({call.parent_id for call in trace.tools()}) == 1
    assert trace.all_flags == ()
    turn = next(m for m in trace.transcript if m.role == "assistant")
    assert turn.text == ""
    assert turn.observation_ids == ("c1", "c2", "c3")


def test_t07_without_ids_alternating_calls_pair_by_position_and_parallel_ones_do_not(
    cases: Path, tmp_path: Path
) -> None:
    parallel, alternating = (v["trace"] for v in case(cases, "T07")["input"]["variants"])
    trace = read_value(as_chat(parallel), tmp_path)
    assert [call.has_output for call in trace.tools("depth")] == [False, False]
    assert [call.flags for call in trace.tools("depth")] == [("ambiguous-pairing",)] * 2
    astray = [o for o in trace.observations if o.type != "TOOL"]
    assert [o.output for o in astray] == [{"text": "11 m"}, {"text": "22 m"}]
    assert [o.flags for o in astray] == [("ambiguous-pairing",)] * 2
    trace = read_value(as_chat(alternating), tmp_path)
    assert [(c.output_text, c.flags) for c in trace.tools("depth")] == [
        ("11 m", ("paired-by-position",)),
        ("22 m", ("paired-by-position",)),
    ]


def test_t08_a_reused_id_leaves_its_result_with_neither_and_a_retry_counts_twice(
    cases: Path, tmp_path: Path
) -> None:
    reused, retried = (v["trace"] for v in case(cases, "T08")["input"]["variants"])
    trace = read_value(as_chat(reused), tmp_path)
    sent = trace.tools("send")
    assert [call.input["to"] for call in sent] == ["desk", "archive"]
    assert all({"duplicate-call-id", "ambiguous-pairing"} <= set(call.flags) for call in sent)
    assert not any(call.has_output for call in sent)
    assert len({o.id for o in trace.observations}) == 3
    assert trace.observations[-1].output == {"text": "sent"}
    trace = read_value(as_chat(retried), tmp_path)
    assert [(c.output_text, c.error, c.status) for c in trace.tools("send")] == [
        ("timeout", "timeout", "error"),
        ("sent", None, "ok"),
    ]
    assert trace.all_flags == ()


@pytest.mark.parametrize("variant", [0, 1, 2])
def test_t10_sequence_beats_time_and_a_tie_of_neither_is_flagged(
    cases: Path, tmp_path: Path, variant: int
) -> None:
    told = case(cases, "T10")["input"]["variants"][variant]
    trace = read_value(as_helix(told["trace"]), tmp_path)
    if told["expected"]["state"] == "incomplete":
        tied = {o.id for o in trace.observations if "ambiguous-order" in o.flags}
        assert tied == {"x1", "x2"}
        assert trace.observations[0].id == "root"
    else:
        assert [o.id for o in trace.observations] == told["expected"]["order"]
        assert trace.all_flags == ()


def test_t12_ids_are_stripped_text_and_a_missing_one_is_derived_from_the_content(
    cases: Path, tmp_path: Path
) -> None:
    files = case(cases, "T12")["input"]["files"]
    for name, trace in files.items():
        (tmp_path / name).write_text(json.dumps(trace), encoding="utf-8")
    traces, _ = read_paths(str(tmp_path), NEUTRAL)
    assert [trace.id for trace in traces[:3]] == ["1", "1", "1"]
    data = json.dumps(files["d.json"]).encode()
    assert traces[3].id == f"trace-{hashlib.sha256(data).hexdigest()[:12]}"
    assert traces[3].flags == ("derived-id",)
    again, _ = read_paths(str(tmp_path), NEUTRAL)
    assert again[3].id == traces[3].id


@pytest.mark.parametrize("spelled", [as_chat, as_helix])
def test_t13_a_huge_trace_is_read_whole(cases: Path, tmp_path: Path, spelled: Any) -> None:
    told = case(cases, "T13")
    recipe = told["input"]["recipe"]
    repeat, big = recipe["repeat_step"], recipe["big_result"]
    steps = [
        {"id": f"s{i}", "kind": "message", "role": "assistant", "text": f"tick {i}"}
        for i in range(repeat["count"])
    ]
    text = big["fill"] * (big["bytes"] // len(big["fill"])) + big["tail_text"]
    call = {"id": "call", "kind": "call", "tool": big["tool"], "call_id": big["call_id"]}
    result = {"id": "result", "kind": "result", "call_id": big["call_id"], "text": text}
    steps[recipe["insert_at"] : recipe["insert_at"]] = [call, result]
    assert len(steps) == told["expected"]["ingested_steps"]
    trace = read_value(spelled({"trace_id": recipe["trace_id"], "steps": steps}), tmp_path)
    said = [m for m in trace.transcript if m.text.startswith("tick ")]
    assert len(said) == repeat["count"]
    results = [o.output_text for o in trace.observations if o.has_output]
    assert results == [text]


def test_t15_offered_tools_and_prose_are_no_calls_and_every_part_of_a_result_is_kept(
    cases: Path, tmp_path: Path
) -> None:
    told = case(cases, "T15")["input"]["trace"]
    chat = as_chat(told)
    chat["tools"] = [{"type": "function", "function": {"name": "refund"}}]
    trace = read_value(chat, tmp_path)
    assert (len(trace.tools("refund")), len(trace.tools("lookup"))) == (0, 1)
    text = trace.tools("lookup")[0].output_text or ""
    image = told["steps"][2]["content"][1]
    assert text.splitlines()[0] == "order 5: paid"
    assert text.splitlines()[2] == "see label"
    digest = hashlib.sha256(b"\x89PNG\r\n\x1a\n").hexdigest()
    assert text.splitlines()[1] == f"[image/png: 8 bytes, sha256 {digest}]"
    assert image["base64"] in json.dumps(trace.raw)
    assert trace.raw["tools"] == chat["tools"]
    assert trace.output == {"response": told["steps"][3]["text"]}
