"""No configuration holds a judge that samples, or a secret in a value that is written."""

from __future__ import annotations

from typing import Any

import pytest

from helix.model.config import Config
from helix.model.sound import faults


@pytest.mark.parametrize(
    ("judge", "place"),
    [
        ({"extra": {"api_key": "sk-1"}}, "extra.api_key"),
        ({"extra": {"apiKey": "sk-1"}}, "extra.apiKey"),
        ({"extra": {"headers": {"Authorization": "Bearer sk-1"}}}, "extra.headers.Authorization"),
        ({"extra": {"headers": [{"X-Auth-Token": "sk-1"}]}}, "extra.headers.0.X-Auth-Token"),
        ({"extra": {"client_secret": "sk-1"}}, "extra.client_secret"),
        ({"extra": {"password": "sk-1"}}, "extra.password"),
        ({"base_url": "https://me:sk-1@host/v1"}, "base_url"),
        ({"base_url": "https://sk-1@host/v1"}, "base_url"),
        ({"base_url": "me:sk-1@host/v1"}, "base_url"),
        ({"base_url": "https://[me:sk-1@host"}, "base_url"),
        ({"base_url": "https://host/v1?api-key=sk-1"}, "base_url"),
    ],
)
@pytest.mark.parametrize("role", ["judge", "verifier"])
def test_a_secret_is_refused_and_not_repeated(role: str, judge: dict[str, Any], place: str) -> None:
    (told,) = faults(Config.model_validate({role: judge}))
    assert told.startswith(f"{role}.{place} looks like a secret")
    assert f"name the environment variable in {role}.api_key_env" in told and "sk-1" not in told


@pytest.mark.parametrize(
    "judge",
    [
        {"extra": {"top_k": 1, "max_completion_tokens": 9, "keywords": ["a"], "stop": ["key"]}},
        {"extra": {"api_key": None}},
        {"base_url": "https://host:8000/v1/a@b?version=1"},
        {"api_key_env": "PROVIDER_KEY"},
    ],
)
def test_what_is_no_secret_passes(judge: dict[str, Any]) -> None:
    assert list(faults(Config.model_validate({"judge": judge}))) == []


@pytest.mark.parametrize(
    ("judge", "place"),
    [
        ({"extra": {"user": "sk-1-of-the-desk"}}, "extra.user"),
        (
            {"extra": {"metadata": {"trail": ["a", "is sk-1-of-the-desk."]}}},
            "extra.metadata.trail.1",
        ),
        ({"command": ["ask", "sk-1-of-the-desk"]}, "command.1"),
        ({"identity": "sk-1-of-the-desk"}, "identity"),
        ({"base_url": "https://host/sk-1-of-the-desk/v1"}, "base_url"),
    ],
)
@pytest.mark.parametrize("role", ["judge", "verifier"])
def test_a_secret_of_the_environment_is_refused_whatever_its_key_is_called(
    monkeypatch: pytest.MonkeyPatch, role: str, judge: dict[str, Any], place: str
) -> None:
    config = Config.model_validate({role: judge})
    assert list(faults(config)) == []
    monkeypatch.setenv("DESK_API_KEY", "sk-1-of-the-desk")
    (told,) = faults(config)
    assert told.startswith(f"{role}.{place} holds the value of DESK_API_KEY, which would be")
    assert "sk-1" not in told


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"address": "redis://:sk-1@host:1"}, "address"),
        ({"address": "redis://sk-1@host"}, "address"),
        ({"address": "redis://%3Ask-1%40host:1"}, "address"),
        ({"address": "redis://host:1/0?password=sk-1"}, "address"),
        ({"nodes": ["tcp://a:1", "tcp://me:sk-1@b:1"]}, "nodes.1"),
        ({"password": "sk-1"}, "password"),
        ({"to": {"authToken": "sk-1"}}, "to.authToken"),
    ],
)
@pytest.mark.parametrize("section", ["cache", "executor"])
def test_a_secret_in_what_a_plugin_takes_is_refused_though_nothing_opens_it(
    section: str, options: dict[str, Any], place: str
) -> None:
    (told,) = faults(Config.model_validate({section: {"name": "shared", "options": options}}))
    assert told.startswith(f"{section}.options.{place} looks like a secret")
    assert "cache.options.password_env" in told and "sk-1" not in told


def test_what_a_plugin_takes_may_name_a_variable_a_key_and_an_address() -> None:
    options = {
        "address": "redis://host:1", "password_env": "DESK", "key": "a", "key_prefix": "b",
        "token": None, "mail": "me@host", "path": "unix:///a@b", "tokens": 3,
    }  # fmt: skip
    assert list(faults(Config.model_validate({"cache": {"options": options}}))) == []


@pytest.mark.parametrize("role", ["judge", "verifier"])
def test_a_judge_that_samples_is_refused(role: str) -> None:
    (told,) = faults(Config.model_validate({role: {"temperature": 0.7}}))
    assert told.startswith(f"{role}.temperature must be 0 (got 0.7)")
