"""The site has every page once, its links lead somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests import chromium
from tests.docs.blocks import without_blocks

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
SITE = yaml.safe_load((PROJECT / "mkdocs.yml").read_text(encoding="utf-8"))
PAGES = {str(file.relative_to(DOCS)): file for file in sorted(DOCS.rglob("*.md"))}
DECISIONS = sorted(name for name in PAGES if re.match(r"decisions/\d{4}-", name))
MKDOCS = PROJECT / ".venv-docs" / "bin" / "mkdocs"
LOADED = {"audio", "embed", "iframe", "img", "link", "object", "script", "source", "video"}
"""Elements that fetch what they name; `a` and `form` wait for a person."""


def named(nav: Any) -> Iterator[str]:
    """Yield the pages of a part of the navigation."""
    if isinstance(nav, str):
        yield nav
    for part in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from named(part)


def prose(file: Path) -> str:
    """Return a page without what stands in its blocks and in backticks."""
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "code", without_blocks(file.read_text("utf-8")))


def links(file: Path) -> list[str]:
    return re.findall(r"\]\(\s*<?([^)\s>]+)", prose(file))


def anchors(file: Path) -> set[str]:
    """Return the anchors of the headings that GitHub and the site name alike."""
    found: Counter[str] = Counter()
    for title in re.findall(r"^#{1,6} +(.+?)#*$", without_blocks(file.read_text("utf-8")), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        kept = re.sub(r"[^\w\s-]", "", words).strip().lower()
        here, there = re.sub(r"[-\s]+", "-", kept), kept.replace(" ", "-")
        found.update({here} if here == there else ())
    return {anchor for anchor, times in found.items() if times == 1}


def test_the_navigation_has_every_page_once() -> None:
    assert sorted(named(SITE["nav"])) == sorted(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_page_and_a_heading(name: str) -> None:
    """On GitHub as on the site: what lies outside docs/ is named as a path in backticks."""
    wrong = []
    for link in links(PAGES[name]):
        to = urlsplit(link)
        if to.scheme in ("http", "https"):
            continue
        target = (PAGES[name].parent / unquote(to.path)).resolve() if to.path else PAGES[name]
        if not target.is_relative_to(DOCS.resolve()) or not target.is_file():
            wrong.append(f"{link}: no file of docs/")
        elif to.fragment and to.fragment not in anchors(target):
            wrong.append(f"{link}: no heading that GitHub and the site name so")
    assert wrong == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_title(name: str) -> None:
    assert len(re.findall(r"^# ", without_blocks(PAGES[name].read_text("utf-8")), re.M)) == 1


def test_the_log_names_every_decision_once_in_order() -> None:
    log = PAGES["decisions/index.md"].read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+?)\]\((.+?)\) \| (.+) \|$", log, re.M)
    assert [f"decisions/{file}" for _, file, _ in rows] == DECISIONS
    for title, file, decided in rows:
        heading = (DOCS / "decisions" / file).read_text("utf-8").partition("\n")[0]
        assert (
            heading.removeprefix("# ").replace(": ", " ", 1).lower()
            == title.replace(": ", " ", 1).lower()
        )
        assert len(decided.split()) > 5, title


def test_a_fault_in_a_link_or_the_navigation_stops_the_build() -> None:
    validation = SITE["validation"]
    assert SITE["strict"] is True
    assert set(validation["nav"]) == {"omitted_files", "not_found", "absolute_links"}
    links = {"not_found", "anchors", "absolute_links", "unrecognized_links"}
    assert set(validation["links"]) == links
    assert {value for part in validation.values() for value in part.values()} == {"warn"}


class Loads(HTMLParser):
    """Collects what a page fetches by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in LOADED and given.get("rel") not in ("canonical", "next", "prev"):
            self.found += filter(None, map(given.get, ("src", "href", "data", "srcset", "poster")))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly; its tests are skipped before `make docs` set mkdocs up."""
    if not MKDOCS.is_file():
        pytest.skip("make docs was not run here: the site is not built")
    folder = tmp_path_factory.mktemp("site") / "built"
    words = [MKDOCS, "build", "--quiet", "--config-file", PROJECT / "mkdocs.yml"]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(
        [*words, "--site-dir", folder], capture_output=True, encoding="utf-8", env=env, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.mark.slow
def test_the_site_fetches_nothing_from_elsewhere(built: Path) -> None:
    pages = sorted(built.rglob("*.html"))
    assert len(pages) > len(PAGES)  # and the page for what is not found
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.found
        assert [url for url in loads.found if urlsplit(url).netloc] == [], page.name
    for sheet in built.rglob("*.css"):
        urls = re.findall(r"url\(\s*[\"']?([^)\"']+)|@import\s+[\"']([^\"']+)", sheet.read_text())
        assert [url for pair in urls for url in pair if urlsplit(url).netloc] == [], sheet.name


@pytest.mark.slow
def test_a_reader_without_a_server_finds_pages_by_a_word(built: Path, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    with chromium.browser(tmp_path) as driver:
        driver.get((built / "index.html").as_uri())
        asked = driver.find_element(By.CSS_SELECTOR, "[data-md-component=search-query]")
        asked.send_keys("verifier")
        found = (By.CSS_SELECTOR, ".md-search-result__link")
        WebDriverWait(driver, 60).until(lambda _: driver.find_elements(*found))
        hrefs = [str(link.get_attribute("href")) for link in driver.find_elements(*found)]
        assert any("judges.html" in href for href in hrefs)
        assert [url for url in chromium.requests(driver) if not url.startswith("file:")] == []
        assert chromium.complaints(driver) == []


@pytest.mark.slow
def test_what_is_copied_from_a_terminal_is_what_is_typed(built: Path, tmp_path: Path) -> None:
    """The button marks the block and takes its text: the theme's own way."""
    from selenium.webdriver.common.by import By

    with chromium.browser(tmp_path) as driver:
        driver.get((built / "tutorial.html").as_uri())
        blocks = driver.find_elements(By.CSS_SELECTOR, ".language-console code")
        mark = "arguments[0].setAttribute('data-md-copying', ''); return arguments[0].innerText"
        copied = [driver.execute_script(mark, block).split("\n") for block in blocks]
    assert len(blocks) > 10
    page = (PROJECT / "docs" / "tutorial.md").read_text(encoding="utf-8").splitlines()
    typed = [line.removeprefix("$ ") for line in page if line.startswith("$ ")]
    assert [line for lines in copied for line in lines if line] == typed
