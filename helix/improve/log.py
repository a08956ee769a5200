"""The log of a loop: every step is a line, nothing is taken back, and the state is its fold."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from helix.errors import ArtifactError
from helix.improve.terminator import Delta, Round
from helix.model.improvement import IMPROVEMENT_SCHEMA_VERSION, Score, Step, SubjectMark, Target
from helix.model.lines import decode_line, encode_line
from helix.model.scorecard import Ratio

SWINGS = "swings.jsonl"
UNKNOWN = SubjectMark()


@dataclass(frozen=True, slots=True)
class Put:
    """A change request that was put: its id and target; `note` is why it was rejected."""

    id: str
    target: Target
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """Where a loop stands after its log.

    `settled` are the repeats of this swing of which nothing is left to do, `put` the requests of
    this swing, the last one `open` where it has no answer.
    """

    plan: str | None = None
    swing: int = 1
    mark: SubjectMark = UNKNOWN
    elapsed_s: float = 0.0
    settled: frozenset[int] = frozenset()
    score: Score | None = None
    rounds: tuple[tuple[int, Round], ...] = ()
    put: tuple[Put, ...] = ()
    open: bool = False
    ended: Step | None = field(default=None, compare=False)

    @property
    def rejected(self) -> tuple[Put, ...]:
        """The requests of this swing that the engineer would not carry out."""
        return tuple(put for put in self.put if put.note is not None)


def read_steps(folder: Path) -> list[Step]:
    """Read the log, empty where there is none; a line that a killed process half wrote is none."""
    path = folder / SWINGS
    if not path.exists():
        return []
    *lines, _ = path.read_bytes().split(b"\n")
    steps = []
    for number, line in enumerate(lines, 1):
        try:
            step = decode_line(line, Step)
        except ValueError as error:
            raise ArtifactError(f"{path}:{number} is damaged: {error}") from None
        major = IMPROVEMENT_SCHEMA_VERSION.partition(".")[0]
        if step.schema_version.partition(".")[0] != major:
            raise ArtifactError(
                f"{path}:{number} must have schemaVersion {major}.x (got {step.schema_version})"
            )
        steps.append(step)
    return steps


def append(folder: Path, step: Step) -> None:
    """Add a line, and have it on disk before anything rests on it."""
    path = folder / SWINGS
    with open(path, "r+b" if path.exists() else "xb") as file:
        file.seek(_whole(path.read_bytes()))
        file.truncate()
        file.write(encode_line(step) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def past(steps: Iterable[Step]) -> Past:
    """Return where a loop stands."""
    state = Past()
    for step in steps:
        state = replace(after(state, step), elapsed_s=step.elapsed_s)
    return state


def after(state: Past, step: Step) -> Past:
    """Return where a loop stands after one more step."""
    state = replace(state, ended=step if step.step == "ended" else None)
    match step.step:
        case "began":
            return replace(state, plan=step.plan, mark=step.subject or SubjectMark())
        case "evaluated" if step.settled and step.repeat is not None:
            return replace(state, settled=state.settled | {step.repeat})
        case "scored" if step.score is not None:
            return _scored(state, step.score)
        case "requested" if step.request is not None and step.target is not None:
            return replace(state, put=(*state.put, Put(step.request, step.target)), open=True)
        case "answered" if step.decision == "rejected":
            *earlier, last = state.put
            return replace(state, put=(*earlier, replace(last, note=step.note or "")), open=False)
        case "answered" | "changed":
            return Past(
                plan=state.plan,
                swing=state.swing + 1,
                mark=step.subject or SubjectMark(),
                rounds=state.rounds,
            )
        case "unchanged":
            return replace(state, rounds=(*state.rounds, (0, None)), open=False)
        case "ended" if step.why == "undecided":
            # People may have decided since: what is undecided is looked at again.
            return replace(state, settled=frozenset())
    return state


def delta_of(score: Score) -> Delta:
    """Return the convergence delta of a score."""
    gap = None if score.gap is None else Fraction(score.gap.k, score.gap.n)
    return Delta(score.flapping, gap, len(score.under_sampled))


def ratio(value: Fraction) -> Ratio:
    """Return an exact ratio as it is written."""
    return Ratio(k=value.numerator, n=value.denominator)


def _scored(state: Past, score: Score) -> Past:
    """Take a score in; one that replaces an earlier one of the same swing makes no new round."""
    earlier = tuple(item for item in state.rounds if item[0] != state.swing)
    at = next((i for i, item in enumerate(state.rounds) if item[0] == state.swing), len(earlier))
    rounds = (*earlier[:at], (state.swing, delta_of(score)), *earlier[at:])
    return replace(state, score=score, rounds=rounds)


def _whole(data: bytes) -> int:
    """Return where the last line ends; a killed process may have left half a line behind it."""
    return data.rfind(b"\n") + 1
