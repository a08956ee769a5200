"""What a discovery found, as text: kinds of failure, criteria, what to type next.

Names come from traces, so they are made visible first. Lines are at most 80 columns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from helix.model.discovery import Category, DiscoveryRecord, MinedRow
from helix.reports.visible import one_line
from helix.reports.words import counted

WIDTH = 80
NAME = 46


def discovered_text(found: DiscoveryRecord, written: Sequence[str], after: Sequence[str]) -> str:
    """Return the terminal text; `written` are the files to read on in, `after` the last lines."""
    parts = [
        [*_triage(found), ""],
        [*_kinds(found), ""],
        [*_criteria(found.criteria), ""],
        [*_saturation(found), ""],
        [f"Written: {file}" for file in written],
        list(after),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _triage(found: DiscoveryRecord) -> Iterator[str]:
    triage = found.triage
    yield from _wrapped(
        f"{one_line(found.subject)}: {counted(triage.examined, 'trace')} examined of "
        f"{triage.found:,} found; {triage.cut_off:,} cut off and set aside, {triage.unreadable:,} "
        "unreadable."
    )
    yield from _wrapped(
        f"Determined: {triage.fail:,} fail, {triage.passed:,} pass, {triage.uncertain:,} uncertain."
    )
    if found.judge is None:
        yield from _wrapped(
            "Code alone looked: what it did not detect is no pass. To have the traces read, add "
            "judge=dispatch judge.model=NAME (or another judge)."
        )
    else:
        waits = f", {triage.pending:,} waiting" if triage.pending else ""
        yield from _wrapped(f"Read by {one_line(found.judge)}: {triage.read:,}{waits}.")


def _kinds(found: DiscoveryRecord) -> Iterator[str]:
    if not found.categories:
        yield "No kind of failure was found."
        return
    yield _row("kind of failure", "k/n", "by", "goes to")
    for category in found.categories:
        yield _of(category)
    if found.folded:
        yield f"and {counted(len(found.folded), 'more kind')}, rarer (categories.json)"
    if found.symptoms:
        names = ", ".join(one_line(name) for name in found.symptoms)
        yield from _wrapped(f"Only ever following from another: {names}.")


def _of(category: Category) -> str:
    goes = {"eval": "criterion", "fix": "to mend", "infrastructure": "infrastructure"}
    share = f"{category.k}/{category.n}"
    return _row(one_line(category.name), share, category.klass, goes[category.fix_or_eval])


def _row(name: str, share: str, by: str, goes: str) -> str:
    name = name if len(name) <= NAME else f"{name[: NAME - 1]}…"
    return f"{name:<{NAME}} {share:>7}  {by:<6} {goes}".rstrip()


def _criteria(rows: Sequence[MinedRow]) -> Iterator[str]:
    if not rows:
        yield "No criterion is proposed."
        return
    observed = [row for row in rows if row.grounding == "observed"]
    yield from _wrapped(
        f"{counted(len(rows), 'criterion', 'criteria')} proposed, {len(observed)} observed: its "
        "check fires on a broken trace, passes on a healthy one, and fires on no healthy one."
    )
    for row in rows:
        held = ", held out" if row.held_out else ""
        note = f"{row.severity}, {row.grounding}, {row.klass}{held}"
        yield f"  {one_line(row.criterion_id, WIDTH - 2)}"
        yield from _wrapped(f"{note}. {one_line(row.statement, 400)}", "    ")


def _saturation(found: DiscoveryRecord) -> Iterator[str]:
    if found.saturated_at is None:
        yield from _wrapped(
            f"Not saturated: the traces looked at last, up to {found.window} in a row, brought "
            "new kinds, or were too few to tell. More traces may show more."
        )
        return
    how = "asking stopped there" if found.stopped else "all were examined all the same"
    yield from _wrapped(f"Saturated after {counted(found.saturated_at, 'trace')}; {how}.")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
