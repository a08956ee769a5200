"""Inspect logs: one sample and epoch is one trace, as .json and as .eval; scorers are labels."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard
from leaves import leaves
from reading_of import read_bytes, read_paths, read_value

from helix.ingest import jsonstream
from helix.model.trace import Trace

# file, traces, messages, tool calls, declared errors, flags
SAMPLES: dict[str, tuple[int, int, int, int, set[str]]] = {
    "analysis__test_logs__2025-05-12T20-28-13-04-00_popularity.json": (3, 9, 0, 0, set()),
    "analysis__test_logs__2025-05-12T20-28-26-04-00_security-guide.json": (3, 9, 0, 0, set()),
    "analysis__test_logs_choices__mmlu-summary-choices.eval": (1, 2, 0, 0, set()),
    "log__test_eval_log__log_formats.json": (1, 3, 0, 0, set()),
    "log__test_eval_log__log_images.json": (1, 3, 0, 0, set()),
    "log__test_eval_log__log_images_tc.json": (1, 3, 0, 0, set()),
    "log__test_eval_log__log_message_deduplication.eval": (1, 7, 5, 0, set()),
    "log__test_eval_log__log_read_sample.json": (1, 3, 0, 0, set()),
    "log__test_eval_log__log_tool_call_error.json": (1, 0, 0, 11, {"orphan-result"}),
    "log__test_list_logs__2024-11-05T13-31-45-05-00_input-task_8zXjbRzCWrL9GXiXo2vus9.json": (
        1, 3, 0, 0, set(),
    ),
    "log__test_list_logs__ignore.json": (1, 3, 0, 0, set()),
    "scorer__logs__2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval": (
        10, 30, 0, 0, set(),
    ),
}  # fmt: skip
EMPTY = "analysis__test_logs__2025-05-12T20-28-13-04-00_no-samples.json"


def traces_of(shared: Path, name: str) -> list[Trace]:
    traces, failures = read_paths(str(shared / "traces" / "inspect_logs" / name))
    assert failures == []
    return traces


def samples_of(shared: Path, name: str) -> list[Any]:
    """The samples of a log, read by the standard library alone."""
    path = shared / "traces" / "inspect_logs" / name
    if path.suffix == ".json":
        found: list[Any] = json.loads(path.read_text(encoding="utf-8"))["samples"]
        return found
    archive = zipfile.ZipFile(path)
    return [json.loads(archive.read(n)) for n in archive.namelist() if n.startswith("samples/")]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_log_has_the_counts_of_the_table(shared: Path, name: str) -> None:
    traces = traces_of(shared, name)
    found = (
        len(traces),
        sum(len(trace.transcript) for trace in traces),
        sum(len(trace.tools()) for trace in traces),
        sum(1 for trace in traces for o in trace.observations if o.status == "error"),
        {flag for trace in traces for flag in trace.all_flags},
    )
    assert found == SAMPLES[name]
    assert {trace.source.format for trace in traces} == {"inspect"}


@pytest.mark.parametrize("name", SAMPLES)
def test_messages_calls_and_results_are_those_of_the_samples(shared: Path, name: str) -> None:
    for sample, trace in zip(samples_of(shared, name), traces_of(shared, name), strict=True):
        said = [m for m in sample["messages"] if m["role"] != "tool"]
        assert [m.role for m in trace.transcript] == [m["role"] for m in said]
        plain = [m["content"] for m in said if isinstance(m["content"], str)]
        assert [m.text for m in trace.transcript if "[image" not in m.text] == plain
        calls = [c for m in said for c in m.get("tool_calls") or ()]
        assert [(o.id, o.name, o.input) for o in trace.tools()] == [
            (c["id"], c["function"], c["arguments"]) for c in calls
        ]
        results = [m for m in sample["messages"] if m["role"] == "tool"]
        assert [o.output_text for o in trace.observations] == [m["content"] for m in results]
        errors = [m["error"]["message"] for m in results if m.get("error")]
        assert [o.error for o in trace.observations if o.error] == errors
        assert trace.task is not None
        assert trace.task.endswith(f"/{sample['id']}")
        if "uuid" in sample:
            assert trace.id == sample["uuid"]


def shown(trace: Trace) -> set[str]:
    roots = ("input", "output", "observations", "transcript", "metadata", "usage", "raw")
    return {text for root in roots for text in leaves(trace.part(root))}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_text_of_a_sample_is_reachable_or_a_label(shared: Path, name: str) -> None:
    for sample, trace in zip(samples_of(shared, name), traces_of(shared, name), strict=True):
        held = shown(trace)
        lost = {text for text in leaves(sample) if len(text) >= 8} - held
        assert lost <= set(leaves(trace.labels))


@pytest.mark.parametrize("name", SAMPLES)
def test_target_and_scores_are_labels_alone(shared: Path, name: str) -> None:
    for sample, trace in zip(samples_of(shared, name), traces_of(shared, name), strict=True):
        assert trace.labels["target"] == sample["target"]
        assert trace.labels.get("scores", {}) == (sample.get("scores") or {})
        text = json.dumps(trace.raw)
        assert '"target"' not in text
        assert '"score"' not in text
        assert '"scores"' not in text
        for score in (sample.get("scores") or {}).values():
            explained = score.get("explanation") or ""
            if explained != trace.output.get("response"):
                assert not explained or explained not in shown(trace)


def test_what_a_grading_model_was_asked_is_a_label_and_costs_nothing(shared: Path) -> None:
    name = "analysis__test_logs__2025-05-12T20-28-26-04-00_security-guide.json"
    for sample, trace in zip(samples_of(shared, name), traces_of(shared, name), strict=True):
        asked = [e for e in sample["events"] if e["event"] == "model"]
        assert trace.usage["promptTokens"] == asked[0]["output"]["usage"]["input_tokens"]
        assert len([e for e in trace.raw["events"] if e["event"] == "model"]) == 1
        graded = [e for e in trace.labels["events"] if e.get("event") == "model"]
        assert len(graded) == 1
        assert not any("[Expert]" in text for text in shown(trace))


def test_calls_have_the_times_of_their_tool_events(shared: Path) -> None:
    name = "log__test_eval_log__log_message_deduplication.eval"
    trace, sample = traces_of(shared, name)[0], samples_of(shared, name)[0]
    events = [e for e in sample["events"] if e["event"] == "tool"]
    assert len(events) == 5
    for event, call in zip(events, trace.tools(), strict=True):
        assert call.id == event["id"]
        started, ended = (datetime.fromisoformat(event[k]) for k in ("timestamp", "completed"))
        assert (
            call.end_time - call.start_time == (ended - started) // timedelta(microseconds=1) * 1000
        )
    # Six model calls name 1 + 3 + … + 11 messages of the pool; each is said once.
    assert sum(r[1] - r[0] for e in sample["events"] for r in e.get("input_refs", ())) == 36
    assert len(trace.transcript) + len(trace.tools()) == 12
    assert trace.raw["leftOut"]["repeatedTexts"] > 30


def test_an_image_stands_in_the_message_as_a_placeholder_and_is_kept(shared: Path) -> None:
    for name in ("log__test_eval_log__log_images.json", "log__test_eval_log__log_images_tc.json"):
        trace = traces_of(shared, name)[0]
        assert trace.transcript[1].text.splitlines()[1].startswith("[image/png: 6395 bytes, sha")
        assert any(text.startswith("data:image/png") for text in shown(trace))


def test_a_log_without_samples_is_recognised_and_is_a_failure(shared: Path) -> None:
    traces, failures = read_paths(str(shared / "traces" / "inspect_logs" / EMPTY))
    assert traces == []
    assert [f.reason for f in failures] == ["an empty list holds no trace"]


# --- made here ---


def log(*samples: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "t", "eval_id": "e"},
            "plan": {}, "samples": list(samples)}  # fmt: skip


def sample(name: Any = 1, epoch: int = 1, **parts: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    return {"id": name, "epoch": epoch, "target": "42", "messages": said, **parts}


def test_each_epoch_is_a_trace_and_a_bad_sample_fails_alone(tmp_path: Path) -> None:
    bad = sample(3, messages=[{"content": "no role"}])
    data = json.dumps(log(sample(), sample(epoch=2), {"epoch": 1}, bad)).encode()
    traces, failures = read_bytes(data, tmp_path, "log.json")
    assert [(t.id, t.task) for t in traces] == [("e-1-1", "t/1"), ("e-1-2", "t/1")]
    assert [f.reason for f in failures] == [
        "inspect: samples[2]: a sample must be an object with an id",
        "inspect: samples[3]: message m0 must have a role",
    ]


def test_references_are_looked_up_in_the_attachments_and_unknown_ones_stay(tmp_path: Path) -> None:
    key, gone = "a" * 32, "b" * 32
    said = [
        {"role": "user", "content": f"attachment://{key}"},
        {"role": "user", "content": f"attachment://{gone}"},
    ]
    made = sample(messages=said, attachments={key: "a long question"})
    trace = read_value(log(made), tmp_path)
    assert [m.text for m in trace.transcript] == ["a long question", f"attachment://{gone}"]


def test_without_messages_the_last_model_call_of_the_run_is_read_from_the_pool(
    tmp_path: Path,
) -> None:
    pool = [{"role": "user", "content": "q1"}, {"role": "assistant", "content": "a1"},
            {"role": "user", "content": "q2"}]  # fmt: skip
    answer = {"choices": [{"message": {"role": "assistant", "content": "a2"}}]}
    events = [
        {"event": "model", "input": [], "input_refs": [[0, 1]], "output": {}},
        {"event": "model", "input": [], "input_refs": [[0, 2], [2, 3]], "output": answer},
        {"event": "span_begin", "id": "s", "span_id": "s", "type": "scorers", "name": "scorers"},
        {"event": "model", "span_id": "s", "input": [{"role": "user", "content": "grade 42"}]},
    ]
    made = sample(messages=[], events=events, events_data={"messages": pool, "calls": ["c" * 9]})
    trace = read_value(log(made), tmp_path)
    assert [m.text for m in trace.transcript] == ["q1", "a1", "q2", "a2"]
    assert "grade 42" not in json.dumps(trace.part("raw"))
    assert trace.raw["call_pool"] == ["c" * 9]


def test_a_call_that_only_an_event_knows_is_kept_with_no_certain_place(tmp_path: Path) -> None:
    events = [
        {"event": "subtask", "events": [
            {"event": "tool", "id": "x", "function": "dig", "arguments": {"n": 1}, "result": "",
             "error": {"type": "timeout", "message": "too slow"},
             "timestamp": "2026-01-01T00:00:00Z", "completed": "2026-01-01T00:00:02Z"}]},
    ]  # fmt: skip
    trace = read_value(log(sample(events=events)), tmp_path)
    (call,) = trace.tools("dig")
    assert (call.input, call.error, call.status) == ({"n": 1}, "too slow", "error")
    assert call.flags == ("ambiguous-order",)
    assert call.end_time - call.start_time == 2 * 10**9


def test_reasoning_and_calls_inside_of_a_message_are_not_its_text(tmp_path: Path) -> None:
    content = [
        {"type": "reasoning", "reasoning": "I should search"},
        {"type": "text", "text": "Found."},
        {"type": "tool_use", "id": "s1", "name": "web_search", "arguments": "{\"q\": \"x\"}",
         "result": "[1]", "error": None},
    ]  # fmt: skip
    said = [{"role": "assistant", "content": content, "tool_calls": [
        {"id": "c", "function": "run", "arguments": {}, "parse_error": "not JSON"}]}]  # fmt: skip
    trace = read_value(log(sample(messages=said)), tmp_path)
    assert trace.transcript[0].text == "Found."
    assert [(o.id, o.name, o.input, o.output, o.flags) for o in trace.observations] == [
        ("c", "run", {}, None, ("invalid-arguments", "missing-result")),
        ("s1", "web_search", {"q": "x"}, [1], ()),
    ]
    assert "I should search" in json.dumps(trace.raw)


# --- archives ---

HEADER = {key: value for key, value in log().items() if key != "samples"}


def archive(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of the entries; Zstandard ones are put in by hand, as the zip format says."""
    if method != 93:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as made:
            for name, data in entries:
                made.writestr(name, data)
        return buffer.getvalue()
    body, directory = b"", b""
    for name, data in entries:
        packed, spelled = zstandard.compress(data), name.encode()
        sizes = struct.pack("<HHIII", 0, 0, zlib.crc32(data), len(packed), len(data))
        common = struct.pack("<HHH", 63, 0, 93) + sizes + struct.pack("<HH", len(spelled), 0)
        place = struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common + place + spelled
        body += b"PK\x03\x04" + common + spelled + packed
    count, size = len(entries), len(directory)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, size, len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def three(**parts: Any) -> list[tuple[str, bytes]]:
    made = [(f"samples/{n}_epoch_1.json", as_bytes(sample(n, **parts))) for n in (1, 2)]
    return [
        ("_journal/start.json", b"{}"),
        *made,
        ("header.json", json.dumps(HEADER, indent=1).encode()),
    ]


@pytest.mark.parametrize("method", [0, 8, 93], ids=["stored", "deflated", "Zstandard"])
def test_an_archive_gives_the_same_traces_as_the_log_whatever_its_compression(
    method: int, tmp_path: Path
) -> None:
    traces, failures = read_bytes(archive(*three(), method=method), tmp_path, "a.eval")
    assert failures == []
    assert [(t.id, t.source.line) for t in traces] == [("e-1-1", 1), ("e-2-1", 2)]
    plain, _ = read_bytes(as_bytes(log(sample(1), sample(2))), tmp_path / "b", "b.json")
    assert [t.to_dict() for t in traces] == [t.to_dict() for t in plain]


def test_a_bad_entry_fails_alone_and_is_named(tmp_path: Path) -> None:
    good = three()
    entries = [("samples/x.json", b'{"id": '), *good]
    data = archive(*entries, method=0)
    at = data.index(as_bytes(sample(2)))
    damaged = data[: at + 9] + b"#" + data[at + 10 :]
    traces, failures = read_bytes(damaged, tmp_path, "a.eval")
    assert [t.id for t in traces] == ["e-1-1"]
    assert [f.line for f in failures] == [1, 3]
    assert failures[0].reason.startswith("not JSON")
    assert failures[1].reason == (
        "samples/2_epoch_1.json: the entry is damaged (its checksum differs)"
    )


@pytest.mark.parametrize("method", [8, 93], ids=["deflated", "Zstandard"])
def test_an_entry_that_grows_without_end_is_stopped(
    method: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonstream, "RECORD_LIMIT", 1 << 20)
    bomb = ("samples/0_epoch_1.json", b"[" * (1 << 24))
    traces, failures = read_bytes(archive(bomb, *three(), method=method), tmp_path, "a.eval")
    assert len(traces) == 2
    assert failures[0].reason == "samples/0_epoch_1.json: the sample is larger than 1 MiB"


def directory_of(data: bytes) -> tuple[int, bytes, bytes]:
    """Return where the directory of an archive begins, the directory, and the record behind it."""
    end = data.rindex(b"PK\x05\x06")
    (start,) = struct.unpack("<L", data[end + 16 : end + 20])
    return start, data[start:end], data[end:]


def test_a_directory_that_grows_without_end_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = archive(*three())
    start, listed, end = directory_of(data)
    many = listed * 100
    size = struct.pack("<L", len(many))
    monkeypatch.setattr("helix.ingest.archive.DIRECTORY_LIMIT", len(many) - 1)
    bomb = data[:start] + many + end[:12] + size + end[16:]
    traces, failures = read_bytes(bomb, tmp_path / "bomb", "a.eval")
    assert traces == []
    assert [f.reason.partition(" than ")[0] for f in failures] == [
        "the archive's directory is larger"
    ]
    assert len(read_bytes(data, tmp_path / "plain", "a.eval")[0]) == 2


def test_entries_that_share_bytes_are_not_inflated_again_and_again(tmp_path: Path) -> None:
    data = archive(*three())
    start, listed, end = directory_of(data)
    heads = [at for at in range(len(listed)) if listed.startswith(b"PK\x01\x02", at)]
    one, two = heads[1:3]
    listed = listed[: two + 42] + listed[one + 42 : one + 46] + listed[two + 46 :]
    traces, failures = read_bytes(data[:start] + listed + end, tmp_path, "a.eval")
    assert len(traces) == 1
    assert [f.reason for f in failures] == [
        "samples/2_epoch_1.json: the entry shares its bytes with another"
    ]


def test_the_header_may_be_the_journals_and_the_last_entry_of_a_name_counts(
    tmp_path: Path,
) -> None:
    name, start = "samples/1_epoch_1.json", ("_journal/start.json", as_bytes(HEADER))
    entries = [start, (name, as_bytes(sample(1))), (name, as_bytes(sample(7)))]
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = archive(*entries)
    traces, failures = read_bytes(data, tmp_path, "a.eval")
    assert ([t.id for t in traces], failures) == (["e-7-1"], [])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (archive(*three())[:-30], "damaged or cut off"),
        (b"PK\x03\x04", "damaged or cut off"),
        (archive(("a.json", b"{}")), "is no Inspect log"),
        (archive(("header.json", b"[]")), "header.json: not an object"),
        (archive(("header.json", as_bytes(HEADER))), "an empty list holds no trace"),
        (archive(("header.json", b"{}"), method=93)[:60], "damaged or cut off"),
        (archive(*three(), method=12), "compression method 12 is not read"),
    ],
    ids=["cut", "stub", "no header", "a list", "no sample", "Zstandard cut", "bzip2"],
)  # fmt: skip
def test_an_archive_that_is_no_log_is_a_failure_in_words(
    data: bytes, reason: str, tmp_path: Path
) -> None:
    traces, failures = read_bytes(data, tmp_path, "a.eval")
    assert traces == []
    assert reason in failures[0].reason
