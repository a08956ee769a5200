"""How far the answers of a criterion spread: over repeats of one trace, over traces of one task.

The verdict lines are the truth (METHOD 73). An answer ends in pass, fail, na, or withdrawn, which
is what a verifier left of a decided one. A repeat that is undecided for another reason is none of
these: it is counted beside them, and as neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from helix.gate.rates import CONFIDENCE
from helix.model.scorecard import Component, Flips, Ratio, Variance
from helix.model.verdict import MatrixVerdictFile, NotApplicable, Verdict, by_code_alone
from helix.stats import (
    Answer,
    Answers,
    Estimate,
    answers_of,
    counted,
    disorder,
    flipped,
    kappa,
    mean_excess,
    mean_share,
    refuted,
    varied,
)

WITHDRAWN = "withdrawn"
NOWHERE: Answer = ("na", "na")


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said of one criterion on one trace.

    `answers` leaves undecided repeats out, `by_code` where no judge was asked. `checked` tells
    that a verifier had a say.
    """

    answers: Answers
    undecided: int
    by_code: bool
    checked: bool

    @property
    def repeated(self) -> bool:
        """Whether a judge answered twice, so that the answers can disagree."""
        return not self.by_code and counted(self.answers) > 1


class Said(NamedTuple):
    """What one line says of a criterion: its answer, None where that is undecided."""

    answer: Answer | None
    by_code: bool
    checked: bool


def said_in(line: MatrixVerdictFile) -> dict[str, Said]:
    """Return what a line says, by criterion; one that nobody adjudicated is left out."""
    cells: tuple[Verdict | NotApplicable, ...] = (*line.verdicts, *line.not_applicable)
    return {cell.criterion_id: _said(cell) for cell in cells}


def hear(repeats: Sequence[Mapping[str, Said]], criterion: str, wanted: int, code: bool) -> Heard:
    """Return what the repeats of one trace say; of those `wanted` one that is lost is undecided.

    `code` says that no judge has a part in the criterion. Where it applies to no repeat there is
    no answer: that says nothing of who flips.
    """
    return _heard(tuple(repeat.get(criterion) for repeat in repeats), wanted, code)


# Most traces say the same, so that what was heard of them is made once, and held once.
@lru_cache(maxsize=4096)
def _heard(repeats: tuple[Said | None, ...], wanted: int, code: bool) -> Heard:
    said = [one for one in repeats if one is not None]
    decided = [one.answer for one in said if one.answer is not None]
    by_code = code or (len(said) == len(repeats) > 0 and all(one.by_code for one in said))
    undecided = max(wanted, len(repeats)) - len(decided)
    if set(decided) == {NOWHERE}:
        decided = []
    answers = answers_of(decided[:1] if by_code else decided)
    return Heard(answers, undecided, by_code, any(one.checked for one in said))


@dataclass(slots=True)
class Spread:
    """The answers of one criterion or more, by task; what can disagree is kept and nothing else."""

    tasks: dict[str, list[list[Heard]]] = field(default_factory=dict)

    def add(self, task: str, heard: Heard) -> None:
        """Take in what was said of the one criterion on one more trace of a task."""
        if heard.answers or heard.undecided:
            self.tasks.setdefault(task, [[]])[0].append(heard)

    def take(self, other: Spread) -> None:
        """Take in another criterion's answers."""
        for task, groups in other.tasks.items():
            self.tasks.setdefault(task, []).extend(groups)

    def flips(self) -> Flips | None:
        """Return how often two answers on one trace disagree; None where none was asked twice."""
        judged = [one for one in self._heard() if not one.by_code]
        if all(counted(one.answers) + one.undecided < 2 for one in judged):
            return None
        twice = [one.answers for one in judged if one.repeated]
        found = mean_share(self._values(flipped), CONFIDENCE)
        return Flips(
            traces=len(twice),
            answers=sum(map(counted, twice)),
            undecided=sum(one.undecided for one in judged),
            rate=_ratio(found),
            interval=found.interval if found else None,
            entropy=sum(map(disorder, twice)) / len(twice) if twice else None,
            fleiss=kappa(twice),
        )

    def variance(self) -> Variance | None:
        """Return the split of disagreement; None where no part of it can be told.

        A part is None where it cannot: the judge's without two answers on one trace, the
        verifier's where none had a say as well, the agent's without two traces of one task, each
        answered twice or by code.
        """
        checked = any(one.checked for one in self._heard())
        parts = Variance(
            agent=_part(mean_excess(self._between(), CONFIDENCE)),
            judge=_part(mean_share(self._values(lambda a: flipped(a) - refuted(a)), CONFIDENCE)),
            verifier=_part(mean_share(self._values(refuted), CONFIDENCE)) if checked else None,
        )
        return None if parts == Variance() else parts

    def flip_estimate(self) -> Estimate | None:
        """Return the flip rate with the size that its interval rests on."""
        return mean_share(self._values(flipped), CONFIDENCE)

    def _heard(self) -> Iterator[Heard]:
        return (one for groups in self.tasks.values() for group in groups for one in group)

    def _values(self, of: Callable[[Answers], Fraction]) -> dict[str, list[Fraction]]:
        return {
            task: [of(one.answers) for group in groups for one in group if one.repeated]
            for task, groups in self.tasks.items()
        }

    def _between(self) -> dict[str, list[Fraction]]:
        return {task: list(_excesses(groups)) for task, groups in self.tasks.items()}


def _excesses(groups: Iterable[Sequence[Heard]]) -> Iterator[Fraction]:
    for group in groups:
        told = sorted(one.answers for one in group if one.repeated or (one.by_code and one.answers))
        if len(told) > 1:
            yield varied(tuple(told))


def _said(cell: Verdict | NotApplicable) -> Said:
    checked = cell.verification is not None and cell.verification.status != "notInScope"
    return Said(_answer(cell), by_code_alone(cell), checked)


def _answer(cell: Verdict | NotApplicable) -> Answer | None:
    """Return the judge's own word and what is left of it; None where that is undecided."""
    left = "na" if isinstance(cell, NotApplicable) else cell.result
    if left != "uncertain":
        return left, left
    own = cell.verification.original_result if cell.verification else None
    return None if own in (None, "uncertain") else (str(own), WITHDRAWN)


def _part(found: Estimate | None) -> Component | None:
    if found is None:
        return None
    return Component(rate=_ratio(found), interval=found.interval, of=found.items)


def _ratio(found: Estimate | None) -> Ratio:
    return Ratio(k=found.rate.numerator, n=found.rate.denominator) if found else Ratio(k=0, n=0)
