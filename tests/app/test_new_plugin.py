"""`helix plugins new`: a copy of the example that works at once, and never more than a copy."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helix.app import cli, new_plugin
from helix.app.conf import conf_dir
from helix.errors import HelixError


def new(*words: str) -> int:
    return cli.main(["plugins", "new", *words])


def test_a_copy_passes_its_tests_where_it_is_installed(tmp_path: Path) -> None:
    assert new("my-desk", "--out", str(tmp_path)) == 0
    copy = tmp_path / "helix-my-desk"
    installed = tmp_path / "site" / "helix_my_desk-0.1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Name: helix-my-desk\nVersion: 0.1.0\n", encoding="utf-8")
    entry = "[helix.plugins]\nmy-desk = helix_my_desk\n"
    (installed / "entry_points.txt").write_text(entry, encoding="utf-8")
    path = os.pathsep.join(map(str, (installed.parent, copy / "src")))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": path, "HELIX_PLUGINS": "my-desk"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"^\d+ passed", ran.stdout, re.MULTILINE), ran.stdout


def test_a_copy_has_every_file_under_its_own_name_and_none_of_the_examples(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new("my-desk", "--out", str(tmp_path / "new"), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "plugins/helix-example"],
        cwd=project, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a git checkout")
    tracked = [name.split("/", 2)[2] for name in listed.stdout.split("\0") if name]
    assert told["files"] == sorted(new_plugin.renamed(name, "my-desk") for name in tracked)
    assert "src/helix_my_desk/conf/judge/my-desk.yaml" in told["files"]
    for name in told["files"]:
        text = (Path(told["folder"]) / name).read_text(encoding="utf-8")
        assert not re.search(r"\bexample\b|_example|example_", text), name


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        ("helix-example", "helix-a-b"),
        ("import helix_example.check", "import helix_a_b.check"),
        ("test_helix_example.py", "test_helix_a_b.py"),
        ("judge=example `example-brevity` example.txt", "judge=a-b `a-b-brevity` a-b.txt"),
        ('{"examples": 1} counterexample', '{"examples": 1} counterexample'),
    ],
)
def test_a_name_is_put_where_that_of_the_example_stands(text: str, copy: str) -> None:
    assert new_plugin.renamed(text, "a-b") == copy


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Desk", "must be small letters and digits"),
        ("../up", "must be small letters and digits"),
        ("/up", "must be small letters and digits"),
        ("a/b", "must be small letters and digits"),
        ("a--b", "must be small letters and digits"),
        ("a_b", "must be small letters and digits"),
        ("1a", "must be small letters and digits"),
        ("a\n", "must be small letters and digits"),
        ("a" * 41, "must be small letters and digits"),
        ("ä", "must be small letters and digits"),
        ("", "must be small letters and digits"),
        ("evals", "must be new"),
        ("example", "must be new"),
        ("new", "must be new"),
        ("litellm", "must be new"),
        ("html", "must be new"),
        ("demo", "must be new"),
    ],
)
def test_a_name_that_cannot_be_is_refused_before_anything_is_written(
    name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new(name, "--out", str(tmp_path / "out")) == 2
    assert f"NAME {told}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", ["folder", "file", "link"])
def test_what_is_there_is_left_as_it_is(
    there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "helix-desk"
    if there == "folder":
        place.mkdir()
        (place / "mine").write_text("mine", encoding="utf-8")
    elif there == "file":
        place.write_text("mine", encoding="utf-8")
    else:
        place.symlink_to(tmp_path / "elsewhere")
    assert new("desk", "--out", str(tmp_path)) == 2
    assert "is there already; choose another NAME or --out" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["helix-desk"]
    if there == "folder":
        assert [path.name for path in place.iterdir()] == ["mine"]


def test_a_copy_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    (source / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    (source / "README.md").write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        new_plugin.copied(source, "desk", out)
    assert list(out.iterdir()) == []


def test_a_place_that_is_no_folder_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for out in ("file", "file/below"):
        assert new("desk", "--out", str(tmp_path / out)) == 2
        assert str(tmp_path / "file") in capsys.readouterr().err


def test_the_template_is_looked_for_in_the_package_first(tmp_path: Path) -> None:
    assert new_plugin.template() == conf_dir().parent / "plugins" / "helix-example"
    carried = tmp_path / "helix" / new_plugin.CARRIED
    carried.mkdir(parents=True)
    (carried / "pyproject.toml").write_text("", encoding="utf-8")
    assert new_plugin.template(tmp_path / "helix") == carried
    with pytest.raises(HelixError, match="install Helix again"):
        new_plugin.template(tmp_path / "elsewhere")
