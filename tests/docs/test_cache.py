"""docs/cache.md names every action and option of `helix cache`, and its commands run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.app.commands import cache
from helix.engine.cache import open_cache
from helix.model.request import Reply

PAGE = (Path(__file__).parents[2] / "docs" / "cache.md").read_text(encoding="utf-8")


def test_the_page_names_every_action_and_every_rule() -> None:
    assert set(re.findall(r"`helix cache (\w+)", PAGE)) == set(cache.ACTIONS)
    options = set(re.findall(r"`(--[\w-]+)|(?<= )(--[\w-]+)", PAGE))
    named = {one or other for one, other in options}
    assert {f"--{name.replace('_', '-')}" for name in cache.BELONG} - named == {"--dispatch"}


def test_the_command_that_keeps_the_others_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_cache(".helix") as kept:
        kept.put("a" * 64, Reply("yes"))
    found = re.search(r"^(mv .*) && helix (cache merge .*)$", PAGE, re.MULTILINE)
    assert found is not None
    _, source, target = shlex.split(found[1])
    Path(source).rename(target)
    assert main(shlex.split(found[2])) == 0
    assert capsys.readouterr().out == (
        "1 reply added to .helix/cache, 0 there already, 0 conflicts, 0 left out\n"
    )


def test_a_conflict_is_shown_as_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for state, texts in ((".helix", ("yes", "b", "c")), ("shard", ("no", "b", "c"))):
        with open_cache(state) as kept:
            for key, text in zip("abc", texts, strict=True):
                kept.put(key * 64, Reply(text))
    assert main(["cache", "merge", "shard"]) == 0
    shown = re.sub(r"[0-9a-f]{16}(?= stands|$)", "…", capsys.readouterr().out, flags=re.MULTILINE)
    block = re.search(r"```text\n(0 replies added.*?)```", PAGE, re.DOTALL)
    assert block is not None
    assert shown == re.sub(r"[0-9a-f]+…(?= stands|$)", "…", block[1], flags=re.MULTILINE)
