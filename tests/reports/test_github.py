"""The step summary fits and opens with the gate; annotations are ten a kind and break no line."""

from __future__ import annotations

import re

import msgspec
import pytest

from helix.reports.github import LARGEST_SUMMARY
from tests.reports import runs, sample
from tests.reports.test_formats import IDS, hostile_lines

COMMAND = re.compile(
    r"::(?P<kind>error|warning|notice) "
    r"(?P<properties>[a-z]+=[^\n:,]*(?:,[a-z]+=[^\n:,]*)*)::(?P<text>[^\n]*)"
)


def annotations(data: bytes) -> list[dict[str, str]]:
    """Read workflow commands as the runner does; every line must be one."""
    found = []
    for line in data.decode("utf-8").split("\n")[:-1]:
        command = COMMAND.fullmatch(line)
        assert command, line
        found.append(command.groupdict())
    return found


@pytest.mark.parametrize("lines", [None, hostile_lines()], ids=["sample", "hostile"])
def test_every_line_is_one_annotation_whatever_the_trace_holds(
    lines: list[sample.MatrixVerdictFile] | None,
) -> None:
    found = annotations(runs.written("annotations", runs.run(lines=lines)))
    assert {one["kind"] for one in found} == {"error", "warning", "notice"}


def test_of_more_than_ten_of_a_kind_the_tenth_tells_how_many_there_are() -> None:
    found = annotations(runs.written("annotations", runs.run()))
    errors = [one["text"] for one in found if one["kind"] == "error"]
    assert len(errors) == 10  # of 13 gating failures
    assert errors[-1] == "and 4 more like these; see the report of the run"


def test_ten_of_a_kind_are_all_shown() -> None:
    of = runs.run()
    failing = [line for line in of.lines if line.dense_map["confirm-before-send"] == "fail"]
    kept = [
        msgspec.structs.replace(line, dense_map={"confirm-before-send": "fail"})
        for line in [*failing, failing[0]]
    ]
    found = annotations(runs.written("annotations", runs.run(lines=kept)))
    assert len(found) == 10 and not any("more like these" in one["text"] for one in found)


def test_an_annotation_names_file_line_state_and_what_is_to_be_done() -> None:
    found = annotations(runs.written("annotations", runs.run()))
    assert found[0]["properties"] == (
        "file=traces/outreach.jsonl,line=1,title=fail%3A confirm-before-send"
    )
    assert "%0Acall_2 input.to: “mara@example.org”" in found[0]["text"]
    undecided = next(one for one in found if one["kind"] == "warning")
    assert "capture the trace again, whole" in undecided["text"]


@pytest.mark.parametrize(
    ("name", "escaped"),
    [("a%0Ab", "a%250Ab"), ("a:b,c", "a%3Ab%2Cc"), ("a\r\nb", "a b")],
)
def test_percent_line_ends_colons_and_commas_are_escaped(name: str, escaped: str) -> None:
    of = runs.run()
    row = msgspec.structs.replace(of.scorecard.criteria[0], criterion_id=name)
    card = msgspec.structs.replace(of.scorecard, criteria=(row,))
    line = msgspec.structs.replace(sample.line(0), dense_map={name: "fail"})
    view = of.rows[0].__class__(0, row, None)
    data = runs.written(
        "annotations", runs.replaced(of, scorecard=card, rows=(view,), read=lambda: [line])
    )
    assert f"title=fail%3A {escaped}::".encode() in data


def test_the_summary_opens_with_the_gate_and_counts_every_state() -> None:
    text = runs.written("github", runs.run()).decode()
    assert text.splitlines()[0] == "# Gate: ✕ fail"
    assert "✕ 13 fail · ◌ 13 incomplete · ? 9 uncertain · ✓ 26 pass · – 9 na" in text
    assert "- and 15 more; see report.md" in text
    assert "`helix evaluate experiment=demo select.failed_from=" not in text
    assert "` helix evaluate experiment=demo select.failed_from=" in text


def test_the_summary_stays_under_a_mebibyte_and_says_what_it_left_out() -> None:
    of = runs.run()
    row = of.scorecard.criteria[0]
    many = tuple(msgspec.structs.replace(row, criterion_id=f"{n}" + "~" * 190) for n in range(3000))
    gaps = tuple("~" * 400 + str(n) for n in range(3000))
    gate = msgspec.structs.replace(of.scorecard.gate, gaps=gaps)
    card = msgspec.structs.replace(of.scorecard, criteria=many, gate=gate)
    data = runs.written("github", runs.replaced(of, scorecard=card))
    assert len(data) < 1024 * 1024
    assert b"and 2,950 more" in data
    long = runs.run(len(IDS), hostile_lines())
    assert len(runs.written("github", long)) < LARGEST_SUMMARY
