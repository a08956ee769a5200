"""Real runs, determined without labels and held against what people marked in them.

docs/discover-measured.md tells how the answers were given and what the figures mean. The answers
are kept as recordings; runs and labels lie beside the project. Every figure of the page is here.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helix.backends.mailbox import Recordings
from helix.discover import discover
from helix.grounding import dead, resolve_refs
from helix.ingest import read
from helix.judging import DeterminerSettings, PacketSettings, determine
from helix.model.config import Config, SubjectConfig
from helix.model.discovery import Detection, Determination
from helix.model.request import Pin
from helix.model.trace import Message, Trace
from helix.registry import load
from helix.stats.intervals import wilson

RECORDINGS = Path(__file__).resolve().parents[1] / "cases" / "real" / "determinations"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "discover-measured.md"
NOW = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
RETAIL = tuple(
    f"agentrx_tau_retail/task{name}.json"
    for name in ("012_reward0", "034_reward0", "038_reward0", "039_reward0", "055_reward0",
                 "078_reward1", "082_reward0", "098_reward0")
)  # fmt: skip
TEAMS = tuple(
    f"who_and_when/{name}.json"
    for name in (
        *(f"algorithm_generated_{n}" for n in (112, 21, 38, 44, 78, 80, 93, 99)),
        *(f"hand_crafted_{n}" for n in (14, 3, 33, 34, 48)),
    )
)
CHANNELS = {RETAIL: ("observations[*].name",), TEAMS: ("transcript[*].text",)}
# Which of AgentRx' categories a kind falls under, by their definitions: set down after the answers
# were given and before they were joined with the labels.
CATEGORY = {
    "acts before the terms are confirmed": "Instruction Adherence Failure",
    "calls a tool in a way it forbids": "Invalid Invocation",
    "calls a tool the known state forbids": "Invalid Invocation",
    "confirms a change it never made": "Invention of New Information",
    "counts in what is not available": "Misinterpretation of Tool Output",
    "denies a look-up without trying it": "Invention of New Information",
    "offers what the rules do not allow": "Instruction Adherence Failure",
    "takes steps in an order that blocks the rest": "Intent Plan Misalignment",
}


@dataclass(frozen=True)
class Marked:
    """What people marked in a run: the message where it went wrong, the party, the category."""

    at: int
    party: str
    category: str | None = None


@dataclass(frozen=True)
class Compared:
    """A determination beside the mark of people, None where people found nothing."""

    trace: Trace
    found: Determination
    mark: Marked | None

    @property
    def pointed(self) -> Message | None:
        """The message that the determination points at, a call being where it was made."""
        return self._message(self.found.evidence_pointer)

    @property
    def same_step(self) -> bool:
        return self.mark is not None and self._number(self.pointed) == self.mark.at

    @property
    def cites_the_step(self) -> bool:
        """Whether some detection rests on a place of the step that people marked."""
        owners = {ref.obs for d in self.found.detections for ref in d.refs}
        messages = {self._number(self._message(owner)) for owner in owners}
        return self.mark is not None and self.mark.at in messages

    @property
    def same_party(self) -> bool:
        speaker = self.pointed.role.partition(" ")[0] if self.pointed is not None else None
        return self.mark is not None and speaker == self.mark.party

    @property
    def same_category(self) -> bool:
        root = next((d for d in self.found.detections if self._is_pointed(d)), None)
        return root is not None and self.mark is not None and (
            CATEGORY[root.kind] == self.mark.category
        )  # fmt: skip

    def _is_pointed(self, detection: Detection) -> bool:
        pointer = self.found.evidence_pointer
        return detection.root and any(ref.obs == pointer for ref in detection.refs)

    def _message(self, owner: str | None) -> Message | None:
        for message in self.trace.transcript:
            if owner is not None and owner in (message.id, *message.observation_ids):
                return message
        return None

    @staticmethod
    def _number(message: Message | None) -> int | None:
        return None if message is None else int(re.sub(r"\D", "", message.id))


def traces_of(shared: Path, files: tuple[str, ...]) -> Iterator[Trace]:
    for file in files:
        (trace,) = read(str(shared / "traces" / file), "auto", load())
        assert isinstance(trace, Trace)
        yield trace


def determined(trace: Trace, channels: tuple[str, ...]) -> Determination:
    """Replay the recorded answers about one run."""
    recordings = Recordings(RECORDINGS)
    pin = Pin(backend="replay", model="reader", identity="replay:reader")
    packet = PacketSettings(SubjectConfig(name="team", complete_channels=channels), pin, 128_000)
    asking, sent = determine(trace, DeterminerSettings(packet, channels=channels)), None
    while True:
        try:
            sent = recordings.find(asking.send(sent))  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        assert sent is not None, trace.id


def marks_of_retail(shared: Path) -> Mapping[str, Marked]:
    text = (shared / "traces/agentrx_tau_retail/labels_tau_ground_truth.json").read_text("utf-8")
    marks = {}
    for record in json.loads(text):
        root = record["root_cause"]["failure_id"]
        (failure,) = [f for f in record["failures"] if f["failure_id"] == root]
        marks[str(record["trajectory_id"])] = Marked(
            failure["step_number"], failure["failed_agent"], failure["failure_category"]
        )
    return marks


@pytest.fixture(scope="module")
def retail(shared: Path) -> list[Compared]:
    marks = marks_of_retail(shared)
    return [
        Compared(trace, determined(trace, CHANNELS[RETAIL]), marks.get(trace.id))
        for trace in traces_of(shared, RETAIL)
    ]


@pytest.fixture(scope="module")
def teams(shared: Path) -> list[Compared]:
    found = []
    for trace in traces_of(shared, TEAMS):
        said: dict[str, Any] = trace.labels
        mark = Marked(int(said["mistake_step"]), said["mistake_agent"])
        found.append(Compared(trace, determined(trace, CHANNELS[TEAMS]), mark))
    return found


def count(compared: list[Compared], what: str) -> int:
    return sum(getattr(one, what) for one in compared)


def test_every_recorded_determination_stands_on_places_that_resolve(
    retail: list[Compared], teams: list[Compared]
) -> None:
    for channels, compared in ((CHANNELS[RETAIL], retail), (CHANNELS[TEAMS], teams)):
        for one in compared:
            found = one.found
            assert found.whole and found.cause is None and found.assumptions == ()
            for refs in (found.refs, *(d.refs for d in found.detections)):
                assert refs and not dead(resolve_refs(one.trace, refs, complete_channels=channels))


def test_agreement_on_a_retail_desk(retail: list[Compared]) -> None:
    marked = [one for one in retail if one.mark is not None]
    by_the_agent = [one for one in marked if one.mark and one.mark.party != "User"]
    assert (len(retail), len(marked), len(by_the_agent)) == (8, 7, 5)
    failing = {one.trace.id for one in retail if one.found.verdict == "fail"}
    assert failing == {one.trace.id for one in marked} - {"82"}
    assert count(marked, "same_step") == count(by_the_agent, "same_step") == 4
    assert count(by_the_agent, "cites_the_step") == 5
    assert count(marked, "same_category") == 3
    assert {one.trace.id for one in marked if one.same_step} == {"12", "38", "39", "98"}
    assert {one.trace.id for one in marked if one.same_category} == {"12", "38", "98"}


def test_agreement_on_teams(teams: list[Compared]) -> None:
    assert all(one.found.verdict == "fail" for one in teams)
    assert (len(teams), count(teams, "same_step"), count(teams, "same_party")) == (13, 5, 6)
    assert count(teams, "cites_the_step") == 11


def test_the_page_states_the_figures_that_are_measured(
    retail: list[Compared], teams: list[Compared]
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    marked = [one for one in retail if one.mark is not None]
    by_the_agent = [one for one in marked if one.mark and one.mark.party != "User"]
    blamed = "where people blame the agent"
    for what, compared, measured in (
        ("failing step", marked, "same_step"),
        (f"failing step, {blamed}", by_the_agent, "same_step"),
        (f"a detection cites the step, {blamed}", by_the_agent, "cites_the_step"),
        ("category", marked, "same_category"),
        ("failing step, teams", teams, "same_step"),
        ("party, teams", teams, "same_party"),
        ("a detection cites the step, teams", teams, "cites_the_step"),
    ):
        k, n = count(compared, measured), len(compared)
        interval = wilson(k, n, 0.95)
        assert interval is not None
        low, high = (round(100 * end) for end in interval)
        assert f"| {what} | {k} of {n} | {low} to {high} % |\n" in page


@pytest.mark.parametrize("files", [RETAIL, TEAMS], ids=["retail", "teams"])
def test_discovery_replays_the_determinations(
    files: tuple[str, ...], shared: Path, tmp_path: Path
) -> None:
    config = Config.model_validate(
        {
            "subject": {
                "name": "real",
                "purpose": "an agent that people recorded",
                "traces": [str(shared / "traces" / file) for file in files],
                "complete_channels": CHANNELS[files],
            },
            "judge": {"backend": "replay", "model": "reader", "dir": str(RECORDINGS)},
            "paths": {"state": str(tmp_path / "state")},
        }
    )
    found = discover(config, run_dir=tmp_path / "run", now=NOW)
    assert found.exit_code == 0
    alone = {trace.id: determined(trace, CHANNELS[files]) for trace in traces_of(shared, files)}
    for one in found.determinations:
        assert one.produced_by == "determiner"
        said = alone[one.trace_id]
        assert (one.verdict, one.root_cause) == (said.verdict, said.root_cause)
        assert set(said.detections) <= set(one.detections)
    roots = {d.kind for said in alone.values() for d in said.detections if d.root}
    assert roots <= {kind for each in found.emergent.every for kind in each.kinds}
    for row in found.rows:
        category = next(c for c in found.emergent.every if c.name == row.category)
        if row.criterion.code_eval is not None and not category.detectors:
            kinds = set(category.kinds)
            shows = {n for n, said in alone.items() if {d.kind for d in said.detections} & kinds}
            seen = shows & set(row.fires)
            assert len(seen) > 1 or shows == set(row.fires), "a coincidence is no check of a kind"
