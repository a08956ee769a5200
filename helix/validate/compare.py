"""Two judges, prompts or runs on the same labels (METHOD 60): which is right where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helix.labels import Cell as CellId
from helix.model.validation import Comparison, Pairs
from helix.model.verdict import CellState
from helix.stats import mcnemar, needed_to_tell, paired_difference
from helix.validate.cells import DECIDED, Cell, by_criterion


def compare(labelled: Sequence[Cell], other: Mapping[CellId, CellState], name: str) -> Comparison:
    """Return how this run does against another, on labelled cells that both decided."""
    return Comparison(
        other=name,
        overall=_pairs(labelled, other),
        criteria={name: _pairs(cells, other) for name, cells in by_criterion(labelled).items()},
    )


def _pairs(labelled: Sequence[Cell], other: Mapping[CellId, CellState]) -> Pairs:
    clusters: dict[str, list[tuple[bool, bool]]] = {}
    for cell in labelled:
        theirs = other.get(CellId(cell.trace, cell.criterion), "uncertain")
        if cell.compared and theirs in DECIDED:
            clusters.setdefault(cell.cluster, []).append((cell.right, theirs == cell.human))
    pairs = [pair for group in clusters.values() for pair in group]
    ahead, behind = pairs.count((True, False)), pairs.count((False, True))
    tested, found = mcnemar(ahead, behind), paired_difference(clusters)
    apart, gap = ahead + behind, abs(ahead - behind)
    return Pairs(
        pairs=len(pairs),
        this_only=ahead,
        other_only=behind,
        chi2=tested.chi2 if tested else None,
        chi2_corrected=tested.chi2_corrected if tested else None,
        exact_p=tested.exact_p if tested else None,
        difference=found.value if found else None,
        error=found.error if found else None,
        interval=found.interval if found else None,
        pairs_needed=needed_to_tell(apart / len(pairs), gap / len(pairs)) if gap else None,
    )
