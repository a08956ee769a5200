"""Several raters: how far they agree, and which label stands where they do not (METHOD 60)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from helix.labels.record import WORDS, Cell, Label, Word
from helix.stats.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha

Said = Mapping[Cell, Mapping[str, Word]]


@dataclass(frozen=True, slots=True)
class Settled:
    """One label per cell. `disputed` are the cells that have none, because raters disagree.

    `adjudicated` counts the cells whose label came from an adjudicated file.
    """

    labels: dict[Cell, Word]
    disputed: tuple[Cell, ...]
    adjudicated: int = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far raters agree on the cells that two or more of them labelled.

    `agreed` of `cells` are those on which all say the same. Cohen's κ needs exactly two raters,
    Fleiss' κ takes the cells that every rater labelled; all four take words as categories of equal
    distance, AC1 those that somebody used here (at least two). None is undefined.
    """

    criterion: str | None
    raters: tuple[str, ...]
    cells: int
    agreed: int
    cohen: float | None
    fleiss: float | None
    krippendorff: float | None
    ac1: float | None
    disagreements: tuple[Cell, ...]


def settle(labels: Iterable[Label], adjudicated: Iterable[Label] = ()) -> Settled:
    """Return the label that stands for each cell.

    An adjudicated label stands whatever was said before. Without one, a cell on which raters
    disagree is disputed, and has no label: it is counted, never guessed.
    """
    first, last = by_cell(labels), by_cell(adjudicated)
    found: dict[Cell, Word] = {}
    disputed = []
    for cell in sorted({*first, *last}):
        words = set((last.get(cell) or first[cell]).values())
        if len(words) == 1:
            found[cell] = words.pop()
        else:
            disputed.append(cell)
    return Settled(found, tuple(disputed), sum(cell in found for cell in last))


def agreement(labels: Iterable[Label]) -> tuple[Agreement, ...]:
    """Return how far raters agree: over all criteria first, then on each that two of them share."""
    said = {cell: words for cell, words in by_cell(labels).items() if len(words) > 1}
    criteria = sorted({cell.criterion for cell in said})
    each = [_agreement(_of(said, criterion), criterion) for criterion in criteria]
    return (_agreement(said, None), *each)


def by_cell(labels: Iterable[Label]) -> dict[Cell, dict[str, Word]]:
    """Return what each rater said of each cell."""
    said: dict[Cell, dict[str, Word]] = defaultdict(dict)
    for label in labels:
        said[label.cell][label.rater] = label.label
    return dict(said)


def _of(said: Said, criterion: str) -> Said:
    return {cell: words for cell, words in said.items() if cell.criterion == criterion}


def _agreement(said: Said, criterion: str | None) -> Agreement:
    raters = tuple(sorted({rater for words in said.values() for rater in words}))
    cells = sorted(said)
    apart = tuple(cell for cell in cells if len(set(said[cell].values())) > 1)
    counts = [_counts(said[cell].values()) for cell in cells]
    complete = [row for row in counts if sum(row) == len(raters)]
    return Agreement(
        criterion=criterion,
        raters=raters,
        cells=len(cells),
        agreed=len(cells) - len(apart),
        cohen=cohen_kappa(_table(said, raters)) if len(raters) == 2 else None,
        fleiss=fleiss_kappa(complete) if complete else None,
        krippendorff=krippendorff_alpha(
            [[_number(said[cell].get(rater)) for cell in cells] for rater in raters]
        ),
        ac1=gwet_ac1(_used(counts)),
        disagreements=apart,
    )


def _counts(words: Iterable[Word]) -> list[int]:
    given = list(words)
    return [given.count(word) for word in WORDS]


def _used(counts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the counts of words that were used: AC1 would take the others for a chance to agree.

    Where all say one word another is kept beside it.
    """
    order = sorted(range(len(WORDS)), key=lambda at: -sum(row[at] for row in counts))
    kept = [at for place, at in enumerate(order) if place < 2 or any(row[at] for row in counts)]
    return [[row[at] for at in kept] for row in counts]


def _table(said: Said, raters: Sequence[str]) -> list[list[int]]:
    table = [[0] * len(WORDS) for _ in WORDS]
    for words in said.values():
        one, other = (WORDS.index(words[rater]) for rater in raters)
        table[one][other] += 1
    return table


def _number(word: Word | None) -> float | None:
    return None if word is None else float(WORDS.index(word))
