"""Every command on README.md, docs/ and the plugins' pages is one, and runs as the page says."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix.app import cli, manual
from helix.model.config import Config
from tests.docs import presupposed, typed
from tests.docs.blocks import TYPED, Block, Command, PageError, blocks, commands, inline, shows

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
SUFFIX = r"(?:md|py|jsonl?|html|yaml|txt|log|csv|parquet|sarif)$"
KEY = re.compile(rf"([a-z_]+)(?:\.[a-z_\d]+)*\.(?!{SUFFIX})[a-z_\d]+")
"""What may be a key of the configuration; `judge.py` is none."""
THEIRS = frozenset({"hydra-joblib-launcher", "hydra-submitit-launcher"})
"""Packages of others that a page says to install."""
GLOBBED = re.compile(r"[\[\]*?{}]")
"""What a shell may take for a pattern, and zsh refuses where it matches nothing."""
SHELL = re.compile(r"[$|&;<>`*?~]|^[A-Z_]+=|^cd ")
"""What only a shell does; quoted text is taken out before."""


def page(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def typed_on(name: str) -> list[Command]:
    """Return the commands of a page; what cannot be read is told by a test."""
    with contextlib.suppress(PageError):
        return [c for b in blocks(name, page(name)) if b.language in TYPED for c in commands(b)]
    return []


def sentence(command: Command) -> str:
    text = command.text.replace("\n", " ")
    return f"{command.where} {text if len(text) < 60 else text[:57] + '...'}"


EVERY = {sentence(command): command for name in PAGES for command in typed_on(name)}


@pytest.mark.parametrize("name", PAGES)
def test_each_block_says_how_it_is_held(name: str) -> None:
    for block in blocks(name, page(name)):
        assert block.language not in TYPED or commands(block), f"{block.where}: no command"


@pytest.mark.parametrize("command", EVERY.values(), ids=EVERY)
def test_a_typed_command_is_one(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not it is run below: its options exist and its configuration composes."""
    files_of(command.where.rpartition(":")[0], tmp_path, monkeypatch)
    for words in typed.helix_words(command.text):
        assert not_of_its_own(typed.whole(words)) is None
        told = "a shell may take this for a pattern: put it in quotes"
        assert not GLOBBED.search(unquoted(command.text)), told
    assert command.not_run or held_otherwise(command.text) is not False


def unquoted(text: str) -> str:
    """Return a line of shell without what it quotes."""
    return re.sub(r"'[^']*'|\"[^\"$`]*\"", "", text)


@pytest.mark.parametrize("name", PAGES)
def test_a_command_key_or_override_in_backticks_is_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files_of(name, tmp_path, monkeypatch)
    found = [(f"{name}:{line}: `{code}`", wrong_in(code)) for line, code in inline(page(name))]
    assert [(where, wrong) for where, wrong in found if not_of_its_own(wrong)] == []


def wrong_in(code: str) -> str | None:
    """Return what is wrong with what a sentence shows; most of it is no matter of Helix's."""
    if code.startswith("helix "):
        wrong = [typed.part(words) for words in typed.helix_words(code)]
    elif code.startswith("-m ") and "=" in code:
        wrong = [typed.part(["evaluate", *shlex.split(code)])]
    elif re.match(r"(make|pip|\.venv/bin/pip) [a-z'.]", code):
        held = held_otherwise(code.removeprefix(".venv/bin/"))
        wrong = [None if held else "not to be had"]
    elif (key := KEY.fullmatch(code)) and key[1] in Config.model_fields:
        wrong = [typed.key(code)]
    elif "=" in code and code.count("'") % 2 == 0 and code.count('"') % 2 == 0:
        wrong = [typed.override(word) for word in shlex.split(code)]
    else:
        return None
    return next(filter(None, wrong), None)


def not_of_its_own(wrong: str | None) -> str | None:
    """Return what is wrong, unless it is the name of the plugin that a page writes."""
    return None if wrong and OWN in wrong else wrong


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
            made = read(block.text) if read else compile(block.text, block.where, "exec")
            assert [c for c in run_by(made) for w in typed.helix_words(c) if typed.whole(w)] == []


@pytest.mark.parametrize("command", cli.HYDRA)
def test_the_examples_of_a_manual_page_compose(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"\\\n +", "", manual.page(command))
    examples = text.partition("\nEXAMPLES\n")[2]
    lines = re.findall(r"^  (helix \S.*?)(?:$|   )", examples.partition("\n\n")[0], re.MULTILINE)
    assert lines
    wrong = [(line, typed.whole(words)) for line in lines for words in typed.helix_words(line)]
    assert [told for told in wrong if told[1]] == []


def run_by(made: Any) -> Iterator[str]:
    """Yield what the steps of a workflow run."""
    if isinstance(made, list):
        made = dict(enumerate(made))
    for name, item in made.items() if isinstance(made, dict) else ():
        yield from [item] if name == "run" and isinstance(item, str) else run_by(item)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_page_that_is_run_elsewhere_is_read_there(name: str) -> None:
    if (PROJECT / name).is_file():
        assert Path(name).name in (PROJECT / ELSEWHERE[name]).read_text(encoding="utf-8")


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
            continue
        for command in commands(block) if block.language in TYPED else ():
            if command.not_run is None:
                carried_out(command, monkeypatch, capfd)


def files_of(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a folder that holds all files that a page tells to write."""
    monkeypatch.chdir(folder)
    presupposed.config(name, folder)
    for block in blocks(name, page(name)):
        if block.title and block.language != "diff":
            write(block)


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


@pytest.mark.parametrize(
    ("text", "code", "shown"),
    [
        ("false", 0, ()),
        ("true", 1, ()),
        ("cat none | wc -l", 0, ()),
        ("helix report none", 0, ()),
        ("helix --version", 0, ("helix 0.0",)),
        ("echo one && echo two", 0, ("one",)),
    ],
)
def test_a_command_that_does_not_do_as_the_page_says_fails(
    text: str,
    code: int,
    shown: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(AssertionError):
        carried_out(Command("page.md:1", text, code, shown, None), monkeypatch, capfd)


def ran(text: str) -> int:
    """Return the exit code: Helix alone in this process, all else by a shell."""
    plain = text.startswith("helix ") and not SHELL.search(unquoted(text))
    if plain and not presupposed.installed():
        return cli.main(shlex.split(text)[1:])
    shell = ["bash", "-euo", "pipefail", "-c", text]
    return subprocess.run(shell, stdin=subprocess.DEVNULL, check=False).returncode


def held_otherwise(text: str) -> bool | None:
    """Return whether a target of make or a package to install is there; None for other commands."""
    words = text.partition("\n")[0].split()
    if words[:1] == ["make"]:
        targets = re.findall(r"^([a-z]+):.*##", (PROJECT / "Makefile").read_text("utf-8"), re.M)
        return all(word in targets for word in words[1:] if "=" not in word)
    if words[:3] == ["python", "-m", "pip"]:
        words = words[2:]
    if words[:2] != ["pip", "install"]:
        return None
    return all(_to_be_had(word.strip("'")) for word in words[2:] if not word.startswith("-"))


def _to_be_had(package: str) -> bool:
    found = re.fullmatch(r"([\w./-]+)(?:\[([\w,]+)\])?", package)
    assert found, package
    known = {}
    for file in (PROJECT / "pyproject.toml", *PROJECT.glob("plugins/*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        known[project["name"]] = set(project.get("optional-dependencies", ()))
    extras = set(found[2].split(",")) if found[2] else set()
    if found[1] in THEIRS:
        return not extras
    if found[1] in (".", "./"):
        return any(extras <= those for those in known.values())
    return found[1] in known and extras <= known[found[1]]


def test_what_is_not_run_is_counted_and_says_why() -> None:
    left_out = {sentence(c): c.not_run for c in EVERY.values() if c.not_run}
    assert len(left_out) <= presupposed.NOT_RUN, "\n".join(f"{k}: {v}" for k, v in left_out.items())
