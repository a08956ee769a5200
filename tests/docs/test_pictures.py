"""The pictures are small, each page shows only such as are there, and none lies about unused."""

from __future__ import annotations

import re
from pathlib import Path

PICTURES = "docs/pictures"
MOST_BYTES = 1_500_000


def test_pictures_are_shown_where_they_are_there_and_stay_small(project: Path) -> None:
    shown = set()
    for page in (project / "README.md", *sorted((project / "docs").glob("*.md"))):
        for alt, file in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert len(alt) > 20, f"{page.name}: who cannot see {file} is told nothing"
            shown.add((page.parent / file).resolve())
    there = set((project / PICTURES).glob("*.webp"))
    assert shown <= there, shown - there
    assert shown and sum(file.stat().st_size for file in there) < MOST_BYTES
    for file in there:
        assert file.read_bytes()[8:12] == b"WEBP"


def test_every_form_of_every_page_has_its_picture(project: Path) -> None:
    forms = [f"{width}-{colours}" for width in (1440, 390) for colours in ("light", "dark")]
    names = {f"{page}-{form}" for page in ("run", "trace", "discovery") for form in forms}
    found = {file.stem for file in (project / PICTURES).glob("*.webp")}
    assert found == names | {"run-print", "terminal", "tutorial"}
