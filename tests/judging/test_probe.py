"""The digest of how Helix asks: it changes with what is said, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from helix.judging import Settings, VerifierSettings
from helix.judging.packet import PacketSettings
from helix.judging.probe import prompt_digest
from helix.model.config import SubjectConfig
from tests.judging.bench import settings_of

PLAIN = settings_of()


def packet(**fields: Any) -> PacketSettings:
    return replace(PLAIN.packet, **fields)


@pytest.mark.parametrize(
    "changed",
    [
        replace(PLAIN, packet=packet(subject=SubjectConfig(name="desk", purpose="sells"))),
        replace(PLAIN, packet=packet(tools=("count",))),
        replace(PLAIN, channels=("observations",)),
        replace(PLAIN, axis="criterion"),
        replace(PLAIN, two_pass=True),
        replace(PLAIN, verifier=VerifierSettings(PLAIN.packet)),
    ],
)
def test_another_question_has_another_digest(changed: Settings) -> None:
    assert prompt_digest(changed) != prompt_digest(PLAIN)


@pytest.mark.parametrize(
    "same",
    [
        replace(PLAIN, criteria_digest="another suite"),
        replace(PLAIN, models=("alias",)),
        replace(PLAIN, packet=packet(context_tokens=64_000)),
    ],
)
def test_what_is_not_said_changes_nothing(same: Settings) -> None:
    assert prompt_digest(same) == prompt_digest(PLAIN)


@pytest.mark.parametrize("axis", ["trajectory", "criterion", "code-quality"])
@pytest.mark.parametrize("routes", [(), ("chat", "mail")])
def test_every_axis_and_route_can_be_probed(axis: Any, routes: tuple[str, ...]) -> None:
    assert len(prompt_digest(replace(PLAIN, axis=axis, routes=routes))) == 64
