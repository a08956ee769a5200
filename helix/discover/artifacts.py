"""What a discovery leaves in its run directory (METHOD 52, 54, 58, 82, 85)."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from helix.discover import fixtures
from helix.discover.categories import was_read
from helix.discover.discovered import Discovered
from helix.files import atomic_write
from helix.model.discovery import Determination, DiscoveryRecord, MinedRow, Triage
from helix.model.lines import encode_line, encode_page
from helix.model.plan import Plan
from helix.model.sidelines import FailureLine
from helix.model.subject import SubjectRecord
from helix.model.verdict import Localize
from helix.registry import Registry
from helix.runmeta import awareness, described
from helix.subject import subject_of
from helix.suite.dumping import suite_page
from helix.survey import write_manifest

DETERMINATIONS, SUITE = "determinations.jsonl", "criteria.suite.yaml"


def write_run(
    found: Discovered, registry: Registry, now: datetime.datetime, command: str | None
) -> None:
    """Write every artifact; discovery.json last, which marks a finished run."""
    folder = found.folder
    (folder / "discovery.json").unlink(missing_ok=True)
    plan = _plan(found, registry)
    atomic_write(folder / "plan.json", encode_page(plan))
    write_manifest(folder, found.survey)
    atomic_write(folder / "subject.json", encode_page(profile(found)))
    _lines(folder / DETERMINATIONS, map(encode_line, found.determinations))
    _lines(folder / "failures.jsonl", map(encode_line, _failures(found.determinations)))
    atomic_write(folder / "categories.json", encode_page(_categories(found)))
    atomic_write(folder / "saturation.json", encode_page(found.curve))
    atomic_write(folder / SUITE, suite_page(found.suite))
    traces = {trace.id: trace for trace in found.examined.traces}
    fixtures.write(folder, found.fixtures, traces)
    atomic_write(
        folder / "runmeta.json", encode_page(_runmeta(found, plan, registry, now, command))
    )
    atomic_write(folder / "discovery.json", encode_page(record(found)))


def record(found: Discovered) -> DiscoveryRecord:
    """Return what the report of a discovery needs."""
    config, asked = found.config, found.asked
    judge = config.judge.backend
    routes = Counter(t.route for t in found.examined.traces if t.route is not None)
    return DiscoveryRecord(
        subject=config.subject.name,
        purpose=config.subject.purpose,
        tools=found.survey.tools,
        routes=dict(sorted(routes.items())),
        judge=None if asked is None else judge,
        model=None if asked is None else config.judge.model,
        preferences=tuple(p.name for p in found.preferences),
        sampling=config.sampling.model_dump(mode="json"),
        triage=triage(found),
        categories=found.emergent.shown,
        folded=found.emergent.folded,
        symptoms=found.emergent.symptoms,
        criteria=tuple(_rows(found)),
        window=found.curve.window,
        saturated_at=found.curve.saturated_at,
        stopped=found.curve.stopped,
        usage=None if asked is None or asked.usage is None else msgspec.to_builtins(asked.usage),
        detectors=dict(sorted(Counter(trial.norm.detector for trial in found.trials).items())),
    )


def profile(found: Discovered) -> SubjectRecord:
    """Return what is known of the subject over all traces that were found."""
    subject = found.config.subject
    return subject_of(subject, subject.tools, found.survey)


def triage(found: Discovered) -> Triage:
    """Return how many traces there were, and how they were determined."""
    cut = [one for one in found.determinations if one.cause == "truncated"]
    verdicts = Counter(one.verdict for one in found.determinations if one not in cut)
    return Triage(
        found=len(found.survey.entries),
        unreadable=len(found.survey.load.failures),
        sampled=len(found.determinations),
        cut_off=len(cut),
        examined=len(found.examined.traces),
        read=sum(map(was_read, found.determinations)),
        pending=0 if found.asked is None else len(found.asked.pending),
        fail=verdicts["fail"],
        passed=verdicts["pass"],
        uncertain=verdicts["uncertain"],
    )


def _rows(found: Discovered) -> Iterator[MinedRow]:
    marked = {fixture.criterion_id: fixture.held_out for fixture in found.fixtures}
    for row in found.rows:
        criterion = row.criterion
        discovery = criterion.discovery
        if discovery is None or discovery.prevalence is None:
            raise ValueError(f"{criterion.criterion_id} is not whole")
        yield MinedRow(
            criterion_id=criterion.criterion_id,
            category=row.category,
            statement=criterion.statement,
            klass=criterion.klass or "judge",
            severity=criterion.severity or "LOW",
            grounding=discovery.grounding,
            k=discovery.prevalence.k,
            n=discovery.prevalence.n,
            detector=row.detector,
            fires=row.fires,
            passes=row.passes,
            held_out=marked.get(criterion.criterion_id, False),
        )


def _categories(found: Discovered) -> dict[str, Any]:
    return {
        "schemaVersion": "1.0",
        "examined": len(found.examined.traces),
        "categories": found.emergent.shown,
        "folded": found.emergent.folded,
        "symptoms": found.emergent.symptoms,
    }


def _failures(determinations: Iterable[Determination]) -> Iterator[FailureLine]:
    """Yield what diagnostics should look at: cut recordings, fixables, outages (METHOD 52, 82)."""
    for one in determinations:
        if one.cause == "truncated":
            text = one.outcome or "cut off"
            yield FailureLine(
                trace_id=one.trace_id,
                kind="capture",
                text=text,
                localize=Localize(root=text, locus="capture"),
            )
        for detection in one.detections:
            if detection.route != "eval":
                yield FailureLine(
                    trace_id=one.trace_id,
                    kind=detection.route,
                    text=detection.text,
                    refs=detection.refs,
                )


def _plan(found: Discovered, registry: Registry) -> Plan:
    whole = found.config.model_dump(mode="json")
    subject = {key: value for key, value in whole["subject"].items() if key != "traces"}
    decides = {
        "command": "discover",
        "subject": subject,
        "judge": whole["judge"] if found.asked is not None else None,
        "sampling": {
            **whole["sampling"],
            "version": registry.get("samplers", found.config.sampling.strategy).version,
        },
        "select": {k: v for k, v in whole["select"].items() if k == "traces"},
        "discover": whole["discover"],
        "preferences": [[p.name, p.text] for p in found.preferences],
    }
    runs = {name: whole[name] for name in ("executor", "limits", "shard", "run", "report", "paths")}
    runs |= {"traces": whole["subject"]["traces"], "splitSeed": whole["validation"]["seed"]}
    return Plan.of(decides, runs)


def _runmeta(
    found: Discovered,
    plan: Plan,
    registry: Registry,
    now: datetime.datetime,
    command: str | None,
) -> dict[str, Any]:
    judge = found.config.judge if found.asked is not None else None
    return {
        **described(found.config, registry, found.folder, now, command),
        "exitCode": int(found.exit_code),
        "model": None if judge is None else judge.model,
        "temperature": None if judge is None else judge.temperature,
        "digests": {"plan": plan.digest},
        "awareness": awareness(found.preferences),
        "livingSuite": None if found.living is None else str(found.living),
        "grown": list(found.grown),
    }


def _lines(path: Path, lines: Iterable[bytes]) -> None:
    atomic_write(path, b"".join(line + b"\n" for line in lines))
