"""`helix calibrate`, from a cell that a run left open to one that a later run decides."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from helix.app.cli import main
from helix.premises import log_path, premise_id
from helix.suite.living import read
from tests.audit.desk import desk_trace, scripted, suite, write

NORM = "A free table may be booked unasked."
FACT = "Table 4 was free at noon."
ROWS = (
    {"criterion_id": "asked", "statement": "Pass = no table is booked unasked.",
     "severity": "HIGH", "class": "judge", "judge_inputs": ["output.response"],
     "terms": ["table"]},
    {"criterion_id": "free", "statement": "Pass = the table was free.", "severity": "HIGH",
     "class": "judge", "judge_inputs": ["output.response"]},
    {"criterion_id": "slow", "statement": "Pass = it was quick.", "severity": "MED",
     "class": "judge"},
)  # fmt: skip
SCRIPT = f"""
def judge(request):
    text = "".join(m.content for m in request.messages)
    return {{
        "nonce": request.nonce, "understanding": {{"rephrase": "a desk"}},
        "expectedTrajectory": [{{"expected": "a table"}}],
        "judgeSteps": [{{"kind": "gather", "text": "read the answer"}}],
        "fidelity": {{"complete": True}},
        "verdicts": [verdict(c, text) for c in request.unit.criteria],
    }}


def verdict(criterion, text):
    told = {{"asked": {NORM!r}, "free": {FACT!r}, "slow": "it took seconds"}}[criterion]
    if told not in text:
        kind = {{"asked": "normative", "free": "factual-intent", "slow": "scope"}}[criterion]
        return {{"criterionId": criterion, "critique": "Nobody says.", "result": "uncertain",
                 "blockedBy": {{"kind": kind, "text": "it is not said"}},
                 "bindings": [{{"term": "table", "ref": None}}] if criterion == "asked" else []}}
    ref = {{"obs": "m3", "path": "text", "value": "Your table is booked."}}
    return {{"criterionId": criterion, "critique": "It is said.", "claim": "A table is booked.",
             "result": "pass", "refs": [ref], "litmus": {{"premise": ""}},
             "bindings": [{{"term": "table", "ref": ref}}]}}
"""
SIGNED = ("--by", "ada", "--why", "the handbook says so", "--at", "2026-02-03")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, desk_trace("t1"), desk_trace("t2"))
    suite(tmp_path, *ROWS)
    scripted(tmp_path, SCRIPT)
    return tmp_path


def evaluated(out: str, *words: str) -> int:
    return main(["evaluate", "subject.traces=runs.jsonl", "criteria.file=suite.yaml",
                 "judge=scripted", "judge.model=m", "judge.script=judge.py", "verifier=none",
                 "report.out=[]", f"hydra.run.dir={out}", *words])  # fmt: skip


def cells(out: str) -> dict[str, dict[str, str]]:
    lines = Path(out, "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["trajectoryId"]: line["denseMap"] for line in map(json.loads, lines)}


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["calibrate", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code, out, err = ran(capsys, *words, "--json")
    assert code == 0, err
    return json.loads(out)


def test_the_queue_says_what_is_open_and_what_to_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluated("one") == 3
    code, out, _ = ran(capsys, "queue", "one")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "asked (HIGH, gates): normative, 2 traces"
    typed = next(line.strip() for line in lines if " calibrate ratify asked " in line)
    words = shlex.split(typed)[1:]
    assert words[:5] == ["calibrate", "ratify", "asked", "--run", "one"]
    assert main(words) == 0
    assert "asked: uncertain → waiting: ratify by NAME" in ran(capsys, "log")[1]


def test_a_ratified_norm_is_a_premise_of_the_next_run_and_a_new_question(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluated("one")
    did = told(capsys, "ratify", "asked", "--run", "one", "--norm", NORM, *SIGNED)
    assert (did["before"], did["after"]) == ("uncertain", "waiting")
    assert did["premises"] == [premise_id("asked", None, NORM)]
    assert evaluated("two") == 3
    assert [row["asked"] for row in cells("two").values()] == ["pass", "pass"]
    assert [row["free"] for row in cells("two").values()] == ["uncertain", "uncertain"]
    plans = [json.loads(Path(run, "plan.json").read_bytes()) for run in ("one", "two")]
    assert plans[0]["digest"] != plans[1]["digest"]
    assert plans[1]["decides"]["premises"][0]["text"] == NORM
    assert plans[0]["decides"]["versions"]["asked"] != plans[1]["decides"]["versions"]["asked"]
    assert plans[0]["decides"]["versions"]["free"] == plans[1]["decides"]["versions"]["free"]
    found = told(capsys, "record", "two")["entries"]
    assert (found[0]["criterionId"], found[0]["action"]) == ("asked", "settled")
    assert told(capsys, "log")["states"]["asked"] == "decided"
    assert read(".helix").row("asked").ratified is not None


def test_a_fact_about_one_trace_enters_the_questions_about_it_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluated("one")
    did = told(capsys, "verify", "free", "--run", "one", "--trace", "t1", "--fact", FACT, *SIGNED)
    assert did["after"] == "graduated"
    evaluated("two")
    assert {trace: row["free"] for trace, row in cells("two").items()} == {
        "t1": "pass", "t2": "uncertain",
    }  # fmt: skip
    premise = did["premises"][0]
    told(capsys, "withdraw", "free", "--premise", premise, *SIGNED)
    assert told(capsys, "premises") == {"premises": []}
    evaluated("three")
    assert cells("three")["t1"]["free"] == "uncertain"


def test_an_eliminated_assumption_takes_the_place_of_the_fact(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluated("one")
    told(capsys, "verify", "free", "--run", "one", "--trace", "t1", "--fact", FACT, *SIGNED)
    told(capsys, "eliminate", "free", "--trace", "t1", "--assumption", FACT, *SIGNED)
    (premise,) = told(capsys, "premises")["premises"]
    assert premise["text"] == f"This does not hold: {FACT}"
    assert told(capsys, "log")["states"]["free"] == "waiting"


def test_regrounding_writes_the_suite_and_the_command_that_asks_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluated("one")
    words = ("re-ground", "free", "--run", "one", "--field", "obs:look.output", *SIGNED)
    rerun = told(capsys, *words)["rerun"]
    assert rerun["traces"] == ["t1", "t2"]
    typed = shlex.split(rerun["command"])
    assert typed[-1] == "select.traces=[t1,t2]"
    main([*typed[typed.index("evaluate") :], "hydra.run.dir=again"])
    plan = json.loads(Path("again", "plan.json").read_bytes())["decides"]
    assert plan["criteria"] == ["free"] and plan["suite"]["name"] == "desk"
    text = Path(rerun["suite"]).read_text(encoding="utf-8")
    assert "output.response" in text and "obs:look.output" in text
    code, _, err = ran(capsys, *words[:4], "--field", "obs:", *SIGNED)
    assert code == 2 and "obs:" in err
    code, _, err = ran(capsys, *words[:4], "--field", "output.response", *SIGNED)
    assert code == 2 and "reads output.response already" in err


def test_rescoping_changes_the_living_suites_row_and_not_the_file(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    evaluated("one")
    before = (folder / "suite.yaml").read_bytes()
    words = ("re-scope", "slow", "--run", "one", *SIGNED)
    did = told(capsys, *words, "--statement", "Pass = it took seconds.", "--judge-input",
               "obs:book.input")  # fmt: skip
    assert did["suite"].endswith("eval.suite.yaml")
    assert read(".helix").row("slow").statement == "Pass = it took seconds."
    assert (folder / "suite.yaml").read_bytes() == before
    evaluated("two", f"criteria.file={did['suite']}")
    assert cells("two")["t1"] == {"slow": "pass"}
    code, _, err = ran(capsys, *words)
    assert code == 2 and "must change something" in err


def test_a_retired_row_is_asked_no_more_and_gates_no_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluated("one")
    told(capsys, "verify", "free", "--run", "one", "--trace", "t1", "--result", "pass", *SIGNED)
    told(capsys, "retire", "asked", "--run", "one", *SIGNED)
    assert read(".helix").row("asked").status == "retired"
    evaluated("two", "criteria.file=.helix/living-suite/eval.suite.yaml")
    assert cells("two")["t1"] == {"free": "uncertain"}
    code, _, err = ran(capsys, "ratify", "asked", "--norm", NORM, *SIGNED)
    assert code == 2 and "'asked' is retired, and cannot ratify" in err
    items = told(capsys, "queue", "one")["items"]
    assert {item["criterionId"] for item in items} == {"free", "slow"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("ratify", "asked", "--norm", NORM), "add --run RUN, or --suite SUITE"),
        (("ratify", "asked", "--norm", NORM, "--suite", "suite.yaml"), "was not found undecided"),
        (("ratify", "askd", "--norm", NORM, "--run", "one"), "did you mean 'asked'"),
        (("ratify", "asked", "--norm", " ", "--run", "one"), "ratify must say text"),
        (("verify", "free", "--run", "one"), "--fact TEXT, or --trace ID with --result"),
        (("withdraw", "free", "--run", "one", "--premise", "premise-1"), "(known: none)"),
        (("re-scope", "free", "--run", "one", "--judge-input", "outptu.x"), "path 'outptu.x'"),
    ],
)
def test_what_is_not_possible_is_refused_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str
) -> None:
    evaluated("one")
    code, _, err = ran(capsys, *words, *SIGNED)
    assert code == 2 and text in err
    assert not log_path(".helix").exists()
