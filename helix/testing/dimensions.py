"""The conformance suite of determinism dimensions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from helix.errors import ArtifactError
from helix.registry import DeterminismDimension, load
from helix.runs import RunFiles
from helix.testing import sample
from helix.testing.contract import require, require_item


def dimension_conforms(item: DeterminismDimension) -> None:
    """Require that a dimension measures a run by its files alone, as a value of JSON.

    A run and its copy have the same value; one that lacks the artifact has none, and no crash.
    """
    who = require_item("dimensions", item)
    for name in ("artifact", "field", "target"):
        require(getattr(item, name), f"{who} must say in {name} what it reads or aims at")
    with sample.folder() as scratch:
        sample.written(scratch)
        run = sample.small_run(scratch, "run", load([])).run_dir
        copied = Path(shutil.copytree(run, scratch / "moved" / "copy"))
        first, again, copy = (_measured(who, item, folder) for folder in (run, run, copied))
        require(first == again, f"{who} measures another value the second time ({first}, {again})")
        require(first == copy, f"{who} measures another value in a copy ({first}, {copy})")
        if item.same is not None and first is not None:
            require(item.same(first, copy), f"{who}: same must hold of one value and itself")
        (copied / item.artifact).unlink(missing_ok=True)
        _measured(who, item, copied)


def _measured(who: str, item: DeterminismDimension, folder: Path) -> Any:
    try:
        value = item.measure(RunFiles(folder))
    except ArtifactError:
        return None
    except Exception as error:
        raise AssertionError(
            f"{who} must return None where a run lacks {item.artifact} "
            f"(got {type(error).__name__}: {error})"
        ) from error
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{who} must measure a value of JSON ({error})") from None
    return value
