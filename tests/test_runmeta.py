"""What run meta records of every execution (METHOD 45)."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import helix
from helix.demo.generator import write
from helix.evaluate import run
from helix.model.config import Config
from helix.runs import RunFiles

SUITE = """\
suite: small
version: 3
criteria:
  - criterion_id: answered
    statement: Pass = the run ends with a response.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
"""
RECORDED = {
    "schemaVersion", "runId", "runIdNamespace", "process", "startedAt", "generatedAt", "durationS",
    "exitCode", "runVerdict", "command", "model", "temperature", "judgeSeed", "seed", "stateRoot",
    "versions", "digests", "awareness",
}  # fmt: skip


def written(folder: Path) -> Config:
    write(folder / "traces.jsonl")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    return Config.model_validate(
        {
            "subject": {"traces": str(folder / "traces.jsonl")},
            "criteria": {"file": str(folder / "suite.yaml")},
            "judge": {"backend": "none"},
            "sampling": {"seed": 7},
        }
    )


def meta_of(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "runmeta.json").read_text(encoding="utf-8"))
    return found


def test_run_meta_is_complete_and_dated_by_the_time_it_is_given(tmp_path: Path) -> None:
    at = datetime.datetime(2031, 5, 2, 12, tzinfo=datetime.UTC)
    done = run(written(tmp_path), run_dir=tmp_path / "runs" / "a", now=at)
    meta = meta_of(done.run_dir)
    assert set(meta) == RECORDED
    assert meta["startedAt"] == meta["generatedAt"] == "2031-05-02T12:00:00+00:00"
    assert (meta["runId"], meta["runIdNamespace"]) == ("a", "runs")
    assert (meta["model"], meta["temperature"], meta["judgeSeed"]) == (None, None, None)
    assert meta["seed"] == 7
    assert meta["versions"]["helix"] == helix.__version__
    assert meta["versions"]["python"] == platform.python_version()
    assert meta["versions"]["suite"] == 3 and set(meta["versions"]["criteria"]) == {"answered"}
    plan = RunFiles(done.run_dir).plan()
    assert meta["digests"]["plan"] == plan.digest
    assert meta["versions"]["criteria"] == plan.decides["versions"]


def test_the_digest_of_the_traces_is_theirs_and_each_stands_in_the_manifest(
    tmp_path: Path,
) -> None:
    config = written(tmp_path)
    run(config, run_dir=tmp_path / "a")
    run(config, run_dir=tmp_path / "b")
    lines = (tmp_path / "traces.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "traces.jsonl").write_bytes(b"".join(lines[:-1]))
    run(config, run_dir=tmp_path / "c")
    first, second, third = (meta_of(tmp_path / name)["digests"] for name in "abc")
    assert first == second
    assert first["plan"] == third["plan"] and first["traces"] != third["traces"]
    assert all(len(entry.digest) == 64 for entry in RunFiles(tmp_path / "a").manifest())


def test_runs_of_one_process_bear_its_identity_and_those_of_two_do_not(tmp_path: Path) -> None:
    config = written(tmp_path)
    for name in ("a", "b"):
        run(config, run_dir=tmp_path / name)
    subprocess.run(
        [sys.executable, "-m", "helix", "evaluate", f"subject.traces={tmp_path}/traces.jsonl",
         f"criteria.file={tmp_path}/suite.yaml", f"hydra.run.dir={tmp_path}/c",
         f"paths.state={tmp_path}/state"],
        capture_output=True, env=os.environ, cwd=tmp_path, check=False,
    )  # fmt: skip
    first, second, third = (meta_of(tmp_path / name) for name in "abc")
    assert first["process"] == second["process"] != third["process"]
    assert set(third) - RECORDED == {"configRoot", "reports"}, "what the command adds"
    assert Path(third["configRoot"], "base.yaml").is_file()
    assert third["reports"] == {"made": ["html", "terminal"], "crashed": []}


def test_what_a_trace_took_is_in_the_manifest_where_it_says_so(tmp_path: Path) -> None:
    took = [1500, 12.5, "fast", True, -1, 10**400, None]
    lines = [
        {"schemaVersion": "1.0", "id": f"t{at}", "output": {"response": "x"},
         "usage": {} if value is None else {"latencyMs": value}}
        for at, value in enumerate(took)
    ]  # fmt: skip
    config = written(tmp_path)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "traces.jsonl").write_text(text, encoding="utf-8")
    run(config, run_dir=tmp_path / "a")
    found = [entry.latency_ms for entry in RunFiles(tmp_path / "a").manifest()]
    assert found == [1500, 12.5, None, None, None, None, None]
