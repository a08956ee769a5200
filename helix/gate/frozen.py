"""What the fold is told, as plan.json keeps it, so that a merge folds as the run would have.

All of it is fixed by what the plan's digest covers; ratios stay exact.
"""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

import msgspec

from helix.errors import ArtifactError
from helix.gate.fold import FoldPlan
from helix.gate.states import GateRow, Known, Policy
from helix.gate.trusted import Trusted
from helix.model.scorecard import JudgeRecord, Ratio
from helix.stats import Share


def as_data(plan: FoldPlan) -> dict[str, Any]:
    """Return the plan as plain JSON values, the same for equal plans."""
    policy, known = plan.policy, plan.known
    return {
        "subject": plan.subject,
        "suite": plan.suite,
        "rows": [_row(row) for row in plan.rows],
        "policy": {**asdict(policy), "rate": _number(policy.rate)},
        "judge": msgspec.to_builtins(plan.judge),
        "verifier": msgspec.to_builtins(plan.verifier),
        "digests": plan.digests,
        "replicates": plan.replicates,
        "waived": sorted(([c, t] for c, t in known.waived), key=lambda p: (p[0], p[1] or "")),
        "known": None if known.baseline is None else sorted(map(list, known.baseline)),
        "policyName": plan.policy_name,
        "eligibility": plan.eligibility,
        "skippedCriteria": list(plan.skipped_criteria),
        "waivers": list(plan.waivers),
        "baseline": plan.baseline,
    }


def from_data(data: dict[str, Any]) -> FoldPlan:
    """Return the plan that `as_data` wrote; ArtifactError for what is none."""
    try:
        policy, baseline = dict(data["policy"]), data["known"]
        per_task = policy.pop("per_task")
        return FoldPlan(
            subject=data["subject"],
            suite=data["suite"],
            rows=tuple(map(_gate_row, data["rows"])),
            policy=Policy(
                **{**policy, "rate": _read(policy["rate"])},
                per_task=None if per_task is None else (per_task[0], per_task[1]),
            ),
            judge=msgspec.convert(data["judge"], JudgeRecord),
            verifier=msgspec.convert(data["verifier"], JudgeRecord),
            digests=data["digests"],
            replicates=data["replicates"],
            known=Known(
                waived=frozenset((c, t) for c, t in data["waived"]),
                baseline=None if baseline is None else frozenset((c, t) for c, t in baseline),
            ),
            policy_name=data["policyName"],
            eligibility=data["eligibility"],
            skipped_criteria=tuple(data["skippedCriteria"]),
            waivers=tuple(data["waivers"]),
            baseline=data["baseline"],
        )
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise ArtifactError(
            f"plan.json: what the gate was told cannot be read ({type(error).__name__}: {error})"
        ) from None


def _row(row: GateRow) -> dict[str, Any]:
    told = row.trusted
    trusted = None if told is None else {
        "status": told.status,
        "reason": told.reason,
        "tpr": None if told.tpr is None else [_number(part) for part in told.tpr],
        "tnr": None if told.tnr is None else [_number(part) for part in told.tnr],
        "coverage": msgspec.to_builtins(told.coverage),
    }  # fmt: skip
    return {
        "criterionId": row.criterion_id,
        "component": row.component,
        "severity": row.severity,
        "class": row.klass,
        "gating": row.gating,
        "mayNotApply": row.may_not_apply,
        "grounding": row.grounding,
        "trusted": trusted,
        "steady": row.steady,
    }


def _gate_row(data: dict[str, Any]) -> GateRow:
    told = data["trusted"]
    trusted = None if told is None else Trusted(
        status=told["status"],
        reason=told["reason"],
        tpr=_share(told["tpr"]),
        tnr=_share(told["tnr"]),
        coverage=msgspec.convert(told["coverage"], Ratio | None),
    )  # fmt: skip
    return GateRow(
        criterion_id=data["criterionId"],
        component=data["component"],
        severity=data["severity"],
        klass=data["class"],
        gating=data["gating"],
        may_not_apply=data["mayNotApply"],
        grounding=data["grounding"],
        trusted=trusted,
        steady=data["steady"],
    )


def _share(parts: list[Any] | None) -> Share | None:
    return None if parts is None else Share(_read(parts[0]), _read(parts[1]))


def _number(value: float | Fraction | None) -> float | str | None:
    return str(value) if isinstance(value, Fraction) else value


def _read(value: Any) -> Any:
    return Fraction(value) if isinstance(value, str) else value
