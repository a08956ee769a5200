"""`helix labels serve`: one rater's desk, its page, and the address that opens it."""

from __future__ import annotations

import argparse
import json
import webbrowser
from collections.abc import Sequence
from datetime import UTC, datetime

from helix.app import console, failures
from helix.app.traces_of import traces
from helix.app.tried import suite_file
from helix.errors import ExitCode, SelectionError, UsageError, unknown
from helix.labels.desk import Desk, Judged, tasks
from helix.labels.record import Cell
from helix.labels.store import Store
from helix.model.criterion import Criterion
from helix.model.trace import Trace
from helix.reports.visible import visible
from helix.reports.words import counted
from helix.runs import RunFiles
from helix.suite import load


def serve(args: argparse.Namespace) -> ExitCode:
    """Serve the page until it is interrupted, then say what the file holds."""
    try:
        from helix.labels import loopback, server
    except ModuleNotFoundError as error:
        raise failures.lacking(error, "helix labels serve") from None
    rater = args.rater.strip()
    if not rater:
        raise UsageError("--rater must be the name of who labels (got nothing)")
    from helix.reports import labelling

    desk = _desk(args, rater)
    try:
        listening = loopback.bound(args.port)
        port = listening.getsockname()[1]
        token = loopback.new_token()
        app = server.build(desk, labelling.render, labelling.assets(), token, port)
        address = f"http://{loopback.HOST}:{port}/?token={token}"
        with loopback.until_told():
            _greet(desk, args.labels)
            console.say(json.dumps({"url": address}) if args.json else address)
            if args.open:
                webbrowser.open(address)
            loopback.serve(app, listening)
    finally:
        desk.store.close()
    console.tell(f"{desk.labelled} of {counted(len(desk.tasks), 'cell')} labelled in {args.labels}")
    return ExitCode.PASS


def _desk(args: argparse.Namespace, rater: str) -> Desk:
    criteria = _rows(load(suite_file(args.suite)).criteria, args.criterion)
    cells = tasks(_unique(args), criteria)
    if not cells:
        raise SelectionError("there is no cell to label: no trace can be read, or no row is for it")
    store = Store(args.labels, rater)
    try:
        judged = {} if args.run is None else _judged(args.run)
    except BaseException:
        store.close()
        raise
    return Desk(cells, store, rater, _now, judged, blind=not args.no_blind)


def _rows(criteria: Sequence[Criterion], wanted: Sequence[str]) -> list[Criterion]:
    """Return the rows to label: the wanted ones, else those that a judge decides, else all."""
    active = {row.criterion_id: row for row in criteria if row.status == "active"}
    for name in wanted:
        if name not in active:
            raise SelectionError(unknown("criterion", name, active))
    if wanted:
        return [row for name, row in active.items() if name in wanted]
    judged = [row for row in active.values() if _is_judged(row)]
    return judged or list(active.values())


def _is_judged(row: Criterion) -> bool:
    """Whether a judge has a say in a row; one that names no class follows from its check."""
    return row.klass in ("judge", "hybrid") or (row.klass is None and row.code_eval is None)


def _unique(args: argparse.Namespace) -> list[Trace]:
    found: dict[str, Trace] = {}
    for trace in traces(args.traces, args.format):
        if found.setdefault(trace.id, trace) is not trace:
            raise UsageError(
                visible(
                    f"two traces have the id '{trace.id}': {found[trace.id].source.file} and "
                    f"{trace.source.file}; a label must be about one"
                )
            )
    return list(found.values())


def _judged(folder: str) -> dict[Cell, Judged]:
    """Return what a run said of each cell, with the words of its verdict."""
    found: dict[Cell, Judged] = {}
    for line in RunFiles.open(folder, "--run").lines():
        words = {verdict.criterion_id: verdict.critique for verdict in line.verdicts}
        words |= {entry.criterion_id: entry.critique for entry in line.not_applicable}
        for criterion, state in line.dense_map.items():
            cell = Cell(line.trajectory_id, criterion)
            found.setdefault(cell, Judged(state, words.get(criterion)))
    return found


def _greet(desk: Desk, file: str) -> None:
    if desk.store.healed:
        console.tell(f"{file}: the last line was cut off before it was saved, and is gone")
    console.tell(
        visible(
            f"{desk.labelled} of {counted(len(desk.tasks), 'cell')} labelled by {desk.rater} in "
            f"{file}. Ctrl-C ends it."
        )
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
