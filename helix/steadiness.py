"""Which rows a judge without temperature 0 was measured stable on (METHOD 42).

`helix audit variance --keep` writes them and every run reads those of its own pipeline, as it does
the standings of `validate`. A change of judge, verifier, prompt or row leaves nothing measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from helix.files import atomic_write, file_name
from helix.gate import STEADY
from helix.model.lines import encode_page, read_page
from helix.model.validation import Pipeline
from helix.model.variance import STEADINESS_SCHEMA_VERSION, CriterionSpread, Steadiness
from helix.trust import pipeline_digest, pipelines

FOLDER = "stability"


def measured(
    suite: str, spreads: Sequence[CriterionSpread], decides: dict[str, Any], at: str
) -> Iterator[Steadiness]:
    """Yield how each judged row stands by its repeats; nothing of one that was not repeated.

    Stable is a row whose every trace was answered five times or more, always the same, nothing
    undecided (METHOD 73: an under-sampled case is never stable, and an empty set fails).
    """
    code = frozenset(one.criterion_id for one in spreads if one.klass == "code")
    known = pipelines(decides, code)
    for one in spreads:
        if one.flips is None or one.criterion_id not in known:
            continue
        fewest = min((len(cell.states) for cell in one.cells), default=0)
        reason = _wrong(one, fewest)
        yield Steadiness(
            schema_version=STEADINESS_SCHEMA_VERSION,
            suite=suite,
            criterion_id=one.criterion_id,
            pipeline=pipeline_digest(known[one.criterion_id]),
            traces=one.flips.traces,
            repeats=fewest,
            stable=reason is None,
            reason=reason,
            at=at,
        )


def keep(state: str | Path, found: Steadiness) -> Path:
    """Write a measurement in the place of an earlier one under the same pipeline."""
    path = _path(state, found.suite, found.criterion_id, found.pipeline)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, encode_page(found))
    return path


def steady_rows(state: str | Path, decides: dict[str, Any], code: frozenset[str]) -> frozenset[str]:
    """Return the judged rows of a plan that were measured stable under its own pipeline.

    None where judge and verifier are pinned to temperature 0: none need to be.
    """
    asked = (section for section in (decides["judge"], decides["verifier"]) if section)
    if all(section["pin"]["temperature"] is not None for section in asked):
        return frozenset()
    suite = decides["suite"]["name"]
    return frozenset(
        criterion
        for criterion, pipeline in pipelines(decides, code).items()
        if criterion not in code and _stable(state, suite, criterion, pipeline)
    )


def _stable(state: str | Path, suite: str, criterion: str, pipeline: Pipeline) -> bool:
    path = _path(state, suite, criterion, pipeline_digest(pipeline))
    if not path.exists():
        return False
    return read_page(
        path, Steadiness, STEADINESS_SCHEMA_VERSION, damaged="; remove it", other=": measure again"
    ).stable


def _wrong(one: CriterionSpread, fewest: int) -> str | None:
    flips = one.flips
    if flips is None or not flips.traces:
        return "no trace was answered twice"
    if flips.rate.k:
        return f"answers differ on {sum(bool(cell.rate) for cell in one.cells)} traces"
    if flips.undecided:
        return f"{flips.undecided} repeats are undecided"
    if fewest < STEADY:
        return f"a trace was asked under {fewest} of {STEADY} indices"
    return None


def _path(state: str | Path, suite: str, criterion: str, pipeline: str) -> Path:
    return Path(state) / FOLDER / file_name(f"{suite}/{criterion}") / f"{pipeline}.json"
