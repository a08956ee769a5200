"""A comparison of two runs as text for a terminal and as JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence, Sized
from itertools import islice
from textwrap import indent
from typing import Any, Final, NamedTuple

import msgspec

from helix.model.config import Verbosity
from helix.model.scorecard import Scorecard
from helix.reports.comparison import ABSENT, Comparison, Paired, Setting
from helix.reports.moved import WORST_FIRST, Change, Moved
from helix.reports.run import CellView
from helix.reports.summary import judge_line, listed
from helix.reports.textpage import TextPage
from helix.reports.visible import first_line, one_line
from helix.reports.words import NOT_RECORDED, Standing, counted

COMPARISON_SCHEMA_VERSION: Final = "1.0"
CRITIQUE, VALUE = 240, 60
Selector = Callable[[str, Sequence[str]], str]
TITLES: Final[dict[Change, str]] = {
    "broken": "broken: passed before, fails now",
    "newlyUncertain": "newly undecided: decided before, not now",
    "newlyDecided": "newly decided",
    "scope": "applies now, or no longer",
    "fixed": "fixed: failed before, passes now",
    "cause": "undecided still, for another reason",
    "wording": "wording only: the same state in other words or by other evidence",
    "same": "the same",
}
STANDINGS: Final[dict[Change, Standing]] = {
    "broken": "fail",
    "newlyUncertain": "uncertain",
    "newlyDecided": "na",
    "scope": "na",
    "fixed": "pass",
}
OTHER: Final = "another question"
_DIGEST: Final = re.compile("[0-9a-f]{64}")


class Bounds(NamedTuple):
    """The most settings, rows, traces of a row and names of a list that are shown."""

    settings: int | None = 20
    rows: int | None = 20
    traces: int | None = 3
    names: int = 6


BOUNDS: Final[dict[Verbosity, Bounds]] = {
    "normal": Bounds(),
    "verbose": Bounds(None, None, None, 1_000),
}


def comparison_text(
    found: Comparison,
    names: tuple[str, str],
    select: Selector,
    verbosity: Verbosity,
    width: int,
    color: bool,
    ascii: bool,
) -> str:
    """Return the comparison as terminal text: what was asked otherwise, then the worst changes.

    `select` makes the words that choose a row on traces, to be put behind the run's command. Quiet
    is the counts alone.
    """
    page = TextPage(width, color, ascii)
    bounds = BOUNDS.get(verbosity)
    if bounds is not None:
        _runs(page, found, names)
        _plan(page, found.plan, bounds)
        _apart(page, found, bounds)
        for change in WORST_FIRST:
            if change not in ("wording", "cause", "same"):
                _cells(page, found, change, select, bounds)
        _statistics(page, found)
    _closing(page, found)
    return page.text


def _runs(page: TextPage, found: Comparison, names: tuple[str, str]) -> None:
    for word, name, card in zip(("A", "B"), names, (found.before, found.after), strict=True):
        page.line((word, "bold"), f"  {one_line(name)}")
        page.line(f"gate {card.run_verdict}; judge {one_line(judge_line(card.judge))}", indent=3)
    page.gap()


def _plan(page: TextPage, settings: Sequence[Setting], bounds: Bounds) -> None:
    if not settings:
        page.line("Both were planned alike.")
    for one in settings[: bounds.settings]:
        page.line(
            (f"{one_line(one.path)}: ", "bold"),
            f"{told_value(one.before)} → {told_value(one.after)}",
        )
    _left(page, settings, bounds.settings, "more")
    page.gap()


def _left(page: TextPage, things: Sized, most: int | None, word: str, indent: int = 0) -> None:
    left = 0 if most is None else len(things) - most
    if left > 0:
        page.line((f"and {left:,} {word}; -v shows them", "dim"), indent=indent)


def told_value(value: Any) -> str:
    """Return a value of a plan in a few words: a digest by its beginning, a model by its name."""
    if value is ABSENT:
        return NOT_RECORDED
    if value is None:
        return "none"
    match value:
        case {"pin": {"backend": str(backend), "model": str(model)}}:
            return one_line(f"{backend}, {model}", VALUE)
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return value[:12]
    return one_line(json.dumps(value, ensure_ascii=False, sort_keys=True), VALUE)


def _apart(page: TextPage, found: Comparison, bounds: Bounds) -> None:
    other = [row.row.id for row in found.rows if row.other]
    for what, names in (
        (f"Rows that are {OTHER} now (left out of the statistics)", other),
        ("Rows in B alone", found.rows_added),
        ("Rows in A alone", found.rows_removed),
        ("Traces in B alone", found.traces_added),
        ("Traces in A alone", found.traces_removed),
        ("Traces that changed under their id", found.traces_changed),
    ):
        if names:
            told = listed(map(one_line, names), bounds.names, "--json has all")
            page.line((f"{what}: ", "bold"), f"{len(names):,}: {told}")
    if any(row.other for row in found.rows) or not found.aligned:
        page.gap()


def _cells(
    page: TextPage, found: Comparison, change: Change, select: Selector, bounds: Bounds
) -> None:
    rows = found.of(change)
    if not rows:
        return
    page.line(page.state(STANDINGS[change], TITLES[change]))
    for row, moved in rows[: bounds.rows]:
        notes = [counted(len(moved), "cell"), *([OTHER] if row.other else [])]
        notes += [] if row.row.row.gating else ["not gating"]
        name, severity = one_line(row.row.id), one_line(row.row.row.severity)
        page.line(f"{severity}  ", (name, "bold"), (f"  {', '.join(notes)}", "dim"), indent=2)
        for one in islice(moved, bounds.traces):
            _cell(page, one)
        _left(page, moved, bounds.traces, "more", indent=4)
        page.whole(f"    {select(row.row.id, moved.traces())}")
    _left(page, rows, bounds.rows, "more criteria")
    page.gap()


def _cell(page: TextPage, moved: Moved) -> None:
    repeat = f" · repeat {moved.replicate}" if moved.replicate else ""
    states = f"{moved.before.standing} → {moved.after.standing}"
    page.line(("trace ", "dim"), f"{one_line(moved.trace)}{repeat}  ", (states, "dim"), indent=4)
    said = moved.after.detail or moved.after.critique
    page.line(first_line(said, CRITIQUE) or "no critique was recorded", indent=6)


def _statistics(page: TextPage, found: Comparison) -> None:
    page.line(("Pass rate, B - A, of cells that pass or fail in both", "bold"))
    page.line(f"all criteria: {paired_line(found.overall)}", indent=2)
    for row in found.rows:
        if row.paired is not None and row.paired.broken + row.paired.fixed:
            page.line(f"{one_line(row.row.id)}: {paired_line(row.paired)}", indent=2)
    page.gap()


def paired_line(found: Paired) -> str:
    """Return a paired difference in words; what is undefined is said to be."""
    if found.difference is None:
        return "undefined, no cell is decided in both"
    low, high = found.difference.interval
    told = f"{found.difference.value:+.1%} ({low:+.1%} to {high:+.1%}) of {found.pairs:,}"
    counts = f"{found.fixed:,} fixed, {found.broken:,} broken"
    if found.exact_p is None:
        return f"{told}; {counts}, p undefined, none differs"
    return f"{told}; {counts}, exact p {found.exact_p:.3g}"


def _closing(page: TextPage, found: Comparison) -> None:
    counts = found.counts
    total = sum(counts.values())
    page.line(
        f"{counts['broken']:,} broken, {counts['fixed']:,} fixed, "
        f"{counts['newlyUncertain']:,} newly undecided, {counts['newlyDecided']:,} newly decided, "
        f"{counts['scope']:,} apply otherwise, {counts['cause']:,} undecided for another reason, "
        f"{counts['wording']:,} in other words, {counts['same']:,} the same of "
        f"{counted(total, 'cell')} on {counted(found.traces, 'trace')}"
    )
    if found.worse:
        page.line(page.state("fail", f"{counted(found.worse, 'cell')} got worse"))
    elif total:
        page.line(page.state("pass", "nothing got worse"))
    else:
        page.line(page.state("incomplete", "nothing is in both runs, so nothing was compared"))


def comparison_json(found: Comparison, names: tuple[str, str]) -> Iterator[str]:
    """Yield the comparison as JSON, piece by piece; last every cell that moved, in suite order."""
    yield _json(_head(found, names)).removesuffix("\n}") + ',\n  "cells": ['
    between = ""
    for cell in _moved(found):
        yield between + "\n" + indent(_json(cell), "    ")
        between = ","
    yield "\n  ]\n}\n" if between else "]\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False)


def _head(found: Comparison, names: tuple[str, str]) -> dict[str, Any]:
    return {
        "schemaVersion": COMPARISON_SCHEMA_VERSION,
        "before": _card(found.before, names[0]),
        "after": _card(found.after, names[1]),
        "plan": [_setting(one) for one in found.plan],
        "rows": {
            "added": list(found.rows_added),
            "removed": list(found.rows_removed),
            "changed": [row.row.id for row in found.rows if row.other],
        },
        "traces": {
            "both": found.traces,
            "added": list(found.traces_added),
            "removed": list(found.traces_removed),
            "changed": list(found.traces_changed),
        },
        "counts": found.counts,
        "worse": found.worse,
        "equal": found.equal,
        "overall": _paired(found.overall),
        "criteria": [
            {
                "criterionId": row.row.id,
                "anotherQuestion": row.other,
                "counts": row.counts,
                "paired": None if row.paired is None else _paired(row.paired),
            }
            for row in found.rows
        ],
    }


def _card(card: Scorecard, name: str) -> dict[str, Any]:
    return {"run": name, "runVerdict": card.run_verdict, "digests": card.digests}


def _setting(one: Setting) -> dict[str, Any]:
    """Return a setting; a run that lacks it has no key of its own there."""
    sides = {"before": one.before, "after": one.after}
    return {"path": one.path} | {k: v for k, v in sides.items() if v is not ABSENT}


def _paired(found: Paired) -> dict[str, Any]:
    gap = found.difference
    return {
        "pairs": found.pairs,
        "broken": found.broken,
        "fixed": found.fixed,
        "exactP": found.exact_p,
        "difference": None if gap is None else gap.value,
        "error": None if gap is None else gap.error,
        "interval": None if gap is None else list(gap.interval),
    }


def _moved(found: Comparison) -> Iterator[dict[str, Any]]:
    for row in found.rows:
        for moved in row.moved:
            yield {
                "trace": moved.trace,
                "replicate": moved.replicate,
                "criterionId": row.row.id,
                "change": moved.change,
                "worse": moved.worse,
                "anotherQuestion": row.other,
                "before": _cell_json(moved.before),
                "after": _cell_json(moved.after),
            }


def _cell_json(cell: CellView) -> dict[str, Any]:
    return {
        "state": cell.state,
        "adjudicated": cell.standing != "incomplete",
        "cause": cell.cause,
        "critique": cell.critique or cell.reason,
        "refs": msgspec.to_builtins(cell.refs),
    }
