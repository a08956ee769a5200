"""Measuring one repeat: an ordinary evaluation of fresh traces, read back as answers per case."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from helix.evaluate import Finished
from helix.evaluate import run as evaluate
from helix.improve.spread import Answer
from helix.model.config import Config
from helix.model.lines import portable
from helix.model.manifest import ManifestEntry
from helix.model.verdict import (
    MACHINERY_CAUSES,
    MatrixVerdictFile,
    NotApplicable,
    Verdict,
    by_code_alone,
)
from helix.registry import Registry
from helix.runs import RunFiles
from helix.work import OnEvent

Watch = Callable[[], AbstractContextManager[OnEvent | None]]
"""What looks on while one evaluation is carried out."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The answers of one repeat; `lost` says of a case why it has none or not all.

    `rows` are the criteria that were asked of its traces, whoever answered.
    """

    answers: tuple[Answer, ...]
    lost: Mapping[str, str]
    rows: frozenset[str] = frozenset()


def configured(
    config: Config, files: Mapping[str, Path], repeat: int, version: str | None
) -> Config:
    """Return the configuration of a repeat's evaluation.

    Each repeat draws the judge's replies under indices of its own, so that two runs which
    recorded the same trace are two draws and not one (METHOD 73).
    """
    folders = sorted({os.fspath(file.parent) for file in files.values()})
    subject = {"traces": folders[0] if len(folders) == 1 else tuple(folders)}
    if version is not None:
        subject["version"] = version
    sampling = config.sampling
    offset = sampling.replicate_offset + (repeat - 1) * sampling.replicates
    return config.model_copy(
        update={
            "subject": config.subject.model_copy(update=subject),
            "sampling": sampling.model_copy(update={"replicate_offset": offset}),
        }
    )


def again(config: Config, traces: Sequence[str], repeats: int) -> Config:
    """Return the configuration that judges some traces of a repeat more often.

    The first replicates are those that were drawn already, and are read back.
    """
    return config.model_copy(
        update={
            "select": config.select.model_copy(update={"traces": tuple(traces)}),
            "sampling": config.sampling.model_copy(
                update={"replicates": max(repeats, config.sampling.replicates)}
            ),
        }
    )


def evaluated(
    config: Config, folder: Path, registry_of: Callable[[], Registry], watch: Watch
) -> Finished:
    """Evaluate into a run directory of its own."""
    with watch() as on_event:
        return evaluate(config, run_dir=folder, registry=registry_of(), on_event=on_event)


def measured(folder: Path, repeat: int, files: Mapping[str, Path]) -> Measured:
    """Read a finished evaluation; what nobody adjudicated is no answer, and no failure either."""
    run = RunFiles(folder)
    known, lost = _traces(run, files)
    answers: list[Answer] = []
    rows: set[str] = set()
    for line in run.lines():
        if line.trajectory_id not in known:
            continue
        case, entry = known[line.trajectory_id]
        rows.update(line.dense_map)
        given = list(_answers(line, case, entry, repeat))
        if len(given) < len(line.dense_map):
            lost.setdefault(case, _undone(line))
        answers += given
    judged = {answer.case for answer in answers}
    for case, _ in known.values():
        if case not in judged:
            lost.setdefault(case, "nobody adjudicated it")
    return Measured(tuple(answers), lost, frozenset(rows))


def _traces(
    run: RunFiles, files: Mapping[str, Path]
) -> tuple[dict[str, tuple[str, ManifestEntry]], dict[str, str]]:
    """Return the case of each trace by its id, and of the other cases why they have none."""
    entries: dict[str, list[ManifestEntry]] = {}
    for entry in run.manifest():
        entries.setdefault(os.path.realpath(entry.file), []).append(entry)
    failures = run.scorecard().load.failures
    unread = {os.path.realpath(f.file): portable(f.reason) for f in failures}
    known: dict[str, tuple[str, ManifestEntry]] = {}
    lost: dict[str, str] = {}
    for case, file in files.items():
        path = os.path.realpath(file)
        inside = entries.get(path, [])
        # A file that somebody recorded may hold several; they are told by task or id.
        found = [e for e in inside if case in (e.task, e.id)] or inside
        if path in unread:
            lost[case] = f"its trace cannot be read: {unread[path]}"
        elif len(found) != 1:
            lost[case] = f"its file must hold one trace of it (got {len(found)})"
        else:
            known[found[0].id] = case, found[0]
    return known, lost


def _answers(
    line: MatrixVerdictFile, case: str, entry: ManifestEntry, repeat: int
) -> Iterator[Answer]:
    cells: dict[str, Verdict | NotApplicable] = {v.criterion_id: v for v in line.verdicts}
    cells.update((excused.criterion_id, excused) for excused in line.not_applicable)
    for criterion, state in line.dense_map.items():
        cell = cells.get(criterion)
        if criterion in line.not_adjudicated or (cell is None and state == "uncertain"):
            continue
        if isinstance(cell, Verdict) and cell.cause in MACHINERY_CAUSES:
            continue
        blamed = line.localize if state == "fail" else None
        yield Answer(
            case=case,
            criterion=criterion,
            run=repeat,
            digest=entry.digest,
            index=line.replicate,
            state=state,
            by_code=cell is None or by_code_alone(cell),
            critique=cell.critique if cell else "",
            refs=cell.refs if cell else (),
            trace=line.trajectory_id,
            file=entry.file,
            locus=None if blamed is None else blamed.locus,
            root=None if blamed is None else blamed.root,
        )


def _undone(line: MatrixVerdictFile) -> str:
    causes = {v.cause for v in line.verdicts if v.cause in MACHINERY_CAUSES}
    told = sorted(str(cause) for cause in {*causes, *line.not_adjudicated.values()} if cause)
    return f"not all of its rows were adjudicated: {', '.join(told) or 'no reason was recorded'}"
