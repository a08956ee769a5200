"""What a composed configuration may not hold: whatever would run code or write secrets.

A configuration is code as far as Hydra is concerned: callbacks, logging, launchers and sweepers
name classes. So these must stand as Helix composed them, and launchers be ordinary ones. What only
a word of the command line may do, as to write outside the current folder, no file does.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from helix.redaction import redacted, secrets

NO_LOGGING = {"version": 1, "root": None, "disable_existing_loggers": False}
SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"
LAUNCHERS = {
    "hydra._internal.core_plugins.basic_launcher.BasicLauncher": "basic",
    "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher": "joblib",
    "hydra_plugins.hydra_submitit_launcher.submitit_launcher.LocalLauncher": "submitit_local",
    "hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher": "submitit_slurm",
}
SHELL_KEYS = ("setup", "python", "srun_args")
SUBMITIT_FOLDER = "${hydra.sweep.dir}/.submitit/%j"
UNCHANGED: dict[str, Any] = {
    "callbacks": {},
    "env": {},
    "hydra_logging": NO_LOGGING,
    "job.chdir": None,
    "job.env_copy": [],
    "job.env_set": {},
    "job_logging": NO_LOGGING,
    "mode": None,
    "output_subdir": None,
}


def refusals(composed: DictConfig) -> list[str]:
    """Return why a composed configuration is refused, one sentence each; empty if it is not."""
    raw = OmegaConf.to_container(composed, resolve=False)
    assert isinstance(raw, dict)
    hydra = raw.pop("hydra")
    read = [x for role in ("judge", "verifier") for x in _environment(raw.get(role), role)]
    return [*_changed(hydra), *_launcher(hydra), *_hidden(composed), *_targets(raw, ""), *read]


def shadows(folder: str, primary: Collection[str]) -> list[str]:
    """Return why a config folder is refused before anything is composed with it.

    A file named like one of the `primary` configurations would take its place, and what that
    names to be searched is imported while it is composed.
    """
    return [
        f"the config folder {folder} must not hold {name}, which would take the place of Helix's "
        "own: set keys in a file of a group, as experiment/NAME.yaml"
        for name in sorted(primary)
        if os.path.lexists(os.path.join(folder, name))
    ]


def astray(places: Iterable[tuple[str, Path]], typed: Sequence[str]) -> list[str]:
    """Return why places to write to are refused: not below the current folder, nor typed.

    `places` are (key, path); `typed` are the keys on the command line. No place may be named by a
    secret. Links are not followed: a person's own link may lead to a larger disk.
    """
    here = Path.cwd()
    found = []
    for key, path in places:
        holds = [name for name, secret in secrets(os.environ) if secret in str(path)]
        meant = any(key == word or key.startswith(f"{word}.") for word in typed)
        if holds:
            found.append(f"{key} holds the value of {holds[0]}: take it out")
        elif not meant and not Path(os.path.abspath(path)).is_relative_to(here):
            found.append(
                f"{key} must stay below the current folder where a configuration file sets it "
                f"(got {str(path)!r}): type {key}={path} to mean it"
            )
    return found


def _changed(hydra: dict[str, Any]) -> Iterator[str]:
    for dotted, expected in UNCHANGED.items():
        value: Any = hydra
        for part in dotted.split("."):
            value = value.get(part)
        if value != expected:
            yield f"hydra.{dotted} must stay as it is (got {_short(value)})"


def _launcher(hydra: dict[str, Any]) -> Iterator[str]:
    sweeper, launcher = hydra["sweeper"], hydra["launcher"]
    if not isinstance(sweeper, dict) or sweeper.get("_target_") != SWEEPER:
        yield f"hydra/sweeper must be basic (got {_short(sweeper)})"
    elif set(sweeper) - {"_target_", "max_batch_size", "params"}:
        yield f"hydra.sweeper may set max_batch_size and params (got {_short(sweeper)})"
    if not isinstance(launcher, dict) or launcher.get("_target_") not in LAUNCHERS:
        known = ", ".join(LAUNCHERS.values())
        yield f"hydra/launcher must be one of {known} (got {_short(launcher)})"
        return
    rest = {key: value for key, value in launcher.items() if key != "_target_"}
    for key in SHELL_KEYS:
        if rest.get(key):
            yield f"hydra.launcher.{key} must be null (got {_short(rest[key])})"
    folder = rest.get("submitit_folder", SUBMITIT_FOLDER)
    if folder != SUBMITIT_FOLDER:
        # It is where results are unpickled from.
        yield f"hydra.launcher.submitit_folder must stay as it is (got {_short(folder)})"


def _hidden(composed: DictConfig) -> Iterator[str]:
    """Refuse what appears only when `${…}` is filled in: Hydra fills in, then makes objects."""
    for part in ("launcher", "sweeper"):
        given = OmegaConf.select(composed, f"hydra.{part}")
        if not isinstance(given, DictConfig):
            continue
        filled = OmegaConf.to_container(given, resolve=True)
        assert isinstance(filled, dict)
        rest = {key: value for key, value in filled.items() if key != "_target_"}
        yield from _targets(rest, f"hydra.{part}.")
        if part == "launcher":
            yield from _broken(rest, "hydra.launcher")


def _broken(value: Any, where: str) -> Iterator[str]:
    """Refuse a second line, which would be one of the script that the launcher writes."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _broken(str(key), where)
            yield from _broken(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _broken(inner, f"{where}.{number}")
    elif isinstance(value, str) and len(value.splitlines()) > 1:
        yield f"{where} must be text of one line (got {_short(value)})"


def _targets(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "_target_":
                yield f"{where}_target_ is refused: a configuration names plugins, never code"
            yield from _targets(inner, f"{where}{key}.")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _targets(inner, f"{where}{number}.")


def _environment(value: Any, where: str) -> Iterator[str]:
    """Refuse what the environment holds where it would be written with the pin."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _environment(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _environment(inner, f"{where}.{number}")
    elif isinstance(value, str) and "oc.env" in value:
        role = where.partition(".")[0]
        yield (
            f"{where} must not read the environment, since it is written to plan.json and "
            f"scorecard.json: name the variable of a key in {role}.api_key_env"
        )


def _short(value: Any) -> str:
    text = redacted(repr(value))
    return text if len(text) <= 80 else text[:77] + "..."
