"""The terminal: failures first, the gate last, and nothing in a trace can act on it."""

from __future__ import annotations

import dataclasses
import io
import re
import sys

import msgspec
import pytest
from rich.cells import cell_len

from helix.model.scorecard import Cells, Gate
from helix.reports.run import RunMeta, compose
from helix.reports.terminal import render_terminal, render_text
from tests.reports.sample import HOSTILE, line, report, scorecard

WHOLE = ("Rerun the failures: ", "Report: ")


@pytest.fixture(scope="module")
def text() -> str:
    return render_text(report(), 80, color=False, ascii=False)


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal_but_commands_and_paths(width: int, ascii: bool) -> None:
    shown = render_text(report(), width, color=False, ascii=ascii)
    wide = [one for one in shown.splitlines() if cell_len(one) > width]
    assert [one for one in wide if not one.startswith(WHOLE)] == []


def test_failures_come_first_and_the_report_last(text: str) -> None:
    lines = text.splitlines()
    assert lines[0] == "✕ FAIL  CRIT  confirm-before-send  fails on 9 traces"
    places = [text.index(word) for word in ("✕ FAIL", "◌ INCOMPLETE", "? UNCERTAIN", "✓ PASS")]
    assert places == sorted(places) and text.index("Gate:") > places[-1]
    assert lines[-1] == "Report: outputs/evaluate/2031-01-01/report.html"
    assert lines[-2].startswith("Rerun the failures: helix evaluate experiment=demo select.failed")


def test_a_failure_has_its_trace_its_critique_and_its_evidence(text: str) -> None:
    told = " ".join(text.split())
    assert "trace outreach-000 send_message at step 5 has no yes before it" in told
    assert "“mara@example.org” in call_2 input.to" in told


def test_an_undecided_cell_has_its_cause_and_what_to_do_next(text: str) -> None:
    assert "unbound-term → re-ground: point the term at something in this trace" in text
    assert "truncated → capture the trace again, whole" in text


def test_the_closing_lines_count_every_state(text: str) -> None:
    cells = scorecard(tuple(line(n) for n in range(14))).cells
    states = (
        f"{cells.fail} fail, {cells.not_adjudicated} incomplete, "
        f"{cells.uncertain - cells.not_adjudicated} uncertain, {cells.pass_} pass, {cells.na} na"
    )
    assert f"{states} · {cells.total - cells.not_adjudicated}/{cells.total} cells judged" in text


def test_what_was_not_recorded_is_not_shown_as_zero(text: str) -> None:
    assert "12 judge calls, cost not recorded · 3 cache hits · time not recorded" in text


def test_an_unvalidated_judge_and_a_missing_verifier_are_named(text: str) -> None:
    assert "scripted, example/judge-1; unvalidated for this pin." in text
    assert "none, so verdicts are not verified." in text


def test_an_unreadable_record_is_named_with_its_escapes_spelled_out(text: str) -> None:
    assert "traces/a.jsonl:61  not JSON: \\x1b[2J" in text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_in_a_trace_reaches_the_terminal_as_a_control(hostile: str) -> None:
    one = line(0)
    verdict = msgspec.structs.replace(one.verdicts[0], critique=hostile or "-")
    ref = msgspec.structs.replace(verdict.refs[0], value=hostile, obs=hostile, path=hostile)
    verdict = msgspec.structs.replace(verdict, refs=(ref,))
    one = msgspec.structs.replace(one, trajectory_id=hostile, verdicts=(verdict, *one.verdicts[1:]))
    card = msgspec.structs.replace(scorecard((one,)), gate=Gate(
        policy="strict", eligibility="default", gaps=(hostile,), failing=(hostile,)
    ))  # fmt: skip
    meta = RunMeta(rerun=f"helix evaluate {hostile}", report_path=hostile)
    shown = render_text(compose(card, [one], meta=meta), 80, color=False, ascii=False)
    assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", shown) == []
    shown.encode("utf-8")


def test_without_colour_there_is_no_escape_sequence_and_with_it_words_are_the_same() -> None:
    plain = render_text(report(), 80, color=False, ascii=False)
    colored = render_text(report(), 80, color=True, ascii=False)
    assert "\x1b" not in plain and "\x1b[" in colored
    bare = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [one.rstrip() for one in bare.splitlines()] == plain.splitlines()


def test_the_ascii_form_holds_nothing_else() -> None:
    assert render_text(report(), 80, color=False, ascii=True).isascii()


def test_long_lists_are_cut_and_say_so() -> None:
    shown = render_text(report(60), 80, color=False, ascii=False)
    assert re.search(r"and \d+ more; see report", shown)
    assert shown.count("trace outreach-") < 30


def test_a_pass_is_said_aloud_with_how_much_was_examined() -> None:
    lines = (line(3), line(7))
    card = scorecard(lines)
    card = msgspec.structs.replace(
        card,
        run_verdict="pass",
        gate=Gate(policy="strict", eligibility="default"),
        cells=Cells(total=10, code=10, judge=0, hybrid=0, uncertain=0, na=0, not_adjudicated=0,
                    pass_=10),
    )  # fmt: skip
    meta = RunMeta(rerun="helix evaluate", duration_s=0.84)
    shown = render_text(compose(card, lines, meta=meta), 80, color=False, ascii=False)
    assert "Gate: ✓ PASS  3 gating criteria hold" in shown
    assert "2 traces evaluated of 3 found against 5 criteria." in shown
    assert "0 fail, 10 pass · 10/10 cells judged" in shown and "time 0.8 s" in shown
    assert "FAIL" not in shown and "Rerun" not in shown


@pytest.mark.parametrize(("encoding", "ascii"), [("utf-8", False), ("cp437", True)])
def test_a_console_that_cannot_show_a_symbol_gets_ascii(
    encoding: str, ascii: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", console)
    shown = render_terminal(report())
    assert shown.isascii() is ascii and b"\x1b" not in shown


def test_a_report_of_nothing_is_still_a_report() -> None:
    empty = dataclasses.replace(report(1), lines=(), traces=())
    assert "Gate:" in render_text(empty, 80, color=False, ascii=False)
