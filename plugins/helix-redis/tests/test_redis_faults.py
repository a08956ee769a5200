"""Whatever is wrong with a server or with an option is told before a run, with what mends it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("redis", reason="redis is not installed: helix-redis is not tested")
pytest.importorskip("helix_redis", reason="helix-redis is not installed")

import redis
from redis_server import KEY, PROGRAM, WHOLE, RedisServer, free_port, opened, settings

from helix.errors import CacheError, ConfigError, HelixError
from helix.model.request import Reply
from helix.registry import load
from tests.moments import until

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed")
Start = Callable[..., RedisServer]


def refused(server: RedisServer, **options: Any) -> str:
    with pytest.raises(HelixError) as caught, opened(server, **options):
        pass
    return str(caught.value)


def refused_by_one_that_says(line: bytes) -> str:
    """What is told of a server that answers everything with one line."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            while True:
                try:
                    taken, _ = server.accept()
                except OSError:
                    return
                with taken:
                    while taken.recv(65_536):
                        taken.sendall(line + b"\r\n")

        threading.Thread(target=talk, daemon=True).start()
        address = f"redis://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(CacheError) as caught:
            load().get("caches", "redis").open(settings({"address": address, "timeout": 60}))
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"-MOVED 7455 10.0.0.1:6379", "it is a node of a cluster, which this cache cannot use"),
        (b"-CLUSTERDOWN Hash slot not served", "it takes the address of one server"),
        (b"-LOADING Redis is loading the dataset in memory", "it is still reading its data; wait"),
        (b"-NOREPLICAS Not enough good replicas to write.", "because replicas are missing"),
        (b"-ERR max number of clients reached", "it cannot be reached: max number of clients"),
        (b"HTTP/1.1 400 Bad Request", "it refused: InvalidResponse: Protocol Error"),
        (b"+OK", "is damaged: "),
    ],
)
def test_what_a_server_refuses_is_told_with_what_to_do(line: bytes, told: str) -> None:
    assert told in refused_by_one_that_says(line)


def test_what_a_server_says_cannot_act_on_the_screen() -> None:
    said = refused_by_one_that_says(b"-EVIL \x1b[2Jcleared " + b"x" * 5_000)
    assert "it refused: EVIL: " in said
    assert "\x1b" not in said and len(said) <= 1_000


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
        server.client(db=2).lpush("helix:other", "x")
        assert [row.fault for row in cache.rows()] == [None, "it is not text"]
        assert cache.remove([KEY]) == 1


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
    until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
    assert "it takes no writes because it cannot save them" in refused(server)


def test_a_server_that_stops_answering_in_the_middle_is_told(server: RedisServer) -> None:
    with opened(server, timeout=2) as cache:
        os.kill(server.pid, signal.SIGSTOP)
        try:
            with pytest.raises(CacheError, match="it does not answer within 2 s"):
                cache.put(KEY, WHOLE)
        finally:
            os.kill(server.pid, signal.SIGCONT)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_is_checked(
    started: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    words = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    words += ["-addext", "basicConstraints=critical,CA:TRUE", "-keyout", key, "-out", certificate]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    port = free_port()
    given = ["--tls-port", str(port), "--tls-cert-file", certificate, "--tls-key-file", key]
    server = started(*given, "--tls-auth-clients", "no")
    address = f"rediss://localhost:{port}"
    said = refused(server, address=address)
    assert "certificate verify failed" in said and "SSL_CERT_FILE=FILE" in said
    assert "it cannot be reached" in refused(server, address=f"redis://localhost:{port}")
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    with opened(server, address=address) as cache:
        assert cache.put(KEY, WHOLE) == WHOLE
    said = refused(server, address=f"rediss://127.0.0.1:{port}")
    assert "certificate verify failed" in said


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
        ({"address": "redis://h\n:1"}, "cache.options.address must be text: redis://HOST:PORT"),
        ({"address": "redis://"}, "cache.options.address must be redis://HOST:PORT"),
        ({"address": "redis://h:1/2"}, "the database is cache.options.db"),
        ({"address": "redis://h:1?password=hunter2"}, "a password cache.options.password_env"),
        ({"address": "redis://h:hunter2"}, "cache.options.address must be redis://HOST:PORT"),
        ({"address": "redis://:hunter2@h:1"}, "type export HELIX_REDIS_PASSWORD=PASSWORD"),
        ({"address": "redis://:hun/ter2@h:1"}, "type export HELIX_REDIS_PASSWORD=PASSWORD"),
        ({"address": "redis://%3Ahunter2%40h:1"}, "type export HELIX_REDIS_PASSWORD=PASSWORD"),
        ({"a\x1b[2Jb": 1}, "(got a\\x1b[2Jb)"),
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
