"""From configuration to plan: everything is checked and frozen before anything is spent.

What decides goes into the plan's digest; what only runs does not (DESIGN “Contracts”).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from helix.checks.custom import load_modules
from helix.errors import ConfigError, SelectionError, did_you_mean
from helix.fieldpath import parse
from helix.gate import FoldPlan, GateRow, Known, Policy, Trusted
from helix.gate.frozen import as_data
from helix.grounding import check_fields
from helix.judging import PacketSettings, Settings, VerifierSettings
from helix.judging.probe import prompt_digest
from helix.judging.room import with_room
from helix.model.canonical import digest
from helix.model.config import Config, JudgeConfig
from helix.model.criterion import Suite
from helix.model.packet import Premise
from helix.model.plan import Plan
from helix.model.request import Pin
from helix.model.scorecard import JudgeRecord
from helix.model.sound import faults
from helix.pins import Verifier, make_pin, pin_dict, verifier_of
from helix.premises import version_of, vouched_for
from helix.quality import AXIS
from helix.registry import Judge, Registry
from helix.runs import RunFiles
from helix.steadiness import steady_rows
from helix.suite import CompiledRow, CompiledSuite, compile, load
from helix.trust import trust_digest, trusted


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that may begin: config, compiled rows that were selected, judge, pin, plan."""

    config: Config
    registry: Registry
    suite: CompiledSuite
    rows: tuple[CompiledRow, ...]
    judge: Judge
    pin: Pin
    verifier: Verifier | None
    settings: Settings
    plan: Plan
    fold: FoldPlan
    failed_traces: frozenset[str] | None
    today: datetime.date


def prepare(
    config: Config, registry: Registry, *, today: datetime.date, suite: Suite | None = None
) -> Prepared:
    """Return the frozen run, or raise the error that says what to mend.

    `today` dates waivers. A suite given as an object takes the place of `criteria.file`.
    """
    if wrong := list(faults(config)):
        raise ConfigError("; ".join(wrong))
    _check_subject(config)
    load_modules(config.checks.modules, registry)
    compiled = _compiled(config, registry, suite)
    _check_routes(compiled, config.subject.routes)
    before = config.select.failed_from
    failing = RunFiles.open(before, "select.failed_from").undone() if before else None
    rows = _selected(compiled, config, failing)
    judge: Judge = registry.get("judges", config.judge.backend)
    if all(row.method == "deterministic" for row in rows):
        # Nobody is asked, so nothing need be said of who would be.
        judge = registry.get("judges", "none")
    pin = make_pin(config.judge, judge, "judge")
    verifier = verifier_of(config, registry, judge, pin)
    _check_axis(config.judge)
    today = config.gate.today or today
    known = _known(config, compiled, today)
    asked = [row.id for row in rows if judge.asks and row.klass != "code"]
    vouched = vouched_for(config.paths.state, asked)
    settings = _settings(config, compiled, rows, judge, pin, verifier, vouched)
    plan = _plan(config, compiled, rows, judge, pin, verifier, settings, registry, known, failing)
    plan, trusts, steady = _standing(config, rows, judge, plan)
    fold = _fold_plan(config, compiled, rows, plan, pin, verifier, known, today, trusts, steady)
    return Prepared(
        config=config,
        registry=registry,
        suite=compiled,
        rows=rows,
        judge=judge,
        pin=pin,
        verifier=verifier,
        settings=settings,
        plan=msgspec.structs.replace(plan, fold=as_data(fold)),
        fold=fold,
        failed_traces=None if failing is None else frozenset(t for t, _ in failing),
        today=today,
    )


def _standing(
    config: Config, rows: Sequence[CompiledRow], judge: Judge, plan: Plan
) -> tuple[Plan, dict[str, Trusted], frozenset[str]]:
    """Return the plan with what was measured of the judge of its rows; nobody stands for nobody."""
    code = frozenset(row.id for row in rows if row.klass == "code")
    state, suite = config.paths.state, plan.decides["suite"]["name"]
    trusts = trusted(state, suite, plan.decides, code) if judge.asks else {}
    steady = steady_rows(state, plan.decides, code) if judge.asks else frozenset()
    told = {"trust": trust_digest(trusts), **({"steady": sorted(steady)} if steady else {})}
    return Plan.of({**plan.decides, **told}, plan.runs), trusts, steady


def _check_axis(judge: JudgeConfig) -> None:
    if judge.two_pass and judge.axis == "criterion":
        raise ConfigError(
            "judge.two_pass must be false with judge.axis=criterion (got true): one criterion's "
            "question asks for no expected trajectory"
        )


def _check_subject(config: Config) -> None:
    subject = config.subject
    wrong = check_fields(subject.truncation_fields)
    for channel in (*subject.complete_channels, *filter(None, [subject.route_field])):
        parse(channel)
    if wrong:
        raise ConfigError("subject.truncation_fields: " + "; ".join(wrong))
    if config.shard.index >= config.shard.count:
        raise ConfigError(
            f"shard.index must be below shard.count (got index={config.shard.index}, "
            f"count={config.shard.count})"
        )


def _check_routes(suite: CompiledSuite, routes: Sequence[str]) -> None:
    """Refuse a row for a route that the subject does not declare: it would apply to nothing."""
    for row in suite.rows:
        route = row.criterion.route
        if routes and route is not None and route not in routes:
            raise ConfigError(
                f"route of '{row.id}' must be one of subject.routes: {', '.join(routes)} "
                f"(got '{route}'){did_you_mean(route, routes)}"
            )


def _compiled(config: Config, registry: Registry, suite: Suite | None) -> CompiledSuite:
    if suite is None and not config.criteria.file:
        raise ConfigError("criteria.file must name a suite: add criteria.file=SUITE.yaml")
    component = config.subject.component or config.subject.name
    return compile(
        suite if suite is not None else load(str(config.criteria.file)),
        registry,
        default_component=component,
        eligibility=config.gate.eligibility,
    )


def _selected(
    suite: CompiledSuite, config: Config, failing: Sequence[tuple[str, str]] | None
) -> tuple[CompiledRow, ...]:
    rows = suite.rows
    chosen = config.select
    ids = [row.id for row in rows]
    kept = matched("select.criteria: no active row has the id", chosen.criteria, ids)
    tags = {tag for row in rows for tag in row.criterion.tags}
    tagged = matched("select.tags: no active row has the tag", chosen.tags, tags)
    if chosen.criteria:
        rows = tuple(row for row in rows if row.id in kept)
    if chosen.tags:
        rows = tuple(row for row in rows if tagged & set(row.criterion.tags))
    if failing is not None:
        wanted = {criterion for _, criterion in failing}
        rows = tuple(r for r in rows if r.id in wanted)
    if not rows and (chosen.criteria or chosen.tags or failing is not None):
        raise SelectionError("select: no active row is left; widen the selection")
    return rows


def matched(lead: str, patterns: Iterable[str], known: Iterable[str]) -> set[str]:
    """Return what the names and globs match; one that matches nothing is an error (DESIGN)."""
    known = list(known)
    found: set[str] = set()
    for pattern in patterns:
        hits = {name for name in known if name == pattern or fnmatchcase(name, pattern)}
        if not hits:
            hint = did_you_mean(pattern, known)
            raise SelectionError(f"{lead} '{pattern}'{hint} ({len(known)} known)")
        found |= hits
    return found


def _known(config: Config, suite: CompiledSuite, today: datetime.date) -> Known:
    ids = {row.id for row in suite.rows}
    for waiver in config.gate.waivers:
        if waiver.criterion not in ids:
            hint = did_you_mean(waiver.criterion, ids)
            raise ConfigError(f"gate.waivers: no row has the id '{waiver.criterion}'{hint}")
    alive = [waiver for waiver in config.gate.waivers if waiver.expires >= today]
    baseline = None
    if config.gate.baseline:
        earlier = RunFiles.open(config.gate.baseline, "gate.baseline")
        of = earlier.scorecard().suite
        if of != suite.suite.suite:
            raise ConfigError(
                f"gate.baseline must be a run of the suite '{suite.suite.suite}' "
                f"(got {config.gate.baseline}, a run of '{of}')"
            )
        baseline = frozenset((criterion, trace) for trace, criterion in earlier.failing())
    return Known(frozenset((w.criterion, w.trace) for w in alive), baseline)


def _plan(
    config: Config,
    suite: CompiledSuite,
    rows: Sequence[CompiledRow],
    judge: Judge,
    pin: Pin,
    verifier: Verifier | None,
    settings: Settings,
    registry: Registry,
    known: Known,
    failing: Sequence[tuple[str, str]] | None,
) -> Plan:
    whole = config.model_dump(mode="json")
    subject = {k: v for k, v in whole["subject"].items() if k != "traces"}
    gate = {k: v for k, v in whole["gate"].items() if k not in ("baseline", "exit", "today")}
    decides: dict[str, Any] = {
        "subject": subject,
        "suite": {"name": suite.suite.suite, "version": suite.suite.version},
        "suiteDigest": suite.digest,
        **_of_rows(rows, settings.packet.premises),
        "prompt": prompt_digest(settings) if judge.asks else None,
        "judge": {
            **_asked(judge, pin, config.judge),
            "axis": config.judge.axis,
            "twoPass": config.judge.two_pass,
        },
        "verifier": None
        if verifier is None
        else {
            **_asked(verifier.judge, verifier.pin, verifier.config),
            "verify": verifier.config.verify,
        },
        "sampling": {
            **whole["sampling"],
            "version": registry.get("samplers", config.sampling.strategy).version,
        },
        "select": {k: v for k, v in whole["select"].items() if k != "failed_from"},
        "failedFrom": None if failing is None else digest(sorted(failing)),
        "gate": gate,
        "waived": sorted([criterion, trace or ""] for criterion, trace in known.waived),
        "baseline": None if known.baseline is None else digest(sorted(known.baseline)),
        **_of_tests(config),
    }
    runs = {
        name: whole[name]
        for name in ("executor", "cache", "limits", "shard", "run", "report", "paths")
    }
    runs |= {"traces": whole["subject"]["traces"], "criteriaFile": config.criteria.file}
    runs |= {"judgeDir": config.judge.dir, "judgeScript": config.judge.script}
    runs |= {"verifierDir": config.verifier.dir, "verifierScript": config.verifier.script}
    runs |= {"baseline": config.gate.baseline, "failedFrom": config.select.failed_from}
    return Plan.of(decides, {**runs, "exit": config.gate.exit})


def _of_tests(config: Config) -> dict[str, Any]:
    """Return what decides whether a code change's tests are green; nothing on another axis."""
    if config.judge.axis != AXIS:
        return {}
    return {"quality": config.quality.model_dump(mode="json", exclude={"tests_dir"})}


def _of_rows(rows: Sequence[CompiledRow], premises: Sequence[Premise]) -> dict[str, Any]:
    checks = sorted({(r.check.name, r.check.version) for r in rows if r.check is not None})
    shots = {row.id: {shot.trace_id for shot in row.criterion.few_shot} for row in rows}
    return {
        "criteria": [row.id for row in rows],
        "versions": {row.id: version_of(row.id, row.digest, premises) for row in rows},
        "premises": [msgspec.to_builtins(premise) for premise in premises],
        "examples": {criterion: sorted(traces) for criterion, traces in shots.items() if traces},
        "checks": [{"name": name, "version": version} for name, version in checks],
    }


def _settings(
    config: Config,
    suite: CompiledSuite,
    rows: Sequence[CompiledRow],
    judge: Judge,
    pin: Pin,
    verifier: Verifier | None,
    premises: tuple[Premise, ...],
) -> Settings:
    """Return what the lines of the run share; its tools are those that are known (METHOD 27)."""
    subject = config.subject
    tools = tuple(sorted({*subject.tools, *suite.suite.tools}))
    refuter = None
    if verifier is not None and verifier.config.verify != "none":
        limit = verifier.config.context_tokens
        refuter = VerifierSettings(
            packet=PacketSettings(subject, verifier.pin, limit, tools, premises),
            scope=verifier.config.verify,
            gating=frozenset(row.id for row in rows if row.gating),
            models=(verifier.pin.model, *verifier.config.model_aliases),
        )
    settings = Settings(
        packet=PacketSettings(subject, pin, config.judge.context_tokens, tools, premises),
        criteria_digest=suite.digest,
        asks=judge.asks,
        routes=subject.routes,
        channels=subject.complete_channels,
        models=(pin.model, *config.judge.model_aliases),
        axis=config.judge.axis,
        two_pass=config.judge.two_pass,
        verifier=refuter,
    )
    judged = [row.criterion for row in rows if row.method != "deterministic"]
    return with_room(settings, judged) if judge.asks else settings


def _asked(judge: Judge, pin: Pin, config: JudgeConfig) -> dict[str, Any]:
    return {
        "pin": pin_dict(pin),
        "version": judge.version,
        "protocol": judge.protocol,
        "contextTokens": config.context_tokens,
        "aliases": list(config.model_aliases),
    }


def _fold_plan(
    config: Config,
    suite: CompiledSuite,
    rows: Sequence[CompiledRow],
    plan: Plan,
    pin: Pin,
    verifier: Verifier | None,
    known: Known,
    today: datetime.date,
    trusts: Mapping[str, Trusted],
    steady: frozenset[str],
) -> FoldPlan:
    chosen = {row.id for row in rows}
    waivers = tuple(
        {**waiver.model_dump(mode="json", exclude_none=True), "expired": waiver.expires < today}
        for waiver in config.gate.waivers
    )
    return FoldPlan(
        subject=config.subject.name,
        suite=suite.suite.suite,
        rows=tuple(_gate_row(row, trusts.get(row.id), row.id in steady) for row in rows),
        policy=Policy.of(config.gate),
        judge=JudgeRecord(backend=pin.backend, requested=pin_dict(pin)),
        verifier=JudgeRecord(backend="none", requested={})
        if verifier is None
        else JudgeRecord(
            backend=verifier.pin.backend,
            requested=pin_dict(verifier.pin),
            same_model=verifier.pin.model == pin.model,
        ),
        digests={"plan": plan.digest, "suite": suite.digest},
        replicates=config.sampling.replicates,
        known=known,
        policy_name=config.gate.policy,
        eligibility=config.gate.eligibility,
        skipped_criteria=tuple(row.id for row in suite.rows if row.id not in chosen),
        waivers=waivers,
        baseline=None if known.baseline is None else digest(sorted(known.baseline)),
    )


def _gate_row(row: CompiledRow, trusted: Trusted | None, steady: bool) -> GateRow:
    discovery = row.criterion.discovery
    return GateRow(
        criterion_id=row.id,
        component=row.component,
        severity=row.severity,
        klass=row.klass,
        gating=row.gating,
        may_not_apply=row.criterion.may_not_apply,
        grounding=discovery.grounding if discovery else None,
        trusted=trusted,
        steady=steady,
    )
