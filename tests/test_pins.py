"""Who is asked under what: an unpinned temperature is said once and marks all that follows (42)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix.errors import PinError
from helix.evaluate import Finished, run
from helix.model.config import Config, JudgeConfig
from helix.model.request import Price, Request, Unit
from helix.pins import PRICES, make_pin, pin_dict, verifier_of
from helix.registry import load

SUITE = """\
suite: small
version: 1
criteria:
  - criterion_id: kept
    statement: Pass = the answer keeps to what was asked.
    severity: HIGH
    class: judge
"""
SCRIPT = """\
def judge(request):
    ref = {"obs": "t1", "path": "output.response", "value": "It closes at six today."}
    flaps = FLAPS and request.unit.replicate == 3
    verdict = {"criterionId": "kept", "bindings": [], "refs": [ref], "claim": "It says when.",
               "critique": "Read it.", "litmus": {"premise": ""},
               "result": "fail" if flaps else "pass"}
    return {"nonce": request.nonce, "understanding": {"rephrase": "A desk is asked the time."},
            "expectedTrajectory": [{"expected": "It tells the time."}],
            "judgeSteps": [{"kind": "gather", "text": "Read the answer."}],
            "fidelity": {"complete": True}, "verdicts": [verdict]}
"""


def judged(folder: Path, *, flaps: bool = False, replicates: int = 1, **judge: Any) -> Finished:
    record = {"schemaVersion": "1.0", "id": "t1", "input": {"prompt": "When does it close?"},
              "output": {"response": "It closes at six today."}}  # fmt: skip
    (folder / "t.jsonl").write_text(json.dumps(record), encoding="utf-8")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "judge.py").write_text(SCRIPT.replace("FLAPS", str(flaps)), encoding="utf-8")
    config = Config.model_validate(
        {
            "subject": {"traces": str(folder / "t.jsonl")},
            "criteria": {"file": str(folder / "suite.yaml")},
            "judge": {"backend": "scripted", "model": "m", "script": str(folder / "judge.py"),
                      **judge},
            "verifier": {"backend": "none"},
            "sampling": {"replicates": replicates},
            "paths": {"state": str(folder / "state")},
        }
    )  # fmt: skip
    return run(config, run_dir=folder / "out")


@pytest.mark.parametrize(("allowed", "temperature"), [(False, 0.0), (True, None)])
def test_the_temperature_is_0_or_said_to_be_nobodys(
    allowed: bool, temperature: float | None
) -> None:
    section = JudgeConfig(backend="scripted", model="m", allow_unpinned_temperature=allowed)
    pin = make_pin(section, load([]).get("judges", "scripted"), "judge")
    assert pin.temperature == temperature


def test_files_say_null_and_the_run_waits_for_repeats(tmp_path: Path) -> None:
    done = judged(tmp_path, allow_unpinned_temperature=True)
    assert done.run_verdict == "incomplete"
    (gap,) = done.scorecard.gate.gaps
    assert gap.startswith("kept: the judge ran without temperature 0")
    (line,) = done.verdicts()
    assert line.temperature is None
    plan = json.loads((tmp_path / "out" / "plan.json").read_text(encoding="utf-8"))
    assert plan["decides"]["judge"]["pin"]["temperature"] is None
    assert done.scorecard.judge.requested["temperature"] is None


def test_five_repeats_that_agree_pass_and_one_that_differs_does_not(tmp_path: Path) -> None:
    done = judged(tmp_path, replicates=5, allow_unpinned_temperature=True)
    assert done.run_verdict == "pass"
    done = judged(tmp_path, flaps=True, replicates=5, allow_unpinned_temperature=True)
    assert done.run_verdict == "incomplete"
    assert done.scorecard.blocked.by_cause == {"flapping": 1}


def test_with_temperature_0_one_answer_counts(tmp_path: Path) -> None:
    assert judged(tmp_path).run_verdict == "pass"


@pytest.mark.parametrize("name", ["Kim Doe", "kim  doe ", "Ｋim Doe"])
def test_who_judges_may_not_verify_however_the_name_is_spelled(name: str) -> None:
    config = Config.model_validate(
        {
            "judge": {"backend": "scripted", "model": "m", "identity": "Kim Doe"},
            "verifier": {"backend": "scripted", "model": "m", "identity": name},
        }
    )
    registry = load()
    judge = registry.get("judges", "scripted")
    with pytest.raises(PinError, match=r"verifier\.identity must differ from the judge's"):
        verifier_of(config, registry, judge, make_pin(config.judge, judge, "judge"))


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        (1, None),
        (None, 1),
        ("x", 1),
        (1, -1),
        (float("inf"), 1),
        (float("nan"), 1),
        (True, "1"),
        (True, 1),
        (0, False),
    ],
)
def test_a_price_is_two_prices(prompt: Any, completion: Any) -> None:
    given = dict(zip(PRICES, (prompt, completion), strict=True))
    section = JudgeConfig.model_construct(**{**JudgeConfig(model="m").__dict__, "extra": given})
    with pytest.raises(PinError, match=r"judge\.extra\.prompt_usd_per_million and .* two prices"):
        make_pin(section, load().get("judges", "scripted"), "judge")


def test_what_a_token_costs_changes_no_question_and_is_sent_to_nobody() -> None:
    scripted = load().get("judges", "scripted")
    plain = make_pin(JudgeConfig(model="m", extra={"top_k": 1}), scripted, "judge")
    prices = dict(zip(PRICES, (2, 10.0), strict=True))
    priced = make_pin(JudgeConfig(model="m", extra={"top_k": 1, **prices}), scripted, "judge")
    assert (plain.price, priced.price) == (None, Price(2.0, 10.0))
    assert priced.extra == {"top_k": 1}
    assert pin_dict(priced) == pin_dict(plain)
    unit = Unit("judge", "trajectory", "t", "d", ("c",), "c", 0)
    plainly, pricedly = (Request(unit, pin, (), "n").cache_key(1) for pin in (plain, priced))
    assert plainly == pricedly
