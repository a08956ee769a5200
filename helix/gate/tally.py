"""Counting cells as verdict lines stream by: one small tally per criterion, one for the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from helix.gate.groups import ByTask, Groups, each, grouped
from helix.gate.rates import failing_interval, repeats
from helix.gate.spread import Spread
from helix.gate.states import (
    GateRow,
    Known,
    Policy,
    fold_rate,
    fold_repeats,
    fold_task,
    fold_traces,
    rate_bounds,
)
from helix.gate.trusted import Trusted
from helix.model.canonical import canonical_text
from helix.model.scorecard import (
    Blocked,
    Cells,
    Counts,
    CriterionResult,
    CriterionRow,
    GateState,
    Ratio,
    Verification,
)
from helix.model.verdict import (
    CellState,
    MatrixVerdictFile,
    NotApplicable,
    Verdict,
    by_code_alone,
)
from helix.model.verdict import Verification as VerdictVerification

NAMED = 50
STEADY = 5
Effective = dict[str, Any] | tuple[dict[str, Any] | None, ...] | None


@dataclass(slots=True)
class RowTally:
    """What one criterion's cells add up to.

    `by_code` holds a hybrid row's states with only the fails of its code half told apart: what
    it says holds whatever the judge said, so that it counts where the judge may not.
    """

    row: GateRow
    counts: Counter[str] = field(default_factory=Counter)
    kept: Groups = field(default_factory=Groups)
    by_code: Groups = field(default_factory=Groups)
    not_adjudicated: int = 0
    unseen: int = 0
    failing: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    aside: Groups = field(default_factory=Groups)
    waived: Counter[str] = field(default_factory=Counter)
    known: int | None = None
    new: list[str] = field(default_factory=list)
    doubts: set[str] = field(default_factory=set)
    unsteady: int = 0
    decided: int = 0
    grounded: int = 0
    spread: Spread = field(default_factory=Spread)

    def add(
        self,
        trace: str,
        task: int,
        state: CellState,
        known: Known,
        *,
        code_fail: bool = False,
        unsteady: bool = False,
    ) -> None:
        """Take in one trace's folded state; `code_fail` where code alone makes it a fail.

        `task` is its number (`TaskNumbers`).
        `unsteady` where it rests on a judge without temperature 0 that was not measured stable.
        """
        self.counts[state] += 1
        names = {"fail": self.failing, "uncertain": self.undecided}.get(state)
        if names is not None and len(names) < NAMED:
            names.append(trace)
        aside = known.aside(self.row.criterion_id, trace, state)
        (self.aside if aside else self.kept).add(task, state)
        if self.row.klass == "hybrid" and aside is None:
            sure: CellState = "fail" if state == "fail" and code_fail else "uncertain"
            self.by_code.add(task, sure)
        if aside is None:
            self.unsteady += unsteady
        if aside == "waived":
            self.waived[state] += 1
        if known.baseline is not None:
            self.known = (self.known or 0) + (aside == "known")
            if state == "fail" and aside is None and len(self.new) < NAMED:
                self.new.append(trace)

    def finish(self, policy: Policy) -> CriterionRow:
        """Return the criterion's row of the scorecard."""
        kept = grouped(self.kept)
        whole = grouped(self.kept, self.aside) if self.aside else kept
        effect, reason = self._effect(kept, policy)
        c = self.counts
        return CriterionRow(
            criterion_id=self.row.criterion_id,
            component=self.row.component,
            severity=self.row.severity,
            klass=self.row.klass,
            gating=self.row.gating,
            result=_folded(whole, policy, self.row.trusted),
            counts=Counts(pass_=c["pass"], fail=c["fail"], uncertain=c["uncertain"], na=c["na"]),
            prevalence=Ratio(k=c["fail"], n=c["pass"] + c["fail"]),
            not_adjudicated=self.not_adjudicated,
            unseen=self.unseen,
            grounded=Ratio(k=self.grounded, n=self.decided),
            reason=reason,
            grounding=self.row.grounding,
            waived=", ".join(f"{n} {s}" for s, n in sorted(self.waived.items())) or None,
            known=self.known,
            new=None if self.known is None else c["fail"] - self.known - self.waived["fail"],
            new_traces=tuple(self.new),
            gate=effect,
            failing=tuple(self.failing),
            undecided=tuple(self.undecided),
            standing=self.row.trusted.standing(whole) if self.row.trusted else None,
            failing_interval=failing_interval(whole),
            repeats=repeats(whole),
            flips=self.spread.flips(),
            variance=self.spread.variance(),
        )

    def _effect(self, kept: ByTask, policy: Policy) -> tuple[GateState | None, str | None]:
        """Return what the row does to its component, and why when it is not a pass.

        `kept` are the cells that count at the gate.
        """
        if not self.row.gating:
            return None, None
        result, distrust = _folded(kept, policy, self.row.trusted), self._distrust(policy)
        if result == "fail" and (distrust is None or self._fails_by_code(policy)):
            decided = self.counts["pass"] + self.counts["fail"]
            return "fail", f"failed on {_of(self.counts['fail'], decided, 'decided trace')}"
        if result == "uncertain" and (distrust is None or policy.rate is None):
            return "incomplete", self._open(kept, policy)
        if result == "na" and not self.aside and not self.row.may_not_apply:
            return "incomplete", "applied to nothing; if that is fine, may_not_apply: true"
        if distrust is not None and (result != "na" or policy.require_validated or self.unsteady):
            return "incomplete", distrust
        for doubt in sorted(self.doubts):
            return "incomplete", doubt
        return "pass", None

    def _fails_by_code(self, policy: Policy) -> bool:
        return _folded(grouped(self.by_code), policy) == "fail"

    def _distrust(self, policy: Policy) -> str | None:
        """Return why the judge's word decides nothing here, its fails included (METHOD 42, 66)."""
        if self.row.klass == "code":
            return None
        if self.unsteady:
            on = _of(self.unsteady, self.counts.total(), "trace")
            return (
                f"the judge ran without temperature 0 and was not measured stable on {on}: "
                f"sampling.replicates={STEADY} or more must all agree, here or in a run that "
                "helix audit variance --keep read"
            )
        trusted = self.row.trusted or Trusted()
        if policy.require_validated and trusted.status != "validated":
            why = "" if trusted.tpr is None else f" ({trusted.reason})"
            return f"the judge is {trusted.status}{why}, and gate.require_validated is set"
        if policy.rate is None:
            return None
        if policy.per_task is not None:
            return "a judge is measured on traces, so that its rate has no gate.per_task"
        return None if trusted.measured else f"a rate by a judge that is {trusted.status}"

    def _open(self, kept: ByTask, policy: Policy) -> str:
        bounds = None
        if policy.rate is not None:
            bounds = rate_bounds(_by_task(kept, policy), policy.confidence, self.row.trusted)
        if bounds is None and policy.per_task is not None:
            tasks = [state for (state,) in _by_task(kept, policy).values()]
            k, n = policy.per_task
            on = _of(tasks.count("uncertain"), len(tasks), "task")
            return f"undecided on {on}, of whose {n} runs {k} must pass"
        if bounds is None:
            return f"undecided on {_of(self.counts['uncertain'], self.counts.total(), 'trace')}"
        low, high = (f"{float(end):.1%}" for end in bounds)
        at = "" if policy.confidence is None else f" at {policy.confidence:.0%} confidence"
        return f"the pass rate is between {low} and {high}{at}; the target is {policy.rate}"


@dataclass(slots=True)
class Answers:
    """Under which names and parameters one role answered."""

    models: set[str] = field(default_factory=set)
    effective: set[str] = field(default_factory=set)

    def add(self, model: str | None, effective: Effective, replied: bool) -> None:
        """Take in one line's answer, or its answers."""
        if model is not None:
            self.models.update(model.split(", "))
        if replied:
            several = effective if isinstance(effective, tuple) else (effective,)
            self.effective.update(map(canonical_text, several))


@dataclass(slots=True)
class RunTally:
    """What all cells add up to; `cut` are the traces that code or the judge found incomplete."""

    produced: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    not_adjudicated: int = 0
    grounded: int = 0
    decided: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    verification: Counter[str] = field(default_factory=Counter)
    judge: Answers = field(default_factory=Answers)
    verifier: Answers = field(default_factory=Answers)
    cut: set[str] = field(default_factory=set)

    def add_line(self, line: MatrixVerdictFile, rows: dict[str, RowTally], policy: Policy) -> None:
        """Take in one verdict line, replicate by replicate."""
        if not line.fidelity.complete:
            self.cut.add(line.trajectory_id)
        self.states.update(line.dense_map.values())
        for cause in line.not_adjudicated.values():
            self.causes[cause] += 1
        self.not_adjudicated += len(line.not_adjudicated)
        for criterion in line.not_adjudicated:
            if criterion in rows:
                rows[criterion].not_adjudicated += 1
        for excused in line.not_applicable:
            self.produced[excused.produced_by] += 1
            if not by_code_alone(excused):
                self._verified(excused.verification, rows.get(excused.criterion_id), policy)
        for verdict in line.verdicts:
            self.add_verdict(verdict, rows.get(verdict.criterion_id), policy)
        if line.judge_model is not None:
            replied = line.provenance is not None and line.provenance.reply is not None
            self.judge.add(line.returned_model, line.effective, replied)
        if line.verifying is not None:
            by = line.verifying
            self.verifier.add(by.returned_model, by.effective, by.reply is not None)

    def add_verdict(self, verdict: Verdict, row: RowTally | None, policy: Policy) -> None:
        """Take in one verdict: who made it, whether its evidence stands, who verified it."""
        self.produced[verdict.produced_by] += 1
        if verdict.result == "uncertain":
            if verdict.cause is not None:
                self.causes[verdict.cause] += 1
            if verdict.blocked_by is not None:
                self.kinds[verdict.blocked_by.kind] += 1
        else:
            for tally in (self, row) if row is not None else (self,):
                tally.decided += 1
                tally.grounded += verdict.grounded
        if not by_code_alone(verdict):
            sure = verdict.result != "uncertain"
            self._verified(verdict.verification, row if sure else None, policy)

    def _verified(
        self, verification: VerdictVerification | None, row: RowTally | None, policy: Policy
    ) -> None:
        status = verification.status if verification else "notVerified"
        self.verification[status] += 1
        if row is None:
            return
        if status == "failed":
            row.doubts.add("the verifier was asked for and failed")
        if policy.require_verified and status != "confirmed":
            row.doubts.add("not verified, and gate.require_verified is set")

    def cells(self, total: int) -> Cells:
        """Return the counts; what has no line at all is uncertain and not adjudicated."""
        absent = total - sum(self.states.values())
        return Cells(
            total=total,
            code=self.produced["code"],
            judge=self.produced["judge"],
            hybrid=self.produced["hybrid"],
            uncertain=self.states["uncertain"] + absent,
            na=self.states["na"],
            not_adjudicated=self.not_adjudicated + absent,
            pass_=self.states["pass"],
            fail=self.states["fail"],
        )

    def blocked(self) -> Blocked:
        """Return undecided cells by kind and cause."""
        return Blocked(
            by_kind=dict(sorted(self.kinds.items())), by_cause=dict(sorted(self.causes.items()))
        )

    def verified(self) -> Verification:
        """Return judged verdicts by what the verifier said."""
        v = self.verification
        return Verification(
            not_in_scope=v["notInScope"],
            confirmed=v["confirmed"],
            downgraded=v["downgraded"],
            failed=v["failed"],
            not_verified=v["notVerified"],
        )


def _folded(groups: ByTask, policy: Policy, trusted: Trusted | None = None) -> CriterionResult:
    groups = _by_task(groups, policy)
    if policy.rate is not None:
        return fold_rate(groups, policy.rate, policy.confidence, trusted)
    return fold_traces(state for states in groups.values() for state in states)


def _by_task(groups: ByTask, policy: Policy) -> ByTask:
    if policy.per_task is None:
        return groups
    k, n = policy.per_task
    return each(groups, lambda states: [fold_task(states, k, n)])


def _of(count: int, total: int, noun: str) -> str:
    return f"{count} of {total} {noun}" + ("" if total == 1 else "s")


def repeat_states(
    lines: Sequence[MatrixVerdictFile], criterion: str, replicates: int
) -> list[CellState]:
    """Return a criterion's states on one trace; a replicate without a line is undecided."""
    states: list[CellState] = [line.dense_map.get(criterion, "uncertain") for line in lines]
    return states + ["uncertain"] * (replicates - len(states))


def flaps(lines: Sequence[MatrixVerdictFile], criterion: str) -> bool:
    """Whether adjudicated repeats disagree; a repeat that nobody adjudicated says nothing."""
    said = (line for line in lines if criterion not in line.not_adjudicated)
    return fold_repeats([line.dense_map.get(criterion, "uncertain") for line in said])[1]


def unsteady(lines: Sequence[MatrixVerdictFile], criterion: str) -> bool:
    """Whether a cell rests on a judge without temperature 0, not measured stable (METHOD 42).

    Stable are five repeats or more that were all adjudicated and all say the same.
    """
    if not any(_unpinned(line) and _by_judge(line, criterion) for line in lines):
        return False
    left = any(criterion in line.not_adjudicated for line in lines)
    return len(lines) < STEADY or left or flaps(lines, criterion)


def _unpinned(line: MatrixVerdictFile) -> bool:
    judge = line.judge_model is not None and line.temperature is None
    return judge or (line.verifying is not None and line.verifying.temperature is None)


def _by_judge(line: MatrixVerdictFile, criterion: str) -> bool:
    """Whether a judge had a say in a cell, so that neither code nor a code half decided it."""
    cells: tuple[Verdict | NotApplicable, ...] = (*line.verdicts, *line.not_applicable)
    for cell in cells:
        if cell.criterion_id == criterion:
            return not by_code_alone(cell)
    return criterion in line.not_adjudicated


def code_fails(lines: Sequence[MatrixVerdictFile]) -> set[str]:
    """Return the criteria that code alone failed, in whatever repeat of a trace."""
    return {
        verdict.criterion_id
        for line in lines
        for verdict in line.verdicts
        if verdict.code is not None and verdict.result == verdict.code.result == "fail"
    }
