"""docs/cache.md names every action and option of `helix cache`."""

from __future__ import annotations

import re
from pathlib import Path

from helix.app.commands import cache

PAGE = (Path(__file__).parents[2] / "docs" / "cache.md").read_text(encoding="utf-8")


def test_the_page_names_every_action_and_every_rule() -> None:
    assert set(re.findall(r"`helix cache (\w+)", PAGE)) == set(cache.ACTIONS)
    options = set(re.findall(r"`(--[\w-]+)|(?<= )(--[\w-]+)", PAGE))
    named = {one or other for one, other in options}
    assert {f"--{name.replace('_', '-')}" for name in cache.BELONG} - named == {"--dispatch"}
