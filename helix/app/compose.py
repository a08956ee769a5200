"""Composition: typed overrides and conf/ to a validated `Config`, every problem in one error."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import version
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from pydantic import ValidationError

from helix.app import keys, problems
from helix.app.conf import PACKAGE, conf_dir
from helix.app.preflight import astray, refusals, shadows
from helix.app.quoting import shaped
from helix.errors import ConfigError, HelixError, did_you_mean
from helix.model.config import Config
from helix.model.sound import faults
from helix.pins import overruled

HYDRA_BASE = "1.3"
_OVERRIDE = re.compile(r"(\+{0,2}|~)([^=@+~]+)(@[^=]*)?(?:(=)(.*))?", re.DOTALL)
_MISSING = "???"

# On import, so that the worker processes of a launcher know it too.
OmegaConf.register_new_resolver("helix_package", lambda p: str(PACKAGE / p), replace=True)


@dataclass(frozen=True, slots=True)
class Typed:
    """An override as typed: `+`, `++` or `~`, the key, and the value as Hydra is to read it."""

    prefix: str
    key: str
    text: str

    @property
    def word(self) -> str:
        """The override as Hydra takes it."""
        return self.prefix + self.key + self.text


def typed(words: Sequence[str], groups: Sequence[str], *, multirun: bool) -> list[Typed]:
    """Return the overrides with text quoted for Hydra; ConfigError names every one that is wrong.

    `groups` are the config groups that exist besides Hydra's own.
    """
    found, wrong = [], []
    for word in words:
        match = _OVERRIDE.fullmatch(word)
        if match is None or not (match[4] or match[1] == "~"):
            wrong.append(_not_an_override(word))
            continue
        prefix, name, package, _, text = match.groups()
        if name.startswith("hydra.searchpath"):
            # Refused before it is composed: a package that is searched is imported.
            wrong.append("hydra.searchpath is refused: add a folder with --config-dir")
            continue
        key = keys.find(name)
        if key is None and not _known(name, groups):
            wrong.append(_unknown(name, groups))
            continue
        if key is None or package or text is None:
            rest = (package or "") + ("" if text is None else f"={text}")
            found.append(Typed(prefix, name, rest))
            continue
        sweeps = multirun and not name.startswith("hydra.")
        value = shaped(text, key, multirun=sweeps)
        found.append(Typed("++" if key.grows and not prefix else prefix, name, f"={value}"))
    if wrong:
        raise problems.report(wrong)
    return found


@contextlib.contextmanager
def opened(command: str, folders: Sequence[str]) -> Iterator[Hydra]:
    """Open Hydra for a command over conf/ and further config folders; closed afterwards."""
    version.setbase(HYDRA_BASE)
    with as_config_error():
        path = create_config_search_path(str(conf_dir()))
        for folder in folders:
            if not os.path.isdir(folder):
                raise ConfigError(f"config folder {folder} does not exist or is no folder")
            if found := shadows(folder, [file.name for file in conf_dir().glob("*.yaml")]):
                raise problems.report(found)
            path.prepend(
                provider="command-line",
                path=f"file://{os.path.abspath(folder)}",
                anchor=SearchPathQuery(provider="schema"),
            )
        hydra = Hydra.create_main_hydra2(command, path)
    try:
        yield hydra
    finally:
        GlobalHydra.instance().clear()


def compose(
    hydra: Hydra, command: str, words: Sequence[str], mode: RunMode = RunMode.RUN
) -> DictConfig:
    """Return the configuration with Hydra's own section, refused if it would run code."""
    with as_config_error():
        composed = hydra.compose_config(
            config_name=command,
            overrides=list(words),
            run_mode=mode,
            with_log_configuration=False,
        )
    refuse(composed)
    return composed


def refuse(composed: DictConfig) -> None:
    """Raise ConfigError for a composed configuration that would run code or write secrets."""
    with as_config_error():
        found = refusals(composed)
    if found:
        raise problems.report(found)


def refuse_astray(key: str, folder: Path, config: Config, overrides: Sequence[Typed]) -> None:
    """Raise ConfigError where a file of the configuration would write outside this folder.

    `folder` is what `key` of Hydra's section names.
    """
    reports = [(f"report.to.{name}", Path(path)) for name, path in config.report.to.items()]
    if found := astray([(key, folder), *reports], [o.key for o in overrides]):
        raise problems.report(found)


def placed(composed: DictConfig, run_dir: str) -> DictConfig:
    """Tell Hydra's resolvers of the configuration and of the run directory."""
    with open_dict(composed):
        composed.hydra.runtime.output_dir = os.path.abspath(run_dir)
    HydraConfig.instance().set_config(composed)
    return composed


def validated(composed: DictConfig, overrides: Sequence[Typed] = ()) -> Config:
    """Return the validated Config of a composed configuration; ConfigError lists every problem."""
    with as_config_error():
        data = {str(name): _plain(composed, str(name)) for name in composed if name != "hydra"}
    wrong = [problems.missing(key) for key in _drop_missing(data, "")]
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        wrong += problems.of(error, [o.key for o in overrides], _choices(composed))
        raise problems.report(wrong) from None
    wrong += [*_unsound(config), *_overruled(config, overrides)]
    if wrong:
        raise problems.report(wrong)
    return config


def directory(composed: DictConfig, dotted: str) -> Path:
    """Return the folder that a key of Hydra's section names."""
    with as_config_error():
        return Path(str(OmegaConf.select(composed, dotted, throw_on_missing=True)))


def _plain(composed: DictConfig, name: str) -> Any:
    if OmegaConf.is_missing(composed, name):
        return _MISSING
    value = composed[name]
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _choices(composed: DictConfig) -> dict[str, str]:
    if "hydra" not in composed:
        return {}
    chosen = composed.hydra.runtime.choices
    return {str(group): str(option) for group, option in chosen.items() if option is not None}


def _drop_missing(data: dict[str, Any], prefix: str) -> Iterator[str]:
    for name, value in list(data.items()):
        if value == _MISSING:
            del data[name]
            yield prefix + name
        elif isinstance(value, dict):
            yield from _drop_missing(value, f"{prefix}{name}.")


def _unsound(config: Config) -> Iterator[str]:
    yield from faults(config)
    if config.run.dir is not None:
        yield f"run.dir must be null (got {config.run.dir!r}): type hydra.run.dir={config.run.dir}"


def _overruled(config: Config, overrides: Sequence[Typed]) -> Iterator[str]:
    """Yield what is typed of the verifier and would count for nothing."""
    for one in overrides:
        section, _, name = one.key.partition(".")
        if section == "verifier" and overruled(config.verifier, config.judge, name):
            yield (
                f"{one.key} cannot be set to its default under verifier=same, which takes it from "
                f"the judge (judge.{name}={getattr(config.judge, name)}): name the verifier's own "
                f"backend, verifier={config.judge.backend}, and its model"
            )


def _known(name: str, groups: Sequence[str]) -> bool:
    return name.startswith(("hydra.", "hydra/")) or name.partition("/")[0] in groups


def _unknown(name: str, groups: Sequence[str]) -> str:
    near = did_you_mean(name, groups) if "." not in name else ""
    return f"unknown {'key' if '.' in name else 'key or group'} '{name}'" + (
        near or keys.nearest(name)
    )


def _not_an_override(word: str) -> str:
    if os.path.exists(word):
        key = "criteria.file" if word.endswith((".yaml", ".yml")) else "subject.traces"
        return f"'{word}' has no key: type {key}={word}"
    return f"'{word}' must be KEY=VALUE; `helix evaluate --help` lists the keys"


@contextlib.contextmanager
def as_config_error() -> Iterator[None]:
    """Turn whatever composing raises into a ConfigError: its only inputs are words and files."""
    try:
        yield
    except HelixError:
        raise
    except MissingConfigException as error:
        raise ConfigError(_missing_config(error)) from error
    except OverrideParseException as error:
        raise ConfigError(
            f"{error.override} cannot be read as KEY=VALUE; put the value in quotes: "
            f"\"KEY='VALUE'\" (Hydra: {_flat(error)})"
        ) from error
    except (HydraException, OmegaConfBaseException) as error:
        cause = error.__cause__
        why = f" ({_flat(cause)})" if isinstance(cause, OmegaConfBaseException) else ""
        raise ConfigError(f"{_sentence(_flat(error))}{why}") from error
    except Exception as error:
        name = type(error).__name__
        raise ConfigError(
            f"the configuration cannot be composed: {name}: {_flat(error)}"
        ) from error


def _missing_config(error: MissingConfigException) -> str:
    group, _, option = (error.missing_cfg_file or "").rpartition("/")
    if group and error.options is not None:
        return problems.unknown_option(group, option, error.options)
    return _flat(error)


def _sentence(text: str) -> str:
    comma = re.match(r"(?:Ambiguous value for argument|Sweep parameters) '([^=]*)=(.*?)'", text)
    if comma:
        return f"{comma[1]} takes one value (got {comma[2]}); type -m to sweep over several"
    return text or "the configuration is wrong"


def _flat(error: BaseException) -> str:
    """Return the text of an error on one line, without the coordinates that OmegaConf appends."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [ln for ln in lines if ln and not ln.startswith(("full_key:", "object_type=", "refere"))]
    return " ".join(kept)
