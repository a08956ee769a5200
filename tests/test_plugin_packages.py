"""Plugins as strangers have them: wheels in a clean environment, far from any checkout."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.environments import Environments, built, pip, run
from tests.test_house import pins

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def far(
    clone: Path,
    wheel: Path,
    environments: Environments,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder with an environment that holds the two wheels and pytest, and with traces."""
    folder = tmp_path_factory.mktemp("far")
    python = environments.make(folder / "env")
    pip(python, "--no-deps", wheel, built(clone / "plugins" / "helix-example", folder / "wheels"))
    pip(python, f"pytest=={pins('requirements-dev.lock')['pytest']}")
    return folder


def test_the_wheel_of_helix_carries_the_whole_example(clone: Path, wheel: Path) -> None:
    listed = run("git", "ls-files", "-z", "plugins/helix-example", cwd=clone).stdout.split("\0")
    carried = {name.replace("plugins/helix-example", "helix/example_plugin") for name in listed}
    assert len(carried) > 10
    assert carried - {""} <= set(zipfile.ZipFile(wheel).namelist())


def test_the_example_works_beside_helix_without_the_repository(clone: Path, far: Path) -> None:
    for name in ("desk.jsonl", "suite.yaml"):
        shutil.copy(clone / "plugins" / "helix-example" / "tests" / name, far)
    helix = far / "env" / "bin" / "helix"
    found = json.loads(run(helix, "plugins", "--json", cwd=far).stdout)
    assert (found["plugins"], found["problems"]) == ({"example": "0.1.0"}, [])
    typed = ["subject.traces=desk.jsonl", "criteria.file=suite.yaml", "experiment=example"]
    ran = run(helix, "evaluate", *typed, cwd=far)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (report,) = far.glob("outputs/evaluate/*/example.txt")
    lines = report.read_text(encoding="utf-8").splitlines()
    assert lines == ["gate: fail", "pass        T1", "fail        T2", "uncertain   T3"]
    line = json.loads((report.parent / "verdicts.jsonl").read_bytes().splitlines()[1])
    assert line["judgeModel"] == "example-1"
    assert {v["criterionId"]: v["producedBy"] for v in line["verdicts"] if "producedBy" in v} == {
        "brief": "code"
    }
    manifest = (report.parent / "manifest.jsonl").read_text(encoding="utf-8")
    assert re.findall(r'"format":"(\w+)"', manifest) == ["example"] * 3


def test_a_new_plugin_installs_there_and_passes_its_tests_at_once(far: Path) -> None:
    bin = far / "env" / "bin"
    made = run(bin / "helix", "plugins", "new", "my-desk", cwd=far)
    assert made.returncode == 0, made.stderr
    folder = far / "helix-my-desk"
    pip(bin / "python", f"{folder}[test]")
    tested = run(bin / "python", "-m", "pytest", "-q", cwd=folder)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    found = json.loads(run(bin / "helix", "plugins", "--json", cwd=far).stdout)
    assert (sorted(found["plugins"]), found["problems"]) == (["example", "my-desk"], [])
