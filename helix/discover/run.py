"""helix discover: traces to determinations, kinds of failure, and criteria that discriminate.

    look ─► choose ─► code detects ─► a determiner reads ─► categories ─► criteria ─► living suite

Nothing here judges by a criterion. Without a determiner the first half is all there is, and the
record says so (METHOD 49–58).
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from helix import registry as registries
from helix.discover.artifacts import write_run
from helix.discover.asking import Determiner
from helix.discover.calls import failed
from helix.discover.categories import categories, kinds_of
from helix.discover.discovered import Discovered
from helix.discover.findings import cut_off, determined, merged, mined, roots
from helix.discover.fixtures import chosen, held_out
from helix.discover.norms import Examined
from helix.discover.proposing import Labelled, known_as, proposals
from helix.discover.saturation import curve
from helix.engine.drive import OnEvent
from helix.errors import ConfigError, ExitCode
from helix.files import held
from helix.ingest import Input
from helix.ingest.sampling import turn
from helix.model.config import Config
from helix.model.manifest import LoadFailure, Manifest, Survey
from helix.model.preference import Preference
from helix.model.sound import faults
from helix.model.trace import Trace
from helix.registry import CheckContext, Registry
from helix.runs import RunFiles
from helix.suite import living
from helix.suite.compile import SeverityRule
from helix.suite.mined import completed
from helix.survey import changed, choose, opened, routed


@dataclass(slots=True)
class _Read:
    """The traces that were chosen: whole ones, and why the others were set aside."""

    whole: list[Trace] = field(default_factory=list)
    cut: list[tuple[Trace, str]] = field(default_factory=list)


def discover(
    config: Config,
    *,
    run_dir: str | Path,
    now: datetime.datetime,
    registry: Registry | None = None,
    preferences: Sequence[Preference] = (),
    on_event: OnEvent | None = None,
    command: str | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> Discovered:
    """Discover what fails in the subject's traces, and write the run directory.

    The chosen traces are held in memory; `sampling.n` bounds them. Raises UsageError before
    anything is spent. `notify` hears what is skipped.
    """
    if wrong := list(faults(config)):
        raise ConfigError("; ".join(wrong))
    registry = registry or registries.load()
    folder = Path(run_dir)
    source, survey = _survey(config, registry)
    told = tuple(preferences) if config.discover.preferences else ()
    if config.discover.living:
        # What stands there and cannot be read is told before anybody is asked.
        living.read(config.paths.state)
    determiner = Determiner.of(config, registry, folder, told, config.subject.tools)
    if determiner is not None:
        _profiled(config)
    with held(folder):
        read = _chosen(source, survey, config)
        if not read.whole:
            notify("the batch is empty: no whole trace was chosen, and nothing was examined")
        found = _found(config, survey, read, registry, folder, determiner, on_event)
        found.preferences = told
        if config.discover.living and found.rows and found.exit_code == ExitCode.PASS:
            _grow(found)
        write_run(found, registry, now, command)
    return found


def planned(config: Config, registry: Registry | None = None) -> str:
    """Return what a discovery would look at and ask, as lines for a person; nothing is spent."""
    registry = registry or registries.load()
    _, survey = _survey(config, registry)
    chosen = [entry for entry in survey.entries if entry.selected]
    whole = sum(entry.fidelity.complete for entry in chosen)
    unread = len(survey.load.failures)
    lines = [
        "Dry run: nothing was asked and nothing was spent.",
        f"traces     {len(chosen)} chosen of {len(survey.entries)} read, {unread} unreadable",
        f"examined   {whole}, by code; {len(chosen) - whole} cut off",
    ]
    if Determiner.of(config, registry, Path("."), (), ()) is None:
        return "\n".join([*lines, "cost       nothing: nobody is asked"]) + "\n"
    batch = min(config.discover.batch, whole)
    lines += [
        f"questions  at most {whole}, {batch} at a time; fewer where nothing new comes",
        "Re-prompts may add up to three questions to each; limits.max_calls bounds them.",
    ]
    return "\n".join(lines) + "\n"


def _found(
    config: Config,
    survey: Survey,
    read: _Read,
    registry: Registry,
    folder: Path,
    determiner: Determiner | None,
    on_event: OnEvent | None,
) -> Discovered:
    traces = {trace.id: trace for trace in read.whole}
    context = CheckContext(
        inventory=frozenset(config.subject.tools),
        seen=frozenset(survey.tools),
        roles=frozenset(survey.roles),
        complete_channels=config.subject.complete_channels,
    )
    examined = Examined(tuple(read.whole), context, config.subject.routes)
    trials = mined(examined, registry)
    kept = roots(trials)
    code = {trace.id: determined(trace, kept) for trace in read.whole}
    asked = None if determiner is None else determiner.ask(traces, code, on_event)
    said = {} if asked is None else asked.said
    whole = [merged(one, said.get(name)) for name, one in code.items()]
    settings, kinds = config.discover, kinds_of(whole)
    labelled = Labelled(traces, tuple(whole), config.validation.seed)
    same = known_as(categories(kinds).every, kept, labelled)
    emergent = categories(kinds, settings.max_categories, same)
    rule = SeverityRule(settings.severity_high, settings.severity_med)
    rows = proposals(emergent.every, kept, trials, labelled, rule)
    for row in rows:
        completed(row.criterion)
    fixtures = held_out(rows, chosen(rows, config.sampling.seed), examined, registry)
    drawn = sorted(whole, key=lambda one: turn(one.trace_id, config.sampling.seed))
    by_code = curve(([d.kind for d in one.detections] for one in drawn), settings.window)
    return Discovered(
        config=config,
        survey=survey,
        folder=folder,
        examined=examined,
        trials=trials,
        determinations=[*whole, *(cut_off(trace, reason) for trace, reason in read.cut)],
        emergent=emergent,
        rows=rows,
        fixtures=fixtures,
        curve=by_code if asked is None or asked.curve is None else asked.curve,
        asked=asked,
    )


def _survey(config: Config, registry: Registry) -> tuple[Input, Survey]:
    """Read every trace once and choose which are examined."""
    failures: dict[str, int] = {}
    source, survey = opened(config.subject, registry, lambda source: _watched(source, failures))
    entries = Manifest(
        msgspec.structs.replace(entry, failures=max(entry.failures, failures[entry.id]))
        for entry in survey.entries
    )
    survey = msgspec.structs.replace(survey, entries=entries)
    before = config.select.failed_from
    undone = RunFiles.open(before, "select.failed_from").undone() if before else None
    failed_there = None if undone is None else frozenset(trace for trace, _ in undone)
    sampler = registry.get("samplers", config.sampling.strategy)
    return source, choose(survey, config, sampler, failed_there)


def _watched(
    source: Iterable[Trace | LoadFailure], failures: dict[str, int]
) -> Iterator[Trace | LoadFailure]:
    """Pass everything on, and count in how many calls each trace says that it failed."""
    for item in source:
        if isinstance(item, Trace):
            failures[item.id] = len(failed(item))
        yield item


def _chosen(source: Input, survey: Survey, config: Config) -> _Read:
    entries = iter(survey.entries)
    read = _Read()
    for item in source:
        if not isinstance(item, Trace):
            continue
        entry = next(entries, None)
        if entry is None or entry.digest != item.source.digest:
            raise changed(item.source.file)
        if not entry.selected:
            continue
        trace = routed(item, config.subject)
        if entry.fidelity.complete:
            read.whole.append(trace)
        else:
            read.cut.append((trace, entry.fidelity.reason or "cut off"))
    return read


def _profiled(config: Config) -> None:
    """Refuse to ask about an agent that nothing is known of (METHOD 41)."""
    subject = config.subject
    if subject.purpose is None and subject.name == type(subject)().name:
        raise ConfigError(
            "subject.purpose must say what the agent is for before somebody is asked about it "
            "(got null): add subject.purpose='…' or subject=NAME"
        )


def _grow(found: Discovered) -> None:
    """Add the rows to the living suite, which only grows (METHOD 57)."""
    state = found.config.paths.state
    before = living.read(state)
    seen = Counter(row.criterion_id for row in before.suite.criteria)
    signed = living.Signed(
        why=f"helix discover, {len(found.examined.traces)} traces",
        subject_version=found.config.subject.version,
    )
    after = living.upsert(before, [row.criterion for row in found.rows], signed=signed)
    if after.history != before.history:
        living.write(state, after)
    found.living = living.suite_path(state)
    found.grown = tuple(
        row.criterion.criterion_id for row in found.rows if row.criterion.criterion_id not in seen
    )
