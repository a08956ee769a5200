"""What a judge's word is worth: standings of criteria under pipelines, kept under `paths.state`.

`validate` writes them and every run reads those of its own pipeline. A standing under another
pipeline is stale: it says which part has changed since (METHOD 43, 60).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from helix.errors import ArtifactError
from helix.files import atomic_write, file_name
from helix.model.canonical import digest
from helix.model.lines import decode_line, encode_page
from helix.model.plan import Plan
from helix.model.validation import VALIDATION_SCHEMA_VERSION, Pipeline, Trust

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


def suite_of(plan: Plan) -> str:
    """Return the name of a plan's suite."""
    return str(plan.decides["suite"]["name"])


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
    found = {path.stem: path for path in _folder(state, suite, criterion).glob("*.json")}
    own = found.get(pipeline_digest(pipeline))
    if own is not None:
        trust = _read(own)
        return trust, trust.reason
    earlier = sorted((_read(path) for path in found.values()), key=lambda trust: trust.at)
    if not earlier:
        return None, "never measured against labels"
    last = earlier[-1]
    changed = " and ".join(_changed(last.pipeline, pipeline))
    reason = f"{changed} changed since it was {last.status}"
    return msgspec.structs.replace(last, status="stale", reason=reason), reason


def _pinned(asked: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what of a plan's section makes answers; other names of one model do not."""
    return None if asked is None else {k: v for k, v in asked.items() if k != "aliases"}


def _changed(then: Pipeline, now: Pipeline) -> Iterator[str]:
    for part, words in _PARTS.items():
        if getattr(then, part) != getattr(now, part):
            yield words


def _folder(state: str | Path, suite: str, criterion: str) -> Path:
    return Path(state) / FOLDER / file_name(f"{suite}/{criterion}")


def _read(path: Path) -> Trust:
    try:
        trust = decode_line(path.read_bytes(), Trust)
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged: {error}; remove it") from None
    if trust.schema_version.partition(".")[0] != VALIDATION_SCHEMA_VERSION.partition(".")[0]:
        raise ArtifactError(
            f"{path} must have schemaVersion {VALIDATION_SCHEMA_VERSION} "
            f"(got {trust.schema_version}): validate again"
        )
    return trust
