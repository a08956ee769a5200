"""The subject's profile over a batch: what is given, what was seen, and what nobody knows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from helix.evaluate import run
from helix.judging.packet import PacketSettings, profile
from helix.model.config import Config, SubjectConfig
from helix.model.manifest import Survey
from helix.model.request import Pin
from helix.model.subject import Known, SubjectRecord
from helix.model.trace import Observation, Source, Trace
from helix.reports.documents import render_markdown
from helix.reports.run import compose
from helix.reports.subject import subject_facts, subject_line
from helix.runs import RunFiles
from helix.subject import subject_of
from helix.survey import look
from tests.audit.desk import SAYS_BOOKED, desk_trace, suite, write
from tests.reports.pages import page_of


def trace(number: int, *tools: str, event: Any = None, format: str = "helix") -> Trace:
    found = Trace(id=f"t-{number}", source=Source("t.jsonl", number, format, "0" * 64))
    found.input = {"prompt": "go", **({} if event is None else {"event": event})}
    found.observations = [Observation(f"o{n}", n, name) for n, name in enumerate(tools)]
    return found


def surveyed(traces: Iterable[Trace], **subject: Any) -> tuple[SubjectConfig, Survey]:
    config = SubjectConfig(**subject)
    return config, look(traces, 1, config)


def record(traces: Iterable[Trace], tools: tuple[str, ...] = (), **subject: Any) -> SubjectRecord:
    config, survey = surveyed(traces, **subject)
    return subject_of(config, tools, survey)


def test_tools_are_those_that_are_declared_and_those_that_are_called() -> None:
    found = record([trace(1, "look", "look"), trace(2, "look", "book")], tools=("book", "cancel"))
    assert found.tools == (
        Known(name="book", given=True, traces=1),
        Known(name="cancel", given=True, traces=0),
        Known(name="look", given=False, traces=2),
    )
    assert found.inferred_fields == ("tools",)
    assert found.provenance == "given"


def test_what_nobody_says_and_nothing_shows_is_not_made_up() -> None:
    found = record([trace(1)])
    assert (found.provenance, found.harness, found.inferred_fields) == (
        "reconstructed", "unknown", ())  # fmt: skip
    assert (found.purpose, found.version, found.tools, found.events) == (None, None, (), ())
    told = dict(subject_facts(found))
    assert {told["purpose"], told["tools"], told["events"]} == {"not recorded"}


@pytest.mark.parametrize(
    ("event", "kinds"),
    [
        ("mail", ["mail"]),
        ({"type": "mail", "id": 7}, ["mail"]),
        ({"kind": "mail"}, ["mail"]),
        ({"id": 7}, []),
        (7, []),
        ("", []),
        ("a long story " * 20, []),
    ],
)
def test_the_kinds_of_event_come_from_inputs_that_name_one(event: Any, kinds: list[str]) -> None:
    assert [known.name for known in record([trace(1, event=event)]).events] == kinds


@pytest.mark.parametrize(
    ("formats", "given", "harness", "inferred"),
    [
        (["codex", "codex"], None, "Codex", ("harness",)),
        (["codex", "claude_code"], None, "unknown", ()),
        (["codex", "openai_chat"], None, "unknown", ()),
        (["openai_chat"], None, "unknown", ()),
        (["codex"], "our own", "our own", ()),
        ([], None, "unknown", ()),
    ],
)
def test_a_harness_is_inferred_only_where_one_wrote_all_traces(
    formats: list[str], given: str | None, harness: str, inferred: tuple[str, ...]
) -> None:
    traces = [trace(n, format=format) for n, format in enumerate(formats)]
    found = record(traces, harness=given)
    assert (found.harness, found.inferred_fields) == (harness, inferred)


def test_routes_are_told_from_the_traces_and_the_config() -> None:
    traces = [trace(1), trace(2)]
    traces[0].route = "mail"
    found = record(traces, routes=("chat",))
    assert [(k.name, k.given, k.traces) for k in found.routes] == [
        ("chat", True, 0), ("mail", False, 1)]  # fmt: skip
    line = subject_line(found)
    assert line == "subject; harness unknown; 0 tools given; 0 events given; 1 route given, and " \
                   "not given mail"  # fmt: skip


def test_a_run_writes_it_and_its_reports_show_it(tmp_path: Path) -> None:
    traces = write(tmp_path, desk_trace())
    config = Config.model_validate(
        {
            "subject": {"traces": str(traces), "name": "desk", "tools": ["look"]},
            "criteria": {"file": str(suite(tmp_path, SAYS_BOOKED))},
            "judge": {"backend": "none"},
            "paths": {"state": str(tmp_path / "state")},
        }
    )
    done = run(config, run_dir=tmp_path / "run")
    files = RunFiles(done.run_dir)
    found = files.subject()
    assert found is not None and [k.name for k in found.tools] == ["book", "look"]
    written = json.loads((tmp_path / "run" / "subject.json").read_text(encoding="utf-8"))
    assert (written["harness"], written["purpose"]) == ("unknown", None)
    report = compose(done.scorecard, files.lines(), subject=found)
    assert "given: look 1; inferred: book 1" in page_of(report)
    assert "1 tool given, and not given book" in render_markdown(report).decode()
    bare = page_of(compose(done.scorecard, files.lines()))
    assert '<h3>Subject</h3><p class="none">not recorded</p>' in bare
    (tmp_path / "run" / "subject.json").unlink()
    assert files.subject() is None


def test_a_trace_that_is_added_changes_no_packet_of_another() -> None:
    settings = PacketSettings(SubjectConfig(), Pin("scripted", "m", "scripted:m"), 1000)
    alone = profile(settings, trace(1, "look"))
    assert alone.tools == ("look",)
    both = record([trace(1, "look"), trace(2, "book")])
    assert [known.name for known in both.tools] == ["book", "look"]
