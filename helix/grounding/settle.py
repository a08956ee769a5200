"""The floor under every judged verdict: bound, evidenced, free of unverified premises.

Nothing here makes a verdict better. A decided verdict that does not stand becomes uncertain,
with the cause that code gives it (METHOD 4–12, 46).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from helix.grounding.bind import bind, lacking
from helix.grounding.ground import Ground
from helix.grounding.resolve import all_weak, dead
from helix.grounding.texts import fold, says
from helix.model.verdict import (
    Assumption,
    BlockedBy,
    BlockKind,
    Cause,
    NotApplicable,
    Ref,
    Verdict,
)

NO_PREMISE = ("", "none")
_IN_GENERAL = "what people vouch for in general shows nothing that happened here"


def resolved(verdict: Verdict, ground: Ground) -> Verdict:
    """Return the verdict with refs and bindings resolved, its result untouched.

    An assumption is verified only as a premise that people vouch for; what a judge alone calls
    verified is unverified (METHOD 7).
    """
    bindings = tuple(
        b if b.ref is None else msgspec.structs.replace(b, ref=ground.resolved([b.ref])[0])
        for b in verdict.bindings
    )
    refs = ground.resolved(verdict.refs)
    assumptions = tuple(_as_vouched(assumption, ground) for assumption in verdict.assumptions)
    return msgspec.structs.replace(verdict, refs=refs, bindings=bindings, assumptions=assumptions)


def complaints(verdict: Verdict, terms: Sequence[str], ground: Ground) -> list[str]:
    """Return what a re-prompt should name: what is missing, and what does not resolve."""
    if verdict.result == "uncertain":
        told = _is_blocked(verdict)
        return [] if told else ["an uncertain verdict needs blockedBy {kind, text}"]
    found: list[str] = []
    verdict = bind(verdict, terms, ground)
    missing = lacking(verdict, terms)
    if missing:
        found.append(f"bindings lack the terms: {', '.join(missing)}")
    if verdict.blocked_by is not None:
        found.append("blockedBy belongs to an uncertain verdict only")
    if not verdict.refs:
        found.append("a decided verdict needs at least one ref")
    elif not ground.tells_of_trace(verdict.refs):
        found.append(f"a decided verdict needs a ref of the recording: {_IN_GENERAL}")
    if not says(verdict.claim):
        found.append("a decided verdict needs a claim: one factual sentence that the refs show")
    if verdict.litmus is None:
        found.append("a decided verdict needs a litmus {premise, groundedBy}")
    bound_refs = [b.ref for b in verdict.bindings if b.ref is not None]
    for ref in dead([*verdict.refs, *bound_refs]):
        found.append(f"ref {ref.obs} {ref.path}: {ref.note}")
    premise = _premise(verdict)
    if premise and not _is_grounded(verdict, ground):
        found.append(
            f"the litmus premise '{premise[:80]}' is grounded by nothing: groundedBy must be the "
            "id of a message, a step or the recording that a ref of this verdict cites, of a "
            "premise that people vouch for, or a channel declared complete"
        )
    return found


def settle(verdict: Verdict, terms: Sequence[str], ground: Ground) -> Verdict:
    """Return the verdict as it may stand, bound: as given, or uncertain with its cause."""
    verdict = bind(verdict, terms, ground)
    if verdict.result == "uncertain":
        return _abstention(verdict, terms)
    for cause, kind, text in _faults(verdict, terms, ground):
        return uncertain(verdict, cause, kind, text)
    return verdict


def settle_na(entry: NotApplicable, ground: Ground) -> NotApplicable | Verdict:
    """Return a judge's na if its proof resolves, else an uncertain verdict, kind scope."""
    refs = ground.resolved(entry.refs)
    unread = any(not ground.shows(ref) for ref in refs if ref.match != "dead")
    if refs and not dead(refs) and not all_weak(refs) and not unread:
        return msgspec.structs.replace(entry, refs=refs)
    return Verdict(
        criterion_id=entry.criterion_id,
        critique=entry.critique,
        result="uncertain",
        refs=refs,
        code=entry.code,
        produced_by=entry.produced_by,
        blocked_by=BlockedBy(kind="scope", text="it was said not to apply, and not proved"),
        cause="dead-ref" if dead(refs) else "unread" if unread else "not-decidable",
    )


def uncertain(verdict: Verdict, cause: Cause, kind: BlockKind | None, text: str) -> Verdict:
    """Return the verdict as an abstention; a machinery cause has no kind (METHOD 8)."""
    return msgspec.structs.replace(
        verdict,
        result="uncertain",
        confidence=None,
        confidence_band=None,
        cause=cause,
        blocked_by=None if kind is None else BlockedBy(kind=kind, text=text),
    )


def _is_blocked(verdict: Verdict) -> bool:
    """Whether an abstention says what it waits for, in words that somebody can act on."""
    return verdict.blocked_by is not None and says(verdict.blocked_by.text)


def _abstention(verdict: Verdict, terms: Sequence[str]) -> Verdict:
    if not _is_blocked(verdict):
        return uncertain(verdict, "malformed", None, "")
    unbound = any(b.ref is None for b in verdict.bindings if b.term in terms)
    cause: Cause = "unbound-term" if unbound else "not-decidable"
    return msgspec.structs.replace(verdict, cause=cause, confidence=None, confidence_band=None)


def _faults(
    verdict: Verdict, terms: Sequence[str], ground: Ground
) -> Iterator[tuple[Cause, BlockKind | None, str]]:
    for binding in verdict.bindings:
        if binding.ref is None:
            text = f"'{binding.term}' has no referent in this trace"
            yield "unbound-term", "factual-intent", text
        elif binding.ref.match == "dead":
            note = binding.ref.note or "does not resolve"
            yield "dead-ref", "factual-intent", f"the referent of '{binding.term}': {note}"
    if not verdict.refs or verdict.blocked_by is not None or lacking(verdict, terms):
        yield "malformed", None, ""
    if not says(verdict.claim) or verdict.litmus is None:
        yield "malformed", None, ""
    for ref in dead(verdict.refs):
        yield "dead-ref", "factual-intent", f"{ref.obs} {ref.path}: {ref.note}"
    for ref in _cited(verdict):
        if not ground.shows(ref):
            text = f"{ref.obs} {ref.path} was not shown to the judge"
            yield "unread", "factual-intent", text
    if not ground.tells_of_trace(verdict.refs):
        yield "not-decidable", "factual-intent", f"nothing of the trace is cited: {_IN_GENERAL}"
    for assumption in verdict.assumptions:
        if assumption.status != "verified":
            yield "not-decidable", assumption.kind, assumption.text
    premise = _premise(verdict)
    if premise and not _is_grounded(verdict, ground):
        yield "not-decidable", "factual-intent", premise
    elif premise and _named_channel(verdict, ground) and not ground.covers(_named(verdict)):
        yield "unread", "factual-intent", f"{_named(verdict)} was not shown whole to the judge"
    if all_weak(verdict.refs) and not ground.verified:
        text = "the cited words are too short or too common to identify evidence"
        yield "not-decidable", "factual-intent", text


def _premise(verdict: Verdict) -> str:
    """Return the premise that the verdict still needs, empty where it needs none."""
    text = verdict.litmus.premise.strip() if verdict.litmus is not None else ""
    return "" if text.rstrip(".").casefold() in NO_PREMISE else text


def _is_grounded(verdict: Verdict, ground: Ground) -> bool:
    """Whether the premise stands on a place that the verdict cites, a vouched premise or a channel.

    An id that nothing is cited of shows nothing: every trace has one.
    """
    if _named_channel(verdict, ground) or any(_named(verdict) == p.id for p in ground.premises):
        return True
    strong = ("exact", "contains", "scan")
    return any(ref.obs == _named(verdict) for ref in _cited(verdict) if ref.match in strong)


def _named_channel(verdict: Verdict, ground: Ground) -> bool:
    return _named(verdict) in ground.complete_channels


def _named(verdict: Verdict) -> str:
    return ((verdict.litmus.grounded_by if verdict.litmus else None) or "").strip()


def _cited(verdict: Verdict) -> Iterator[Ref]:
    yield from verdict.refs
    yield from (b.ref for b in verdict.bindings if b.ref is not None)


def _as_vouched(assumption: Assumption, ground: Ground) -> Assumption:
    if assumption.status != "verified":
        return assumption
    if any(fold(premise.text) == fold(assumption.text) for premise in ground.premises):
        return assumption
    return msgspec.structs.replace(assumption, status="unverified")
