"""docs/reference/ is what the code renders, and names every key, code, cause and variable once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from helix import testing
from helix.app.commands.schema import SHAPES
from helix.app.conf import remarks
from helix.app.reference import __main__ as command
from helix.app.reference import configuration, exits, pages
from helix.app.reference.environment import VARIABLES
from helix.errors import ExitCode, HelixError
from helix.model.config import Config
from helix.model.verdict import MachineryCause, WorldCause
from helix.model.vocabulary import VOCABULARY
from helix.registry import hookspecs
from tests.endings import held_to_its_help

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_as_the_code_renders_it(name: str, project: Path) -> None:
    there = project / "docs" / "reference" / name
    assert there.read_text(encoding="utf-8") == PAGES[name], "type `make reference`"


def test_no_page_is_there_that_the_code_does_not_render(project: Path) -> None:
    assert {path.name for path in (project / "docs" / "reference").iterdir()} == set(PAGES)


def test_the_check_writes_nothing_and_names_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run([str(tmp_path)]) == 0
    assert command.run([str(tmp_path), "--check"]) == 0
    (tmp_path / "states.md").write_text("by hand", encoding="utf-8")
    (tmp_path / "mine.md").touch()
    (tmp_path / "files.md").unlink()
    assert command.run([str(tmp_path), "--check"]) == 1
    assert capsys.readouterr().err == (
        "mine.md is no page of the reference\n"
        "files.md differs: type `make reference`\n"
        "states.md differs: type `make reference`\n"
    )
    assert (tmp_path / "states.md").read_text(encoding="utf-8") == "by hand"


def test_every_key_stands_once_with_a_meaning() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| .+ \| .+ \| .+ \|$", PAGES["configuration.md"], re.M)
    told = [row for row in rows if "." in row]
    assert len(told) == len(set(told))
    judged = set(type(Config().judge).model_fields)
    wanted = {
        key
        for key in _keys(Config, "")
        if not (key.startswith("verifier.") and key.split(".")[1] in judged - {"backend"})
    }
    assert set(told) == wanted


def _keys(model: type[BaseModel], before: str) -> Iterator[str]:
    """Yield every key, those of a section within a section too, but none of what a list holds."""
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _keys(kind, f"{before}{name}.")
        else:
            yield before + name


def test_every_exit_code_stands_once() -> None:
    told = re.findall(r"^\| (\d+) \| (\w+) \| .+ \|$", PAGES["exit-codes.md"], re.M)
    assert told == [(str(int(code)), code.name.lower()) for code in ExitCode]


def test_every_command_is_in_the_table_of_exit_codes_with_those_that_its_help_tells() -> None:
    heads = re.findall(r"^##+ helix (.+)$", PAGES["commands.md"], re.M)
    rows = re.findall(r"^\| `([a-z -]+)` \|((?: \d* \|){7})$", PAGES["exit-codes.md"], re.M)
    table = {name: [int(cell) for cell in cells.split("|") if cell.strip()] for name, cells in rows}
    groups = {"calibrate", "criteria", "labels", "memory", "traces"}
    assert set(table) == set(heads) - groups
    assert table["evaluate"] == table["build-evals"] == [*ExitCode]
    assert table["criteria lint"] == [0, 1, 2, 4, 130]
    assert table["report merge"] == [0, 1, 2, 3, 4, 130]
    assert table["schema"] == [0, 2, 4, 130]


def test_what_a_help_says_of_its_exit_codes_is_read_code_by_code() -> None:
    sentence = "Do it. Exits 0 if it is so, or was; 1 if there are 2 of\nthem, 3 where nothing was."
    pages = (
        f"## helix a\n\nDo.\n\n```text\nusage: helix a\n\n{sentence}\n```\n"
        "## helix b\n\n```text\n"
        "EXIT CODES\n  0    it is so      3  it is open\n  1    no\n\nMORE\n  5  things\n```\n"
        "## helix c\n\n```text\nusage: helix c [-h] COMMAND ...\n\nExits 0, or 2 for a name.\n```\n"
        "### helix c d\n\n```text\nusage: helix c d\n```\n"
    )
    found = exits.endings(pages)
    assert {code: found["a"][code] for code in (0, 1, 3)} == {
        0: "it is so, or was",
        1: "there are 2 of them",
        3: "nothing was",
    }
    assert [found["b"][code] for code in (0, 1, 3)] == ["it is so", "no", "it is open"]
    assert 5 not in found["b"]
    assert found["c d"][2] == "a name"
    assert "c" not in found


def test_a_command_that_ends_as_its_help_does_not_tell_fails_the_test_that_runs_it() -> None:
    with pytest.raises(AssertionError, match="ends with 3, which its help does not tell"):
        held_to_its_help(lambda _: 3)(["schema", "verdict"])
    assert held_to_its_help(lambda _: 3)(["criteria", "test", "suite.yaml"]) == 3


def test_every_cause_stands_once_with_what_to_do() -> None:
    told = re.findall(r"^\| `([\w-]+)` \| .+ \|$", PAGES["states.md"], re.M)
    causes = [*get_args(WorldCause), *get_args(MachineryCause)]
    assert [name for name in told if name in causes] == causes


def test_every_hook_item_and_suite_has_one_section_with_its_meaning() -> None:
    heads = re.findall(r"^##+ (\w+)\n\n\w.+[.]", PAGES["hooks.md"], re.M)
    hooks = [name for name in vars(hookspecs) if name.startswith("helix_")]
    wanted = [*(kind.__name__ for kind in hookspecs.KINDS.values()), *testing.__all__]
    assert [name for name in heads if name.startswith("helix_")] == hooks
    assert {name: heads.count(name) for name in wanted} == dict.fromkeys(wanted, 1)


def test_every_link_of_the_reference_has_a_place(project: Path) -> None:
    folder = project / "docs" / "reference"
    for name, page in PAGES.items():
        for file, anchor in re.findall(r"\]\(([\w./-]*)(?:#([^)]+))?\)", page):
            target = folder / (file or name)
            assert target.exists(), (name, file)
            heads = re.findall(r"^##* (.+)$", target.read_text(encoding="utf-8"), re.M)
            assert not anchor or anchor in [slug(head) for head in heads], (name, file, anchor)


def slug(head: str) -> str:
    """Return the anchor that GitHub and the site make of a heading."""
    return re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")


def test_a_key_without_a_meaning_is_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [remark for remark in remarks() if remark.key != "gate.policy"]
    monkeypatch.setattr(configuration, "remarks", lambda: iter(kept))
    with pytest.raises(HelixError, match=r"gate\.policy has no meaning in conf/base\.yaml"):
        pages()


def test_every_option_and_word_of_a_command_says_what_it_is() -> None:
    silent: list[str] = []
    for block in PAGES["commands.md"].split("```text\n")[1:]:
        told = block.partition("```")[0].splitlines()
        if not told[0].startswith("usage:"):
            continue
        for line, below in zip(told, [*told[1:], ""], strict=True):
            if re.match(r"  -", line) and not re.search(r"\S  +\S", line):
                silent += [] if below.startswith(" " * 8) else [f"{told[0]}: {line}"]
    assert silent == []


def test_every_file_has_its_section_and_each_of_its_links_a_place() -> None:
    page = PAGES["files.md"]
    heads = re.findall(r"^###? (.+)$", page, re.M)
    anchors = [head.lower() for head in heads]
    assert set(SHAPES) < set(heads)
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= set(anchors)


def test_every_field_of_every_file_has_a_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \| (.*) \|$", PAGES["files.md"], re.M)
    assert len(rows) > 1000
    assert [name for name, _, _, meaning in rows if not re.search(r"\w.*[.)]$", meaning)] == []
    assert PAGES["files.md"].count("\n| `") == len(rows)


def test_every_word_of_the_vocabulary_is_the_meaning_of_several_fields() -> None:
    for word, meaning in VOCABULARY.items():
        assert PAGES["files.md"].count(f"| {meaning} |") > 1, word


def test_every_variable_that_the_code_reads_is_told(project: Path) -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (project / "helix").rglob("*.py")
        if "reference" not in path.parts
    )
    read = set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", source))
    named = set(re.findall(r"^[A-Z]+_VARIABLE = \"([A-Z_]+)\"", source, re.M))
    if "shutil.get_terminal_size(" in source:
        read.add("COLUMNS")
    set_for_litellm = {name for name in read if name.startswith("LITELLM_")}
    assert (read | named) - set_for_litellm == set(VARIABLES)


def test_the_longest_word_behind_a_command_keeps_its_text_beside_it_on_every_python() -> None:
    told = PAGES["commands.md"]
    for line in ("    re-ground  ask again", "    freshness  say which", "    agreement  say how"):
        assert f"\n{line}" in told


def test_every_plain_command_prints_json_where_it_is_wanted() -> None:
    """But for those that only name further words, and for a conversation with a person."""
    plain = [
        block.partition("```")[0]
        for block in PAGES["commands.md"].split("```text\n")[1:]
        if block.startswith("usage:")
    ]
    heads = [block.splitlines()[0] for block in plain if "--json" not in block]
    assert len(plain) > 40
    assert [h for h in heads if not h.endswith("COMMAND ...") and "helix answer" not in h] == []
