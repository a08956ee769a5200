"""Real airline and retail runs against suites of their policies, cell by cell.

The tables were decided by reading the runs: what each row must say, and the message that decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import helix
from helix.evaluate import Finished
from helix.model.trace import Trace

HERE = Path(__file__).resolve().parents[1] / "cases" / "real"
SETS = {
    "tau_airline": ("tau_bench_airline_gpt4o/*.json", 0),
    "agentrx_retail": ("agentrx_tau_retail/task*.json", 1),
}


@dataclass(frozen=True)
class Policy:
    """One evaluated set: the run, its traces by id, the table, the base of message numbers."""

    run: Finished
    traces: dict[str, Trace]
    table: list[dict[str, Any]]
    base: int


@pytest.fixture(scope="module", params=SETS)
def policy(request: pytest.FixtureRequest, shared: Path) -> Iterator[Policy]:
    pattern, base = SETS[request.param]
    run = helix.evaluate(str(shared / "traces" / pattern), HERE / f"{request.param}.yaml")
    ids = frozenset(line.trajectory_id for line in run.lines)
    table = yaml.safe_load((HERE / f"{request.param}_expected.yaml").read_text(encoding="utf-8"))
    yield Policy(run, {t.id: t for t in run.traces(ids)}, table, base)


def test_every_cell_says_what_a_reader_decided(policy: Policy) -> None:
    said = {(x.trajectory_id, c): s for x in policy.run.lines for c, s in x.dense_map.items()}
    expected = {(entry["run"], entry["row"]): entry["expected"] for entry in policy.table}
    assert len(expected) >= 15 * 8
    assert said == expected


def test_every_failure_is_placed_at_the_message_that_decides_it(policy: Policy) -> None:
    verdicts = {(x.trajectory_id, v.criterion_id): v for x in policy.run.lines for v in x.verdicts}
    wrong = []
    for entry in policy.table:
        if entry["expected"] != "fail":
            continue
        trace = policy.traces[entry["run"]]
        cited = {ref.obs for ref in verdicts[entry["run"], entry["row"]].refs}
        if not cited & _at(trace, entry["message"], policy.base):
            wrong.append((entry["run"], entry["row"], entry["message"], sorted(cited)))
    assert wrong == []


def _at(trace: Trace, number: int, base: int) -> set[str]:
    """Return the ids of a source message: its own, and those of the calls made in it."""
    message = next(m for m in trace.transcript if m.id == f"m{number}")
    assert base in (0, 1)
    return {message.id, *message.observation_ids}


def test_every_decided_cell_is_grounded_and_no_label_is_cited(policy: Policy) -> None:
    card = policy.run.scorecard
    assert card.grounded.k == card.grounded.n > 0
    assert card.load.failures == ()
    for line in policy.run.lines:
        for verdict in line.verdicts:
            assert all("label" not in ref.path and "reward" not in ref.path for ref in verdict.refs)


def test_rows_discriminate(policy: Policy) -> None:
    seen: dict[str, set[str]] = {}
    for entry in policy.table:
        seen.setdefault(entry["row"], set()).add(entry["expected"])
    both = [row for row, states in seen.items() if {"pass", "fail"} <= states]
    assert len(seen) >= 8
    assert len(both) >= 6, "a row that never fails or never passes tells little"
