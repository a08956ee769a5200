"""Dispatched verdicts on real runs: recorded answers replay to what they came to.

docs/dispatch.md tells how they were given. The answers are the verdict files of the readers, as
recordings; the questions, which hold the traces, are not kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import helix
from helix.app.cli import main
from helix.evaluate import Finished
from helix.grounding.resolve import dead, resolve_refs
from helix.model.trace import Trace

HERE = Path(__file__).resolve().parents[1] / "cases" / "real"
CHANNELS = ("observations[*].name",)
COMPARED = ("plan.json", "manifest.jsonl", "verdicts.jsonl", "scorecard.json", "decisions.jsonl")


@dataclass(frozen=True)
class Set:
    """One dispatched set: which traces, how the agent was described, what came of it."""

    name: str
    files: tuple[str, ...]
    subject: dict[str, Any]
    exit_code: int
    verified: tuple[int, int]
    readers: tuple[str, str] = ("reader-1, first reading", "reader-2")

    def evaluate(self, shared: Path, run: Path, state: Path) -> Finished:
        folder = HERE / self.name
        return helix.evaluate(
            [str(shared / "traces" / file) for file in self.files],
            folder / "suite.yaml",
            judge={"backend": "replay", "dir": str(folder / "recordings"), "model": "reader"},
            subject={**self.subject, "complete_channels": CHANNELS},
            paths={"state": str(state)},
            run_dir=run,
        )

    @property
    def expected(self) -> dict[str, Any]:
        text = (HERE / self.name / "expected.yaml").read_text(encoding="utf-8")
        found: dict[str, Any] = yaml.safe_load(text)
        return found


AIRLINE = Set(
    "airline_dispatch",
    tuple(
        f"tau_bench_airline_gpt4o/task{task}.json"
        for task in (
            "39_trial2_reward0",
            "01_trial2_reward0",
            "36_trial1_reward1",
            "15_trial2_reward1",
            "32_trial3_reward0",
            "20_trial1_reward1",
            "40_trial1_reward1",
            "26_trial0_reward1",
            "22_trial1_reward0",
            "06_trial1_reward0",
        )
    ),
    {
        "format": "tau_bench",
        "name": "airline-desk",
        "purpose": (
            "Books, changes and cancels flights for users under the policy in its system message"
        ),
    },
    exit_code=1,
    verified=(35, 7),
)
RETAIL = Set(
    "agentrx_dispatch",
    tuple(
        f"agentrx_tau_retail/task{task}.json"
        for task in (
            "012_reward0",
            "021_reward0",
            "032_reward0",
            "034_reward0",
            "038_reward0",
            "039_reward0",
            "042_reward1",
            "051_reward1",
            "054_reward1",
            "055_reward0",
            "063_reward0",
            "078_reward1",
            "079_reward0",
            "082_reward0",
            "098_reward0",
        )
    ),
    {
        "format": "agentrx",
        "name": "retail-desk",
        "purpose": (
            "Cancels, changes, returns and exchanges orders for users under the policy in its "
            "system message"
        ),
    },
    exit_code=1,
    verified=(14, 1),
)
SETS = (AIRLINE, RETAIL)


@dataclass(frozen=True)
class Replayed:
    """One set, its run by replay, its traces by id."""

    of: Set
    run: Finished
    folder: Path
    traces: dict[str, Trace]


@pytest.fixture(scope="module", params=SETS, ids=[a.name for a in SETS])
def replayed(
    request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replayed]:
    folder = tmp_path_factory.mktemp("dispatched") / "run"
    run = request.param.evaluate(shared, folder, folder.parent / "state")
    ids = frozenset(line.trajectory_id for line in run.verdicts())
    yield Replayed(request.param, run, folder, {t.id: t for t in run.traces(ids)})


def test_every_cell_says_what_the_readers_decided(replayed: Replayed) -> None:
    cells = {line.trajectory_id: line.dense_map for line in replayed.run.verdicts()}
    assert cells == replayed.of.expected["cells"]
    assert len(cells) == len(replayed.of.files)
    assert replayed.run.scorecard.usage.calls == 0, "nobody is asked again"


def test_what_was_taken_back_is_what_the_second_reading_took_back(replayed: Replayed) -> None:
    taken = [
        {"trace": line.trajectory_id, "row": v.criterion_id, "was": v.verification.original_result}
        for line in replayed.run.verdicts()
        for v in line.verdicts
        if v.verification and v.verification.status == "downgraded"
    ]
    assert taken == (replayed.of.expected["downgraded"] or [])
    counts = replayed.run.scorecard.verification
    assert (counts.confirmed, counts.downgraded) == replayed.of.verified
    assert counts.failed == counts.not_verified == 0


def test_who_judged_and_who_checked_stand_in_every_line(replayed: Replayed) -> None:
    judge, verifier = replayed.of.readers
    for line in replayed.run.verdicts():
        assert line.judge_identity == judge
        said = [v.verification for v in (*line.verdicts, *line.not_applicable) if v.verification]
        assert {v.reviewer for v in said if v.status in ("confirmed", "downgraded")} <= {verifier}


def test_every_citation_is_found_in_its_trace(replayed: Replayed) -> None:
    cited = Counter[str]()
    for line in replayed.run.verdicts():
        trace = replayed.traces[line.trajectory_id]
        for verdict in line.verdicts:
            refs = [*verdict.refs, *(b.ref for b in verdict.bindings if b.ref)]
            assert dead(resolve_refs(trace, refs, complete_channels=CHANNELS)) == []
            cited[verdict.result] += len(verdict.refs)
        for row in line.not_applicable:
            channels = CHANNELS if row.verification else None
            assert dead(resolve_refs(trace, row.refs, complete_channels=channels)) == []
    assert cited["pass"] > 10 and cited["fail"] > 10
    grounded = replayed.run.scorecard.grounded
    assert grounded.k == grounded.n > 0


def test_the_gate_and_the_exit_code_follow(replayed: Replayed) -> None:
    assert replayed.run.exit_code == replayed.of.exit_code
    assert replayed.run.scorecard.traces.evaluated == len(replayed.of.files)


def test_a_second_replay_leaves_the_same_bytes(
    replayed: Replayed, shared: Path, tmp_path: Path
) -> None:
    replayed.of.evaluate(shared, tmp_path / "run", replayed.folder.parent / "state")
    for name in COMPARED:
        assert (tmp_path / "run" / name).read_bytes() == (replayed.folder / name).read_bytes(), name


def test_no_answer_quotes_more_than_a_ref_may_hold(replayed: Replayed) -> None:
    lines = (HERE / replayed.of.name / "recordings" / "judge.jsonl").read_text("utf-8").splitlines()
    answers = [json.loads(json.loads(line)["text"]) for line in lines[1:]]
    assert answers
    for answer in answers:
        for verdict in answer.get("verdicts", []):
            assert all(len(ref["value"] or "") <= 200 for ref in verdict["refs"])


def test_people_and_the_readers_agree_as_the_page_on_validation_says(
    shared: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = "RET-AGENT-DID-NOT-FAIL"
    suite = HERE / RETAIL.name / "suite.yaml"
    traces = shared / "traces" / "agentrx_tau_retail"
    RETAIL.evaluate(shared, tmp_path / "run", tmp_path / "state")
    annotated = [str(traces / "labels_tau_ground_truth.json"), "--out", "labels.jsonl"]
    meaning = ["--map", f"agent.Assistant={row}", "--absent", "pass", "--rater", "agentrx"]
    known = ["--suite", str(suite), "--traces", str(traces / "task*.json")]
    assert main(["labels", "import", "agentrx", *annotated, *meaning, *known]) == 0
    given = ["validation.labels=labels.jsonl", "validation.run=run", "validation.split=all"]
    assert main(["validate", *given, "paths.state=state", "hydra.run.dir=validated"]) == 0
    found = json.loads((tmp_path / "validated" / "validation.json").read_text("utf-8"))["overall"]
    assert found["confusion"] == {"passPass": 2, "passFail": 2, "failPass": 0, "failFail": 7}
    assert set(found["abstained"].values()) == {0}
    assert (found["coverage"]["k"], found["coverage"]["n"]) == (11, 11)
    assert [round(x, 3) for x in found["tpr"]["exact"]] == [0.068, 0.932]
    assert [round(x, 3) for x in found["tnr"]["exact"]] == [0.59, 1.0]
    lines = (tmp_path / "validated" / "disagreements.jsonl").read_text("utf-8").splitlines()
    differ = [(d["trace"], d["kind"]) for d in map(json.loads, lines)]
    assert differ == [("55", "false-fail"), ("63", "false-fail")]
    page = (project / "docs" / "validation.md").read_text(encoding="utf-8")
    for figure in ("2/4 [7, 93]", "7/7 [59, 100]", "9 of 11", "0.56"):
        assert figure in page, figure
