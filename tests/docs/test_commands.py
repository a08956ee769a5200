"""Every command on README.md, docs/ and the plugins' pages is one, and runs as the page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from helix.app.cli import main
from tests.docs import presupposed, typed
from tests.docs.blocks import TYPED, Block, Command, blocks, commands, inline, shows

PROJECT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGES = tuple(
    str(file.relative_to(PROJECT))
    for pattern in ("README.md", "docs/*.md", "docs/reference/*.md", "plugins/*/README.md")
    for file in sorted(PROJECT.glob(pattern))
)
ELSEWHERE = {
    "docs/discover-measured.md": "tests/discover/test_real_determinations.py",
    "docs/dispatch.md": "tests/docs/test_dispatch.py",
    "docs/improve.md": "tests/docs/test_improve.py",
    "docs/scale.md": "tests/docs/test_scale.py",
    "docs/tutorial.md": "tests/docs/test_tutorial.py",
    "docs/variance.md": "tests/docs/test_variance.py",
}
"""Pages whose commands a test of their own runs, which answers or changes files between them."""
OWN = "'my-desk'"
"""The plugin that a page writes."""
SHELL = re.compile(r"[$|&;<>`*?~]|^[A-Z_]+=|^cd ")
"""What only a shell does; quoted text is taken out before."""


def page(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def typed_on(name: str) -> list[Command]:
    return [c for b in blocks(name, page(name)) if b.language in TYPED for c in commands(b)]


def sentence(command: Command) -> str:
    return (
        f"{command.where} {command.text if len(command.text) < 60 else command.text[:57] + '...'}"
    )


PLAYED = "docs/tutorial.md"
"""Its commands need the configuration that it writes; every one is run where it is played."""
EVERY = {
    sentence(command): command for name in PAGES if name != PLAYED for command in typed_on(name)
}


@pytest.mark.parametrize("command", EVERY.values(), ids=EVERY)
def test_a_typed_command_is_one(command: Command) -> None:
    """Whether or not it is run below: its options exist and its configuration composes."""
    for words in typed.helix_words(command.text):
        assert not_of_its_own(typed.whole(words)) is None
    assert held_otherwise(command.text) is not False


@pytest.mark.parametrize("name", PAGES)
def test_what_stands_in_backticks_is_a_command_an_override_or_neither(name: str) -> None:
    wrong = []
    for line, code in inline(page(name)):
        for words in words_of(code):
            found = typed.part(words[1:]) if words[0] == "helix" else typed.override(words[0])
            if not_of_its_own(found):
                wrong.append(f"{name}:{line}: `{code}`: {found}")
    assert wrong == []


def not_of_its_own(wrong: str | None) -> str | None:
    """Return what is wrong, unless it is the name of the plugin that a page writes."""
    return None if wrong and OWN in wrong else wrong


def words_of(code: str) -> Iterator[list[str]]:
    """Yield a command of Helix as its words, or each override as a list of itself."""
    if code.startswith("helix "):
        yield from (["helix", *words] for words in typed.helix_words(code))
    elif "=" in code and code.count("'") % 2 == 0 and code.count('"') % 2 == 0:
        yield from ([word] for word in shlex.split(code) if typed.OVERRIDE.fullmatch(word))


@pytest.mark.parametrize("name", PAGES)
def test_a_block_of_data_can_be_read(name: str) -> None:
    for block in blocks(name, page(name)):
        if block.language == "json":
            try:
                json.loads(block.text)
            except ValueError:
                assert [json.loads(line) for line in block.text.splitlines()], block.where
        elif block.language in ("yaml", "toml", "python"):
            read = {"yaml": yaml.safe_load, "toml": tomllib.loads}.get(block.language)
            assert read(block.text) if read else compile(block.text, block.where, "exec")


RUN = [
    pytest.param(name, marks=pytest.mark.slow if name in presupposed.SLOW else ())
    for name in PAGES
    if name not in ELSEWHERE and any(not c.not_run for c in typed_on(name))
]


@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_page_run_in_their_order(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(tmp_path / "bin"), str(BIN), os.environ["PATH"]])
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    presupposed.put(name, folder)
    for block in blocks(name, page(name)):
        if block.title:
            write(block)
        for command in commands(block) if block.language in TYPED else ():
            if command.not_run is None:
                carried_out(command, monkeypatch, capfd)


def write(block: Block) -> None:
    assert block.title
    file = Path(block.title)
    assert not file.is_absolute() and ".." not in file.parts, block.where
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block.text, encoding="utf-8")


def carried_out(
    command: Command, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run a command and hold its exit code and what it prints to what the page says."""
    capfd.readouterr()
    if found := re.fullmatch(r"cd (\S+)", command.text):
        monkeypatch.chdir(found[1])
        return
    if held_otherwise(command.text):
        if " -e " in command.text:
            presupposed.stand_in_for_pip(Path.cwd(), monkeypatch)
        return
    code = ran(command.text)
    out, err = capfd.readouterr()
    assert code == command.exit, f"{sentence(command)}\nexits with {code}\n{out}{err}"
    shown = command.shown
    assert not shown or any(shows(shown, text) for text in (out, err, out + err)), (
        f"{sentence(command)} prints\n{out}{err}\nand the page shows\n" + "\n".join(shown)
    )


def ran(text: str) -> int:
    """Return the exit code: Helix alone in this process, all else by a shell."""
    bare = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", text)
    if text.startswith("helix ") and not SHELL.search(bare) and not presupposed.installed():
        return main(shlex.split(text)[1:])
    shell = ["bash", "-euo", "pipefail", "-c", text]
    return subprocess.run(shell, stdin=subprocess.DEVNULL, check=False).returncode


def held_otherwise(text: str) -> bool | None:
    """Return whether a target of make or a package to install is there; None for other commands."""
    words = shlex.split(text.partition("|")[0], comments=True)
    if words[:1] == ["make"]:
        targets = re.findall(r"^([a-z]+):.*##", (PROJECT / "Makefile").read_text("utf-8"), re.M)
        return all(word in targets for word in words[1:] if "=" not in word)
    if words[:3] == ["python", "-m", "pip"]:
        words = words[2:]
    if words[:2] != ["pip", "install"]:
        return None
    return all(map(_to_be_had, (word for word in words[2:] if not word.startswith("-"))))


def _to_be_had(package: str) -> bool:
    found = re.fullmatch(r"([\w./-]+)(?:\[([\w,]+)\])?", package)
    assert found, package
    known = {}
    for file in (PROJECT / "pyproject.toml", *PROJECT.glob("plugins/*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        known[project["name"]] = set(project.get("optional-dependencies", ()))
    extras = set(found[2].split(",")) if found[2] else set()
    if found[1] in (".", "./"):
        return any(extras <= those for those in known.values())
    return found[1] in known and extras <= known[found[1]]


def test_what_is_not_run_is_counted_and_says_why() -> None:
    left_out = {sentence(c): c.not_run for c in EVERY.values() if c.not_run}
    assert len(left_out) <= presupposed.NOT_RUN, "\n".join(f"{k}: {v}" for k, v in left_out.items())
