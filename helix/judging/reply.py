"""The one reader of judge replies: parse first, repair only on failure, and say so.

A reply is used only if it holds exactly one JSON object with the request's nonce, in the asked
shape, with every row answered once. Anything else is unusable, with its cause; it is never read
for a verdict (METHOD 40, DESIGN “Reply parsing”). An object copied from the trace has no nonce
and never counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

import msgspec

from helix.grounding.texts import says
from helix.judging.own_object import INVISIBLE, Fault, own_object, trimmed
from helix.model.request import Reply
from helix.model.verdict import (
    Assumption,
    Binding,
    BlockedBy,
    Candidate,
    Cause,
    Context,
    ExpectedStep,
    Fidelity,
    Health,
    JudgeStep,
    Litmus,
    Localize,
    Locus,
    NotApplicable,
    Ref,
    Scan,
    StepKind,
    Understanding,
    Verdict,
)

MAX_REPLY_CHARACTERS = 2_000_000
# As providers spell them; a program or a file may hand on what it was given.
REFUSED = frozenset(
    {"blocklist", "content_filter", "content_filtered", "guardrail_intervened",
     "prohibited_content", "recitation", "refusal", "safety", "spii"}
)  # fmt: skip
CUT_OFF = frozenset(
    {"incomplete", "length", "max_output_tokens", "max_tokens", "model_context_window_exceeded",
     "model_length"}
)  # fmt: skip
S = TypeVar("S")
LOCI = get_args(Locus)
STEP_KINDS = get_args(StepKind)


class _Loose(msgspec.Struct, frozen=True, rename="camel"):
    """The base of a judge's own shapes: fields beyond the schema are ignored."""


class SaidRef(_Loose, frozen=True):
    obs: str
    path: str
    value: str | int | float | bool | None = None
    scan: Scan | None = None


class _Binding(_Loose, frozen=True):
    term: str
    ref: SaidRef | None = None


class _Verdict(_Loose, frozen=True):
    criterion_id: str
    critique: str
    result: str
    claim: str | None = None
    refs: tuple[SaidRef, ...] = ()
    bindings: tuple[_Binding, ...] = ()
    litmus: Litmus | None = None
    assumptions: tuple[Assumption, ...] = ()
    blocked_by: BlockedBy | None = None
    confidence: float | None = None


class _NotApplicable(_Loose, frozen=True):
    criterion_id: str
    critique: str
    refs: tuple[SaidRef, ...] = ()


class _Step(_Loose, frozen=True):
    kind: str
    text: str | None = None
    anchor: int | None = None
    ref: Any = None


class SaidStep(_Loose, frozen=True):
    expected: str
    rationale: str | None = None


class _Understanding(_Loose, frozen=True):
    rephrase: str
    given: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()


class _Context(_Loose, frozen=True):
    harness: str = "unknown"
    scenario: str | None = None
    exit_states: tuple[str, ...] = ()


class _Candidate(_Loose, frozen=True):
    kind: str
    detection: str
    anchor: int | None = None
    ref: Any = None


class _Health(_Loose, frozen=True):
    context_gathered: bool = False
    grounded: bool = False
    assumed: bool = False
    stopped_at_symptom: bool = False


class _Localize(_Loose, frozen=True):
    root: str
    locus: str
    refs: tuple[SaidRef, ...] = ()


class _Fidelity(_Loose, frozen=True):
    complete: bool
    reason: str | None = None


class _Answer(_Loose, frozen=True):
    nonce: str
    verdicts: tuple[_Verdict, ...]
    understanding: _Understanding | None = None
    expected_trajectory: tuple[SaidStep, ...] = ()
    context: _Context | None = None
    judge_steps: tuple[_Step, ...] = ()
    fidelity: _Fidelity = _Fidelity(complete=True)
    not_applicable: tuple[_NotApplicable, ...] = ()
    candidates: tuple[_Candidate, ...] = ()
    localize: _Localize | None = None
    health: _Health | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable reply: verdicts and na entries by row, and the judge's walk."""

    verdicts: dict[str, Verdict]
    not_applicable: dict[str, NotApplicable]
    fidelity: Fidelity
    understanding: Understanding | None
    expected_trajectory: tuple[ExpectedStep, ...]
    context: Context | None
    judge_steps: tuple[JudgeStep, ...]
    candidates: tuple[Candidate, ...]
    localize: Localize | None
    health: Health | None
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Unusable:
    """A reply that holds no verdict: its cause, and what to tell the judge."""

    cause: Cause
    reason: str


def read(reply: Reply, nonce: str, rows: Sequence[str]) -> Answer | Unusable:
    """Return what a reply says of the rows, or why it says nothing."""
    found = object_of(reply, nonce)
    return found if isinstance(found, Unusable) else answer_of(*found, rows)


def answer_of(value: dict[str, Any], repaired: bool, rows: Sequence[str]) -> Answer | Unusable:
    """Return what a reply's object says of the rows, or why it says nothing."""
    try:
        return _answer(value, rows, repaired)
    except Fault as fault:
        return Unusable("malformed", str(fault))


def object_of(reply: Reply, nonce: str) -> tuple[dict[str, Any], bool] | Unusable:
    """Return the one object of a reply and whether it was repaired, or why there is none."""
    ended = (reply.finish_reason or "").strip().lower()
    if ended in REFUSED:
        return Unusable("refusal", f"the judge refused (finish reason {reply.finish_reason})")
    if not trimmed(reply.text):
        text = "the content is empty; if reasoning used it up, raise judge.max_tokens"
        return Unusable("malformed", text)
    if ended in CUT_OFF:
        return Unusable("malformed", "cut off at the output limit; raise judge.max_tokens")
    if len(reply.text) > MAX_REPLY_CHARACTERS:
        return Unusable("malformed", f"longer than {MAX_REPLY_CHARACTERS} characters")
    try:
        return own_object(reply.text, nonce)
    except Fault as fault:
        return Unusable("malformed", str(fault))


def shaped(value: dict[str, Any], kind: type[S]) -> S:
    """Return a reply's object in the asked shape; Fault says where it is not."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeError, RecursionError) as error:
        raise Fault(f"not in the asked shape: {error}") from None


def _answer(value: dict[str, Any], rows: Sequence[str], repaired: bool) -> Answer:
    answer = shaped(value, _Answer)
    if not answer.fidelity.complete:
        return _built(answer, {}, {}, repaired)
    verdicts: dict[str, Verdict] = {}
    excused: dict[str, NotApplicable] = {}
    for verdict in answer.verdicts:
        _once(verdict.criterion_id, rows, {**verdicts, **excused})
        verdicts[verdict.criterion_id] = _verdict(verdict)
    for entry in answer.not_applicable:
        _once(entry.criterion_id, rows, {**verdicts, **excused})
        _written(entry.criterion_id, entry.critique)
        excused[entry.criterion_id] = NotApplicable(
            criterion_id=entry.criterion_id, critique=entry.critique, refs=refs_of(entry.refs)
        )
    missing = [row for row in rows if row not in verdicts and row not in excused]
    if missing:
        raise Fault(f"no verdict for: {', '.join(missing)}")
    return _built(answer, verdicts, excused, repaired)


def _once(criterion: str, rows: Sequence[str], seen: dict[str, Any]) -> None:
    if criterion not in rows:
        raise Fault(f"'{criterion[:80]}' is not one of the rows: {', '.join(rows)}")
    if criterion in seen:
        raise Fault(f"'{criterion}' is answered twice")


def _written(criterion: str, critique: str) -> None:
    if not says(critique):
        raise Fault(f"'{criterion}' has no critique")


def _verdict(raw: _Verdict) -> Verdict:
    label = "".join(c for c in raw.result if c not in INVISIBLE).strip().lower()
    if label not in ("pass", "fail", "uncertain"):
        raise Fault(
            f"'{raw.criterion_id}': result must be pass, fail or uncertain "
            f"(got {raw.result[:40]!r})"
        )
    _written(raw.criterion_id, raw.critique)
    if raw.confidence is not None and not 0 <= raw.confidence <= 1:
        raise Fault(f"'{raw.criterion_id}': confidence must be between 0 and 1")
    return Verdict(
        criterion_id=raw.criterion_id,
        critique=raw.critique,
        result=label,  # type: ignore[arg-type]
        confidence=raw.confidence,
        claim=raw.claim,
        refs=refs_of(raw.refs),
        bindings=tuple(
            Binding(term=b.term, ref=None if b.ref is None else refs_of((b.ref,))[0])
            for b in raw.bindings
        ),
        litmus=raw.litmus,
        assumptions=raw.assumptions,
        blocked_by=raw.blocked_by,
    )


def refs_of(refs: Sequence[SaidRef]) -> tuple[Ref, ...]:
    return tuple(Ref(obs=r.obs, path=r.path, value=_cited(r.value), scan=r.scan) for r in refs)


def _aside(ref: Any) -> Ref | None:
    """Return the ref of a side remark, none where it is in another shape: it decides nothing."""
    try:
        return None if ref is None else refs_of((msgspec.convert(ref, SaidRef),))[0]
    except msgspec.ValidationError:
        return None


def _cited(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _built(
    answer: _Answer,
    verdicts: dict[str, Verdict],
    excused: dict[str, NotApplicable],
    repaired: bool,
) -> Answer:
    found = answer.localize
    return Answer(
        verdicts=verdicts,
        not_applicable=excused,
        fidelity=_as(answer.fidelity, Fidelity),
        understanding=_as(answer.understanding, Understanding),
        expected_trajectory=tuple(_as(step, ExpectedStep) for step in answer.expected_trajectory),
        context=_as(answer.context, Context),
        judge_steps=tuple(
            JudgeStep(
                kind=_among(s.kind, STEP_KINDS, "examine"),
                text=s.text,
                anchor=s.anchor,
                ref=_aside(s.ref),
            )
            for s in answer.judge_steps
        ),
        candidates=tuple(
            Candidate(
                kind=_among(c.kind, ("eval", "dataset"), "eval"),
                detection=c.detection,
                anchor=c.anchor,
                ref=_aside(c.ref),
            )
            for c in answer.candidates
        ),
        localize=None
        if found is None
        else Localize(
            root=found.root, locus=_among(found.locus, LOCI, "skill"), refs=refs_of(found.refs)
        ),
        health=_as(answer.health, Health),
        repaired=repaired,
    )


def _as(loose: Any, shape: Any) -> Any:
    return None if loose is None else shape(**msgspec.structs.asdict(loose))


def _among(word: str, known: Sequence[str], otherwise: str) -> Any:
    """Keep a side remark whose label is not one of ours under the plainest of ours."""
    return word if word in known else otherwise
