"""A judge that is a function of the request: deterministic, offline, for tests and benchmarks."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helix.backends.settings import section_of
from helix.backends.threads import in_thread
from helix.errors import ConfigError
from helix.files import is_file
from helix.model.canonical import digest
from helix.model.request import Reply, Request, Unavailable
from helix.registry import JudgeSettings
from helix.registry.code import module_of

DEFAULT_FUNCTION = "judge"
Script = Callable[[Request], Any]


class Scripted:
    """The backend that calls a function: plain ones in threads, coroutine functions in the loop.

    The function returns a Reply, the reply's text, or a dict that becomes the text; it may raise
    Unavailable or Pending. Which model gave a reply that names none is not recorded (METHOD 42).
    """

    def __init__(self, script: Script) -> None:
        self._script = script

    async def __aenter__(self) -> Scripted:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def ask(self, request: Request) -> Reply:
        """Return what the function says."""
        if self._script is abstain:
            said = abstain(request)
        elif inspect.iscoroutinefunction(self._script):
            said = await self._script(request)
        else:
            said = await in_thread(self._script, request)
        return _reply(said)


def open_scripted(settings: JudgeSettings) -> Scripted:
    """Open the function that `judge.script` names as `path.py` or `path.py:function`.

    The script is code of the project, like `checks.modules`. Without one, every row abstains.
    """
    script = settings.config.script
    return Scripted(abstain if script is None else _load(section_of(settings), script))


def abstain(request: Request) -> dict[str, Any]:
    """Return a well-formed reply in which the judge decides nothing and says why."""
    if request.unit.role != "judge":
        raise Unavailable(
            f"the script that abstains is no {request.unit.role}; name one by verifier.script"
        )
    said = "The script that abstains has not read the trace."
    verdicts = [
        {
            "criterionId": criterion,
            "critique": said,
            "blockedBy": {"kind": "factual-intent", "text": "a judge that reads the trace"},
            "result": "uncertain",
        }
        for criterion in request.unit.criteria
    ]
    if request.unit.axis == "criterion":
        return {"nonce": request.nonce, **verdicts[0]}
    return {
        "nonce": request.nonce,
        "understanding": {"rephrase": said, "given": [], "inferred": []},
        "expectedTrajectory": [{"expected": said}],
        "judgeSteps": [{"kind": "gather", "text": said}],
        "verdicts": verdicts,
        "notApplicable": [],
        "candidates": [],
        "fidelity": {"complete": True},
    }


def _reply(said: Any) -> Reply:
    if isinstance(said, dict):
        said = json.dumps(said, ensure_ascii=False)
    if isinstance(said, str):
        said = Reply(text=said, finish_reason="stop")
    if not isinstance(said, Reply):
        raise TypeError(f"the script must return Reply, str or dict (got {type(said).__name__})")
    return said


def _load(section: str, script: str) -> Script:
    file, colon, name = script.rpartition(":")
    if not colon or not name.isidentifier():
        file, name = script, DEFAULT_FUNCTION
    path = Path(file)
    if path.suffix != ".py" or not is_file(path):
        raise ConfigError(
            f"{section}.script must be path.py or path.py:function (no Python file {file})"
        )
    namespace = _run(section, path)
    if not callable(namespace.get(name)):
        raise ConfigError(f"{section}.script: {file} must define a function {name}(request)")
    function: Script = namespace[name]
    return function


def _run(section: str, path: Path) -> dict[str, Any]:
    # A name of its own per file, registered, so that the script may define dataclasses.
    name = f"helix_script_{digest(str(path.resolve()))[:16]}"
    try:
        return vars(module_of(path, name))
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{section}.script {path} could not be loaded: {type(error).__name__}: {error}"
        ) from error
