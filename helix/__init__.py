"""Helix adjudicates what an LLM agent did: verdicts that never outrun their evidence.

    import helix

    run = helix.evaluate("traces.jsonl", "suite.yaml")
    print(run.run_verdict, run.scorecard.cells)

Names are imported when they are first used, so that `import helix` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helix.checks import check
    from helix.evaluate import Finished, evaluate
    from helix.model.config import Config
    from helix.model.scorecard import Scorecard
    from helix.model.trace import Trace
    from helix.registry import Decision, hookimpl

_HOMES = {
    "Config": "helix.model.config",
    "Decision": "helix.registry",
    "Finished": "helix.evaluate",
    "Scorecard": "helix.model.scorecard",
    "Trace": "helix.model.trace",
    "check": "helix.checks",
    "evaluate": "helix.evaluate",
    "hookimpl": "helix.registry",
}

__all__ = [
    "Config",
    "Decision",
    "Finished",
    "Scorecard",
    "Trace",
    "check",
    "evaluate",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("helix-evals")
        except PackageNotFoundError:
            return "unknown"
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'helix' has no attribute '{name}'")
    module = importlib.import_module(home)
    return module if name == "evaluate" else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
