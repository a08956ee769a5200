"""Runs that share a Redis server ask nothing twice, and one that goes away loses no verdict."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("redis", reason="redis is not installed: helix-redis is not tested")
pytest.importorskip("helix_redis", reason="helix-redis is not installed")

from redis_server import PROGRAM, RedisServer

from helix.audit.masking import COMPARED, masked
from tests.app.test_killed import JUDGE, SUITE, content, nonce_of
from tests.backends.fault_server import Asked, FaultServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed"),
]
LIMIT, TRACES = 4, 60


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with traces, a judged suite and a judge that asks a server."""
    lines = [
        {"schemaVersion": "1.0", "id": f"t{n}", "input": {"prompt": "Say hello."},
         "output": {"response": f"Hello, this is number {n}."}}
        for n in range(TRACES)
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, lines)) + "\n"
    (tmp_path / "traces.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "judge.py").write_text(JUDGE, encoding="utf-8")
    return tmp_path


def start(here: Path, judge: FaultServer, run: str, *words: str) -> subprocess.Popen[str]:
    given = ["subject.traces=traces.jsonl", "criteria.file=suite.yaml", "judge=scripted"]
    given += ["judge.model=m", "judge.script=judge.py", f"limits.concurrency={LIMIT}"]
    given += ["verifier=none", f"hydra.run.dir={run}", "report.out=[terminal]"]
    port = judge.base_url.rpartition(":")[2].partition("/")[0]
    return subprocess.Popen(
        [sys.executable, "-m", "helix", "evaluate", *given, *words],
        cwd=here,
        env={**os.environ, "JUDGE_PORT": port, "SHARED": "hunter2-hunter2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    told, _ = process.communicate(timeout=300)
    assert process.returncode == code, told
    return told


def shared(server: RedisServer) -> tuple[str, str]:
    return "cache.name=redis", f"cache.options.address={server.address}"


def rows(server: RedisServer) -> dict[str, str]:
    """What the server holds: the text of each reply by the nonce of its question."""
    client = server.client()
    texts = [json.loads(client.get(key))["text"] for key in client.keys("helix:*")]
    return {json.loads(text)["nonce"]: text for text in texts}


def compared(run: Path) -> dict[str, bytes]:
    return {name: masked(name, (run / name).read_bytes()) for name in COMPARED}


def counted() -> Callable[[Asked], str]:
    """A judge that never says the same twice, so that it is seen whose answer stands."""
    numbers = itertools.count()
    return lambda asked: content(asked).replace("It says hello.", f"It says hello, {next(numbers)}")


def test_a_server_killed_in_the_middle_ends_the_run_and_the_same_command_goes_on(
    here: Path, server: RedisServer
) -> None:
    with FaultServer(content=content) as judge:
        ended(start(here, judge, "whole"))
    whole = compared(here / "whole")
    with FaultServer(content=content, delay=0.02) as judge:
        judge.at(TRACES // 3, server.kill)
        said = ended(start(here, judge, "run", *shared(server)), 4)
        assert f"the reply cache at {server.address} (db 0): it cannot be reached: " in said
        assert "Traceback" not in said
        done = (here / "run" / "verdicts.jsonl").read_bytes().splitlines()
        lines = (here / "whole" / "verdicts.jsonl").read_bytes().splitlines()
        assert done and done == lines[: len(done)], "what was done stays"
        assert not (here / "run" / "scorecard.json").exists()
        asked = len(judge.asked)
        assert "Connection refused" in ended(start(here, judge, "run", *shared(server)), 4)
        assert len(judge.asked) == asked, "and nothing is asked before it is back"
        server.begin()
        there = rows(server)
        assert len(done) <= len(there) and asked - len(there) <= LIMIT
        ended(start(here, judge, "run", *shared(server)))
        again = [nonce_of(one) for one in judge.asked[asked:]]
        assert not set(there) & set(again), "a reply that was kept is never asked again"
        assert len(again) == TRACES - len(there)
    assert compared(here / "run") == whole


def test_shards_that_share_a_server_ask_each_question_once_and_the_whole_run_asks_none(
    here: Path, server: RedisServer
) -> None:
    with FaultServer(content=content) as judge:
        for at in range(2):
            words = (f"shard.index={at}", "shard.count=2", f"paths.state=machine-{at}")
            ended(start(here, judge, f"shard-{at}", *shared(server), *words))
        assert len(judge.asked) == len({nonce_of(one) for one in judge.asked}) == TRACES
        ended(start(here, judge, "whole", *shared(server), "paths.state=machine-2"))
        assert len(judge.asked) == TRACES
        assert not (here / "machine-2" / "cache").exists()
    merged = subprocess.run(
        [sys.executable, "-m", "helix", "report", "merge", "shard-0", "shard-1", "--out", "merged"],
        cwd=here, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert merged.returncode == 0, merged.stderr
    lines = {run: (here / run / "verdicts.jsonl").read_bytes() for run in ("merged", "whole")}
    assert lines["merged"] == lines["whole"]


def test_of_two_runs_at_once_one_reply_stands_under_both(here: Path, server: RedisServer) -> None:
    # Nobody is answered before both have asked.
    with FaultServer(content=counted(), together=2 * LIMIT) as judge:
        words = (*shared(server), "paths.state=one"), (*shared(server), "paths.state=other")
        runs = [
            start(here, judge, run, *given)
            for run, given in zip(("one-run", "other-run"), words, strict=True)
        ]
        for run in runs:
            ended(run)
        assert TRACES < len(judge.asked) <= 2 * TRACES, "they met"
    assert len(rows(server)) == TRACES
    one, other = (here / run / "verdicts.jsonl" for run in ("one-run", "other-run"))
    assert masked("verdicts.jsonl", one.read_bytes()) == masked(
        "verdicts.jsonl", other.read_bytes()
    )


@pytest.mark.parametrize(
    "words",
    [
        ["executor=processes", "executor.workers=2"],
        ["executor=dask", "executor.workers=2", "executor.options.shards=4"],
        ["executor=dask", "executor.workers=2", "executor.options.state=own"],
    ],
    ids=["processes", "dask", "dask, own state"],
)
def test_every_executor_keeps_its_replies_there(
    here: Path, started: Callable[..., RedisServer], words: list[str]
) -> None:
    if "executor=dask" in words:
        pytest.importorskip("helix_dask", reason="helix-dask is not installed")
    server = started("--requirepass", "hunter2-hunter2")
    given = (*shared(server), "cache.options.password_env=SHARED")
    with FaultServer(content=counted()) as judge:
        ended(start(here, judge, "run", *given, *words))
        assert len(judge.asked) == TRACES
        client = server.client(password="hunter2-hunter2")
        assert len(client.keys("helix:*")) == TRACES
        ended(start(here, judge, "local", *given))
        assert len(judge.asked) == TRACES, "another machine finds them"
    assert compared(here / "run") == compared(here / "local")
    for file in here.rglob("*"):
        if file.is_file() and "server-" not in str(file):
            assert b"hunter2" not in file.read_bytes(), file


def test_a_reply_that_is_no_answer_is_drawn_again_where_that_is_asked_for(
    here: Path, server: RedisServer
) -> None:
    with FaultServer(content=lambda asked: "no") as judge:
        ended(start(here, judge, "first", *shared(server)), 3)
    with FaultServer(content=content) as judge:
        ended(start(here, judge, "second", *shared(server), "cache.refresh=unusable"))
        asked = len(judge.asked)
        assert asked >= TRACES
        ended(start(here, judge, "third", *shared(server)))
        assert len(judge.asked) == asked
    assert (here / "second" / "verdicts.jsonl").read_bytes() == (
        here / "third" / "verdicts.jsonl"
    ).read_bytes()


@pytest.mark.parametrize("address", ["redis://:hunter2@127.0.0.1:1", "redis://h:hunter2"])
def test_a_password_in_the_address_is_refused_and_is_in_no_file_of_the_run(
    here: Path, address: str
) -> None:
    with FaultServer(content=content) as judge:
        words = ("cache.name=redis", f"cache.options.address='{address}'")
        said = ended(start(here, judge, "run", *words), 2)
        assert not judge.asked
    assert "hunter2" not in said and "cache.options.password_env" in said
    for file in here.rglob("*"):
        assert file.is_dir() or b"hunter2" not in file.read_bytes(), file
