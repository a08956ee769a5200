"""docs/tutorial.md, played from an empty folder: its files, its commands, what they print."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from helix.app.cli import main
from tests.docs.blocks import TYPED, Block, Command, blocks, commands, shows
from tests.environments import Environments, pip
from tests.test_action import evaluated

PAGE = "docs/tutorial.md"
BIN = Path(sys.executable).parent
SHELL = re.compile(r"[|&;<>$*?]")
Type = Callable[[Command], tuple[int, str]]


@pytest.fixture(scope="module")
def page(project: Path) -> list[Block]:
    return blocks(PAGE, (project / PAGE).read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and the commands of this environment on the path."""
    (tmp_path / "desk").mkdir()
    monkeypatch.chdir(tmp_path / "desk")
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "desk"


def test_every_step_prints_what_the_page_shows_and_the_workflow_ends_as_its_script(
    page: list[Block],
    project: Path,
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def typed(command: Command) -> tuple[int, str]:
        if command.text.startswith("helix ") and not SHELL.search(command.text):
            capfd.readouterr()
            words = shlex.split(command.text)
            monkeypatch.setattr(sys, "stdin", io.StringIO(lines_typed(command)))
            monkeypatch.setattr(sys, "argv", [str(BIN / "helix"), *words[1:]])
            code = main(words[1:])
            return code, "".join(capfd.readouterr())
        return by_shell(command)

    play(page, typed)
    workflow = yaml.safe_load(Path(".github/workflows/gate.yml").read_text(encoding="utf-8"))
    action = yaml.safe_load((project / "action.yml").read_text(encoding="utf-8"))
    given = workflow["jobs"]["gate"]["steps"][-1]["with"]
    assert set(given) <= set(action["inputs"])
    helix = folder / "temp" / "helix" / "bin"
    helix.mkdir(parents=True)
    (helix / "helix").symlink_to(BIN / "helix")
    words = {name.replace("-", "_"): value for name, value in given.items()}
    assert evaluated(action, folder, **words)[0] == 0
    changed_words("agent.py", "ADMIT_ERRORS = True", "ADMIT_ERRORS = False")
    assert in_shell("sh gate.sh")[0] == 1, "a fault that comes back is red"
    changed_words("agent.py", "ADMIT_ERRORS = False", "ADMIT_ERRORS = True")
    changed_words("agent.py", '"R-311": {"status": "waiting"}', '"R-311": {"status": "ready"}')
    code, out = in_shell("sh gate.sh")
    assert code == 3, f"no recording answers a new question\n{out}"


@pytest.mark.slow
def test_the_page_is_played_in_a_clean_environment_by_a_shell(
    page: list[Block],
    wheel: Path,
    environments: Environments,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python = environments.make(folder.parent / "env")
    pip(python, "--no-deps", wheel)
    monkeypatch.setenv("PATH", f"{python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    play(page, by_shell)


def by_shell(command: Command) -> tuple[int, str]:
    return in_shell(command.text, lines_typed(command))


def lines_typed(command: Command) -> str:
    """Return what the page types into a command, which stands behind `>` in what it shows."""
    typed = (line for line in command.shown if line == ">" or line.startswith("> "))
    return "".join(f"{line[2:]}\n" for line in typed)


def in_shell(text: str, typed: str = "") -> tuple[int, str]:
    shell = ["bash", "-euo", "pipefail", "-c", text]
    ran = subprocess.run(shell, input=typed, capture_output=True, encoding="utf-8", check=False)
    return ran.returncode, ran.stdout + ran.stderr


def play(page: list[Block], typed: Type) -> None:
    """Do what the page says in its order, and stop at the first step that goes otherwise."""
    for block in page:
        if block.title:
            (changed if block.language == "diff" else written)(block)
        for command in steps(block):
            code, out = typed(command)
            where = f"{command.where} {command.text}"
            assert code == command.exit, f"{where}\nexits with {code}\n{out}"
            assert not command.shown or shows(command.shown, out), (
                f"{where}\nprints\n{out}\nand the page shows\n" + "\n".join(command.shown)
            )


def steps(block: Block) -> Iterator[Command]:
    if block.language in TYPED and not block.title and not block.not_run:
        yield from commands(block)


def written(block: Block) -> None:
    file = inside(block)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block.text, encoding="utf-8")


def changed(block: Block) -> None:
    """Take away the lines behind `-` and put those behind `+` in their place."""
    lines = block.text.splitlines(keepends=True)
    gone, come = ("".join(x[1:] for x in lines if x[0] == sign) for sign in "-+")
    changed_words(inside(block), gone, come)


def changed_words(file: str | Path, gone: str, come: str) -> None:
    text = Path(file).read_text(encoding="utf-8")
    assert text.count(gone) == 1, f"{file}: {gone!r} stands {text.count(gone)} times"
    Path(file).write_text(text.replace(gone, come), encoding="utf-8")


def inside(block: Block) -> Path:
    assert block.title
    file = Path(block.title)
    assert not file.is_absolute() and ".." not in file.parts, block.where
    return file
