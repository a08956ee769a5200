"""The house rules: sizes, names, floors, dependencies, locks, and what make promises."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import re
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environments import ROOT, Environments, pip, run

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LOCKS = ["requirements.lock", "requirements-dev.lock"]
APART = sorted(
    file.with_suffix(".lock").relative_to(ROOT).as_posix()
    for file in [*ROOT.glob("docs/requirements.in"), *ROOT.glob("plugins/*/requirements.in")]
)
"""The locks of what is installed beside Helix, or without it."""
MODULES = sorted((ROOT / "helix").rglob("*.py"))

FRONTS = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in (ROOT / "helix").glob("*/**/__init__.py")
    if "__all__ = [" in path.read_text(encoding="utf-8")
)
"""The packages that bring names together, but for `helix` itself, which loads its own late."""

MODULE_LINES = 400
FUNCTION_LINES = 40
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager"}

MACHINE_PATH = re.compile(
    r"(?<![\w.~*}\])/-])/(?:root|tmp|work|opt|home/\w+|Users/\w+)(?:/|\b(?![\w.-]))"
    r"|[A-Za-z]:\\{1,2}Users\b"
)
REGISTRY_HOST = re.compile(
    # A class of one letter in each name, so that this line names none of them itself.
    r"pyp[i]\.org|pythonhoste[d]\.org|npmj[s]\.(?:org|com)|(?:de[b]|securit[y])\.debian\.org"
    r"|crate[s]\.io",
    re.IGNORECASE,
)


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Yield the name and text of every tracked text file."""
    listing = run("git", "ls-files", "-z")
    if listing.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        if not path.is_file():
            continue
        try:
            yield name, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def found_in_tracked_files(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in tracked_texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, source: list[str]) -> int:
    """Count a function's lines after its signature, without docstring and blank lines."""
    body = function.body[ast.get_docstring(function, clean=False) is not None :]
    if not body:
        return 0
    return sum(bool(line.strip()) for line in source[body[0].lineno - 1 : function.end_lineno])


def imported_packages(path: Path) -> set[str]:
    """Return the top-level names that a file imports, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def distribution(requirement: str) -> str:
    """Return a requirement's distribution name in the index's spelling."""
    name = re.match(r"[\w.-]+", requirement)
    assert name, f"requirement must start with a name (got {requirement!r})"
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+) \\$", text, re.MULTILINE))


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in MODULES
    }
    assert {name: n for name, n in lengths.items() if n > MODULE_LINES} == {}


def test_no_function_is_longer_than_40_lines() -> None:
    long = {}
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = body_lines(node, text.splitlines())
                if lines > FUNCTION_LINES:
                    long[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = lines
    assert long == {}


def test_a_functions_length_leaves_out_its_signature_docstring_and_blank_lines() -> None:
    source = 'def f(\n    a,\n):\n    """Say.\n\n    More.\n    """\n    x = a\n\n    return x\n'
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert body_lines(function, source.splitlines()) == 2


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = [
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if VAGUE_NAMES & {part.lstrip("_") for part in path.relative_to(ROOT).with_suffix("").parts}
    ]
    assert vague == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("see " + "/" + "root/x", True),
        ("cd " + "/" + "tmp", True),
        ("'" + "/" + "home/ada/runs'", True),
        ("C:\\" + "Users\\ada", True),
        ("../shared/traces/*.json", False),
        ("outputs/" + "work/x", False),
        ("#!/usr/bin/env bash", False),
        ("a path/" + "tmpfile", False),
    ],
)
def test_a_machine_path_is_told_from_other_paths(line: str, found: bool) -> None:
    assert bool(MACHINE_PATH.search(line)) is found


def test_no_tracked_file_holds_a_path_of_somebodys_machine() -> None:
    assert found_in_tracked_files(MACHINE_PATH) == []


def test_no_tracked_file_names_a_package_registrys_host() -> None:
    assert found_in_tracked_files(REGISTRY_HOST) == []


def test_import_floors_hold() -> None:
    lint = run(Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo")
    assert lint.returncode == 0, lint.stdout + lint.stderr


def test_every_public_name_is_in_all_and_can_be_had() -> None:
    helix = importlib.import_module("helix")
    names = helix.__all__
    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(helix, name)] == []


@pytest.mark.parametrize("name", FRONTS)
def test_all_is_what_the_front_of_a_package_brings_together(name: str) -> None:
    package = importlib.import_module(name)
    body = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8")).body
    brought = {
        alias.asname or alias.name
        for node in body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("helix")
        for alias in node.names
    }
    made = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    public = sorted(one for one in brought | made if not one.startswith("_"))
    assert sorted(package.__all__) == public


def test_every_requirement_says_why_it_is_there() -> None:
    requirements = [
        *PROJECT["dependencies"],
        *(line for extra in PROJECT["optional-dependencies"].values() for line in extra),
    ]
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    argued = {
        match.group(1)
        for line in lines
        if (match := re.fullmatch(r'    "([^"]+)", *# \S.{10,}', line))
    }
    assert [requirement for requirement in requirements if requirement not in argued] == []


def test_helix_imports_exactly_what_it_declares() -> None:
    owners = importlib.metadata.packages_distributions()
    imported = set().union(*(imported_packages(path) for path in MODULES))
    third_party = imported - set(sys.stdlib_module_names) - {"helix", "__future__"}
    used = {distribution(owner) for name in third_party for owner in owners.get(name, [name])}
    extras = PROJECT["optional-dependencies"]
    optional = [line for extra in extras.keys() - {"dev"} for line in extras[extra]]
    declared = {distribution(requirement) for requirement in PROJECT["dependencies"] + optional}
    assert used == declared


@pytest.mark.parametrize("lock", LOCKS + APART)
def test_a_lock_names_no_index_no_file_and_no_url(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert re.findall(r"\S*(?:://|file:|@ )\S*", text) == []
    assert re.findall(r"^\s*(?:-i|-f|--(?!hash=)[\w-]+).*$", text, re.MULTILINE) == []


@pytest.mark.parametrize("lock", LOCKS + APART)
def test_every_pin_in_a_lock_has_hashes(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[\w])", text, flags=re.MULTILINE)[1:]
    assert blocks
    assert [block for block in blocks if "--hash=sha256:" not in block] == []


def test_the_locks_cover_what_pyproject_asks_for_with_the_same_pins() -> None:
    core, dev = (pins(lock) for lock in LOCKS)
    assert {distribution(line) for line in PROJECT["dependencies"]} <= core.keys()
    extra = PROJECT["optional-dependencies"]["dev"]
    assert {distribution(line) for line in extra} <= dev.keys()
    assert core.items() <= dev.items()


@pytest.mark.parametrize("lock", APART)
def test_a_lock_apart_covers_what_is_asked_for_with_the_pins_of_the_others(lock: str) -> None:
    asked = (ROOT / lock).with_suffix(".in").read_text(encoding="utf-8").splitlines()
    found, dev = pins(lock), pins("requirements-dev.lock")
    assert {distribution(line) for line in asked if not line.startswith("#")} <= found.keys()
    assert {name: pin for name, pin in found.items() if dev.get(name, pin) != pin} == {}


def test_make_lock_compiles_every_lock() -> None:
    typed = run("make", "-n", "-C", ROOT, "lock").stdout
    folders = {Path(lock).parent.as_posix() for lock in APART}
    assert folders <= set(re.findall(r"[\w./-]+", typed))
    for lock in LOCKS + APART:
        assert "#    make lock\n" in (ROOT / lock).read_text(encoding="utf-8"), lock


def test_make_runs_the_demo_and_the_tests_from_any_folder(tmp_path: Path) -> None:
    demo = run("make", "-n", "-C", ROOT, "demo", cwd=tmp_path)
    assert "helix evaluate experiment=demo" in demo.stdout, demo.stderr
    test = run("make", "-n", "-C", ROOT, "test", cwd=tmp_path)
    assert "pytest" in test.stdout, test.stderr


def test_make_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony
    listed = re.findall(r"^make (\w+)\t\S", run("make").stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony.group(1).split())


def test_without_a_fitting_python_make_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2"\n', encoding="utf-8")
    old.chmod(0o755)
    made = run("make", ".venv/bin/python", f"PYTHON={old} no-such-python", cwd=tmp_path)
    assert made.returncode == 2
    assert "Helix needs Python 3.11, 3.12 or 3.13 with its venv module" in made.stderr
    assert f"tried {old}: Python 3.9.2" in made.stderr
    assert "tried no-such-python: not found" in made.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.slow
def test_a_fresh_clone_runs_the_demo_with_one_command_and_again_at_once(
    clone: Path, tmp_path: Path
) -> None:
    run("git", "clone", "--quiet", clone, tmp_path / "mine")
    for quiet in (False, True):
        demo = run("make", "demo", cwd=tmp_path / "mine")
        assert demo.returncode == 0, demo.stdout + demo.stderr
        report = re.search(r"^Report: (.+)$", demo.stdout, re.MULTILINE)
        assert report, demo.stdout
        assert (tmp_path / "mine" / report.group(1)).is_file()
        assert ("Setting up" not in demo.stderr) is quiet


@pytest.mark.slow
def test_the_wheel_carries_conf_and_runs_far_from_the_checkout(
    clone: Path, wheel: Path, environments: Environments, tmp_path: Path
) -> None:
    conf = {p.relative_to(clone).as_posix() for p in (clone / "conf").rglob("*.yaml")}
    assert conf
    assert {f"helix/{name}" for name in conf} <= set(zipfile.ZipFile(wheel).namelist())
    python = environments.make(tmp_path / "env")
    pip(python, "--no-deps", wheel)
    demo = run(python.with_name("helix"), "evaluate", "experiment=demo", cwd=tmp_path)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert list(tmp_path.glob("outputs/evaluate/*/report.html"))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_locks_install_on_every_supported_python(
    version: str, environments: Environments, tmp_path: Path
) -> None:
    python = environments.make(tmp_path / "env", version)
    pip(python, "--require-hashes", "-r", ROOT / "requirements-dev.lock")
    check = run(python, "-m", "pip", "check")
    assert check.returncode == 0, check.stdout
