"""Recordings: made from replies, found by their unit, refused where they contradict."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest

from helix.backends.mailbox import (
    Mailbox,
    Recording,
    RecordingHeader,
    Recordings,
    is_recordings,
    recording,
    write_recordings,
)
from helix.errors import ArtifactError, ConfigError
from helix.model.config import JudgeConfig, VerifierConfig
from helix.model.request import Message, Pending, Pin, Reply, Request, Unavailable, Unit, Usage
from helix.registry import Backend, JudgeSettings, load

HEADER = RecordingHeader(
    recordings="two replies about a test", made_by="ada", made_how="written by hand"
)


def request(number: int, *, prompt: str = "Judge.", **unit: Any) -> Request:
    about = Unit("judge", "trajectory", f"t{number}", f"d{number}", ("a",), "c", 0)
    return Request(
        msgspec.structs.replace(about, **unit),
        Pin("replay", "m-1", "judge"),
        (Message("user", prompt),),
        "n",
    )


def replay(folder: Path | None) -> Backend:
    config = JudgeConfig(backend="replay", dir=None if folder is None else str(folder))
    return load([]).get("judges", "replay").open(JudgeSettings(config, ".helix", "outputs"))


def ask(backend: Backend, one: Request) -> Reply:
    async def main() -> Reply:
        async with backend:
            return await backend.ask(one)

    return asyncio.run(main())


def write(folder: Path, *replies: tuple[Request, Reply], name: str = "r.jsonl") -> Path:
    write_recordings(folder / name, HEADER, [recording(*pair) for pair in replies])
    return folder / name


def test_a_recorded_reply_is_found_whatever_the_prompt(tmp_path: Path) -> None:
    full = Reply(
        "é \ud800 \0",
        finish_reason="length",
        returned_model="m-1-0613",
        reasoning="so",
        usage=Usage(1, 2),
        effective={"temperature": 0},
    )
    write(tmp_path, (request(0), full), (request(1), Reply("plain")))
    found = ask(replay(tmp_path), request(0, prompt="Judge better."))
    assert found == msgspec.structs.replace(full, made_by="ada", source="recorded")
    plain = ask(replay(tmp_path), request(1))
    assert plain == Reply("plain", made_by="ada", source="recorded"), "no model was named"


def test_a_reply_that_names_no_model_replays_under_the_model_that_was_asked(
    tmp_path: Path,
) -> None:
    write(tmp_path, (request(0), Reply("plain")))
    other = msgspec.structs.replace(request(0), pin=Pin("replay", "m-2", "judge"))
    with pytest.raises(Unavailable, match="was asked of the model 'm-1', the pin is 'm-2'"):
        ask(replay(tmp_path), other)


@pytest.mark.parametrize(
    "other",
    [
        request(1),
        request(0, replicate=1),
        request(0, attempt=1),
        request(0, criteria_digest="c2"),
        request(0, trace_digest="d9"),
        request(0, role="verifier"),
        request(0, axis="criterion"),
    ],
)
def test_a_reply_about_another_unit_is_unavailable_and_named(
    tmp_path: Path, other: Request
) -> None:
    write(tmp_path, (request(0), Reply("yes")))
    with pytest.raises(Unavailable) as raised:
        ask(replay(tmp_path), other)
    assert (raised.value.cause, raised.value.retry) == ("unavailable", False)
    assert str(tmp_path) not in raised.value.text, "the text stands in a compared artifact"
    for part in (other.recording_key, f"trace '{other.unit.trace_id}'"):
        assert part in raised.value.text


def test_a_recording_written_twice_is_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    pairs = [(request(n), Reply(f"reply {n}")) for n in range(5)]
    one = write(tmp_path, *pairs, name="one.jsonl")
    other = write(tmp_path, *reversed(pairs), name="other.jsonl")
    assert one.read_bytes() == other.read_bytes()
    header = json.loads(one.read_text("utf-8").splitlines()[0])
    assert header == {
        "schemaVersion": "1.0",
        "recordings": "two replies about a test",
        "madeBy": "ada",
        "madeHow": "written by hand",
    }


def test_who_made_a_reply_can_be_said_of_it_alone(tmp_path: Path) -> None:
    made = recording(request(0), Reply("yes"), made_by="bob", made_how="another way")
    write_recordings(tmp_path / "r.jsonl", HEADER, [made])
    assert ask(replay(tmp_path), request(0)).made_by == "bob"


def test_one_reply_in_two_files_is_one_reply(tmp_path: Path) -> None:
    write(tmp_path, (request(0), Reply("yes")), name="a.jsonl")
    write(tmp_path, (request(0), Reply("yes")), name="b.jsonl")
    assert ask(replay(tmp_path), request(0)).text == "yes"


def test_two_replies_to_one_unit_are_refused_naming_both_lines(tmp_path: Path) -> None:
    a = write(tmp_path, (request(0), Reply("yes")), name="a.jsonl")
    b = write(tmp_path, (request(1), Reply("x")), (request(0), Reply("no")), name="b.jsonl")
    number = 1 + [b'"text":"no"' in line for line in b.read_bytes().splitlines()].index(True)
    key = request(0).recording_key
    with pytest.raises(ArtifactError) as raised:
        replay(tmp_path)
    text = f"{b}, line {number}: key {key} has another reply in {a}, line 2; keep one of them"
    assert str(raised.value) == text


def _line(**changes: Any) -> bytes:
    return json.dumps(msgspec.to_builtins(recording(request(0), Reply("yes"))) | changes).encode()


_HEAD = json.dumps(msgspec.to_builtins(HEADER)).encode()


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "is empty; its first line must say how it was made"),
        ([_line()], "line 1: no header of replies"),
        ([_HEAD, b"{"], "line 2: no recording of replies"),
        ([_HEAD, b"", b"\xff"], "line 3: no recording of replies"),
        ([_HEAD, _HEAD], "line 2: no recording of replies"),
        ([_HEAD, _line(text=7)], r"line 2: no recording of replies: .*\$\.text"),
        ([_HEAD, _line(verdict="pass")], "line 2: no recording of replies: .*verdict"),
        ([_HEAD, _line(schemaVersion="2.0")], r"schemaVersion must be 1\.0 \(got 2\.0\)"),
        ([_HEAD.replace(b"1.0", b"3.1")], r"line 1: schemaVersion must be 1\.0 \(got 3\.1\)"),
        ([_HEAD, _line(key="0" * 64)], "line 2: key must be [0-9a-f]{64}, the digest of its unit"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_line(
    tmp_path: Path, lines: list[bytes], told: str
) -> None:
    (tmp_path / "r.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(ArtifactError, match=told) as raised:
        replay(tmp_path)
    assert str(tmp_path / "r.jsonl") in str(raised.value)


def test_a_folder_that_is_not_named_not_there_or_empty_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"judge\.dir must name the folder"):
        replay(None)
    with pytest.raises(ConfigError, match=r"judge\.dir must be a folder \(got .*nowhere\)"):
        replay(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"judge\.dir must hold recordings"):
        replay(tmp_path)
    settings = JudgeSettings(VerifierConfig(dir=str(tmp_path)), "", "")
    with pytest.raises(ConfigError, match=r"verifier\.dir must hold recordings"):
        load([]).get("judges", "replay").open(settings)


def test_a_miss_can_write_out_a_task_and_wait() -> None:
    written: list[str] = []

    def dispatch(one: Request) -> NoReturn:
        written.append(one.prompt_digest)
        raise Pending(one.prompt_digest)

    with pytest.raises(Pending) as raised:
        ask(Mailbox(lambda one: None, dispatch), request(0))
    assert written == [raised.value.key]


def test_a_recording_is_closed_and_camel_case() -> None:
    line = msgspec.to_builtins(recording(request(0), Reply("yes", finish_reason="stop")))
    assert set(line) == {
        "schemaVersion", "key", "unit", "nonce", "asked", "text", "finishReason",
    }  # fmt: skip
    assert msgspec.convert(line, Recording).unit == request(0).unit


@pytest.mark.parametrize("plant", [Path.mkdir, os.mkfifo])
def test_what_is_no_plain_file_is_named_and_never_opened(tmp_path: Path, plant: Any) -> None:
    plant(tmp_path / "odd.jsonl")
    with pytest.raises(ArtifactError, match=r"odd\.jsonl must be a file of recordings"):
        Recordings(tmp_path)
    assert not is_recordings(tmp_path / "odd.jsonl")


def test_one_draw_under_two_replicates_is_refused_and_equal_texts_are_not(tmp_path: Path) -> None:
    first, second = request(0), request(0, replicate=1)
    same = Reply(text="{}", returned_model="m-1")
    write(tmp_path, (first, same), (second, same))
    assert ask(replay(tmp_path), second).text == "{}"
    named = msgspec.structs.replace(same, draw="answer-7")
    write(tmp_path, (first, named), (second, named))
    with pytest.raises(ArtifactError, match="'answer-7' under replicate 1 is the one under repli"):
        replay(tmp_path)
    write(tmp_path, (first, named), (request(1, replicate=1), named))
    assert ask(replay(tmp_path), first).draw == "answer-7"


def test_a_recording_serves_the_replicate_that_it_was_drawn_under_alone(tmp_path: Path) -> None:
    write(tmp_path, (request(0), Reply(text="{}", returned_model="m-1")))
    with pytest.raises(Unavailable, match="replicate 1"):
        ask(replay(tmp_path), request(0, replicate=1))
