"""`make advisories`: what pip-audit found decides, and what it could not look up is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BAD = {"name": "toy", "version": "1", "vulns": [{"id": "TOY-1", "fix_versions": ["2"]}]}
GOOD = {"name": "fine", "version": "1", "vulns": []}
UNSEEN = {"name": "unseen", "skip_reason": "not found"}


def said(project: Path, text: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, str(project / ".ci" / "advisories")], input=text,
                          capture_output=True, encoding="utf-8")  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("others", [[], [GOOD], [UNSEEN, GOOD]])
def test_a_package_that_is_known_to_be_bad_fails_the_audit(project: Path, others: Any) -> None:
    code, text = said(project, json.dumps({"dependencies": [*others, BAD]}))
    assert (code, text.splitlines()[0]) == (1, "toy 1: TOY-1, mended in 2")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (json.dumps({"dependencies": [GOOD]}), "Advisories: 0 of 1 packages have some\n"),
        (json.dumps({"dependencies": [GOOD, UNSEEN]}),
         "Advisories: 0 of 1 packages have some; 1 more could not be looked up\n"),
        ("", "Advisories: not looked up; pip-audit reached no service\n"),
    ],
)  # fmt: skip
def test_what_could_not_be_looked_up_is_told_and_fails_nothing(
    project: Path, text: str, told: str
) -> None:
    assert said(project, text) == (0, told)
