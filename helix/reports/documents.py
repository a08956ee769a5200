"""The run report as JSON for programs and as Markdown for a page of text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict

import msgspec

from helix.model.canonical import canonical_bytes
from helix.reports import summary
from helix.reports.run import RunReport
from helix.reports.subject import subject_line
from helix.reports.visible import first_line, one_line
from helix.reports.words import SYMBOLS, duration

REPORT_SCHEMA_VERSION = "1.0"
SHOWN_CELLS = 50
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}


def render_json(report: RunReport) -> bytes:
    """Return the scorecard, every verdict line and the run's own record as one JSON object."""
    meta = {camel(key): value for key, value in asdict(report.meta).items()}
    value = {
        "schemaVersion": REPORT_SCHEMA_VERSION,
        "scorecard": msgspec.to_builtins(report.scorecard),
        "verdicts": [msgspec.to_builtins(line) for line in report.lines],
        "run": meta,
        "subject": msgspec.to_builtins(report.subject),
    }
    return canonical_bytes(value) + b"\n"


def render_markdown(report: RunReport) -> bytes:
    """Return the report as Markdown: the gate, the counts, what fails, what is undecided."""
    return ("\n".join(_markdown(report)) + "\n").encode("utf-8")


def escape_markdown(text: str) -> str:
    """Return text on one line so that Markdown shows it as it is, links and mentions included."""
    marked = _MARKDOWN.sub(r"\\\1", one_line(text))
    return re.sub(r"[<>&@]", lambda found: _ENTITIES[found.group()], marked).replace(":", "&#58;")


def _markdown(report: RunReport) -> Iterator[str]:
    card, md = report.scorecard, escape_markdown
    yield f"# Gate: {SYMBOLS[card.run_verdict]} {card.run_verdict}"
    yield ""
    reason = summary.sentence(summary.gate_reason(card, report.meta.baseline))
    yield f"{md(reason)}. {md(summary.examined(card))}."
    yield ""
    for waiver in summary.waivers(card):
        yield f"- waived: {md(waiver)}"
    for gap in card.gate.gaps:
        yield f"- gap: {md(gap)}"
    yield ""
    yield "| criterion | severity | gating | result | fail | uncertain | pass | na | judge |"
    yield "|---|---|---|---|--:|--:|--:|--:|---|"
    for row in card.criteria:
        n = row.counts
        gating = "yes" if row.gating else "no"
        yield (
            f"| {md(row.criterion_id)} | {md(row.severity)} | {gating} "
            f"| {SYMBOLS[row.result]} {row.result} "
            f"| {n.fail} | {n.uncertain} | {n.pass_} | {n.na} "
            f"| {md(summary.standing(row) or ('code' if row.klass == 'code' else 'nobody'))} |"
        )
    yield ""
    yield from _cells(report)
    yield f"Judge: {md(summary.judge_line(card.judge))}; {md(summary.validation_line(card))}. "
    yield f"Verifier: {md(summary.verifier_line(card))}. "
    if report.subject is not None:
        yield f"Subject: {md(subject_line(report.subject))}. "
    took = duration(report.meta.duration_s)
    yield f"{md(summary.judged(card))}; {md(summary.cost(card))}; time {took}."


def _cells(report: RunReport) -> Iterator[str]:
    md = escape_markdown
    found = report.cells("fail", "incomplete", "uncertain")
    for trace, cell in found[:SHOWN_CELLS]:
        told = first_line(cell.critique or cell.detail, 300) or "nothing was said"
        state = f"{SYMBOLS[cell.standing]} {cell.standing}"
        place = f" ({md(trace.file)})" if trace.file else ""
        yield f"- {state} {md(cell.row.id)} on {md(trace.name)}{place}: {md(told)}"
        if cell.action:
            yield f"  - {md(cell.cause or 'no cause recorded')}: {md(cell.action)}"
        if cell.detail and cell.critique != cell.detail and cell.critique:
            yield f"  - {md(first_line(cell.detail, 300))}"
        for ref in cell.refs[:1]:
            if ref.value is not None:
                yield f"  - {md(ref.obs)} {md(ref.path)}: “{md(ref.value)}”"
    if len(found) > SHOWN_CELLS:
        yield f"- and {len(found) - SHOWN_CELLS:,} more"
    yield ""


def camel(name: str) -> str:
    """Return a field's name as it is on disk."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)
