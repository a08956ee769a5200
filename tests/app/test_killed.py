"""A run that is killed at any moment goes on where it was: nothing is lost, nothing is paid twice.

The judge is a plain HTTP client, so that a start costs no more than Helix itself; the server counts
what it was asked, and now and then it fails.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.backends.fault_server import NONCE, Answer, Asked, FaultServer, error
from tests.moments import LIMIT_S

LIMIT = 8
KILLS = 10
SUITE = """\
suite: judged
version: 1
criteria:
  - criterion_id: greets
    statement: Pass = the response greets.
    severity: HIGH
    class: judge
"""
JUDGE = """\
import http.client, json, os
from helix.model.request import Reply, Unavailable, Usage

def judge(request):
    messages = [{"role": m.role, "content": m.content} for m in request.messages]
    body = json.dumps({"model": request.pin.model, "messages": messages})
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["JUDGE_PORT"]), timeout=99)
    try:
        connection.request("POST", "/v1/chat/completions", body)
        answer = connection.getresponse()
        data = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"{type(error).__name__}", retry=True)
    finally:
        connection.close()
    if answer.status != 200:
        raise Unavailable(str(answer.status), retry=True, rate_limited=answer.status == 429)
    said = json.loads(data)
    usage = said["usage"]
    return Reply(said["choices"][0]["message"]["content"], "stop", said["model"],
                 usage=Usage(usage["prompt_tokens"], usage["completion_tokens"]))
"""
WALK = {
    "understanding": {"rephrase": "an agent that greets"},
    "expectedTrajectory": [{"expected": "it greets"}],
    "judgeSteps": [{"kind": "gather", "text": "read the response"}],
    "fidelity": {"complete": True},
}


def nonce_of(asked: Asked) -> str:
    """The nonce of a request, which is its prompt's alone."""
    found = NONCE.search(asked.prompt)
    assert found is not None
    return found[1]


def content(asked: Asked) -> str:
    """Pass every trace; as verifier, find nothing against it."""
    if '"reviews"' in asked.prompt:
        review = {"criterionId": "greets", "against": "nothing", "leap": None, "entails": True}
        return json.dumps({"nonce": nonce_of(asked), "reviews": [{**review, "leapKind": None}]})
    trace = asked.prompt.partition("recording id: ")[2].partition("\n")[0]
    ref = {"obs": trace, "path": "output.response", "value": f"Hello, this is number {trace[1:]}."}
    verdict = {
        "criterionId": "greets", "bindings": [], "refs": [ref], "claim": "The response greets.",
        "critique": "It says hello.", "litmus": {"premise": ""}, "result": "pass",
    }  # fmt: skip
    return json.dumps({"nonce": nonce_of(asked), **WALK, "verdicts": [verdict]})


def faults() -> Iterator[Answer]:
    """Fail in every way in which asking again may help, in turn."""
    while True:
        yield error(500, "It broke.", "server_error")
        yield error(429, "Slow down.", "rate_limit")
        yield Answer(ending="reset")
        yield Answer(b"{" + b" " * 100, ending="cut")


def start(here: Path, server: FaultServer, state: str, *words: str) -> subprocess.Popen[str]:
    """Start the run; the same command every time."""
    given = ["subject.traces=traces.jsonl", "criteria.file=suite.yaml", "judge=scripted"]
    given += ["judge.model=m", "judge.script=judge.py", f"limits.concurrency={LIMIT}"]
    given += [f"paths.state={state}", f"hydra.run.dir={state}-run", "report.out=[terminal]"]
    port = server.base_url.rpartition(":")[2].partition("/")[0]
    return subprocess.Popen(
        [sys.executable, "-m", "helix", "evaluate", *given, *words],
        cwd=here,
        env={**os.environ, "JUDGE_PORT": port},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def kept(here: Path, state: str) -> set[str]:
    """The nonces of the replies that the cache holds."""
    file = here / state / "cache" / "cache.db"
    if not file.exists():
        return set()
    database = sqlite3.connect(file)
    try:
        rows = database.execute("SELECT value FROM Cache WHERE value != '{}'").fetchall()
    finally:
        database.close()
    return {json.loads(json.loads(value)["text"])["nonce"] for (value,) in rows}


def killed_at(moment: int, here: Path, server: FaultServer, state: str, *words: str) -> None:
    """Start a run and kill it when the server has been asked so often."""
    started: Future[subprocess.Popen[str]] = Future()
    server.at(moment, lambda: started.result().kill())
    started.set_result(start(here, server, state, *words))
    process = started.result()
    told, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == -signal.SIGKILL, told
    server.settle()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verifier", "traces"), [("none", 500), ("same", 250)], ids=["judge", "judge and verifier"]
)
def test_a_run_killed_at_ten_random_moments_loses_nothing_and_asks_nothing_twice(
    tmp_path: Path, verifier: str, traces: int
) -> None:
    units = 500
    lines = [
        {"schemaVersion": "1.0", "id": f"t{n}", "input": {"prompt": "Say hello."},
         "output": {"response": f"Hello, this is number {n}."}}
        for n in range(traces)
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "traces.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "judge.py").write_text(JUDGE, encoding="utf-8")
    fails = faults()
    moments = sorted(random.Random(units + traces).sample(range(5, units - 20), KILLS))
    with FaultServer(
        lambda asked: next(fails), content=content, times=1, every=40, delay=0.02
    ) as server:
        kills: list[tuple[int, set[str]]] = [(0, set())]
        for moment in moments:
            began = kills[-1][0]
            moment = max(moment, began + 1)
            killed_at(moment, tmp_path, server, "killed", f"verifier={verifier}")
            there = kept(tmp_path, "killed")
            lost = {nonce_of(asked) for asked in server.asked[began:]} - there
            assert len(lost) <= LIMIT
            kills.append((len(server.asked), there))
        process = start(tmp_path, server, "killed", f"verifier={verifier}")
        told, _ = process.communicate(timeout=300)
        assert process.returncode == 0, told
    assert len(kept(tmp_path, "killed")) == units
    assert server.most_at_once <= LIMIT
    for at, there in kills:
        assert not there & {nonce_of(asked) for asked in server.asked[at:]}
    with FaultServer(content=content) as calm:
        whole = start(tmp_path, calm, "whole", f"verifier={verifier}")
        told, _ = whole.communicate(timeout=300)
        assert whole.returncode == 0, told
        assert len(calm.asked) == units
    for name in ("verdicts.jsonl", "manifest.jsonl"):
        ended, uncut = (tmp_path / f"{run}-run" / name for run in ("killed", "whole"))
        assert ended.read_bytes() == uncut.read_bytes()
