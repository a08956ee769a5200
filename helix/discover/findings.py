"""From norms that were broken to what code says of each trace: one norm per root (METHOD 49–51)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from helix.discover import arguments, failing, orders
from helix.discover.norms import Detector, Examined, Norm, Trial, tried
from helix.grounding import resolve_refs
from helix.model.discovery import Detection, Determination
from helix.model.trace import Trace
from helix.model.verdict import MACHINERY_CAUSES, Assumption, BlockedBy, Ref
from helix.registry import Registry

DETECTORS: tuple[Detector, ...] = (
    *failing.DETECTORS,
    *arguments.DETECTORS,
    *orders.DETECTORS,
)
WRONG_ARGUMENTS = ("malformed-argument", "missing-referent", "missing-argument")
LED = {
    "missing-referent": ("malformed-argument",),
    "tool-failure": WRONG_ARGUMENTS,
    "unrecovered-failure": WRONG_ARGUMENTS,
}
"""Whose finding follows from whose, where both are about one call."""
MOST_REFS, MOST_STEPS, LONGEST = 6, 20, 200
HABIT = "what most traces do is what every trace should do"
"""The same words for any batch: what people say of an assumption is known by its text."""
UNREAD = "code detected nothing, and nobody has read the trace"


def mined(examined: Examined, registry: Registry) -> list[Trial]:
    """Return the trials of every norm that the traces suggest, in the order of the detectors."""
    norms = [norm for detector in DETECTORS for norm in detector(examined)]
    return tried(norms, examined, registry)


def roots(trials: Iterable[Trial]) -> list[Trial]:
    """Return the broken norms that stand out, one for each root.

    Of norms about one thing the one that is broken most often is taken, then the simplest; of
    norms of one detector that are broken together one is enough (METHOD 51).
    """
    broken = [trial for trial in trials if trial.fails and trial.holds]
    order = {id(trial): at for at, trial in enumerate(broken)}
    ranked = sorted(
        broken, key=lambda t: (-len(t.fails), t.norm.weight, t.norm.route or "", order[id(t)])
    )
    kept: list[Trial] = []
    for trial in ranked:
        if not any(_covers(other, trial) for other in kept):
            kept.append(trial)
    return sorted(kept, key=lambda trial: order[id(trial)])


def _covers(kept: Trial, trial: Trial) -> bool:
    same = kept.norm.about == trial.norm.about
    alike = kept.norm.detector == trial.norm.detector and kept.norm.to == trial.norm.to
    return (same or alike) and trial.fails.keys() <= kept.fails.keys()


def detections(trace: Trace, kept: Sequence[Trial]) -> tuple[Detection, ...]:
    """Return what the norms that a trace breaks say of it, roots told from what they led to."""
    found = [(t, _refs(trace, t.fails[trace.id].refs)) for t in kept if trace.id in t.fails]
    return tuple(
        _detection(trial, trace, refs, _leader(trial, refs, found)) for trial, refs in found
    )


def _leader(
    trial: Trial, refs: Sequence[Ref], found: Sequence[tuple[Trial, Sequence[Ref]]]
) -> Norm | None:
    steps = {ref.obs for ref in refs if ref.scan is None}
    for other, theirs in found:
        leads = other.norm.detector in LED.get(trial.norm.detector, ())
        if leads and any(ref.scan is None and ref.obs in steps for ref in theirs):
            return other.norm
    return None


def _refs(trace: Trace, refs: Sequence[Ref]) -> tuple[Ref, ...]:
    """Return the refs that resolve where they point."""
    resolved = resolve_refs(trace, refs)
    return tuple(ref for ref in resolved if ref.match != "dead")[:MOST_REFS]


def _detection(trial: Trial, trace: Trace, refs: tuple[Ref, ...], led_by: Norm | None) -> Detection:
    norm = trial.norm
    assumptions = []
    if norm.strength == "habit":
        assumptions.append(Assumption(text=HABIT, kind="normative"))
    if led_by is not None:
        text = f"'{led_by.kind}' in the same call led to this"
        assumptions.append(Assumption(text=text, kind="factual-intent"))
    return Detection(
        lens=norm.lens,
        kind=norm.kind,
        text=f"{norm.fault}: {trial.fails[trace.id].detail}",
        refs=refs,
        assumptions=tuple(assumptions),
        detector=norm.detector,
        root=led_by is None,
        led_by=None if led_by is None else led_by.kind,
        route=norm.to,
    )


def determined(trace: Trace, kept: Sequence[Trial]) -> Determination:
    """Return what code says of a whole trace: fail where it found a fault, else undecided.

    That nothing was detected is no pass: nobody has read what code cannot see (METHOD 14).
    """
    found = detections(trace, kept)
    faults = [d for d in found if d.root and d.route == "eval"]
    common = {
        "trace_id": trace.id,
        "trace_digest": trace.source.digest,
        "detections": found,
        "goal": _goal(trace),
        "happened": _happened(trace),
        "outcome": _outcome(trace),
    }
    if not faults:
        return Determination(
            verdict="uncertain",
            cause="unread",
            blocked_by=BlockedBy(kind="scope", text=UNREAD),
            **common,  # type: ignore[arg-type]
        )
    first = faults[0]
    return Determination(
        verdict="fail",
        root_cause=first.text,
        refs=first.refs,
        evidence_pointer=first.refs[0].obs if first.refs else None,
        **common,  # type: ignore[arg-type]
    )


def cut_off(trace: Trace, reason: str) -> Determination:
    """Return the determination of a trace that is set aside as a fault of its recording."""
    return Determination(
        trace_id=trace.id,
        trace_digest=trace.source.digest,
        verdict="uncertain",
        cause="truncated",
        outcome=reason,
    )


def _goal(trace: Trace) -> str | None:
    """Return the beginning of what the agent was asked, as it was recorded."""
    asked = trace.input.get("prompt") if isinstance(trace.input, dict) else trace.input
    return asked[:LONGEST] if isinstance(asked, str) and asked else None


def _happened(trace: Trace) -> str | None:
    """Return the tools in the order of their calls, repeats counted."""
    runs = [(name, len(list(calls))) for name, calls in groupby(c.name for c in trace.tools())]
    told = [name if count == 1 else f"{name} × {count}" for name, count in runs]
    more = f" and {len(told) - MOST_STEPS} more" if len(told) > MOST_STEPS else ""
    return ", ".join(told[:MOST_STEPS]) + more if told else None


def _outcome(trace: Trace) -> str | None:
    response = trace.output.get("response") if isinstance(trace.output, dict) else trace.output
    return response[:LONGEST] if isinstance(response, str) and response else None


def merged(code: Determination, said: Determination | None) -> Determination:
    """Return code's determination and a determiner's as one: who read the trace decides.

    Where the determiner could not decide, or gave no answer that could be used, code's fail
    stands. Code's detections are kept beside its own.
    """
    if said is None or code.cause == "truncated":
        return code
    if said.cause in MACHINERY_CAUSES and code.verdict == "fail":
        return msgspec.structs.replace(code, warnings=said.warnings)
    verdict = said
    if said.verdict == "uncertain" and code.verdict == "fail":
        verdict = msgspec.structs.replace(
            said, verdict="fail", cause=None, blocked_by=None, root_cause=code.root_cause,
            refs=code.refs, evidence_pointer=code.evidence_pointer, produced_by="code",
        )  # fmt: skip
    return msgspec.structs.replace(verdict, detections=(*code.detections, *said.detections))
