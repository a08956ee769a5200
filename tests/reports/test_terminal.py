"""The terminal: failures first, the gate last, and nothing in a trace can act on it."""

from __future__ import annotations

import dataclasses
import io
import re
import sys
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len

from helix.model.manifest import Load, LoadFailure
from helix.model.scorecard import Cells, Counts, Gate, Standing
from helix.model.verdict import Binding, BlockedBy, Fidelity, MatrixVerdictFile, Ref, Scan
from helix.reports.run import RunMeta, RunReport, compose
from helix.reports.terminal import render_terminal, render_text
from helix.reports.textpage import TextPage, for_this_console
from tests.reports.sample import (
    HOSTILE,
    SUITE,
    judged,
    line,
    manifest,
    quoted,
    report,
    scorecard,
)

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
    made = report()
    told = " ".join(text.split())
    first = "trace outreach-000 (outreach.jsonl:1)"
    assert f"{first}, outreach-001, outreach-002, outreach-004 and 5 more send_message" in told
    verbose = replaced_meta(made, verbosity="verbose")
    told = " ".join(render_text(verbose, 80, color=False, ascii=False).split())
    assert f"{first} send_message at step 5 has no yes before it" in told
    assert "“mara@example.org” in call_2 input.to" in told


def replaced_meta(made: RunReport, **changes: Any) -> RunReport:
    """Return the report with some facts of its execution changed."""
    return dataclasses.replace(made, meta=dataclasses.replace(made.meta, **changes))


@pytest.mark.parametrize("width", [40, 80])
def test_each_verbosity_shows_more_than_the_one_below(width: int) -> None:
    shown = {
        name: render_text(replaced_meta(report(60), verbosity=name), width, False, False)
        for name in ("quiet", "normal", "verbose")
    }
    lines = {name: len(text.splitlines()) for name, text in shown.items()}
    assert lines["quiet"] < 12 < lines["normal"] < 80 * 80 // width < lines["verbose"], lines
    for text in shown.values():
        assert "Gate:" in text and "Report: " in text and "cells" in text
    assert shown["quiet"].startswith("Gate: ") and "trace outreach" not in shown["quiet"]
    assert shown["verbose"].count("trace outreach-") > 2 * shown["normal"].count("trace outreach-")


def test_a_text_that_is_cut_says_so_and_never_passes_the_width() -> None:
    for width, ascii in ((20, False), (20, True), (40, False)):
        page = TextPage(width, color=False, ascii=ascii)
        page.line("a 字 word and more " * 20, indent=4, most=2)
        rows = page.text.splitlines()
        assert len(rows) == 2 and rows[1].endswith("..." if ascii else "…")
        assert all(row.startswith("    ") and cell_len(row) <= width for row in rows)


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
    assert "3 cached, 12 new, cost not recorded · time not recorded" in text


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
    meta = RunMeta(rerun=f"helix evaluate {hostile}", written=(hostile,))
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


@pytest.mark.parametrize(
    ("verbosity", "shown", "told"), [("normal", 6, True), ("verbose", 9, False)]
)
def test_many_gaps_are_counted_and_told_in_full_by_v(
    verbosity: str, shown: int, told: bool
) -> None:
    made = report(1)
    gaps = tuple(f"row-{n}: undecided on 1 of 1 trace" for n in range(9))
    gate = msgspec.structs.replace(made.scorecard.gate, gaps=gaps)
    card = msgspec.structs.replace(made.scorecard, gate=gate)
    made = replaced_meta(dataclasses.replace(made, scorecard=card), verbosity=verbosity)
    text = render_text(made, 80, color=False, ascii=False)
    assert text.count("Gap: row-") == shown
    assert ("3 more gaps; -v shows them" in text) == told


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
    assert "FAIL" in shown.decode(encoding)


def test_what_goes_to_a_console_is_in_its_own_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, sent in (
        ("cp1252", b"\x93caf\xe9\x94\n"),
        ("cp437", b'"caf\\xe9"\n'),
        ("utf-8", "“café”\n".encode()),
        ("no-such-codec", b'"caf\\xe9"\n'),
    ):

        class Output(io.StringIO):
            pass

        output = Output()
        monkeypatch.setattr(Output, "encoding", encoding, raising=False)
        monkeypatch.setattr(sys, "stdout", output)

        def render(width: int, color: bool, ascii: bool) -> str:
            page = TextPage(width, color, ascii)
            page.line("“café”")
            return page.text

        assert for_this_console(render) == sent


def test_a_report_of_nothing_is_still_a_report() -> None:
    empty = dataclasses.replace(report(1), lines=(), traces=())
    assert "Gate:" in render_text(empty, 80, color=False, ascii=False)


def of(*lines: MatrixVerdictFile, gate: dict[str, Any] | None = None, **rows: Any) -> RunReport:
    """Return the report of a few lines; `rows` change rows of the scorecard, by id."""
    card = scorecard(lines)
    changed = tuple(
        msgspec.structs.replace(row, **rows.get(row.criterion_id.replace("-", "_"), {}))
        for row in card.criteria
    )
    card = msgspec.structs.replace(card, criteria=changed)
    verdict = (gate or {}).pop("verdict", "fail") if gate else "fail"
    settings: dict[str, Any] = {"policy": "strict", "eligibility": "default", **(gate or {})}
    card = msgspec.structs.replace(card, run_verdict=verdict, gate=Gate(**settings))
    meta = RunMeta(baseline="runs/monday")
    return compose(card, lines, suite=SUITE, manifest=manifest(14), meta=meta)


def told(made: RunReport) -> str:
    return " ".join(render_text(made, 200, color=False, ascii=False).split())


WAIVER = {"criterion": "confirm-before-send", "by": "the owner", "reason": "known since spring",
          "expires": "2031-05-01", "expired": False}  # fmt: skip


def test_a_waiver_is_said_where_the_criterion_fails_and_with_its_reason() -> None:
    shown = told(of(line(0), gate={"waivers": (WAIVER,)}))
    assert "fails on 1 trace, waived by the owner until 2031-05-01" in shown
    assert (
        "Waived: confirm-before-send by the owner, until 2031-05-01 (known since spring)." in shown
    )


def test_a_waiver_of_one_trace_is_said_of_that_trace() -> None:
    one = {**WAIVER, "trace": "outreach-001"}
    shown = told(replaced_meta(of(line(0), line(1), gate={"waivers": (one,)}), verbosity="verbose"))
    assert "(outreach.jsonl:2, waived by the owner until 2031-05-01)" in shown
    assert shown.count("waived by") == 1 and "confirm-before-send on outreach-001 by" in shown


def test_an_expired_waiver_excuses_nothing() -> None:
    shown = told(of(line(0), gate={"waivers": ({**WAIVER, "expired": True},)}))
    assert "waived by" not in shown
    assert "confirm-before-send by the owner, expired 2031-05-01" in shown


@pytest.mark.parametrize(
    ("verdict", "known", "new", "sentence"),
    [
        ("pass", 4, 0, "passes against baseline runs/monday: 4 known failures, 0 new;"),
        ("fail", 1, 2, "criteria fail against baseline runs/monday (1 known failure, 2 new)"),
        ("incomplete", 1, 0, "nothing gating fails anew against baseline runs/monday (1 known"),
        ("pass", 0, 0, "passes against baseline runs/monday: 0 known failures, 0 new;"),
    ],
)
def test_the_gate_says_what_the_baseline_knew(
    verdict: str, known: int, new: int, sentence: str
) -> None:
    gate = {"verdict": verdict, "failing": ("a", "b") if verdict == "fail" else ()}
    row = {"known": known, "new": new}
    assert sentence in told(of(line(0), gate=gate, confirm_before_send=row))


def test_new_failures_stand_before_those_that_the_baseline_knew() -> None:
    row = {"known": 3, "new": 1, "new_traces": ("outreach-004",)}
    shown = told(of(*(line(n) for n in range(6)), gate={}, confirm_before_send=row))
    assert "fails on 5 traces: 3 known, 1 new trace outreach-004 (outreach.jsonl:5, new)" in shown


def test_a_criterion_that_applies_to_no_trace_is_not_said_to_hold() -> None:
    na = {"result": "na", "counts": Counts(na=2)}
    gate = {"verdict": "pass"}
    shown = told(of(line(3), gate=gate, confirm_before_send=na))
    assert "Gate: ✓ PASS" in shown
    assert shown.count("2 gating criteria hold, 1 applies nowhere") == 1
    assert "– NA 1 criterion applies nowhere: confirm-before-send" in shown


def test_a_waived_criterion_is_not_said_to_hold() -> None:
    waived = {"result": "fail", "waived": "1 fail"}
    shown = told(of(line(3), gate={"verdict": "pass"}, confirm_before_send=waived))
    assert "2 gating criteria hold, 1 waived" in shown


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "1 criterion holds wherever it applies"),
        (2, "2 criteria hold wherever they apply"),
    ],
)
def test_passes_are_counted_in_grammar(count: int, words: str) -> None:
    lost = {"result": "uncertain"}
    names = [row.criterion_id.replace("-", "_") for row in SUITE][count:]
    assert words in told(of(line(3), gate={}, **dict.fromkeys(names, lost)))


def test_every_report_that_was_written_is_named() -> None:
    for written, last in (
        (
            ("run/report.html", "run/report.md"),
            ["Report: run/report.html", "Report: run/report.md"],
        ),
        (("run/report.md",), ["Report: run/report.md"]),
        ((), ["Report: none was written"]),
    ):
        made = dataclasses.replace(report(1), meta=RunMeta(written=written))
        shown = render_text(made, 80, color=False, ascii=False).splitlines()
        assert [one for one in shown if one.startswith("Report: ")] == last


def undecided(cause: str, critique: str, *refs: Ref, **fields: Any) -> MatrixVerdictFile:
    """Return a line with one undecided cell."""
    verdict = judged("claims-are-grounded", "uncertain", critique, *refs, cause=cause, **fields)
    return MatrixVerdictFile(
        trajectory_id="outreach-000", fidelity=Fidelity(complete=True), verdicts=(verdict,),
        dense_map={"claims-are-grounded": "uncertain"},
    )  # fmt: skip


def lost(cause: str, reasons: dict[str, str], fidelity: Fidelity) -> MatrixVerdictFile:
    """Return a line with one cell that nobody adjudicated."""
    return MatrixVerdictFile(
        trajectory_id="outreach-000", fidelity=fidelity,
        dense_map={"claims-are-grounded": "uncertain"},
        not_adjudicated={"claims-are-grounded": cause},  # type: ignore[dict-item]
        not_adjudicated_reasons=reasons,
    )  # fmt: skip


TERMS = tuple(Binding(term=term) for term in ("figure", "tool result"))
WHOLE_TRACE = Fidelity(complete=True)


@pytest.mark.parametrize(
    ("one", "detail"),
    [
        (undecided("unknown-tool", "no tool 'sned'", produced_by="code"), "no tool 'sned'"),
        (undecided("check-error", "check own: KeyError at c.py:4", produced_by="code"), "c.py:4"),
        (undecided("dead-ref", "it holds", blocked_by=BlockedBy(kind="scope", text="call_9 rate")),
         "call_9 rate"),
        (undecided("malformed", "it holds", quoted("m1", "text", "Please")),
         "lacks what it binds 'figure' to and what it binds 'tool result' to"),
        (undecided("malformed", "it holds", bindings=TERMS), "the judge's answer lacks evidence"),
        (lost("malformed", {"claims-are-grounded": "no JSON object"}, WHOLE_TRACE),
         "no JSON object"),
        (lost("truncated", {}, Fidelity(complete=False, reason="ends in a call")),
         "ends in a call"),
    ],
)  # fmt: skip
def test_an_undecided_cell_says_why_below_its_criterion(
    one: MatrixVerdictFile, detail: str
) -> None:
    shown = told(of(one, gate={}))
    assert detail in shown[shown.index("HIGH claims-are-grounded") :]
    assert shown.index(detail) > shown.index("trace outreach-000 (outreach.jsonl:1)")


def test_the_reasons_of_several_traces_are_told_by_the_first() -> None:
    more = [
        msgspec.structs.replace(
            undecided("unknown-tool", f"tool '{name}'", produced_by="code"), trajectory_id=name
        )
        for name in ("a", "b")
    ]
    assert "trace a, b a: tool 'a'" in told(of(*more, gate={}))


def test_a_check_that_found_nothing_is_not_told_twice() -> None:
    scan = Scan(channel="output.response", pattern="", items=0, matches=0)
    ref = Ref(obs="outreach-000", path="output.response", scan=scan, match="scan")
    for made, times in (("code", 0), ("judge", 1)):
        said = judged("claims-are-grounded", "fail", "output.response is missing", ref,
                      produced_by=made)  # fmt: skip
        one = MatrixVerdictFile(
            trajectory_id="outreach-000", fidelity=WHOLE_TRACE, verdicts=(said,),
            dense_map={"claims-are-grounded": "fail"},
        )  # fmt: skip
        assert told(of(one, gate={})).count("nothing stands in output.response") == times


def test_a_row_that_code_alone_failed_says_nothing_of_the_judge() -> None:
    row = {"standing": Standing(status="unvalidated", reason="never measured against labels")}
    for made, times in (("code", 0), ("judge", 1)):
        said = judged("claims-are-grounded", "fail", "a figure is made up", produced_by=made)
        one = MatrixVerdictFile(
            trajectory_id="outreach-000", fidelity=WHOLE_TRACE, verdicts=(said,),
            dense_map={"claims-are-grounded": "fail"},
        )  # fmt: skip
        shown = told(of(one, gate={}, claims_are_grounded=row))
        assert shown.count("fails on 1 trace, judge unvalidated") == times, made


def test_files_that_cannot_be_read_for_one_reason_are_told_together() -> None:
    long = "no known trace format: " + "saw keys that nobody knows, " * 12 + "name one with format"
    failures = tuple(LoadFailure(file=f"t/{n}.json", line=0, reason=long) for n in range(15))
    alone = LoadFailure(file="t/x.jsonl", line=3, reason="not JSON")
    card = scorecard((line(3),))
    card = msgspec.structs.replace(card, load=Load(files=16, traces=1, failures=(*failures, alone)))
    shown = told(compose(card, [line(3)]))
    assert f"15 files: {long} t/0.json, t/1.json," in shown
    assert "and 9 more; see scorecard.json" in shown and "t/x.jsonl:3 not JSON" in shown
    assert shown.count("name one with format") == 1


def test_warnings_of_the_lines_are_told_by_kind_and_hostile_ones_cannot_act() -> None:
    short = "not all was shown: 3 left out, 1 cut"
    lines = tuple(
        msgspec.structs.replace(line(n), warnings=warnings)
        for n, warnings in enumerate(
            [(short,), ("not all was shown: 7 left out, 0 cut", "the judge left out judgeSteps"),
             (), (HOSTILE[0],)]
        )
    )  # fmt: skip
    told = render_text(
        compose(scorecard(lines), lines, suite=SUITE), 100, color=False, ascii=False
    ).splitlines()
    at = told.index("warnings  3 traces")
    assert told[at + 1 : at + 5] == [
        "  2: not all was shown",
        "    outreach-000, outreach-001",
        "  1: the judge left out judgeSteps",
        "    outreach-001",
    ]
    assert "\x1b" not in "".join(told)
    one = (msgspec.structs.replace(line(0), warnings=(short,)),)
    shown = render_text(compose(scorecard(one), one, suite=SUITE), 100, color=False, ascii=False)
    assert f"  1: {short}\n" in shown
    none = (msgspec.structs.replace(line(0), warnings=()),)
    shown = render_text(compose(scorecard(none), none, suite=SUITE), 100, color=False, ascii=False)
    assert "warnings" not in shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("::stop-commands::x", ": :stop-commands::x"),
        ("##[error]owned", "# #[error]owned"),
        ("##vso[task.complete]owned", "# #vso[task.complete]owned"),
    ],
)
def test_no_word_of_a_judge_is_a_command_to_a_ci_runner(said: str, shown: str) -> None:
    made = report(1)
    line = made.lines[0]
    verdicts = tuple(msgspec.structs.replace(v, critique=said) for v in line.verdicts)
    lines = [msgspec.structs.replace(line, verdicts=verdicts)]
    text = render_text(compose(made.scorecard, lines, suite=SUITE), 80, False, False)
    assert f"    {shown}\n" in text
    assert not [row for row in text.splitlines() if row.lstrip().startswith("::") or "##" in row]
