"""The scripted judge: any function of the request, found by path, and one that abstains."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from helix.backends.scripted import Scripted
from helix.errors import ConfigError
from helix.judging import Answer, read
from helix.model.config import JudgeConfig, VerifierConfig
from helix.model.request import Message, Pin, Reply, Request, Unavailable, Unit, Usage
from helix.registry import Backend, JudgeSettings, load

UNIT = Unit("judge", "trajectory", "t", "d", ("polite", 'Names\nthe "date"'), "c", 0)
REQUEST = Request(UNIT, Pin("scripted", "scripted-1", "judge"), (Message("user", "Judge."),), "n1")


def opened(script: str | None, kind: type[JudgeConfig] = JudgeConfig) -> Backend:
    config = kind(backend="scripted", script=script)
    return load([]).get("judges", "scripted").open(JudgeSettings(config, ".helix", "outputs"))


def ask(backend: Backend, request: Request = REQUEST) -> Reply:
    async def main() -> Reply:
        async with backend:
            return await backend.ask(request)

    return asyncio.run(main())


async def _waiting(request: Request) -> str:
    await asyncio.sleep(0)
    return request.nonce


@pytest.mark.parametrize(
    ("script", "reply"),
    [
        (lambda request: "text", Reply("text", "stop")),
        (lambda request: {"b": "é", "a": 1}, Reply('{"b": "é", "a": 1}', "stop")),
        (lambda request: Reply("cut", "length"), Reply("cut", "length")),
        (
            lambda request: Reply("x", None, "other", usage=Usage(3)),
            Reply("x", None, "other", usage=Usage(3)),
        ),
        (_waiting, Reply("n1", "stop")),
    ],
)
def test_what_a_script_returns_becomes_a_reply(script: Any, reply: Reply) -> None:
    assert ask(Scripted(script)) == reply


def _raise(error: BaseException) -> Any:
    def script(request: Request) -> str:
        raise error

    return script


@pytest.mark.parametrize(
    ("script", "kind", "told"),
    [
        (_raise(Unavailable("down", retry=True)), Unavailable, "down"),
        (_raise(ValueError("odd")), ValueError, "odd"),
        (_raise(SystemExit(3)), RuntimeError, r"SystemExit\(3\)"),
        (_raise(StopIteration()), RuntimeError, "StopIteration"),
        (lambda request: None, TypeError, r"must return Reply, str or dict \(got NoneType\)"),
    ],
)
def test_what_a_script_raises_comes_out_where_it_was_asked(
    script: Any, kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=told):
        ask(Scripted(script))


def test_a_script_is_found_by_path_and_function(tmp_path: Path) -> None:
    (tmp_path / "my judges.py").write_text(
        "from dataclasses import dataclass\n"
        "from helix.model.request import Request\n"
        "@dataclass\n"
        "class Said:\n"
        "    text: str\n"
        "def judge(request: Request) -> str:\n"
        "    return Said('by default ' + request.unit.trace_id).text\n"
        "def other(request):\n"
        "    return 'by name'\n",
        encoding="utf-8",
    )
    assert ask(opened(str(tmp_path / "my judges.py"))).text == "by default t"
    assert ask(opened(str(tmp_path / "my judges.py:other"))).text == "by name"


@pytest.mark.parametrize(
    ("code", "script", "told"),
    [
        (None, "missing.py", "must be path.py or path.py:function (no Python file {}missing.py)"),
        ("", "judge.txt", "must be path.py or path.py:function (no Python file {}judge.txt)"),
        ("x = 1", "judge.py", "{}judge.py must define a function judge(request)"),
        ("judge = 1", "judge.py", "{}judge.py must define a function judge(request)"),
        ("def judge(r): 0", "judge.py:jugde", "{}judge.py must define a function jugde(request)"),
        ("import nothing_of_that_name", "judge.py", "could not be loaded: ModuleNotFoundError"),
        ("def", "judge.py", "could not be loaded: SyntaxError"),
    ],
)
def test_a_script_that_cannot_be_used_is_an_error_before_anything_is_asked(
    tmp_path: Path, code: str | None, script: str, told: str
) -> None:
    if code is not None:
        (tmp_path / script.partition(":")[0]).write_text(code, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        opened(f"{tmp_path}/{script}")
    assert str(raised.value).startswith("judge.script")
    assert told.format(f"{tmp_path}/") in str(raised.value)


def test_without_a_script_every_row_abstains_in_a_usable_reply() -> None:
    answer = read(ask(opened(None)), REQUEST.nonce, UNIT.criteria)
    assert isinstance(answer, Answer)
    assert set(answer.verdicts) == set(UNIT.criteria)
    for verdict in answer.verdicts.values():
        assert verdict.result == "uncertain"
        assert verdict.blocked_by and verdict.blocked_by.kind == "factual-intent"


def test_the_script_that_abstains_verifies_nothing() -> None:
    unit = Unit("verifier", "trajectory", "t", "d", ("a",), "c", 0)
    with pytest.raises(Unavailable, match=r"name one by verifier\.script"):
        ask(opened(None, VerifierConfig), Request(unit, REQUEST.pin, REQUEST.messages, "n"))
