"""What no configuration may say, whoever composed it: a judge that samples, a secret in a value.

`plan.json` and `scorecard.json` hold the pin as it was given, so that a secret in it would be
published with every run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from helix.model.config import Config, JudgeConfig
from helix.redaction import secrets

SECRET_WORDS = frozenset({
    "apikey", "auth", "authorization", "bearer", "credential", "credentials", "key", "passwd",
    "password", "secret", "token",
})  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


def faults(config: Config) -> Iterator[str]:
    """Yield one sentence for each refused setting, repeating no secret (METHOD 41, 42)."""
    for role, section in (("judge", config.judge), ("verifier", config.verifier)):
        if section.temperature != 0:
            yield (
                f"{role}.temperature must be 0 (got {section.temperature:g}): "
                "a judge that samples cannot be checked"
            )
        named = list(_secrets(section))
        wrong = [(place, "looks like a secret") for place in named]
        for place, variable in _copied(section.model_dump(), ""):
            if place not in named:
                wrong.append((place, f"holds the value of {variable}"))
        for place, why in wrong:
            yield (
                f"{role}.{place} {why}, which would be written to plan.json and "
                f"scorecard.json: name the environment variable in {role}.api_key_env"
            )
    if config.quality.tests_command and config.judge.axis != "code-quality":
        yield (
            "quality.tests_command needs judge.axis=code-quality "
            f"(got judge.axis={config.judge.axis}): only a code change has tests of its own"
        )
    for place, variable in _copied(config.quality.model_dump(), ""):
        yield (
            f"quality.{place} holds the value of {variable}, which would be written to plan.json: "
            "leave it in the environment, which the tests inherit"
        )
    for name in sorted(type(config).model_fields.keys() - {"judge", "quality", "verifier"}):
        for place, variable in _copied(getattr(config, name).model_dump(), ""):
            yield (
                f"{name}.{place} holds the value of {variable}, which would be written to what "
                "the run leaves: take it out"
            )
    yield from _plugins(config)
    found = config.discover
    if found.severity_med > found.severity_high:
        yield (
            f"discover.severity_med must be at most discover.severity_high, which is "
            f"{found.severity_high} (got {found.severity_med})"
        )


def _plugins(config: Config) -> Iterator[str]:
    plugins = {"cache": config.cache.options, "executor": config.executor.options}
    for of, options in plugins.items():
        for place in _given(options, "options"):
            yield (
                f"{of}.{place} looks like a secret, which would be written to what the run leaves: "
                "put it into an environment variable and name that, as cache.options.password_env"
            )


def _secrets(section: JudgeConfig) -> Iterator[str]:
    yield from _named(section.extra, "extra")
    if section.base_url is not None and _tells(section.base_url):
        yield "base_url"
    for number, word in enumerate(section.command):
        name, equals, value = word.partition("=")
        if _secret(name) and (value or (not equals and name.startswith("-"))):
            yield f"command.{number}"


def _named(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            place = f"{where}.{key}"
            if _secret(str(key)) and inner is not None:
                yield place
            else:
                yield from _named(inner, place)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _named(inner, f"{where}.{number}")


def _given(value: Any, where: str) -> Iterator[str]:
    """Yield where the options of a plugin hold a secret: by the last word of a key, or an address.

    `password_env` names a variable; `key_prefix` and `key` are no secrets in a cache.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            last = _WORD.findall(str(key))[-1:]
            if _secret("".join(last)) and last != ["key"] and inner is not None:
                yield f"{where}.{key}"
            else:
                yield from _given(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _given(inner, f"{where}.{number}")
    elif isinstance(value, str) and "://" in value and _tells(unquote(value)):
        yield where


def _copied(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield where a secret of the environment stands, whatever the key is called, and its name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _copied(inner, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _copied(inner, f"{where}.{number}")
    elif isinstance(value, str):
        found = [name for name, secret in secrets(os.environ) if secret in value]
        yield from ((where, name) for name in found[:1])


def _secret(name: str) -> bool:
    return not SECRET_WORDS.isdisjoint(word.lower() for word in _WORD.findall(name))


def _tells(address: str) -> bool:
    try:
        parts = urlsplit(address)
        queried = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return "@" in address
    # Without a scheme, urlsplit takes user:password@host for a path.
    authority = parts.netloc or parts.path.partition("/")[0]
    return "@" in authority or any(_secret(name) for name, _ in queried)
