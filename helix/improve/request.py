"""Change requests: what fails, in the words and with the evidence of the verdicts (METHOD 74, 75).

Helix requests and never edits the subject. What cannot be grounded is refused here, and sorted to
calibration before it comes to that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from helix.improve.spread import Answer, Cell, Spread
from helix.model.criterion import Record
from helix.model.improvement import IMPROVEMENT_SCHEMA_VERSION, SubjectMark, Target
from helix.model.verdict import Locus, Ref, Scan

Kind = Literal["failing", "flapping", "undecided"]
TARGET_OF: dict[Locus, Target] = {
    "prompt": "agentspec",
    "skill": "agentspec",
    "tool": "impl",
    "context": "impl",
    "capture": "impl",
}
WORDS: dict[Target, str] = {
    "agentspec": "the agent's specification (its prompt, skill or instructions)",
    "impl": "the agent's implementation (its code, tools or what it is given)",
}
_EVIDENCE_FIRST = ("fail", "uncertain", "na")


def _unicode(value: Any) -> Any:
    """Spell out lone surrogates, which no file can hold, as every digest does."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


Text = Annotated[str, BeforeValidator(_unicode)]


class ScanEvidence(Record):
    """A complete look at one channel that found nothing, or not enough (METHOD 4)."""

    channel: Text
    """The field path of every place that was looked at."""
    pattern: Text
    """The RE2 expression that was looked for; empty is anything at all."""
    items: int
    """How many values were looked at."""
    matches: int
    """How many of them matched."""


class Evidence(Record):
    """One ref of a verdict that resolves."""

    obs: Text
    """The id of the observation, message or trace that owns the value."""
    path: Text
    """The field path inside it."""
    value: Text | None = None
    """The text that is cited; null where `scan` cites an absence."""
    scan: ScanEvidence | None = None
    """The look that found nothing, or not enough; null where a value is cited."""
    note: Text | None = None
    """What the judge says of it; null for nothing."""


class FailingCase(Record):
    """One cell that has to change."""

    case: Text = Field(min_length=1)
    """The id of the case."""
    criterion_id: Text = Field(min_length=1)
    statement: Text = ""
    kind: Kind
    """flapping passes in some runs of the agent and not in others."""
    bad: int = Field(ge=0)
    """Fresh runs of the case that did not pass."""
    runs: int = Field(ge=1)
    """Fresh runs of the case."""
    trace_id: Text
    trace_file: Text
    """The file that holds the trace."""
    critique: Text
    """The verdict's critique, verbatim."""
    refs: tuple[Evidence, ...]
    """The verdict's evidence; at least one place."""

    @field_validator("critique")
    @classmethod
    def _said(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must be the verdict's critique (got nothing)")
        return value

    @field_validator("refs")
    @classmethod
    def _grounded(cls, value: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        if not value:
            raise ValueError("must hold at least one ref (got none): a request rests on evidence")
        return value


class ProposedRemedy(Record):
    """What might mend it. Nobody has tried it, and it says so."""

    status: Literal["hypothesis"] = "hypothesis"
    """hypothesis, always."""
    text: Text = Field(min_length=1)
    """What might mend it."""


class Rejected(Record):
    """An earlier request of this swing that the engineer would not carry out."""

    request: str
    """Its id."""
    remedy_target: Target
    """What it asked to be amended."""
    note: Text
    """Why it was rejected."""


class ChangeRequest(Record):
    """What the loop asks of whoever amends the subject, as a file that can be acted on alone."""

    schema_version: str = IMPROVEMENT_SCHEMA_VERSION
    id: str = Field(pattern=r"^[a-z0-9-]+$")
    """What the response names."""
    subject: Text
    """The agent's name."""
    subject_version: str | None = None
    """Its version as it was measured; null where nobody said it."""
    subject_files: tuple[str, ...] = ()
    """Globs of the files that tell whether it has changed."""
    swing: int = Field(ge=1)
    """The round of the loop, from 1."""
    remedy_target: Target
    """What is to be amended: the agent's specification or its implementation."""
    proposed_remedy: ProposedRemedy
    """What might mend it."""
    failing_cases: tuple[FailingCase, ...] = Field(min_length=1)
    """The cells that have to change."""
    rejected: tuple[Rejected, ...] = ()
    """What was asked for before in this round, in vain."""
    answer: Text
    """The path of the file that is to hold the response, a change-response."""


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A cell that is nobody's to amend yet, and why: it goes to calibration (METHOD 9, 63)."""

    case: str
    criterion: str
    flaps: bool


@dataclass(frozen=True, slots=True)
class Sorted:
    """The cells of a spread that do not pass, by who can do something about them."""

    failing: tuple[tuple[Cell, Answer], ...]
    calibration: tuple[Uncertain, ...]


def sort(spread: Spread) -> Sorted:
    """Sort cells: grounded ones to the engineer, a flapping judge and groundless ones to people.

    A cell whose variance nobody can explain goes to neither.
    """
    failing: list[tuple[Cell, Answer]] = []
    calibration: list[Uncertain] = []
    for cell in spread.cells:
        states = {answer.state for answer in cell.answers}
        if cell.source == "unclear" or (cell.source == "steady" and states <= {"pass", "na"}):
            continue
        if cell.source == "judge":
            calibration.append(Uncertain(cell.case, cell.criterion, flaps=True))
        elif (answer := _evidence(cell)) is not None:
            failing.append((cell, answer))
        else:
            calibration.append(Uncertain(cell.case, cell.criterion, flaps=False))
    return Sorted(tuple(failing), tuple(calibration))


def target_of(failing: Sequence[tuple[Cell, Answer]], rejected: Sequence[Target]) -> Target:
    """Return what is to be amended: where most failures come from, what was rejected left out.

    The specification where no verdict says where a failure comes from.
    """
    votes = Counter(TARGET_OF[answer.locus] for _, answer in failing if answer.locus is not None)
    ranked = sorted(WORDS, key=lambda target: -votes[target])
    return next(target for target in ranked if target not in rejected)


def compose(
    *,
    number: int,
    swing: int,
    subject: str,
    mark: SubjectMark,
    files: Sequence[str],
    failing: Sequence[tuple[Cell, Answer]],
    statements: dict[str, str],
    rejected: Sequence[Rejected],
    answer: str,
) -> ChangeRequest:
    """Return the request for these cells; ValidationError where one of them is not grounded."""
    target = target_of(failing, [earlier.remedy_target for earlier in rejected])
    cases = [_case(cell, found, statements.get(cell.criterion, "")) for cell, found in failing]
    return ChangeRequest(
        id=f"swing-{swing}-request-{number}",
        subject=subject,
        subject_version=mark.version,
        subject_files=tuple(files),
        swing=swing,
        remedy_target=target,
        proposed_remedy=ProposedRemedy(text=_remedy(target, cases, failing)),
        failing_cases=tuple(cases),
        rejected=tuple(rejected),
        answer=answer,
    )


def _evidence(cell: Cell) -> Answer | None:
    """Return the answer that shows best what is wrong, if one says why and cites what holds."""
    grounded = [a for a in cell.answers if a.critique.strip() and any(_live(r) for r in a.refs)]
    for state in _EVIDENCE_FIRST:
        for answer in grounded:
            if answer.state == state:
                return answer
    return None


def _live(ref: Ref) -> bool:
    return ref.match != "dead"


def _case(cell: Cell, found: Answer, statement: str) -> FailingCase:
    kind: Kind = "failing" if found.state == "fail" else "undecided"
    return FailingCase(
        case=cell.case,
        criterion_id=cell.criterion,
        statement=statement,
        kind="flapping" if cell.source == "agent" else kind,
        bad=sum(state not in ("pass", "na") for state in cell.states),
        runs=cell.runs,
        trace_id=found.trace,
        trace_file=found.file,
        critique=found.critique,
        refs=tuple(_refs(found.refs)),
    )


def _refs(refs: Sequence[Ref]) -> Iterator[Evidence]:
    for ref in filter(_live, refs):
        yield Evidence(
            obs=ref.obs,
            path=ref.path,
            value=ref.value,
            scan=None if ref.scan is None else _scan(ref.scan),
            note=ref.note,
        )


def _scan(scan: Scan) -> ScanEvidence:
    return ScanEvidence(
        channel=scan.channel, pattern=scan.pattern, items=scan.items, matches=scan.matches
    )


def _remedy(
    target: Target, cases: Sequence[FailingCase], failing: Sequence[tuple[Cell, Answer]]
) -> str:
    rows = sorted({case.criterion_id for case in cases})
    held = ", ".join(rows[:5]) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
    roots = sorted({" ".join(a.root.split()) for _, a in failing if a.root})
    why = (
        f" The judge names as root: {re.sub(r'[.;]+$', '', '; '.join(roots[:3]))}." if roots else ""
    )
    steady = any(case.kind == "flapping" for case in cases)
    again = " Make it do so in every run: some runs pass already." if steady else ""
    return f"Change {WORDS[target]} so that {held} holds in the cases below.{why}{again}"
