"""What a check reads is found out by watching it read, and watching changes no decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helix.audit.watching import watched
from helix.checks.run import decide
from helix.demo import generator
from helix.ingest import Input
from helix.model.criterion import Suite
from helix.model.trace import Trace
from helix.registry import CheckContext, load
from helix.suite import CompiledRow, compile
from helix.suite import load as load_suite
from helix.suite.batch import Batch
from tests.audit.desk import desk_trace


def row(**code_eval: Any) -> CompiledRow:
    fields = {"criterion_id": "r", "statement": "Pass = it holds.", "severity": "HIGH",
              "class": "code", "code_eval": code_eval}  # fmt: skip
    suite = Suite.model_validate({"suite": "s", "version": 1, "criteria": [fields]})
    return compile(suite, load()).rows[0]


def read_by(compiled: CompiledRow) -> set[tuple[str, str]]:
    noted: set[tuple[str, str]] = set()
    trace = desk_trace()
    context = CheckContext(seen=frozenset({"look", "book"}), roles=frozenset({"user"}))
    decide(compiled, watched(trace, noted), context)
    return noted


@pytest.mark.parametrize(
    ("code_eval", "fields"),
    [
        ({"primitive": "presence", "field": "output.response"}, {("", "output")}),
        ({"primitive": "presence", "field": "metadata.desk"}, {("", "metadata")}),
        ({"primitive": "presence", "field": "obs:look.input.seats"}, {("o1", "input")}),
        ({"primitive": "presence", "field": "transcript[-1].text"}, {("m3", "text")}),
        ({"primitive": "presence", "field": "usage.promptTokens"}, set()),
        ({"primitive": "caps", "calls": 3}, set()),
    ],
)
def test_only_what_is_read_is_noted(
    code_eval: dict[str, Any], fields: set[tuple[str, str]]
) -> None:
    assert read_by(row(**code_eval)) == fields


@pytest.mark.parametrize("suite", ["outreach", "refund_desk"])
def test_a_watched_trace_is_decided_as_the_trace_itself(
    project: Path, tmp_path: Path, suite: str
) -> None:
    generator.write(tmp_path / "runs.jsonl")
    registry = load()
    rows = compile(load_suite(str(project / f"helix/demo/{suite}.suite.yaml")), registry).rows
    batch = Batch()
    traces = list(batch.watch(Input.open(str(tmp_path / "runs.jsonl"), "auto", registry)))
    compared = 0
    for trace in traces[:20]:
        for compiled in rows:
            if compiled.check is not None:
                noted: set[tuple[str, str]] = set()
                own: Trace = watched(trace, noted)
                assert decide(compiled, own, batch.context) == decide(
                    compiled, trace, batch.context
                )
                compared += 1
    assert compared > 100
