"""What a judge's word is worth: standings of criteria under pipelines, kept under `paths.state`.

`validate` writes them and every run reads those of its own pipeline. A standing under another
pipeline is stale: it says which part has changed since (METHOD 43, 60).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from helix.errors import ArtifactError
from helix.files import atomic_write, file_name
from helix.gate import Trusted
from helix.model.canonical import digest
from helix.model.lines import encode_page, read_page
from helix.model.validation import VALIDATION_SCHEMA_VERSION, Pipeline, Rate, Trust
from helix.stats import Share

FOLDER = "validation"
_PARTS = {
    "judge": "the judge's pin",
    "verifier": "the verifier's pin",
    "prompt": "how they are asked",
    "version": "the criterion",
}


def pipelines(decides: dict[str, Any], code: frozenset[str]) -> dict[str, Pipeline]:
    """Return the pipeline of every criterion of a plan; `code` names the rows that code decides.

    ArtifactError for a plan of a Helix that did not yet say what is asked.
    """
    versions = decides.get("versions")
    if not isinstance(versions, dict):
        raise ArtifactError(
            "the run's plan.json does not say the versions of its criteria: evaluate again"
        )
    return {
        criterion: Pipeline(judge=None, verifier=None, prompt=None, version=version)
        if criterion in code
        else Pipeline(
            judge=_pinned(decides["judge"]),
            verifier=_pinned(decides["verifier"]),
            prompt=decides["prompt"],
            version=version,
        )
        for criterion, version in versions.items()
    }


def pipeline_digest(pipeline: Pipeline) -> str:
    """Return the digest that a pipeline is known by."""
    return digest(msgspec.to_builtins(pipeline))


def keep(state: str | Path, trust: Trust) -> Path:
    """Write a standing in the place of an earlier one under the same pipeline."""
    folder = _folder(state, trust.suite, trust.criterion_id)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{pipeline_digest(trust.pipeline)}.json"
    atomic_write(path, encode_page(trust))
    return path


def standing(
    state: str | Path, suite: str, criterion: str, pipeline: Pipeline
) -> tuple[Trust | None, str]:
    """Return how a criterion stands under a pipeline and why; None where it never was measured.

    What was measured under another pipeline comes back with the status stale.
    """
    own = _folder(state, suite, criterion) / f"{pipeline_digest(pipeline)}.json"
    if own.exists():
        trust = _read(own)
        return trust, trust.reason
    last = last_measured(state, suite, criterion)
    if last is None:
        return None, "never measured against labels"
    what = " and ".join(changed(last.pipeline, pipeline))
    reason = f"{what} changed since it was {last.status}"
    return msgspec.structs.replace(last, status="stale", reason=reason), reason


def last_measured(state: str | Path, suite: str, criterion: str) -> Trust | None:
    """Return how a criterion stood when it was measured last, under whatever pipeline."""
    found = [_read(path) for path in _folder(state, suite, criterion).glob("*.json")]
    return max(found, key=lambda trust: trust.at, default=None)


def trusted(
    state: str | Path, suite: str, decides: dict[str, Any], code: frozenset[str]
) -> dict[str, Trusted]:
    """Return how the judge of a plan stands on each of its rows in which it has a part."""
    return {
        criterion: _trusted(*standing(state, suite, criterion, pipeline))
        for criterion, pipeline in pipelines(decides, code).items()
        if criterion not in code
    }


def trust_digest(trusts: Mapping[str, Trusted]) -> str | None:
    """Return the digest of all standings that were measured, because a gate may rest on them."""
    found = {
        criterion: [trust.status, *map(str, (*trust.tpr, *trust.tnr))]
        for criterion, trust in trusts.items()
        if trust.tpr is not None and trust.tnr is not None
    }
    return digest(found) if found else None


def _trusted(trust: Trust | None, reason: str) -> Trusted:
    if trust is None:
        return Trusted(reason=reason)
    return Trusted(trust.status, reason, _share(trust.tpr), _share(trust.tnr), trust.coverage)


def _share(rate: Rate) -> Share:
    """Return a rate on the size that tasks leave, the rate itself kept exact."""
    size = Fraction(rate.effective)
    return Share(Fraction(rate.k, rate.n) * size, size) if rate.n else Share(0, 0)


def _pinned(asked: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what of a plan's section makes answers; other names of one model do not."""
    return None if asked is None else {k: v for k, v in asked.items() if k != "aliases"}


def changed(then: Pipeline, now: Pipeline) -> Iterator[str]:
    """Yield in words the parts in which two pipelines differ."""
    for part, words in _PARTS.items():
        if getattr(then, part) != getattr(now, part):
            yield words


def _folder(state: str | Path, suite: str, criterion: str) -> Path:
    return Path(state) / FOLDER / file_name(f"{suite}/{criterion}")


def _read(path: Path) -> Trust:
    return read_page(
        path, Trust, VALIDATION_SCHEMA_VERSION, damaged="; remove it", other=": validate again"
    )
