"""docs/safety.md names every class, place and option of the attack suite, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.audit import BUILT_IN, PLACES
from helix.errors import ExitCode


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "safety.md").read_text(encoding="utf-8")


def named(page: str, lead: str) -> list[str]:
    """Return what a paragraph that begins with a bold lead names in code."""
    (paragraph,) = re.findall(rf"^\*\*{lead}\*\*:? (.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    return re.findall(r"`(\w+)`", paragraph)


def test_the_classes_and_places_on_it_are_those_there_are(page: str) -> None:
    assert sorted(named(page, "Classes")) == sorted({payload.klass for payload in BUILT_IN})
    assert named(page, "Places") == list(PLACES)


def test_the_options_on_it_are_those_of_the_command(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "injection", "--help"]) == 0
    told = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)) - {"--help"}
    assert told == set(re.findall(r"`?(--[a-z][a-z-]*)", page))


def test_the_exit_codes_on_it_are_codes(page: str) -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d) \|", page, re.MULTILINE)}
    assert listed == {0, 1, 2, 3, 4, 5} <= {int(code) for code in ExitCode}
