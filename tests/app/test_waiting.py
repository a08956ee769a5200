"""A run by dispatch, round by round, by nothing but what its own guide shows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import helix
from helix.app.cli import main
from helix.app.waiting import SHOWN, told
from helix.backends.dispatch import GUIDE, Tray, WaitingTask

TRACE = {
    "schemaVersion": "1.0",
    "id": "loan-7",
    "input": {"prompt": "Please renew my loan of Tides."},
    "transcript": [
        {"id": "m1", "seq": 1, "role": "user", "text": "Please renew my loan of Tides."},
        {
            "id": "m2",
            "seq": 3,
            "role": "assistant",
            "text": "Done: Tides is yours until 2031-05-04.",
        },
    ],
    "observations": [
        {
            "id": "call-1",
            "seq": 2,
            "type": "TOOL",
            "name": "renew_loan",
            "input": {"loan_id": "L-2208"},
            "output": {"renewed": True, "due_date": "2031-05-04"},
        }
    ],
    "output": {"response": "Done: Tides is yours until 2031-05-04."},
}
SUITE = """\
suite: desk
version: 1
criteria:
  - criterion_id: due-date-told
    statement: Pass = the answer names the due date that the tool returned.
    severity: HIGH
    class: judge
    judge_inputs: [output.response, "obs:*.output"]
    terms: [due date]
  - criterion_id: house-style
    statement: Pass = the answer follows the desk's style guide.
    severity: LOW
    class: judge
    judge_inputs: [output.response]
    terms: [style guide]
"""
CODE = """\
suite: desk
version: 1
criteria:
  - criterion_id: answered
    statement: Pass = there is an answer.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    returncode: int
    stdout: str
    stderr: str


class Desk:
    """A folder with one trace, a suite, and the command that is repeated."""

    def __init__(self, root: Path, suite: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys
        (root / "runs.jsonl").write_text(json.dumps(TRACE), encoding="utf-8")
        (root / "suite.yaml").write_text(suite, encoding="utf-8")

    def evaluate(self, *words: str) -> Ran:
        given = ["subject.traces=runs.jsonl", "criteria.file=suite.yaml"]
        return self.command("evaluate", *given, f"hydra.run.dir={self.run}", *words)

    def command(self, *words: str) -> Ran:
        code = main(words)
        said = self._capsys.readouterr()
        return Ran(code, said.out, said.err)

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def folder(self) -> Path:
        return self.root / ".helix" / "dispatch"

    def waiting(self) -> list[dict[str, Any]]:
        """Return the questions that the last run left waiting: the copies in its folder."""
        found = sorted((self.run / "dispatch").glob("*.json"))
        return [json.loads(place.read_text("utf-8")) for place in found]

    def examples(self) -> list[str]:
        """Return the answers that the guide shows."""
        guide = (self.folder / GUIDE).read_text("utf-8")
        return re.findall(r"```json\n(.*?)```", guide, re.DOTALL)

    def answer(self, text: str) -> Path:
        """Answer the one question that waits where it says."""
        (task,) = self.waiting()
        place = self.root / task["answer"]
        place.write_text(text.replace("NONCE OF THE QUESTION", task["nonce"]), encoding="utf-8")
        return place

    def line(self) -> dict[str, Any]:
        (line,) = (self.run / "verdicts.jsonl").read_text("utf-8").splitlines()
        found: dict[str, Any] = json.loads(line)
        return found

    def events(self) -> list[dict[str, Any]]:
        text = (self.run / "events.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def desk(folder: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(folder, SUITE, capsys)


def test_the_guide_alone_leads_to_the_gate_in_three_runs(desk: Desk) -> None:
    first = desk.evaluate("judge.model=m")
    assert (first.returncode, first.stderr) == (5, "")
    (task,) = desk.waiting()
    assert "Waiting: 1 question in .helix/dispatch\n" in first.stdout
    assert "what waits for an answer is not decided yet" in first.stdout
    assert f"{task['key']}.packet.json  trace loan-7" in first.stdout
    assert "Next: answer them as .helix/dispatch/README.md says" in first.stdout
    assert " answer --by NAME\n" in first.stdout
    assert "Rerun the failures" not in first.stdout, "with fewer rows it asks another question"

    judge, verifier, _ = desk.examples()
    desk.answer(judge)
    second = desk.evaluate("judge.model=m")
    assert second.returncode == 5
    assert "(1 of them to check verdicts, by another reviewer)" in second.stdout
    (task,) = desk.waiting()
    assert task["unit"]["kind"] == "verifier" and task["notBy"] == ["Ada, first reading"]

    desk.answer(verifier.replace("Ben, second reading", "ADA, first reading"))
    refused = desk.evaluate("judge.model=m")
    assert refused.returncode == 5
    assert "another reviewer must answer" in refused.stdout
    (event,) = [e for e in desk.events() if e["kind"] == "answer-refused"]
    assert event["file"] == f"{task['key']}.verdict.json"

    desk.answer(verifier)
    third = desk.evaluate("judge.model=m")
    assert (third.returncode, third.stderr) == (0, "")
    assert "Waiting" not in third.stdout and desk.waiting() == []
    line = desk.line()
    assert line["denseMap"] == {"due-date-told": "pass", "house-style": "uncertain"}
    assert line["judgeIdentity"] == "Ada, first reading"
    told = {v["criterionId"]: v for v in line["verdicts"]}["due-date-told"]
    assert told["verification"]["status"] == "confirmed"
    assert told["verification"]["reviewer"] == "Ben, second reading"


def test_the_guides_question_is_one_that_helix_asks(desk: Desk) -> None:
    desk.evaluate("judge.model=m")
    (task,) = desk.waiting()
    guide = (desk.folder / GUIDE).read_text("utf-8")
    heading, example = re.findall(r"```text\n(.*?)```", guide, re.DOTALL)
    asked = iter(line.rstrip() for line in task["user"])
    for line in filter(None, example.splitlines()):
        assert line in asked, line
    assert heading.rstrip("\n") in "\n".join(task["user"])


def test_every_field_of_an_answer_is_explained_in_the_guide(desk: Desk) -> None:
    desk.evaluate("judge.model=m")
    (task,) = desk.waiting()
    guide = (desk.folder / GUIDE).read_text("utf-8")
    explained = set(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE))
    schema = task["replySchema"]
    verdict = schema["properties"]["verdicts"]["items"]
    assert {"reviewer", *schema["required"], *verdict["properties"]} <= explained


def test_a_question_about_one_criterion_is_answered_by_one_verdict(desk: Desk) -> None:
    words = ["judge.model=m", "judge.axis=criterion", "verifier=none"]
    assert desk.evaluate(*words).returncode == 5
    # The slice of the row shows what the run ended with, and not the message.
    example = desk.examples()[0].replace(
        '"m2", "path": "text"', '"loan-7", "path": "output.response"'
    )
    verdicts = {v["criterionId"]: v for v in json.loads(example)["verdicts"]}
    for task in desk.waiting():
        verdict = verdicts[task["unit"]["criterionId"]]
        answer = {"nonce": task["nonce"], "reviewer": "Ada", **verdict}
        (desk.root / task["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    assert desk.evaluate(*words).returncode == 0
    assert desk.line()["denseMap"] == {"due-date-told": "pass", "house-style": "uncertain"}


def test_a_mended_file_is_read_and_a_broken_one_ends_nothing(desk: Desk) -> None:
    desk.evaluate("judge.model=m")
    judge = desk.examples()[0]
    place = desk.answer(judge.replace('"reviewer"', '"reviewed by"'))
    done = desk.evaluate("judge.model=m", "report.out=[json]")
    assert done.returncode == 5
    fault = f'cannot be used: {place.name}: "reviewer" must name who judged'
    assert fault in done.stderr and fault not in done.stdout, "told where nothing else is"
    desk.answer(judge)
    desk.evaluate("judge.model=m")
    assert [task["unit"]["kind"] for task in desk.waiting()] == ["verifier"]


def test_a_dead_ref_is_asked_again_and_either_file_can_be_corrected(desk: Desk) -> None:
    desk.evaluate("judge.model=m")
    judge = desk.examples()[0]
    first = desk.answer(judge.replace('"2031-05-04"},', '"2031-05-05"},'))
    done = desk.evaluate("judge.model=m")
    assert done.returncode == 5 and "trace loan-7, asked again" in done.stdout
    (again,) = desk.waiting()
    assert again["unit"]["attempt"] == 1
    assert "due-date-told: ref call-1 output.due_date" in "\n".join(again["again"][-1]["text"])
    second = desk.answer(judge)
    desk.evaluate("judge.model=m")
    assert [task["unit"]["kind"] for task in desk.waiting()] == ["verifier"]
    second.unlink()
    first.write_text(judge.replace("NONCE OF THE QUESTION", again["nonce"]), encoding="utf-8")
    desk.evaluate("judge.model=m")
    assert [task["unit"]["kind"] for task in desk.waiting()] == ["verifier"]


def test_another_suite_asks_anew_and_lists_the_old_answer(desk: Desk) -> None:
    desk.evaluate("judge.model=m")
    old = desk.answer(desk.examples()[0])
    suite = SUITE.replace("names the due date", "names the very due date")
    (desk.root / "suite.yaml").write_text(suite, encoding="utf-8")
    done = desk.evaluate("judge.model=m")
    assert done.returncode == 5
    listed = "1 file in .helix/dispatch that no question of this run asks for"
    assert f"Not used: {listed}: {old.name}\n  as they answer another run" in done.stdout
    assert [e["files"] for e in desk.events() if e["kind"] == "answers-unused"] == [[old.name]]


def test_a_suite_that_code_decides_needs_neither_a_name_nor_a_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(folder, CODE, capsys)
    done = desk.evaluate()
    assert (done.returncode, done.stderr) == (0, "")
    assert not (folder / ".helix").exists() and not (desk.run / "dispatch").exists()
    assert "Judge: none" in done.stdout


def test_a_judged_suite_without_a_named_judge_says_what_to_type(desk: Desk) -> None:
    done = desk.evaluate()
    assert done.returncode == 2
    assert "add judge.model=NAME (whoever will answer: a model, a person)" in done.stderr
    assert "judge=none" in done.stderr
    assert not (desk.root / ".helix").exists()


def test_a_fail_that_is_certain_stands_while_others_wait(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = SUITE.replace("    class: judge", "    route: r\n    class: judge")
    missing = CODE.partition("criteria:\n")[2].replace("output.response", "output.second")
    desk = Desk(folder, judged + missing, capsys)
    traces = [{**TRACE, "route": "q"}, {**TRACE, "id": "loan-8", "route": "r"}]
    (folder / "runs.jsonl").write_text("\n".join(map(json.dumps, traces)), encoding="utf-8")
    done = desk.evaluate("judge.model=m", "subject.routes=[r,q]")
    assert done.returncode == 1, done.stdout
    assert "Waiting: 1 question" in done.stdout


def test_a_library_call_judges_nothing_unless_asked_and_dispatches_when_asked(desk: Desk) -> None:
    files = (desk.root / "runs.jsonl", desk.root / "suite.yaml")
    state = {"state": str(desk.root / "state")}
    assert helix.evaluate(*files, paths=state).exit_code == 3
    assert not (desk.root / "state").exists()
    done = helix.evaluate(*files, judge={"backend": "dispatch", "model": "m"}, paths=state)
    assert (done.exit_code, done.pending) == (5, 1)
    assert [task.trace_id for task in done.trays[0].waiting] == ["loan-7"]


def test_many_questions_are_counted_and_few_are_named() -> None:
    tasks = tuple(
        WaitingTask(f"{n:064x}.packet.json", "judge", f"t{n}\x1b[2J", 0) for n in range(50)
    )
    unused = tuple(f"{n}.json" for n in range(9))
    lines = told([Tray("here", tasks, unused, ("a", "b"))], "helix evaluate")
    assert lines[0] == "Waiting: 50 questions in here"
    assert len(lines) == 1 + SHOWN + 1 + 1 + 1 + 3
    assert lines[SHOWN + 1] == "  and 30 more: the run's folder dispatch/ holds a copy of each"
    assert lines[SHOWN + 2].endswith("0.json, 1.json, 2.json, 3.json, 4.json and 4 more")
    assert "9 files in here not named as an answer is, KEY.verdict.json" in lines[SHOWN + 2]
    assert not any("\x1b" in line for line in lines)
    assert lines[SHOWN + 3] == "Not asked now: 2 more questions in here, of other runs or prompts"
    assert lines[-2].endswith(" answer here --by NAME") and lines[-1] == "  helix evaluate"
    assert told([Tray("here", idle=("a",))], "helix evaluate") == ()


def test_a_fault_of_several_answers_is_told_once_with_every_file() -> None:
    faults = {"a": "no JSON", "b": "Ada judged\x1b[2J", "c": None, "d": "Ada judged\x1b[2J"}
    tasks = tuple(
        WaitingTask(f"{name}.task.json", "verifier", "t", 0, fault)
        for name, fault in faults.items()
    )
    assert told([Tray("here", tasks)], "helix evaluate")[:6] == (
        "Waiting: 4 questions in here "
        "(4 of them to check verdicts, by another reviewer; 3 answers cannot be used)",
        "  cannot be used: a.verdict.json: no JSON",
        "  cannot be used: Ada judged\\x1b[2J:",
        "    b.verdict.json",
        "    d.verdict.json",
        "  c.task.json  trace t",
    )


def test_dispatched_answers_become_recordings_that_replay(desk: Desk) -> None:
    """The questions need not be kept, nor the rubric stay as it is."""
    desk.evaluate("judge.model=m")
    judge, verifier, _ = desk.examples()
    desk.answer(judge)
    desk.evaluate("judge.model=m")
    desk.answer(verifier)
    assert desk.evaluate("judge.model=m").returncode == 0
    live = (desk.run / "verdicts.jsonl").read_bytes()
    (desk.folder / f"{'0' * 64}.verdict.json").write_text("{}", encoding="utf-8")
    exported = desk.command("cache", "export", "--dispatch", str(desk.folder), "--out", "r/r.jsonl")
    assert (exported.returncode, exported.stdout) == (0, "2 recordings in r/r.jsonl\n")
    assert exported.stderr.startswith("1 reply left out")
    assert desk.evaluate("judge=replay", "judge.dir=r", "judge.model=m").returncode == 0
    assert (desk.run / "verdicts.jsonl").read_bytes() == live
