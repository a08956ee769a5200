"""The plugin as strangers have it: its wheel beside Helix's in a clean environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("redis", reason="redis is not installed: helix-redis is not tested")

from redis_server import PROGRAM, RedisServer

from tests.app.test_killed import SUITE
from tests.test_house import ROOT, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed"),
]
PLUGIN = ROOT / "plugins" / "helix-redis"
JUDGE = """\
from helix.model.request import Reply

def judge(request):
    open("asked", "a").write(".")
    return Reply("no")
"""


def test_both_wheels_work_without_the_repository(tmp_path: Path, server: RedisServer) -> None:
    wheels = tmp_path / "wheels"
    for source in (ROOT, PLUGIN):
        built = run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, source)
        assert built.returncode == 0, built.stderr
    run(sys.executable, "-m", "venv", "env", cwd=tmp_path)
    bin = tmp_path / "env" / "bin"
    for words in (
        ("--require-hashes", "-r", ROOT / "requirements.lock"),
        ("--require-hashes", "-r", PLUGIN / "requirements.lock"),
        ("--no-deps", *sorted(wheels.glob("*.whl"))),
    ):
        done = run(bin / "python", "-m", "pip", "install", "-q", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    found = json.loads(run(bin / "helix", "plugins", "--json", cwd=tmp_path).stdout)
    assert (found["plugins"], found["problems"]) == ({"redis": "0.1.0"}, [])
    trace = {"schemaVersion": "1.0", "id": "t1", "output": {"response": "Hello."}}
    (tmp_path / "traces.jsonl").write_text(json.dumps(trace), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "judge.py").write_text(JUDGE, encoding="utf-8")
    typed = ["subject.traces=traces.jsonl", "criteria.file=suite.yaml", "judge=scripted"]
    typed += ["judge.model=m", "judge.script=judge.py", "cache.name=redis"]
    typed += [f"cache.options.address={server.address}"]
    for _ in range(2):
        ran = run(bin / "helix", "evaluate", *typed, cwd=tmp_path)
        assert ran.returncode == 3, ran.stdout + ran.stderr
        asked = (tmp_path / "asked").stat().st_size
        assert asked == len(server.client().keys("helix:*")) > 0
