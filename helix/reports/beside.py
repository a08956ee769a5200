"""What the folder of a run says beside its verdicts: plan, run meta, decisions, standings.

What a folder lacks is None or empty, and the page says that it was not recorded (METHOD 86).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from helix.build_dataset.candidates import Found, of_run
from helix.errors import HelixError
from helix.model.lines import decode_line
from helix.model.plan import Plan
from helix.model.scorecard import Scorecard
from helix.model.sidelines import DecisionLine
from helix.model.validation import Disagreement, Trust, Validation
from helix.reports.since import MAX_CELLS, Since, since
from helix.runs import RunFiles, object_of
from helix.trust import pipelines, standing

T = TypeVar("T")
MAX_TOLD = 100
APART = ("criteria", "versions", "checks", "subject", "examples", "premises")


@dataclass(frozen=True, slots=True)
class Beside:
    """What was read; `standings` are those that the scorecard rests on, by criterion.

    `decisions` counts the lines of decisions.jsonl by kind, None where there is no such file;
    `elided` are what judges were not shown, at most 100. `labels` are the cells on which people
    and Helix differ, by trace and criterion. `dataset` is None in a run of very many cells too.
    """

    plan: Plan | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    decisions: Counter[str] | None = None
    elided: tuple[DecisionLine, ...] = ()
    standings: Mapping[str, Trust] = field(default_factory=dict)
    validation: Validation | None = None
    labels: Mapping[tuple[str, str], Disagreement] = field(default_factory=dict)
    dataset: Found | None = None
    since: Since | None = None

    @property
    def settings(self) -> list[tuple[str, str]]:
        """What the plan froze, flat, as name and value; what has its own place is left out."""
        if self.plan is None:
            return []
        held = {k: v for k, v in self.plan.decides.items() if k not in APART}
        return list(_flat("", held))

    @property
    def memory(self) -> list[tuple[str, str]] | None:
        """The memory entries that the run knew, with their digests; None is not recorded."""
        known = self.told.get("awareness", {}).get("memory")
        if not isinstance(known, list):
            return None
        return [(str(one.get("name")), str(one.get("digest", ""))[:12]) for one in known]


def beside(folder: str | None, card: Scorecard) -> Beside:
    """Read what stands beside the verdicts in a run's folder; empty where there is no folder."""
    if folder is None or not (Path(folder) / "plan.json").is_file():
        return Beside()
    run = RunFiles(Path(folder))
    plan = _or_none(run.plan)
    told = object_of(run.folder / "runmeta.json")
    counts, elided = _decisions(run.folder / "decisions.jsonl")
    baseline = plan.runs.get("baseline") if plan else None
    lines = run.folder / "disagreements.jsonl"
    apart = _lines(lines, Disagreement) if lines.is_file() else ()
    measured = run.folder / "validation.json"
    return Beside(
        plan,
        told,
        counts,
        elided,
        _standings(plan, card, told.get("stateRoot")),
        _or_none(lambda: decode_line(measured.read_bytes(), Validation)),
        {(one.trace, one.criterion_id): one for one in apart},
        _or_none(lambda: of_run(folder, 0)) if card.cells.total <= MAX_CELLS else None,
        since(str(baseline), run, card.cells.total) if baseline else None,
    )


def _standings(plan: Plan | None, card: Scorecard, state: object) -> dict[str, Trust]:
    """Return the measurements that the scorecard rests on; later ones are not among them."""
    if plan is None or not isinstance(state, str):
        return {}
    found = {}
    held = {row.criterion_id: row.standing for row in card.criteria if row.standing is not None}
    code = frozenset(row.criterion_id for row in card.criteria if row.standing is None)
    asked = _or_none(lambda: pipelines(plan.decides, code)) or {}
    for criterion, said in held.items():
        pipeline = asked.get(criterion)
        if pipeline is None or said.coverage is None:
            continue
        read = _or_none(partial(standing, state, card.suite, criterion, pipeline))
        trust = read[0] if read else None
        if trust is not None and (trust.status, trust.coverage) == (said.status, said.coverage):
            found[criterion] = trust
    return found


def _decisions(path: Path) -> tuple[Counter[str] | None, tuple[DecisionLine, ...]]:
    if not path.is_file():
        return None, ()
    counts, elided = Counter[str](), list[DecisionLine]()
    for one in _lines(path, DecisionLine):
        counts[one.kind] += 1
        if one.kind == "elision" and len(elided) < MAX_TOLD:
            elided.append(one)
    return counts, tuple(elided)


def _lines(path: Path, kind: type[T]) -> Iterator[T]:
    """Yield the lines of a file that can be read."""
    with open(path, "rb") as file:
        for line in file:
            found = _or_none(partial(decode_line, line, kind))
            if found is not None:
                yield found


def _or_none(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except (HelixError, OSError, ValueError, KeyError, TypeError):
        return None


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name in sorted(value):
            yield from _flat(f"{path}.{name}" if path else str(name), value[name])
        return
    text = "none" if value is None else value
    if not isinstance(text, str):
        text = json.dumps(text, ensure_ascii=False, sort_keys=True)
    yield path, text
