"""The run report on a terminal: failures first, passes counted, the gate last.

Everything from traces is made visible first, so that nothing in it can act on the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from helix.model.config import Verbosity
from helix.model.verdict import Ref
from helix.reports import repeated, summary
from helix.reports.gathered import LONGEST, Failing, Key, Named, Undecided, gathered
from helix.reports.run import CellView, RowView
from helix.reports.stream import Run
from helix.reports.textpage import STYLES, Styled, TextPage, for_this_console
from helix.reports.visible import first_line, one_line
from helix.reports.words import Standing, counted, duration

FEW = 3
SHOWN_NAMES = 6
SHOWN_GAPS = 6
SHOWN_REASONS = 10
QUOTE = 120
REASON = 600


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is shown: criteria, traces of each, names in a list, lines of one text.

    `spaced` sets criteria apart by an empty line; without it what follows `traces` is only named.
    """

    criteria: int
    traces: int
    names: int
    lines: int
    spaced: bool


BOUNDS: Final[dict[Verbosity, Bounds]] = {
    "quiet": Bounds(0, 0, 3, 0, False),
    "normal": Bounds(8, 1, 3, 2, False),
    "verbose": Bounds(1_000, 20, 20, 30, True),
}


def render_text(report: Run, width: int, color: bool, ascii: bool) -> str:
    """Return the report as terminal text, as much of it as `report.meta.verbosity` says.

    Lines are at most `width` columns, except for paths and commands, which are never broken.
    `ascii` leaves no other character; without `color` there is no escape sequence at all.
    """
    page = TextPage(width, color, ascii)
    bounds = BOUNDS[report.meta.verbosity]
    if bounds.criteria:
        found = gathered(report.traces, bounds.traces + bounds.names)
        _failures(page, report, found.failing, bounds)
        _undecided(page, found.undecided, bounds)
        _load_failures(page, report)
        _warnings(page, found.warned)
        _passes(page, report)
        _judges(page, report, bounds)
    _closing(page, report, bounds)
    return page.text


def render_terminal(report: Run) -> bytes:
    """Return the report for this process's standard output: its width, colour and encoding."""
    return for_this_console(partial(render_text, report))


def _heading(page: TextPage, standing: Standing, row: RowView, *notes: str | None) -> None:
    severity, name = one_line(row.row.severity), one_line(row.id)
    told = [one_line(note) for note in notes if note]
    told += [] if row.row.gating else ["not gating"]
    page.line(
        page.state(standing), f"  {severity}  ", (name, "bold"), ("  " + ", ".join(told), "dim")
    )


def _failures(page: TextPage, report: Run, groups: Sequence[Failing], bounds: Bounds) -> None:
    card = report.scorecard
    for of in groups[: bounds.criteria]:
        row = of.row
        told = summary.fails_on(row.row, of.traces)
        standing = summary.standing(row.row) if of.judged else None
        _heading(page, "fail", row, told, standing, summary.waived(card, row.id))
        shown, named = of.first[: bounds.traces], of.first[bounds.traces :]
        for at, (trace, cell) in enumerate(shown, 1):
            new = "new" if trace.id in row.row.new_traces else None
            rest = ""
            if at == len(shown) and named:
                names = [one_line(other.name, 60) for other, _ in named]
                rest = summary.listed(names, bounds.names, None, of.cells - at)
            _trace(page, trace, summary.waived(card, row.id, trace.id) or new, rest)
            _failure(page, cell, bounds)
        if bounds.spaced:
            page.gap()
    left = [one_line(of.row.id) for of in groups[bounds.criteria :]]
    if left:
        page.line(page.state("fail"), f"  {counted(len(left), 'more criterion', 'more criteria')}")
        page.line((f"{summary.listed(left, SHOWN_NAMES, None)}; -v shows them", "dim"), indent=2)
    if groups and not bounds.spaced:
        page.gap()


def _trace(page: TextPage, trace: Named, note: str | None, rest: str) -> None:
    """Write a trace's name and where it was read, and the names of further ones."""
    about = ", ".join(one_line(text) for text in (trace.file, note) if text)
    parts: list[Styled] = [("trace ", "dim"), one_line(trace.name, 60)]
    parts += [(f" ({about})", "dim")] if about else []
    parts += [(f", {rest}", "dim")] if rest else []
    page.line(*parts, indent=2)


def _failure(page: TextPage, cell: CellView, bounds: Bounds) -> None:
    """Write what was said of a failing cell, and the first evidence."""
    said = first_line(cell.critique, LONGEST) or "no critique was recorded"
    page.line(said, indent=4, most=bounds.lines)
    for ref in cell.refs[:1]:
        # In short, evidence only where it is more than what a check's own words say.
        if not _told(ref, cell) and (bounds.spaced or cell.judged):
            page.line(*_cited(ref), indent=4, most=None if bounds.spaced else 1)


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


def _undecided(
    page: TextPage, groups: Sequence[tuple[Key, Sequence[Undecided]]], bounds: Bounds
) -> None:
    for (standing, cause, action), found in groups:
        page.line(page.state(standing), "  ", (cause, "bold"), (" → ", "dim"), action)
        entries = list(_by_traces(found).items())
        for (traces, detail), rows in entries[: bounds.lines]:
            where = ("  trace ", "dim"), summary.listed(traces, bounds.names)
            page.line(summary.listed(rows, bounds.names, None), *where, indent=2)
            if detail:
                page.line(detail, indent=4, most=bounds.lines)
        if len(entries) > bounds.lines:
            names = [name for _, rows in entries[bounds.lines :] for name in rows]
            page.line((f"also {summary.listed(names, bounds.names)}", "dim"), indent=2)
        if bounds.spaced:
            page.gap()
    if groups and not bounds.spaced:
        page.gap()


def _by_traces(found: Sequence[Undecided]) -> dict[tuple[tuple[str, ...], str], list[str]]:
    """Return criteria by traces and detail, so that what a lost trace lacks is told once."""
    merged: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for of in found:
        row = one_line(f"{of.row.row.severity} {of.row.id}")
        merged.setdefault((_places(of.traces), _detail(of)), []).append(row)
    return merged


def _places(traces: Sequence[Named]) -> tuple[str, ...]:
    """Return the traces' names, with their files where they are few."""
    if len(traces) > FEW:
        return tuple(one_line(trace.name, 60) for trace in traces)
    return tuple(
        one_line(trace.name, 60) + (f" ({one_line(trace.file)})" if trace.file else "")
        for trace in traces
    )


def _detail(of: Undecided) -> str:
    """Return why the cells are undecided; where the reasons differ, the first with its trace."""
    first = of.details[0]
    alone = len(of.details) == 1 or not first
    return first if alone else f"{one_line(of.traces[0].name, 60)}: {first}"


def _load_failures(page: TextPage, report: Run) -> None:
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
        names = [one_line(place, 120) for place in places]
        page.line((summary.listed(names, SHOWN_NAMES, "see scorecard.json"), "dim"), indent=4)
    if len(reasons) > SHOWN_REASONS:
        more = counted(len(reasons) - SHOWN_REASONS, "reason")
        page.line((f"and {more} more; see scorecard.json", "dim"), indent=2)
    page.gap()


def _warnings(page: TextPage, kinds: Sequence[tuple[str, list[str]]]) -> None:
    if not kinds:
        return
    traces = {trace for _, names in kinds for trace in names}
    page.line(("warnings", STYLES["uncertain"]), f"  {counted(len(traces), 'trace')}")
    for text, names in kinds[:SHOWN_REASONS]:
        page.line(f"{len(names)}: {one_line(text, REASON)}", indent=2)
        told = [one_line(name, 60) for name in dict.fromkeys(names)]
        page.line((summary.listed(told, SHOWN_NAMES, "see verdicts.jsonl"), "dim"), indent=4)
    if len(kinds) > SHOWN_REASONS:
        page.line((f"and {len(kinds) - SHOWN_REASONS} more; see verdicts.jsonl", "dim"), indent=2)
    page.gap()


def _passes(page: TextPage, report: Run) -> None:
    card = report.scorecard
    held = sum(1 for row in card.criteria if row.result == "pass")
    if not card.cells.pass_:
        waits = "; what waits for an answer is not decided yet, its code rows neither"
        page.line(f"No cell passes{waits if report.meta.waiting else ''}.")
    else:
        told = f"  {counted(card.cells.pass_, 'cell')}, not listed here"
        if held:
            one, many = "criterion holds wherever it applies", "criteria hold wherever they apply"
            told += f"; {counted(held, one, many)}"
        page.line(page.state("pass"), told)
    nowhere = [one_line(row.criterion_id) for row in card.criteria if row.result == "na"]
    if nowhere:
        told = counted(len(nowhere), "criterion applies nowhere", "criteria apply nowhere")
        page.line(page.state("na"), f"  {told}: {summary.listed(nowhere, SHOWN_NAMES)}")
    page.gap()


def _judges(page: TextPage, report: Run, bounds: Bounds) -> None:
    card = report.scorecard
    page.line(f"{summary.examined(card)}.")
    page.line(("Judge: ", "dim"), f"{one_line(summary.judged_by(card))}.")
    page.line(("Verifier: ", "dim"), f"{one_line(summary.verifier_line(card))}.")
    if card.quality is not None:
        page.line(("Tests: ", "dim"), f"{one_line(summary.tests_line(card.quality))}.")
        page.line(("Quality: ", "dim"), f"{card.quality.verdict}.")
        page.line(("Converged: ", "dim"), f"{summary.converged(card.quality)}.")
    for told in repeated.told(card, bounds.names):
        page.line(("Repeats: ", "dim"), f"{one_line(told)}.")
    for waiver in summary.waivers(card):
        page.line(("Waived: ", "dim"), f"{one_line(waiver)}.")
    gaps = card.gate.gaps if bounds.spaced else card.gate.gaps[:SHOWN_GAPS]
    for gap in gaps:
        page.line(("Gap: ", "dim"), f"{one_line(gap).rstrip('.')}.")
    if left := len(card.gate.gaps) - len(gaps):
        page.line((f"{counted(left, 'more gap')}; -v shows them", "dim"))
    page.gap()


def _closing(page: TextPage, report: Run, bounds: Bounds) -> None:
    card, meta = report.scorecard, report.meta
    standing: Standing = card.run_verdict
    reason = summary.gate_reason(card, meta.baseline)
    if card.gate.failing:
        reason += f": {one_line(summary.listed(card.gate.failing, bounds.names, None))}"
    page.line(("Gate: ", "bold"), page.state(standing), f"  {reason}")
    told = [f"{n:,} {word}" for word, n in summary.counts(card) if n or word in ("fail", "pass")]
    page.line(", ".join(told), (" · ", "dim"), summary.judged(card))
    page.line(summary.asked(card), (" · ", "dim"), f"time {duration(meta.duration_s)}")
    if meta.determinism:
        page.line(("Determinism: ", "dim"), f"{'; '.join(map(one_line, meta.determinism))}.")
    if meta.rerun and card.run_verdict != "pass":
        page.whole(f"Rerun the failures: {meta.rerun}")
    for line in meta.waiting:
        page.whole(line)
    for written in meta.written or ("none was written",):
        page.whole(f"Report: {written}")
