"""What a measurement against labels came to, as text: standings first, then what to do next.

Names come from labels and traces, so they are made visible first. Lines are at most 80 columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from helix.model.config import Verbosity
from helix.model.validation import (
    CriterionValidation,
    Disagreement,
    Drift,
    Interval,
    Measured,
    Needed,
    Pairs,
    Rate,
    Validation,
)
from helix.reports.visible import one_line
from helix.reports.words import counted, wrapped

NAME = 23
SHOWN: Final[dict[Verbosity, int | None]] = {"quiet": 0, "normal": 5, "verbose": None}
_HEAD = ("criterion", "standing", "TPR [95 %]", "TNR [95 %]", "decided")
_MOVED = {
    "tpr": "the true-pass rate",
    "tnr": "the true-fail rate",
    "undecided": "the undecided share",
}


def validation_text(
    found: Validation,
    apart: Sequence[Disagreement],
    written: Sequence[str],
    verbosity: Verbosity = "normal",
) -> str:
    """Return the terminal text; `written` are the files to read on in."""
    measured = [
        [*_overall(found.overall), ""],
        [*_next(found.overall), ""],
        _drift(found.drift),
        _compared(found),
        _apart(apart, os.path.dirname(written[0]) if written else "", SHOWN[verbosity]),
    ]
    parts = [
        [*_labels(found), ""],
        [*_table(found), ""],
        *(measured if verbosity != "quiet" else []),
        [line for warning in found.warnings for line in wrapped(f"Warning: {warning}.")],
        [f"Written: {file}" for file in written],
        _later(found),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _labels(found: Validation) -> Iterator[str]:
    labels = found.labels
    whole = "all labels, held out as a whole" if found.split == "all" else f"split {found.split}"
    again = ", a second time" if found.forced else ""
    yield from wrapped(
        f"{counted(labels.used, 'label')} of {labels.cells:,} ({whole}, seed {found.seed}{again}) "
        f"on suite {one_line(found.suite)}."
    )
    aside = [(labels.outside, "outside this run"), (labels.disputed, "disputed")]
    if found.split != "train":
        aside.append((labels.examples, "of examples in the prompt"))
    told = [f"{n:,} {words}" for n, words in aside if n]
    if told:
        yield from wrapped(f"Left out: {', '.join(told)}.")


def _table(found: Validation) -> Iterator[str]:
    yield _row(*_HEAD)
    for row in found.criteria:
        yield _line(row)
    if len(found.criteria) > 1:
        yield _row("all together", "", *_rates(found.overall))
    reasons: dict[str, list[str]] = {}
    for row in found.criteria:
        reasons.setdefault(row.reason, []).append(one_line(row.criterion_id))
    yield ""
    for reason, names in reasons.items():
        about = "all" if len(names) == len(found.criteria) else ", ".join(names)
        yield from wrapped(f"{about}: {reason}.")


def _line(row: CriterionValidation) -> str:
    return _row(
        one_line(row.criterion_id),
        row.status or ("code" if row.klass == "code" else "none"),
        *_rates(row.measured),
    )


def _rates(measured: Measured) -> tuple[str, str, str]:
    coverage = measured.coverage
    return _rate(measured.tpr), _rate(measured.tnr), f"{coverage.k}/{coverage.n}"


def _row(name: str, status: str, tpr: str, tnr: str, decided: str) -> str:
    name = name if len(name) <= NAME else f"{name[: NAME - 1]}…"
    return f"{name:<{NAME}} {status:<11} {tpr:<17} {tnr:<17} {decided}".rstrip()


def _rate(rate: Rate) -> str:
    """Return k/n with the exact interval in per cent; undefined where n is 0."""
    if rate.exact is None:
        return "undefined"
    low, high = (f"{100 * end:.0f}" for end in rate.exact)
    return f"{rate.k}/{rate.n} [{low}, {high}]"


def _overall(measured: Measured) -> Iterator[str]:
    table = measured.confusion
    yield "                Helix pass   Helix fail"
    yield f"  people pass   {table.pass_pass:>10,}   {table.pass_fail:>10,}"
    yield f"  people fail   {table.fail_pass:>10,}   {table.fail_fail:>10,}"
    kappa = "undefined" if measured.kappa is None else f"{measured.kappa:.2f}"
    right = measured.accuracy
    yield f"  agreement {right.k}/{right.n}, kappa {kappa}"
    away = measured.abstained
    yield from wrapped(
        f"Abstentions: {away.over} where people decide, {away.under} decided where people cannot, "
        f"{away.agreed} undecided by both; {away.not_adjudicated} labelled cells were lost to an "
        "outage, a limit, a malformed answer or repeats that disagree, and are none of these."
    )
    yield from _corrected(measured)


def _corrected(measured: Measured) -> Iterator[str]:
    rate = measured.corrected
    seen = f"{rate.seen.k}/{rate.seen.n}" if rate.seen.n else "undefined"
    if rate.value is None:
        yield from wrapped(
            f"Pass rate: {seen} as Helix decided; corrected: undefined, because {_why(measured)}."
        )
        return
    yield f"Pass rate: {seen} as Helix decided."
    yield f"  corrected        {_clipped(rate.raw, rate.interval)}"
    drawn = "undefined" if rate.jeffreys is None else f"      {_ends(rate.jeffreys)}"
    yield f"  by seeded draws  {drawn}"
    yield f"  by PPI           {_clipped(rate.ppi, rate.ppi_interval)}"
    low, high = _value(rate.abstentions_fail), _value(rate.abstentions_pass)
    yield f"  abstentions as fails {low}, as passes {high}"


def _clipped(raw: float | None, interval: Interval | None) -> str:
    """Return a rate within 0..1, and what the formula gives where that is not."""
    if raw is None:
        return "undefined"
    value = min(max(raw, 0.0), 1.0)
    told = f" (clipped; the formula gives {raw:.3f})" if value != raw else ""
    return f"{value:.3f} {_ends(interval)}{told}"


def _why(measured: Measured) -> str:
    for word, rate in (("pass", measured.tpr), ("fail", measured.tnr)):
        if rate.n == 0:
            return f"no {word} label was compared"
    if not measured.corrected.seen.n:
        return "nothing was decided"
    return "the labels do not show that a pass is told from a fail"


def _next(measured: Measured) -> Iterator[str]:
    wanted = measured.wanted
    share = wanted.fails_share
    split = "" if share is None else f" Best of the next labels: {share:.0%} human fails."
    yield from wrapped(
        f"For ± {wanted.width:g}: {_needed('pass', wanted.passes)}, "
        f"{_needed('fail', wanted.fails)}.{split}"
    )


def _needed(word: str, needed: Needed) -> str:
    low, high = sorted((needed.wilson, needed.exact))
    return f"{low} to {high} human {word} labels ({needed.have} there)"


def _drift(drift: Drift | None) -> Iterator[str]:
    if drift is None:
        return
    moved = [_MOVED[name] for name, change in drift.changes.items() if change.moved]
    if drift.readings == 1:
        yield from wrapped("Anchors: this is their first reading; the next is held against it.")
    elif moved:
        yield from wrapped(
            f"DRIFT: {' and '.join(moved)} changed since {drift.first.at} by more than chance "
            f"allows ({drift.readings} readings)."
        )
    else:
        yield from wrapped(f"Anchors: no drift since {drift.first.at} ({drift.readings} readings).")
    for name in _MOVED:
        first, now = getattr(drift.first, name), getattr(drift.now, name)
        change = drift.changes.get(name)
        told = "" if change is None else f"{change.difference:+.3f} {_ends(change.interval)}"
        yield f"  {name:<9} first {_rate(first):<15} now {_rate(now):<15} {told}".rstrip()
    yield ""


def _compared(found: Validation) -> Iterator[str]:
    if found.comparison is None:
        return
    yield from wrapped(f"Against {one_line(found.comparison.other)}:")
    rows = {"all together": found.comparison.overall, **found.comparison.criteria}
    for name, pairs in rows.items():
        yield from wrapped(f"{one_line(name)}: {_pairs(pairs)}", indent="  ")
    yield ""


def _pairs(pairs: Pairs) -> str:
    if pairs.difference is None:
        return "no cell that both decided"
    tested = "p undefined" if pairs.exact_p is None else f"p {pairs.exact_p:.3g}"
    needed = f"; {pairs.pairs_needed:,} pairs would show it" if pairs.pairs_needed else ""
    return (
        f"{counted(pairs.pairs, 'pair')}, right alone {pairs.this_only} and {pairs.other_only}, "
        f"difference {pairs.difference:+.3f} {_ends(pairs.interval)}, {tested}{needed}"
    )


def _apart(apart: Sequence[Disagreement], folder: str, most: int | None) -> Iterator[str]:
    """Yield the first cells of each kind, their links as they lead from where one is."""
    for kind, group in groupby(sorted(apart, key=lambda d: d.kind), key=lambda d: d.kind):
        found = list(group)
        yield f"{kind}: {counted(len(found), 'cell')}"
        for one in found[:most]:
            link = os.path.normpath(os.path.join(folder, one.link))
            told = f"{one_line(one.trace, 60)}, {one_line(one.criterion_id)}: {link}"
            yield from wrapped(told, indent="  ")
        if len(found) > len(found[:most]):
            yield f"  and {len(found) - len(found[:most]):,} more; -v shows them"
    if apart:
        yield ""


def _later(found: Validation) -> Iterator[str]:
    """Yield where the standings are shown, where a run was made to measure them."""
    if found.run == "." and any(row.status is not None for row in found.criteria):
        yield from wrapped(
            "The next run under this judge shows these standings; scorecard.json of this one was "
            "made before they were known."
        )


def _ends(interval: Interval | None) -> str:
    return "(no interval)" if interval is None else f"[{interval[0]:.3f}, {interval[1]:.3f}]"


def _value(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
