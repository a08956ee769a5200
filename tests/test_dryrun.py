"""A dry run says what a run would ask and cost; it asks nobody and spends nothing."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix import registry as registries
from helix.dryrun import Estimate, estimate
from helix.evaluate import run
from helix.model.config import Config
from helix.model.request import Price
from helix.registry import Judge, Registry

SUITE = """\
suite: judged
version: 1
criteria:
  - criterion_id: greets
    statement: Pass = the response greets.
    severity: HIGH
    class: judge
"""
# A judge that passes every trace, and a verifier that agrees; both tell a file what was asked.
SCRIPT = """\
import json
from pathlib import Path

WALK = {"understanding": {"rephrase": "an agent that greets"},
        "expectedTrajectory": [{"expected": "it greets"}],
        "judgeSteps": [{"kind": "gather", "text": "read the response"}],
        "fidelity": {"complete": True}}

def judge(request):
    with open(Path(__file__).with_name("asked"), "a") as file:
        file.write(request.unit.role + "\\n")
    if request.unit.role == "verifier":
        rows = [{"criterionId": row, "against": "nothing", "leap": None, "leapKind": None,
                 "entails": True} for row in request.unit.criteria]
        return {"nonce": request.nonce, "reviews": rows}
    ref = {"obs": request.unit.trace_id, "path": "output.response", "value": "Hello to everybody"}
    return {"nonce": request.nonce, **WALK, "verdicts": [
        {"criterionId": row, "bindings": [], "refs": [ref], "claim": "The response greets.",
         "critique": "It says hello.", "litmus": {"premise": ""}, "result": "pass"}
        for row in request.unit.criteria]}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [
        {"schemaVersion": "1.0", "id": f"t{n}", "input": {"prompt": "Say hello."},
         "output": {"response": f"Hello to everybody, from {n}."}}
        for n in range(3)
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "traces.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "judge.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def config(**sections: Any) -> Config:
    """A run over the three traces, judged and verified by the script."""
    judge = {"backend": "scripted", "model": "m", "script": "judge.py"}
    return Config.model_validate(
        {
            "subject": {"traces": "traces.jsonl"},
            "criteria": {"file": "suite.yaml"},
            "judge": judge | sections.pop("judge", {}),
            "verifier": {"backend": "same"},
            **sections,
        }
    )


def looked(registry: Registry | None = None, **sections: Any) -> Estimate:
    """The estimate of that run."""
    return estimate(config(**sections), registry or registries.load())


def asked(here: Path) -> list[str]:
    """The roles that were asked so far."""
    file = here / "asked"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def test_before_a_run_the_judges_questions_are_counted_and_the_verifiers_bounded(
    here: Path,
) -> None:
    text = looked().text()
    assert "judge      3 questions: 0 in the cache, 3 to ask" in text
    assert "verifier   up to 3 questions more, one a trace" in text
    assert "cost       unknown: no price is known for m" in text
    assert asked(here) == []
    assert not (here / ".helix").exists()


def test_after_a_run_nothing_is_left_to_ask(here: Path) -> None:
    done = run(config(), run_dir=here / "run")
    assert done.run_verdict == "pass"
    assert sorted(asked(here)) == ["judge"] * 3 + ["verifier"] * 3
    whole = looked()
    assert {role: (q.cached, q.to_ask) for role, q in whole.questions.items()} == {
        "judge": (3, 0),
        "verifier": (3, 0),
    }
    assert whole.undecided == whole.unverified == 0
    assert "cost       nothing: no judge is called" in whole.text()
    assert len(asked(here)) == 6


def test_what_the_run_would_draw_again_is_to_ask(here: Path) -> None:
    script = here / "judge.py"
    script.write_text("def judge(request):\n    return 'no'\n", encoding="utf-8")
    run(config(), run_dir=here / "run")
    kept, drawn = looked(), looked(cache={"refresh": "unusable"})
    assert (kept.questions["judge"].cached, kept.questions["judge"].to_ask) == (9, 0)
    assert (drawn.questions["judge"].cached, drawn.questions["judge"].to_ask) == (0, 3)


def test_what_is_half_done_is_counted_as_it_stands(here: Path) -> None:
    run(config(limits={"max_calls": 4}), run_dir=here / "run")
    whole = looked()
    left = sum(q.to_ask for q in whole.questions.values()) + whole.unverified
    kept = sum(q.cached for q in whole.questions.values())
    assert (kept, left) == (4, whole.unverified * 2 + (2 - whole.unverified))


def test_with_a_price_the_cost_is_told(here: Path) -> None:
    whole = looked()
    judge = whole.questions["judge"]
    priced: Judge = dataclasses.replace(judge.judge, price=lambda pin: Price(2.0, 10.0))
    judge.judge = priced
    judge.pin = msgspec.structs.replace(judge.pin, max_tokens=1_000)
    prompts = judge.prompt_tokens * 2 / 1e6
    assert judge.cost() == (pytest.approx(prompts), pytest.approx(prompts + 0.03))
    told = f"cost       about ${prompts:.4f} for the prompts, up to ${prompts + 0.03:.4f} with "
    assert told + "answers of 1000 tokens" in whole.text()
