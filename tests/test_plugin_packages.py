"""Plugins as strangers have them: wheels in a clean environment, far from any checkout."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.test_house import pins, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clone(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh clone of what is committed."""
    place = tmp_path_factory.mktemp("clone") / "clone"
    if run("git", "clone", "--quiet", project, place).returncode:
        pytest.skip("not a git checkout")
    return place


@pytest.fixture(scope="module")
def wheels(clone: Path) -> dict[str, Path]:
    """The wheels of Helix and of the example."""
    place = clone.parent / "wheels"
    for source in (clone, clone / "plugins" / "helix-example"):
        built = run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", place, source)
        assert built.returncode == 0, built.stderr
    return {wheel.name.partition("-")[0]: wheel for wheel in place.glob("*.whl")}


@pytest.fixture(scope="module")
def far(project: Path, wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment that holds the two wheels and pytest, and with traces."""
    place = tmp_path_factory.mktemp("far")
    run(sys.executable, "-m", "venv", "env", cwd=place)
    pip = (place / "env" / "bin" / "python", "-m", "pip", "install", "-q")
    locked = project / "requirements.lock"
    for words in (
        ("--require-hashes", "-r", locked),
        ("--no-deps", wheels["helix_evals"], wheels["helix_example"]),
        (f"pytest=={pins('requirements-dev.lock')['pytest']}",),
    ):
        done = run(*pip, *words, cwd=place)
        assert done.returncode == 0, done.stderr
    return place


def test_the_wheel_of_helix_carries_the_whole_example(clone: Path, wheels: dict[str, Path]) -> None:
    listed = run("git", "ls-files", "-z", "plugins/helix-example", cwd=clone).stdout.split("\0")
    carried = {name.replace("plugins/helix-example", "helix/example_plugin") for name in listed}
    assert len(carried) > 10
    assert carried - {""} <= set(zipfile.ZipFile(wheels["helix_evals"]).namelist())


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
    installed = run(bin / "python", "-m", "pip", "install", "-q", "./helix-my-desk[test]", cwd=far)
    assert installed.returncode == 0, installed.stderr
    tested = run(bin / "python", "-m", "pytest", "-q", cwd=folder)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    found = json.loads(run(bin / "helix", "plugins", "--json", cwd=far).stdout)
    assert (sorted(found["plugins"]), found["problems"]) == (["example", "my-desk"], [])
