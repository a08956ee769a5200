"""Every file of EXPECTED.tsv is what that table says, and what is no trace is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
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


@pytest.mark.parametrize("path", SAMPLES)
def test_a_sample_is_read_without_a_failure(path: str) -> None:
    if "no-samples" in path:
        pytest.skip("a log without samples holds no trace")
    traces, failures = loaded(path)
    assert failures == ()
    assert traces
    assert {trace.source.format for trace in traces} <= set(SAMPLES[path])


@pytest.mark.parametrize("path", NO_TRACES)
def test_what_is_no_trace_is_refused_as_such(path: str) -> None:
    (found,) = detected(opened(path))
    assert found.format is None
    assert "no known trace format: saw" in found.reason
    with pytest.raises(TraceError, match="no known trace format"):
        list(opened(path))
