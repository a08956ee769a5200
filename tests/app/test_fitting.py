"""A manual is read in the terminal that opened it: lines end there, commands stay commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from helix.app import manual
from helix.app.cli import PLAIN, main
from helix.app.fitting import fitted

WIDTHS = (40, 60, 72, 80, 100)


def flat(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", manual.PAGES)
def test_no_line_of_a_manual_leaves_the_terminal(command: str, width: int) -> None:
    page = manual.page(command, width)
    wide = [line for line in page.splitlines() if len(line) > width]
    # One word, with the mark that a command goes on, may be as long as it is.
    assert [line for line in wide if len(line.rstrip("\\").split()) > 1 and width >= 60] == []
    assert flat(page).split() == flat(manual.page(command, 400)).split()


def test_what_fits_is_left_as_it_stands() -> None:
    for head, examples in manual.PAGES.values():
        assert fitted(head, 200) == head and fitted(examples, 200) == examples


def test_a_row_goes_on_below_itself_and_a_paragraph_is_one() -> None:
    page = (
        "WRITES\n"
        "  a.json      what became of each trace and what shows it\n"
        "              where it does\n"
        "  b.json      more\n"
        "  What follows is told in\n"
        "  two lines of unequal length.\n"
        "  1. A step that takes more than one line.\n"
        "     Here is the other.\n"
    )
    assert fitted(page, 44) == (
        "WRITES\n"
        "  a.json      what became of each trace and\n"
        "              what shows it where it does\n"
        "  b.json      more\n"
        "  What follows is told in\n"
        "  two lines of unequal length.\n"
        "  1. A step that takes more than one line.\n"
        "     Here is the other.\n"
    )
    assert fitted("  What follows is told in\n  two lines.", 22) == (
        "  What follows is told\n  in two lines."
    )


def test_a_command_goes_on_as_a_shell_reads_it() -> None:
    line = "  helix discover subject.traces=runs/ subject.purpose='book two flights' judge=none"
    page = fitted(line, 44)
    assert max(map(len, page.splitlines())) <= 44
    assert shlex.split(page.replace("\\\n", "")) == shlex.split(line)


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in PLAIN)])
def test_the_help_of_every_command_fits_80_columns(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


TYPED = ("helix ", "Rerun ", "Report: ", "Evaluate a split: ", "  -")


def test_what_commands_say_of_a_run_fits_a_narrow_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    run = ["experiment=demo", "hydra.run.dir=run", "paths.state=state"]
    assert main(["evaluate", *run, "run.dry=true"]) == 0
    assert main(["evaluate", *run]) == 0
    assert main(["calibrate", "queue", "run", "--state", "state"]) == 0
    assert main(["audit", "variance", "run"]) == 3
    assert main(["build-dataset", "dataset.name=d", "dataset.runs=run", "paths.state=state"]) == 0
    assert main(["schema"]) == main(["plugins"]) == 0
    out = capsys.readouterr().out
    wide = [line for line in out.splitlines() if len(line) > 60]
    assert [line for line in wide if not line.strip().startswith(TYPED)] == []
