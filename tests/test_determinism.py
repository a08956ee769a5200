"""The demo, executed again and again: after masking every artifact is the same, byte for byte.

Twice in the same way, with the executor of processes, from an installed wheel in another folder,
and with the other Pythons that are at hand (METHOD 69).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from helix.audit import COMPARED, diff_runs, dimensions, masked, score
from helix.audit.dimensions import BUILT_IN
from helix.fieldpath import MISSING, parse_relative, walk
from helix.registry import load
from helix.runs import RunFiles
from tests.environments import ROOT, THIS, Environments, pip

EXECUTORS = ("local", "processes")


def demo(folder: Path, *words: str, python: str | Path = sys.executable, **env: str) -> Path:
    """Run the demo in a folder of its own, as anybody would, and return the run's folder."""
    folder.mkdir()
    given = {**os.environ, "HELIX_PLUGINS": "", **env}
    done = subprocess.run(
        [python, "-m", "helix", "evaluate", "experiment=demo", "hydra.run.dir=run", *words],
        capture_output=True, text=True, cwd=folder, env=given, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "run"


def assert_same(one: Path, other: Path) -> None:
    found = diff_runs(one, other)
    assert {a.artifact: a.status for a in found.artifacts} == dict.fromkeys(COMPARED, "equal"), [
        (a.artifact, a.places, a.first) for a in found.different
    ]
    for name in COMPARED:
        data = [(run / name).read_bytes() for run in (one, other)]
        assert masked(name, data[0]) == masked(name, data[1])
        assert data[0], f"{name} says something in the demo"
    card = score([RunFiles(one), RunFiles(other)], dimensions(load(entry_points=())))
    assert [d.name for d in card.dimensions if d.status != "equal"] == []
    assert (card.variance.k, card.variance.n) == (0, 15)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo(tmp_path_factory.mktemp("first") / "here")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_demo_is_the_same_in_another_folder_hash_seed_time_zone_and_executor(
    first: Path, tmp_path: Path, executor: str
) -> None:
    again = demo(
        tmp_path / "a place elsewhere", f"executor={executor}",
        PYTHONHASHSEED="7", TZ="Pacific/Apia", LC_ALL="C",
    )  # fmt: skip
    assert_same(first, again)


def test_no_compared_artifact_names_the_machine_the_folder_or_the_time(first: Path) -> None:
    started = json.loads((first / "runmeta.json").read_text(encoding="utf-8"))["startedAt"]
    told = [str(first.parent), str(ROOT), started.partition("T")[0], f'"{platform.node()}"']
    for name in COMPARED:
        text = masked(name, (first / name).read_bytes()).decode("utf-8")
        assert [word for word in told if word in text] == [], name


@pytest.mark.parametrize(
    ("artifact", "field"),
    [(d.artifact, f.strip()) for d in BUILT_IN for f in d.field.split(",") if " " not in f.strip()],
)
def test_every_field_that_a_dimension_is_said_to_read_stands_in_its_artifact(
    first: Path, artifact: str, field: str
) -> None:
    text = (first / artifact).read_text(encoding="utf-8")
    values = map(json.loads, text.splitlines() if artifact.endswith(".jsonl") else [text])
    steps = parse_relative(field).steps
    found = [value for one in values for _, value in walk(one, steps)]
    assert any(value is not MISSING for value in found)


@pytest.mark.slow
def test_the_demo_is_the_same_from_an_installed_wheel_in_another_folder(
    first: Path, wheel: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True)
    where = [sys.executable, "-c", "import helix; print(helix.__file__)"]
    env = {"PYTHONPATH": str(site)}
    told = subprocess.run(where, capture_output=True, text=True, env={**os.environ, **env},
                          cwd=tmp_path, check=True)  # fmt: skip
    assert Path(told.stdout.strip()).is_relative_to(site), "the wheel is what runs"
    assert_same(first, demo(tmp_path / "far", **env))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_demo_is_the_same_under_another_python(
    first: Path, wheel: Path, environments: Environments, tmp_path: Path, version: str
) -> None:
    if version == THIS:
        pytest.skip(f"Python {version} is the one that runs the tests")
    python = environments.make(tmp_path / "env", version)
    pip(python, "--no-deps", wheel)
    assert_same(first, demo(tmp_path / "far", python=python, PYTHONPATH=""))
