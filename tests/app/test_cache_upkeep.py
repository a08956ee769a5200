"""`helix cache` beyond export: read back, moved, merged and pruned, and nothing chosen silently."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix.app.cli import main
from helix.app.recordings import export
from helix.engine.cache import open_cache
from helix.engine.upkeep import OnDisk, rows, said, tally
from helix.model.request import Message, Pin, Question, Reply, Request, Unit, Usage
from tests.app.test_cache_export import Desk

UNIT = Unit("judge", "trajectory", "t", "d", ("a",), "c", 0)
ASKED = Request(UNIT, Pin("scripted", "m", "scripted:m"), (Message("user", "Judge."),), "n" * 32)
OTHER = msgspec.structs.replace(ASKED, pin=Pin("scripted", "old", "scripted:old"))
KEYS = [digit * 64 for digit in "abcdef"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The JSON that a cache command prints."""
    assert main(["cache", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def changed(state: Path, statement: str, *values: Any) -> None:
    database = sqlite3.connect(state / "cache" / "cache.db")
    with database:
        database.execute(statement, values)
    database.close()


def test_what_was_exported_comes_back_exactly_and_asks_nobody(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.run("live")
    first = desk.root / "recordings" / "live.jsonl"
    export(OnDisk(str(desk.state)), str(first))
    with open_cache(str(desk.state)) as cache:
        before = sorted(cache.entries(), key=lambda entry: entry[0])
    desk.state.rename(desk.root / "away")
    words = ["import", str(first.parent), "--state", str(desk.state)]
    assert told(capsys, *words)["added"] == 7
    with open_cache(str(desk.state)) as cache:
        assert sorted(cache.entries(), key=lambda entry: entry[0]) == before
    again = desk.root / "again.jsonl"
    export(OnDisk(str(desk.state)), str(again))
    assert again.read_bytes() == first.read_bytes()
    done = desk.run("second")
    assert (done.scorecard.usage.calls, done.scorecard.usage.cache_hits) == (0, 7)
    assert desk.lines("second") == desk.lines("live")
    twice = told(capsys, *words)
    assert (twice["added"], twice["present"], twice["conflicts"]) == (0, 7, [])


def test_a_recording_that_no_cache_kept_is_left_out_and_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.run("live")
    file = desk.root / "r.jsonl"
    export(OnDisk(str(desk.state)), str(file))
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    del lines[1]["cached"]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    into = str(desk.root / "other")
    found = told(capsys, "import", str(file), "--state", into)
    assert found["added"] == 6
    why = "it does not say under which key a cache kept it"
    assert found["leftOut"] == [f"{file}, line 2: {why}"]
    lines[2]["cached"]["key"] = "../../etc"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert main(["cache", "import", str(file), "--state", into]) == 2
    assert "line 3: cached.key must be 64 hex digits" in capsys.readouterr().err


def test_caches_are_merged_by_key_and_a_conflict_shows_both_digests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    with open_cache(str(ours)) as cache:
        cache.put(KEYS[0], Reply("yes"), asked=ASKED)
        cache.put(KEYS[1], Reply("same", usage=Usage(1, 2, 3), draw="x"), asked=ASKED)
    with open_cache(str(theirs)) as cache:
        cache.put(KEYS[0], Reply("no"), asked=ASKED)
        cache.put(KEYS[1], Reply("same", usage=Usage(4, 5, 6), draw="y"), asked=ASKED)
        cache.put(KEYS[2], Reply("new \ud800"), asked=ASKED)
        cache.put(KEYS[3], Reply("damaged"), asked=ASKED)
    changed(theirs, "UPDATE Cache SET value = '{' WHERE key = ?", KEYS[3])
    found = told(capsys, "merge", str(theirs), "--state", str(ours))
    assert (found["added"], found["present"]) == (1, 1)
    clash = {"key": KEYS[0], "stands": said(Reply("yes")), "refused": said(Reply("no"))}
    assert found["conflicts"] == [clash]
    assert [text.partition(":")[0] for text in found["leftOut"]] == [KEYS[3]]
    with open_cache(str(ours)) as cache:
        kept = {key: (reply.text, asked) for key, reply, asked in cache.entries()}
    of = Question.of(ASKED)
    assert kept == {KEYS[0]: ("yes", of), KEYS[1]: ("same", of), KEYS[2]: ("new \ud800", of)}
    assert main(["cache", "merge", str(theirs / "cache"), "--state", str(ours)]) == 0
    shown = capsys.readouterr().out
    assert "0 replies added" in shown and "2 there already, 1 conflict, 1 left out" in shown
    assert f"{clash['stands'][:16]} stands, not {clash['refused'][:16]}" in shown


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["merge"], "name what to read: helix cache merge STATE"),
        (["merge", "{here}/none"], "takes state folders with a reply cache"),
        (["merge", "{here}"], "takes other caches than the one of --state"),
        (["import", "{here}/none.jsonl"], "recordings must be a file or a folder"),
        (["verify", "{here}"], "helix cache verify takes no further word"),
        (["prune"], "must be told what may go"),
        (["prune", "--older-than", "0"], "must be a whole number above 0"),
        (["stats", "--yes"], "--yes belongs to: helix cache prune"),
        (["prune", "--unused-by", "{here}"], "must be the folder of a finished run"),
    ],
)
def test_what_cannot_be_done_as_typed_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    with open_cache(str(tmp_path)) as cache:
        cache.put(KEYS[0], Reply("yes"), asked=ASKED)
    given = [word.format(here=tmp_path) for word in words]
    assert main(["cache", *given, "--state", str(tmp_path)]) == 2
    assert why in capsys.readouterr().err
    with open_cache(str(tmp_path)) as cache:
        assert cache.stats().replies == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache"]


def test_verify_names_each_row_that_cannot_be_read_and_says_how_to_keep_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    assert told(capsys, "verify", "--state", str(state))["sound"] == 0
    assert not state.exists(), "looking makes no cache"
    with open_cache(str(state)) as cache:
        for key in KEYS:
            cache.put(key, Reply("text"), asked=ASKED)
    assert told(capsys, "verify", "--state", str(state)) == {
        "where": str(state / "cache"), "sound": 6, "damaged": {},
    }  # fmt: skip
    changed(state, "UPDATE Cache SET value = '{\"text\": 3}' WHERE key = ?", KEYS[1])
    changed(state, "UPDATE Cache SET value = ?, mode = 4 WHERE key = ?", b"\x80\x04N.", KEYS[2])
    changed(state, "UPDATE Cache SET value = ? WHERE key = ?", "é", KEYS[3])
    assert main(["cache", "verify", "--state", str(state)]) == 4
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0].startswith("3 replies read back in ")
    named = [line.split(": ")[1] for line in shown.out.splitlines()[1:]]
    assert named == KEYS[1:4]
    assert f"{KEYS[2]}: it is not text" in shown.out
    command = shown.err.partition("to keep the others: ")[2].strip()
    folder = state / "cache"
    assert command == (
        f"mv {folder} {folder}.damaged && helix cache merge {folder}.damaged --state {state}"
    )
    folder.rename(f"{folder}.damaged")
    assert main(["cache", "merge", f"{folder}.damaged", "--state", str(state)]) == 0
    capsys.readouterr()
    assert told(capsys, "verify", "--state", str(state))["sound"] == 3


@pytest.mark.parametrize("action", ["verify", "stats", "merge"])
def test_a_database_that_is_none_is_an_error_that_says_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "cache.db").write_bytes(b"no database at all, " * 400)
    words = [str(tmp_path), "--state", str(tmp_path / "own")] if action == "merge" else []
    assert main(["cache", action, *(words or ["--state", str(tmp_path)])]) == 4
    shown = capsys.readouterr().err
    assert "not a database" in shown and "move the folder away" in shown
    assert shown.count("\n") == 1


def aged(state: Path, key: str, days: float) -> None:
    then = time.time() - days * 86_400
    changed(state, "UPDATE Cache SET store_time = ? WHERE key = ?", then, key)


@pytest.mark.parametrize(
    ("rules", "named", "unknown"),
    [
        (["--older-than", "30"], "bd", 0),
        (["--model", "old"], "cd", 1),
        (["--older-than", "30", "--model", "old"], "d", 0),
        (["--model", "never-asked"], "", 1),
    ],
)
def test_prune_removes_what_every_rule_names_and_only_after_the_yes(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rules: list[str],
    named: str,
    unknown: int,
) -> None:
    with open_cache(str(tmp_path)) as cache:
        for key, asked in zip(KEYS, (ASKED, ASKED, OTHER, OTHER, None), strict=False):
            cache.put(key, Reply("text"), asked=asked)
    aged(tmp_path, KEYS[1], 31)
    aged(tmp_path, KEYS[3], 400)
    words = ["prune", *rules, "--state", str(tmp_path)]
    found = told(capsys, *words)
    assert (found["named"], found["removed"], found["unknown"]) == (len(named), 0, unknown)
    with open_cache(str(tmp_path)) as cache:
        assert cache.stats().replies == 5
    assert told(capsys, *words, "--yes")["removed"] == len(named)
    with open_cache(str(tmp_path)) as cache:
        left = "".join(key[0] for key, _, _ in cache.entries())
    assert left == "".join(key for key in "abcde" if key not in named)


def test_a_reply_that_does_not_say_when_it_was_kept_is_not_old(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_cache(str(tmp_path)) as cache:
        for key in KEYS[:2]:
            cache.put(key, Reply("text"), asked=ASKED)
    changed(tmp_path, "UPDATE Cache SET store_time = NULL WHERE key = ?", KEYS[0])
    words = ["prune", "--older-than", "1", "--state", str(tmp_path)]
    found = told(capsys, *words, "--yes")
    assert (found["removed"], found["unknown"]) == (0, 1)
    found = tally(rows(tmp_path / "cache"))
    assert found.first == found.last is not None and time.time() - found.last < 3600


def test_what_a_run_may_ask_again_is_not_unused_by_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.run("first")
    desk.run("second", model="n")
    words = ["prune", "--state", str(desk.state), "--unused-by"]
    both = [str(desk.root / name) for name in ("first", "second")]
    assert told(capsys, *words, *both)["named"] == 0
    assert told(capsys, *words, both[1], "--yes")["removed"] == 7
    done = desk.run("again", model="n")
    assert done.scorecard.usage.calls == 0
    assert desk.run("first-again").scorecard.usage.calls == 7


def test_prune_says_how_much_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_cache(str(tmp_path)) as cache:
        cache.put(KEYS[0], Reply("x" * 5_000), asked=ASKED)
        cache.put(KEYS[1], Reply("old"))
    words = ["cache", "prune", "--model", "m", "--state", str(tmp_path)]
    assert main(words) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("1 reply may go (5,") and shown[0].endswith(" bytes), 1 stay")
    assert shown[1:] == [
        "  1 of these stay because they do not say what was asked, or when",
        "  nothing is removed yet: the same command with --yes removes it",
    ]
    assert main([*words, "--yes"]) == 0
    assert capsys.readouterr().out.startswith("1 reply removed (5,")


def test_stats_count_by_role_and_model_and_say_what_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_cache(str(tmp_path)) as cache:
        for key, asked in zip(KEYS, (ASKED, ASKED, OTHER, None, None), strict=False):
            cache.put(key, Reply("text"), asked=asked)
    changed(tmp_path, "UPDATE Cache SET value = '{', store_time = 0 WHERE key = ?", KEYS[4])
    assert main(["cache", "stats", "--state", str(tmp_path)]) == 0
    today = time.strftime("%Y-%m-%d", time.gmtime())
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  judge m: 2",
        "  judge old: 1",
        "  kept without what was asked: 1",
        f"  kept from 1970-01-01 to {today}",
        "  damaged: 1; helix cache verify names them",
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--option", "db=1"], "--option is of a shared cache: add --name NAME (got db=1)"),
        (["--name", "disk", "--option", "secret"], "--option must be KEY=VALUE (got secret)"),
        (
            ["--name", "disk", "--option", "db=1"],
            "cache.options must be empty with cache.name=disk",
        ),
        (["--name", "dosk"], "unknown reply cache 'dosk'; did you mean 'disk'?"),
    ],
)
def test_a_cache_that_cannot_be_named_so_is_told(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "stats", *words]) == 2
    assert why in capsys.readouterr().err


def test_the_cache_on_disk_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_cache(str(tmp_path)) as cache:
        cache.put(KEYS[0], Reply("yes"), asked=ASKED)
    words = ["stats", "--name", "disk", "--state", str(tmp_path)]
    found = told(capsys, *words)
    assert (found["where"], found["replies"]) == (str(tmp_path / "cache"), 1)
