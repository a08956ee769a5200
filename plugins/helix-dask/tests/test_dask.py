"""A run over Dask is the local run, whoever of its workers is killed in the middle."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="distributed is not installed: helix-dask is not tested")
pytest.importorskip("helix_dask", reason="helix-dask is not installed")

from distributed import Client, LocalCluster
from helix_dask.jobs import shards_for

from helix.app.recordings import export
from helix.audit.masking import COMPARED, masked
from helix.engine.upkeep import OnDisk
from helix.registry import load
from helix.runs import RunFiles
from helix.testing import executor_conforms
from tests.app.test_killed import JUDGE, SUITE, content, kept, nonce_of
from tests.backends.fault_server import FaultServer
from tests.moments import LIMIT_S

pytestmark = pytest.mark.slow
LIMIT, TRACES, SHARDS = 4, 160, 6


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with traces, a judged suite and a judge that asks a server and says who asks."""
    lines = [
        {"schemaVersion": "1.0", "id": f"t{n}", "input": {"prompt": "Say hello."},
         "output": {"response": f"Hello, this is number {n}."}}
        for n in range(TRACES)
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, lines)) + "\n"
    (tmp_path / "traces.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    told = 'def judge(request):\n    open("asking", "a").write(f"{os.getpid()}\\n")\n'
    judge = JUDGE.replace("def judge(request):\n", told)
    (tmp_path / "judge.py").write_text(judge, encoding="utf-8")
    return tmp_path


def start(here: Path, server: FaultServer, name: str, *words: str) -> subprocess.Popen[str]:
    given = ["subject.traces=traces.jsonl", "criteria.file=suite.yaml", "judge=scripted"]
    given += ["judge.model=m", "judge.script=judge.py", f"limits.concurrency={LIMIT}"]
    given += [f"paths.state={name}", f"hydra.run.dir={name}-run", "report.out=[terminal]"]
    port = server.base_url.rpartition(":")[2].partition("/")[0]
    return subprocess.Popen(
        [sys.executable, "-m", "helix", "evaluate", *given, "verifier=none", *words],
        cwd=here,
        env={**os.environ, "JUDGE_PORT": port},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def ended(process: subprocess.Popen[str]) -> str:
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 0, told
    return told


def compared(run: Path) -> dict[str, bytes]:
    return {name: masked(name, (run / name).read_bytes()) for name in COMPARED}


def local(here: Path, *words: str) -> dict[str, bytes]:
    with FaultServer(content=content) as server:
        ended(start(here, server, "whole", *words))
    return compared(here / "whole-run")


DASK = ("executor=dask", "executor.workers=2", f"executor.options.shards={SHARDS}")


def test_a_worker_killed_in_the_middle_costs_the_calls_under_way_alone(here: Path) -> None:
    whole = local(here)
    before: list[set[str]] = []

    def kill() -> None:
        """Kill the worker that asked last, while the server answers nobody."""
        before.append(kept(here, "killed"))
        os.kill(int((here / "asking").read_text(encoding="utf-8").split()[-1]), signal.SIGKILL)

    moment = TRACES // 3
    with FaultServer(content=content, delay=0.05) as server:
        server.at(moment, kill)
        ended(start(here, server, "killed", *DASK))
        again = {nonce_of(one) for one in server.asked[moment:]}
        assert before[0] and not before[0] & again, "a reply that was kept is never asked again"
        assert TRACES <= len(server.asked) <= TRACES + LIMIT
        assert server.most_at_once <= 2 * LIMIT
    assert len(set((here / "asking").read_text(encoding="utf-8").split())) >= 2
    assert compared(here / "killed-run") == whole


def test_every_worker_of_a_cluster_has_four_shards_where_none_are_asked_for() -> None:
    async def counted() -> int:
        async with (
            LocalCluster(
                n_workers=7, threads_per_worker=1, processes=False,
                dashboard_address=None, asynchronous=True,
            ) as cluster,
            Client(cluster, asynchronous=True) as client,
        ):  # fmt: skip
            return await shards_for(client)

    assert asyncio.run(counted()) == 4 * 7


def test_repeats_and_a_sample_are_those_of_the_local_run(here: Path) -> None:
    words = ["sampling.replicates=2", "sampling.strategy=random", "sampling.n=9"]
    whole = local(here, *words)
    with FaultServer(content=content) as server:
        ended(start(here, server, "dask", *DASK, *words))
        assert len(server.asked) == 18
    assert compared(here / "dask-run") == whole
    assert RunFiles(here / "dask-run").scorecard().usage.calls == 18


def test_workers_with_a_state_of_their_own_bring_their_replies_home(here: Path) -> None:
    with FaultServer(content=content) as server:
        ended(start(here, server, "own", *DASK, "executor.options.state=own"))
        assert len(server.asked) == TRACES
        assert len(kept(here, "own")) == TRACES
        ended(start(here, server, "own"))
        assert len(server.asked) == TRACES, "all replies are here"
    exported = export(OnDisk(str(here / "own")), str(here / "recordings" / "own.jsonl"))
    assert (exported.recordings, exported.left_out) == (TRACES, 0), "with what was asked"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["shard.count=2"], "shard.count must be 1 with executor=dask"),
        (["+executor.options.adress=x"], "did you mean 'address'"),
        (["executor.options.shards=0"], "executor.options.shards must be 1 or more (got 0)"),
        (["executor.options.state=mine"], "must be shared or own (got mine)"),
        (["subject.traces=-"], "subject.traces must be files with executor=dask"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_starts(
    here: Path, words: list[str], told: str
) -> None:
    ran: Any = subprocess.run(
        [sys.executable, "-m", "helix", "evaluate", "subject.traces=traces.jsonl",
         "criteria.file=suite.yaml", "judge=none", *DASK, *words],
        cwd=here, input=(here / "traces.jsonl").read_text("utf-8"), capture_output=True, text=True,
        check=False, timeout=LIMIT_S,
    )  # fmt: skip
    assert ran.returncode == 2 and told in ran.stderr, ran.stderr


def test_it_conforms() -> None:
    section = {"workers": 2, "options": {"shards": 3}}
    executor_conforms(load().get("executors", "dask"), section)
