"""The plugin as strangers have it: its wheel beside Helix's, far from the checkout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("redis", reason="redis is not installed: helix-redis is not tested")

from redis_server import PROGRAM, RedisServer

from tests.app.test_killed import SUITE
from tests.environments import ROOT, run

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
    packages = next((tmp_path / "env").glob("lib/python*/site-packages"))
    # What both need is read where it is; of a path that is added so, no editable install comes.
    needed = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "needed.pth").write_text("\n".join(needed), encoding="utf-8")
    pip = (bin / "python", "-m", "pip")
    done = run(
        *pip, "install", "-q", "--no-deps", "-I", *sorted(wheels.glob("*.whl")), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    say = "import helix, helix_redis; print(helix.__file__, helix_redis.__file__)"
    files = run(bin / "python", "-c", say, cwd=tmp_path).stdout.split()
    assert [Path(file).is_relative_to(packages) for file in files] == [True, True]
    checked = run(*pip, "check", cwd=tmp_path)
    assert "helix-redis" not in checked.stdout, checked.stdout
    listed = run(bin / "helix", "plugins", "--json", cwd=tmp_path, HELIX_PLUGINS="redis")
    found = json.loads(listed.stdout)
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
