"""The floor under every judged verdict: bound, evidenced, free of unverified premises.

Nothing here makes a verdict better. A decided verdict that does not stand becomes uncertain,
with the cause that code gives it (METHOD 4–12, 46).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from helix.fieldpath import parse
from helix.grounding.resolve import all_weak, dead, resolve_refs
from helix.model.select import select
from helix.model.trace import Trace
from helix.model.verdict import (
    BlockedBy,
    BlockKind,
    Cause,
    NotApplicable,
    Ref,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Ground:
    """What verdicts of one trace are grounded against."""

    trace: Trace
    complete_channels: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()
    verified: bool = False


def resolved(verdict: Verdict, ground: Ground) -> Verdict:
    """Return the verdict with every ref and binding resolved, its result untouched."""
    channels = ground.complete_channels
    bindings = tuple(
        b
        if b.ref is None
        else msgspec.structs.replace(
            b, ref=resolve_refs(ground.trace, [b.ref], complete_channels=channels)[0]
        )
        for b in verdict.bindings
    )
    refs = resolve_refs(ground.trace, verdict.refs, complete_channels=channels)
    return msgspec.structs.replace(verdict, refs=refs, bindings=bindings)


def complaints(verdict: Verdict, terms: Sequence[str]) -> list[str]:
    """Return what a re-prompt should name: missing refs, dead refs, terms left unbound silently."""
    if verdict.result == "uncertain":
        blocked = verdict.blocked_by is not None
        return [] if blocked else ["an uncertain verdict needs blockedBy {kind, text}"]
    found: list[str] = []
    bound = {b.term for b in verdict.bindings}
    missing = [t for t in terms if t not in bound]
    if missing:
        found.append(f"bindings lack the terms: {', '.join(missing)}")
    if verdict.blocked_by is not None:
        found.append("blockedBy belongs to an uncertain verdict only")
    if not verdict.refs:
        found.append("a decided verdict needs at least one ref")
    bound_refs = [b.ref for b in verdict.bindings if b.ref is not None]
    for ref in dead([*verdict.refs, *bound_refs]):
        found.append(f"ref {ref.obs} {ref.path}: {ref.note}")
    return found


def settle(verdict: Verdict, terms: Sequence[str], ground: Ground) -> Verdict:
    """Return the verdict as it may stand: unchanged, or uncertain with its cause."""
    if verdict.result == "uncertain":
        return _abstention(verdict, terms)
    for cause, kind, text in _faults(verdict, terms, ground):
        return uncertain(verdict, cause, kind, text)
    return verdict


def settle_na(entry: NotApplicable, ground: Ground) -> NotApplicable | Verdict:
    """Return a judge's na if its proof resolves, else an uncertain verdict, kind scope."""
    refs = resolve_refs(ground.trace, entry.refs, complete_channels=ground.complete_channels)
    unread = any(_is_unread(ref, ground) for ref in refs if ref.match != "dead")
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


def _abstention(verdict: Verdict, terms: Sequence[str]) -> Verdict:
    if verdict.blocked_by is None:
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
    bound = {binding.term for binding in verdict.bindings}
    if not verdict.refs or verdict.blocked_by is not None or not bound.issuperset(terms):
        yield "malformed", None, ""
    for ref in dead(verdict.refs):
        yield "dead-ref", "factual-intent", f"{ref.obs} {ref.path}: {ref.note}"
    for ref in (*verdict.refs, *(b.ref for b in verdict.bindings if b.ref is not None)):
        if _is_unread(ref, ground):
            text = f"{ref.obs} {ref.path} was not shown whole to the judge"
            yield "unread", "factual-intent", text
    for assumption in verdict.assumptions:
        if assumption.status != "verified":
            yield "not-decidable", assumption.kind, assumption.text
    litmus = verdict.litmus
    if litmus is not None and litmus.premise.strip() and not (litmus.grounded_by or "").strip():
        yield "not-decidable", "factual-intent", litmus.premise
    if all_weak(verdict.refs) and not ground.verified:
        text = "the cited words are too short or too common to identify evidence"
        yield "not-decidable", "factual-intent", text


def _is_unread(ref: Ref, ground: Ground) -> bool:
    """Whether a ref rests on what the judge was not shown, however its address is spelled."""
    trace, unread = ground.trace, ground.unread
    if not unread or ref.obs != trace.id or ref.scan is not None:
        return ref.obs in unread or (ref.scan is not None and bool(unread))
    for place in select(trace, parse(ref.path)):
        own = f"{trace.id} {place.path}"
        if place.obs in unread or own in unread:
            return True
        if place.obs == trace.id and place.path.startswith(("observations", "transcript")):
            return True
        if any(name.startswith((f"{own}.", f"{own}[")) for name in unread):
            return True
    return False
