"""What commands say on streams of any encoding."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix.app import console
from helix.app.cli import main

Say = Callable[[Callable[[], object]], str]


@pytest.fixture(params=["ascii", "cp1252", "utf-8"])
def said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Say:
    """What something says on a standard output of an encoding that the environment asks for."""

    def saying(say: Callable[[], object]) -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=request.param)
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONIOENCODING", request.param)
            patch.setattr(sys, "stdout", stream)
            console.prepare()
            say()
        data: Any = stream.buffer
        return str(data.getvalue(), request.param)

    return saying


def test_json_is_the_same_value_in_every_encoding(said: Say) -> None:
    value = {"a “quoted” word…": ["é", "→ 語", "\ud800", 'a "plain" one']}
    assert json.loads(said(lambda: console.say_json(value))) == value


def test_a_number_that_json_lacks_is_refused(said: Say) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        said(lambda: console.say_json(float("nan")))


def test_a_command_says_json_that_can_be_read_whatever_the_console(
    said: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["memory", "add", "I say “yes”… twice.", "--type", "user", "--json"]
    assert json.loads(said(lambda: main(words)))["description"] == "I say “yes”… twice."
