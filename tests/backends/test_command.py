"""The command judge: a real process for each request, killed with all that it started."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix.backends.command import MOST_BYTES
from helix.errors import ConfigError, PinError
from helix.model.config import Config, JudgeConfig, VerifierConfig
from helix.model.request import Message, Pin, Reply, Request, Unavailable, Unit, Usage
from helix.model.sound import faults
from helix.pins import make_pin
from helix.redaction import secrets
from helix.registry import Backend, JudgeSettings, load
from tests.families import FAMILY, gone, watched
from tests.moments import LIMIT_S

UNIT = Unit("judge", "trajectory", "t", "d", ("polite",), "c", 0)
SCHEMA = {"type": "object", "properties": {"nonce": {}, "critique": {}, "result": {}}}
MESSAGES = (Message("user", "Judge é \ud800."),)
REQUEST = Request(UNIT, Pin("command", "m-1", "judge"), MESSAGES, "n1", SCHEMA)


def opened(*command: str, kind: type[JudgeConfig] = JudgeConfig, **config: Any) -> Backend:
    section = kind(backend="command", command=command, **config)
    return load([]).get("judges", "command").open(JudgeSettings(section, ".helix", "outputs"))


def ask(code: str, *, within: float = LIMIT_S, **config: Any) -> Reply:
    """Return the reply of a Python program."""
    backend = opened(sys.executable, "-c", code, **config)

    async def main() -> Reply:
        async with backend, asyncio.timeout(within):
            return await backend.ask(REQUEST)

    return asyncio.run(main())


def test_what_a_program_prints_is_the_reply() -> None:
    assert ask("print('{\"nonce\": 1}')") == Reply('{"nonce": 1}\n')
    assert ask("print('é')") == Reply("é\n")
    assert ask("pass") == Reply("")


def test_a_program_reads_the_request_as_json() -> None:
    code = "import json, sys; r = json.load(sys.stdin); print(json.dumps(r))"
    given = json.loads(ask(code).text)
    assert msgspec.convert(given, Request) == REQUEST
    assert list(given["replySchema"]["properties"]) == ["nonce", "critique", "result"]


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        ({"text": "yes"}, Reply("yes")),
        (
            {
                "text": "",
                "finishReason": "length",
                "returnedModel": "m-1-0613",
                "reasoning": "so",
                "usage": {"promptTokens": 3, "completionTokens": 4, "costMicroUsd": 5},
                "effective": {"temperature": 0},
                "madeBy": "ada",
                "source": "recorded",
            },
            Reply("", "length", "m-1-0613", "so", Usage(3, 4, 5), {"temperature": 0}, "ada"),
        ),
    ],
)
def test_a_program_that_has_more_to_tell_says_it_under_one_key(told: Any, reply: Reply) -> None:
    assert ask(f"import json; print(json.dumps({{'helixReply': {told!r}}}))") == reply


@pytest.mark.parametrize("text", ['{"helixReply": {"text": "a"}, "b": 1}', '{"helixReply": NaN}'])
def test_anything_else_is_the_text_itself(text: str) -> None:
    assert ask(f"print({text!r}, end='')") == Reply(text)


@pytest.mark.parametrize(
    ("code", "told", "cause", "retry"),
    [
        (
            "import sys; sys.exit('no   model\\nhere')",
            "exited with status 1: no model here",
            None,
            0,
        ),
        ("import sys; sys.exit(75)", "exited with status 75", None, 1),
        ("import os; os.kill(os.getpid(), 9)", "was ended by SIGKILL", None, 0),
        ('print(\'{"helixReply": {"text": 7}}\')', r"helixReply is no reply: .*\$\.text", "e", 0),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", r"no UTF-8 \(byte 0\)", "e", 0),
        (f"print('x' * {MOST_BYTES})", "printed more than 8,000,000 bytes", "e", 0),
    ],
)
def test_a_program_that_fails_is_unavailable_and_says_how(
    code: str, told: str, cause: str | None, retry: int
) -> None:
    with pytest.raises(Unavailable, match=told) as raised:
        ask(code)
    assert raised.value.cause == ("judge-error" if cause else "unavailable")
    assert raised.value.retry is bool(retry)


def test_a_long_complaint_is_told_by_its_end() -> None:
    with pytest.raises(Unavailable) as raised:
        ask("import sys; sys.exit('word ' * 100_000 + 'at last')")
    assert raised.value.text.endswith("at last") and len(raised.value.text) < 500


def test_secrets_of_the_environment_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-1234567890")
    monkeypatch.setenv("ODD_NAME", "also-not-for-print")
    code = "import os, sys; e = os.environ; sys.exit(e['MY_API_KEY'] + ' ' + e['ODD_NAME'])"
    with pytest.raises(Unavailable, match=r"status 1: \[MY_API_KEY\] \[ODD_NAME\]$"):
        ask(code, api_key_env="ODD_NAME")


def test_a_secret_that_a_program_repeats_stands_in_no_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-1234567890")
    assert ask("import os; print(os.environ['MY_API_KEY'], 'yes')").text == "[MY_API_KEY] yes\n"


def test_the_longest_secret_is_replaced_first() -> None:
    given = {"A_TOKEN": "1" * 12, "B_KEY": "1" * 13, "KEYS": "a folder of keys", "C_KEY": "x"}
    assert secrets(given) == [("B_KEY", "1" * 13), ("A_TOKEN", "1" * 12)]
    assert secrets(given, "C_KEY")[-1] == ("C_KEY", "x")


def test_a_program_that_reads_nothing_still_answers() -> None:
    long = msgspec.structs.replace(REQUEST, messages=(Message("user", "x" * 3_000_000),))

    async def main() -> Reply:
        return await opened(sys.executable, "-c", "print('done')").ask(long)

    assert asyncio.run(main()).text == "done\n"


@watched
@pytest.mark.parametrize("then", ["time.sleep(600)", "sys.exit(0)"])
def test_past_its_deadline_a_program_ends_with_all_that_it_started(
    tmp_path: Path, then: str
) -> None:
    note = tmp_path / "child"
    backend = opened(sys.executable, "-c", FAMILY + then, str(note))

    async def main() -> None:
        async with asyncio.timeout(None) as deadline, asyncio.TaskGroup() as both:
            both.create_task(over_when_noted(deadline))
            await backend.ask(REQUEST)

    async def over_when_noted(deadline: asyncio.Timeout) -> None:
        while not note.exists():
            await asyncio.sleep(0.02)
        deadline.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert gone(note)


@watched
def test_when_nobody_waits_any_more_a_program_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "child"
    backend = opened(sys.executable, "-c", f"{FAMILY}time.sleep(600)", str(note))

    async def main() -> None:
        task = asyncio.create_task(backend.ask(REQUEST))
        while not note.exists():
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert gone(note)


def test_what_cannot_be_started_is_an_error_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("", encoding="utf-8")
    for command, told in [
        ((), r"judge\.command must name a program \(got nothing\)"),
        (("no-such-program-at-all",), r"\(no-such-program-at-all is not found\)"),
        ((str(tmp_path / "plain.txt"),), r"plain\.txt is no file that can be run\)"),
    ]:
        with pytest.raises(ConfigError, match=told):
            opened(*command)
    with pytest.raises(ConfigError, match=r"verifier\.command must name"):
        opened(kind=VerifierConfig)


def test_a_program_that_went_away_since_is_unavailable(tmp_path: Path) -> None:
    program = tmp_path / "judge"
    program.write_text("#!/bin/sh\necho yes\n", encoding="utf-8")
    program.chmod(0o700)
    backend = opened(str(program))
    os.remove(program)
    with pytest.raises(Unavailable, match="could not be started"):
        asyncio.run(backend.ask(REQUEST))


def test_an_edited_script_asks_anew_and_the_program_itself_does_not_count(tmp_path: Path) -> None:
    script = tmp_path / "answer.py"
    script.write_text("print(1)", encoding="utf-8")
    config = JudgeConfig(backend="command", model="m", command=(sys.executable, str(script), "-v"))
    judge = load([]).get("judges", "command")
    first = make_pin(config, judge, "judge")
    assert list(first.extra["commandFiles"]) == [str(script)]
    script.write_text("print(2)", encoding="utf-8")
    assert make_pin(config, judge, "judge") != first
    with pytest.raises(PinError, match=r"judge\.model"):
        make_pin(JudgeConfig(backend="command"), judge, "judge")


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        (("ask", "--api-key=sk-1"), True),
        (("ask", "--token", "sk-1"), True),
        (("env", "API_KEY=sk-1", "ask"), True),
        (("ask", "--max-tokens=100", "keys.py"), False),
        (("ask", "--api-key="), False),
    ],
)
def test_a_secret_on_the_command_line_is_refused(command: tuple[str, ...], refused: bool) -> None:
    found = list(faults(Config(judge=JudgeConfig(command=command))))
    assert bool(found) is refused
    assert "sk-1" not in "".join(found)
