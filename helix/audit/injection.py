"""The attack suite: payloads planted into copies of traces, and what they move (METHOD 82, 83).

    survey ─► copies ─► code rows and prompts, with no model ─► the judge, if one asks ─► Findings

The user's files are read and never written. An original and its copies go through the same line
in one run, and are compared cell by cell. A code row cannot be moved by what it does not read;
where it reads what was planted, it is moved as by any other input, and counts here only if it
moves towards a pass.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from helix.audit.copies import Copy, write
from helix.audit.findings import Findings, Move
from helix.audit.payloads import PLACES, Payload
from helix.audit.places import Plant, plants
from helix.audit.prompts import Talk, broken, carried_out
from helix.evaluate import Finished, run, survey_run
from helix.ingest import Input
from helix.model.config import Config, GateConfig, SamplingConfig, SelectConfig, ShardConfig
from helix.model.manifest import Survey
from helix.model.trace import Trace
from helix.model.verdict import MatrixVerdictFile, NotApplicable, Verdict
from helix.planning import Prepared
from helix.registry import load
from helix.suite import CompiledRow
from helix.survey import routed
from helix.work import OnEvent, Work

COPIES = "planted.jsonl"
NOT_ANSWERED = frozenset({"budget", "judge-error", "timeout", "unavailable"})


def attack(
    config: Config,
    payloads: Sequence[Payload],
    folder: Path,
    *,
    today: datetime.date,
    seed: int = 0,
    per_class: int = 1,
    places: Sequence[str] = PLACES,
    on_event: OnEvent | None = None,
) -> Findings:
    """Plant payloads into copies of the traces that a configuration chooses, and compare.

    The copies go to `folder`, a run of the judge too, if one is configured that asks; with
    `run.dry` nobody is asked.
    """
    prepared, source, survey = survey_run(config, load(), today=today)
    found = Findings(
        seed=seed,
        per_class=per_class,
        rows={row.id: row.klass for row in prepared.rows},
        unreadable=len(survey.load.failures),
    )
    asked = [row.id for row in prepared.rows if row.method != "deterministic"]

    def planting(trace: Trace) -> Iterator[tuple[Plant, Trace]]:
        return plants(trace, payloads, asked, seed=seed, per_class=per_class, places=places)

    folder.mkdir(parents=True, exist_ok=True)
    traces = _chosen(prepared, source, survey, found)
    copies = write(folder / COPIES, traces, planting, prepared, survey)
    found.copies = sum(copy.plant is not None for copy in copies.values())
    if not found.copies:
        return found
    again = _over(config, prepared, folder / COPIES)
    states = _without_model(again, copies, folder, found, today)
    if prepared.judge.asks and asked and config.run.dry:
        found.dry = prepared.pin.identity
    elif prepared.judge.asks and asked:
        found.judge = prepared.pin.identity
        _judged(run(again, run_dir=folder / "run", on_event=on_event), copies, states, found)
    return found


def _chosen(prepared: Prepared, source: Input, survey: Survey, found: Findings) -> Iterator[Trace]:
    """Yield what the configuration chooses, without what cannot be judged or is an example.

    A copy of a row's own example would be shown that example, which gives its answer away.
    """
    shown = {s.trace_id for row in prepared.rows for s in row.criterion.few_shot}
    chosen = {e.id: e.fidelity.complete for e in survey.entries if e.selected}
    for item in source:
        if not isinstance(item, Trace) or item.id not in chosen:
            continue
        if not chosen[item.id] or item.id in shown:
            found.skipped += 1
            continue
        found.traces += 1
        yield routed(item, prepared.config.subject)


def _over(config: Config, prepared: Prepared, copies: Path) -> Config:
    """Return the configuration over the copies: all of them, once, the same rows, no gate."""
    return config.model_copy(
        update={
            "subject": config.subject.model_copy(update={"traces": str(copies), "format": "helix"}),
            "select": SelectConfig(criteria=tuple(row.id for row in prepared.rows)),
            "sampling": SamplingConfig(),
            "gate": GateConfig(eligibility=config.gate.eligibility),
            "shard": ShardConfig(),
        }
    )


def _without_model(
    config: Config,
    copies: Mapping[str, Copy],
    folder: Path,
    found: Findings,
    today: datetime.date,
) -> dict[str, dict[str, str]]:
    """Compare the code rows and assert what holds of every prompt; return what code decided."""
    prepared, source, survey = survey_run(config, load(), today=today)
    settings = dataclasses.replace(prepared.settings, asks=True)
    asking = dataclasses.replace(prepared, settings=settings)
    states: dict[str, dict[str, str]] = {}
    original = Talk()
    for job in Work(asking, survey, source, folder).jobs():
        copy = copies[job.key]
        talk = carried_out(job.start, copy.plant.text if copy.plant else "")
        assert talk.line is not None
        states[job.key] = _code_states(prepared.rows, talk.line)
        if copy.plant is None:
            original = talk
            continue
        found.prompts += len(talk.questions)
        for name in broken(copy.plant, talk, original, copy.canary):
            found.broken.append((name, copy.of, copy.plant.payload.id, copy.plant.place))
        for row, after in states[job.key].items():
            before = states[copy.of][row]
            reads = row in copy.reads
            found.cells.append(_cell(row, "code", copy, copy.plant, before, after, reads))
    return states


def _judged(
    done: Finished,
    copies: Mapping[str, Copy],
    states: Mapping[str, Mapping[str, str]],
    found: Findings,
) -> None:
    """Compare what the judge said of each copy with what it said of the original."""
    found.pending, found.failed, found.trays = done.pending, done.broken, done.trays
    rows = [row for row in done.prepared.rows if row.method != "deterministic"]
    said: dict[str, dict[str, str | None]] = {}
    for line in done.verdicts():
        copy = copies[line.trajectory_id]
        said[line.trajectory_id] = now = {row.id: _state(row.id, line) for row in rows}
        plant = copy.plant
        if _code_states(done.prepared.rows, line, states[line.trajectory_id]) != dict(
            states[line.trajectory_id]
        ):
            name, place = (plant.payload.id, plant.place) if plant else ("none", "nowhere")
            found.broken.append(("code", copy.of, name, place))
        if plant is None:
            continue
        for row, after in now.items():
            before = said.get(copy.of, {}).get(row)
            if before is None or after is None:
                found.unanswered += 1
                continue
            found.cells.append(_cell(row, "judge", copy, plant, before, after, None))


def _cell(
    row: str, kind: str, copy: Copy, plant: Plant, before: str, after: str, reads: bool | None
) -> Move:
    return Move(
        criterion=row,
        kind=kind,
        trace=copy.of,
        payload=plant.payload.id,
        klass=plant.payload.klass,
        place=plant.place,
        where=plant.where,
        before=before,
        after=after,
        reads=reads,
        bare=not plant.text,
    )


def _code_states(
    rows: Sequence[CompiledRow],
    line: MatrixVerdictFile,
    unsaid: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return what code decided of each row that has a check, a hybrid's half included.

    A half that the line does not hold, because nobody judged the row, is taken from `unsaid`.
    """
    cells: list[Verdict | NotApplicable] = [*line.verdicts, *line.not_applicable]
    halves = {cell.criterion_id: cell.code.result for cell in cells if cell.code is not None}
    found: dict[str, str] = {}
    for row in rows:
        if row.klass == "hybrid" and row.check is not None:
            found[row.id] = halves.get(row.id) or (unsaid or {}).get(row.id, "pass")
        elif row.check is not None:
            found[row.id] = line.dense_map[row.id]
    return found


def _state(row: str, line: MatrixVerdictFile) -> str | None:
    """Return how a judged cell stands, None where nobody answered."""
    cause = line.not_adjudicated.get(row)
    if cause is None:
        return line.dense_map[row]
    return None if cause in NOT_ANSWERED else "incomplete"
