"""Which labels a measurement uses: settled, joined with what is there, split by trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helix.errors import LabelError
from helix.labels import Cell, Label, Settled, load, settle
from helix.model.canonical import source_digest
from helix.model.splits import PARTS, split_of
from helix.model.validation import LabelCounts, Split, Word

LEDGERED: tuple[Split, ...] = ("test", "all")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a run evaluates: its traces, its criteria, and what their prompts give away.

    `found` are all traces and `known` all criteria of the suite, `traces` and `criteria` those
    that the run evaluates; `examples` are (trace, criterion) of examples in prompts.
    """

    found: frozenset[str]
    known: frozenset[str]
    traces: frozenset[str]
    criteria: frozenset[str]
    examples: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labels of a split, and what became of the others."""

    words: dict[Cell, Word]
    labels: tuple[Label, ...]
    counts: LabelCounts

    @property
    def criteria(self) -> frozenset[str]:
        """The criteria that have a label here."""
        return frozenset(cell.criterion for cell in self.words)


def read(
    files: Sequence[str],
    adjudicated: Sequence[str],
    evaluated: Evaluated,
    *,
    split: Split,
    seed: int,
) -> Labelled:
    """Return the labels of a split; LabelError tells each wrong row, or that none is left."""
    labels = load(files, traces=evaluated.found, criteria=evaluated.known)
    last = (
        load(adjudicated, traces=evaluated.found, criteria=evaluated.known) if adjudicated else ()
    )
    settled = settle(labels, last)
    inside = {
        cell: word
        for cell, word in settled.labels.items()
        if cell.trace in evaluated.traces and cell.criterion in evaluated.criteria
    }
    parts = {cell: _part(cell, evaluated, seed) for cell in inside}
    wanted = PARTS[1:] if split == "all" else (split,)
    used = {
        cell: word
        for cell, word in inside.items()
        if parts[cell] in wanted or (split == "all" and (*cell,) not in evaluated.examples)
    }
    digests = _digests([*files, *adjudicated])
    counts = _counts(settled, inside, used, Counter(parts.values()), evaluated, digests)
    if not used:
        raise LabelError(_nothing(counts, split))
    return Labelled(used, (*labels, *last), counts)


def _part(cell: Cell, evaluated: Evaluated, seed: int) -> str:
    return "train" if (*cell,) in evaluated.examples else split_of(cell.trace, seed)


def _counts(
    settled: Settled,
    inside: Mapping[Cell, Word],
    used: Mapping[Cell, Word],
    parts: Counter[str],
    evaluated: Evaluated,
    files: dict[str, str],
) -> LabelCounts:
    return LabelCounts(
        files=files,
        cells=len(settled.labels) + len(settled.disputed),
        disputed=len(settled.disputed),
        outside=len(settled.labels) - len(inside),
        examples=sum((*cell,) in evaluated.examples for cell in inside),
        splits={part: parts[part] for part in PARTS},
        used=len(used),
    )


def _digests(files: Sequence[str]) -> dict[str, str]:
    """Return the name of each file by the digest of what it holds."""
    return {source_digest(Path(file).read_bytes()): Path(file).name for file in files}


def _nothing(counts: LabelCounts, split: Split) -> str:
    held = ", ".join(f"{n} in {part}" for part, n in counts.splits.items())
    return (
        f"validation.split={split} holds no label of this run ({counts.cells} labelled cells: "
        f"{held}, {counts.outside} of traces or criteria that are not evaluated, "
        f"{counts.disputed} disputed); choose another split, or label more"
    )
