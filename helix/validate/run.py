"""`validate`: evaluate, or take a run that there is, and hold it against labels. Read this first.

    labels ─► split ─► ledger ─► evaluate ─► join ─► measure ─► validation.json, standings

Everything that can be refused is refused before anything is spent.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from helix.evaluate import Finished
from helix.evaluate import run as evaluate
from helix.files import atomic_write
from helix.labels import Cell as CellId
from helix.model.config import Config
from helix.model.lines import encode_line, encode_page
from helix.model.scorecard import Status
from helix.model.validation import (
    VALIDATION_SCHEMA_VERSION,
    Comparison,
    CriterionValidation,
    Disagreement,
    Drift,
    Measured,
    Trust,
    Validation,
)
from helix.runs import RunFiles
from helix.trust import keep
from helix.validate import ledger
from helix.validate.cells import Cell, by_criterion, cells_of, disagreements
from helix.validate.compare import compare
from helix.validate.measure import FEWEST, measure, status_of
from helix.validate.task import RUN, Task, counts_once, judged_anew, prepared
from helix.work import OnEvent


@dataclass(frozen=True, slots=True)
class Validated:
    """What a measurement came to; `validation` is None while answers are waited for.

    `finished` is the run that was made for it, None where there was one.
    """

    validation: Validation | None
    disagreements: tuple[Disagreement, ...] = ()
    finished: Finished | None = None


def validate(
    config: Config,
    *,
    run_dir: str | Path,
    now: datetime.datetime,
    on_event: OnEvent | None = None,
    command: str | None = None,
    then: Callable[[Finished], None] | None = None,
) -> Validated:
    """Measure a judge against labels and write what came of it into `run_dir`.

    `then` is called with the run that is made for it, once it is measured and while its folder is
    still held. Raises UsageError before anything is spent: wrong labels, or a test split that was
    used.
    """
    task, folder = prepared(config, now), Path(run_dir)
    if config.validation.run is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return _measured(config, RunFiles.open(config.validation.run, RUN), task, folder, now)
    if config.validation.anchors:
        config = judged_anew(config, task)
    found: list[Validated] = []

    def measured(done: Finished) -> None:
        waits = Validated(None, finished=done)
        run = RunFiles(folder)
        found.append(waits if done.pending else _measured(config, run, task, folder, now, done))
        if then is not None:
            then(done)

    evaluate(config, run_dir=folder, on_event=on_event, command=command, then=measured)
    return found[0]


def _measured(
    config: Config,
    run: RunFiles,
    task: Task,
    folder: Path,
    now: datetime.datetime,
    finished: Finished | None = None,
) -> Validated:
    wanted, at = config.validation, now.isoformat(timespec="seconds")
    # What labels say of a judge says nothing of rows that none of them is about.
    about = task.labelled.criteria
    cells = [cell for cell in cells_of(run, task.labelled.words) if cell.criterion in about]
    ledger.record(config.paths.state, task.uses)
    labelled = [cell for cell in cells if cell.human is not None]
    rows = tuple(_rows(config, task, cells, labelled))
    overall = measure(cells, labelled, width=wanted.width, seed=wanted.seed)
    found = Validation(
        schema_version=VALIDATION_SCHEMA_VERSION,
        run=Path(os.path.relpath(run.folder, folder)).as_posix(),
        suite=task.suite,
        subject=run.scorecard().subject,
        split="all" if wanted.anchors else wanted.split,
        seed=wanted.seed,
        forced=task.second,
        labels=task.labelled.counts,
        overall=overall,
        criteria=rows,
        comparison=_compared(config, task, labelled),
        drift=_drift(config, task, labelled, at),
        warnings=tuple(_warnings(config, task, labelled, overall, rows)),
    )
    apart = tuple(disagreements(run, labelled, task.labelled.labels, folder))
    lines = b"".join(encode_line(line) + b"\n" for line in apart)
    atomic_write(folder / "disagreements.jsonl", lines)
    atomic_write(folder / "validation.json", encode_page(found))
    if counts_once(wanted):
        _keep(config, task, found, at)
    return Validated(found, apart, finished)


def _rows(
    config: Config, task: Task, cells: Sequence[Cell], labelled: Sequence[Cell]
) -> Iterator[CriterionValidation]:
    wanted, of_run, of_labels = config.validation, by_criterion(cells), by_criterion(labelled)
    for criterion in sorted(of_labels):
        measured = measure(
            of_run[criterion], of_labels[criterion], width=wanted.width, seed=wanted.seed
        )
        status, reason = _standing(task.klass[criterion], measured, held_out=counts_once(wanted))
        yield CriterionValidation(
            criterion_id=criterion,
            klass=task.klass[criterion],
            status=status,
            reason=reason,
            measured=measured,
        )


def _standing(klass: str, measured: Measured, *, held_out: bool) -> tuple[Status | None, str]:
    if klass == "code":
        return None, "decided by code, so that no judge's standing is needed"
    if not held_out:
        return None, "these labels are not held out, so they give no standing"
    return status_of(measured)


def _compared(config: Config, task: Task, labelled: Sequence[Cell]) -> Comparison | None:
    if task.other is None:
        return None
    other = cells_of(task.other, {})
    states = {CellId(cell.trace, cell.criterion): cell.state for cell in other}
    return compare(labelled, states, Path(config.validation.against or "").name)


def _drift(config: Config, task: Task, labelled: Sequence[Cell], at: str) -> Drift | None:
    if not config.validation.anchors:
        return None
    anchors = task.anchors(config.paths.state)
    return anchors.add(labelled, at=at, replicate=config.sampling.replicate_offset)


def _keep(config: Config, task: Task, found: Validation, at: str) -> None:
    """Write the standings of the judged rows."""
    for row in found.criteria:
        if row.criterion_id not in task.judged or row.status is None:
            continue
        trust = Trust(
            schema_version=VALIDATION_SCHEMA_VERSION,
            suite=task.suite,
            criterion_id=row.criterion_id,
            pipeline=task.pipelines[row.criterion_id],
            status=row.status,
            reason=row.reason,
            at=at,
            split=found.split,
            seed=found.seed,
            forced=task.again(row.criterion_id),
            tpr=row.measured.tpr,
            tnr=row.measured.tnr,
            coverage=row.measured.coverage,
        )
        keep(config.paths.state, trust)


def _warnings(
    config: Config,
    task: Task,
    labelled: Sequence[Cell],
    overall: Measured,
    rows: Sequence[CriterionValidation],
) -> Iterator[str]:
    counts, n = task.labelled.counts, overall.tpr.n + overall.tnr.n
    if n < FEWEST:
        yield f"{n} labels compared: below {FEWEST} the intervals are wide and nothing is validated"
    if counts.disputed:
        yield (
            f"{counts.disputed} cells have no label that stands, because raters disagree: settle "
            "them and add validation.adjudicated=FILE"
        )
    shifted = [row.criterion_id for row in rows if row.measured.corrected.shifted]
    if overall.corrected.shifted and not shifted:
        shifted = ["all criteria together"]
    if shifted:
        yield (
            f"the labelled traces differ from the run on {', '.join(shifted)}: the two corrections "
            "disagree, and neither can be relied on"
        )
    clusters, traces = {c.cluster for c in labelled}, {c.trace for c in labelled}
    if len(clusters) < len(traces):
        yield (
            f"{len(traces)} traces are runs of {len(clusters)} "
            f"task{'' if len(clusters) == 1 else 's'}: intervals count what that leaves, and are "
            "wider"
        )
    if task.second:
        yield "these test labels were used before; that is recorded"
    if config.validation.split == "train":
        yield "train labels may stand in the prompt, and say nothing of other traces"
