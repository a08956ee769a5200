"""Files as they are found: kinds, compression, damage, and what names nothing."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard
from reading_of import read_bytes, read_paths, registry

from helix.errors import FormatError, TraceError, UnknownNameError
from helix.ingest import Input, jsonstream
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace


def record(name: str, **more: Any) -> dict[str, Any]:
    return {"schemaVersion": "1.0", "id": name, "input": {"prompt": "go"}, "output": {}, **more}


def line(name: str, **more: Any) -> bytes:
    return json.dumps(record(name, **more)).encode()


def chat(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]


A, B, C = line("a"), line("b"), line("c")
END = len(A)
PRETTY = json.dumps([record("a"), record("b"), record("c")], indent=1).encode()

SOUND: dict[str, bytes] = {
    "JSON Lines": b"\n".join([A, B, C]) + b"\n",
    "no newline at the end": b"\n".join([A, B, C]),
    "a byte order mark": b"\xef\xbb\xbf" + b"\n".join([A, B, C]),
    "CRLF": b"\r\n".join([A, B, C, b""]),
    "blank lines": b"\n\n" + A + b"\n \n\n" + B + b"\n\t\n" + C + b"\n\n",
    "a list on one line": b"[" + b",".join([A, B, C]) + b"]",
    "a list with a mark and a newline": b"\xef\xbb\xbf[" + b", ".join([A, B, C]) + b"]\n",
    "a list, one element a line": b"[\n" + b",\n".join([A, B, C]) + b"\n]\n",
    "a list over many lines": PRETTY,
    "documents one after another": b"\n".join(
        json.dumps(record(name), indent=2).encode() for name in "abc"
    ),
    "lists on lines": b"[" + A + b"]\n[" + B + b"," + C + b"]\n",
}


@pytest.mark.parametrize("name", ["traces.json", "traces.jsonl"])
@pytest.mark.parametrize("kind", SOUND)
def test_the_content_says_what_a_file_is_and_not_its_name(
    tmp_path: Path, kind: str, name: str
) -> None:
    traces, failures = read_bytes(SOUND[kind], tmp_path, name)
    assert failures == []
    assert [trace.id for trace in traces] == ["a", "b", "c"]


@pytest.mark.parametrize("kind", SOUND)
def test_cutting_a_stream_into_values_does_not_depend_on_where_its_reads_end(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = read_bytes(SOUND[kind], tmp_path)
    for size in (1, 2, 7, 64):
        monkeypatch.setattr(jsonstream, "CHUNK", size)
        again, failures = read_bytes(SOUND[kind], tmp_path)
        assert failures == []
        assert [(t.id, t.source) for t in again] == [(t.id, t.source) for t in whole]


def test_the_digest_is_that_of_the_records_own_bytes_wherever_it_stands(tmp_path: Path) -> None:
    digests = set()
    for kind in ("JSON Lines", "CRLF", "a list on one line", "a byte order mark", "lists on lines"):
        traces, _ = read_bytes(SOUND[kind], tmp_path)
        digests.add(tuple(trace.source.digest for trace in traces))
    assert len(digests) == 1


def test_a_records_line_is_where_it_starts_and_0_for_a_document(tmp_path: Path) -> None:
    def lines(data: bytes) -> list[int]:
        return [trace.source.line for trace in read_bytes(data, tmp_path)[0]]

    assert lines(SOUND["blank lines"]) == [3, 6, 8]
    assert lines(SOUND["a list, one element a line"]) == [2, 3, 4]
    assert lines(json.dumps(record("a"), indent=1).encode()) == [0]
    assert lines(json.dumps(chat("one conversation")).encode()) == [0]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".zst", zstandard.compress), (".json", gzip.compress)],
)
@pytest.mark.parametrize("kind", ["JSON Lines", "a list over many lines"])
def test_compressed_files_are_read_by_their_first_bytes(
    tmp_path: Path, suffix: str, pack: Any, kind: str
) -> None:
    traces, failures = read_bytes(pack(SOUND[kind]), tmp_path, f"traces{suffix}")
    assert failures == []
    assert [trace.id for trace in traces] == ["a", "b", "c"]


def test_several_compressed_frames_are_one_stream(tmp_path: Path) -> None:
    for pack in (gzip.compress, zstandard.compress):
        traces, failures = read_bytes(pack(A + b"\n") + pack(B + b"\n"), tmp_path, "t.gz")
        assert failures == []
        assert [trace.id for trace in traces] == ["a", "b"]


BAD: dict[str, tuple[bytes, list[str], list[tuple[int, int | None, str]]]] = {
    "a bad line": (A + b'\n{"id": oops}\n' + C, ["a", "c"], [(2, 7, "not JSON")]),
    "a bad first line": (b'{"id": \n' + B + b"\n" + C, ["b", "c"], [(1, 6, "not JSON")]),
    "prose before the lines": (b"log started\n" + B + b"\n" + C, ["b", "c"], [(1, 0, "not JSON")]),
    "a cut last line": (A + b"\n" + B + b"\n" + C[:-9], ["a", "b"], [(3, END - 13, "cut off?")]),
    "not UTF-8": (A + b"\n" + b'{"id": "\xe9"}\n' + C, ["a", "c"], [(2, 8, "not UTF-8")]),
    "UTF-8 cut in a list": (
        b"[" + A + b',\n{"id": "x\xc3"},\n' + C + b"]",
        ["a", "c"],
        [(2, 9, "not UTF-8")],
    ),
    "a bad element": (
        b"[" + A + b',{"id": oops},' + C + b"]",
        ["a", "c"],
        [(1, END + 9, "not JSON")],
    ),
    "a cut list": (
        b"[" + A + b"," + B + b"," + C[:-9],
        ["a", "b"],
        [(1, 2 * END + 3, "does not end")],
    ),
    "a list not closed": (b"[" + A + b"," + B, ["a", "b"], [(1, 2 * END + 2, "not closed")]),
    "a comma missing": (b"[" + A + b" " + B + b"]", ["a", "b"], [(1, END + 2, "comma is missing")]),
    "a value missing": (
        b"[" + A + b",," + B + b"]",
        ["a", "b"],
        [(1, END + 2, "value is missing")],
    ),
    "a comma too many": (b"[" + A + b",]", ["a"], [(1, END + 2, "value is missing")]),
    "a record in no format": (A + b'\n{"x": 1}\n' + C, ["a", "c"], [(2, None, "helix:")]),
    "a first record in no format": (b'{"x": 1}\n' + A, ["a"], [(1, None, "keys x")]),
    "a wrong first element": (b'[{"x": 1},' + A + b"]", ["a"], [(1, None, "helix:")]),
    "a field of a wrong type": (
        A + b"\n" + line("b", metadata=3),
        ["a"],
        [(2, None, "metadata must be an object (got 3)")],
    ),
    "another major version": (
        A + b"\n" + line("b", schemaVersion="2.0"),
        ["a"],
        [(2, None, "schemaVersion must be 1.x (got '2.0')")],
    ),
    "a document that is cut": (PRETTY[: len(PRETTY) // 2], ["a"], [(10, 1, "does not end")]),
    "an empty file": (b"", [], [(0, None, "empty")]),
    "blanks alone": (b" \n\n", [], [(0, None, "empty")]),
    "an empty list": (b"[]", [], [(0, None, "empty list")]),
    "no JSON": (b"<html></html>", [], [(1, 0, "not JSON")]),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_bad_is_named_by_line_and_byte_and_the_rest_is_read(
    tmp_path: Path, kind: str
) -> None:
    data, good, expected = BAD[kind]
    traces, failures = read_bytes(data, tmp_path)
    assert [trace.id for trace in traces] == good
    assert [(f.line, f.byte) for f in failures] == [(at, byte) for at, byte, _ in expected]
    for failure, (_, _, reason) in zip(failures, expected, strict=True):
        assert reason in failure.reason
        assert failure.file == str(tmp_path / "traces.jsonl")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_cut_compressed_file_keeps_what_was_whole_and_says_so(tmp_path: Path, pack: Any) -> None:
    lines = b"\n".join(line(f"t{i}", input=os.urandom(400).hex()) for i in range(4000))
    packed = pack(lines)
    traces, failures = read_bytes(packed[: len(packed) // 2], tmp_path, "t.gz")
    assert len(traces) > 500
    assert failures
    assert failures[-1].line in (0, len(traces) + 1)


@pytest.mark.parametrize("shape", [b"%s\n", b"[%s]"], ids=["lines", "list"])
def test_a_record_over_the_limit_is_refused_before_it_is_held(
    tmp_path: Path, shape: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonstream, "RECORD_LIMIT", 1 << 20)
    bomb = gzip.compress(shape % line("big", input="x" * (8 << 20)))
    assert len(bomb) < 1 << 16
    traces, failures = read_bytes(bomb, tmp_path, "bomb.gz")
    assert traces == []
    assert "1 MiB" in failures[0].reason


@pytest.mark.parametrize("shape", [b"%s\n", b"%s\n{}\n", b"[%s]"], ids=["one", "lines", "list"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_of_a_record_over_the_limit_no_more_is_held_than_three_times_the_limit(
    tmp_path: Path, shape: bytes, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 16 << 20
    monkeypatch.setattr(jsonstream, "RECORD_LIMIT", limit)
    (tmp_path / "bomb.jsonl.gz").write_bytes(pack(shape % line("big", input="x" * (4 * limit))))
    tracemalloc.start()
    try:
        traces, failures = read_paths(str(tmp_path))
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert traces == [] and "16 MiB" in failures[0].reason
    assert held < 3 * limit


def test_after_a_line_over_the_limit_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonstream, "RECORD_LIMIT", 1 << 20)
    data = b"\n".join([A, line("big", input="x" * (5 << 20)), C])
    traces, failures = read_bytes(data, tmp_path)
    assert [trace.id for trace in traces] == ["a", "c"]
    assert [(f.line, f.reason) for f in failures] == [(2, "the line is longer than 1 MiB")]


def test_nesting_too_deep_is_a_failure_and_no_crash(tmp_path: Path) -> None:
    deep = b'{"id": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    traces, failures = read_bytes(b"\n".join([A, deep, C]), tmp_path)
    assert [trace.id for trace in traces] == ["a", "c"]
    assert [f.line for f in failures] == [2]


def test_a_folder_gives_its_trace_files_in_order_and_leaves_the_others(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "b/10.jsonl", "a.json", ".hidden/x.json", "notes.txt", "z.ndjson"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(line(name))
    traces, failures = read_paths(str(tmp_path))
    assert [trace.id for trace in traces] == ["a.json", "z.ndjson", "b/10.jsonl", "b/2.jsonl"]
    assert failures == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("*.json", ["1"]), ("**/*.json", ["1", "2"]), ("**/[2-3].json*", ["2", "3"])],
)
def test_globs_reach_into_folders_with_two_stars(
    tmp_path: Path, pattern: str, expected: list[str]
) -> None:
    (tmp_path / "in").mkdir()
    for name in ("1.json", "in/2.json", "in/3.jsonl"):
        (tmp_path / name).write_bytes(line(Path(name).stem))
    traces, _ = read_paths(str(tmp_path / pattern))
    assert [trace.id for trace in traces] == expected


def test_a_file_whose_name_holds_glob_characters_is_found_by_that_name(tmp_path: Path) -> None:
    (tmp_path / "run[1].json").write_bytes(A)
    assert [t.id for t in read_paths(str(tmp_path / "run[1].json"))[0]] == ["a"]


def test_a_file_that_several_words_name_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_bytes(A)
    (tmp_path / "2.json").write_bytes(B)
    words = [str(tmp_path / "2.json"), str(tmp_path), str(tmp_path / "*.json")]
    opened = Input.open(words, "auto", registry())
    assert opened.files == (str(tmp_path / "2.json"), str(tmp_path / "1.json"))
    assert [t.id for t in opened if isinstance(t, Trace)] == ["b", "a"]


def test_an_input_can_be_read_again_with_the_same_result(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(BAD["a bad line"][0])
    opened = Input.open(str(tmp_path), "auto", registry())
    first, second = list(opened), list(opened)
    assert [i.to_dict() if isinstance(i, Trace) else i for i in first] == [
        i.to_dict() if isinstance(i, Trace) else i for i in second
    ]


def test_standard_input_is_read_as_often_as_needed_and_leaves_nothing_behind() -> None:
    opened = Input.open("-", "auto", registry(), stdin=io.BytesIO(A + b"\n" + B))
    for _ in range(2):
        traces = [item for item in opened if isinstance(item, Trace)]
        assert [(t.id, t.source.file) for t in traces] == [("a", "-"), ("b", "-")]
    spooled = opened._found[0].path
    assert os.path.exists(spooled)
    del opened, traces
    assert not os.path.exists(spooled)


def test_a_pipe_named_as_a_file_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(A,))
    writer.start()
    opened = Input.open(str(pipe), "auto", registry())
    writer.join()
    for _ in range(2):
        assert [t.id for t in opened if isinstance(t, Trace)] == ["a"]


def test_links_that_lead_out_of_a_folder_are_named_and_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.json").write_bytes(line("secret"))
    (inside / "own.json").write_bytes(line("own"))
    (inside / "alias.json").symlink_to(inside / "own.json")
    (inside / "file.json").symlink_to(outside / "secret.json")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    traces, failures = read_paths(str(inside))
    assert [trace.id for trace in traces] == ["own"]
    assert sorted(Path(f.file).name for f in failures) == ["file.json", "folder"]
    assert all("leads out" in f.reason for f in failures)


def test_a_file_named_alone_that_holds_no_trace_stops_the_run(tmp_path: Path) -> None:
    for name, data, kind, told in (
        ("unknown.json", b'{"foo": 1, "bar": 2}', FormatError, "keys foo, bar (25 are known"),
        ("bad.json", b'{"id": 1,', TraceError, "line 1 byte 0"),
        ("prose.txt", b"hello", TraceError, "not JSON"),
        ("v2.json", line("x", schemaVersion="2.0"), TraceError, "schemaVersion must be 1.x"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(kind) as error:
            read_paths(str(path))
        assert str(path) in str(error.value)
        assert told in str(error.value)
        assert read_paths(str(tmp_path / f"*{name}"))[0] == []


@pytest.mark.parametrize("data", [b"", b"[]", b" \n"])
def test_an_empty_file_holds_no_traces_and_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "empty.json").write_bytes(data)
    traces, failures = read_paths(str(tmp_path / "empty.json"))
    assert traces == []
    assert [Path(f.file).name for f in failures] == ["empty.json"]
    assert "empty" in failures[0].reason


def test_a_file_that_cannot_be_opened_stops_the_run_alone_and_is_a_failure_in_a_glob(
    tmp_path: Path,
) -> None:
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        read_paths(str(tmp_path / "gone.json"))


def test_what_matches_nothing_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "traces.jsonl").write_bytes(A)
    (tmp_path / "folder").mkdir()
    for word, told in (
        ("trace.jsonl", "matches no file; did you mean 'traces.jsonl'?"),
        ("foldr/x.json", "matches no file; did you mean 'folder'?"),
        ("*.yaml", "the glob"),
        ("fold*", "matches only folders"),
        ("folder", "holds no file that ends in .json"),
    ):
        with pytest.raises(TraceError) as error:
            Input.open(str(tmp_path / word), "auto", registry())
        assert told in str(error.value)
    with pytest.raises(TraceError, match="must name"):
        Input.open([], "auto", registry())


def test_a_format_that_is_named_is_used_and_an_unknown_name_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(json.dumps({"messages": chat("hi")}).encode())
    traces, _ = read_paths(str(tmp_path), format="openai_chat")
    assert traces[0].input == {"prompt": "hi"}
    assert read_paths(str(tmp_path), format="tau_bench")[0] == []
    with pytest.raises(UnknownNameError, match="did you mean 'openai_chat'"):
        Input.open(str(tmp_path), "openai_chats", registry())


def test_a_named_format_reads_a_list_that_it_would_not_have_recognised(tmp_path: Path) -> None:
    calls = [{"role": "assistant", "content": "alone"}]
    traces, failures = read_bytes(
        json.dumps(calls).encode(), tmp_path, "t.json", format="openai_chat"
    )
    assert failures == []
    assert [t.output for t in traces] == [{"response": "alone"}]


def test_failures_of_one_file_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helix.ingest.reading.MAX_FAILURES", 5)
    _, failures = read_bytes(A + b"\n" + b"{\n" * 100, tmp_path)
    assert len(failures) == 6
    assert "the rest was not tried" in failures[-1].reason
    assert isinstance(failures[-1], LoadFailure)
