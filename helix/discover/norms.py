"""Norms: checks that a batch of traces suggests, tried on the batch that suggested them.

A detector proposes norms from the structure of the traces. A norm is kept by most traces that it
applies to; the trace that breaks one shows a detection, and the decision of the check is its
evidence. So every detection of code has a check that fires on it (METHOD 49, 55).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from helix.checks.run import decide
from helix.errors import SuiteError
from helix.model.criterion import CodeEval, Criterion, Dimension, Suite
from helix.model.discovery import Lens, Route
from helix.model.trace import Trace
from helix.registry import CheckContext, Decision, Registry
from helix.suite.compile import CompiledRow, compile
from helix.suite.routes import off_route

Strength = Literal["failure", "rule", "habit", "reading"]
LEAST_HOLDERS = {"failure": 1, "rule": 1, "habit": 8, "reading": 7}
LEAST_SHARE = {"failure": 0.5, "rule": 0.6, "habit": 0.85, "reading": 0.8}


@dataclass(frozen=True, slots=True)
class Norm:
    """One thing that traces are to keep, as a check.

    `about` is what it is about: of several norms about one thing that are broken together one is
    enough. A `failure` says so itself; a `rule` holds by itself (a value comes from somewhere); a
    `habit` is only what most traces do, and needs more of them; a `reading` of prose may err, and
    needs them too. `weight` is how complex a norm is: of two that separate alike the lighter one
    is taken.
    """

    detector: str
    lens: Lens
    kind: str
    about: str
    statement: str
    code_eval: Mapping[str, Any]
    fault: str
    strength: Strength = "habit"
    dimension: Dimension = "operation-correctness"
    route: str | None = None
    weight: int = 1
    to: Route = "eval"


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a norm on every trace of a batch."""

    norm: Norm
    fails: Mapping[str, Decision]
    passes: tuple[str, ...]
    undecided: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether enough traces keep the norm for those that break it to stand out."""
        kept, broken, strength = len(self.passes), len(self.fails), self.norm.strength
        enough = kept >= LEAST_HOLDERS[strength]
        return enough and kept >= LEAST_SHARE[strength] * (kept + broken)


@dataclass(frozen=True, slots=True)
class Examined:
    """The traces that detectors look at: whole ones, in the order of the sample."""

    traces: tuple[Trace, ...]
    context: CheckContext
    routes: tuple[str, ...] = ()

    def cohorts(self) -> Iterator[tuple[str | None, tuple[Trace, ...]]]:
        """Yield all traces, and, where there are several routes, those of each route."""
        yield None, self.traces
        routes = sorted({trace.route for trace in self.traces if trace.route is not None})
        for route in routes if len(routes) > 1 else ():
            yield route, tuple(trace for trace in self.traces if trace.route == route)


Detector = Callable[[Examined], Iterable[Norm]]


def compiled(norms: Sequence[Norm], registry: Registry) -> list[tuple[Norm, CompiledRow]]:
    """Return the norms with their rows; one whose parameters no check takes is left out."""
    found = []
    for at, norm in enumerate(norms):
        row = Criterion(
            criterion_id=f"norm-{at}",
            statement=norm.statement,
            severity="MED",
            route=norm.route,
            code_eval=CodeEval.model_validate(dict(norm.code_eval)),
        )
        try:
            suite = compile(Suite(suite="norms", criteria=(row,)), registry)
        except SuiteError:
            continue
        found.append((norm, suite.rows[0]))
    return found


def tried(norms: Sequence[Norm], examined: Examined, registry: Registry) -> list[Trial]:
    """Return what each norm says of each trace, in the order of the norms."""
    return [_trial(norm, row, examined) for norm, row in compiled(norms, registry)]


def _trial(norm: Norm, row: CompiledRow, examined: Examined) -> Trial:
    fails: dict[str, Decision] = {}
    passes, undecided = [], []
    for trace in examined.traces:
        decision = off_route(row.criterion, trace, examined.routes)
        decision = decision or decide(row, trace, examined.context)
        if decision.state == "fail":
            fails[trace.id] = decision
        elif decision.state == "pass":
            passes.append(trace.id)
        elif decision.state == "uncertain":
            undecided.append(trace.id)
    return Trial(norm, fails, tuple(passes), tuple(undecided))
