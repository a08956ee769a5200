"""The built-in judges as the registry holds them."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from helix.model.config import JudgeConfig
from helix.model.request import Message, Pin, Request, Unavailable, Unit
from helix.registry import JudgeSettings, load


@pytest.mark.parametrize(
    ("name", "asks", "needs_model", "cacheable"),
    [
        ("none", False, False, False),
        ("replay", True, True, False),
        ("dispatch", True, True, False),
        ("litellm", True, True, True),
        ("command", True, True, True),
        ("scripted", True, True, True),
    ],
)
def test_a_judge_says_what_it_needs(
    name: str, asks: bool, needs_model: bool, cacheable: bool
) -> None:
    judge = load([]).get("judges", name)
    assert (judge.asks, judge.needs_model, judge.cacheable) == (asks, needs_model, cacheable)


def test_no_judge_answers_nothing() -> None:
    settings = JudgeSettings(JudgeConfig(), ".helix", "outputs")
    unit = Unit("judge", "trajectory", "t", "d", ("a",), "c", 0)
    request = Request(unit, Pin("none", "", "judge"), (Message("user", "Judge."),), "n")

    async def main() -> None:
        async with load([]).get("judges", "none").open(settings) as backend:
            await backend.ask(request)

    with pytest.raises(Unavailable, match="no judge is configured"):
        asyncio.run(main())


def test_listing_the_judges_imports_none_of_them() -> None:
    code = (
        "import sys, helix.registry; helix.registry.load([]).items('judges'); "
        "print(sorted(m for m in sys.modules if m.startswith('helix.backends.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "['helix.backends.plugin']\n"
