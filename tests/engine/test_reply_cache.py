"""The reply cache: text only, first answer stands, faults named; and what its keys tell apart."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from asked import pinned, request
from hypothesis import given
from hypothesis import strategies as st

from helix.engine.cache import DiskReplyCache, open_cache
from helix.errors import CacheError
from helix.model.request import Message, Reply, Request, Usage

KEY = "k" * 64
WHOLE = Reply(
    text='a "reply"\n\0 with \ud800 and é',
    finish_reason="length",
    returned_model="m-1",
    reasoning="thought",
    usage=Usage(1, 2, 3),
    effective={"temperature": None},
    made_by="m",
)


def test_a_reply_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as cache:
        assert cache.get(KEY) is None
        assert cache.put(KEY, WHOLE) == WHOLE
    with open_cache(str(tmp_path)) as cache:
        assert cache.get(KEY) == msgspec.structs.replace(WHOLE, source="cache")
        assert cache.stats().replies == 1
        assert cache.stats().bytes > 0


@given(text=st.text(), reasoning=st.none() | st.text())
def test_any_text_comes_back(text: str, reasoning: str | None, tmp_path_factory: Any) -> None:
    with DiskReplyCache(tmp_path_factory.getbasetemp() / "any-text") as cache:
        key = request(text=repr((text, reasoning))).cache_key(1)
        cache.put(key, Reply(text, reasoning=reasoning))
        assert cache.get(key) == Reply(text, reasoning=reasoning, source="cache")


def test_the_first_answer_stands(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as one, open_cache(str(tmp_path)) as other:
        one.put(KEY, Reply("first"))
        assert other.put(KEY, Reply("second")) == Reply("first", source="cache")
        assert one.get(KEY) == Reply("first", source="cache")


def test_a_reply_is_replaced_only_while_it_stands(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as cache:
        cache.put(KEY, Reply("broken"))
        broken = cache.get(KEY)
        assert cache.put(KEY, Reply("better"), instead_of=broken) == Reply("better")
        late = cache.put(KEY, Reply("late"), instead_of=broken)
        assert late == Reply("better", source="cache")


RACE = """
import sys
from helix.engine.cache import open_cache
from helix.model.request import Reply
with open_cache(sys.argv[1]) as cache:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(200):
        print(cache.put(f"{n:064}", Reply(sys.argv[2])).text)
"""


def test_two_processes_that_race_agree_on_every_reply(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for name in ("ada", "bob")
    ]
    for racer in racers:
        assert racer.stdout and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    ada, bob = (racer.communicate()[0].splitlines() for racer in racers)
    assert len(ada) == 200
    assert ada == bob


def test_the_folder_is_for_its_owner_alone_and_not_for_git(tmp_path: Path) -> None:
    with open_cache(str(tmp_path / "new")) as cache:
        assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
        assert (cache.folder / ".gitignore").is_file()


class _Trap:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return (open, (str(self.file), "w"))


@pytest.mark.parametrize("kind", ["pickle", "pickle in a file", "binary", "text in a file", "int"])
def test_an_entry_that_is_not_text_is_refused_and_never_read(tmp_path: Path, kind: str) -> None:
    sprung = tmp_path / "sprung"
    bomb = pickle.dumps(_Trap(sprung))
    with open_cache(str(tmp_path)) as cache:
        cache.put(KEY, Reply("good"))
        (cache.folder / "bomb.val").write_bytes(bomb)
        mode, file, value = {
            "pickle": (4, None, bomb),
            "pickle in a file": (4, "bomb.val", None),
            "binary": (1, None, bomb),
            "text in a file": (3, "bomb.val", None),
            "int": (1, None, 7),
        }[kind]
        database = sqlite3.connect(cache.folder / "cache.db")
        with database:
            database.execute("UPDATE Cache SET mode=?, filename=?, value=?", (mode, file, value))
        database.close()
        with pytest.raises(CacheError, match=r"is not text|holds text only") as raised:
            cache.get(KEY)
        assert "move it away" in str(raised.value)
        with pytest.raises(CacheError):
            cache.put(KEY, Reply("new"))
        assert (cache.folder / "bomb.val").exists()
    assert not sprung.exists()


def test_a_planted_row_deletes_no_file(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    with open_cache(str(tmp_path)) as cache:
        database = sqlite3.connect(cache.folder / "cache.db")
        with database:
            database.executemany(
                "INSERT INTO Cache(key, raw, mode, filename) VALUES (?, 1, 2, '../victim')",
                [("0" * 64,), (KEY,)],
            )
        database.close()
    with open_cache(str(tmp_path)) as cache, pytest.raises(CacheError):
        cache.put(KEY, Reply("new"), instead_of=Reply("old"))
    assert victim.read_bytes() == b"mine"


def test_a_damaged_entry_names_its_key_and_what_to_do(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as cache:
        cache.put(KEY, Reply("good"))
        database = sqlite3.connect(cache.folder / "cache.db")
        with database:
            database.execute("""UPDATE Cache SET value='{"finishReason":3}'""")
        database.close()
        with pytest.raises(CacheError, match=f"reply {KEY} in .* is damaged: .*; to ask again"):
            cache.get(KEY)


def _garbage(state: Path) -> None:
    (state / "cache").mkdir()
    (state / "cache" / "cache.db").write_bytes(b"no database at all, " * 400)


def _read_only(state: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    open_cache(str(state)).close()
    (state / "cache" / "cache.db").chmod(0o400)
    (state / "cache").chmod(0o500)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_garbage, "file is not a database; if it is damaged, move the folder away"),
        (lambda state: (state / "cache").write_text("", encoding="utf-8"), "cannot be opened"),
        (_read_only, "set paths.state"),
    ],
)
def test_a_cache_that_cannot_be_used_says_so_when_it_is_opened(
    tmp_path: Path, spoil: Any, told: str
) -> None:
    spoil(tmp_path)
    with pytest.raises(CacheError, match=told) as raised:
        open_cache(str(tmp_path))
    assert str(tmp_path / "cache") in str(raised.value)


@pytest.mark.parametrize("name", ["_sql", "_con", "get", "__class__", "disk_x"])
def test_a_damaged_setting_says_that_the_cache_cannot_be_used(tmp_path: Path, name: str) -> None:
    open_cache(str(tmp_path)).close()
    database = sqlite3.connect(tmp_path / "cache" / "cache.db")
    with database:
        database.execute("insert or replace into Settings values (?, 'x')", (name,))
    database.close()
    with pytest.raises(CacheError), open_cache(str(tmp_path)) as cache:
        cache.put(KEY, WHOLE)
        cache.get(KEY)


def test_a_path_with_a_variable_is_refused_rather_than_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSEWHERE", "x")
    with pytest.raises(CacheError, match=r"without \$"):
        open_cache(str(tmp_path / "$ELSEWHERE"))
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_the_engine_imports_the_database_before_a_cache_is_opened() -> None:
    code = (
        "import sys, helix.engine.drive, helix.registry; "
        "helix.registry.load().items('caches'); print('diskcache' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "False\n"


BASE = {"temperature": 0.0, "seed": 7, "max_tokens": 800, "model": "m-small"}
PROMPT = {"criteria.hold": "text v1", "prompt.template": "p1", "trace": "t1"}


def _as_asked(overrides: list[str], provider_note: str | None) -> Request:
    """The request that a case's overrides lead to, once the configuration has been read."""
    pin, prompt, extra = dict(BASE), dict(PROMPT), {}
    for override in overrides:
        key, value = override.lstrip("+").split("=", 1)
        name = key.rpartition(".")[2]
        if key in prompt:
            prompt[key] = value.strip("'")
        elif key.startswith("judge.extra."):
            extra[name] = json.loads(value)
        elif name in pin:
            pin[name] = value if name == "model" else json.loads(value)
    if provider_note:
        pin["temperature"] = None  # The parameter did not take effect; the pin says so.
    asked = pinned(**pin, extra=extra)
    return msgspec.structs.replace(
        asked, messages=(Message("user", json.dumps(prompt, sort_keys=True)),)
    )


def test_the_key_covers_what_can_change_an_answer_and_nothing_else(shared: Path) -> None:
    case = json.loads(
        (shared / "cases/gate_stats_cache/G08-cache-key-and-overrides.json").read_text("utf-8")
    )
    warm = _as_asked(case["input"]["warm"], None).cache_key(1)
    found = {}
    for variant in case["input"]["variants"]:
        if variant["expected"] == "usage error":
            continue  # The configuration refuses these; its own tests say so.
        key = _as_asked(variant["overrides"], variant.get("provider_note")).cache_key(1)
        name = " ".join(variant["overrides"]) + (variant.get("provider_note") or "")
        found[name] = ("hit" if key == warm else "miss", variant["expected"])
    assert len(found) == 13
    assert {name: got for name, (got, wanted) in found.items() if got != wanted} == {}


@pytest.mark.parametrize(
    "other",
    [
        pinned(identity="another"),
        pinned(backend="litellm"),
        pinned(base_url="http://127.0.0.1:1"),
        msgspec.structs.replace(request(), reply_schema={"type": "object"}),
        msgspec.structs.replace(
            request(), unit=msgspec.structs.replace(request().unit, replicate=1)
        ),
        msgspec.structs.replace(request(), unit=msgspec.structs.replace(request().unit, attempt=1)),
        msgspec.structs.replace(request(), messages=(Message("system", "Trace 0."),)),
        msgspec.structs.replace(request(), messages=(Message("user", "Trace 0. "),)),
    ],
)
def test_another_pin_schema_replicate_attempt_or_prompt_is_another_key(other: Request) -> None:
    assert other.cache_key(1) != request().cache_key(1)


def test_the_protocol_of_the_backend_is_in_the_key() -> None:
    assert request().cache_key(1) != request().cache_key(2)


def test_a_reply_is_kept_with_what_it_answers(tmp_path: Path) -> None:
    first = request(text="the question")
    messages = (Message("system", "rules"), *first.messages)
    first = msgspec.structs.replace(first, messages=messages)
    again = msgspec.structs.replace(first, messages=(*messages, Message("user", "again")))
    with open_cache(str(tmp_path)) as cache:
        cache.put("a" * 64, Reply("yes"), asked=first)
        cache.put("b" * 64, Reply("no"), asked=again)
        cache.put("c" * 64, Reply("old"))
        (_, yes, one), (_, _, other), (_, old, none) = cache.entries()
    assert (yes, old, none) == (Reply("yes", source="cache"), Reply("old", source="cache"), None)
    assert one is not None and other is not None
    assert (one.unit, one.nonce, one.pin) == (first.unit, first.nonce, first.pin)
    assert one.prompt == other.prompt == first.prompt_digest, "a re-prompt is known by its first"


def test_a_reply_is_replaced_whether_or_not_it_was_kept_with_its_question(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as cache:
        for key, asked in (("a" * 64, None), ("b" * 64, request())):
            cache.put(key, Reply("broken"), asked=asked)
            kept = cache.get(key)
            cache.put(key, Reply("better"), instead_of=kept, asked=request())
            assert cache.get(key) == Reply("better", source="cache")
