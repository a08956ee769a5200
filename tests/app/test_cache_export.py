"""`helix cache export`: what was asked once becomes a recording that replays to the same lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import helix
from helix.app.cli import main
from helix.app.recordings import export
from helix.backends.mailbox import Recording
from helix.engine.cache import open_cache
from helix.engine.upkeep import OnDisk
from helix.errors import ArtifactError, UsageError
from helix.evaluate import Finished
from helix.model.lines import decode_line
from helix.model.request import Message, Pin, Reply, Request, Unit

SUITE = """\
suite: greetings
version: 1
criteria:
  - criterion_id: greets
    statement: Pass = the answer greets the person.
    severity: HIGH
    class: judge
    judge_inputs: [output.response]
    terms: [greeting]
"""
SCRIPT = """\
def judge(request):
    if request.unit.role == "verifier":
        entails = "booked" not in request.messages[1].content
        leap = None if entails else "that booking greets"
        kind = None if entails else "normative"
        review = {"criterionId": "greets", "against": "Nothing else is said.", "leap": leap,
                  "leapKind": kind, "entails": entails}
        return {"nonce": request.nonce, "reviews": [review]}
    if request.unit.attempt == 0 and request.unit.trace_id == "t1":
        return "no object at all"
    said = "Hello Ada, welcome." if "Hello" in request.messages[1].content else "Table booked."
    ref = {"obs": request.unit.trace_id, "path": "output.response", "value": said}
    verdict = {
        "criterionId": "greets", "bindings": [{"term": "greeting", "ref": ref}], "refs": [ref],
        "claim": f"It ended with: {said}", "critique": "As the words say.",
        "litmus": {"premise": ""}, "result": "pass",
    }
    return {
        "nonce": request.nonce, "understanding": {"rephrase": "A desk."},
        "expectedTrajectory": [{"expected": "A greeting."}],
        "judgeSteps": [{"kind": "gather", "text": "Read the end."}],
        "fidelity": {"complete": True}, "verdicts": [verdict],
    }
"""


class Desk:
    """A folder with two traces, a suite and a scripted judge."""

    def __init__(self, root: Path) -> None:
        self.root, self.state = root, root / "state"
        lines = [
            {"schemaVersion": "1.0", "id": f"t{n}", "output": {"response": text}}
            for n, text in enumerate(
                ("Hello Ada, welcome.", "Table booked.", "Hello Ada, welcome.")
            )
        ]
        text = "\n".join(json.dumps(line) for line in lines)
        (root / "runs.jsonl").write_text(text, encoding="utf-8")
        (root / "suite.yaml").write_text(SUITE, encoding="utf-8")
        (root / "judge.py").write_text(SCRIPT, encoding="utf-8")

    def run(self, name: str, **judge: Any) -> Finished:
        return helix.evaluate(
            self.root / "runs.jsonl",
            self.root / "suite.yaml",
            judge={
                "backend": "scripted",
                "model": "m",
                "script": str(self.root / "judge.py"),
                **judge,
            },
            paths={"state": str(self.state)},
            run_dir=self.root / name,
        )

    def replay(self, folder: Path) -> Finished:
        return self.run("replayed", backend="replay", dir=str(folder), script=None)

    def lines(self, name: str) -> bytes:
        return (self.root / name / "verdicts.jsonl").read_bytes()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("of_one_run", [True, False])
def test_an_exported_run_replays_to_the_same_lines(desk: Desk, of_one_run: bool) -> None:
    done = desk.run("live")
    states = {line.trajectory_id: line.dense_map["greets"] for line in done.verdicts()}
    assert states == {"t0": "pass", "t1": "uncertain", "t2": "pass"}, "t1 is refuted"
    run = str(desk.root / "live") if of_one_run else None
    out = desk.root / "recordings" / "live.jsonl"
    exported = export(OnDisk(str(desk.state)), str(out), run)
    assert (exported.recordings, exported.left_out) == (7, 0), "with a re-prompt and the verifier"
    replayed = desk.replay(out.parent)
    assert desk.lines("replayed") == desk.lines("live")
    assert replayed.scorecard.usage.calls == 0
    before = out.read_bytes()
    export(OnDisk(str(desk.state)), str(out), run)
    assert out.read_bytes() == before


def test_of_two_prompts_the_one_of_the_run_is_taken(desk: Desk) -> None:
    desk.run("first")
    desk.run("second", context_tokens=64_000, extra={"top_k": 1})
    out = desk.root / "recordings" / "r.jsonl"
    assert export(OnDisk(str(desk.state)), str(out)).recordings == 7, "they say the same"
    script = SCRIPT.replace("As the words say.", "By the words.")
    (desk.root / "judge.py").write_text(script, encoding="utf-8")
    desk.run("third")
    with pytest.raises(
        ArtifactError, match=r"judge of trace 't0'.*--run RUN takes those of one run"
    ):
        export(OnDisk(str(desk.state)), str(out))
    assert export(OnDisk(str(desk.state)), str(out), str(desk.root / "third")).recordings == 7
    assert b"By the words." in out.read_bytes()
    desk.replay(out.parent)
    assert desk.lines("replayed") == desk.lines("third")


UNIT = Unit("judge", "trajectory", "t", "d", ("a",), "c", 0)
ASKED = Request(UNIT, Pin("scripted", "m", "scripted:m"), (Message("user", "Judge."),), "n" * 32)


def test_replies_kept_by_an_earlier_version_are_counted_and_left_out(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_cache(str(desk.state)) as cache:
        cache.put("a" * 64, Reply("old"))
        cache.put("b" * 64, Reply("new \ud800", returned_model=None), asked=ASKED)
    out = desk.root / "r.jsonl"
    words = ["cache", "export", "--state", str(desk.state), "--out", str(out)]
    assert main(words) == 0
    told = capsys.readouterr()
    assert told.out == f"1 recording in {out}\n"
    assert told.err.startswith("1 reply left out")
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leftOut"] == 1
    found = decode_line(out.read_bytes().splitlines()[1], Recording)
    assert (found.unit, found.nonce, found.model) == (UNIT, "n" * 32, None)
    assert (found.made_by, found.asked) == ("scripted:m", "m"), "a replay as another is refused"
    assert main(["cache", "--state", str(desk.state)]) == 0
    assert capsys.readouterr().out.startswith("2 replies, ")


def test_what_cannot_be_exported_is_a_usage_error(desk: Desk) -> None:
    state, out = str(desk.state), desk.root / "r.jsonl"
    with pytest.raises(UsageError, match=r"no reply in .* can be exported"):
        export(OnDisk(state), str(out))
    assert not desk.state.exists(), "looking makes no cache"
    with pytest.raises(UsageError, match=r"must be a file that ends in \.jsonl"):
        export(OnDisk(state), str(desk.root / "r.json"))
    with pytest.raises(ArtifactError, match=r"--run: .* must be the folder of a finished run"):
        export(OnDisk(state), str(out), str(desk.root))
    (desk.root / "mine.jsonl").write_text('{"my": "notes"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="holds no recordings"):
        export(OnDisk(state), str(desk.root / "mine.jsonl"))


@pytest.mark.parametrize("words", [["--out", "x.jsonl"], ["export"]])
def test_options_that_do_not_belong_together_are_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", *words]) == 2
    assert "cache export" in capsys.readouterr().err
