"""A whole mined criterion: what it must carry, and the defaults for what it may leave out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helix.errors import SuiteError
from helix.model.criterion import Criterion, Discovery

DISCOVERY_KEYS = ("grounding", "evidence", "prevalence", "assumptions", "single_trace")


def flaws(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong) of what a row says about how it was found (METHOD 18, 19)."""
    found = criterion.discovery
    if found is None:
        return
    seen, refs = found.prevalence, found.evidence.refs
    if seen is not None and seen.k > seen.n:
        yield "discovery.prevalence", "k must not exceed n"
    if found.grounding == "observed":
        if not refs:
            yield "discovery.evidence.refs", "is missing: grounding observed needs evidence.refs"
        if seen is None or seen.k == 0:
            yield "discovery.prevalence", "grounding observed needs prevalence with k > 0"


def missing_parts(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong) of a mined row as discovery must write it: none was dropped."""
    if criterion.discovery is None:
        yield "discovery", "is missing: a mined row keeps its grounding, evidence and assumptions"
    else:
        yield from flaws(criterion)
        yield from _dropped(criterion.discovery)
    if criterion.implied_class != "code":
        for key in ("judge_inputs", "pass_condition"):
            if not getattr(criterion, key):
                yield key, "is missing: a mined row that a judge decides needs it"


def _dropped(discovery: Discovery) -> Iterator[tuple[str, str]]:
    counted = discovery.prevalence is not None and discovery.prevalence.k > 0
    if counted and discovery.grounding != "observed" and not discovery.evidence.refs:
        yield "discovery.evidence.refs", "is missing: what was counted k times is cited"
    if discovery.grounding == "hypothesis-pending" and not discovery.assumptions:
        text = "is missing: grounding hypothesis-pending names the assumptions that it waits for"
        yield "discovery.assumptions", text


def completed(criterion: Criterion) -> tuple[Criterion, tuple[str, ...]]:
    """Return a mined row with defaults for what it left out, and the keys that were filled.

    SuiteError names every part that has no default and is missing: such a row was flattened on
    its way here, and what it rests on is lost (METHOD 19).
    """
    wrong = [f"{criterion.criterion_id}: {key}: {text}" for key, text in missing_parts(criterion)]
    if wrong:
        raise SuiteError("a mined criterion must be whole:\n  " + "\n  ".join(wrong))
    klass = criterion.implied_class
    structural = "general-structural" if klass == "code" else "specific-semantic"
    defaults: dict[str, Any] = {"klass": klass, "level": "output", "generality": structural}
    absent = {key: value for key, value in defaults.items() if getattr(criterion, key) is None}
    return criterion.model_copy(update=absent), tuple(
        "class" if key == "klass" else key for key in absent
    )
