"""`helix memory` as it is typed, and what runs do with what it holds."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from helix.app.cli import main
from tests.audit.desk import JUDGED, SAYS_BOOKED, desk_trace, scripted, suite, write

CANARY = "canary-of-the-operator"
JUDGE = """
import os
from pathlib import Path

def judge(request):
    with open(Path(__file__).with_name("asked"), "a") as log:
        log.write(request.unit.role + " " + str(request.messages) + "\\n")
    if request.unit.role == "verifier":
        return {"nonce": request.nonce, "reviews": []}
    ref = {"obs": "t1", "path": "output.response", "value": "Your table is booked."}
    said = {"criterionId": "polite", "claim": "it says so", "critique": "read it",
            "litmus": {"premise": ""}, "refs": [ref], "result": "pass", "confidence": 1}
    if request.unit.axis == "criterion":
        return {"nonce": request.nonce, "bindings": [], **said}
    return {"nonce": request.nonce, "verdicts": [said]}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def add(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return ran(capsys, "memory", "add", *words)


def test_a_fact_is_added_listed_shown_and_sound(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = add(capsys, "I am the lead.", "--name", "lead")
    assert (code, err) == (0, "")
    assert out.startswith("remembered: lead (user, general, ")
    assert add(capsys, "I am the lead of all.", "--name", "lead")[1].startswith("updated: lead")
    code, out, _ = ran(capsys, "memory", "list")
    assert (code, out.split()[:3]) == (0, ["lead", "user", "general"])
    assert "I am the lead of all." in ran(capsys, "memory", "show", "lead")[1]
    assert ran(capsys, "memory", "check") == (0, "1 sound entry; 0 problems\n", "")


def test_each_prints_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    added = json.loads(add(capsys, "I am the lead.", "--name", "lead", "--json")[1])
    assert (added["name"], added["updated"]) == ("lead", False)
    (listed,) = json.loads(ran(capsys, "memory", "list", "--json")[1])["entries"]
    shown = json.loads(ran(capsys, "memory", "show", "lead", "--json")[1])
    assert shown == {**listed, "body": "I am the lead."}
    (here / ".helix" / "memory" / "x.md").write_text("x", encoding="utf-8")
    code, out, _ = ran(capsys, "memory", "check", "--json")
    found = json.loads(out)["problems"]
    assert (code, {p["file"] for p in found}) == (1, {"x.md", "MEMORY.md"})
    assert next(p["line"] for p in found if p["file"] == "x.md") == 1


def test_a_fact_can_come_from_standard_input(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("I am the lead.\n"))
    assert add(capsys, "-")[0] == 0
    assert (here / ".helix" / "memory" / "i-am-the-lead.md").is_file()


def test_a_row_of_the_living_suite_is_the_subjects(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = here / ".helix" / "living-suite"
    folder.mkdir(parents=True)
    suite(folder, SAYS_BOOKED).rename(folder / "eval.suite.yaml")
    code, _, err = add(capsys, "I like says-booked.")
    assert (code, "a finding about the subject (says-booked)" in err) == (2, True)


def test_an_unknown_entry_is_told_with_the_nearest(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(capsys, "I am the lead.", "--name", "lead")
    code, out, err = ran(capsys, "memory", "show", "laed")
    assert (code, out, "did you mean 'lead'?" in err) == (2, "", True)


@pytest.mark.parametrize("axis", [[], ["judge.two_pass=true"], ["judge.axis=criterion"]])
def test_a_run_tells_what_it_knows_and_no_judge_or_verifier_is_told(
    here: Path, capsys: pytest.CaptureFixture[str], axis: list[str]
) -> None:
    add(capsys, f"I like {CANARY}.", "--name", "likes", "--title", f"Title {CANARY}")
    add(capsys, "I am for improve.", "--name", "later", "--lifecycle", "improve")
    (here / ".helix" / "memory" / "broken.md").write_text("x", encoding="utf-8")
    write(here, desk_trace())
    suite(here, {**JUDGED, "terms": []})
    script = scripted(here, JUDGE)["script"]
    _, _, err = ran(capsys, "evaluate", "subject.traces=runs.jsonl", "criteria.file=suite.yaml",
                    "judge=scripted", f"judge.script={script}", "judge.model=m",
                    "hydra.run.dir=out", *axis)  # fmt: skip
    assert "1 memory entry known: likes; no judge or verifier is given them" in err
    assert "1 memory file with faults" in err
    asked = (here / "asked").read_text(encoding="utf-8")
    assert {line.split()[0] for line in asked.splitlines()} == {"judge", "verifier"}
    assert CANARY not in asked
    meta = json.loads((here / "out" / "runmeta.json").read_text(encoding="utf-8"))
    assert [known["name"] for known in meta["awareness"]["memory"]] == ["likes"]
    for name in ("plan.json", "scorecard.json", "verdicts.jsonl", "report.html"):
        assert CANARY not in (here / "out" / name).read_text(encoding="utf-8")


def test_discover_is_given_preferences_inside_their_own_fence(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(capsys, f"I like {CANARY}.", "--name", "likes")
    write(here, desk_trace())
    script = scripted(here, JUDGE)["script"]
    _, _, err = ran(capsys, "discover", "subject.traces=runs.jsonl", "judge=scripted",
                    f"judge.script={script}", "judge.model=m", "hydra.run.dir=out",
                    "subject.purpose=to book tables")  # fmt: skip
    assert "1 memory entry known: likes" in err
    meta = json.loads((here / "out" / "runmeta.json").read_text(encoding="utf-8"))
    assert [known["name"] for known in meta["awareness"]["memory"]] == ["likes"]
    assert (here / "out" / "subject.json").is_file()
    asked = (here / "asked").read_text(encoding="utf-8").splitlines()
    assert {line.split()[0] for line in asked} == {"determiner"}
    for line in asked:
        before, fence, inside = line.partition("<<<PREFERENCES")
        within, end, after = inside.partition("PREFERENCES")
        assert fence and end
        assert (CANARY in before, CANARY in within, CANARY in after) == (False, True, False)


def test_without_memory_nothing_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, desk_trace())
    suite(here, SAYS_BOOKED)
    code, _, err = ran(capsys, "evaluate", "subject.traces=runs.jsonl", "criteria.file=suite.yaml",
                       "hydra.run.dir=out")  # fmt: skip
    assert (code, "memory" in err) == (0, False)
    meta = json.loads((here / "out" / "runmeta.json").read_text(encoding="utf-8"))
    assert meta["awareness"] == {"memory": []}
