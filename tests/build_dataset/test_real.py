"""Datasets of real traces: what is kept reads back as the same trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix.ingest import Input
from helix.ingest.writing import canonical_line
from helix.model.trace import Trace
from helix.registry import load
from tests.build_dataset.desk import built

SOURCES = ("who_and_when", "agentrx_tau_retail", "langfuse_exports/api_shape", "swe_agent_traj",
           "mutagent_unitf", "atif", "openhands", "codex_rollouts")  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_a_dataset_of_real_traces_holds_them_whole_and_is_its_own_source(
    tmp_path: Path, shared: Path, source: str
) -> None:
    path = str(shared / "traces" / source)
    registry = load([])
    traces = [item for item in Input.open(path, "auto", registry) if isinstance(item, Trace)]
    assert traces
    found = built(tmp_path, pick=["*"], subject={"traces": path})
    assert found.traces == {trace.id: canonical_line(trace) for trace in traces}
    again = built(tmp_path, pick=["*"], subject={"traces": str(found.folder / "traces")})
    assert (again.rows, again.figures.traces) == ([], 0)
