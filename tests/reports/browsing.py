"""A Chromium that tests drive, and a large run for it to look at."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix.files import atomic_folder
from helix.registry.leaf import Leaf
from helix.reports.scale import render_pages
from helix.reports.stream import RunStream

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1440,1000",
)  # fmt: skip


def written(run: RunStream, folder: Path) -> Path:
    """Write the page of a run, and the pages beside it, as a run does; return the report."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / run.name
    with open(report, "wb") as page, atomic_folder(report) as leaf:
        for part in render_pages(run):
            if isinstance(part, Leaf):
                leaf(part.name, part.data)
            else:
                page.write(part)
    return report


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[Any]:
    """Start a browser with a profile of its own."""
    selenium = pytest.importorskip("selenium.webdriver")
    if CHROMIUM is None or shutil.which("chromedriver") is None:
        pytest.skip("Chromium is not installed here")
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    from selenium.webdriver.chrome.service import Service

    started = selenium.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield started
    finally:
        started.quit()
