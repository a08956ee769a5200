"""Replies in a real Redis server: kept as on disk, first stands, nothing else is read."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

pytest.importorskip("redis", reason="redis is not installed: helix-redis is not tested")
pytest.importorskip("helix_redis", reason="helix-redis is not installed")

from redis_server import KEY, PROGRAM, WHOLE, RedisServer, opened, settings

from helix.engine.cache import open_cache
from helix.engine.kept import Kept
from helix.errors import CacheError
from helix.model.canonical import digest_bytes
from helix.model.request import Pin, Question, Reply, Unit
from helix.registry import load
from helix.testing import cache_conforms
from tests.moments import LIMIT_S

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed")
ASKED = Question(
    Unit("judge", "trajectory", "t", "d", ("a",), "c", 0), "n", Pin("b", "m", "i"), "p"
)


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
    begin = threading.Barrier(threads, timeout=LIMIT_S)

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
    begin = threading.Barrier(threads, timeout=LIMIT_S)
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
    said = [racer.communicate(timeout=LIMIT_S)[0].splitlines() for racer in racers]
    assert said[0] == said[1] and len(said[0]) == 300


def test_a_connection_that_the_server_let_go_of_is_opened_again(server: RedisServer) -> None:
    with opened(server) as cache:
        cache.put(KEY, WHOLE)
        server.client().client_kill_filter(_type="normal", skipme=True)
        assert cache.get(KEY) == msgspec.structs.replace(WHOLE, source="cache")
        server.client().client_kill_filter(_type="normal", skipme=True)
        assert cache.put("b" * 64, Reply("new")) == Reply("new")


class Cut:
    """Passes on what is sent to a server, and hangs up instead of the answer after some words."""

    def __init__(self, server: RedisServer, word: bytes) -> None:
        self._server, self._word, self.cuts = server, word, 0
        self._listens = socket.create_server(("127.0.0.1", 0))
        self.address = f"redis://127.0.0.1:{self._listens.getsockname()[1]}"
        threading.Thread(target=self._take, daemon=True).start()

    def armed(self) -> None:
        self.cuts = 1

    def close(self) -> None:
        self._listens.close()

    def _take(self) -> None:
        while True:
            try:
                taken, _ = self._listens.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(taken,), daemon=True).start()

    def _pass(self, taken: socket.socket) -> None:
        with taken, socket.create_connection(("127.0.0.1", self._server.port)) as there:
            while sent := taken.recv(65_536):
                there.sendall(sent)
                answer = there.recv(65_536)
                if self.cuts and self._word in sent:
                    self.cuts -= 1
                    return
                taken.sendall(answer)


@pytest.mark.parametrize("word", [b"SET", b"EXEC"])
def test_a_write_whose_answer_was_lost_is_known_again(server: RedisServer, word: bytes) -> None:
    with closing(Cut(server, word)) as cut, opened(server, address=cut.address) as cache:
        broken = None
        if word == b"EXEC":
            cache.put(KEY, Reply("broken"))
            broken = cache.get(KEY)
        cut.armed()
        assert cache.put(KEY, WHOLE, instead_of=broken) == WHOLE, "as this run's own"
        assert cut.cuts == 0, "it was lost"
        assert cache.get(KEY) == msgspec.structs.replace(WHOLE, source="cache")
