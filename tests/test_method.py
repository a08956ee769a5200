"""Every requirement that the code cites stands on docs/method.md."""

from __future__ import annotations

import re
from pathlib import Path

_CITED = re.compile(r"METHOD (\d+(?:[–-]\d+)?(?:, \d+(?:[–-]\d+)?)*)")


def numbers(text: str) -> set[int]:
    """Return every number that a text cites, ranges written out."""
    found: set[int] = set()
    for cited in _CITED.findall(re.sub(r"\s+", " ", text)):
        for part in cited.split(", "):
            first, _, last = part.replace("–", "-").partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_every_cited_requirement_is_explained(project: Path) -> None:
    page = (project / "docs" / "method.md").read_text(encoding="utf-8")
    explained = {int(n) for n in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    sources = [*(project / "helix").rglob("*.py"), *(project / "docs" / "decisions").glob("*.md")]
    cited = set().union(*(numbers(path.read_text(encoding="utf-8")) for path in sources))
    assert len(cited) > 30
    assert cited - explained == set()
