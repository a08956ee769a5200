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
    pattern: Text
    items: int
    matches: int


class Evidence(Record):
    """One ref of a verdict: whose, where inside it, the cited text; or what was looked through."""

    obs: Text
    path: Text
    value: Text | None = None
    scan: ScanEvidence | None = None
    note: Text | None = None


class FailingCase(Record):
    """One cell that has to change: the critique verbatim, and at least one ref that resolves.

    `runs` counts the fresh runs of the case, `bad` those of them that did not pass. A `flapping`
    case passes in some runs of the agent and not in others.
    """

    case: Text = Field(min_length=1)
    criterion_id: Text = Field(min_length=1)
    statement: Text = ""
    kind: Kind
    bad: int = Field(ge=0)
    runs: int = Field(ge=1)
    trace_id: Text
    trace_file: Text
    critique: Text
    refs: tuple[Evidence, ...]

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
    text: Text = Field(min_length=1)


class Rejected(Record):
    """An earlier request of this swing that the engineer would not carry out, and why."""

    request: str
    remedy_target: Target
    note: Text


class ChangeRequest(Record):
    """What the loop asks of whoever amends the subject, as a file that can be acted on alone.

    `answer` is where the response goes, a ChangeResponse as JSON. `subject_version` is null where
    nobody said it. `subject_files` are the globs that tell whether the subject has changed.
    """

    schema_version: str = IMPROVEMENT_SCHEMA_VERSION
    id: str = Field(pattern=r"^[a-z0-9-]+$")
    subject: Text
    subject_version: str | None = None
    subject_files: tuple[str, ...] = ()
    swing: int = Field(ge=1)
    remedy_target: Target
    proposed_remedy: ProposedRemedy
    failing_cases: tuple[FailingCase, ...] = Field(min_length=1)
    rejected: tuple[Rejected, ...] = ()
    answer: Text


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
