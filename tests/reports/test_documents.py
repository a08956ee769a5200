"""JSON and Markdown say the same as the run, whatever a trace holds."""

from __future__ import annotations

import dataclasses
import json

import msgspec
import pytest
from markupsafe import escape

from helix.registry import Renderer
from helix.registry.loading import Registry
from helix.reports.documents import escape_markdown, render_json, render_markdown
from tests.reports.sample import HOSTILE, report


def test_json_holds_the_scorecard_and_every_verdict() -> None:
    made = report()
    value = json.loads(b"".join(render_json(made)))
    assert value["scorecard"]["runVerdict"] == "fail"
    states = {v["trajectoryId"]: v["denseMap"] for v in value["verdicts"]}
    assert states == {m.trajectory_id: m.dense_map for m in made.lines}
    assert value["run"]["durationS"] is None and value["run"]["helixVersion"] == "0.1.0"


def test_json_is_the_same_bytes_each_time_and_holds_no_number_outside_json() -> None:
    def refuse(literal: str) -> None:
        raise AssertionError(literal)

    first, second = b"".join(render_json(report())), b"".join(render_json(report()))
    assert first == second
    json.loads(first, parse_constant=refuse)


def test_markdown_opens_with_the_gate_and_tells_what_is_undecided() -> None:
    text = render_markdown(report()).decode()
    assert text.startswith("# Gate: ✕ fail\n")
    assert "| confirm\\-before\\-send | CRIT | yes | ✕ fail | 9 | 2 | 3 | 0 |" in text
    assert "truncated: capture the trace again, whole" in text.replace("&#58;", ":")
    assert "cost not recorded" in text and "time not recorded" in text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a | b", "a \\| b"),
        ("<script>", "&lt;script&gt;"),
        ("[x](javascript:alert(1))", "\\[x\\]\\(javascript&#58;alert\\(1\\)\\)"),
        ("`code` *b* _i_", "\\`code\\` \\*b\\* \\_i\\_"),
        ("ping @someone", "ping &#64;someone"),
        ("# title\n- item", "\\# title \\- item"),
        ("&amp;", "&amp;amp;"),
    ],
)
def test_markdown_shows_text_of_traces_as_it_is(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_raw_markup_or_control_gets_into_markdown(hostile: str) -> None:
    shown = escape_markdown(hostile)
    assert "<" not in shown and "\x1b" not in shown and "\u202e" not in shown
    shown.encode("utf-8")
    assert escape(shown)


def test_the_renderers_are_registered_with_their_files() -> None:
    found = {name: r.item for name, r in Registry().items("renderers").items()}
    assert all(isinstance(r, Renderer) for r in found.values())
    assert {n: r.filename for n, r in found.items()} == {
        "terminal": None,
        "html": "report.html",
        "json": "report.json",
        "markdown": "report.md",
        "junit": "junit.xml",
        "github": "github.md",
        "annotations": None,
        "sarif": "report.sarif",
        "csv": "cells.csv",
        "parquet": "cells.parquet",
        "otel": "otel.jsonl",
    }


def test_markdown_says_of_nobody_who_judged_that_only_code_decides() -> None:
    made = report(2)
    nobody = msgspec.structs.replace(made.scorecard.judge, backend="none")
    card = msgspec.structs.replace(made.scorecard, judge=nobody, validation={"status": "na"})
    text = render_markdown(dataclasses.replace(made, scorecard=card)).decode()
    assert "\nJudge: none \\(only code decides\\). \n" in text


def test_markdown_names_waivers_and_files() -> None:
    made = report(2)
    waiver = {"criterion": "confirm-before-send", "by": "the owner", "expires": "2031-05-01"}
    gate = msgspec.structs.replace(made.scorecard.gate, waivers=(waiver,))
    card = msgspec.structs.replace(made.scorecard, gate=gate)
    text = render_markdown(dataclasses.replace(made, scorecard=card)).decode().replace("\\", "")
    assert "- waived: confirm-before-send by the owner, until 2031-05-01" in text
    assert "✕ fail confirm-before-send on outreach-000 (outreach.jsonl&#58;1): " in text
