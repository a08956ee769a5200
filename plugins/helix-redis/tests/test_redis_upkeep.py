"""`helix cache` and `helix doctor` on a Redis server: seeded, counted, checked, moved, pruned."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("redis", reason="redis is not installed: helix-redis is not tested")
pytest.importorskip("helix_redis", reason="helix-redis is not installed")

from redis_server import PROGRAM, RedisServer

from helix.app.cli import main
from helix.engine.cache import open_cache
from helix.engine.upkeep import said
from helix.model.request import Message, Pin, Reply, Request, Unit, Usage

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed")
PROJECT = Path(__file__).resolve().parents[3]
UNIT = Unit("judge", "trajectory", "t", "d", ("a",), "c", 0)
ASKED = Request(UNIT, Pin("scripted", "m", "scripted:m"), (Message("user", "Judge."),), "n" * 32)
OTHER = msgspec.structs.replace(
    ASKED, unit=msgspec.structs.replace(UNIT, trace_id="u"), pin=Pin("scripted", "old", "who")
)
KEYS = [digit * 64 for digit in "abcdef"]


def shared(server: RedisServer, **options: Any) -> list[str]:
    given = {"address": server.address, **options}
    words = [word for key, value in given.items() for word in ("--option", f"{key}={value}")]
    return ["--name", "redis", *words]


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The JSON that a cache command prints."""
    assert main(["cache", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def state(tmp_path: Path) -> str:
    """A state folder that keeps two replies with what was asked, and one without."""
    with open_cache(str(tmp_path / "state")) as cache:
        cache.put(KEYS[0], Reply("yes \ud800", usage=Usage(1, 2, 3)), asked=ASKED)
        cache.put(KEYS[1], Reply("no"), asked=OTHER)
        cache.put(KEYS[2], Reply("old"))
    return str(tmp_path / "state")


def test_a_server_is_seeded_from_disk_and_counted(
    server: RedisServer, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "stats", *shared(server))["replies"] == 0
    found = told(capsys, "merge", state, *shared(server))
    assert (found["added"], found["conflicts"], found["leftOut"]) == (3, [], [])
    with open_cache(state) as cache:
        for key in KEYS[:3]:
            assert server.client().get(f"helix:{key}").decode() == cache._cache.get(key)
    found = told(capsys, "stats", *shared(server))
    assert found["where"] == f"{server.address} (db 0)"
    assert (found["replies"], found["damaged"], found["first"]) == (3, 0, None)
    texts = [server.client().get(name) for name in server.client().keys("helix:*")]
    assert found["bytes"] == sum(map(len, texts))
    assert {(one["role"], one["model"]): one["replies"] for one in found["by"]} == {
        ("judge", "m"): 1, ("judge", "old"): 1, (None, None): 1,
    }  # fmt: skip


def test_what_stands_on_the_server_stands(
    server: RedisServer, state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "merge", state, *shared(server))
    with open_cache(str(tmp_path / "other")) as cache:
        cache.put(KEYS[1], Reply("yes"), asked=OTHER)
    found = told(capsys, "merge", str(tmp_path / "other"), *shared(server))
    clash = {"key": KEYS[1], "stands": said(Reply("no")), "refused": said(Reply("yes"))}
    assert (found["added"], found["conflicts"]) == (0, [clash])


def test_recordings_take_replies_from_the_server_to_a_disk_and_back(
    server: RedisServer, state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "merge", state, *shared(server))
    file = str(tmp_path / "out.jsonl")
    found = told(capsys, "export", "--out", file, *shared(server))
    assert (found["recordings"], found["leftOut"]) == (2, 1)
    before = Path(file).read_bytes()
    assert told(capsys, "import", file, "--state", str(tmp_path / "new"))["added"] == 2
    with open_cache(str(tmp_path / "new")) as new, open_cache(state) as old:
        assert [new.get(key) for key in KEYS[:3]] == [*map(old.get, KEYS[:2]), None]
    server.client().flushall()
    assert told(capsys, "import", file, *shared(server))["added"] == 2
    told(capsys, "export", "--out", file, *shared(server))
    assert Path(file).read_bytes() == before


def test_verify_names_what_is_damaged_and_exits_with_4(
    server: RedisServer, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "merge", state, *shared(server))
    assert told(capsys, "verify", *shared(server))["sound"] == 3
    client = server.client()
    client.set(f"helix:{KEYS[3]}", b"\x80\x04pickle")
    client.lpush(f"helix:{KEYS[4]}", "x")
    found = told(capsys, "verify", *shared(server), code=4)
    assert found["sound"] == 3 and sorted(found["damaged"]) == KEYS[3:5]
    assert found["damaged"][KEYS[4]] == "it is not text"
    assert main(["cache", "verify", *shared(server)]) == 4
    assert "2 replies of redis://" in capsys.readouterr().err
    assert told(capsys, "stats", *shared(server))["damaged"] == 2
    assert main(["cache", "export", "--out", "x.jsonl", *shared(server)]) == 4
    assert "helix cache verify names each" in capsys.readouterr().err


def test_prune_removes_what_a_rule_names_and_no_time_is_known(
    server: RedisServer, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "merge", state, *shared(server))
    found = told(capsys, "prune", "--older-than", "1", "--yes", *shared(server))
    assert (found["removed"], found["unknown"]) == (0, 3)
    found = told(capsys, "prune", "--model", "old", *shared(server))
    assert (found["named"], found["removed"]) == (1, 0)
    found = told(capsys, "prune", "--model", "old", "--yes", *shared(server))
    assert (found["removed"], found["stay"], found["unknown"]) == (1, 2, 1)
    assert server.client().exists(*(f"helix:{key}" for key in KEYS)) == 2


def test_only_what_is_below_the_prefix_is_looked_after(
    server: RedisServer, state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    client = server.client()
    for name in ("helixx", "other:1", "h[a]*:1", "ha:1"):
        client.set(name, "x")
    told(capsys, "merge", state, *shared(server, prefix="h[a]*:"))
    assert told(capsys, "stats", *shared(server, prefix="h[a]*:"))["replies"] == 4
    assert told(capsys, "stats", *shared(server))["replies"] == 0
    assert told(capsys, "stats", *shared(server, db=2))["replies"] == 0


def test_the_page_seeds_and_counts(
    server: RedisServer,
    state: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (PROJECT / "docs" / "cache.md").read_text(encoding="utf-8")
    typed = [line for line in page.splitlines() if line.startswith("helix cache ")]
    monkeypatch.chdir(tmp_path)
    Path(state).rename(".helix")
    for line in typed:
        words = shlex.split(line.replace("redis://cache.example:6379", server.address))
        assert main(words[1:]) == 0, line
    assert f"3 replies added to {server.address} (db 0)" in capsys.readouterr().out
    assert len(typed) == 2


def test_doctor_tries_the_server(server: RedisServer, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["judge=none", "cache.name=redis", f"cache.options.address={server.address}"]
    assert main(["doctor", *words]) == 0
    assert f"{server.address} (db 0) can be written to and read" in capsys.readouterr().out
    server.kill()
    assert main(["doctor", *words]) == 2
    shown = " ".join(capsys.readouterr().out.split())
    assert "it cannot be reached: Connection refused; start it, or set" in shown
