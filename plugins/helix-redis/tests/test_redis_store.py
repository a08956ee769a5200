"""Replies in a real Redis server: kept as on disk, first stands, every fault says what mends it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

pytest.importorskip("redis", reason="redis is not installed: helix-redis is not tested")
pytest.importorskip("helix_redis", reason="helix-redis is not installed")

import redis
from redis_server import PROGRAM, RedisServer, free_port

from helix.engine.cache import open_cache
from helix.engine.kept import Kept
from helix.errors import CacheError, ConfigError, HelixError
from helix.model.canonical import digest_bytes
from helix.model.config import CacheConfig
from helix.model.request import Pin, Question, Reply, Unit, Usage
from helix.registry import CacheSettings, load
from helix.testing import cache_conforms

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed")
Start = Callable[..., RedisServer]
KEY = "a" * 64
ASKED = Question(
    Unit("judge", "trajectory", "t", "d", ("a",), "c", 0), "n", Pin("b", "m", "i"), "p"
)
WHOLE = Reply('a "reply"\n\0 with \ud800 and é', "length", "m-1", "thought", Usage(1, None, 3))


def opened(server: RedisServer, **options: Any) -> Any:
    """The cache as a run opens it."""
    given = {"address": server.address, **options}
    return closing(load().get("caches", "redis").open(settings(given)))


def settings(options: dict[str, Any]) -> CacheSettings:
    return CacheSettings(CacheConfig(name="redis", options=options), ".helix")


def refused(server: RedisServer, **options: Any) -> str:
    with pytest.raises(HelixError) as caught, opened(server, **options):
        pass
    return str(caught.value)


def test_it_conforms(server: RedisServer) -> None:
    cache_conforms(load().get("caches", "redis"), settings({"address": server.address}))


def test_a_row_is_the_text_that_the_cache_on_disk_holds(
    server: RedisServer, tmp_path: Path
) -> None:
    with opened(server) as shared, closing(open_cache(str(tmp_path))) as disk:
        shared.put(KEY, WHOLE)
        disk.put(KEY, WHOLE)
        assert server.client().get(f"helix:{KEY}").decode("ascii") == disk._cache.get(KEY)
        assert shared.get(KEY) == disk.get(KEY) == msgspec.structs.replace(WHOLE, source="cache")


@given(text=st.text(), reasoning=st.none() | st.text(), asked=st.booleans())
@settings_of(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back(
    server: RedisServer, text: str, reasoning: str | None, asked: bool
) -> None:
    key = digest_bytes(repr((text, reasoning, asked)).encode("utf-8", "backslashreplace"))
    with opened(server) as cache:
        cache.put(key, Reply(text, reasoning=reasoning), asked=ASKED if asked else None)
        assert cache.get(key) == Reply(text, reasoning=reasoning, source="cache")
        (row,) = (row for row in cache.rows() if row.key == key)
    assert row.kept == Kept(Reply(text, reasoning=reasoning), ASKED if asked else None)


def test_nothing_stays_of_the_probe_and_no_reply_ever_ends(server: RedisServer) -> None:
    with opened(server) as cache:
        assert server.client().keys("*") == []
        cache.put(KEY, WHOLE)
    assert server.client().ttl(f"helix:{KEY}") == -1


def test_prefix_and_database_part_what_is_kept(server: RedisServer) -> None:
    with (
        opened(server) as one,
        opened(server, prefix="team:") as other,
        opened(server, db=3) as third,
    ):
        one.put(KEY, Reply("one"))
        assert other.get(KEY) is None and third.get(KEY) is None
        third.put(KEY, Reply("third"))
        assert one.get(KEY).text == "one"
    assert server.client(db=3).exists(f"helix:{KEY}")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"rubbish",
        b'{"text": 1}',
        b"\x80\x04\x95cos\nsystem\n",
        "é".encode(),
        b"[" * 9999,
    ],
)
def test_a_row_that_is_no_reply_is_an_error_and_is_never_decoded_otherwise(
    server: RedisServer, data: bytes
) -> None:
    server.client().set(f"helix:{KEY}", data)
    with opened(server) as cache:
        for use in (
            lambda: cache.get(KEY),
            lambda: cache.put(KEY, WHOLE),
            lambda: cache.put(KEY, WHOLE, instead_of=WHOLE),
        ):
            with pytest.raises(CacheError, match="is damaged: ") as caught:
                use()
            assert f"redis-cli -n 0 DEL helix:{KEY}" in str(caught.value)
    assert server.client().get(f"helix:{KEY}") == data


def test_a_key_that_is_not_text_is_named(server: RedisServer) -> None:
    server.client().rpush(f"helix:{KEY}", "x")
    with opened(server) as cache, pytest.raises(CacheError, match=f"the key helix:{KEY} is not"):
        cache.get(KEY)


def test_of_many_who_ask_at_once_exactly_one_reply_stands_for_all(server: RedisServer) -> None:
    threads, keys = 8, [f"{n:064x}" for n in range(60)]
    begin = threading.Barrier(threads)

    def ask(name: int) -> list[str]:
        # Each begins at another key, so that each comes first somewhere.
        order = keys[name * 7 :] + keys[: name * 7]
        with opened(server) as cache:
            begin.wait()
            said = {key: cache.put(key, Reply(f"{name} {key}")).text for key in order}
        return [said[key] for key in keys]

    with ThreadPoolExecutor(threads) as pool:
        told = list(pool.map(ask, range(threads)))
    with opened(server) as cache:
        stands = [cache.get(key).text for key in keys]
    assert all(each == stands for each in told), "all use the reply that stands"
    assert len({text.partition(" ")[0] for text in stands}) > 1, "it was a race"


def test_of_many_who_replace_one_reply_at_once_exactly_one_does(server: RedisServer) -> None:
    threads, keys = 8, [f"{n:064x}" for n in range(30)]
    begin = threading.Barrier(threads)
    with opened(server) as cache:
        broken = [(key, cache.put(key, Reply("broken")), cache.get(key))[2] for key in keys]

    def better(name: int) -> list[tuple[str, str]]:
        with opened(server) as cache:
            begin.wait()
            pairs = zip(keys, broken, strict=True)
            stand = [cache.put(k, Reply(f"{name}"), instead_of=old) for k, old in pairs]
            return [(reply.text, reply.source) for reply in stand]

    with ThreadPoolExecutor(threads) as pool:
        told = list(pool.map(better, range(threads)))
    with opened(server) as cache:
        stands = [cache.get(key).text for key in keys]
    assert all([text for text, _ in each] == stands for each in told)
    live = [sum(each[at][1] == "live" for each in told) for at in range(len(keys))]
    assert live == [1] * len(keys), "one of them put it there"


RACER = """
import sys
from contextlib import closing
from helix.model.config import CacheConfig
from helix.model.request import Reply
from helix.registry import CacheSettings, load
options = {"address": sys.argv[1]}
with closing(load().get("caches", "redis").open(
    CacheSettings(CacheConfig(name="redis", options=options), ".")
)) as cache:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(300):
        print(cache.put(f"{n:064x}", Reply(f"{sys.argv[2]} {n}")).text)
"""


def test_two_processes_that_race_on_the_same_keys_use_the_same_replies(server: RedisServer) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, server.address, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        )
        for name in ("one", "other")
    ]  # fmt: skip
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=60)[0].splitlines() for racer in racers]
    assert said[0] == said[1] and len(said[0]) == 300


def test_a_connection_that_the_server_let_go_of_is_opened_again(server: RedisServer) -> None:
    with opened(server) as cache:
        cache.put(KEY, WHOLE)
        server.client().client_kill_filter(_type="normal", skipme=True)
        assert cache.get(KEY) == msgspec.structs.replace(WHOLE, source="cache")
        server.client().client_kill_filter(_type="normal", skipme=True)
        assert cache.put("b" * 64, Reply("new")) == Reply("new")


# Faults at open, each with what to type.


def test_a_server_that_is_not_there_is_told(server: RedisServer) -> None:
    server.kill()
    said = refused(server)
    place = f"the reply cache at {server.address} (db 0)"
    assert said.startswith(f"{place}: it cannot be reached: Connection refused; start it, or set ")


def test_a_server_that_never_answers_is_told_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(CacheError, match=r"it does not answer within 0\.2 s") as caught:
            load().get("caches", "redis").open(settings({"address": address, "timeout": 0.2}))
    assert "cache.options.timeout" in str(caught.value)


def test_another_kind_of_server_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def talk() -> None:
            for _ in range(4):
                taken, _ = other.accept()
                taken.recv(100)
                taken.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                taken.close()

        threading.Thread(target=talk, daemon=True).start()
        address = f"redis://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(CacheError, match="the reply cache at redis://"):
            load().get("caches", "redis").open(settings({"address": address, "timeout": 2}))


def test_a_password_is_taken_from_the_environment_and_never_told(
    started: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = started("--requirepass", "hush")
    assert "it wants a password: type export HELIX_REDIS_PASSWORD=PASSWORD and " in refused(server)
    monkeypatch.setenv("SHARED", "hash")
    said = refused(server, password_env="SHARED")
    assert "it refuses the password of user default: set SHARED and" in said
    assert "hash" not in said
    monkeypatch.setenv("SHARED", "hush")
    with opened(server, password_env="SHARED") as cache:
        cache.put(KEY, WHOLE)
        server.client(password="hush").lpush("helix:hush", "x")
        with pytest.raises(CacheError) as caught:
            cache.get("hush")
        assert "hush" not in str(caught.value) and "[SHARED]" in str(caught.value)
    monkeypatch.delenv("SHARED")
    assert "which is not set; type export SHARED=PASSWORD" in refused(server, password_env="SHARED")


def test_a_user_who_may_not_is_told_the_permissions_and_they_are_enough(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = server.client()
    admin.execute_command("ACL", "SETUSER", "ada", "on", ">secret", "~helix:*", "+get", "+info")
    monkeypatch.setenv("ADA", "secret")
    said = refused(server, username="ada", password_env="ADA", db=2)
    assert "user ada may not do what a cache does" in said
    command = said.partition("type redis-cli ")[2].replace("'", "").split()
    assert command[:3] == ["ACL", "SETUSER", "ada"]
    admin.execute_command(*command)
    with opened(server, username="ada", password_env="ADA", db=2) as cache:
        broken = cache.put(KEY, Reply("broken"))
        cache.put(KEY, WHOLE, instead_of=broken)
        assert cache.get(KEY) == msgspec.structs.replace(WHOLE, source="cache")


def test_a_user_who_may_not_ask_how_the_server_is_set_up_keeps_replies_all_the_same(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.client().execute_command(
        "ACL", "SETUSER", "ada", "on", ">secret", "~helix:*", "+@all", "-info"
    )
    monkeypatch.setenv("ADA", "secret")
    with opened(server, username="ada", password_env="ADA") as cache:
        assert cache.put(KEY, WHOLE) == WHOLE


def test_a_replica_is_refused_and_named_its_primary(started: Start) -> None:
    primary = started()
    replica = started("--replicaof", "127.0.0.1", str(primary.port))
    said = refused(replica)
    assert f"it is a replica of 127.0.0.1:{primary.port}" in said
    assert "cache.options.address=redis://" in said


def test_a_server_that_becomes_a_replica_in_the_middle_is_told(started: Start) -> None:
    server, primary = started(), started()
    with opened(server) as cache:
        server.client().replicaof("127.0.0.1", primary.port)
        with pytest.raises(CacheError, match="it takes no writes, as a replica does"):
            cache.put(KEY, WHOLE)


def test_a_server_whose_memory_is_full_is_told(started: Start) -> None:
    server = started("--maxmemory", "1", "--maxmemory-policy", "noeviction")
    assert "its memory is full; raise maxmemory there" in refused(server)


def test_a_server_that_throws_replies_out_is_refused_unless_that_is_accepted(
    started: Start,
) -> None:
    server = started("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    said = refused(server)
    assert "when 104,857,600 bytes are used (maxmemory-policy allkeys-lru)" in said
    with opened(server, eviction="accepted") as cache:
        assert cache.put(KEY, WHOLE) == WHOLE
    command = said.partition("type redis-cli ")[2].partition(",")[0].split()
    server.client().execute_command(*command)
    with opened(server):
        pass


@pytest.mark.parametrize("policy", ["noeviction", "volatile-lru"])
def test_a_server_that_throws_out_only_what_ends_is_taken(started: Start, policy: str) -> None:
    with opened(started("--maxmemory", "100mb", "--maxmemory-policy", policy)) as cache:
        assert cache.put(KEY, WHOLE) == WHOLE


def test_a_node_of_a_cluster_is_refused(started: Start) -> None:
    server = started("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    assert "it is a node of a cluster, which this cache cannot use" in refused(server)


def test_a_database_that_the_server_has_not_is_told(server: RedisServer) -> None:
    assert "it has no database 99; set cache.options.db" in refused(server, db=99)


def test_a_server_that_cannot_save_is_told(started: Start) -> None:
    server = started("--appendonly", "no", "--save", "1 1")
    (server.folder / "dump.rdb").mkdir()
    client = server.client()
    client.set("x", "y")
    with pytest.raises(redis.ResponseError):
        client.save()
    client.bgsave()
    for _ in range(200):
        if client.info("persistence")["rdb_last_bgsave_status"] == "err":
            break
        threading.Event().wait(0.05)
    assert "it takes no writes because it cannot save them" in refused(server)


def test_a_socket_is_an_address(started: Start, tmp_path: Path) -> None:
    path = tmp_path / "s"
    server = started("--unixsocket", str(path))
    with opened(server, address=f"unix://{path}") as cache:
        assert cache.put(KEY, WHOLE) == WHOLE
    assert server.client().exists(f"helix:{KEY}")


# Options.


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"adress": "x"}, "did you mean 'address'?"),
        ({"password": "x"}, "cache.options must be of address, db, prefix, timeout, username, "),
        ({"address": 7}, "cache.options.address must be text: redis://HOST:PORT"),
        ({"address": "http://h:1"}, "cache.options.address must be redis://HOST:PORT"),
        ({"address": "redis://"}, "cache.options.address must be redis://HOST:PORT"),
        ({"address": "redis://h:1/2"}, "the database is cache.options.db"),
        ({"address": "redis://h:1?password=hunter2"}, "a password cache.options.password_env"),
        ({"address": "redis://h:hunter2"}, "cache.options.address must be redis://HOST:PORT"),
        ({"address": "redis://:hunter2@h:1"}, "type export HELIX_REDIS_PASSWORD=PASSWORD"),
        ({"address": "redis://:hun/ter2@h:1"}, "type export HELIX_REDIS_PASSWORD=PASSWORD"),
        ({"db": -1}, "cache.options.db must be a whole number from 0 (got -1)"),
        ({"db": True}, "cache.options.db must be a whole number from 0 (got True)"),
        ({"prefix": ""}, "cache.options.prefix must be text of one or more visible"),
        ({"timeout": 0}, "cache.options.timeout must be a number of seconds above 0 (got 0)"),
        ({"timeout": float("inf")}, "cache.options.timeout must be a number of seconds above 0"),
        ({"username": ""}, "cache.options.username must be text or null"),
        ({"password_env": "hunter2!"}, "cache.options.password_env must be the name of an"),
        ({"eviction": "yes"}, "cache.options.eviction must be refused or accepted (got 'yes')"),
    ],
)
def test_a_wrong_option_is_told_and_no_password_repeated(
    options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load().get("caches", "redis").open(settings(options))
    assert told in str(caught.value)
    assert "hunter2" not in str(caught.value) and "ter2" not in str(caught.value)
