"""Discovery by dispatch: the guide alone leads to determinations, and any fault is told by name."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from helix.app.cli import main
from helix.backends.dispatch import GUIDE
from helix.judging import DETERMINER_RUBRIC
from tests.app.test_waiting import TRACE

WRONG = json.loads(json.dumps(TRACE).replace("yours until 2031-05-04", "yours until 2031-05-14"))
READER = '"reviewer": "Ada, first reading"'


@dataclass
class Desk:
    """A folder with one trace and the command that is repeated."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def discover(self, *words: str) -> tuple[int, str]:
        given = [
            "subject.traces=runs.jsonl",
            "subject.purpose=renews loans",
            "judge=dispatch",
            "judge.model=m",
        ]
        code = main(["discover", *given, f"hydra.run.dir={self.root / 'run'}", *words])
        return code, self.capsys.readouterr().out

    @property
    def waiting(self) -> list[Path]:
        return sorted((self.root / "run" / "dispatch").glob("*.json"))

    @property
    def example(self) -> str:
        guide = (self.root / ".helix/dispatch" / GUIDE).read_text("utf-8")
        (found,) = [x for x in re.findall(r"```json\n(.*?)```", guide, re.DOTALL) if '"goal"' in x]
        return str(found)

    def task(self) -> dict[str, Any]:
        (place,) = self.waiting
        found: dict[str, Any] = json.loads(place.read_text("utf-8"))
        return found

    def answer(self, text: str) -> None:
        task = self.task()
        text = text.replace("NONCE OF THE QUESTION", task["nonce"])
        (self.root / task["answer"]).write_text(text, encoding="utf-8")

    def determined(self) -> dict[str, Any]:
        (line,) = (self.root / "run/determinations.jsonl").read_text("utf-8").splitlines()
        found: dict[str, Any] = json.loads(line)
        return found


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.jsonl").write_text(json.dumps(WRONG), encoding="utf-8")
    return Desk(tmp_path, capsys)


def test_the_guide_alone_leads_through_discovery(desk: Desk) -> None:
    code, said = desk.discover()
    assert code == 5 and "Waiting: 1 question in .helix/dispatch" in said
    task = desk.task()
    assert task["unit"]["kind"] == "discover" and task["unit"]["criteria"] == []
    assert desk.waiting[0].name == f"{task['key']}.task.json"
    assert "\n".join(task["system"]) == DETERMINER_RUBRIC
    rubric = (desk.root / ".helix/dispatch/rubric-determiner.md").read_text("utf-8")
    assert rubric.strip() == DETERMINER_RUBRIC.strip()

    desk.answer(desk.example)
    code, said = desk.discover()
    assert code == 0 and "Waiting" not in said
    found = desk.determined()
    assert (found["verdict"], found["producedBy"]) == ("fail", "determiner")
    assert found["evidencePointer"] == "m2"
    assert found["determinedBy"]["reviewer"] == "Ada, first reading"
    (detection,) = [d for d in found["detections"] if "detector" not in d]
    assert detection["kind"] == "reports another value than returned"


def test_the_example_has_the_shape_that_is_asked_for(desk: Desk) -> None:
    desk.discover()
    schema = jsonschema_rs.validator_for(desk.task()["replySchema"])
    example = json.loads(desk.example)
    assert schema.is_valid(example)
    assert not schema.is_valid({**example, "verdict": "bad"})


def test_every_field_of_a_determination_is_explained_in_the_guide(desk: Desk) -> None:
    desk.discover()
    guide = (desk.root / ".helix/dispatch" / GUIDE).read_text("utf-8")
    part = guide.partition("## What became of a recording")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`(\w+)`", part))
    schema = desk.task()["replySchema"]
    detection = schema["properties"]["detections"]["items"]
    assert {*schema["properties"], *detection["properties"]} <= explained
    for field in ("lens", "route"):
        assert all(f"`{word}`" in part for word in detection["properties"][field]["enum"])


@pytest.mark.parametrize(
    ("was", "becomes", "fault"),
    [
        ('"lens": "off-path"', '"lens": "drift"', "must be off-path"),
        (READER, '"reviewer": ""', "must name who judged"),
    ],
)
def test_what_is_wrong_with_an_answer_is_told_and_the_question_waits(
    was: str, becomes: str, fault: str, desk: Desk
) -> None:
    desk.discover()
    example = desk.example
    assert was in example
    desk.answer(example.replace(was, becomes))
    code, said = desk.discover()
    assert code == 5 and fault in " ".join(said.split())


def test_a_place_that_is_not_found_is_asked_about_once_more(desk: Desk) -> None:
    desk.discover()
    bent = desk.example.replace("Done: Tides is yours until 2031-05-14.", "Done until 2031-05-14.")
    desk.answer(bent)
    assert desk.discover()[0] == 5
    task = desk.task()
    assert task["unit"]["attempt"] == 1
    assert "m2 text: the text does not stand there" in "\n".join(task["again"][-1]["text"])
    desk.answer(bent)
    assert desk.discover()[0] == 0
    found = desk.determined()
    assert (found["verdict"], found["cause"]) == ("uncertain", "dead-ref")
    assert [d for d in found.get("detections", ()) if "detector" not in d] == []
    assert "reports another value than returned" in found["assumptions"][0]["text"]
