"""Who is asked and how: the pins of judge and verifier, checked before anything is spent.

The model is named or the run stops; the verifier's identity is not the judge's (METHOD 41, 42, 47).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helix.errors import PinError
from helix.files import is_file
from helix.model.canonical import source_digest
from helix.model.config import Config, JudgeConfig, VerifierConfig
from helix.model.request import Pin, Price, same_name
from helix.registry import Judge, Registry

SAME = "same"
_TAKEN = tuple(name for name in JudgeConfig.model_fields if name not in ("identity", "backend"))
PRICES = ("prompt_usd_per_million", "completion_usd_per_million")
LARGE_FILE = 16_000_000


@dataclass(frozen=True, slots=True)
class Verifier:
    """Who tries to refute the judge: config with nothing left unset, backend, pin."""

    config: VerifierConfig
    judge: Judge
    pin: Pin


def verifier_of(config: Config, registry: Registry, judge: Judge, pin: Pin) -> Verifier | None:
    """Return who verifies: nobody where nobody judges, or where none is asked for (METHOD 47)."""
    section = config.verifier
    if not judge.asks or section.verify == "none" or section.backend == "none":
        return None
    if section.backend == SAME:
        section = section.model_copy(update=_inherited(section, config.judge))
    else:
        named = f"verifier:{section.backend}:{section.model or 'none'}"
        section = section.model_copy(update={"identity": section.identity or named})
    if same_name(str(section.identity), pin.identity):
        raise PinError(
            f"verifier.identity must differ from the judge's (got '{section.identity}' and "
            f"'{pin.identity}'): a verdict is not verified by who reached it"
        )
    backend: Judge = registry.get("judges", section.backend)
    return Verifier(section, backend, make_pin(section, backend, "verifier"))


def overruled(section: VerifierConfig, judge: JudgeConfig, name: str) -> bool:
    """Whether what a verifier says of a key counts for nothing: `same` takes it from the judge.

    A key that stands as it does by default cannot be told from one that nobody set.
    """
    if section.backend != SAME or name not in _TAKEN:
        return False
    said = getattr(section, name)
    return bool(said == getattr(VerifierConfig(), name) and said != getattr(judge, name))


def _inherited(section: VerifierConfig, judge: JudgeConfig) -> dict[str, Any]:
    """Return what the verifier takes from the judge: all that it does not say itself."""
    plain = VerifierConfig()
    taken = {
        name: getattr(judge, name)
        for name in _TAKEN
        if getattr(section, name) == getattr(plain, name)
    }
    model = taken.get("model", section.model) or "none"
    identity = section.identity or f"verifier:{judge.backend}:{model}"
    return {**taken, "backend": judge.backend, "identity": identity}


def make_pin(config: JudgeConfig, judge: Judge, section: str) -> Pin:
    """Return the pin, or say what it lacks: a model (METHOD 41, 42)."""
    if judge.needs_model and not config.model:
        who = " (whoever will answer: a model, a person)" if judge.name == "dispatch" else ""
        raise PinError(
            f"{section}.model must name the model that judges (got nothing): "
            f"add {section}.model=NAME{who}, or {section}=none to leave its rows undecided"
        )
    extra = {name: value for name, value in config.extra.items() if name not in PRICES}
    if config.script:
        extra["scriptDigest"] = _script_digest(config.script)
    if config.command:
        extra["command"] = list(config.command)
        extra["commandFiles"] = _file_digests(config.command)
    model = config.model or "none"
    return Pin(
        backend=judge.name,
        model=model,
        identity=config.identity or f"{judge.name}:{model}",
        temperature=None if config.allow_unpinned_temperature else 0.0,
        seed=config.seed,
        max_tokens=config.max_tokens,
        extra=extra,
        base_url=config.base_url,
        structured=config.structured,
        price=_price(config, section),
    )


def _price(config: JudgeConfig, section: str) -> Price | None:
    """Return what the config says that a token costs: USD a million are micro-USD a token."""
    given = [config.extra.get(name) for name in PRICES]
    if given == [None, None]:
        return None
    numbers = [one for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
    prices = [float(one) for one in numbers if 0 <= one < math.inf]
    if len(prices) != len(PRICES):
        both = " and ".join(f"{section}.extra.{name}" for name in PRICES)
        raise PinError(f"{both} must be two prices in USD (got {given[0]} and {given[1]})")
    return Price(*prices)


def _file_digests(words: Sequence[str]) -> dict[str, str]:
    """Return the digests of the files that a command names, so that an edit asks anew.

    An absolute program is left out, since it differs between machines; so are large files.
    """
    own = [word for n, word in enumerate(words) if n or not Path(word).is_absolute()]
    return {
        word: source_digest(Path(word).read_bytes())
        for word in own
        if is_file(word) and Path(word).stat().st_size <= LARGE_FILE
    }


def _script_digest(script: str) -> str:
    for candidate in (script, script.rpartition(":")[0]):
        if candidate and is_file(candidate):
            return source_digest(Path(candidate).read_bytes())
    return "not found"


def pin_dict(pin: Pin) -> dict[str, Any]:
    """Return a pin as plan and scorecard write it."""
    return {
        "backend": pin.backend,
        "model": pin.model,
        "identity": pin.identity,
        "temperature": pin.temperature,
        "seed": pin.seed,
        "maxTokens": pin.max_tokens,
        "extra": pin.extra,
        "baseUrl": pin.base_url,
        "structured": pin.structured,
    }
