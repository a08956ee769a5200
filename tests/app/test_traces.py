"""`helix traces`: what it prints, as text and as JSON, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix.app.cli import main

CHAT: dict[str, Any] = {
    "id": "run-1",
    "messages": [
        {"role": "user", "content": "Is it open?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"at": "door"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "locked", "is_error": True},
        {"role": "assistant", "content": "It is \x1b[31mlocked\u202e."},
    ],
}
LEFT = {"id": "run-2", "messages": [CHAT["messages"][0], CHAT["messages"][1]]}


@pytest.fixture()
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, [CHAT, LEFT])), encoding="utf-8")
    return path


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["traces", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code, out, _ = ran(capsys, *words, "--json")
    assert code == 0
    return json.loads(out)


def test_detect_says_which_format_and_why(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    found = as_json(capsys, "detect", str(file))
    reason = "messages[] with role and content"
    assert found == {"files": [{"file": str(file), "format": "openai_chat", "reason": reason}]}
    code, out, err = ran(capsys, "detect", str(file))
    assert (code, err) == (0, "")
    assert out == f"openai_chat  {file}: {reason}\n"


@pytest.mark.parametrize("command", ["detect", "stats", "convert", "show"])
def test_what_no_format_recognises_exits_2_and_says_what_was_seen(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "labels.json"
    path.write_text('{"verdict": true}', encoding="utf-8")
    code, out, err = ran(capsys, command, str(path))
    assert code == 2
    assert "saw an object with keys verdict" in out + err
    assert "name one with --format NAME" in out + err
    assert "are known: helix plugins lists them" in out + err


def test_a_path_that_names_nothing_exits_2(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    code, out, err = ran(capsys, "stats", str(file.with_name("runz.jsonl")))
    assert (code, out) == (2, "")
    assert "the path" in err and "did you mean 'runs.jsonl'?" in err
    assert "subject.traces" not in err


def test_stats_count_everything_once(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    with open(file, "ab") as more:
        more.write(b"\n{cut off\n")
    (file.parent / "other.json").write_text('{"verdict": true}', encoding="utf-8")
    found = as_json(capsys, "stats", str(file.parent))
    other, runs = found["files"]
    assert runs == {
        "file": str(file),
        "format": "openai_chat",
        "traces": 2,
        "observations": 2,
        "toolCalls": 2,
        "errors": 1,
        "flags": {"missing-result": 1},
        "failures": 1,
    }
    assert (other["format"], other["traces"], other["failures"]) == (None, 0, 1)
    assert found["totals"]["files"] == 2
    assert (found["totals"]["toolCalls"], found["totals"]["failures"]) == (2, 2)
    assert [problem["line"] for problem in found["problems"]] == [0, 3]
    code, out, err = ran(capsys, "stats", str(file.parent))
    assert code == 0
    assert "flags: missing-result 1" in out
    assert f"{file} line 3 byte" in err


def test_a_recognised_file_of_which_nothing_can_be_read_exits_0_and_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"messages": [{"role": "user", "content": "hi"}, 7]}', encoding="utf-8")
    bad = '{"messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": "a"},'
    path.write_text(bad + '{"role": "user", "content": "b"}, 7]}', encoding="utf-8")
    for command in ("stats", "convert"):
        code, _, err = ran(capsys, command, str(path))
        assert code == 0
        assert "messages[3] must be an object" in err
    assert as_json(capsys, "stats", str(path))["totals"]["failures"] == 1


def test_several_paths_and_a_named_format(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    other = file.with_name("more.json")
    other.write_text(json.dumps(CHAT | {"id": "run-3"}), encoding="utf-8")
    found = as_json(capsys, "stats", str(file), str(other), "--format", "openai_chat")
    assert [told["traces"] for told in found["files"]] == [2, 1]
    code, _, err = ran(capsys, "stats", str(file), "--format", "openai_chats")
    assert code == 2
    assert "did you mean 'openai_chat' or " in err


def test_show_draws_one_trace_and_nothing_in_it_acts_on_the_terminal(
    capsys: pytest.CaptureFixture[str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    code, out, err = ran(capsys, "show", str(file), "run-1")
    assert (code, err) == (0, "")
    assert out.splitlines()[3:] == [
        "",
        "0 user [m0] Is it open?",
        "1 assistant [m1]",
        '  2 TOOL look [c1] {"at":"door"}',
        "    error: locked",
        "3 assistant [m3] It is \\x1b[31mlocked\\u202e.",
        "",
        "output.response: It is \\x1b[31mlocked\\u202e.",
    ]
    assert all(len(line) <= 60 for line in out.splitlines())


def test_show_needs_an_id_where_there_are_several(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    code, out, err = ran(capsys, "show", str(file))
    assert (code, out) == (2, "")
    assert "ID must name one of 2 traces: run-1, run-2" in err
    code, out, err = ran(capsys, "show", str(file), "run-11")
    assert code == 2
    assert "did you mean 'run-1'?" in err
    assert as_json(capsys, "show", str(file), "run-2")["id"] == "run-2"
    chat = {"messages": [{"role": "user", "content": "Open the shop."}]}
    many = [json.dumps({"id": f"talk-{n}", **chat}) for n in range(21)]
    file.write_text("\n".join(many), encoding="utf-8")
    assert "one of 21 traces: talk-0, " in (err := ran(capsys, "show", str(file))[2])
    assert err.endswith(", talk-19, …\n")


def test_convert_writes_what_reads_back_to_the_same_bytes(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    first, second = file.with_name("first.jsonl"), file.with_name("second.jsonl")
    summary = as_json(capsys, "convert", str(file), "--out", str(first))
    assert (summary["traces"], summary["failures"], summary["out"]) == (2, 0, str(first))
    as_json(capsys, "convert", str(first), "--out", str(second))
    assert first.read_bytes() == second.read_bytes()
    code, out, err = ran(capsys, "convert", str(file))
    assert (code, err) == (0, "2 traces, 0 load failures\n")
    assert out.encode() == first.read_bytes()
    assert as_json(capsys, "detect", str(first))["files"][0]["format"] == "helix"


def test_convert_to_otel_reads_back_to_the_same_observations(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    spans, back = file.with_name("spans.jsonl"), file.with_name("back.jsonl")
    as_json(capsys, "convert", str(file), "--to", "otel", "--out", str(spans))
    assert as_json(capsys, "detect", str(spans))["files"][0]["format"] == "otel_genai"
    for path in (file, spans):
        as_json(capsys, "convert", str(path), "--out", str(back))
        records = [json.loads(line) for line in back.read_text(encoding="utf-8").splitlines()]
        told = [(r["id"], r["observations"], r["transcript"]) for r in records]
        if path == file:
            wanted = told
    assert told == wanted


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--json",), "--out FILE must say where"),
        (("--out", "no/such/folder/x.jsonl"), "--out must be in a folder that exists"),
    ],
)
def test_convert_says_what_to_type(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    code, out, err = ran(capsys, "convert", str(file), *words)
    assert (code, out) == (2, "")
    assert told in err


def test_standard_input_is_read(
    capsys: pytest.CaptureFixture[str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(file, "rb") as source:
        monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": source})())
        found = as_json(capsys, "stats", "-")
    assert found["files"][0]["traces"] == 2
