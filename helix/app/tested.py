"""A run as tests: it is evaluated, and each cell of it becomes a case."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from helix.app.cases import CELLS, Case, Outcome, Row, Tests, TraceCases
from helix.app.commands.evaluate import evaluated
from helix.app.job import invoked
from helix.app.launch import located
from helix.app.tried import suite_file
from helix.errors import UsageError
from helix.evaluate import Finished
from helix.files import atomic_write
from helix.gate.states import Known
from helix.model.config import Config
from helix.model.scorecard import Scorecard
from helix.model.verdict import CellState, Ref
from helix.reports import summary
from helix.reports.run import CellView, RunReport, TraceView, compose
from helix.reports.visible import one_line, visible
from helix.runs import RunFiles
from helix.suite import load

MOST_REFS = 5
QUOTE = 200


def evaluate(
    suite: str,
    traces: Sequence[str],
    settings: Sequence[str],
    folders: Sequence[str] = (),
    *,
    look_only: bool,
) -> tuple[Tests, Path | None]:
    """Evaluate once; return the tests, and the file that holds them for other processes.

    With `look_only` nobody is asked and nothing is left on disk: the tests are named only.
    """
    file = suite_file(suite)
    given = traces[0] if len(traces) == 1 else f"[{','.join(traces)}]"
    if given == "-":
        raise UsageError("--helix-traces takes a file, folder or glob (got -)")
    words = [f"criteria.file={file}", f"subject.traces={given}", "report.out=[html]", *settings]
    config, run_dir = located("evaluate", words, folders)
    words += [word for folder in folders for word in ("--config-dir", folder)]
    if config.run.dry:
        raise UsageError("--helix-set run.dry=true decides nothing; use helix evaluate")
    if config.shard.count > 1:
        raise UsageError("--helix-set shard.count must be 1: a share has no gate of its own")
    if look_only:
        with tempfile.TemporaryDirectory(prefix="helix-") as folder:
            return _tests(_unasked(config), Path(folder), words, file), None
    tests = _tests(config, run_dir, words, file)
    cells = run_dir / CELLS
    atomic_write(cells, msgspec.json.encode(tests))
    return tests, cells.absolute()


def _unasked(config: Config) -> Config:
    none = {"backend": "none"}
    return config.model_copy(
        update={
            "judge": config.judge.model_copy(update=none),
            "verifier": config.verifier.model_copy(update=none),
            "report": config.report.model_copy(update={"out": (), "to": {}}),
        }
    )


def _tests(config: Config, run_dir: Path, words: Sequence[str], file: str) -> Tests:
    found: list[Finished] = []
    typed = shlex.join([*invoked(), "evaluate", *words])
    evaluated(config, run_dir, typed, found.append)
    return tests_of(found[0], config.criteria.file or file)


def tests_of(done: Finished, suite: str) -> Tests:
    """Return what every chosen trace and criterion of a run is to pytest."""
    card, files = done.scorecard, RunFiles(done.run_dir)
    report = compose(card, done.verdicts(), suite=done.criteria, manifest=files.manifest())
    rows = tuple(_rows(done, suite))
    views = {(view.id, view.line.replicate): view for view in report.traces}
    waiting, known = _waiting(done), done.prepared.fold.known
    replicates = sorted({replicate for _, replicate in views} | set(_replicates(done)))
    chosen = [entry.id for entry in files.manifest() if entry.selected]
    traces = tuple(
        TraceCases(_text(trace), replicate, tuple(_cases(report, known, view, waiting.get(trace))))
        for trace in chosen
        for replicate in replicates
        for view in [views.get((trace, replicate))]
    )
    return Tests(_text(suite), rows, traces, _gate(card, traces, rows), tuple(_told(done)))


def _replicates(done: Finished) -> range:
    sampling = done.prepared.config.sampling
    return range(sampling.replicate_offset, sampling.replicate_offset + sampling.replicates)


def _rows(done: Finished, suite: str) -> Iterator[Row]:
    tags = {criterion.criterion_id: criterion.tags for criterion in done.criteria}
    lines = _lines(suite)
    for row in done.scorecard.criteria:
        name = row.criterion_id
        marks = tuple(map(_text, tags.get(name, ())))
        yield Row(_text(name), row.severity, row.klass, row.gating, marks, lines.get(name, 0))


def _lines(suite: str) -> dict[str, int]:
    """Return the line of each row in the suite's file."""
    return {row.criterion.criterion_id: row.line for row in load(suite).rows}


def _waiting(done: Finished) -> dict[str, str]:
    """Return of each trace that waits the file that is to be answered."""
    tasks = [(task.trace_id, Path(tray.folder, task.file)) for tray in done.trays
             for task in tray.waiting]  # fmt: skip
    return {trace: str(file) for trace, file in reversed(tasks)}


def _cases(
    report: RunReport, known: Known, view: TraceView | None, waits: str | None
) -> Iterator[Case]:
    for row in report.rows:
        cell = view.cell(row.index) if view is not None else None
        if view is None or cell is None:
            why = f"waits for an answer to {waits}" if waits else "the run left no verdict"
            yield Case(row.index, "incomplete", _text(why), _text(f"incomplete: {why}"))
        else:
            yield _case(report.scorecard, known, view, cell)


def _case(card: Scorecard, known: Known, view: TraceView, cell: CellView) -> Case:
    row = cell.row.row
    outcome: Outcome = "na" if cell.standing == "na" else "incomplete"
    if cell.standing in ("pass", "fail"):
        outcome = "pass" if cell.standing == "pass" else "fail"
    short = one_line(cell.critique, QUOTE) or "no critique was recorded"
    if outcome == "incomplete":
        why = cell.detail or cell.critique or cell.action or "no reason was recorded"
        short = one_line(f"{cell.cause or cell.standing}: {why}", QUOTE)
    excuse = _excuse(known, card, row.criterion_id, view.id, cell.state)
    if excuse is not None:
        outcome, short = "accepted", one_line(f"{excuse}: {short}", QUOTE)
    text = "\n".join(_lines_of(view, cell))
    return Case(cell.row.index, outcome, short, text)


def _excuse(known: Known, card: Scorecard, row: str, trace: str, state: CellState) -> str | None:
    """Return who vouches for a cell, or that the baseline knows it."""
    aside = known.aside(row, trace, state)
    if aside == "known":
        return "known from the baseline"
    if aside is None:
        return None
    return summary.waived(card, row, trace) or summary.waived(card, row) or "waived"


def _lines_of(view: TraceView, cell: CellView) -> Iterator[str]:
    row, stated = cell.row.row, cell.row.criterion
    at = f" ({one_line(view.file)})" if view.file else ""
    gating = "" if row.gating else ", not gating"
    yield f"{cell.standing}: {row.severity} {one_line(row.criterion_id)}{gating}"
    yield f"trace: {one_line(view.name)}{at}"
    if stated is not None and stated.statement:
        yield f"criterion: {one_line(stated.statement, 400)}"
    if cell.critique:
        yield visible(cell.critique)
    if cell.cause is not None:
        yield f"cause: {cell.cause}"
    if cell.detail and cell.detail != cell.critique:
        yield one_line(cell.detail, 400)
    for ref in cell.refs[:MOST_REFS]:
        yield f"  evidence: {_cited(ref)}"
    if len(cell.refs) > MOST_REFS:
        yield f"  and {len(cell.refs) - MOST_REFS} more"
    if cell.action is not None:
        yield f"next: {one_line(cell.action)}"


def _cited(ref: Ref) -> str:
    if ref.value is None and ref.scan is not None:
        return summary.scanned(ref.scan)
    quoted = f"“{one_line(ref.value, QUOTE)}” in " if ref.value is not None else ""
    dead = " (not found there)" if ref.match == "dead" else ""
    return f"{quoted}{one_line(ref.obs, 60)} {one_line(ref.path, 80)}{dead}"


def _gate(card: Scorecard, traces: Sequence[TraceCases], rows: Sequence[Row]) -> Case | None:
    """Return a test of the gate itself where no cell's test says that it does not pass."""
    shown = {c.outcome for t in traces for c in t.cases if rows[c.row].gating}
    if card.run_verdict == "pass" or (not card.load.failures and shown & {"fail", "incomplete"}):
        return None
    told = [*map(one_line, card.gate.gaps), *map(one_line, card.gate.failing)]
    told += [f"{one_line(f.file)}:{f.line}: {one_line(f.reason)}" for f in card.load.failures[:20]]
    outcome: Outcome = "fail" if card.run_verdict == "fail" else "incomplete"
    short = told[0] if told else f"the gate is {card.run_verdict}"
    return Case(-1, outcome, short, "\n".join([f"gate: {card.run_verdict}", *told]))


def _told(done: Finished) -> Iterator[str]:
    card = done.scorecard
    yield f"gate {card.run_verdict}: {one_line(summary.gate_reason(card, None))}"
    yield f"{summary.examined(card)}; {summary.judged(card)}; {summary.cost(card)}"
    page = done.run_dir / "report.html"
    yield f"run: {one_line(str(done.run_dir))}, its page is {page.name}"


def _text(text: str) -> str:
    """Return text that JSON can carry: lone surrogates are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
