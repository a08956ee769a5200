"""Discovery by code on 81 generated runs of a refund desk, held against their labels."""

from __future__ import annotations

import datetime
from collections import defaultdict
from pathlib import Path

import pytest

from helix.discover import Discovered, discover
from helix.model.config import Config

TRACES = "trajectory_judge_generated/trajectories_seed7.jsonl"


@pytest.fixture(scope="module")
def found(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Discovered:
    place = shared / "traces" / TRACES
    if not place.exists():
        pytest.skip(f"{TRACES} is not there")
    folder = tmp_path_factory.mktemp("desk")
    config = Config.model_validate(
        {
            "subject": {"name": "desk", "traces": str(place)},
            "judge": {"backend": "none"},
            "paths": {"state": str(folder / "state")},
        }
    )
    return discover(config, run_dir=folder / "run", now=datetime.datetime(2026, 3, 2))


def faults(found: Discovered) -> dict[str | None, set[str]]:
    """Return the traces of each kind of fault that the labels name, None for clean ones."""
    kinds: dict[str | None, set[str]] = defaultdict(set)
    for trace in found.examined.traces:
        kinds[trace.labels["label"]["failure_type"]].add(trace.id)
    return kinds


def test_two_kinds_are_found_whole_and_no_clean_trace_is_called_broken(found: Discovered) -> None:
    kinds = faults(found)
    failed = {one.trace_id for one in found.determinations if one.verdict == "fail"}
    assert not failed & kinds[None] and len(kinds[None]) == 21
    fires = {frozenset(row.fires) for row in found.rows}
    assert frozenset(kinds["hallucinated_argument"]) in fires
    assert frozenset(kinds["skipped_precondition"]) in fires
    assert (len(failed), len(found.rows)) == (24, 3)


def test_a_tool_that_fails_because_of_a_made_up_argument_is_a_symptom(found: Discovered) -> None:
    assert found.emergent.symptoms == ("get_policy fails",)


def test_what_cannot_be_told_from_structure_is_left_to_a_reader(found: Discovered) -> None:
    failed = {one.trace_id for one in found.determinations if one.verdict == "fail"}
    for kind in ("ignored_observation", "unsupported_claim", "premature_stop"):
        assert not failed & faults(found)[kind]
