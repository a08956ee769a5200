"""What a discovery found, on a terminal: kinds of failure, criteria, what was read, what to type.

Names come from traces, so they are made visible first.
"""

from __future__ import annotations

from functools import partial

from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from helix.reports import discovery_facts as facts
from helix.reports import summary
from helix.reports.discovery import DiscoveryReport, KindView
from helix.reports.textpage import TextPage, for_this_console
from helix.reports.visible import one_line
from helix.reports.words import counted, duration

NARROW = 64
SHOWN, SHOWN_REASONS = 20, 10


def print_discovery(report: DiscoveryReport) -> bytes:
    """Return the report as UTF-8 for this process's standard output: its width and colour."""
    return for_this_console(partial(discovered_text, report))


def discovered_text(report: DiscoveryReport, width: int, color: bool, ascii: bool) -> str:
    """Return the report as terminal text.

    Lines are at most `width` columns, except for paths and commands, which are never broken.
    `ascii` leaves no other character; without `color` there is no escape sequence at all.
    """
    page = TextPage(width, color, ascii)
    verbosity = report.meta.verbosity
    if verbosity != "quiet":
        _kinds(page, report, width)
        _criteria(page, report, None if verbosity == "verbose" else SHOWN)
        _unread(page, report)
        _coverage(page, report)
    _closing(page, report)
    return page.text


def _kinds(page: TextPage, report: DiscoveryReport, width: int) -> None:
    shown = [kind for kind in report.kinds if not kind.folded]
    if not shown:
        page.line("No kind of failure was found.")
    elif width < NARROW:
        for kind in shown:
            page.line((one_line(kind.category.name), "bold"))
            page.line((f"{facts.prevalence(kind)}, {_by(kind)}, {_goes(kind)}", "dim"), indent=2)
    else:
        name = width - 36
        page.line((_row("kind of failure", "k/n", "by", "goes to", name), "dim"))
        for kind in shown:
            share = f"{kind.category.k}/{kind.category.n}"
            head, *rest = _fitted(one_line(kind.category.name), name)
            page.line(_row(head, share, _by(kind), _goes(kind), name))
            for more in rest:
                page.line(more, indent=2)
    if len(shown) < len(report.kinds):
        more = counted(len(report.kinds) - len(shown), "more kind")
        page.line((f"and {more}, rarer; see report", "dim"))
    if report.record.symptoms:
        names = ", ".join(map(one_line, report.record.symptoms))
        page.line((f"seen only where another led to it: {names}", "dim"))
    page.gap()


def _fitted(name: str, width: int) -> list[str]:
    """Return a name in as many lines as it takes, none cut and none wider than the column."""
    rows = Text(name, overflow="fold").wrap(Console(width=width), width - 2)
    return [row.plain for row in rows] or [""]


def _row(name: str, share: str, by: str, goes: str, width: int) -> str:
    return f"{set_cell_size(name, width)} {share:>9}  {by:<8}  {goes}"


def _by(kind: KindView) -> str:
    return kind.category.klass


def _goes(kind: KindView) -> str:
    return facts.GOES[kind.category.fix_or_eval]


def _criteria(page: TextPage, report: DiscoveryReport, most: int | None) -> None:
    rows = report.record.criteria
    if not rows:
        page.line("No criterion is proposed.")
    for row in rows[:most]:
        held = ", found again without its fixtures" if row.held_out else ""
        page.line((one_line(row.criterion_id), "bold"))
        page.line((f"{row.severity}, {row.grounding}, {row.klass}{held}", "dim"), indent=2)
        page.line(one_line(row.statement, 400), indent=2)
    left = len(rows) - len(rows[:most])
    if left:
        page.line((f"and {counted(left, 'more criterion', 'more criteria')}; -v shows them", "dim"))
    page.gap()


def _unread(page: TextPage, report: DiscoveryReport) -> None:
    reasons = summary.unreadable(report.unread)
    for many, reason, places in reasons[:SHOWN_REASONS]:
        page.line(page.state("incomplete", "not read"), f"  {many}: {one_line(reason, 300)}")
        page.line((summary.listed(map(one_line, places), 3), "dim"), indent=2)
    if len(reasons) > SHOWN_REASONS:
        page.line((f"and {len(reasons) - SHOWN_REASONS:,} more reasons; see report", "dim"))
    if reasons:
        page.gap()


def _coverage(page: TextPage, report: DiscoveryReport) -> None:
    stages = ", ".join(f"{stage.n:,} {stage.name}" for stage in report.funnel)
    page.line(("coverage ", "dim"), stages)
    told = dict(facts.proof(report))
    left, triage = len(facts.unread(report)), report.record.triage
    if triage.read:
        page.line(("read by ", "dim"), one_line(told["read by"]))
    waits = f", {triage.pending:,} of them waiting for an answer" if triage.pending else ""
    page.line(("read by nobody ", "dim"), f"{left:,} of {triage.examined:,}{waits}")
    page.line(("cut off ", "dim"), one_line(told["cut off"]))
    page.line(("kinds ", "dim"), f"{facts.curve_told(report)}; {facts.saturation(report)}")
    grounded = dict(facts.itself(report))["evidence that resolves"]
    page.line(("evidence that resolves ", "dim"), grounded)
    if report.preferences:
        page.line(("memory ", "dim"), one_line(facts.memory(report)))
    page.gap()


def _closing(page: TextPage, report: DiscoveryReport) -> None:
    standing = facts.outcome(report)
    page.line(page.state(standing, facts.headline(report)), f"  {one_line(report.record.subject)}")
    caveat = facts.caveat(report)
    page.line(f"{facts.findings(report)}{f'. {caveat}' if caveat else ''}.")
    page.line((f"{facts.cost(report)}; time {duration(report.meta.duration_s)}", "dim"))
    for line in (*report.meta.waiting, *report.after):
        page.whole(line)
    for written in report.meta.written or ("none was written",):
        page.whole(f"Report: {written}")
