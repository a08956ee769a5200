"""Criteria put to the test: which known faults do their rows see, and what do they cry wolf at?

A row is tried on faults in the traces on which it passes. A fault is killed where the row then
fails; uncertain and na are no kill and are counted apart. Seeded: the same traces, suite and seed
give the same result, whatever the order of the traces.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from helix.checks.run import decide
from helix.grounding import assess
from helix.model.config import SubjectConfig
from helix.model.trace import Trace
from helix.model.verdict import CellState
from helix.registry import CheckContext
from helix.suite.compile import CompiledRow
from helix.suite.faults import FAULTS, Fault, Site
from helix.suite.routes import off_route

MOST_NAMED = 5
PER_TRACE = 3


@dataclass(slots=True)
class Kills:
    """What one row said of one fault: counts of states over all mutants it was tried on."""

    states: Counter[CellState] = field(default_factory=Counter)

    @property
    def tried(self) -> int:
        """How many mutants the row was tried on."""
        return self.states.total()

    @property
    def killed(self) -> int:
        """On how many of them it failed."""
        return self.states["fail"]


@dataclass(slots=True)
class RowScore:
    """What came of one row: on untouched traces, and on each fault."""

    row: CompiledRow
    untouched: Counter[CellState] = field(default_factory=Counter)
    alarms: list[str] = field(default_factory=list)
    faults: dict[str, Kills] = field(default_factory=dict)
    silent: dict[str, bool] = field(default_factory=dict)

    @property
    def kills(self) -> list[str]:
        """The faults that the row sees at least once, in the order of the catalogue."""
        return [name for name, kills in self.faults.items() if kills.killed]


@dataclass(slots=True)
class FaultScore:
    """What came of one fault: mutants made, traces without a place for it, what nobody saw."""

    fault: Fault
    made: int = 0
    refused: int = 0
    killed: int = 0
    missed: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class MutationScore:
    """The result of a mutation test; `skipped` are the traces that can carry no judgement."""

    seed: int
    per_trace: int
    rows: list[RowScore]
    faults: list[FaultScore]
    traces: int = 0
    skipped: int = 0

    @property
    def blind(self) -> list[RowScore]:
        """The rows of class code that were tried on mutants and killed none of them."""
        tried = [row for row in self.rows if any(kills.tried for kills in row.faults.values())]
        return [row for row in tried if row.row.klass == "code" and not row.kills]

    def share(self, silent: bool) -> tuple[int, int]:
        """Return how many of the silent, or loud, mutants some row killed, and of how many."""
        found = [score for score in self.faults if score.fault.silent is silent]
        return sum(score.killed for score in found), sum(score.made for score in found)


def try_rows(
    rows: Sequence[CompiledRow],
    traces: Iterable[Trace],
    context: CheckContext,
    subject: SubjectConfig,
    *,
    seed: int = 0,
    per_trace: int = PER_TRACE,
    faults: Sequence[Fault] = FAULTS,
) -> MutationScore:
    """Try every row that has a check on at most `per_trace` mutants per fault and trace."""
    scores = [RowScore(row) for row in rows if row.check is not None]
    for score in scores:
        score.faults = {fault.name: Kills() for fault in faults}
        score.silent = {fault.name: fault.silent for fault in faults}
    result = MutationScore(seed, per_trace, scores, [FaultScore(fault) for fault in faults])
    for trace in traces:
        if not assess(trace, subject.truncation_flags, subject.truncation_fields).complete:
            result.skipped += 1
            continue
        result.traces += 1
        healthy = [s for s in scores if _passes(s, trace, context, subject)]
        for fault in result.faults if healthy else ():
            _try_fault(fault, healthy, trace, context, result)
    return result


def _passes(score: RowScore, trace: Trace, context: CheckContext, subject: SubjectConfig) -> bool:
    """Whether a row passes on an untouched trace; what it says is counted."""
    decision = off_route(score.row.criterion, trace, subject.routes)
    decision = decision or decide(score.row, trace, context)
    score.untouched[decision.state] += 1
    if decision.state == "fail":
        score.alarms.append(trace.id)
    return decision.state == "pass"


def _try_fault(
    score: FaultScore,
    healthy: Sequence[RowScore],
    trace: Trace,
    context: CheckContext,
    result: MutationScore,
) -> None:
    chosen = _chosen(score.fault, trace, result.seed, result.per_trace)
    score.refused += not chosen
    for site in chosen:
        mutant = site.make()
        score.made += 1
        seen = False
        for row in healthy:
            state = decide(row.row, mutant, context).state
            row.faults[score.fault.name].states[state] += 1
            seen = seen or state == "fail"
        score.killed += seen
        if not seen and len(score.missed) < MOST_NAMED:
            score.missed.append((trace.id, site.where))


def _chosen(fault: Fault, trace: Trace, seed: int, most: int) -> list[Site]:
    """Return some of the places of a fault; those of one trace depend on no other trace."""
    sites = list(fault.sites(trace))
    if len(sites) <= most:
        return sites
    drawn = random.Random(f"{seed}\n{fault.name}\n{trace.id}".encode("utf-8", "backslashreplace"))
    return [sites[at] for at in sorted(drawn.sample(range(len(sites)), most))]
