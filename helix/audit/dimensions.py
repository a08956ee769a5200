"""The determinism scorecard: fifteen dimensions, and how several runs compare in each (METHOD 70).

It stands beside the gate and is never combined with it (METHOD 68).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final

from helix.audit import measures
from helix.errors import UsageError
from helix.model.audit import DeterminismScore, DimensionScore, DimensionStatus
from helix.model.canonical import canonical_text
from helix.model.lines import portable
from helix.model.scorecard import Ratio
from helix.registry import DeterminismDimension, Registry
from helix.runs import RunFiles

_VERSION: Final = "1"
_LINES: Final = "verdicts.jsonl"
_CARD: Final = "scorecard.json"

BUILT_IN: Final = (
    DeterminismDimension(
        "latency-p50", _VERSION, "manifest.jsonl", "latencyMs", measures.latency,
        "each within the other's interval at 95 %", measures.same_latency,
    ),
    DeterminismDimension(
        "render-crashes", _VERSION, "runmeta.json", "reports.crashed", measures.render_crashes,
    ),
    DeterminismDimension(
        "gate-completeness", _VERSION, _CARD, "gate, criteria[*].gate", measures.gate_completeness,
        "0 unnamed, 0 differences",
    ),
    DeterminismDimension(
        "sample-size", _VERSION, _CARD, "traces, judge.backend, verifier.backend",
        measures.sample_size,
    ),
    DeterminismDimension(
        "primary-signal", _VERSION, _CARD, "runVerdict, criteria", measures.primary_signal,
    ),
    DeterminismDimension(
        "finding-ids", _VERSION, "failures.jsonl", "kind, traceId, criterionId",
        measures.finding_ids,
    ),
    DeterminismDimension(
        "remedy-ranking", _VERSION, "failures.jsonl", "criterionId, localize.locus",
        measures.remedy_ranking,
    ),
    DeterminismDimension(
        "slice-plan", _VERSION, _LINES, "provenance.prompt", measures.slice_plan,
    ),
    DeterminismDimension(
        "sampling-buckets", _VERSION, "manifest.jsonl", "route, selected",
        measures.sampling_buckets,
    ),
    DeterminismDimension(
        "coverage-confidence", _VERSION, _CARD,
        "cells, grounded, validation.status, criteria[*].standing.coverage",
        measures.coverage_confidence,
    ),
    DeterminismDimension(
        "tier-0-signals", _VERSION, _LINES, "verdicts[*].producedBy, verdicts[*].code",
        measures.code_signals,
    ),
    DeterminismDimension(
        "entity-identity", _VERSION, "subject.json", "all of it", measures.entity_identity,
    ),
    DeterminismDimension(
        "first-cap", _VERSION, _LINES, "verdicts[*].cause, notAdjudicated", measures.first_cap,
    ),
    DeterminismDimension(
        "awareness", _VERSION, "runmeta.json", "awareness.memory", measures.awareness,
    ),
    DeterminismDimension(
        "heatmap-cells", _VERSION, _LINES, "denseMap", measures.heatmap_cells,
    ),
)  # fmt: skip
"""The fifteen, in the order of METHOD 70."""


def dimensions(registry: Registry) -> tuple[DeterminismDimension, ...]:
    """Return every registered dimension, the fifteen first and in their order."""
    order = {item.name: at for at, item in enumerate(BUILT_IN)}
    found = registry.items("dimensions")
    names = sorted(found, key=lambda name: (order.get(name, len(order)), name))
    return tuple(found[name].item for name in names)


def score(runs: Sequence[RunFiles], dimensions: Sequence[DeterminismDimension]) -> DeterminismScore:
    """Measure every dimension in every run, and say which differ; UsageError below two runs.

    A measure that fails makes its dimension “not measured”, with the reason: nothing is known.
    """
    if len(runs) < 2:
        raise UsageError(f"a determinism scorecard must be of two runs or more (got {len(runs)})")
    found = tuple(_scored(item, runs) for item in dimensions)
    measured = [one for one in found if one.status != "notMeasured"]
    differ = sum(one.status == "different" for one in measured)
    return DeterminismScore(
        runs=len(runs), dimensions=found, variance=Ratio(k=differ, n=len(measured))
    )


def _scored(item: DeterminismDimension, runs: Sequence[RunFiles]) -> DimensionScore:
    values, reason = [], None
    try:
        values = [_value(item, run) for run in runs]
        status = _status(item, values)
    except Exception as error:
        # A third party's measure may raise anything; the other dimensions are still told.
        status, reason = "notMeasured", f"{type(error).__name__}: {error}"
    if None in values and reason is None:
        absent = [str(at) for at, value in enumerate(values, 1) if value is None]
        which = "no run" if len(absent) == len(runs) else f"not run {', '.join(absent)}"
        reason = f"{which} holds {item.field} in {item.artifact}"
    return DimensionScore(
        name=item.name,
        version=item.version,
        artifact=item.artifact,
        field=item.field,
        target=item.target,
        status=status,
        values=tuple(values) if len(values) == len(runs) else (None,) * len(runs),
        reason=None if reason is None else portable(reason),
    )


def _value(item: DeterminismDimension, run: RunFiles) -> Any:
    value = item.measure(run)
    canonical_text(value)  # raises for what is no JSON
    return value


def _status(item: DeterminismDimension, values: Sequence[Any]) -> DimensionStatus:
    if all(value is None for value in values):
        return "notMeasured"
    same = item.same or _equal
    pairs = combinations(values, 2)
    agree = all(a is not None and b is not None and same(a, b) for a, b in pairs)
    return "equal" if agree else "different"


def _equal(a: Any, b: Any) -> bool:
    return canonical_text(a) == canonical_text(b)
