"""Verdict lines fold to a scorecard: coverage floor, components, doubts (METHOD 64–67)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from helix.gate import FoldPlan, GateRow, Known, Policy, Trusted, fold
from helix.model.manifest import Load, LoadFailure, Manifest, ManifestEntry, Survey
from helix.model.scorecard import JudgeRecord, Ratio, Scorecard, Status, UsageTotals
from helix.model.verdict import (
    CodePart,
    Fidelity,
    MatrixVerdictFile,
    NotApplicable,
    Provenance,
    Ref,
    Verdict,
    Verification,
    Verifying,
)
from helix.reports.summary import folded
from helix.stats import Share

WHOLE = Fidelity(complete=True)
CUT = Fidelity(complete=False, reason="cut off")
REF = Ref(obs="o", path="name", value="x", match="exact")


def gate_row(id: str = "c1", **fields: Any) -> GateRow:
    settings = {"component": "desk", "severity": "CRIT", "klass": "code", "gating": True}
    return GateRow(id, **{**settings, **fields})


def line(trace: str, cells: Mapping[str, str], **fields: Any) -> MatrixVerdictFile:
    made = fields.pop("made", "code")
    checked = fields.pop("verification", None)
    verdicts = [
        Verdict(
            criterion_id=c, critique="seen", result=s, refs=(REF,) if s != "uncertain" else (),
            produced_by=made, cause="missing-field" if s == "uncertain" else None,
            verification=checked,
        )
        for c, s in cells.items()
        if s in ("pass", "fail", "uncertain")
    ]  # fmt: skip
    excused = [
        NotApplicable(criterion_id=c, critique="no call", produced_by=made)
        for c, s in cells.items()
        if s == "na"
    ]
    lost = {c: "unavailable" for c, s in cells.items() if s == "lost"}
    dense = {c: "uncertain" if s == "lost" else s for c, s in cells.items()}
    return MatrixVerdictFile(
        trajectory_id=trace, fidelity=WHOLE, dense_map=dense, verdicts=tuple(verdicts),
        not_applicable=tuple(excused), not_adjudicated=lost, **fields,
    )  # fmt: skip


def survey(
    ids: Sequence[str], *, failures: int = 0, cut: Sequence[str] = (), tasks: Mapping[str, str] = {}
) -> Survey:
    entries = tuple(
        ManifestEntry(
            ordinal=at, id=id, digest="d", file="t.jsonl", line=at + 1, format="helix", route=None,
            task=tasks.get(id), flags=(), fidelity=CUT if id in cut else WHOLE, observations=1,
            selected=True,
        )
        for at, id in enumerate(ids)
    )  # fmt: skip
    bad = tuple(LoadFailure(file="t.jsonl", line=9 + i, reason="not JSON") for i in range(failures))
    return Survey(entries=Manifest(entries), load=Load(files=1, traces=len(ids), failures=bad))


def result(
    rows: Sequence[GateRow],
    lines: Sequence[MatrixVerdictFile],
    *,
    over: Survey | None = None,
    **plan: Any,
) -> Scorecard:
    settings = {
        "policy": Policy(),
        "judge": JudgeRecord(backend="none", requested={}),
        "verifier": JudgeRecord(backend="none", requested={}),
        "digests": {},
    }
    settings = {"subject": "desk", "suite": "s", **settings}
    frozen = FoldPlan(rows=tuple(rows), **{**settings, **plan})
    if over is None:
        over = survey(list(dict.fromkeys(x.trajectory_id for x in lines)))
    return fold(frozen, over, lines, UsageTotals())


@pytest.mark.parametrize(
    ("rows", "cells", "verdict"),
    [
        ([gate_row()], [{"c1": "pass"}], "pass"),
        ([gate_row()], [{"c1": "pass"}, {"c1": "fail"}], "fail"),
        ([gate_row()], [{"c1": "pass"}, {"c1": "uncertain"}], "incomplete"),
        ([gate_row()], [{"c1": "pass"}, {"c1": "lost"}], "incomplete"),
        ([gate_row()], [{"c1": "pass"}, {"c1": "na"}], "pass"),
        ([gate_row()], [{"c1": "na"}], "incomplete"),
        ([gate_row(may_not_apply=True)], [{"c1": "na"}], "incomplete"),
        ([gate_row(may_not_apply=True), gate_row("c2")], [{"c1": "na", "c2": "pass"}], "pass"),
        ([gate_row(gating=False), gate_row("c2")], [{"c1": "fail", "c2": "pass"}], "pass"),
        ([gate_row(gating=False)], [{"c1": "pass"}], "incomplete"),
        ([], [{}], "incomplete"),
        ([gate_row()], [], "incomplete"),
        ([gate_row()], [{"c1": "lost"}], "incomplete"),
    ],
)
def test_the_run_takes_the_worst_and_nothing_judged_is_never_green(
    rows: list[GateRow], cells: list[dict[str, str]], verdict: str
) -> None:
    card = result(rows, [line(f"t{i}", c) for i, c in enumerate(cells)])
    assert card.run_verdict == verdict
    if verdict == "incomplete":
        assert card.gate.gaps, "an incomplete run says why"


def test_a_load_failure_keeps_the_gate_from_passing_and_is_named() -> None:
    good = [line("t0", {"c1": "pass"})]
    card = result([gate_row()], good, over=survey(["t0"], failures=2))
    assert card.run_verdict == "incomplete"
    assert card.gate.gaps == ("2 records could not be read (first: t.jsonl:9)",)
    assert card.traces.unreadable == 2


def test_all_gaps_are_named_in_one_pass() -> None:
    rows = [gate_row("a"), gate_row("b"), gate_row("c")]
    lines = [line("t0", {"a": "uncertain", "b": "na", "c": "pass"})]
    card = result(rows, lines, over=survey(["t0", "t1"], failures=1, cut=["t1"]))
    told = " | ".join(card.gate.gaps)
    named = ("1 record could not", "1 trace could not be judged", "a: undecided", "b: undecided")
    for part in named:
        assert part in told


def test_a_trace_that_the_judge_found_cut_off_counts_as_one_that_code_found_so() -> None:
    cut = MatrixVerdictFile(
        trajectory_id="t1", fidelity=CUT, dense_map={"c1": "uncertain"},
        not_adjudicated={"c1": "truncated"},
    )  # fmt: skip
    lines, over = [line("t0", {"c1": "pass"}), cut], survey(["t0", "t1"])
    by_judge = result([gate_row()], lines, over=over)
    by_code = result([gate_row()], lines, over=survey(["t0", "t1"], cut=["t1"]))
    assert (by_judge.traces.evaluated, by_judge.traces.incomplete) == (1, 1)
    assert by_judge == by_code


def test_a_chosen_trace_without_a_line_is_undecided_in_every_cell() -> None:
    card = result([gate_row()], [line("t0", {"c1": "pass"})], over=survey(["t0", "t1"]))
    assert card.run_verdict == "incomplete"
    assert (card.cells.total, card.cells.uncertain, card.cells.not_adjudicated) == (2, 1, 1)
    assert card.criteria[0].undecided == ("t1",)


def test_components_fail_on_their_own_and_the_run_takes_the_worst() -> None:
    rows = [gate_row("a", component="desk"), gate_row("b", component="mail"),
            gate_row("c", component="log", gating=False)]  # fmt: skip
    card = result(rows, [line("t0", {"a": "pass", "b": "uncertain", "c": "fail"})])
    assert {c.component: c.verdict for c in card.components} == {
        "desk": "pass", "log": "pass", "mail": "incomplete",
    }  # fmt: skip
    assert card.run_verdict == "incomplete"


def test_cells_are_counted_by_who_decided_and_by_state() -> None:
    lines = [
        line("t0", {"a": "pass", "b": "fail"}),
        line("t1", {"a": "na", "b": "lost"}, made="judge"),
    ]
    cells = result([gate_row("a"), gate_row("b")], lines).cells
    assert (cells.total, cells.code, cells.judge, cells.not_adjudicated) == (4, 2, 1, 1)
    assert (cells.pass_, cells.fail, cells.uncertain, cells.na) == (1, 1, 1, 1)


def test_prevalence_counts_failures_over_decided_traces() -> None:
    states = ["fail", "pass", "pass", "na", "uncertain"]
    lines = [line(f"t{i}", {"c1": s}) for i, s in enumerate(states)]
    row = result([gate_row()], lines).criteria[0]
    assert (row.prevalence.k, row.prevalence.n) == (1, 3)
    assert (row.counts.pass_, row.counts.fail, row.counts.uncertain, row.counts.na) == (2, 1, 1, 1)


def test_repeats_that_flap_are_one_undecided_cell() -> None:
    lines = [line("t0", {"c1": "pass"}), line("t0", {"c1": "fail"}, replicate=1)]
    card = result([gate_row()], lines, replicates=2)
    assert card.criteria[0].counts.uncertain == 1
    assert card.blocked.by_cause == {"flapping": 1}
    assert card.run_verdict == "incomplete"


def test_k_of_n_runs_of_a_task() -> None:
    states = ["pass", "pass", "fail", "fail", "fail", "pass"]
    tasks = {f"t{i}": "A" if i < 3 else "B" for i in range(6)}
    lines = [line(f"t{i}", {"c1": s}) for i, s in enumerate(states)]
    over = survey([f"t{i}" for i in range(6)], tasks=tasks)
    assert result([gate_row()], lines, over=over, policy=Policy(per_task=(2, 3))).run_verdict == (
        "fail"
    )
    half = Policy(per_task=(1, 3))
    assert result([gate_row()], lines, over=over, policy=half).run_verdict == "pass"


@pytest.mark.parametrize(
    ("klass", "policy", "status", "verdict"),
    [
        ("judge", Policy(), None, "pass"),
        ("judge", Policy(require_validated=True), None, "incomplete"),
        ("code", Policy(require_validated=True), None, "pass"),
        ("judge", Policy(require_verified=True), None, "incomplete"),
        ("judge", Policy(require_verified=True), "confirmed", "pass"),
        ("judge", Policy(), "failed", "incomplete"),
        ("judge", Policy(), "notInScope", "pass"),
    ],
)
def test_trust_in_a_judge_may_be_asked_for(
    klass: str, policy: Policy, status: Any, verdict: str
) -> None:
    checked = Verification(status=status) if status else None
    lines = [line("t0", {"c1": "pass"}, made=klass, verification=checked)]
    assert result([gate_row(klass=klass)], lines, policy=policy).run_verdict == verdict


@pytest.mark.parametrize(
    ("made", "verdict"), [("judge", "incomplete"), ("code", "pass"), ("hybrid", "incomplete")]
)
def test_na_that_a_judge_said_wants_a_verifier_as_a_pass_does(made: str, verdict: str) -> None:
    rows = [gate_row(klass="hybrid", may_not_apply=True), gate_row("c2")]
    lines = [line("t0", {"c1": "na"}, made=made), line("t1", {"c1": "na", "c2": "pass"})]
    lines[0] = msgspec.structs.replace(lines[0], dense_map={"c1": "na", "c2": "na"})
    assert result(rows, lines, policy=Policy(require_verified=True)).run_verdict == verdict
    assert result(rows, lines).run_verdict == "pass"


def test_where_no_gating_row_applied_the_gap_says_so() -> None:
    rows = [gate_row("a", may_not_apply=True), gate_row("b", may_not_apply=True)]
    card = result(rows, [line("t0", {"a": "na", "b": "na"})])
    assert card.gate.gaps == ("no gating criterion applied to any trace",)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Policy(rate=Fraction(9, 10)), "a rate by a judge that is unvalidated"),
        (Policy(rate=Fraction(9, 10), confidence=0.9), "a rate by a judge that is unvalidated"),
        (
            Policy(require_validated=True),
            "the judge is unvalidated, and gate.require_validated is set",
        ),
    ],
)
def test_where_a_judge_is_not_trusted_its_fail_gates_no_more_than_its_pass(
    policy: Policy, reason: str
) -> None:
    lines = [line(f"t{i}", {"c1": "fail"}, made="judge") for i in range(20)]
    card = result([gate_row(klass="judge")], lines, policy=policy)
    assert (card.run_verdict, card.criteria[0].reason) == ("incomplete", reason)
    assert result([gate_row()], lines, policy=policy).run_verdict == "fail"


@pytest.mark.parametrize("policy", [Policy(rate=Fraction(9, 10)), Policy(require_validated=True)])
@pytest.mark.parametrize(("code", "verdict"), [("fail", "fail"), ("pass", "incomplete")])
def test_a_hybrid_that_its_code_half_failed_is_a_fail_whoever_judges(
    policy: Policy, code: Any, verdict: str
) -> None:
    said = line("t0", {"c1": "fail"}, made="hybrid")
    part = CodePart(result=code, critique="counted")
    halves = tuple(msgspec.structs.replace(v, code=part) for v in said.verdicts)
    lines = [msgspec.structs.replace(said, verdicts=halves)]
    assert result([gate_row(klass="hybrid")], lines, policy=policy).run_verdict == verdict


def test_a_repeat_that_never_came_is_not_adjudicated_in_its_row_too() -> None:
    card = result([gate_row()], [line("t0", {"c1": "pass"})], replicates=3)
    assert card.criteria[0].not_adjudicated == card.cells.not_adjudicated == 2
    assert card.blocked.by_cause == {}


@pytest.mark.parametrize(
    ("cells", "unseen", "told"),
    [
        (["lost"], 1, "incomplete"),
        (["pass", "lost"], 1, "incomplete"),
        (["uncertain", "lost"], 1, "uncertain"),
        (["uncertain"], 0, "uncertain"),
        (["fail", "lost"], 1, "fail"),
        (["na"], 0, "na"),
    ],
)
def test_a_criterion_is_told_incomplete_where_nobody_looked_at_what_it_leaves_undecided(
    cells: list[str], unseen: int, told: str
) -> None:
    lines = [line(f"t{n}", {"c1": state}) for n, state in enumerate(cells)]
    row = result([gate_row()], lines).criteria[0]
    assert (row.unseen, folded(row)) == (unseen, told)


def test_a_trace_that_some_repeat_looked_at_is_seen() -> None:
    lines = [line("t0", {"c1": "pass"}), line("t0", {"c1": "lost"}, replicate=1)]
    row = result([gate_row()], lines, replicates=2).criteria[0]
    assert (row.unseen, row.result, folded(row)) == (0, "uncertain", "uncertain")


def test_a_repeat_that_nobody_adjudicated_does_not_flap() -> None:
    lines = [line("t0", {"c1": "pass"}), line("t0", {"c1": "lost"}, replicate=1)]
    assert result([gate_row()], lines, replicates=2).blocked.by_cause == {"unavailable": 1}


@pytest.mark.parametrize(("state", "gaps"), [("pass", 0), ("fail", 1)])
def test_an_expired_waiver_is_a_gap_only_where_its_row_needs_it(state: str, gaps: int) -> None:
    waivers = ({"criterion": "c1", "expired": True},)
    card = result([gate_row()], [line("t0", {"c1": state})], waivers=waivers)
    assert len([gap for gap in card.gate.gaps if "expired" in gap]) == gaps


def test_a_rate_by_an_unvalidated_judge_stays_incomplete() -> None:
    policy = Policy(rate=Fraction(1, 2))
    lines = [line(f"t{i}", {"c1": "pass"}) for i in range(4)]
    assert result([gate_row()], lines, policy=policy).run_verdict == "pass"
    assert result([gate_row(klass="judge")], lines, policy=policy).run_verdict == "incomplete"


def measured(status: Status, tpr: int = 95, tnr: int = 95) -> Trusted:
    return Trusted(status, "as labelled", Share(tpr, 100), Share(tnr, 100), Ratio(k=200, n=210))


@pytest.mark.parametrize(
    ("status", "passes", "verdict"),
    [
        ("validated", 600, "pass"),
        ("provisional", 600, "pass"),
        ("validated", 300, "fail"),
        ("validated", 480, "incomplete"),
        ("stale", 600, "incomplete"),
        ("rejected", 300, "incomplete"),
    ],
)
def test_a_judged_rate_counts_by_its_corrected_interval_once_it_was_measured(
    status: Status, passes: int, verdict: str
) -> None:
    states = ["pass"] * passes + ["fail"] * (640 - passes)
    lines = [line(f"t{i}", {"c1": state}, made="judge") for i, state in enumerate(states)]
    rows = [gate_row(klass="judge", trusted=measured(status))]
    card = result(rows, lines, policy=Policy(rate=Fraction(3, 4)))
    assert card.run_verdict == verdict


def test_undecided_cells_widen_a_corrected_rate_both_ways() -> None:
    trusted, sure = measured("validated"), {"a": ["pass"] * 80 + ["fail"] * 20}
    open_ = {"a": ["pass"] * 80 + ["fail"] * 20 + ["uncertain"] * 50 + ["na"] * 9}
    alone = {str(i): [s] for i, s in enumerate(sure["a"])}
    wider = {str(i): [s] for i, s in enumerate(open_["a"])}
    low, high = trusted.bounds(alone, None) or (1.0, 0.0)
    lower, higher = trusted.bounds(wider, None) or (1.0, 0.0)
    assert lower < low < 0.8 < high < higher
    assert trusted.bounds({"a": ["na"]}, None) is None
    assert measured("validated", 50, 50).bounds(alone, None) == (0.0, 1.0)


def test_a_validated_judge_may_gate_where_that_is_required_and_a_provisional_may_not() -> None:
    lines = [line("t0", {"c1": "pass"}, made="judge")]
    policy = Policy(require_validated=True)
    for status, verdict in (("validated", "pass"), ("provisional", "incomplete")):
        rows = [gate_row(klass="judge", trusted=measured(status))]  # type: ignore[arg-type]
        card = result(rows, lines, policy=policy)
        assert card.run_verdict == verdict
    assert card.criteria[0].reason == (
        "the judge is provisional (as labelled), and gate.require_validated is set"
    )


def test_the_scorecard_says_how_the_judge_stands_and_corrects_its_rate() -> None:
    lines = [line(f"t{i}", {"c1": "pass", "c2": "pass", "c3": "pass"}) for i in range(8)]
    lines += [line(f"u{i}", {"c1": "fail", "c2": "fail", "c3": "fail"}) for i in range(2)]
    rows = [
        gate_row("c1", klass="judge", trusted=measured("validated")),
        gate_row("c2", klass="judge", trusted=Trusted()),
        gate_row("c3"),
    ]
    card = result(rows, lines)
    c1, c2, c3 = (row.standing for row in card.criteria)
    assert c1 and c1.rate == pytest.approx((0.8 - 0.05) / 0.9)
    assert c1.interval and c1.interval[0] < 0.8 < c1.interval[1]
    assert c2 and (c2.status, c2.rate, c2.interval) == ("unvalidated", None, None)
    assert c3 is None
    assert card.validation == {
        "status": "unvalidated",
        "criteria": {"unvalidated": 1, "validated": 1},
    }


def test_a_rate_that_is_not_settled_says_between_what_it_lies() -> None:
    lines = [line(f"t{i}", {"c1": s}) for i, s in enumerate(["pass"] * 8 + ["uncertain", "fail"])]
    card = result([gate_row()], lines, policy=Policy(rate=Fraction(9, 10)))
    assert card.gate.gaps == ("c1: the pass rate is between 80.0% and 90.0%; the target is 9/10",)


def warm(state: str, replicate: int, trace: str = "t0", **fields: Any) -> MatrixVerdictFile:
    """Return the line of a judge that ran without temperature 0."""
    named = {"made": "judge", "judge_model": "m", "temperature": None, **fields}
    return line(trace, {"c1": state}, replicate=replicate, **named)


@pytest.mark.parametrize(
    ("states", "verdict", "row_gate"),
    [
        (["pass"], "incomplete", "incomplete"),
        (["pass"] * 4, "incomplete", "incomplete"),
        (["pass"] * 5, "pass", "pass"),
        (["fail"] * 4, "incomplete", "incomplete"),
        (["fail"] * 5, "fail", "fail"),
        (["pass"] * 4 + ["fail"], "incomplete", "incomplete"),
        (["pass"] * 4 + ["lost"], "incomplete", "incomplete"),
        (["pass"] * 6 + ["lost"], "incomplete", "incomplete"),
        (["uncertain"] * 5, "incomplete", "incomplete"),
    ],
)
def test_without_temperature_0_a_cell_counts_where_five_repeats_agree(
    states: list[str], verdict: str, row_gate: str
) -> None:
    lines = [warm(state, at) for at, state in enumerate(states)]
    card = result([gate_row(klass="judge")], lines, replicates=len(states))
    assert (card.run_verdict, card.criteria[0].gate) == (verdict, row_gate)


def test_what_to_type_is_said_where_a_judge_without_temperature_0_was_not_repeated() -> None:
    card = result([gate_row(klass="judge")], [warm("pass", 0), warm("fail", 0, "t1")])
    (gap,) = card.gate.gaps
    assert "without temperature 0" in gap
    assert "on 2 of 2 traces" in gap
    assert "sampling.replicates=5" in gap


def test_one_trace_that_was_not_measured_stable_is_enough() -> None:
    lines = [warm("pass", at, trace) for trace in ("t0", "t1") for at in range(5)]
    lines[7] = warm("fail", 2, "t1")
    card = result([gate_row(klass="judge")], lines, replicates=5)
    assert card.run_verdict == "incomplete"
    assert card.blocked.by_cause == {"flapping": 1}


def test_a_proved_na_without_temperature_0_counts_no_sooner_than_a_pass() -> None:
    row = gate_row(klass="judge", may_not_apply=True)
    card = result([row], [warm("na", 0)])
    assert card.criteria[0].gate == "incomplete"
    card = result([row], [warm("na", at) for at in range(5)], replicates=5)
    assert card.criteria[0].gate == "pass"


def test_what_code_decides_needs_no_repeats_whatever_the_judge_runs_under() -> None:
    half = CodePart(result="fail", critique="c", refs=(REF,))
    cell = Verdict(criterion_id="c1", critique="c", result="fail", refs=(REF,),
                   produced_by="hybrid", code=half)  # fmt: skip
    found = msgspec.structs.replace(warm("fail", 0), verdicts=(cell,))
    assert result([gate_row(klass="hybrid")], [found]).criteria[0].gate == "fail"
    code = warm("pass", 0, made="code")
    assert result([gate_row()], [code]).criteria[0].gate == "pass"


def test_a_verifier_without_temperature_0_needs_the_same_repeats() -> None:
    by = Verifying(model="v", temperature=None, identity="v")
    lines = [warm("pass", at, temperature=0.0, verifying=by) for at in range(5)]
    assert result([gate_row(klass="judge")], lines[:1]).run_verdict == "incomplete"
    assert result([gate_row(klass="judge")], lines, replicates=5).run_verdict == "pass"


def test_a_cell_that_is_waived_needs_no_repeats() -> None:
    known = Known(waived=frozenset({("c1", "t1")}))
    lines = [warm("pass", at) for at in range(5)] + [warm("fail", at, "t1") for at in range(2)]
    card = result([gate_row(klass="judge")], lines, known=known, replicates=5)
    assert card.criteria[0].gate == "pass"


def test_a_waived_cell_does_not_count_and_is_still_shown() -> None:
    lines = [line("t0", {"c1": "fail"}), line("t1", {"c1": "pass"})]
    known = Known(waived=frozenset({("c1", "t0")}))
    card = result([gate_row()], lines, known=known)
    row = card.criteria[0]
    assert (card.run_verdict, row.result, row.counts.fail, row.waived) == (
        "pass", "fail", 1, "1 fail",
    )  # fmt: skip


def test_grounded_counts_decided_verdicts_whose_evidence_all_resolves() -> None:
    dead = Ref(obs="o", path="name", value="y", match="dead")
    shaky = MatrixVerdictFile(
        trajectory_id="t1", fidelity=WHOLE, dense_map={"c1": "pass"},
        verdicts=(Verdict(criterion_id="c1", critique="x", result="pass", refs=(REF, dead)),),
    )  # fmt: skip
    card = result([gate_row()], [line("t0", {"c1": "pass"}), shaky])
    assert (card.grounded.k, card.grounded.n) == (1, 2)
    (row,) = card.criteria
    assert row.grounded is not None and (row.grounded.k, row.grounded.n) == (1, 2)


def test_lines_are_folded_as_they_stream() -> None:
    lines = [line(f"t{i}", {"c1": s}) for i, s in enumerate(["pass", "fail", "na", "uncertain"])]
    over = survey([f"t{i}" for i in range(4)])
    assert result([gate_row()], lines, over=over) == result([gate_row()], iter(lines), over=over)  # type: ignore[arg-type]


def test_what_the_baseline_knows_is_counted_apart_from_what_is_new_and_what_is_waived() -> None:
    cells = {"t0": "fail", "t1": "fail", "t2": "fail", "t3": "uncertain", "t4": "pass"}
    lines = [line(trace, {"c1": state}) for trace, state in cells.items()]
    known = Known(
        waived=frozenset({("c1", "t2")}), baseline=frozenset({("c1", "t0"), ("c1", "t4")})
    )
    (row,) = result([gate_row()], lines, known=known).criteria
    assert (row.known, row.new, row.new_traces, row.waived) == (1, 1, ("t1",), "1 fail")
    (row,) = result([gate_row()], lines).criteria
    assert (row.known, row.new, row.new_traces, row.waived) == (None, None, (), None)


def test_a_baseline_that_knows_every_failure_lets_the_run_pass_and_hides_none() -> None:
    lines = [line("t0", {"c1": "fail"}), line("t1", {"c1": "pass"})]
    card = result([gate_row()], lines, known=Known(baseline=frozenset({("c1", "t0")})))
    row = card.criteria[0]
    assert (card.run_verdict, row.result, row.known, row.new) == ("pass", "fail", 1, 0)


@pytest.mark.parametrize(
    ("states", "gap"),
    [
        (["uncertain"], "c1: undecided on 1 of 1 trace"),
        (["uncertain", "pass"], "c1: undecided on 1 of 2 traces"),
    ],
)
def test_a_gap_counts_in_whole_words(states: list[str], gap: str) -> None:
    card = result([gate_row()], [line(f"t{n}", {"c1": s}) for n, s in enumerate(states)])
    assert gap in card.gate.gaps


def test_a_trace_whose_id_is_the_name_of_a_task_is_no_run_of_it() -> None:
    found = survey(["X", "t2"], tasks={"t2": "X"})
    lines = [line("X", {"c1": "fail"}), line("t2", {"c1": "pass"})]
    card = result([gate_row()], lines, policy=Policy(per_task=(1, 2)), over=found)
    assert card.run_verdict == "incomplete"


def test_a_gap_of_k_of_n_counts_tasks_since_every_trace_may_be_decided() -> None:
    found = survey(["t1", "t2", "t3"], tasks={"t1": "A", "t2": "A", "t3": "B"})
    lines = [line(f"t{n}", {"c1": "pass"}) for n in (1, 2, 3)]
    card = result([gate_row()], lines, policy=Policy(per_task=(2, 3)), over=found)
    assert "c1: undecided on 1 of 2 tasks, of whose 3 runs 2 must pass" in card.gate.gaps


WARM, COLD = {"temperature": 1, "seed": 7}, {"seed": 7, "temperature": 0}


@pytest.mark.parametrize(
    ("answered", "effective"),
    [
        ([], None),
        ([None, None], None),
        ([COLD, {"temperature": 0, "seed": 7}], COLD),
        ([COLD, WARM, COLD], (COLD, WARM)),
        ([COLD, None], (None, COLD)),
        ([{"stop": "\ud800"}], {"stop": "\ud800"}),
    ],
)
def test_the_parameters_that_took_effect_are_told_and_several_are_all_told(
    answered: list[Any], effective: Any
) -> None:
    lines = [
        line(f"t{at}", {"c1": "pass"}, made="judge", judge_model="m", effective=found,
             provenance=Provenance(trace="d", criteria="d", prompt="d", reply="d"))
        for at, found in enumerate(answered)
    ]  # fmt: skip
    unanswered = line("t9", {"c1": "lost"}, judge_model="m")
    asked = JudgeRecord(backend="replay", requested={"temperature": 0})
    for order in ([*lines, unanswered], [unanswered, *reversed(lines)]):
        told = result([gate_row(klass="judge")], order, judge=asked).judge.effective
        assert list(told) == list(effective) if isinstance(effective, tuple) else told == effective


@pytest.mark.parametrize(("subject", "own"), [("helix", True), ("Helix ", True), ("desk", False)])
def test_a_run_whose_subject_is_helix_says_so(subject: str, own: bool) -> None:
    lines = [line("t0", {"c1": "pass"})]
    assert result([gate_row()], lines, subject=subject).self_evaluation is own
