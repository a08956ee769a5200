"""What a composed configuration may not hold: whatever would run code or write secrets.

A configuration is code as far as Hydra is concerned: callbacks, logging, launchers and sweepers
name classes. So these must stand as Helix composed them, and launchers be ordinary ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf

NO_LOGGING = {"version": 1, "root": None, "disable_existing_loggers": False}
SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"
LAUNCHERS = {
    "hydra._internal.core_plugins.basic_launcher.BasicLauncher": "basic",
    "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher": "joblib",
    "hydra_plugins.hydra_submitit_launcher.submitit_launcher.LocalLauncher": "submitit_local",
    "hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher": "submitit_slurm",
}
SHELL_KEYS = ("setup", "python", "srun_args")
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
    return [*_changed(hydra), *_launcher(hydra), *_targets(raw, ""), *read]


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
    yield from _targets(rest, "hydra.launcher.")
    for key in SHELL_KEYS:
        if rest.get(key):
            yield f"hydra.launcher.{key} must be null (got {_short(rest[key])})"


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
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
