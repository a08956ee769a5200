"""The run report as JSON for programs and as Markdown for a page of text."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import msgspec

from helix.model.canonical import canonical_bytes
from helix.model.lines import encode_line
from helix.reports import repeated, summary
from helix.reports.run import CellView, TraceView, weight
from helix.reports.stream import Run
from helix.reports.subject import subject_line
from helix.reports.visible import first_line, one_line
from helix.reports.words import SYMBOLS, duration

REPORT_SCHEMA_VERSION = "1.0"
SHOWN_CELLS = 50
LONGEST_NAME = 200
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}


def render_json(run: Run) -> Iterator[bytes]:
    """Yield the scorecard, every verdict line and the run's own record as one JSON object.

    Its keys are sorted; a number that JSON has no way to write is null.
    """
    head = {
        "run": {camel(key): value for key, value in asdict(run.meta).items()},
        "schemaVersion": REPORT_SCHEMA_VERSION,
        "scorecard": run.scorecard,
        "subject": run.subject,
    }
    yield _json(head)[:-1] + b',"verdicts":['
    for at, line in enumerate(run.lines):
        yield (b",\n" if at else b"\n") + _json(line)
    yield b"\n]}\n"


def render_markdown(run: Run) -> bytes:
    """Return the report as Markdown: the gate, the counts, what fails, what is undecided."""
    return ("\n".join(_markdown(run)) + "\n").encode("utf-8")


def escape_markdown(text: str) -> str:
    """Return text on one line so that Markdown shows it as it is, links and mentions included."""
    marked = _MARKDOWN.sub(r"\\\1", one_line(text))
    return re.sub(r"[<>&@]", lambda found: _ENTITIES[found.group()], marked).replace(":", "&#58;")


def fence(text: str, least: int = 1) -> str:
    """Return as many backticks as fence a text off: more than stand in a row in it."""
    return "`" * max([least, *(len(run) + 1 for run in re.findall("`+", text))])


def _markdown(report: Run) -> Iterator[str]:
    card, md = report.scorecard, escape_markdown
    yield f"# Gate: {SYMBOLS[card.run_verdict]} {card.run_verdict}"
    yield ""
    reason = summary.sentence(summary.gate_reason(card, report.meta.baseline))
    yield f"{md(reason)}. {md(summary.examined(card))}."
    yield ""
    if card.quality is not None:
        yield f"- {md(summary.convergence(card.quality))}"
    for told in repeated.told(card, SHOWN_CELLS):
        yield f"- repeats: {md(told)}"
    for waiver in summary.waivers(card):
        yield f"- waived: {md(waiver)}"
    for gap in card.gate.gaps:
        yield f"- gap: {md(gap)}"
    yield ""
    yield "| criterion | severity | gating | result | fail | uncertain | pass | na | judge |"
    yield "|---|---|---|---|--:|--:|--:|--:|---|"
    for row in card.criteria:
        n, folded = row.counts, summary.folded(row)
        gating = "yes" if row.gating else "no"
        yield (
            f"| {md(row.criterion_id)} | {md(row.severity)} | {gating} "
            f"| {SYMBOLS[folded]} {folded} "
            f"| {n.fail} | {n.uncertain} | {n.pass_} | {n.na} "
            f"| {md(summary.standing(row) or ('code' if row.klass == 'code' else 'nobody'))} |"
        )
    yield ""
    yield from _cells(report)
    yield f"Judge: {md(summary.judged_by(card))}. "
    yield f"Verifier: {md(summary.verifier_line(card))}. "
    if report.subject is not None:
        yield f"Subject: {md(subject_line(report.subject))}. "
    took = duration(report.meta.duration_s)
    yield f"{md(summary.judged(card))}; {md(summary.cost(card))}; time {took}. "
    if report.meta.determinism:
        yield f"Determinism: {md('; '.join(report.meta.determinism))}."


def _cells(report: Run) -> Iterator[str]:
    md = escape_markdown
    found = heapq.nsmallest(SHOWN_CELLS, _open(report), key=_worst_criterion_first)
    for trace, cell in found:
        told = first_line(cell.critique or cell.detail, 300) or "nothing was said"
        state = f"{SYMBOLS[cell.standing]} {cell.standing}"
        place = f" ({md(one_line(trace.file, LONGEST_NAME))})" if trace.file else ""
        name = md(one_line(trace.name, LONGEST_NAME))
        yield f"- {state} {md(cell.row.id)} on {name}{place}: {md(told)}"
        if cell.action:
            yield f"  - {md(cell.cause or 'no cause recorded')}: {md(cell.action)}"
        if cell.detail and cell.critique != cell.detail and cell.critique:
            yield f"  - {md(first_line(cell.detail, 300))}"
        for ref in cell.refs[:1]:
            if ref.value is not None:
                where = f"{one_line(ref.obs, LONGEST_NAME)} {one_line(ref.path, LONGEST_NAME)}"
                yield f"  - {md(where)}: “{md(one_line(ref.value, 300))}”"
    total = report.scorecard.cells.fail + report.scorecard.cells.uncertain
    if total > len(found):
        yield f"- and {total - len(found):,} more"
    yield ""


def _open(report: Run) -> Iterator[tuple[TraceView, CellView]]:
    for trace in report.traces:
        for cell in trace.cells:
            if cell.state in ("fail", "uncertain"):
                yield trace, cell


def _worst_criterion_first(found: tuple[TraceView, CellView]) -> tuple[tuple[int, bool, int], int]:
    trace, cell = found
    return weight(cell.row), trace.index


def _json(value: Any) -> bytes:
    try:
        return canonical_bytes(msgspec.to_builtins(value))
    except ValueError:
        return canonical_bytes(json.loads(encode_line(value)))


def camel(name: str) -> str:
    """Return a field's name as it is on disk."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)
