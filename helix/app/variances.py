"""What `helix audit variance` prints."""

from __future__ import annotations

from collections.abc import Iterator

from helix.model.scorecard import Variance
from helix.model.variance import CellSpread, CriterionSpread, Needed, VarianceReport
from helix.reports.repeated import UNTOLD, part, percent
from helix.reports.visible import one_line
from helix.reports.words import columns, counted, wrapped

MOST_CELLS = 20
_NAME = 28
_FLIPS = ("criterion", "flip rate", "traces", "undecided", "bits", "kappa")
_SPLIT = ("criterion", "agent", "judge", "verifier")


def as_text(found: VarianceReport) -> str:
    """Return the report as lines: flips, the split, the cells that flip, what precision needs."""
    return "\n".join(_lines(found))


def undrawn(found: VarianceReport) -> bool:
    """Whether nothing can be told of repeats: no cell was answered twice."""
    return all(one.flips is None or not one.flips.traces for one in found.criteria)


def _lines(found: VarianceReport) -> Iterator[str]:
    repeated = [one for one in found.criteria if one.flips is not None]
    if repeated:
        yield from columns([_FLIPS, *map(_flip_cells, repeated)], {2, 3, 4, 5})
        yield ""
    parted = [one for one in found.criteria if one.variance is not None]
    if parted:
        rows = [_split_cells(one.criterion_id, one.variance) for one in parted if one.variance]
        if found.variance is not None and len(rows) > 1:
            rows.append(_split_cells("all of them", found.variance))
        yield from columns([_SPLIT, *rows])
        yield ""
    for text in (*_flipping(repeated), *_needs(repeated), *_closing(found)):
        yield from wrapped(text.strip(), text[: len(text) - len(text.lstrip())]) or [""]


def _flip_cells(one: CriterionSpread) -> tuple[str, ...]:
    flips = one.flips
    assert flips is not None
    rate = percent(flips.rate.k, flips.rate.n, flips.interval) if flips.interval else UNTOLD
    return (
        one_line(one.criterion_id, _NAME),
        rate,
        f"{flips.traces:,}",
        f"{flips.undecided:,}",
        _number(flips.entropy),
        _number(flips.fleiss),
    )


def _split_cells(name: str, found: Variance) -> tuple[str, ...]:
    return one_line(name, _NAME), part(found.agent), part(found.judge), part(found.verifier)


def _flipping(repeated: list[CriterionSpread]) -> Iterator[str]:
    """Yield the cells that flip, the worst first."""
    cells = [(one, cell) for one in repeated for cell in one.cells if cell.rate]
    cells.sort(key=lambda pair: -(pair[1].rate or 0))
    for one, cell in cells[:MOST_CELLS]:
        yield f"{one_line(one.criterion_id)} on {one_line(cell.trace_id, 60)}: {_told(cell)}"
    if len(cells) > MOST_CELLS:
        yield f"and {counted(len(cells) - MOST_CELLS, 'more cell')} that flip; --json has all"
    if cells:
        yield ""


def _told(cell: CellSpread) -> str:
    said = list(cell.states.values())
    kinds = ", ".join(f"{said.count(kind)} {kind}" for kind in sorted(set(said)))
    low, high = cell.interval or (0.0, 1.0)
    return f"{kinds}; flips {cell.rate:.0%} ({low:.0%} to {high:.0%})"


def _needs(repeated: list[CriterionSpread]) -> Iterator[str]:
    needs = [(one.criterion_id, one.needed) for one in repeated if one.needed is not None]
    if not needs:
        return
    yield (
        f"To know a flip rate to ±{needs[0][1].precision:.1%}, at the rate that was found, takes "
        "so many repeats of one trace, or traces with as many repeats as these:"
    )
    for criterion, needed in needs:
        yield f"  {one_line(criterion, _NAME)}: {_need(needed)}"
    yield ""


def _need(needed: Needed) -> str:
    if needed.repeats is None or needed.traces is None:
        return "not known, nothing was answered twice"
    return f"{counted(needed.repeats, 'repeat')} of one trace, or {counted(needed.traces, 'trace')}"


def _closing(found: VarianceReport) -> Iterator[str]:
    if found.otherwise:
        yield (
            f"{counted(found.otherwise, 'line')} under an index that was counted already say "
            "something else: the first run's counts. Give each draw an index of its own with "
            "sampling.replicate_offset."
        )
    if found.read_again:
        yield (
            f"{counted(found.read_again, 'line')} repeat an index that another run had: one draw, "
            "counted once."
        )
    if undrawn(found):
        yield (
            "No cell was answered twice, so nothing is known of flips: add sampling.replicates=5, "
            "or sweep with -m sampling.replicate_offset=0,1,2,3,4."
        )
    yield (
        f"{counted(len(found.runs), 'run')}, {counted(found.traces, 'trace')}, "
        f"{counted(len(found.indices), 'replicate index', 'replicate indices')}: "
        f"{_indices(found.indices)}"
    )


def _indices(found: tuple[int, ...]) -> str:
    """Return the indices, what follows on one another folded: `0 to 4, 9`."""
    spans: list[list[int]] = []
    for at in found:
        if spans and at == spans[-1][1] + 1:
            spans[-1][1] = at
        else:
            spans.append([at, at])
    return ", ".join(f"{a} to {b}" if b > a else str(a) for a, b in spans) or "none"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
