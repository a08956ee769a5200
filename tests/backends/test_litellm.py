"""The judge behind a provider: what each fault of a server on loopback means to a run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import helix
from helix.backends.litellm import open_litellm, price
from helix.errors import ConfigError, PinError
from helix.model.config import JudgeConfig, VerifierConfig
from helix.model.request import Message, Pin, Price, Reply, Request, Unavailable, Unit, Usage
from helix.pins import make_pin
from helix.registry import JudgeSettings, load
from tests.backends.fault_server import (
    FAULTS,
    PROSE,
    Answer,
    Asked,
    FaultServer,
    Script,
    abstention,
    completion,
    prompt_digest,
)

KEY = "planted-0123456789abcdef"
OWN = {"prompt_usd_per_million": 2, "completion_usd_per_million": 10.0}
UNIT = Unit("judge", "trajectory", "t", "d", ("polite",), "c", 0)
SCHEMA = {"type": "object", "properties": {"nonce": {"type": "string"}}}


@pytest.fixture(autouse=True)
def only_the_planted_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("JUDGE_KEY", KEY)


def ask(server: FaultServer, *, deadline_s: float = 20.0, **config: Any) -> Reply:
    """Ask once, as a run does: config to pin, pin to request."""
    section = JudgeConfig(
        backend="litellm",
        **{
            "base_url": server.base_url,
            "model": "openai/m1",
            "api_key_env": "JUDGE_KEY",
            **config,
        },
    )
    pin = make_pin(section, load([]).get("judges", "litellm"), "judge")
    request = Request(UNIT, pin, (Message("system", "S"), Message("user", "Judge.")), "n", SCHEMA)

    async def main() -> Reply:
        async with open_litellm(JudgeSettings(section, "", "", deadline_s)) as backend:
            return await backend.ask(request)

    return asyncio.run(main())


REPLIES: dict[str, dict[str, Any]] = {
    "none": {},
    "cut-content": {"finish_reason": "length"},
    "no-choices": {"text": "", "finish_reason": None},
    "no-content": {"text": ""},
    "refusal": {"text": "I can't help with that.", "finish_reason": "refusal"},
    "filtered": {"text": "", "finish_reason": "content_filter"},
    "reasoning": {"reasoning": "Let me see."},
    "no-usage": {"usage": Usage()},
    "no-prompt-usage": {"usage": Usage(completion_tokens=5)},
    "no-answer-usage": {"usage": Usage(prompt_tokens=7)},
    "other-model": {"returned_model": "another-1"},
    "dated-model": {"returned_model": "m1-2024-08-06"},
    "no-model": {"returned_model": None},
    "refuses-schema": {"effective": {"temperature": 0.0, "structuredOutput": "instruction"}},
}

# The cause, whether asking again may help, the provider's wait, a part of what is said.
UNAVAILABLE: dict[str, tuple[str, bool, float | None, str]] = {
    "rate-limited": ("unavailable", True, 2, "status 429: Slow down"),
    "rate-limited-until": ("unavailable", True, 30, "status 429"),
    "no-quota": ("unavailable", False, None, "nothing left to spend"),
    "server-error": ("unavailable", True, None, "status 500: It broke"),
    "overloaded": ("unavailable", True, 3, "status 503"),
    "reset": ("unavailable", True, None, "the connection failed"),
    "cut-connection": ("unavailable", True, None, "the connection failed"),
    "hang": ("timeout", True, None, "timed out"),
    "html": ("unavailable", True, None, "not an answer of a model"),
    "cut-json": ("unavailable", True, None, "not an answer of a model"),
    "too-long": ("judge-error", False, None, "no prompt of this length: status 400"),
}

MAYBE_BILLED = {"reset", "cut-connection", "hang", "html", "cut-json"}

# The parameters that are asked with, and what is said.
ENDS_THE_RUN: dict[str, tuple[dict[str, Any], str]] = {
    "unknown-model": ({}, "status 404: The model does not exist"),
    "wrong-key": ({}, r"Bearer \[JUDGE_KEY\]. Check the key that JUDGE_KEY holds"),
    "refuses-temperature": (
        {},
        "refuses temperature .*judge.allow_unpinned_temperature=true asks without one",
    ),
    "refuses-seed": ({"seed": 7}, "refuses seed .*judge.seed=null"),
    "refuses-max-tokens": ({"max_tokens": 9}, "refuses max_tokens .*judge.max_tokens=null"),
    "refuses-schema": (
        {"structured": "schema"},
        "refuses response_format .*judge.structured=instruction",
    ),
}


def test_every_fault_of_the_server_has_its_meaning() -> None:
    assert FAULTS.keys() == {*REPLIES, *UNAVAILABLE, *ENDS_THE_RUN}


@pytest.mark.parametrize("fault", REPLIES)
def test_what_came_back_is_handed_on_as_it_came(fault: str) -> None:
    with FaultServer(fault) as server:
        reply = ask(server)
    as_told = {
        "text": PROSE,
        "finish_reason": "stop",
        "returned_model": "openai/m1",
        "usage": Usage(2, 5, None),
        "effective": {"temperature": 0.0, "structuredOutput": "json_schema"},
        "draw": "chatcmpl-1 1",
    }
    assert reply == Reply(**{**as_told, **REPLIES[fault]})


@pytest.mark.parametrize("model", ["openai/m1", "anthropic/m1"])
@pytest.mark.parametrize("fault", UNAVAILABLE)
def test_a_retry_is_decided_by_the_cause(fault: str, model: str) -> None:
    cause, retry, wait, said = UNAVAILABLE[fault]
    with FaultServer(fault) as server, pytest.raises(Unavailable, match=said) as raised:
        ask(server, model=model, deadline_s=0.5 if fault == "hang" else 20)
    error = raised.value
    assert (error.cause, error.retry, len(server.asked)) == (cause, retry, 1)
    assert error.retry_after == (wait if wait is None else pytest.approx(wait, abs=3))
    assert error.rate_limited is (fault.startswith("rate-limited"))
    assert error.billed is (fault in MAYBE_BILLED)
    assert error.__cause__ is None and KEY not in str(error)


@pytest.mark.parametrize("model", ["openai/m1", "anthropic/m1"])
def test_a_server_that_was_never_reached_bills_nothing(model: str) -> None:
    with FaultServer() as server:
        pass
    with pytest.raises(Unavailable, match="the connection failed") as raised:
        ask(server, model=model)
    assert raised.value.retry and not raised.value.billed


@pytest.mark.parametrize("fault", ENDS_THE_RUN)
def test_what_no_unit_can_absorb_ends_the_run_and_says_what_to_type(fault: str) -> None:
    config, said = ENDS_THE_RUN[fault]
    with FaultServer(fault) as server, pytest.raises(PinError, match=said) as raised:
        ask(server, **config)
    assert KEY not in str(raised.value) and len(server.asked) == 1


@pytest.mark.parametrize(
    ("config", "sent", "effective"),
    [
        (
            {"structured": "instruction"},
            {"temperature": 0.0},
            {"temperature": 0.0, "structuredOutput": "instruction"},
        ),
        (
            {"allow_unpinned_temperature": True, "structured": "instruction"},
            {},
            {"temperature": None, "structuredOutput": "instruction"},
        ),
        (
            {"seed": 7, "max_tokens": 90, "extra": {"top_k": 1, **OWN}},
            {
                "temperature": 0.0,
                "seed": 7,
                "max_tokens": 90,
                "top_k": 1,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "helix_reply", "schema": SCHEMA, "strict": False},
                },
            },
            {
                "temperature": 0.0,
                "seed": 7,
                "maxTokens": 90,
                "extra": {"top_k": 1},
                "structuredOutput": "json_schema",
            },
        ),
    ],
)
def test_what_is_sent_is_what_is_pinned_and_nothing_else(
    config: dict[str, Any], sent: dict[str, Any], effective: dict[str, Any]
) -> None:
    with FaultServer() as server:
        reply = ask(server, **config)
    (asked,) = server.asked
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "Judge."}]
    assert asked.body == {"model": "m1", "messages": messages, **sent}
    assert server.counts == {prompt_digest(messages): 1}
    assert asked.authorization == f"Bearer {KEY}"
    assert reply.effective == effective


def test_a_provider_without_schemas_is_asked_for_one_once_a_run() -> None:
    with FaultServer("refuses-schema") as server:
        section = JudgeConfig(backend="litellm", model="openai/m1", base_url=server.base_url)
        pin = Pin("litellm", "openai/m1", "judge", base_url=server.base_url)

        async def main() -> list[Reply]:
            async with open_litellm(JudgeSettings(section, "", "")) as backend:
                requests = [Request(UNIT, pin, (Message("user", t),), "n", SCHEMA) for t in "abc"]
                return [await backend.ask(request) for request in requests]

        replies = asyncio.run(main())
    assert ["response_format" in one.body for one in server.asked] == [True, *[False] * 3]
    assert {reply.effective["structuredOutput"] for reply in replies if reply.effective} == {
        "instruction"
    }


def test_a_server_of_ones_own_gets_no_key_but_the_named_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FaultServer() as server:
        ask(server, api_key_env=None)
    assert server.asked[0].authorization == "Bearer no-key"


@pytest.mark.parametrize(
    ("variable", "model"),
    [
        ("OPENAI_BASE_URL", "openai/m1"),
        ("OPENAI_API_BASE", "gpt-4o"),
        ("ANTHROPIC_BASE_URL", "anthropic/m1"),
        ("OLLAMA_API_BASE", "ollama_chat/m1"),
        ("AWS_BEDROCK_RUNTIME_ENDPOINT", "bedrock/m1"),
    ],
)
def test_an_address_in_the_environment_does_not_decide_who_is_asked(
    variable: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultServer() as server:
        monkeypatch.setenv(variable, server.base_url)
        typed = rf'judge\.base_url="\${variable}"'
        with pytest.raises(ConfigError, match=rf"{variable} is set .*{typed}"):
            ask(server, base_url=None, model=model)
        assert not server.asked
        ask(server, model="openai/m1")
    assert len(server.asked) == 1


def test_an_address_that_is_another_providers_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", "http://127.0.0.1:9")
    section = JudgeConfig(backend="litellm", model="openai/m1", api_key_env="JUDGE_KEY")
    open_litellm(JudgeSettings(section, "", ""))


def test_each_recipe_of_the_page_asks_for_the_model_that_its_server_serves(project: Path) -> None:
    page = (project / "docs" / "local-servers.md").read_text(encoding="utf-8")
    recipes = re.findall(
        r"^\$ (.+)\n\$ helix .* judge\.model=(\S+) judge\.base_url=\S+$", page, re.M
    )
    assert [serves.split()[0] for serves, _ in recipes] == ["ollama", "vllm", "llama-server", "lms"]
    with FaultServer() as server:
        for serves, model in recipes:
            assert ask(server, model=model, api_key_env=None).returned_model == model
            assert server.asked[-1].body["model"] in serves.split()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model": "gpt-4o"}, "judge.model=gpt-4o needs a key, and OPENAI_API_KEY is not set"),
        ({"model": "gemini/x"}, "(GOOGLE|GEMINI)_API_KEY or (GOOGLE|GEMINI)_API_KEY is not set"),
        ({"model": "gpt-4o", "api_key_env": "NO_SUCH_KEY"}, "export NO_SUCH_KEY=KEY"),
        ({"model": "openai/m", "extra": {"temperature": 1}}, "it is judge.temperature"),
        ({"model": "openai/m", "extra": {"fallbacks": ["x"]}}, "got fallbacks"),
    ],
)
def test_what_is_missing_or_forbidden_is_said_before_anything_is_asked(
    config: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        open_litellm(JudgeSettings(JudgeConfig(backend="litellm", **config), "", ""))


def test_the_verifier_is_told_of_its_own_keys() -> None:
    section = VerifierConfig(backend="litellm", model="gpt-4o")
    with pytest.raises(ConfigError, match=r"verifier\.api_key_env"):
        open_litellm(JudgeSettings(section, "", ""))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model": "m1"}, "LLM Provider NOT provided.*judge.model=openai/NAME"),
        (
            {"model": "openai/gpt-5", "extra": {"reasoning_effort": "low"}},
            "refuses temperature .*judge.allow_unpinned_temperature=true",
        ),
        ({"model": "anthropic/m1", "seed": 7}, "refuses seed .*judge.seed=null"),
    ],
)
def test_what_litellm_refuses_by_itself_is_never_sent(config: dict[str, Any], said: str) -> None:
    with FaultServer() as server, pytest.raises(PinError, match=said) as raised:
        ask(server, **config)
    assert server.asked == [] and "drop_params" not in str(raised.value)


@pytest.mark.parametrize(
    ("pin", "known"),
    [
        (Pin("litellm", "gpt-4o", "j"), Price(2.5, 10.0)),
        (Pin("litellm", "openai/gpt-4o", "j"), Price(2.5, 10.0)),
        (Pin("litellm", "azure/gpt-4o", "j", base_url="http://127.0.0.1:1/v1"), None),
        (Pin("litellm", "openai/gpt-4o", "j", base_url="http://127.0.0.1:1/v1"), None),
        (Pin("litellm", "openai/no-such-model", "j"), None),
        (Pin("litellm", "openai/gpt-4o", "j", price=Price(1, 1)), Price(1, 1)),
        (
            Pin("litellm", "openai/m", "j", base_url="http://127.0.0.1:1", price=Price(2, 10)),
            Price(2, 10),
        ),
    ],
)
def test_a_price_is_ones_own_or_the_lists_or_not_known(pin: Pin, known: Price | None) -> None:
    assert load([]).get("judges", "litellm").price(pin) == price(pin) == known


def test_a_price_of_ones_own_makes_a_cost() -> None:
    with FaultServer() as server:
        assert ask(server, extra=OWN).usage == Usage(2, 5, 54)
    with FaultServer("no-usage") as server:
        assert ask(server, extra=OWN).usage == Usage()


def test_a_key_that_a_server_repeats_stands_in_no_reply() -> None:
    with FaultServer(content=lambda asked: f"You said {asked.authorization}.") as server:
        assert ask(server).text == "You said Bearer [JUDGE_KEY]."


def test_nothing_is_printed_and_nothing_is_read_from_a_dotenv_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-a-file\n", encoding="utf-8")
    code = (
        "import os, asyncio\n"
        "from helix.backends.litellm import imported\n"
        "litellm = imported()\n"
        "said = {'role': 'user', 'content': 'hi'}\n"
        "try:\n"
        "    asyncio.run(litellm.acompletion(model='m', messages=[said]))\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, os.environ.get('OPENAI_API_KEY'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert (done.stdout, done.stderr) == ("BadRequestError None\n", "")


SUITE = """\
suite: greetings
version: 1
criteria:
  - criterion_id: greets
    statement: Pass = the answer greets the person.
    severity: HIGH
    class: judge
"""


def evaluate(folder: Path, server: FaultServer, **judge: Any) -> Any:
    """Run the whole line over two traces."""
    lines = [
        {"schemaVersion": "1.0", "id": f"t{n}", "input": {"prompt": "Book."}, "output": {}}
        | {"output": {"response": f"Hello {n}."}}
        for n in range(2)
    ]
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "runs.jsonl").write_text(text, encoding="utf-8")
    settings = {"backend": "litellm", "model": "openai/m1", "base_url": server.base_url}
    return helix.evaluate(
        folder / "runs.jsonl",
        folder / "suite.yaml",
        judge={**settings, "api_key_env": "JUDGE_KEY", **judge},
        paths={"state": str(folder / "state")},
        run={"dir": str(folder / "run")},
        limits={"retries": 0, "deadline_s": 20.0},
    )


def everything_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize("fault", ["none", "wrong-key", "server-error", "no-usage"])
def test_a_run_holds_no_key(fault: str, tmp_path: Path) -> None:
    with FaultServer(fault) as server:
        if fault == "wrong-key":
            with pytest.raises(PinError, match="Check the key that JUDGE_KEY holds"):
                evaluate(tmp_path, server)
        else:
            states = {line.dense_map["greets"] for line in evaluate(tmp_path, server).verdicts()}
            assert states == {"uncertain"}
    assert server.asked[0].authorization == f"Bearer {KEY}"
    assert KEY.encode() not in everything_below(tmp_path)


def _told_again(asked: Asked, **changes: Any) -> Answer:
    """Answer with the key that was sent, the way `changes` say."""
    said = {name: text.format(asked.authorization) for name, text in changes.items()}
    return completion(asked, abstention(asked), **said)


def _escaped(asked: Asked) -> Answer:
    key = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    return completion(asked, abstention(asked).replace("The server", key))


@pytest.mark.parametrize(
    "script",
    [
        partial(_told_again, model="{}"),
        partial(_told_again, model="m1", finish_reason="{}"),
        _escaped,
    ],
)
def test_a_server_that_tells_the_key_again_puts_it_in_no_file(
    script: Script, tmp_path: Path
) -> None:
    with FaultServer(script) as server:
        evaluate(tmp_path, server)
    assert KEY.encode() not in everything_below(tmp_path)


@pytest.mark.parametrize(
    "odd", [{"model": [f"m1 {KEY}"]}, {"usage": [1, 2]}, {"choices": [None]}, {"created": {}}]
)
def test_a_completion_of_an_odd_shape_shows_nobody_a_stack(
    odd: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with FaultServer(lambda asked: completion(asked, abstention(asked), **odd)) as server:
        states = {line.dense_map["greets"] for line in evaluate(tmp_path, server).verdicts()}
    assert states == {"uncertain"}
    told = everything_below(tmp_path).decode("utf-8", "replace") + "".join(capfd.readouterr())
    assert "Traceback" not in told and KEY not in told


def test_an_answer_by_another_model_counts_only_under_an_alias(tmp_path: Path) -> None:
    with FaultServer("dated-model") as server:
        (tmp_path / "strict").mkdir()
        strict = evaluate(tmp_path / "strict", server)
        (tmp_path / "aliased").mkdir()
        aliased = evaluate(tmp_path / "aliased", server, model_aliases=["m1-2024-08-06"])
    assert all("greets" in line.not_adjudicated for line in strict.verdicts())
    assert all(line.not_adjudicated == {} for line in aliased.verdicts())
    assert {line.returned_model for line in aliased.verdicts()} == {"m1-2024-08-06"}
