"""From categories to criteria: the simplest check that separates, or a judge's row (METHOD 55).

A row is observed only if its check fires on a broken trace, passes on a healthy one, and fires on
no healthy one. Everything else is inferred: kept as a guard, and it does not gate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from helix.discover.categories import Key, key_of
from helix.discover.norms import Trial
from helix.discover.shots import inputs_of, plain, shots_of, terms_cited
from helix.model.canonical import canonical_text
from helix.model.criterion import (
    CHECK_METHOD,
    AssumptionSpec,
    CheckClass,
    CodeEval,
    Criterion,
    Discovery,
    Evidence,
    Prevalence,
    RefSpec,
)
from helix.model.discovery import Category, Detection, Determination, Lens
from helix.model.trace import Trace
from helix.suite.compile import SeverityRule
from helix.suite.terms import terms_of

MOST_TRACES, MOST_REFS, MOST_ASSUMPTIONS = 5, 6, 5
LEAST_COVERED = 0.5
LEVELS: dict[Lens, str] = {
    "off-path": "cross-stage",
    "tool-output-failure": "output",
    "missing-context": "context",
}


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a batch was determined to be: everything that fitting a check needs."""

    traces: Mapping[str, Trace]
    determinations: tuple[Determination, ...]
    seed: int = 0

    @property
    def healthy(self) -> frozenset[str]:
        """Traces that a determiner passed, and those in which nobody detected a fault."""
        return frozenset(one.trace_id for one in self.determinations if _healthy(one))

    def shown(self, category: Category) -> list[tuple[Determination, Detection]]:
        """Return the detections of a category, in the order of the traces."""
        by = {*category.detectors, ""}
        return [
            (one, detection)
            for one in self.determinations
            for detection in one.detections
            if key_of(detection).kind in category.kinds
            and key_of(detection).detector in by
            and (one.verdict != "pass" or category.fix_or_eval != "eval")
        ]


@dataclass(frozen=True, slots=True)
class Proposed:
    """A criterion, the category it came from, and on which traces its check fires and passes."""

    criterion: Criterion
    category: str
    fires: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    detector: str | None = None


def discriminates(trial: Trial, broken: Iterable[str], healthy: frozenset[str]) -> bool:
    """Whether a check fires on a broken trace, passes on a healthy one, fails none (METHOD 55)."""
    fires = trial.fails.keys()
    kept = not healthy.isdisjoint(trial.passes)
    return kept and not fires.isdisjoint(broken) and healthy.isdisjoint(fires)


def fitted(pool: Sequence[Trial], broken: frozenset[str], healthy: frozenset[str]) -> Trial | None:
    """Return the check that separates most broken traces from all healthy ones, the simplest first.

    One that misses more than half of the broken traces, or fires mostly on others, is about
    something else; what one trace alone shows could be anything that is odd in it.
    """
    able = [t for t in pool if discriminates(t, broken, healthy)]
    able = [t for t in able if _about(t, broken)]
    return min(
        able,
        key=lambda t: (-len(broken & t.fails.keys()), t.norm.weight, repr(t.norm.code_eval)),
        default=None,
    )


def _about(trial: Trial, broken: frozenset[str]) -> bool:
    hit = len(broken & trial.fails.keys())
    covers = hit >= LEAST_COVERED * max(len(broken), len(trial.fails))
    return covers and (hit > 1 or broken == trial.fails.keys())


def known_as(
    found: Sequence[Category], kept: Sequence[Trial], labelled: Labelled
) -> dict[str, Key]:
    """Return of each kind that only a determiner named the kind of code that it is, if any.

    It is one where the check of that kind separates its traces from the healthy ones.
    """
    same: dict[str, Key] = {}
    for category in found:
        if category.klass == "judge" and category.fix_or_eval == "eval":
            broken = frozenset(one.trace_id for one, _ in labelled.shown(category))
            trial = fitted(kept, broken, labelled.healthy)
            if trial is not None and trial.norm.to == "eval":
                key = Key(trial.norm.detector, trial.norm.kind)
                same |= dict.fromkeys(category.kinds, key)
    return same


def proposals(
    found: Sequence[Category],
    kept: Sequence[Trial],
    pool: Sequence[Trial],
    labelled: Labelled,
    rule: SeverityRule | None = None,
) -> list[Proposed]:
    """Return one whole mined criterion for each category that is to become one, rare ones too.

    What code detected has its check already, among `kept`; for what a determiner said one is
    looked for in the `pool` of all that were tried. Categories that one check separates are one.
    """
    rows: dict[str, Proposed] = {}
    asked: set[str] = set()
    for category in sorted(found, key=lambda c: c.klass != "code"):
        if category.fix_or_eval != "eval":
            continue
        row = _proposed(category, kept, pool, labelled, rule or SeverityRule())
        spec = row.criterion.code_eval
        asks = "" if spec is None else canonical_text([spec.model_dump(), row.criterion.route])
        if asks in asked or not _writable(row.criterion):
            continue
        asked |= {asks} - {""}
        rows.setdefault(row.criterion.criterion_id, row)
    return list(rows.values())


def _proposed(
    category: Category,
    kept: Sequence[Trial],
    pool: Sequence[Trial],
    labelled: Labelled,
    rule: SeverityRule,
) -> Proposed:
    shown = labelled.shown(category)
    broken = frozenset(one.trace_id for one, _ in shown)
    healthy = labelled.healthy
    own = [t for t in kept if _is_of(t, category)]
    if own:
        trial: Trial | None = own[0]
        observed = discriminates(own[0], broken, healthy)
    else:
        trial = fitted(pool, broken, healthy)
        observed = trial is not None
    discovery = _discovery(category, shown, observed=observed, alone=not healthy)
    if trial is None:
        return Proposed(_judged(category, shown, labelled, discovery, rule), category.name)
    fires = tuple(sorted(trial.fails))
    return Proposed(
        _coded(category, trial, labelled, discovery, rule),
        category.name,
        fires,
        tuple(x for x in trial.passes if x in healthy),
        trial.norm.detector,
    )


def _is_of(trial: Trial, category: Category) -> bool:
    return trial.norm.detector in category.detectors and trial.norm.kind in category.kinds


def _coded(
    category: Category,
    trial: Trial,
    labelled: Labelled,
    discovery: Discovery,
    rule: SeverityRule,
) -> Criterion:
    norm = trial.norm
    decided = len(trial.fails) + len(trial.passes) + len(trial.undecided)
    return Criterion(
        criterion_id=identifier(category.name),
        statement=norm.statement,
        fail_condition=f"Fail = {norm.fault}.",
        severity=rule.of(category.k),
        dimension=norm.dimension,
        code_eval=CodeEval.model_validate(dict(norm.code_eval)),
        route=norm.route,
        may_not_apply=decided < category.n,
        **_mined(category, "code", discovery, _terms(norm.statement, labelled)),  # type: ignore[arg-type]
    )


def _judged(
    category: Category,
    shown: Sequence[tuple[Determination, Detection]],
    labelled: Labelled,
    discovery: Discovery,
    rule: SeverityRule,
) -> Criterion:
    definition = category.definition.rstrip(".")
    statement = f"Pass = the run is free of this: {category.name}."
    return Criterion(
        criterion_id=identifier(category.name),
        statement=statement,
        pass_condition=f"Nothing in the run is of the kind '{category.name}'.",
        fail_condition=f"What was seen before is seen again: {definition}.",
        severity=rule.of(category.k),
        may_not_apply=True,
        judge_inputs=inputs_of(labelled.traces, shown),
        few_shot=shots_of(labelled.determinations, shown, labelled.seed),
        **_mined(category, "judge", discovery, terms_cited(labelled.traces, shown)),  # type: ignore[arg-type]
    )


def _mined(
    category: Category, klass: CheckClass, discovery: Discovery, terms: tuple[str, ...]
) -> dict[str, object]:
    return {
        "klass": klass,
        "check_method": CHECK_METHOD[klass],
        "terms": terms,
        "origin": "mined",
        "level": LEVELS[category.lens],
        "generality": "general-structural" if klass == "code" else "specific-semantic",
        "discovery": discovery,
    }


def _terms(statement: str, labelled: Labelled) -> tuple[str, ...]:
    tools = frozenset(call.name for trace in labelled.traces.values() for call in trace.tools())
    return terms_of(Criterion(criterion_id="terms", statement=statement), tools)


def _discovery(
    category: Category,
    shown: Sequence[tuple[Determination, Detection]],
    *,
    observed: bool,
    alone: bool,
) -> Discovery:
    cited = [ref for _, detection in shown for ref in detection.refs]
    told = [ref for ref in cited if ref.scan is None] or cited
    refs = [RefSpec(obs=plain(r.obs), path=plain(r.path), value=_quoted(r.value)) for r in told]
    said = {a.text: a for _, detection in shown for a in detection.assumptions}
    traces = dict.fromkeys(one.trace_id for one, _ in shown)
    return Discovery(
        grounding="observed" if observed and refs else "inferred",
        evidence=Evidence(
            refs=tuple(refs[:MOST_REFS]), trace_ids=tuple(map(plain, traces))[:MOST_TRACES]
        ),
        prevalence=Prevalence(k=category.k, n=category.n),
        assumptions=tuple(
            AssumptionSpec(text=plain(a.text), status=a.status, kind=a.kind)
            for a in list(said.values())[:MOST_ASSUMPTIONS]
        ),
        single_trace=alone,
    )


def _writable(row: Criterion) -> bool:
    """Whether a suite can hold a row: YAML has no lone surrogates, and names stay as they are."""
    page = json.dumps(row.model_dump(mode="json"), ensure_ascii=False)
    return page == plain(page)


def _quoted(text: str | None) -> str | None:
    return None if text is None else plain(text)


def identifier(name: str) -> str:
    """Return a criterion's id: the words of a category, in lower case, joined by hyphens."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return re.sub(r"[\W_]+", "-", words).strip("-").lower()[:120] or "unnamed"


def _healthy(one: Determination) -> bool:
    if one.verdict == "pass":
        return True
    faults = [d for d in one.detections if d.route == "eval"]
    return one.cause == "unread" and one.produced_by == "code" and not faults
