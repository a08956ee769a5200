"""Every file of EXPECTED.tsv is what that table says, and what is no trace is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reading_of import registry
from samples import EXPECTED, NO_TRACES, SAMPLES, loaded, opened

from helix.errors import TraceError
from helix.ingest.overview import detected


def test_the_table_is_read(shared: Path) -> None:
    assert len(EXPECTED) == len(SAMPLES) + len(NO_TRACES)
    assert len(SAMPLES) > 150
    assert all((shared / "traces" / path).is_file() for path in EXPECTED)


@pytest.mark.parametrize("path", SAMPLES)
def test_a_sample_is_detected_as_the_format_named(path: str) -> None:
    (found,) = detected(opened(path))
    assert found.format in SAMPLES[path], found.reason
    assert found.reason


LOGS = "inspect_logs/analysis__test_logs__2025-05-12T20-28-13-04-00"
# The lines of samples that are damaged on purpose: text, numbers, records without what they need.
DAMAGED = {
    "claude_code_sessions/claude-code-log/edge_cases.jsonl": [10, 11, 13, 14, 15, 16],
    "claude_code_sessions/letta/cleanup/input.jsonl": [1],
    # A log that was started and has no sample yet: in its format, but no trace.
    f"{LOGS}_no-samples.json": [0],
}


@pytest.mark.parametrize("path", SAMPLES)
def test_a_sample_is_read_and_only_its_damaged_lines_are_failures(path: str) -> None:
    traces, failures = loaded(path)
    assert [failure.line for failure in failures] == DAMAGED.get(path, [])
    assert bool(traces) == ("no-samples" not in path)
    assert {trace.source.format for trace in traces} <= set(SAMPLES[path])


@pytest.mark.parametrize("path", NO_TRACES)
def test_what_is_no_trace_is_refused_as_such(path: str) -> None:
    (found,) = detected(opened(path))
    assert found.format is None
    assert "no known trace format: saw" in found.reason
    with pytest.raises(TraceError, match="no known trace format"):
        list(opened(path))


def test_the_documentation_tells_of_every_format_and_which_have_no_sample(project: Path) -> None:
    text = (project / "docs/formats.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", text, re.MULTILINE))
    assert list(rows) == sorted(registry().items("formats"))
    for name in ("langsmith", "mlflow", "tau2_bench"):
        assert rows[name].endswith("| no real sample yet |")
