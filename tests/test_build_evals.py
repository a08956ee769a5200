"""`helix build-evals`: the suite of judges that a run on the criterion axis leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from helix.app.cli import main
from helix.app.commands.schema import schema
from helix.demo.generator import write
from helix.dryrun import estimate
from helix.evaluate import run
from helix.model.config import Config
from helix.model.splits import split_of
from helix.registry import load as load_registry
from helix.suite import load

SUITE = """\
suite: small
version: 7
criteria:
  - criterion_id: answered
    statement: Pass = the run ends with a response.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
  - criterion_id: polite
    statement: "Pass = the response is polite: no shouting."
    pass_condition: It greets or thanks.
    fail_condition: It shouts.
    severity: MED
    class: judge
    judge_inputs: [output.response]
    few_shot:
      - {trace_id: elsewhere, split: train, text: HELLO, critique: It shouts., result: fail}
  - criterion_id: brief
    statement: Pass = the response is brief.
    severity: LOW
    class: hybrid
    judge_inputs: [output.response]
    code_eval: {primitive: presence, field: output.response}
"""
SCRIPT = """\
import re

ENDED = re.compile(r"^## what it ended with\\n\\[(.+)\\] (.+)\\n {4}(.+)$", re.MULTILINE)


def judge(request):
    found = ENDED.search(request.messages[1].content)
    obs, path, text = found.groups()
    (criterion,) = request.unit.criteria
    return {
        "nonce": request.nonce, "criterionId": criterion, "bindings": [],
        "refs": [{"obs": obs, "path": path, "value": text[:150].rsplit(" ", 1)[0]}],
        "claim": "It ends with these words.", "critique": "Read them.",
        "litmus": {"premise": ""}, "result": "pass" if criterion == "polite" else "fail",
        "confidence": 0.9,
    }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the demo's traces, and what one run of the command left there in `out`."""
    folder = tmp_path_factory.mktemp("built")
    write(folder / "traces.jsonl")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "judge.py").write_text(SCRIPT, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert build() == 1  # some of the demo's traces have no response
        yield folder


TYPED = ("subject.traces=traces.jsonl", "criteria.file=suite.yaml", "judge=scripted",
         "judge.model=m", "judge.script=judge.py", "hydra.run.dir=out", "report.out=json",
         "subject.truncation_flags=[truncated]")  # fmt: skip


def build(*more: str) -> int:
    return main(["build-evals", *TYPED, *more])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_it_writes_a_verdict_of_every_judged_row(built: Path) -> None:
    plan = json.loads((built / "out" / "plan.json").read_text(encoding="utf-8"))
    assert plan["decides"]["judge"]["axis"] == "criterion"
    verdicts = lines(built / "out" / "criterion-verdicts.jsonl")
    assert {v["criterionId"] for v in verdicts} == {"polite", "brief"}
    assert any(v["code"]["result"] == "fail" for v in verdicts if "code" in v)
    judged = [v for v in verdicts if v.get("code", {"result": "pass"})["result"] == "pass"]
    decided = [v for v in judged if v["result"] != "uncertain"]
    assert len(decided) > 50
    for verdict in decided:
        assert verdict["judgeModel"] == "m"
        assert verdict["temperature"] == 0.0
        assert verdict["critique"] == "Read them."
        assert list(verdict).index("critique") < list(verdict).index("result")
    valid = jsonschema_rs.validator_for(schema("criterion-verdict"))
    assert all(valid.is_valid(v) for v in verdicts)


def test_the_suite_that_it_writes_is_the_suite_that_it_read(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build("criteria.file=out/suite.yaml", "hydra.run.dir=again")
    assert "again/suite.yaml: 3 rows; judges.jsonl: 2 prompts" in capsys.readouterr().err
    plans = [json.loads((built / d / "plan.json").read_text("utf-8")) for d in ("out", "again")]
    assert plans[0]["decides"] == plans[1]["decides"]
    assert load("out/suite.yaml").suite == load("suite.yaml").suite
    for name in ("suite.yaml", "judges.jsonl", "criterion-verdicts.jsonl"):
        assert (built / "again" / name).read_bytes() == (built / "out" / name).read_bytes()
    build("select.criteria=polite", "hydra.run.dir=one", "sampling=random", "sampling.n=2")
    assert [row.criterion_id for row in load("one/suite.yaml").criteria] == ["polite"]


def test_a_judge_is_its_fixed_prompt_and_the_digest_of_it(built: Path) -> None:
    polite, brief = lines(built / "out" / "judges.jsonl")
    assert polite["user"].startswith("{recording}\n")
    assert 'Put "nonce": "{nonce}" first.' in polite["user"]
    assert "It greets or thanks." in polite["user"]
    assert "HELLO" in polite["user"] and "HELLO" not in brief["user"]
    assert polite["fewShot"] == [
        {"traceId": "elsewhere", "text": "HELLO", "critique": "It shouts.", "result": "fail",
         "split": "train"}
    ]  # fmt: skip
    assert polite["system"] == brief["system"]
    assert polite["promptDigest"] != brief["promptDigest"]
    valid = jsonschema_rs.validator_for(schema("judge"))
    assert valid.is_valid(polite) and valid.is_valid(brief)


def test_candidates_for_few_shot_come_from_train_alone(built: Path) -> None:
    polite, brief = lines(built / "out" / "judges.jsonl")
    for spec, result in ((polite, "pass"), (brief, "fail")):
        assert len(spec["candidates"]) == 2
        for shot in spec["candidates"]:
            assert split_of(shot["traceId"], 0) == "train"
            assert (shot["split"], shot["result"]) == ("train", result)
            assert shot["text"].startswith("[output.response] ")


def test_another_axis_is_refused_before_anything_is_read(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build("judge.axis=trajectory", "subject.traces=nowhere.jsonl") == 2
    assert "judge.axis must be criterion for build-evals" in capsys.readouterr().err


def test_a_dry_run_counts_a_question_for_every_row(built: Path) -> None:
    config = Config.model_validate(
        {
            "subject": {"traces": "traces.jsonl"},
            "criteria": {"file": "suite.yaml"},
            "sampling": {"strategy": "random", "n": 10},
            "judge": {"backend": "scripted", "model": "m", "script": "judge.py",
                      "axis": "criterion"},
        }
    )  # fmt: skip
    whole = estimate(config, load_registry())
    done = run(config, run_dir=built / "dry", registry=load_registry())
    judge = whole.questions["judge"]
    assert (judge.to_ask, judge.cached) == (0, done.scorecard.usage.cache_hits)
    assert judge.cached > 10


def test_one_run_sets_the_questions_of_all_rows_down(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("judge=dispatch", "judge.script=null", "judge.dir=tray", "hydra.run.dir=waits")
    assert build(*words, "sampling=random", "sampling.n=1", "sampling.seed=3") == 5
    asked = [json.loads(p.read_text("utf-8")) for p in (built / "tray").glob("*.task.json")]
    assert sorted(task["unit"]["criterionId"] for task in asked) == ["brief", "polite"]
    assert len({task["unit"]["traceId"] for task in asked}) == 1
