"""`helix answer`: what is typed becomes the answers that the engine reads."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.app.test_waiting import SUITE, Desk, Ran

ALONE = ("judge.model=Ada", "judge.axis=criterion", "verifier=none")
WALK = ["Renew one loan of Tides.", "Renew it by the tool.", "Tell the date.", ""]
DUE = [
    "2031-05-04",
    "2031-05-04",
    "Tides is yours until 2031-05-04.",
    "1",
    "",
    "The date told is the date returned. Against it: 'due' is not said.",
    "pass",
    "The tool returned 2031-05-04 and the answer tells 2031-05-04.",
    "",
]
STYLE = ["", "", "No style guide is to be seen.", "unc", "norm", "the desk's style guide"]


class Terminal(Desk):
    """A desk at which lines are typed."""

    def __init__(
        self, root: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
    ) -> None:
        super().__init__(root, SUITE, capsys)
        self._patch = patch

    def typed(self, lines: Sequence[str], *words: str, by: str = "Ada") -> Ran:
        self._patch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return self.command("answer", "--by", by, *words)

    def answers(self) -> list[dict[str, Any]]:
        found = sorted(self.folder.glob("*.verdict.json"))
        return [json.loads(place.read_text("utf-8")) for place in found]


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    monkeypatch.chdir(tmp_path)
    return Terminal(tmp_path, capsys, monkeypatch)


def test_two_people_go_from_the_question_to_the_gate(desk: Terminal) -> None:
    assert desk.evaluate("judge.model=m").returncode == 5
    done = desk.typed([*WALK, *DUE, *STYLE])
    assert (done.returncode, done.stderr) == (0, "")
    assert "=== 1 of 1: loan-7, 2 criteria to judge\n" in done.stdout
    assert done.stdout.index("What should it do") < done.stdout.index("step 1: TOOL renew_loan")
    assert "  in [call-1] output.due_date\n" in done.stdout
    (answer,) = desk.answers()
    assert answer["reviewer"] == "Ada"
    assert answer["verdicts"][0]["refs"][0] == {
        "obs": "call-1",
        "path": "output.due_date",
        "value": "2031-05-04",
    }

    second = desk.evaluate("judge.model=m")
    assert (second.returncode, second.stderr) == (5, "")
    assert "asked again" not in second.stdout, "nothing that was looked up here is dead there"
    own = desk.typed([])
    assert own.returncode == 0
    assert "checks what Ada said; another reviewer must answer it" in " ".join(own.stdout.split())
    assert desk.typed(["Another date could stand there; none does.", "yes"], by="Ben").stderr == ""

    assert desk.evaluate("judge.model=m").returncode == 0
    line = desk.line()
    assert line["denseMap"] == {"due-date-told": "pass", "house-style": "uncertain"}
    assert line["judgeIdentity"] == "Ada"
    assert [step["expected"] for step in line["expectedTrajectory"]] == WALK[1:3]
    told = {v["criterionId"]: v for v in line["verdicts"]}
    assert told["due-date-told"]["verification"]["reviewer"] == "Ben"
    assert told["house-style"]["blockedBy"]["kind"] == "normative"
    linted = desk.command("criteria", "lint", "suite.yaml", "--run", str(desk.run))
    assert "0 errors, 0 warnings" in linted.stdout, linted.stdout
