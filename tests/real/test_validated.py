"""People's labels of real runs, joined with verdicts that a reviewer gave through dispatch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix.app.cli import main

RUNS = "traces/agentrx_tau_retail"


def answered(task: dict[str, Any], run: dict[str, Any], calls: dict[str, str]) -> dict[str, Any]:
    """Return the reply that a reviewer's answer is, in the form that the task asks for."""
    refs = [
        {"obs": calls.get(owner, owner), "path": path, "value": text}
        for owner, path, text in run["refs"]
    ]
    said = {"criterionId": "agent-right", "critique": run["critique"], "result": run["result"]}
    decided = {"refs": refs, "claim": run["claim"], "litmus": {"premise": ""}}
    return {
        "nonce": task["nonce"],
        "reviewer": "reviewer-1",
        "understanding": {"rephrase": "A retail agent serves one customer under a policy."},
        "expectedTrajectory": [{"expected": "identify, look up, confirm, act once, say so"}],
        "judgeSteps": [{"kind": "gather", "text": "read the policy and the whole run"}],
        "verdicts": [{**said, **decided}],
        "fidelity": {"complete": True},
    }


def calls_of(path: Path) -> dict[str, str]:
    """Return the id of the call that each message makes, by the message's index."""
    record = json.loads(path.read_text("utf-8"))
    (messages,) = [value for value in record.values() if isinstance(value, list)]
    return {
        f"call:{message['index']}": message["tool_calls"][0]["id"]
        for message in messages
        if message.get("tool_calls")
    }


@pytest.fixture(scope="module")
def measured(
    shared: Path, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Import the annotation, set the questions down, answer them, and measure."""
    folder, cases = tmp_path_factory.mktemp("agentrx"), project / "tests/cases/real"
    suite, labels = cases / "agentrx_judged.yaml", folder / "labels.jsonl"
    runs = yaml.safe_load((cases / "agentrx_verdicts.yaml").read_text("utf-8"))["runs"]
    traces = shared / RUNS / "task*.json"
    annotation = shared / RUNS / "labels_tau_ground_truth.json"
    imported = ["labels", "import", "agentrx", str(annotation), "--out", str(labels)]
    imported += ["--suite", str(suite), "--traces", str(traces), "--rater", "annotators"]
    assert main([*imported, "--map", "agent.Assistant=agent-right", "--absent", "pass"]) == 0
    words = ["validate", f"subject.traces={traces}", f"criteria.file={suite}", "judge=dispatch"]
    words += ["judge.model=reviewer", "verifier=none", f"paths.state={folder / 'state'}"]
    words += [f"validation.labels={labels}", "validation.split=all"]
    words += [f"select.traces={','.join(runs)}", f"hydra.run.dir={folder / 'run'}"]
    assert main(words) == 5
    for path in sorted((folder / "state" / "dispatch").glob("*.packet.json")):
        task = json.loads(path.read_text("utf-8"))
        id = task["unit"]["traceId"]
        (file,) = (shared / RUNS).glob(f"task0{id}_*.json")
        reply = json.dumps(answered(task, runs[id], calls_of(file)))
        path.with_name(f"{task['key']}.verdict.json").write_text(reply, "utf-8")
    assert main(words) == 0
    found: dict[str, Any] = json.loads((folder / "run/validation.json").read_text("utf-8"))
    return found


def test_the_annotation_and_the_verdicts_join_on_every_run(measured: dict[str, Any]) -> None:
    labels, (row,) = measured["labels"], measured["criteria"]
    assert (labels["cells"], labels["used"], labels["outside"]) == (11, 11, 0)
    assert row["measured"]["coverage"] == {"k": 11, "n": 11}


def test_the_page_says_what_was_measured(measured: dict[str, Any], project: Path) -> None:
    page = (project / "docs/validation.md").read_text("utf-8")
    found = measured["criteria"][0]
    for name in ("tpr", "tnr"):
        rate = found["measured"][name]
        low, high = (f"{100 * end:.0f}" for end in rate["exact"])
        assert f"{rate['k']} of {rate['n']} [{low}, {high}]" in page
    assert f"{found['measured']['kappa']:.2f}" in page
    assert found["status"] in page
