"""What `helix doctor` looks at; nothing is asked of anybody, and no secret is read out."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import helix
from helix.app.conf import conf_dir
from helix.errors import HelixError
from helix.model.config import Config, JudgeConfig
from helix.reports.words import counted

DISTRIBUTION = "helix-evals"
OLDEST, NEWEST = (3, 11), (3, 13)
EXTRAS = {
    "parquet": "report.out=[parquet]",
    "pytest": "pytest --helix",
    "serve": "helix labels serve, helix report serve",
}
"""The extras of the package, and what needs each."""
_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*extra\s*==\s*['\"]([\w-]+)['\"])?")


@dataclass(frozen=True, slots=True)
class Finding:
    """How one thing stands, and what to type where it does not work."""

    about: str
    state: Literal["ok", "warn", "fail"]
    text: str
    fix: str | None = None


def examined(words: Sequence[str], folders: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield what is found, in order; `words` and config `folders` as helix evaluate takes them."""
    yield _python()
    yield from _packages()
    try:
        yield Finding("conf", "ok", str(conf_dir()))
    except HelixError as error:
        yield Finding("conf", "fail", str(error), f"pip install --force-reinstall {DISTRIBUTION}")
        return
    yield from _plugins()
    try:
        config, run_dir = _configured(words, folders)
    except HelixError as error:
        yield Finding("configuration", "fail", str(error), "helix evaluate --help lists every key")
        return
    yield Finding("configuration", "ok", "composes")
    yield from _asked("judge", config.judge)
    if config.verifier.backend not in ("same", "none"):
        yield from _asked("verifier", config.verifier)
    yield _cache(config)
    yield _writable("paths.state", Path(config.paths.state), "paths.state=FOLDER")
    yield _writable("hydra.run.dir", run_dir.parent, "hydra.run.dir=FOLDER")


def _configured(words: Sequence[str], folders: Sequence[str]) -> tuple[Config, Path]:
    from helix.app.launch import located

    # What a run must be given, so that its absence here is no fault.
    given = ["subject.traces=traces.jsonl", "criteria.file=suite.yaml"]
    return located("evaluate", [*given, *words], folders)


def _python() -> Finding:
    version = sys.version_info[:2]
    text = f"{sys.version.split()[0]}, helix {helix.__version__}"
    if OLDEST <= version <= NEWEST:
        return Finding("python", "ok", text)
    span = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
    return Finding("python", "fail", f"{text}; Helix needs {span}", "install Helix under such one")


def _packages() -> Iterator[Finding]:
    try:
        lines = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        text, fix = f"{DISTRIBUTION} is not installed, only its code is here", "pip install ."
        yield Finding("packages", "warn", text, fix)
        return
    wanted: dict[str, list[str]] = {}
    for line in lines:
        found = _REQUIREMENT.match(line)
        if found is not None:
            wanted.setdefault(found[2] or "", []).append(found[1])
    missing = _missing(wanted.get("", []))
    if missing:
        fix = f"pip install --upgrade {DISTRIBUTION}"
        yield Finding("packages", "fail", f"not installed: {', '.join(missing)}", fix)
    else:
        yield Finding("packages", "ok", f"all {len(wanted.get('', []))} are installed")
    for extra, needed_by in EXTRAS.items():
        if extra not in wanted:
            text = "this installation does not know it: it is of another version"
            fix = f"pip install --upgrade {DISTRIBUTION}"
            yield Finding(f"extra {extra}", "warn", text, fix)
            continue
        missing = _missing(wanted[extra])
        if not missing:
            yield Finding(f"extra {extra}", "ok", "installed")
            continue
        text = f"not installed ({', '.join(missing)}); {needed_by} needs it"
        fix = f"pip install '{DISTRIBUTION}[{extra}]', or in a checkout pip install '.[{extra}]'"
        yield Finding(f"extra {extra}", "warn", text, fix)


def _missing(names: Sequence[str]) -> list[str]:
    return [name for name in names if not _installed(name)]


def _installed(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def _plugins() -> Iterator[Finding]:
    from helix.app.plugins import config_folders, registry

    found = registry()
    config_folders()
    for problem in found.problems:
        fix = f"pip install --upgrade {problem.plugin}, or leave it out of HELIX_PLUGINS"
        yield Finding(f"plugin {problem.plugin}", "warn", problem.text, fix)
    names = [f"{name} {version}" for name, version in sorted(found.plugins.items())]
    restricted = os.environ.get("HELIX_PLUGINS")
    text = ", ".join(names) or "none installed"
    text += f"; HELIX_PLUGINS={restricted} restricts them" if restricted is not None else ""
    yield Finding("plugins", "ok", text)


def _asked(section: str, config: JudgeConfig) -> Iterator[Finding]:
    backend = config.backend
    if backend == "none":
        yield Finding(section, "ok", "none: code decides alone, judged rows stay undecided")
        return
    if config.model is None:
        text = f"{backend}, without a model; a suite that code decides alone needs none"
        fix = f"{section}.model=NAME, or {section}=none"
        yield Finding(section, "warn", text, fix)
    else:
        yield Finding(section, "ok", f"{backend}, {config.model}")
    yield from _means(section, config)


def _means(section: str, config: JudgeConfig) -> Iterator[Finding]:
    """Yield whether what the backend works with is here."""
    if config.backend == "litellm":
        yield _key(section, config)
    if config.backend == "command" and config.command:
        program = config.command[0]
        found = shutil.which(program)
        fix = None if found else f"install {program}, or name another by {section}.command"
        state: Literal["ok", "fail"] = "ok" if found else "fail"
        yield Finding(f"{section}.command", state, found or f"{program} is not on PATH", fix)
    for key, value in (("script", config.script), ("dir", config.dir)):
        needed = {"scripted": "script", "replay": "dir"}.get(config.backend) == key
        if needed and (value is None or not Path(value).exists()):
            text = f"{value} is not there" if value else "is not named"
            yield Finding(f"{section}.{key}", "fail", text, f"{section}.{key}=PATH")


def _key(section: str, config: JudgeConfig) -> Finding:
    about, named = f"{section} key", config.api_key_env
    if named:
        if os.environ.get(named):
            return Finding(about, "ok", f"{named} is set")
        return Finding(about, "fail", f"{named} is not set", f"export {named}=KEY")
    if config.base_url or config.model is None:
        why = "a server of your own" if config.base_url else "not known before the model is"
        return Finding(about, "ok", f"none asked for: {why}")
    from helix.backends.litellm import missing_keys

    missing = missing_keys(config.model)
    if not missing:
        return Finding(about, "ok", f"the environment holds what {config.model} needs")
    fix = f"export {missing[0]}=KEY, or {section}.api_key_env=NAME"
    return Finding(about, "fail", f"{' or '.join(missing)} is not set", fix)


def _cache(config: Config) -> Finding:
    from helix.engine.cache import open_cache
    from helix.engine.store import DISK, FOLDER

    if config.cache.name != DISK:
        return _shared_cache(config)
    state = config.paths.state
    folder = Path(state) / FOLDER
    if not folder.exists():
        return Finding("cache", "ok", f"no reply is kept yet in {folder}")
    try:
        with open_cache(state) as cache:
            replies = sum(1 for _ in cache.entries())
            size = cache.stats().bytes
    except HelixError as error:
        return Finding("cache", "fail", str(error), f"mv {folder} {folder}.damaged")
    return Finding(
        "cache", "ok", f"{counted(replies, 'reply', 'replies')}, {size:,} bytes, {folder}"
    )


def _shared_cache(config: Config) -> Finding:
    """Open a plugin's cache as a run would; its replies are not counted, there may be many."""
    from helix.engine.store import open_named
    from helix.registry import CacheSettings, load

    try:
        with open_named(CacheSettings(config.cache, config.paths.state), load()) as store:
            return Finding("cache", "ok", f"{store.where} can be written to and read")
    except HelixError as error:
        return Finding("cache", "fail", str(error), "as it says, or cache.name=disk")


def _writable(about: str, folder: Path, otherwise: str) -> Finding:
    """Try to write to a folder, or to where it would be made; nothing is left there."""
    there = next((p for p in (folder, *folder.absolute().parents) if p.exists()), Path("/"))
    try:
        with tempfile.TemporaryFile(dir=there):
            return Finding(about, "ok", f"{folder} can be written to")
    except OSError as error:
        text = f"{there} cannot be written to: {error.strerror}"
        return Finding(about, "fail", text, f"make {there} writable, or {otherwise}")
