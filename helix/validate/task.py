"""What is to be measured, known before anything is spent: rows, pipelines, labels of the split."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from helix import registry as registries
from helix.errors import ConfigError
from helix.evaluate import survey_run
from helix.model.config import Config, ValidationConfig
from helix.model.validation import Pipeline
from helix.runs import RunFiles
from helix.trust import pipeline_digest, pipelines
from helix.validate import ledger
from helix.validate.drift import Anchors
from helix.validate.labelled import LEDGERED, Evaluated, Labelled, read

RUN = "validation.run"


@dataclass(frozen=True, slots=True)
class Task:
    """A measurement that may begin; `second` says that its test labels were used before."""

    suite: str
    klass: Mapping[str, str]
    pipelines: Mapping[str, Pipeline]
    labelled: Labelled
    second: bool = False

    @property
    def judged(self) -> dict[str, str]:
        """The labelled rows in which a judge has a part, each with its pipeline's digest."""
        return {
            criterion: pipeline_digest(self.pipelines[criterion])
            for criterion in sorted(self.labelled.criteria)
            if self.klass[criterion] != "code"
        }

    def anchors(self, state: str) -> Anchors:
        """Return the readings so far of these labels by this pipeline."""
        return Anchors(state, self.labelled.counts.files, self.judged)


def prepared(config: Config, now: datetime.datetime) -> Task:
    """Check configuration, labels and ledger; UsageError says what keeps it from beginning."""
    wanted = config.validation
    _check(config)
    if wanted.run is not None:
        suite, klass, evaluated, decides = _of_run(RunFiles.open(wanted.run, RUN))
    else:
        suite, klass, evaluated, decides = _to_run(config, now.date())
    code = frozenset(criterion for criterion, of in klass.items() if of == "code")
    labelled = read(
        wanted.anchors or wanted.labels,
        wanted.adjudicated,
        evaluated,
        split="all" if wanted.anchors else wanted.split,
        seed=wanted.seed,
    )
    task = Task(suite, klass, pipelines(decides, code), labelled)
    if not counts_once(wanted):
        return task
    state = config.paths.state
    return replace(
        task, second=ledger.refuse_second_use(state, suite, task.judged, force=wanted.force)
    )


def counts_once(wanted: ValidationConfig) -> bool:
    """Whether the labels are held out, so that they give a standing and are used once."""
    return not wanted.anchors and wanted.split in LEDGERED


def judged_anew(config: Config, task: Task) -> Config:
    """Return the configuration that judges the anchors alone, by replies that are drawn anew."""
    readings = task.anchors(config.paths.state).readings
    judge = registries.load().get("judges", config.judge.backend)
    drawn = len(readings) * config.sampling.replicates if judge.cacheable else 0
    offset = config.sampling.replicate_offset + drawn
    cells = task.labelled.words
    chosen = {
        "traces": tuple(sorted({cell.trace for cell in cells})),
        "criteria": tuple(sorted({cell.criterion for cell in cells})),
    }
    return config.model_copy(
        update={
            "select": config.select.model_copy(update=chosen),
            "sampling": config.sampling.model_copy(update={"replicate_offset": offset}),
        }
    )


def _check(config: Config) -> None:
    wanted = config.validation
    if bool(wanted.labels) == bool(wanted.anchors):
        raise ConfigError(
            "validation.labels must name a label file (or validation.anchors, one of the two): "
            "add validation.labels=LABELS.jsonl"
        )
    if wanted.anchors and wanted.run is not None:
        raise ConfigError(
            "validation.anchors are judged anew, which validation.run rules out: leave one out"
        )
    if wanted.run is None and config.subject.traces == "-":
        raise ConfigError("subject.traces must name a file (got -): validate reads it twice")


Found = tuple[str, dict[str, str], Evaluated, dict[str, Any]]


def _to_run(config: Config, today: datetime.date) -> Found:
    ready, _, survey = survey_run(config, registries.load(), today=today)
    klass: dict[str, str] = {row.id: row.klass for row in ready.rows}
    decides = ready.plan.decides
    evaluated = Evaluated(
        found=frozenset(entry.id for entry in survey.entries),
        known=frozenset(row.id for row in ready.suite.rows),
        traces=frozenset(entry.id for entry in survey.entries if entry.selected),
        criteria=frozenset(klass),
        examples=_examples(decides),
    )
    return ready.suite.suite.suite, klass, evaluated, decides


def _of_run(run: RunFiles) -> Found:
    card, entries = run.scorecard(), list(run.manifest())
    klass = {row.criterion_id: row.klass for row in card.criteria}
    decides = run.plan().decides
    evaluated = Evaluated(
        found=frozenset(entry.id for entry in entries),
        known=frozenset((*klass, *card.skipped_criteria)),
        traces=frozenset(entry.id for entry in entries if entry.selected),
        criteria=frozenset(klass),
        examples=_examples(decides),
    )
    return card.suite, klass, evaluated, decides


def _examples(decides: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    given: dict[str, list[str]] = decides.get("examples", {})
    return frozenset((trace, row) for row, traces in given.items() for trace in traces)
