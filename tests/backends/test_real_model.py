"""judge=litellm against a real model behind a real server: protocol and invariants, no accuracy.

`make model` installs the model, once; without it these tests are skipped.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import helix
from helix.backends.litellm import open_litellm
from helix.model.config import JudgeConfig
from helix.model.request import Message, Pin, Reply, Request, Unavailable, Unit
from helix.registry import JudgeSettings
from tests.backends.real_model import CONTEXT_TOKENS, MODEL, MODEL_FILE
from tests.backends.test_litellm import SUITE

pytestmark = pytest.mark.slow

MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PINNED = f"openai/{MODEL}"
QUESTIONS = [f"Is {number} an even number?" for number in range(20)]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"critique": {"enum": ["short"]}, "result": {"enum": ["pass", "fail"]}},
    "required": ["critique", "result"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model(project: Path) -> Iterator[str]:
    """The base URL of the served model."""
    python = project / ".venv-model" / "bin" / "python"
    if not python.exists():
        pytest.skip("no real model is installed: make model")
    (file,) = (project / ".venv-model").glob(f"lib/python3*/site-packages/{MODEL_FILE}")
    with open(file, "rb") as data:
        assert hashlib.file_digest(data, "sha256").hexdigest() == MODEL_SHA256
    script = Path(__file__).with_name("real_model.py")
    with subprocess.Popen(
        [python, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def ask(base_url: str, *texts: str, model: str = PINNED, **pin: Any) -> list[Reply | Unavailable]:
    section = JudgeConfig(backend="litellm", model=model, base_url=base_url)
    pinned = Pin("litellm", model, "judge", base_url=base_url, **{"max_tokens": 60, **pin})
    unit = Unit("judge", "trajectory", "t", "d", ("even",), "c", 0)

    async def main() -> list[Reply | Unavailable]:
        found: list[Reply | Unavailable] = []
        async with open_litellm(JudgeSettings(section, "", "", 120)) as backend:
            for text in texts:
                request = Request(unit, pinned, (Message("user", text),), "n", SCHEMA)
                try:
                    found.append(await backend.ask(request))
                except Unavailable as error:
                    found.append(error)
        return found

    return asyncio.run(main())


def test_every_reply_follows_the_schema_and_records_its_usage_and_model(model: str) -> None:
    for reply in ask(model, *QUESTIONS):
        assert isinstance(reply, Reply)
        assert reply.finish_reason in ("stop", "length")
        assert reply.returned_model == PINNED
        assert reply.effective == {
            "temperature": 0.0,
            "maxTokens": 60,
            "structuredOutput": "json_schema",
        }
        assert reply.usage.prompt_tokens and 0 < (reply.usage.completion_tokens or 0) <= 60
        assert reply.usage.cost_micro_usd is None
        said = json.loads(reply.text)
        assert list(said) == ["critique", "result"] and said["result"] in ("pass", "fail")


def test_without_a_schema_the_model_says_what_it_likes(model: str) -> None:
    (reply,) = ask(model, "Say hello.", structured="instruction", max_tokens=4)
    assert isinstance(reply, Reply) and reply.finish_reason == "length"
    assert reply.effective is not None
    assert reply.effective["structuredOutput"] == "instruction"


def test_another_name_than_the_servers_comes_back_as_another_model(model: str) -> None:
    (reply,) = ask(model, "Say hello.", model="openai/another", max_tokens=4)
    assert isinstance(reply, Reply) and reply.returned_model == MODEL


def test_a_prompt_that_the_model_cannot_hold_is_refused_as_such(model: str) -> None:
    (refused,) = ask(model, "word " * 2 * CONTEXT_TOKENS)
    assert isinstance(refused, Unavailable) and not refused.retry
    assert "the model reads no prompt of this length" in refused.text


def test_a_run_decides_nothing_that_the_model_did_not_ground(model: str, tmp_path: Path) -> None:
    trace = {
        "schemaVersion": "1.0",
        "id": "t1",
        "input": {"prompt": "Book a table."},
        "output": {"response": "Hello Ada."},
    }
    (tmp_path / "runs.jsonl").write_text(json.dumps(trace), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    judge = {"backend": "litellm", "model": PINNED, "base_url": model, "max_tokens": 120}
    run = helix.evaluate(
        tmp_path / "runs.jsonl",
        tmp_path / "suite.yaml",
        judge=judge,
        paths={"state": str(tmp_path / "state")},
        run={"dir": str(tmp_path / "run")},
        limits={"deadline_s": 240.0, "unit_s": 900.0},
    )
    (line,) = run.verdicts()
    for verdict in line.verdicts:
        if verdict.result != "uncertain":
            assert {ref.match for ref in verdict.refs} <= {"exact", "contains", "weak", "scan"}
            assert verdict.refs
    assert line.dense_map.keys() == {"greets"}
    if line.not_adjudicated:
        assert set(line.not_adjudicated.values()) <= {"truncated", "malformed", "refusal"}
        assert line.dense_map["greets"] == "uncertain"
    else:
        assert (line.returned_model, line.temperature) == (PINNED, 0)
    usage = run.scorecard.usage
    assert 1 <= usage.calls <= 7
    assert usage.prompt_tokens and usage.completion_tokens
    assert usage.cost_micro_usd is None
