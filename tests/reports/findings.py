"""A synthetic discovery to report on: every state, every way a kind can go, and hostile text."""

from __future__ import annotations

from typing import Any

from helix.discover.fixtures import Fixture
from helix.discover.saturation import curve
from helix.model.criterion import CodeEval, Criterion, Discovery, Evidence, Prevalence, RefSpec
from helix.model.discovery import (
    Category,
    Detection,
    Determination,
    DeterminedBy,
    DiscoveryRecord,
    MinedRow,
    Triage,
)
from helix.model.manifest import LoadFailure
from helix.model.preference import Preference
from helix.model.verdict import Assumption, BlockedBy, Ref
from helix.reports.discovery import DiscoveryReport, compose
from helix.reports.run import RunMeta
from tests.reports.sample import HOSTILE, manifest, quoted, trace

NASTY = f"kind {HOSTILE[1]} {HOSTILE[3]}"
SENT = quoted("call_2", "input.to", "mara@example.org")
GONE = Ref(obs="call_9", path="x", value="no", match="dead")
BY = DeterminedBy(model="example/reader-1", temperature=0.0, identity="determiner", reviewer="r1")
META = RunMeta(
    run_dir="run", duration_s=2.0, started_at="2026-03-02T00:00:00+00:00", helix_version="0.1.0"
)


def detected(kind: str, *refs: Ref, **more: Any) -> Detection:
    more = {"lens": "off-path", "text": f"{kind} was seen", **more}
    return Detection(kind=kind, refs=refs, **more)


def determined(n: int, verdict: str, *found: Detection, **more: Any) -> Determination:
    return Determination(
        trace_id=f"outreach-{n:03d}",
        trace_digest=more.pop("digest", f"{n:064x}"),
        verdict=verdict,  # type: ignore[arg-type]
        detections=found,
        **more,
    )


def determinations() -> tuple[Determination, ...]:
    """Return seven traces: two by code, the rest read, in part, waited for, or cut off."""
    read: dict[str, Any] = {"produced_by": "determiner", "determined_by": BY}
    twice = detected("sent twice", SENT, detector="duplicate")
    return (
        determined(0, "fail", twice, root_cause=HOSTILE[0], refs=(SENT,)),
        determined(
            1, "fail", twice, detected(NASTY, GONE),
            detected("led", SENT, root=False, led_by=NASTY), goal=HOSTILE[1], happened=HOSTILE[2],
            critique=HOSTILE[5], warnings=(f"asked again: {HOSTILE[3]}",),
            assumptions=(Assumption(text=HOSTILE[4], kind="normative"),), **read,
        ),
        determined(2, "fail", detected(NASTY), whole=False, **read),
        determined(3, "pass", twice, detected("no tool", SENT, route="fix"), **read),
        determined(
            4, "uncertain", detected("down", SENT, route="infrastructure", detector="tool-failure"),
            cause="not-decidable", blocked_by=BlockedBy(kind="normative", text=HOSTILE[4]), **read,
        ),
        determined(5, "uncertain", cause="unread"),
        determined(6, "uncertain", cause="truncated", outcome="the trace says that it was cut"),
    )  # fmt: skip


def category(name: str, k: int, route: str = "eval", *detectors: str, **more: Any) -> Category:
    return Category(
        name=name,
        definition=f"{name} is seen",
        lens="off-path",
        klass="code" if detectors else "judge",
        fix_or_eval=route,  # type: ignore[arg-type]
        example_trace_ids=(),
        k=k,
        n=6,
        detectors=detectors,
        kinds=(" ".join(name.casefold().split()) if not detectors else name,),
        **more,
    )


def mined(name: str, identity: str, grounding: str, *fires: str) -> tuple[MinedRow, Criterion]:
    klass = "code" if fires else "judge"
    row = MinedRow(
        criterion_id=identity,
        category=name,
        statement=f"Pass = nothing is {name}.",
        klass=klass,
        severity="MED",
        grounding=grounding,
        k=2,
        n=6,
        detector="duplicate" if fires else None,
        fires=fires,
        passes=("outreach-005",) if fires else (),
        held_out=bool(fires),
    )
    criterion = Criterion(
        criterion_id=identity,
        statement=row.statement,
        severity="MED",
        klass=klass,  # type: ignore[arg-type]
        code_eval=CodeEval(primitive="duplicate-writes") if fires else None,
        discovery=Discovery(
            grounding=grounding,  # type: ignore[arg-type]
            evidence=Evidence(refs=(RefSpec(obs="call_2", path="input.to", value=HOSTILE[1]),)),
            prevalence=Prevalence(k=2, n=6),
        ),
    )
    return row, criterion


def record(**fields: Any) -> DiscoveryRecord:
    rows = tuple(row for row, _ in MINED)
    known: dict[str, Any] = {
        "subject": f"outreach {HOSTILE[1]}",
        "purpose": HOSTILE[3],
        "tools": (),
        "routes": {},
        "judge": "dispatch",
        "model": "example/reader-1",
        "preferences": ("writes-in-English",),
        "sampling": {"strategy": "all"},
        "triage": Triage(
            found=9, unreadable=1, sampled=7, cut_off=1, examined=6, read=4, pending=1, fail=3,
            passed=1, uncertain=2,
        ),
        "categories": (category("sent twice", 2, "eval", "duplicate"), category(NASTY, 2)),
        "folded": (
            category("no tool", 1, "fix"),
            category("down", 1, "infrastructure", "tool-failure"),
        ),
        "symptoms": ("led",),
        "criteria": rows,
        "window": 3,
        "saturated_at": 5,
        "stopped": True,
        "usage": None,
        "detectors": {"duplicate": 2, "loop": 1, "tool-failure": 1},
    }  # fmt: skip
    return DiscoveryRecord(**{**known, **fields})


MINED = (
    mined("sent twice", "sent-twice", "observed", "outreach-000", "outreach-001"),
    mined(NASTY, "nasty", "inferred"),
)


def discovery(**fields: Any) -> DiscoveryReport:
    """Return the report of the synthetic discovery; `fields` are those of its record."""
    return compose(
        record(**fields),
        determinations(),
        {f"outreach-{n:03d}": trace(n) for n in range(6)},
        suite=tuple(criterion for _, criterion in MINED),
        fixtures=[Fixture("sent-twice", "outreach-000", "outreach-005", True)],
        curve=curve([["a"], ["b"], [], [], []], 3),
        manifest=manifest(7),
        unread=[LoadFailure(file=f"traces/{HOSTILE[3]}", line=3, reason=HOSTILE[0])],
        preferences=[Preference(name="writes-in-English", digest="d" * 64, text=HOSTILE[1])],
        after=("Next: read on",),
        meta=META,
    )
