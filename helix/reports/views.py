"""The sentences and tables of the page's views, from facts that were counted before."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from helix.build_dataset.candidates import Found
from helix.model.scorecard import JudgeRecord, Ratio, Scorecard
from helix.model.validation import Rate
from helix.reports import since as _since
from helix.reports import summary
from helix.reports.beside import Beside
from helix.reports.compared import paired_line, told_value
from helix.reports.comparison import Comparison, Setting
from helix.reports.itself import Itself
from helix.reports.page import PageFacts
from helix.reports.words import NOT_RECORDED, counted

CHANGES = _since.WORDS
DECISIONS: Final = {
    "downgrade": "a verdict became undecided: its evidence or its terms do not hold",
    "elision": "something was not shown to a judge, and that is declared to it",
    "no-reply": "no answer came",
    "re-prompt": "an answer was asked for once more, its fault named",
    "repaired": "the form of an answer was mended, not what it says",
    "skip": "a trace could not carry a judgement",
    "unusable": "an answer could not be used",
}
paired = paired_line


def rate(found: Rate) -> str:
    """Return a rate as k of n with its exact interval; undefined where n is 0."""
    return f"{found.k:,} of {found.n:,} ({interval(found)})" if found.n else "undefined"


def interval(found: Rate) -> str:
    """Return the exact interval of a rate at 95 %."""
    if found.exact is None:
        return NOT_RECORDED
    low, high = found.exact
    return f"{low:.0%} to {high:.0%}"


def setting(found: Setting) -> str:
    """Return what a place of the plan was and is."""
    return f"{told_value(found.before)} → {told_value(found.after)}"


def asked_otherwise(found: Comparison) -> list[Setting]:
    """Return what differs in the plans, but for the baseline, which one of them lacks."""
    return [one for one in found.plan if one.path != "baseline"]


def adjudicated(card: Scorecard) -> Ratio:
    """Return how many cells somebody adjudicated, of all that were planned."""
    return Ratio(k=card.cells.total - card.cells.not_adjudicated, n=card.cells.total)


def emitted(card: Scorecard, own: Itself) -> Ratio:
    """Return how many cells stand in verdicts.jsonl, of all that were planned (METHOD 32)."""
    return Ratio(k=own.cells, n=card.cells.total)


def coverage(own: Itself, read: Beside) -> str:
    """Return how much of the traces judges were shown (METHOD 36)."""
    elided = read.decisions["elision"] if read.decisions else 0
    told = f"{counted(own.judged, 'trace')} judged; "
    told += (
        f"{counted(elided, 'piece was', 'pieces were')} not shown to a judge, each declared to it"
        if elided
        else "nothing of what rows read was kept from a judge"
    )
    return f"{told}. {counted(own.unread, 'cell is', 'cells are')} undecided as unread."


def by_reason(found: Found) -> Iterator[tuple[str, int, dict[str, int]]]:
    """Yield each reason for a row of a dataset: how many rows, and how many in each split."""
    for why in ("failing", "uncertain", "candidate"):
        rows = [row.split for row in found.rows if row.why == why]
        yield why, len(rows), {split: rows.count(split) for split in ("train", "dev", "test")}


def pin(record: JudgeRecord) -> list[tuple[str, str]]:
    """Return a pin as requested and as it took effect (METHOD 42)."""
    if record.backend == "none":
        return [("backend", "none")]
    return [
        ("backend", record.backend),
        ("requested", summary.parameters(record.requested)),
        ("effective", summary.parameters(record.effective)),
        ("answered as", record.returned_model or NOT_RECORDED),
    ]


def build_dataset(facts: PageFacts) -> str:
    """Return the command that makes a dataset of this run."""
    runs = shlex.quote(f"dataset.runs={facts.meta.run_dir}")
    return f"helix build-dataset dataset.name=NAME {runs}"


def identity(read: Beside) -> list[tuple[str, str | None]]:
    """Return which run this is, and which process made it, as run meta says (METHOD 45)."""
    names = (("run id", "runId"), ("in", "runIdNamespace"), ("process", "process"))
    return [(words, read.told.get(name)) for words, name in names]


def digests(card: Scorecard, read: Beside) -> dict[str, str]:
    """Return the digests of a run, that of its traces among them where it was recorded."""
    found = read.told.get("digests")
    return {**(found if isinstance(found, dict) else {}), **card.digests}


def plugins(versions: Mapping[str, Any]) -> str:
    """Return the plugins of a run with their versions."""
    found = versions.get("plugins") or []
    return ", ".join(f"{one.get('name')} {one.get('version')}" for one in found) or "none"


class Measured(NamedTuple):
    """How often a judge is right by people's labels, how many there are, and since when."""

    tpr: Rate
    tnr: Rate
    labels: int
    at: str


def measured(facts: PageFacts, criterion: str) -> Measured | None:
    """Return what labels say of a criterion: those this run was held against, else earlier ones."""
    own = facts.beside.validation
    for row in own.criteria if own is not None else ():
        if row.criterion_id == criterion:
            found = row.measured
            return Measured(found.tpr, found.tnr, found.coverage.n, "this run")
    trust = facts.beside.standings.get(criterion)
    if trust is None:
        return None
    return Measured(trust.tpr, trust.tnr, trust.coverage.n, trust.at[:10])


def measurements(facts: PageFacts) -> list[tuple[str, Measured]]:
    """Return each judged criterion that labels say something of (METHOD 60)."""
    judged = (row.id for row in facts.rows if row.row.klass != "code")
    found = ((name, measured(facts, name)) for name in judged)
    return [(name, one) for name, one in found if one is not None]


def choices(facts: PageFacts) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return what traces can be chosen by: name, the choice of all, value and text of each."""
    found = [("criterion", "any criterion", [(str(row.index), row.id) for row in facts.rows])]
    routes = [(route, route) for route in facts.named_routes]
    found.append(("route", "any route", routes if len(routes) > 1 else []))
    causes = [(cause, f"{cause} ({n:,})") for cause, n in facts.causes.most_common()]
    found.append(("cause", "any cause", causes))
    if facts.since is not None:
        words = [(word, text) for word, text in CHANGES.items() if facts.since.total(word)]
        found.append(("change", "changed or not", [("any", "changed since the baseline"), *words]))
    return found


def shares(card: Scorecard) -> list[tuple[str, float, float]]:
    """Return the states of all cells as parts of a bar of 1000: state, where it begins, length."""
    found, at = [], 0.0
    total = max(sum(n for _, n in summary.counts(card)), 1)
    for state, n in summary.counts(card):
        length = 1000 * n / total
        if n:
            found.append((state, round(at, 2), round(length, 2)))
        at += length
    return found
