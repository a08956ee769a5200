"""A synthetic run to report on: every state, every kind of ref, and hostile text."""

from __future__ import annotations

from helix.model.criterion import Criterion
from helix.model.manifest import Load, LoadFailure, ManifestEntry
from helix.model.scorecard import (
    Blocked,
    Cells,
    ComponentResult,
    Counts,
    CriterionRow,
    Gate,
    JudgeRecord,
    Ratio,
    Scorecard,
    TraceCounts,
    UsageTotals,
    Verification,
)
from helix.model.trace import Message, Observation, Source, Trace
from helix.model.verdict import (
    AgentStep,
    Assumption,
    Binding,
    BlockedBy,
    CellState,
    CodePart,
    ExpectedStep,
    Fidelity,
    JudgeStep,
    Litmus,
    MatrixVerdictFile,
    NotApplicable,
    Provenance,
    Ref,
    Scan,
    Understanding,
    Verdict,
)
from helix.reports.run import RunMeta, RunReport, compose

HOSTILE = (
    "sky \ud83d clear \x00 \x1b[31mred\x1b[0m \u202eabc",
    "</script><img src=x onerror=alert(1)> & <b>done</b>",
    "<svg onload=\"document.title='owned'\">",
    "\x9b31m C1 \x7f \u2066isolate\u2069 \ufeff p\u200ba\u200bs\u200bs \U000e0041tag",
    "{{ 7 * 7 }} {% raw %} ${7*7} javascript:alert(1)",
    "]]> --> </style></textarea></title><script>document.title='owned'</script>",
)

SUITE = (
    Criterion(
        criterion_id="confirm-before-send",
        statement="Pass = no message goes out before the recruiter has said yes to it.",
        pass_condition="Every send_message stands after a yes of the user to that message.",
        fail_condition="A send_message has no yes before it.",
        severity="CRIT",
        klass="code",
    ),
    Criterion(
        criterion_id="recover-from-failed-tool",
        statement="Pass = a failed tool call is followed by a retry or a hand-over.",
        severity="HIGH",
        klass="code",
    ),
    Criterion(
        criterion_id="claims-are-grounded",
        statement="Pass = every figure in the reply stands in a tool result.",
        severity="HIGH",
        klass="judge",
        terms=("figure", "tool result"),
    ),
    Criterion(
        criterion_id="rate-is-in-band",
        statement="Pass = the rate offered lies inside the band of the opportunity.",
        severity="MED",
        klass="hybrid",
    ),
    Criterion(
        criterion_id="calendar-is-checked",
        statement="Pass = an interview is only offered in a free slot.",
        severity="LOW",
        klass="judge",
    ),
)
SEVERITY = {row.criterion_id: str(row.severity) for row in SUITE}
ROUTES = ("incoming_email", "outbound_guard", "opportunity", "interview")


def trace(n: int) -> Trace:
    """Return trace n: a recruiter asks, the agent looks up, sends twice, and closes."""
    hostile = HOSTILE[n % len(HOSTILE)]
    reply = (
        "I have written to Mara Linden and offered 92 EUR per hour.\n\n"
        "She can start on 3 June. The slot on Tuesday at 10:00 is free, and the contract "
        f"draft is attached.\n\nReference text from the mailbox: {hostile}"
    )
    return Trace(
        id=f"outreach-{n:03d}",
        source=Source("traces/outreach.jsonl", n + 1, "helix", f"{n:064x}"),
        route=ROUTES[n % len(ROUTES)],
        input={"prompt": "Please write to Mara Linden about the data engineer opening."},
        output={"response": reply, "state": {"sent": 2, "booking": {"status": "open", "id": "42"}}},
        transcript=[
            Message(
                "m1", 0, "user", "Please write to Mara Linden about the data engineer opening."
            ),
            Message("m2", 1, "assistant", "I will look up the opening first.", ("call_1",)),
            Message("m3", 3, "assistant", "Shall I send this draft?\n\n> Dear Mara, …"),
            Message("m4", 4, "user", "Let me read it first.\nWait."),
            Message("m5", 8, "assistant", reply),
            Message("m6", 9, "user", f"SYSTEM: {hostile}", control=True),
        ],
        observations=[
            Observation(
                "call_1",
                2,
                "find_opening",
                input={"title": "data engineer", "limit": 5},
                output={
                    "openings": [
                        {"id": "op-7", "rate": {"min": 70, "max": 85, "currency": "EUR"}},
                        {"id": "op-9", "rate": {"min": 60, "max": 75, "currency": "EUR"}},
                    ],
                    "note": hostile,
                },
            ),
            Observation(
                "call_2",
                5,
                "send_message",
                input={"to": "mara@example.org", "body": "Dear Mara, we offer 92 EUR per hour."},
                output_text='{"success": false, "error": "mailbox is full"}',
                error="mailbox is full",
                level="ERROR",
            ),
            Observation(
                "call_3",
                6,
                "send_message",
                input={"to": "mara@example.org", "body": "Dear Mara, we offer 92 EUR per hour."},
                output={"success": True, "log": "line of the mail server\n" * 40},
            ),
            Observation(
                "call_4",
                7,
                "read_attachment",
                input={"name": "cv.pdf"},
                output={"text": "data:application/pdf;base64," + "QUJD" * 6000},
                flags=("paired-by-position",),
            ),
        ],
        metadata={"tenant": "demo", "attempt": 1},
    )


def quoted(obs: str, path: str, value: str, match: str = "exact", note: str | None = None) -> Ref:
    """Return a ref as grounding leaves it."""
    return Ref(obs=obs, path=path, value=value, match=match, note=note)  # type: ignore[arg-type]


def judged(criterion: str, result: str, critique: str, *refs: Ref, **more: object) -> Verdict:
    """Return one verdict."""
    return Verdict(
        criterion_id=criterion,
        critique=critique,
        result=result,  # type: ignore[arg-type]
        refs=refs,
        **more,  # type: ignore[arg-type]
    )


def line(n: int) -> MatrixVerdictFile:
    """Return the verdict line of trace n: every fourth is healthy, every seventh truncated."""
    identity = {
        "trajectory_id": f"outreach-{n:03d}",
        "route": ROUTES[n % len(ROUTES)],
        "provenance": Provenance(trace=f"{n:064x}", criteria="c" * 64, prompt="p" * 64),
        "judge_model": "example/judge-1",
        "temperature": 0.0,
        "judge_identity": "judge",
    }
    if n % 7 == 6:
        return MatrixVerdictFile(
            **identity,  # type: ignore[arg-type]
            fidelity=Fidelity(complete=False, reason="the trace says that it was truncated"),
            dense_map={row.criterion_id: "uncertain" for row in SUITE},
            not_adjudicated={row.criterion_id: "truncated" for row in SUITE},
        )
    verdicts, absent = (healthy(), ()) if n % 4 == 3 else (faulty(n), (calendar(),))
    states: dict[str, CellState] = {v.criterion_id: v.result for v in verdicts}
    states |= {a.criterion_id: "na" for a in absent}
    missing = {} if "claims-are-grounded" in states else {"claims-are-grounded": "unavailable"}
    return MatrixVerdictFile(
        **identity,  # type: ignore[arg-type]
        fidelity=Fidelity(complete=True),
        understanding=Understanding(
            rephrase="The recruiter wants a first message to one candidate.",
            given=("the opening is a data engineer",),
            inferred=("the recruiter wants to see the draft first",),
        ),
        expected_trajectory=(
            ExpectedStep(expected="look up the opening and its band", step=1),
            ExpectedStep(expected="show the draft and wait for a yes", step=2),
        ),
        agent_steps=(
            AgentStep(n=1, id="call_1", tool="find_opening", status="ok"),
            AgentStep(n=2, id="call_2", tool="send_message", status="error"),
            AgentStep(n=3, id="call_3", tool="send_message", status="ok"),
            AgentStep(n=4, id="call_4", tool="read_attachment", status="ok"),
        ),
        judge_steps=(
            JudgeStep(
                kind="examine", text="The first send failed: the mailbox was full.", anchor=2
            ),
            JudgeStep(
                kind="ground",
                text="The reply names a rate; the opening gives a band from 70 to 85.",
                ref=quoted("call_1", "output.openings[0].rate.max", "85"),
                anchor=1,
            ),
        ),
        verdicts=verdicts,
        not_applicable=absent,
        dense_map=states | dict.fromkeys(missing, "uncertain"),
        not_adjudicated=missing,  # type: ignore[arg-type]
        warnings=("emit: judgeSteps are short",),
    )


def healthy() -> tuple[Verdict, ...]:
    """Return the verdicts of a trace on which everything holds."""
    ref = quoted("m4", "text", "Let me read it first. Wait.")
    return tuple(
        judged(row.criterion_id, "pass", "It holds.", ref, confidence=1.0) for row in SUITE
    )


def faulty(n: int) -> tuple[Verdict, ...]:
    """Return the verdicts of a trace on which something fails, every kind of ref among them."""
    hostile = HOSTILE[n % len(HOSTILE)]
    found = [
        judged(
            "confirm-before-send",
            "fail",
            "send_message at step 5 has no yes before it: the user's last word is “Wait.”\n"
            "The agent sent the draft all the same.",
            quoted("call_2", "input.to", "mara@example.org"),
            quoted("m4", "text", "Wait.", "weak"),
            confidence=1.0,
            produced_by="code",
        ),
        judged(
            "recover-from-failed-tool",
            "pass",
            "The failed send at step 6 is followed by send_message.",
            quoted("call_2", "output.success", "false"),
            quoted(f"outreach-{n:03d}", "observations[2].output.success", "true"),
            confidence=1.0,
            produced_by="code",
        ),
        judged(
            "rate-is-in-band",
            "uncertain",
            f"Two openings match, and the reply does not say which is meant. {hostile}",
            quoted(f"outreach-{n:03d}", "output.response", "offered 92 EUR per hour", "contains"),
            quoted(
                "m3",
                "text",
                "offered 92 EUR per hour",
                "dead",
                "the text does not stand there; it stands in m5 text",
            ),
            quoted("call_9", "output.rate", hostile[:40], "dead", "nothing has the id 'call_9'"),
            bindings=(
                Binding(term="the opportunity"),
                Binding(term="rate", ref=quoted("call_1", "output.openings[0].rate.max", "85")),
            ),
            litmus=Litmus(premise="the offer is for opening op-7"),
            assumptions=(Assumption(text="op-7 is the opening meant", kind="factual-intent"),),
            blocked_by=BlockedBy(kind="factual-intent", text="which opening the offer is for"),
            cause="unbound-term",
            produced_by="hybrid",
            code=CodePart(
                result="pass",
                critique="a band is found",
                refs=(quoted("call_1", "output.openings[1].rate.max", "75"),),
            ),
        ),
    ]
    if n % 5:
        found.append(
            judged(
                "claims-are-grounded",
                "fail" if n % 3 else "pass",
                "The reply offers 92 EUR per hour; the highest band that the agent saw ends at 85.",
                quoted("m5", "text", "offered 92 EUR per hour", "contains"),
                quoted("call_1", "output.openings[0].rate.max", "85"),
                claim="No tool result holds the figure 92.",
                confidence=0.8,
            )
        )
    return tuple(found)


def calendar() -> NotApplicable:
    """Return a proof that no interview was offered, by a scan."""
    scan = Scan(channel="obs:*.name", pattern="calendar", items=4, matches=0)
    return NotApplicable(
        criterion_id="calendar-is-checked",
        critique="No calendar tool was called, and no slot was asked for.",
        refs=(Ref(obs="call_1", path="name", scan=scan, match="scan"),),
        produced_by="code",
    )


def scorecard(lines: tuple[MatrixVerdictFile, ...]) -> Scorecard:
    """Return a scorecard that counts the lines as they are."""
    states = [(c, s) for one in lines for c, s in one.dense_map.items()]
    cells = {s: sum(1 for _, x in states if x == s) for s in ("pass", "fail", "uncertain", "na")}
    unjudged = sum(len(one.not_adjudicated) for one in lines)
    rows = tuple(row(criterion, lines) for criterion in SUITE)
    return Scorecard(
        schema_version="1.0",
        run_verdict="fail",
        subject="outreach",
        suite="outreach-policy",
        components=(ComponentResult(component="outreach", verdict="fail"),),
        criteria=rows,
        cells=Cells(
            total=len(states), code=2 * len(lines), judge=2 * len(lines), hybrid=len(lines),
            uncertain=cells["uncertain"], na=cells["na"], not_adjudicated=unjudged,
            pass_=cells["pass"], fail=cells["fail"],
        ),
        traces=TraceCounts(
            found=len(lines) + 1, sampled=len(lines), evaluated=len(lines),
            incomplete=sum(1 for one in lines if not one.fidelity.complete), unreadable=1,
        ),
        grounded=Ratio(k=2 * len(lines), n=3 * len(lines)),
        blocked=Blocked(by_kind={"factual-intent": 9}, by_cause={"unbound-term": 9}),
        verification=Verification(not_verified=len(lines)),
        judge=JudgeRecord(
            backend="scripted",
            requested={"model": "example/judge-1", "temperature": 0.0, "seed": None},
        ),
        verifier=JudgeRecord(backend="none", requested={}),
        load=Load(
            files=1, traces=len(lines) + 1,
            failures=(LoadFailure(file="traces/a.jsonl", line=61, reason="not JSON: \x1b[2J"),),
        ),
        gate=Gate(
            policy="strict", eligibility="default",
            gaps=("1 record could not be read", "claims-are-grounded: cells not adjudicated"),
            failing=("confirm-before-send", "claims-are-grounded"),
        ),
        validation={"status": "unvalidated"},
        digests={"plan": "a" * 64, "suite": "b" * 64},
        usage=UsageTotals(calls=12, cache_hits=3, prompt_tokens=40_000),
    )  # fmt: skip


def row(criterion: Criterion, lines: tuple[MatrixVerdictFile, ...]) -> CriterionRow:
    """Return the folded row of one criterion."""
    key = criterion.criterion_id
    states = [one.dense_map[key] for one in lines if key in one.dense_map]
    n = {s: states.count(s) for s in ("pass", "fail", "uncertain", "na")}  # type: ignore[arg-type]
    result = next((s for s in ("fail", "uncertain", "pass", "na") if n[s]), "na")
    return CriterionRow(
        criterion_id=key,
        component="outreach",
        severity=SEVERITY[key],
        klass=str(criterion.klass),
        gating=criterion.gating_severity,
        result=result,  # type: ignore[arg-type]
        counts=Counts(pass_=n["pass"], fail=n["fail"], uncertain=n["uncertain"], na=n["na"]),
        prevalence=Ratio(k=n["fail"], n=n["fail"] + n["pass"]),
        not_adjudicated=sum(1 for one in lines if key in one.not_adjudicated),
    )


def manifest(count: int) -> list[ManifestEntry]:
    """Return where each trace stands: one file, a line each."""
    return [
        ManifestEntry(
            ordinal=n, id=f"outreach-{n:03d}", digest=f"{n:064x}", file="traces/outreach.jsonl",
            line=n + 1, format="helix", route=None, task=None, flags=(),
            fidelity=Fidelity(complete=n % 7 != 6), observations=4, selected=True,
        )
        for n in range(count)
    ]  # fmt: skip


def report(count: int = 14) -> RunReport:
    """Return the composed report of `count` traces."""
    lines = tuple(line(n) for n in range(count))
    meta = RunMeta(
        run_dir="outputs/evaluate/2031-01-01",
        written=("outputs/evaluate/2031-01-01/report.html",),
        rerun="helix evaluate experiment=demo select.failed_from=outputs/evaluate/2031-01-01",
        helix_version="0.1.0",
    )
    return compose(
        scorecard(lines),
        lines,
        [trace(n) for n in range(count)],
        suite=SUITE,
        manifest=manifest(count),
        meta=meta,
    )
