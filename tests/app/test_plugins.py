"""A third party's package: its items, its config groups, its faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """\
import pathlib
from helix.registry import Renderer, hookimpl

@hookimpl
def helix_config_paths():
    return [str(pathlib.Path(__file__).parent / "theirconf"), "no/such/folder"]

@hookimpl
def helix_register_renderers(register):
    register(Renderer("words", "3", "words.txt", lambda report: b"words"))
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages: one that works and one that does not."""
    site = tmp_path / "site"
    for name, text in (("theirs", PLUGIN), ("broken", "raise RuntimeError('not today')\n")):
        info = site / f"{name}-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.2\n", encoding="utf-8")
        entry = f"[helix.plugins]\n{name} = {name}\n"
        (info / "entry_points.txt").write_text(entry, encoding="utf-8")
        (site / f"{name}.py").write_text(text, encoding="utf-8")
    group = site / "theirconf" / "experiment"
    group.mkdir(parents=True)
    mine = "# @package _global_\nreport: {out: [words]}\n"
    (group / "theirs.yaml").write_text(mine, encoding="utf-8")
    return site


def helix(site: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "helix", *words],
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": str(site), **env},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_plugins_are_listed_with_what_is_wrong_with_them(site: Path) -> None:
    done = helix(site, "plugins", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["plugins"] == {"theirs": "1.2"}
    assert {"name": "words", "version": "3", "plugin": "theirs"} in found["items"]["renderers"]
    assert found["configFolders"] == [str(site / "theirconf")]
    problems = {problem["plugin"]: problem["text"] for problem in found["problems"]}
    assert problems["broken"] == "RuntimeError: not today"
    assert problems["no/such/folder"] == "config folder does not exist"


def test_plugins_can_be_restricted(site: Path) -> None:
    done = helix(site, "plugins", HELIX_PLUGINS="")
    assert "installed plugins: none; problems: 0" in done.stdout
    assert "words" not in done.stdout


def test_a_config_group_of_a_plugin_is_a_choice(site: Path) -> None:
    done = helix(site, "evaluate", "experiment=theirs", "--cfg", "job", "-p", "report.out")
    assert (done.returncode, done.stderr) == (0, "")
    assert "words" in done.stdout
