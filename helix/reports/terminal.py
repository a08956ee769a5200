"""The run report on a terminal: failures first, passes folded, the gate last.

Everything from traces is made visible first, so that nothing in it can act on the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import groupby

from helix.model.verdict import Ref
from helix.reports import summary
from helix.reports.run import CellView, RowView, RunReport, TraceView
from helix.reports.textpage import STYLES, Styled, TextPage, for_this_console
from helix.reports.visible import first_line, one_line
from helix.reports.words import Standing, counted, duration

SHOWN_CRITERIA = 20
SHOWN_TRACES = 3
SHOWN_NAMES = 6
SHOWN_REASONS = 10
QUOTE = 120
DETAIL = 240
REASON = 600
Found = list[tuple[TraceView, CellView]]


def render_text(report: RunReport, width: int, color: bool, ascii: bool) -> str:
    """Return the report as terminal text.

    Lines are at most `width` columns, except for paths and commands, which are never broken.
    `ascii` leaves no other character; without `color` there is no escape sequence at all.
    """
    page = TextPage(width, color, ascii)
    _failures(page, report)
    _undecided(page, report)
    _load_failures(page, report)
    _warnings(page, report)
    _passes(page, report)
    _judges(page, report)
    _closing(page, report)
    return page.text


def render_terminal(report: RunReport) -> bytes:
    """Return the report as UTF-8 for this process's standard output: its width and colour."""
    return for_this_console(partial(render_text, report))


def _by_row(found: Found) -> list[tuple[RowView, Found]]:
    groups = groupby(found, key=lambda pair: pair[1].row.index)
    listed = [list(group) for _, group in groups]
    return [(group[0][1].row, group) for group in listed]


def _heading(page: TextPage, standing: Standing, row: RowView, *notes: str | None) -> None:
    severity, name = one_line(row.row.severity), one_line(row.id)
    told = [one_line(note) for note in notes if note]
    told += [] if row.row.gating else ["not gating"]
    page.line(
        page.state(standing), f"  {severity}  ", (name, "bold"), ("  " + ", ".join(told), "dim")
    )


def _failures(page: TextPage, report: RunReport) -> None:
    groups = _by_row(report.cells("fail"))
    card = report.scorecard
    for row, found in groups[:SHOWN_CRITERIA]:
        told = summary.fails_on(row.row, len(found))
        _heading(page, "fail", row, told, summary.standing(row.row), summary.waived(card, row.id))
        new = frozenset(row.row.new_traces)
        found.sort(key=lambda pair: pair[0].id not in new)
        for trace, cell in found[:SHOWN_TRACES]:
            excuse = summary.waived(card, row.id, trace.id) or ("new" if trace.id in new else None)
            _trace(page, trace, excuse)
            page.line(first_line(cell.critique, 240) or "no critique was recorded", indent=4)
            for ref in cell.refs[:1]:
                if not _told(ref, cell):
                    page.line(*_cited(ref), indent=4)
        if len(found) > SHOWN_TRACES:
            page.line((f"and {len(found) - SHOWN_TRACES:,} more; see report", "dim"), indent=2)
        page.gap()
    _rest(page, groups)


def _trace(page: TextPage, trace: TraceView, note: str | None) -> None:
    parts: list[Styled] = [("trace ", "dim"), one_line(trace.name)]
    if trace.file:
        parts.append((f"  {one_line(trace.file)}", "dim"))
    if note:
        parts.append((f"  {one_line(note)}", "dim"))
    page.line(*parts, indent=2)


def _told(ref: Ref, cell: CellView) -> bool:
    """Whether a check's own words already say what an empty scan shows: that nothing is there."""
    return ref.scan is not None and not ref.scan.items and not cell.judged


def _cited(ref: Ref) -> Iterable[Styled]:
    where = f"{one_line(ref.obs, 60)} {one_line(ref.path, 80)}"
    if ref.value is not None:
        yield f"“{one_line(ref.value, QUOTE)}”"
    elif ref.scan is not None:
        yield summary.scanned(ref.scan)
        return
    yield (f" in {where}", "dim")
    if ref.match == "dead":
        yield (" (not found there)", "dim")


def _undecided(page: TextPage, report: RunReport) -> None:
    groups: dict[tuple[Standing, str, str], Found] = {}
    for trace, cell in report.cells("incomplete", "uncertain"):
        key = (cell.standing, cell.cause or "no cause recorded", cell.action or "")
        groups.setdefault(key, []).append((trace, cell))
    for (standing, cause, action), found in groups.items():
        page.line(page.state(standing), "  ", (cause, "bold"), (" → ", "dim"), action)
        for (traces, detail), rows in list(_by_traces(found).items())[:SHOWN_CRITERIA]:
            page.line(summary.listed(rows, SHOWN_NAMES), indent=2)
            if detail:
                page.line(detail, indent=4)
            page.line(("trace ", "dim"), summary.listed(traces, SHOWN_NAMES), indent=4)
        page.gap()


def _by_traces(found: Found) -> dict[tuple[tuple[str, ...], str], list[str]]:
    """Return criteria by traces and detail, so that what a lost trace lacks is told once."""
    rows: dict[str, Found] = {}
    for trace, cell in found:
        row = one_line(f"{cell.row.row.severity} {cell.row.id}")
        rows.setdefault(row, []).append((trace, cell))
    merged: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for row, pairs in rows.items():
        merged.setdefault((_places(pairs), _detail(pairs)), []).append(row)
    return merged


def _places(pairs: Found) -> tuple[str, ...]:
    """Return the traces' names, with their files where they are few."""
    if len(pairs) > SHOWN_TRACES:
        return tuple(one_line(trace.name, 60) for trace, _ in pairs)
    return tuple(
        one_line(trace.name, 60) + (f" ({one_line(trace.file)})" if trace.file else "")
        for trace, _ in pairs
    )


def _detail(pairs: Found) -> str:
    """Return why the cells are undecided; where the reasons differ, the first with its trace."""
    details = dict.fromkeys(first_line(cell.detail, DETAIL) for _, cell in pairs)
    first = next(iter(details))
    return first if len(details) == 1 or not first else f"{one_line(pairs[0][0].name, 60)}: {first}"


def _rest(page: TextPage, groups: list[tuple[RowView, Found]]) -> None:
    if len(groups) > SHOWN_CRITERIA:
        more = counted(len(groups) - SHOWN_CRITERIA, "criterion", "criteria")
        page.line((f"and {more} more; see report", "dim"))
        page.gap()


def _load_failures(page: TextPage, report: RunReport) -> None:
    failures = report.scorecard.load.failures
    if not failures:
        return
    page.line(page.state("incomplete", "unreadable"), f"  {counted(len(failures), 'record')}")
    reasons = summary.unreadable(failures)
    for many, reason, places in reasons[:SHOWN_REASONS]:
        if len(places) == 1:
            page.line(f"{one_line(places[0])}  {one_line(reason, REASON)}", indent=2)
            continue
        page.line(f"{many}: {one_line(reason, REASON)}", indent=2)
        names = [one_line(place) for place in places]
        page.line((summary.listed(names, SHOWN_NAMES, "see scorecard.json"), "dim"), indent=4)
    if len(reasons) > SHOWN_REASONS:
        more = counted(len(reasons) - SHOWN_REASONS, "reason")
        page.line((f"and {more} more; see scorecard.json", "dim"), indent=2)
    page.gap()


def _warnings(page: TextPage, report: RunReport) -> None:
    kinds = report.warned
    if not kinds:
        return
    traces = {trace for _, names in kinds for trace in names}
    page.line(("warnings", STYLES["uncertain"]), f"  {counted(len(traces), 'trace')}")
    for text, names in kinds[:SHOWN_REASONS]:
        page.line(f"{len(names)}: {one_line(text, REASON)}", indent=2)
        told = [one_line(name) for name in dict.fromkeys(names)]
        page.line((summary.listed(told, SHOWN_NAMES, "see verdicts.jsonl"), "dim"), indent=4)
    if len(kinds) > SHOWN_REASONS:
        page.line((f"and {len(kinds) - SHOWN_REASONS} more; see verdicts.jsonl", "dim"), indent=2)
    page.gap()


def _passes(page: TextPage, report: RunReport) -> None:
    card = report.scorecard
    held = sum(1 for row in card.criteria if row.result == "pass")
    if not card.cells.pass_:
        waits = "; what waits for an answer is not decided yet, its code rows neither"
        page.line(f"No cell passes{waits if report.meta.waiting else ''}.")
    else:
        folded = f"  {counted(card.cells.pass_, 'cell')} folded here"
        if held:
            one, many = "criterion holds wherever it applies", "criteria hold wherever they apply"
            folded += f"; {counted(held, one, many)}"
        page.line(page.state("pass"), folded)
    nowhere = [one_line(row.criterion_id) for row in card.criteria if row.result == "na"]
    if nowhere:
        told = counted(len(nowhere), "criterion applies nowhere", "criteria apply nowhere")
        page.line(page.state("na"), f"  {told}: {summary.listed(nowhere, SHOWN_NAMES)}")
    page.gap()


def _judges(page: TextPage, report: RunReport) -> None:
    card = report.scorecard
    page.line(f"{summary.examined(card)}.")
    judge = one_line(summary.judge_line(card.judge))
    if card.judge.backend != "none":
        judge += f"; {one_line(summary.validation_line(card))}"
    page.line(("Judge: ", "dim"), f"{judge}.")
    page.line(("Verifier: ", "dim"), f"{one_line(summary.verifier_line(card))}.")
    for waiver in summary.waivers(card):
        page.line(("Waived: ", "dim"), f"{one_line(waiver)}.")
    for gap in card.gate.gaps:
        page.line(("Gap: ", "dim"), f"{one_line(gap).rstrip('.')}.")
    page.gap()


def _closing(page: TextPage, report: RunReport) -> None:
    card, meta = report.scorecard, report.meta
    standing: Standing = card.run_verdict
    reason = summary.gate_reason(card, meta.baseline)
    if card.gate.failing:
        reason += f": {one_line(summary.listed(card.gate.failing, SHOWN_NAMES))}"
    page.line(("Gate: ", "bold"), page.state(standing), f"  {reason}")
    told = [f"{n:,} {word}" for word, n in summary.counts(card) if n or word in ("fail", "pass")]
    page.line(", ".join(told), (" · ", "dim"), summary.judged(card))
    page.line(
        summary.cost(card),
        (" · ", "dim"),
        counted(card.usage.cache_hits, "cache hit"),
        (" · ", "dim"),
        f"time {duration(meta.duration_s)}",
    )
    if meta.rerun and card.run_verdict != "pass":
        page.whole(f"Rerun the failures: {meta.rerun}")
    for line in meta.waiting:
        page.whole(line)
    for written in meta.written or ("none was written",):
        page.whole(f"Report: {written}")
