"""The determinism scorecard: fifteen dimensions over runs, and what each of them notices."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix.audit import dimensions, score
from helix.audit.dimensions import BUILT_IN
from helix.audit.measures import coverage_confidence
from helix.errors import UsageError
from helix.registry import DeterminismDimension, Registry, hookimpl, load
from helix.runs import RunFiles

ROW = {"criterionId": "a", "severity": "CRIT", "result": "fail", "gate": "fail",
       "prevalence": {"k": 1, "n": 2}, "standing": {"coverage": {"k": 1, "n": 2}}}  # fmt: skip
CELL = {"criterionId": "a", "result": "fail", "producedBy": "code"}
WHOLE: dict[str, Any] = {
    "manifest.jsonl": [
        {"id": f"t{at}", "route": "r", "selected": at < 8, "latencyMs": 100.0 + at}
        for at in range(10)
    ],
    "runmeta.json": {"reports": {"crashed": []}, "awareness": {"memory": [{"name": "m"}]}},
    "scorecard.json": {
        "runVerdict": "fail",
        "criteria": [ROW],
        "traces": {"found": 10, "sampled": 8},
        "judge": {"backend": "replay"},
        "verifier": {"backend": "none"},
        "gate": {"gaps": ["no trace was evaluated"], "failing": ["a"]},
        "cells": {"total": 8, "notAdjudicated": 2},
        "grounded": {"k": 6, "n": 6},
        "validation": {"status": "unvalidated"},
    },
    "failures.jsonl": [
        {"traceId": "t1", "kind": "criterion", "criterionId": "a", "localize": {"locus": "prompt"}}
    ],
    "verdicts.jsonl": [
        {"trajectoryId": "t1", "denseMap": {"a": "fail", "b": "uncertain"}, "verdicts": [CELL],
         "notAdjudicated": {"b": "budget"}, "provenance": {"prompt": "p1"}},
    ],
    "subject.json": {"identity": "desk", "tools": []},
}  # fmt: skip


def written(folder: Path, artifacts: dict[str, Any]) -> RunFiles:
    folder.mkdir()
    for name, value in artifacts.items():
        lines = value if name.endswith(".jsonl") else [value]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    return RunFiles(folder)


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the whole run with one value otherwise: `artifact:key.key`."""
    artifact, _, keys = path.partition(":")
    whole = json.loads(json.dumps(WHOLE))
    at, *rest = whole[artifact], *keys.split(".")
    for key in rest[:-1]:
        at = at[int(key)] if key.isdigit() else at[key]
    at[int(rest[-1]) if rest[-1].isdigit() else rest[-1]] = value
    return dict(whole)


@pytest.fixture
def base(tmp_path: Path) -> RunFiles:
    return written(tmp_path / "base", WHOLE)


def test_two_equal_runs_agree_in_all_fifteen(base: RunFiles, tmp_path: Path) -> None:
    shutil.copytree(base.folder, tmp_path / "copy")
    found = score([base, RunFiles(tmp_path / "copy")], dimensions(load()))
    assert [one.status for one in found.dimensions] == ["equal"] * 15
    assert (found.variance.k, found.variance.n) == (0, 15)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("latency-p50", "manifest.jsonl:3.latencyMs", None),
        ("render-crashes", "runmeta.json:reports.crashed", ["html"]),
        ("gate-completeness", "scorecard.json:gate.gaps", []),
        ("gate-completeness", "scorecard.json:gate.failing", []),
        ("sample-size", "scorecard.json:traces.sampled", 7),
        ("sample-size", "scorecard.json:verifier.backend", "replay"),
        ("primary-signal", "scorecard.json:runVerdict", "pass"),
        ("primary-signal", "scorecard.json:criteria.0.criterionId", "b"),
        ("finding-ids", "failures.jsonl:0.traceId", "t2"),
        ("remedy-ranking", "failures.jsonl:0.localize.locus", "tool"),
        ("slice-plan", "verdicts.jsonl:0.provenance.prompt", "p2"),
        ("sampling-buckets", "manifest.jsonl:0.route", "other"),
        ("sampling-buckets", "manifest.jsonl:0.selected", False),
        ("coverage-confidence", "scorecard.json:cells.notAdjudicated", 3),
        ("coverage-confidence", "scorecard.json:criteria.0.standing.coverage.k", 2),
        ("tier-0-signals", "verdicts.jsonl:0.denseMap.a", "pass"),
        ("entity-identity", "subject.json:tools", ["hammer"]),
        ("first-cap", "verdicts.jsonl:0.notAdjudicated.b", "timeout"),
        ("awareness", "runmeta.json:awareness.memory", []),
        ("heatmap-cells", "verdicts.jsonl:0.denseMap.b", "pass"),
    ],
)
def test_each_dimension_notices_what_it_is_there_for(
    base: RunFiles, tmp_path: Path, name: str, path: str, value: Any
) -> None:
    artifacts = changed(path, value)
    if name == "latency-p50":
        artifacts["manifest.jsonl"] = [
            {**e, "latencyMs": 900.0} for e in artifacts["manifest.jsonl"]
        ]
    other = written(tmp_path / "other", artifacts)
    found = score([base, other], BUILT_IN)
    assert name in {one.name for one in found.different}
    values = next(one.values for one in found.different if one.name == name)
    assert values[0] != values[1]


def test_latency_within_the_interval_is_the_same(base: RunFiles, tmp_path: Path) -> None:
    manifest = [{**e, "latencyMs": e["latencyMs"] + 1} for e in WHOLE["manifest.jsonl"]]
    other = written(tmp_path / "other", {**WHOLE, "manifest.jsonl": manifest})
    found = score([base, other], BUILT_IN).dimensions[0]
    assert (found.name, found.status) == ("latency-p50", "equal")
    assert found.values[0]["p50"] == 103.5 and found.values[1]["p50"] == 104.5
    few = written(tmp_path / "few", {**WHOLE, "manifest.jsonl": manifest[:3]})
    same = written(tmp_path / "same", {**WHOLE, "manifest.jsonl": WHOLE["manifest.jsonl"][:3]})
    assert score([few, same], BUILT_IN).dimensions[0].status == "different", "3 have no interval"


@pytest.mark.parametrize("artifact", sorted(WHOLE))
def test_what_no_run_holds_is_not_measured_and_what_one_lacks_differs(
    base: RunFiles, tmp_path: Path, artifact: str
) -> None:
    without = {name: value for name, value in WHOLE.items() if name != artifact}
    one, two = written(tmp_path / "one", without), written(tmp_path / "two", without)
    read = {item.name for item in BUILT_IN if item.artifact == artifact}
    neither = score([one, two], BUILT_IN)
    assert {d.name for d in neither.dimensions if d.status == "notMeasured"} == read
    assert neither.variance.n == 15 - len(read) and neither.variance.k == 0
    assert all(d.reason and artifact in d.reason for d in neither.dimensions if d.name in read)
    half = score([base, one], BUILT_IN)
    assert {d.name for d in half.different} == read
    assert all("not run 2" in (d.reason or "") for d in half.different)


def test_an_empty_folder_measures_nothing_and_crashes_nowhere(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one", {}), written(tmp_path / "two", {})
    found = score([one, two], BUILT_IN)
    assert (found.variance.k, found.variance.n) == (0, 0)


def test_three_runs_differ_where_any_two_do(base: RunFiles, tmp_path: Path) -> None:
    again = written(tmp_path / "again", WHOLE)
    third = written(tmp_path / "third", changed("scorecard.json:runVerdict", "pass"))
    found = score([base, again, third], BUILT_IN)
    assert [one.name for one in found.different] == ["primary-signal"]
    assert len(found.different[0].values) == found.runs == 3


def test_one_run_alone_has_no_determinism(base: RunFiles) -> None:
    with pytest.raises(UsageError, match="two runs or more"):
        score([base], BUILT_IN)


def measure(value: Any) -> Callable[[Any], Any]:
    return lambda run: value


class Strangers:
    @hookimpl
    def helix_register_dimensions(self, register: Callable[[DeterminismDimension], None]) -> None:
        register(DeterminismDimension("files", "1", "any", "names", self.files))
        register(DeterminismDimension("broken", "1", "any", "x", self.broken))
        register(DeterminismDimension("opaque", "1", "any", "x", measure(object())))

    @staticmethod
    def files(run: RunFiles) -> list[str]:
        return sorted(path.name for path in run.folder.iterdir())

    @staticmethod
    def broken(run: RunFiles) -> None:
        raise LookupError(f"nothing in {run.folder}")


def test_dimensions_of_third_parties_stand_behind_the_fifteen(
    base: RunFiles, tmp_path: Path
) -> None:
    registry = Registry()
    registry.add_plugin(Strangers(), "strangers", "1")
    other = written(tmp_path / "other", {**WHOLE, "more.json": {}})
    found = score([base, other], dimensions(registry))
    assert [one.name for one in found.dimensions[15:]] == ["broken", "files", "opaque"]
    assert [one.status for one in found.dimensions[15:]] == [
        "notMeasured", "different", "notMeasured",
    ]  # fmt: skip
    broken = found.dimensions[15].reason
    assert broken is not None and broken.startswith("LookupError: nothing in")
    assert str(tmp_path) not in broken, "no folder of this machine reaches the scorecard"


def test_coverage_is_not_known_of_a_run_that_does_not_hold_its_criteria(tmp_path: Path) -> None:
    (tmp_path / "scorecard.json").write_text('{"grounded":{"k":1,"n":2}}', encoding="utf-8")
    found = coverage_confidence(RunFiles(tmp_path))
    assert (found["grounded"], found["coverage"]) == ({"k": 1, "n": 2}, None)
