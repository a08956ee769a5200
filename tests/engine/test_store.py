"""`cache.name` chooses where replies are kept, and whatever fails there ends the run by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helix.dryrun import estimate
from helix.errors import CacheError, ConfigError, UnknownNameError
from helix.evaluate import Finished, run
from helix.model.config import Config
from helix.model.request import Reply
from helix.registry import CacheSettings, Registry, ReplyCache
from helix.testing.sample import registry_with
from tests.app.test_cache_export import SCRIPT, Desk

KEY = "sk-" + "a1B2" * 8


class Shelf:
    """A cache in memory, which fails where it is told to."""

    def __init__(self, settings: CacheSettings) -> None:
        self.kept: dict[str, Reply] = {}
        self.fails = settings.config.options.get("fails")
        self.closed = False
        if self.fails == "open":
            raise ConnectionError(f"nobody listens for {KEY}")

    def get(self, key: str) -> Reply | None:
        if self.fails == "get":
            raise ConnectionError("gone")
        return self.kept.get(key)

    def put(self, key: str, reply: Reply, *, instead_of: Any = None, asked: Any = None) -> Reply:
        assert asked is not None
        if self.fails == "put":
            raise ConnectionError("full")
        return self.kept.setdefault(key, reply)

    def close(self) -> None:
        self.closed = True


class Shelves:
    """Opens one shelf, and the same again, as a server keeps what it holds."""

    def __init__(self) -> None:
        self.shelf: Shelf | None = None

    def __call__(self, settings: CacheSettings) -> Shelf:
        assert settings.config.name == "shelf"
        self.shelf = self.shelf or Shelf(settings)
        return self.shelf


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    counted = f"    with open({str(tmp_path / 'asked')!r}, 'a') as file: file.write('.')\n"
    script = SCRIPT.replace("def judge(request):\n", f"def judge(request):\n{counted}")
    (tmp_path / "judge.py").write_text(script, encoding="utf-8")
    return desk


@pytest.fixture
def registry() -> Registry:
    return registry_with("caches", ReplyCache("shelf", "1", Shelves()))


def config(desk: Desk, **cache: Any) -> Config:
    return Config.model_validate(
        {
            "subject": {"traces": str(desk.root / "runs.jsonl")},
            "criteria": {"file": str(desk.root / "suite.yaml")},
            "judge": {"backend": "scripted", "model": "m", "script": str(desk.root / "judge.py")},
            "paths": {"state": str(desk.state)},
            "limits": {"concurrency": 1},
            "cache": cache,
        }
    )


def asked(desk: Desk) -> int:
    file = desk.root / "asked"
    return len(file.read_text("utf-8")) if file.exists() else 0


def carried_out(desk: Desk, registry: Registry, at: str, **cache: Any) -> Finished:
    return run(config(desk, **cache), run_dir=desk.root / at, registry=registry)


def test_another_cache_keeps_the_replies_and_nothing_is_on_disk(
    desk: Desk, registry: Registry
) -> None:
    first = carried_out(desk, registry, "first", name="shelf")
    assert (first.scorecard.usage.calls, asked(desk)) == (7, 7)
    assert not desk.state.exists()
    looked = estimate(config(desk, name="shelf"), registry)
    assert (looked.questions["judge"].cached, looked.questions["judge"].to_ask) == (4, 0)
    second = carried_out(desk, registry, "second", name="shelf")
    assert (second.scorecard.usage.calls, second.scorecard.usage.cache_hits) == (0, 7)
    assert desk.lines("first") == desk.lines("second")
    assert asked(desk) == 7
    carried_out(desk, registry, "third")
    assert asked(desk) == 14, "the cache on disk is another one"
    assert desk.lines("third") == desk.lines("first")


@pytest.mark.parametrize(
    ("fails", "told", "most"),
    [
        ("open", "cache.name=shelf: the reply cache cannot be used: ConnectionError: nobody", 0),
        ("get", "cache.name=shelf: the reply cache cannot be used: ConnectionError: gone", 0),
        ("put", "cache.name=shelf: the reply cache cannot be used: ConnectionError: full", 1),
    ],
)
def test_a_cache_that_fails_ends_the_run_by_its_name_before_more_is_paid(
    desk: Desk,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    fails: str,
    told: str,
    most: int,
) -> None:
    monkeypatch.setenv("SHELF_PASSWORD", KEY)
    with pytest.raises(CacheError) as raised:
        carried_out(desk, registry, "run", name="shelf", options={"fails": fails})
    assert str(raised.value).startswith(told)
    assert KEY not in str(raised.value)
    assert asked(desk) == most
    assert not (desk.root / "run" / "scorecard.json").exists()


def test_a_name_that_nobody_registered_is_told_before_anything_is_asked(desk: Desk) -> None:
    with pytest.raises(UnknownNameError, match=r"'disc'; did you mean 'disk'\?"):
        carried_out(desk, registry_with("caches", ReplyCache("x", "1", Shelf)), "run", name="disc")
    assert asked(desk) == 0


def test_the_cache_on_disk_takes_no_options(desk: Desk, registry: Registry) -> None:
    with pytest.raises(ConfigError, match=r"cache.options must be empty .* \(got url\)"):
        carried_out(desk, registry, "run", options={"url": "x"})
    assert asked(desk) == 0
