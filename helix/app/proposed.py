"""`helix criteria terms`: what is proposed for rows that name no terms, and storing it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from helix.app import console
from helix.app.tried import open_traces, suite_file
from helix.registry import load
from helix.reports.visible import visible
from helix.reports.words import counted as words
from helix.suite import load as load_suite
from helix.suite.batch import Batch
from helix.suite.load import SuiteFile
from helix.suite.terms import Proposal, Term, counted, propose
from helix.suite.writing import write_terms

_KINDS = {
    "tool": "a tool: bound to its call",
    "path": "a field: bound where it is there",
    "value": "a text: bound where it stands word for word",
    "words": "bound by the judge",
}


def proposed(
    suite: str, traces: str | None, format: str, tools: Collection[str]
) -> tuple[SuiteFile, list[Proposal]]:
    """Return a suite and what is proposed for its rows; SuiteError where a row is malformed."""
    file = load_suite(suite_file(suite))
    _ = file.suite
    if traces is None:
        return file, propose(file, tools)
    source = open_traces(traces, format, load())
    seen = Batch()
    for _ in seen.watch(source):
        pass
    if seen.failures:
        console.tell(f"{words(len(seen.failures), 'record')} could not be read")
    known = {*tools, *file.tools, *seen.tools}
    return file, counted(propose(file, known), known, Batch().watch(source))


def store(file: SuiteFile, proposals: Sequence[Proposal]) -> list[str]:
    """Write the proposals into their rows and return the ids of those rows."""
    chosen = {p.criterion_id: [term.text for term in p.terms] for p in proposals if p.terms}
    if chosen:
        write_terms(file.source.file, chosen)
    return list(chosen)


def as_text(proposals: Sequence[Proposal], written: Sequence[str] | None) -> str:
    """Return the proposals row by row, and what was done with them."""
    lines: list[str] = []
    for proposal in proposals:
        lines.append(f"{proposal.criterion_id} (line {proposal.line})")
        lines += [f"  {term.text}: {_told(term)}" for term in proposal.terms]
        if not proposal.terms:
            lines.append("  nothing in its statement that a trace could hold: name terms by hand")
    if lines:
        lines.append("")
    if not proposals:
        lines.append("every judged row names its terms")
    elif written is None:
        lines.append(
            f"{words(len(proposals), 'row')} without terms; a term must be there for the row to "
            "be decidable, so take out what the row demands; --write stores them"
        )
    else:
        lines.append(f"terms stored in {words(len(written), 'row')}")
    return visible("\n".join(lines))


def as_json(
    suite: str, proposals: Sequence[Proposal], written: Sequence[str] | None
) -> dict[str, Any]:
    """Return the proposals as plain JSON; `written` is null where nothing was to be stored."""
    rows = [
        {
            "criterionId": proposal.criterion_id,
            "line": proposal.line,
            "terms": [dataclasses.asdict(term) for term in proposal.terms],
        }
        for proposal in proposals
    ]
    return {"suite": suite, "proposals": rows, "written": None if written is None else [*written]}


def _told(term: Term) -> str:
    found = "" if term.n is None else f", in {term.k} of {words(term.n, 'trace')}"
    return f"{_KINDS[term.kind]}{found}"
