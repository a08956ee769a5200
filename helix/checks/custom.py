"""Checks that a project writes itself: one decorated function in a file or module.

    from helix.checks import Decision, check, cite

    @check("polite")
    def polite(trace, params, context):
        ...

Such a file is code and is run when it loads; it comes from the project's configuration alone.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import traceback
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, RootModel

from helix.checks.parameters import Params
from helix.errors import ConfigError, did_you_mean
from helix.files import is_file
from helix.model.trace import Trace
from helix.registry import Check, CheckContext, Decision, Registry
from helix.registry.code import module_of

_MARK = "_helix_check"
_GIVEN = ("trace", "params", "context")
_DIGEST_DIGITS = 12
Function = TypeVar("Function", bound=Callable[..., Any])


class NoParams(Params):
    """The parameters of a check that takes none."""


def check(name: str, version: str = "1") -> Callable[[Function], Function]:
    """Mark a function as the check of that name.

    The function takes `trace` and, if it wants them, `params` (annotated with a pydantic model)
    and `context`, and returns a Decision. It must be pure: same trace, same answer.
    """

    def mark(function: Function) -> Function:
        setattr(function, _MARK, _as_check(name, version, function))
        return function

    return mark


def load_modules(
    modules: Iterable[str], registry: Registry, base_dir: str | Path = "."
) -> list[str]:
    """Register the checks of each module of `checks.modules`; return their names, in order.

    An entry is a path of a Python file, relative to `base_dir`, or the name of an importable
    module. A check's version carries a digest of that file, so that an edit changes the plan.
    """
    names: list[str] = []
    for entry in modules:
        module = _load_file(entry, base_dir) if _is_path(entry) else _load_module(entry)
        found = _checks_of(module)
        if not found:
            raise ConfigError(
                f"checks.modules: {entry} defines no check; mark a function with "
                '@helix.checks.check("NAME")'
            )
        digest = _digest(module)
        for item, where in found:
            _register(item, digest, entry, where, registry)
            names.append(item.name)
    return names


def _as_check(name: str, version: str, function: Callable[..., Any]) -> Check:
    wanted = list(inspect.signature(function).parameters)
    strange = [parameter for parameter in wanted if parameter not in _GIVEN]
    if strange or "trace" not in wanted:
        raise TypeError(
            f"check '{name}': {function.__name__} must take trace, and may take params and context "
            f"(got {', '.join(wanted) or 'nothing'})"
        )
    params: type[BaseModel] = NoParams
    if "params" in wanted:
        model = typing.get_type_hints(function).get("params", NoParams)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise TypeError(f"check '{name}': params must be annotated with a pydantic model")
        params = _closed(model)

    @functools.wraps(function)
    def decide(trace: Trace, params: Any, context: CheckContext) -> Decision:
        given = {"trace": trace, "params": params, "context": context}
        decision: Decision = function(**{parameter: given[parameter] for parameter in wanted})
        return decision

    return Check(name, version, params, decide)


def _closed(model: type[BaseModel]) -> type[BaseModel]:
    """Return the model with unknown keys refused, unless its author decided about them."""
    if "extra" in model.model_config or issubclass(model, RootModel):
        return model
    return type(
        model.__name__,
        (model,),
        {
            "__module__": model.__module__,
            "__doc__": model.__doc__,
            "model_config": ConfigDict(extra="forbid"),
        },
    )


def _is_path(entry: str) -> bool:
    return entry.endswith(".py") or "/" in entry or "\\" in entry


def _load_file(entry: str, base_dir: str | Path) -> ModuleType:
    path = Path(base_dir) / entry
    if not is_file(path):
        near = [p.name for p in Path(base_dir).glob("*.py")]
        raise ConfigError(f"checks.modules: no file {entry}{did_you_mean(path.name, near)}")
    path = path.resolve()
    key = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()
    name = f"_helix_checks_{key[:_DIGEST_DIGITS]}"
    if path.suffix != ".py":
        raise ConfigError(f"checks.modules: {entry} must be a Python file (NAME.py)")
    try:
        return module_of(path, name)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"checks.modules: {entry}{_failed(error, str(path))}") from error


def _load_module(entry: str) -> ModuleType:
    try:
        return importlib.import_module(entry)
    except ModuleNotFoundError as error:
        if error.name and (entry == error.name or entry.startswith(f"{error.name}.")):
            raise ConfigError(
                f"checks.modules: no module {entry}; give a file as a path (checks/NAME.py)"
            ) from None
        raise ConfigError(f"checks.modules: {entry}{_failed(error, None)}") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(f"checks.modules: {entry}{_failed(error, None)}") from error


def _failed(error: BaseException, path: str | None) -> str:
    """Return `, line N: Type: message`, the line being the last one that ran in the file."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f", line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if path in (None, f.filename)]
    line = f", line {frames[-1].lineno}" if path and frames else ""
    return f"{line}: {type(error).__name__}: {error}"


def _checks_of(module: ModuleType) -> list[tuple[Check, int]]:
    """Return the checks that a module defines itself, with the lines where, in file order."""
    found: dict[str, tuple[Check, int]] = {}
    for value in vars(module).values():
        item = getattr(value, _MARK, None)
        if isinstance(item, Check) and getattr(value, "__module__", None) == module.__name__:
            found[value.__qualname__] = (item, value.__code__.co_firstlineno)
    return sorted(found.values(), key=lambda entry: entry[1])


def _digest(module: ModuleType) -> str:
    source = getattr(module, "__file__", None)
    data = Path(source).read_bytes() if source else module.__name__.encode("utf-8")
    return hashlib.sha256(data).hexdigest()[:_DIGEST_DIGITS]


def _register(item: Check, digest: str, entry: str, line: int, registry: Registry) -> None:
    taken = registry.items("checks").get(item.name)
    plugin = f"checks.modules:{entry}"
    if taken is not None:
        raise ConfigError(
            f"checks.modules: {entry}, line {line}: check '{item.name}' is already registered by "
            f"{taken.plugin}; rename one of them"
        )
    registry.add("checks", _versioned(item, digest), plugin)


def _versioned(item: Check, digest: str) -> Check:
    return Check(item.name, f"{item.version}+{digest}", item.params, item.decide)
