"""junit.xml: one suite per trace, one case per cell, for every CI that shows test results.

fail is a failure, undecided an error whose name repeats the state (GitLab passes over errors),
na and rows that were left out are skipped (PRACTICE “CI”). A last suite `run` holds the gate, what
could not be read, and traces that were to be evaluated and have no verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from helix.model.manifest import located
from helix.reports import summary
from helix.reports.cells import evidence, told
from helix.reports.cells import text as bounded
from helix.reports.run import CellView, TraceView
from helix.reports.stream import RunStream
from helix.reports.visible import one_line

LONGEST_TEXT = 8_000
RUN = "run"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Element = ElementTree.Element


def render_junit(run: RunStream) -> Iterator[bytes]:
    """Yield the document as UTF-8, suite by suite in plan order."""
    attributes = {"name": _name(f"helix {run.scorecard.suite}")}
    if run.meta.duration_s is not None:
        attributes["time"] = f"{run.meta.duration_s:.3f}"
    root = ElementTree.tostring(
        Element("testsuites", attributes), encoding="unicode", short_empty_elements=False
    )
    head, end, tail = root.partition("</testsuites>")
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n'.encode()
    lost = dict.fromkeys(run.selected)
    for trace in run.traces:
        lost.pop(trace.id, None)
        cases = [_case(run, trace, cell) for cell in trace.cells]
        yield _suite(trace.name, cases)
    yield _suite(RUN, [_gate(run), *_unread(run), *_lost(list(lost)), *_left_out(run)])
    yield f"{end}{tail}\n".encode()


def _suite(name: str, cases: list[Element]) -> bytes:
    def count(tag: str) -> str:
        return str(sum(1 for case in cases if case.find(tag) is not None))

    suite = Element(
        "testsuite",
        name=_name(name),
        tests=str(len(cases)),
        failures=count("failure"),
        errors=count("error"),
        skipped=count("skipped"),
    )
    suite.extend(cases)
    ElementTree.indent(suite)
    return f"{ElementTree.tostring(suite, encoding='unicode')}\n".encode()


def _case(run: RunStream, trace: TraceView, cell: CellView) -> Element:
    undecided = cell.state == "uncertain"
    case = _testcase(trace.name, f"{cell.row.id} [{cell.standing}]" if undecided else cell.row.id)
    if cell.state == "fail":
        _tell(case, "failure", "fail", _message(run, trace, cell), _body(run, trace, cell))
    elif undecided:
        message = f"{cell.standing}: {_message(run, trace, cell)}"
        _tell(case, "error", cell.standing, message, _body(run, trace, cell))
    elif cell.state == "na":
        _tell(case, "skipped", None, f"not applicable: {told(cell)}")
    return case


def _message(run: RunStream, trace: TraceView, cell: CellView) -> str:
    vouched = summary.waived(run.scorecard, cell.row.id, trace.id)
    vouched = vouched or summary.waived(run.scorecard, cell.row.id)
    return f"{told(cell)} ({vouched})" if vouched else told(cell)


def _body(run: RunStream, trace: TraceView, cell: CellView) -> str:
    row = cell.row.row
    parts = [
        cell.critique,
        cell.detail if cell.detail != cell.critique else "",
        f"{cell.cause or 'no cause recorded'}: {cell.action}" if cell.action else "",
        evidence(cell),
        f"{row.severity}, {'gating' if row.gating else 'not gating'}",
        f"in {run.folder}{trace.file}" if trace.file else "",
    ]
    return "\n".join(part for part in parts if part)


def _gate(run: RunStream) -> Element:
    card = run.scorecard
    reason = summary.gate_reason(card, run.meta.baseline)
    listed = [*card.gate.failing, *card.gate.gaps]
    body = "\n".join([*listed, *([run.meta.rerun] if run.meta.rerun else [])])
    if card.run_verdict == "fail":
        return _tell(_testcase(RUN, "gate"), "failure", "fail", reason, body)
    if card.run_verdict == "incomplete":
        case = _testcase(RUN, "gate [incomplete]")
        return _tell(case, "error", "incomplete", f"incomplete: {reason}", body)
    return _testcase(RUN, "gate")


def _unread(run: RunStream) -> Iterator[Element]:
    for failure in run.scorecard.load.failures:
        at = located(failure.file, failure.line)
        yield _tell(_testcase(RUN, f"{at} [unreadable]"), "error", "unreadable", failure.reason)


def _lost(traces: list[str]) -> Iterator[Element]:
    for trace in traces:
        case = _testcase(RUN, f"{trace} [incomplete]")
        yield _tell(case, "error", "incomplete", "incomplete: no verdict was given of this trace")


def _left_out(run: RunStream) -> Iterator[Element]:
    for criterion in run.scorecard.skipped_criteria:
        yield _tell(_testcase(RUN, criterion), "skipped", None, "left out of this run")


def _testcase(classname: str, name: str) -> Element:
    return Element("testcase", classname=_name(classname), name=_name(name))


def _tell(case: Element, tag: str, kind: str | None, message: str, body: str = "") -> Element:
    attributes = {"message": _name(message)} | ({"type": kind} if kind else {})
    ElementTree.SubElement(case, tag, attributes).text = _xml(bounded(body, LONGEST_TEXT)) or None
    return case


def _name(value: str) -> str:
    return _xml(one_line(value, 500))


def _xml(value: str) -> str:
    """Return text without the characters that XML 1.0 has no way to hold."""
    return _NOT_XML.sub("", value)
