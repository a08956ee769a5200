"""The discovery report as JSON for programs and as Markdown for a page of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import msgspec

from helix.model.canonical import canonical_bytes
from helix.reports import discovery_facts as facts
from helix.reports import summary
from helix.reports.discovery import DiscoveryReport, KindView
from helix.reports.documents import REPORT_SCHEMA_VERSION, camel, escape_markdown, fence
from helix.reports.subject import subject_line
from helix.reports.visible import visible
from helix.reports.words import NOT_RECORDED, SYMBOLS, counted, duration
from helix.suite.dumping import row_page

SHOWN_TRACES = 5


def discovery_json(report: DiscoveryReport) -> bytes:
    """Return the record, every determination, the curve and the run's own record as one object."""
    value = {
        "schemaVersion": REPORT_SCHEMA_VERSION,
        "discovery": msgspec.to_builtins(report.record),
        "determinations": [msgspec.to_builtins(read.determination) for read in report.reads],
        "saturation": msgspec.to_builtins(report.curve),
        "funnel": [{"stage": stage.name, "traces": stage.n} for stage in report.funnel],
        "splits": {part: {"traces": n, "fail": fails} for part, n, fails in report.splits},
        "run": {camel(key): item for key, item in asdict(report.meta).items()},
        "subject": msgspec.to_builtins(report.subject),
    }
    return canonical_bytes(value) + b"\n"


def discovery_markdown(report: DiscoveryReport) -> bytes:
    """Return the report as Markdown: what fails, each kind with its criterion, what was read."""
    return ("\n".join(_markdown(report)) + "\n").encode("utf-8")


def _markdown(report: DiscoveryReport) -> Iterator[str]:
    md, standing = escape_markdown, facts.outcome(report)
    yield f"# {SYMBOLS[standing]} {md(facts.headline(report))}"
    yield ""
    caveat = facts.caveat(report)
    yield f"{md(report.record.subject)}: {md(facts.findings(report))}."
    if caveat:
        yield f"{md(caveat)}."
    yield ""
    yield "| kind of failure | k of n (95 %) | seen by | goes to | criterion |"
    yield "|---|---|---|---|---|"
    for kind in report.kinds:
        row = kind.row
        told = f"{row.criterion_id} ({row.severity}, {row.grounding})" if row else "none"
        goes = facts.GOES[kind.category.fix_or_eval]
        yield (
            f"| {md(kind.category.name)} | {md(facts.prevalence(kind))} "
            f"| {md(facts.seen_by(kind))} | {goes} | {md(told)} |"
        )
    yield ""
    for kind in report.kinds:
        yield from _kind(kind)
    yield "## Coverage"
    yield ""
    for stage in report.funnel:
        yield f"- {stage.name}: {stage.n:,} ({md(stage.told)})"
    yield f"- new kinds: {md(facts.curve_told(report))}; {md(facts.saturation(report))}"
    yield ""
    yield from _facts("Proof of work", facts.proof(report))
    yield from _facts("Self-evaluation", facts.itself(report))
    yield "## Dataset and subject"
    yield ""
    for part, n, fails in report.splits:
        yield f"- {part}: {counted(n, 'trace')}, {fails:,} failing"
    who = NOT_RECORDED if report.subject is None else subject_line(report.subject)
    yield f"- subject: {md(who)}"
    yield f"- memory: {md(facts.memory(report))}"
    for failed, reason, _ in summary.unreadable(report.unread):
        yield f"- could not be read: {md(failed)}: {md(reason)}"
    yield f"- {md(facts.cost(report))}; time {duration(report.meta.duration_s)}"


def _kind(kind: KindView) -> Iterator[str]:
    md = escape_markdown
    yield f"## {md(kind.category.name)}"
    yield ""
    yield f"{md(kind.category.definition)}. {md(facts.prevalence(kind))}."
    yield ""
    for read, seen in kind.seen[:SHOWN_TRACES]:
        yield f"- {md(read.id)}: {md(seen.detection.text)}"
        for ref in seen.detection.refs[:1]:
            if ref.value is not None:
                yield f"  - {md(ref.obs)} {md(ref.path)}: “{md(ref.value)}”"
    if len(kind.seen) > SHOWN_TRACES:
        yield f"- and {len(kind.seen) - SHOWN_TRACES:,} more"
    yield ""
    yield f"{md(summary.sentence(facts.why(kind)))}."
    yield ""
    if kind.criterion is not None:
        yield from _fenced(row_page(kind.criterion))


def _fenced(text: str) -> Iterator[str]:
    """Yield a code block whose fence is longer than any in its text."""
    ticks = fence(text, 3)
    yield f"{ticks}yaml"
    yield visible(text).rstrip("\n")
    yield ticks
    yield ""


def _facts(title: str, found: facts.Facts) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    for name, value in found:
        yield f"- {name}: {escape_markdown(value)}"
    yield ""
