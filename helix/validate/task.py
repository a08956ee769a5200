"""What is to be measured, known before anything is spent: rows, pipelines, labels of the split."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from helix import registry as registries
from helix.errors import ConfigError
from helix.evaluate import survey_run
from helix.model.config import Config, ValidationConfig
from helix.model.validation import VALIDATION_SCHEMA_VERSION, Pipeline, Use
from helix.runs import RunFiles
from helix.trust import pipeline_digest, pipelines
from helix.validate import ledger
from helix.validate.drift import Anchors
from helix.validate.labelled import LEDGERED, Evaluated, Labelled, read

RUN, AGAINST = "validation.run", "validation.against"


@dataclass(frozen=True, slots=True)
class Task:
    """A measurement that may begin: `other` is the run to compare with.

    `uses` are what the ledger is to hold of it: of its own pipelines, and of the other run's.
    """

    suite: str
    klass: Mapping[str, str]
    pipelines: Mapping[str, Pipeline]
    labelled: Labelled
    other: RunFiles | None = None
    uses: tuple[Use, ...] = ()

    @property
    def judged(self) -> dict[str, str]:
        """The labelled rows in which a judge has a part, each with its pipeline's digest."""
        return _judged(self.labelled, self.klass, self.pipelines)

    @property
    def second(self) -> bool:
        """Whether its test labels were used before."""
        return any(use.forced for use in self.uses)

    def again(self, criterion: str) -> bool:
        """Whether the test labels of a row were used before under the pipeline it is judged by."""
        mine = criterion, self.judged.get(criterion)
        return any(use.forced and (use.criterion_id, use.pipeline) == mine for use in self.uses)

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
    labelled = read(
        wanted.anchors or wanted.labels,
        wanted.adjudicated,
        evaluated,
        split="all" if wanted.anchors else wanted.split,
        seed=wanted.seed,
    )
    other = None if wanted.against is None else RunFiles.open(wanted.against, AGAINST)
    task = Task(suite, klass, _pipelines(klass, decides), labelled, other)
    return replace(task, uses=_uses(config, task, now.isoformat(timespec="seconds")))


def _uses(config: Config, task: Task, at: str) -> tuple[Use, ...]:
    """Return the uses of test labels that this is; LabelError for a second one, unless forced."""
    wanted = config.validation
    if not (wanted.anchors or counts_once(wanted)):
        return ()
    earlier = ledger.uses(config.paths.state)
    own = _uses_of(task, task.suite, task.judged, wanted, at)
    theirs: list[Use] = []
    if task.other is not None:
        suite, klass, _, decides = _of_run(task.other)
        judged = _judged(task.labelled, klass, _pipelines(klass, decides))
        theirs = [use for use in _uses_of(task, suite, judged, wanted, at) if use not in own]
    read: list[Use] = []
    if wanted.anchors:
        # They are read as often as one likes, unless a test used them.
        own, theirs = ([u for u in uses if ledger.shares(earlier, u)] for uses in (own, theirs))
    elif readings := task.anchors(config.paths.state).readings:
        read = [structs.replace(use, at=readings[0].at) for use in own]
    return (
        *ledger.marked([*read, *earlier], own, force=wanted.force),
        *ledger.marked(earlier, theirs, force=wanted.force, who=f"the judge of {AGAINST}"),
    )


def _uses_of(
    task: Task, suite: str, judged: Mapping[str, str], wanted: ValidationConfig, at: str
) -> list[Use]:
    return [
        Use(
            schema_version=VALIDATION_SCHEMA_VERSION,
            suite=suite,
            criterion_id=criterion,
            pipeline=pipeline,
            split="all" if wanted.anchors else wanted.split,
            labels=task.labelled.counts.files,
            at=at,
            forced=False,
        )
        for criterion, pipeline in judged.items()
    ]


def _judged(
    labelled: Labelled, klass: Mapping[str, str], known: Mapping[str, Pipeline]
) -> dict[str, str]:
    """Return the labelled rows that a run judges; one that it does not have is none of them."""
    return {
        criterion: pipeline_digest(known[criterion])
        for criterion in sorted(labelled.criteria)
        if klass.get(criterion, "code") != "code"
    }


def _pipelines(klass: Mapping[str, str], decides: dict[str, Any]) -> dict[str, Pipeline]:
    return pipelines(decides, frozenset(name for name, of in klass.items() if of == "code"))


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
