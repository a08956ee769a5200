"""Checking labels against each other, and against the traces and criteria that there are."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from helix.errors import did_you_mean
from helix.labels.files import Problem, Row, raise_problems, read
from helix.labels.record import Cell, Label

HINTS = 3


def load(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    traces: Collection[str] | None = None,
    criteria: Collection[str] | None = None,
) -> tuple[Label, ...]:
    """Return the labels of one file or several; LabelError tells every problem with its row.

    An id is a problem where the ids that there are were given and it is none of them.
    """
    found = read(paths)
    raise_problems([*found.problems, *check(found.rows, traces=traces, criteria=criteria)])
    return tuple(row.label for row in found.rows)


def check(
    rows: Sequence[Row],
    *,
    traces: Collection[str] | None = None,
    criteria: Collection[str] | None = None,
) -> list[Problem]:
    """Return what is wrong among rows that are well formed: twice labelled cells, unknown ids."""
    unknown = [*_unknown(rows, "trace", traces), *_unknown(rows, "criterion", criteria)]
    problems = [*_twice(rows), *unknown]
    place = {(row.file, row.row): at for at, row in enumerate(rows)}
    return sorted(problems, key=lambda problem: place[problem.file, problem.row])


def _twice(rows: Sequence[Row]) -> Iterator[Problem]:
    first: dict[tuple[Cell, str], Row] = {}
    for row in rows:
        label = row.label
        before = first.setdefault((label.cell, label.rater), row)
        if before is row:
            continue
        where = (
            f"row {before.row}" if before.file == row.file else f"{before.file}, row {before.row}"
        )
        cell = f"{label.trace}, {label.criterion}"
        if before.label.label == label.label:
            text = f"{cell} is labelled twice by {label.rater}: {label.label} here and in {where}"
        else:
            text = (
                f"{cell} is labelled twice by {label.rater}, and differently: {label.label} here, "
                f"{before.label.label} in {where}"
            )
        yield Problem(row.file, row.row, text)


def _unknown(rows: Sequence[Row], kind: str, known: Collection[str] | None) -> Iterator[Problem]:
    if known is None:
        return
    hints: dict[str, str] = {}
    names = frozenset(known)
    for row in rows:
        name: str = getattr(row.label, kind)
        if name not in names:
            # A hint takes a look at every name that there is, which takes long where all differ.
            if name not in hints and len(hints) < HINTS:
                hints[name] = did_you_mean(name, known)
            hint = hints.get(name, "")
            text = f"unknown {kind} '{name}'{hint} (there are {len(names):,})"
            yield Problem(row.file, row.row, text)
