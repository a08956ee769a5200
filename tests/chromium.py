"""Chromium for tests, offline, listening: what was asked of the network, said, and alerted."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars",
)  # fmt: skip


@contextlib.contextmanager
def browser(profile: Path, *flags: str) -> Iterator[Any]:
    """Yield a driver of Chromium with a new profile; its test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("Chromium and its driver are not installed here")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size=1440,1000", *flags):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def requests(driver: Any) -> list[str]:
    """Return the addresses that pages asked for since the last call, `data:` ones left out."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [
        str(event["params"]["request"]["url"])
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    # The first tab asks for the browser's own page.
    return [url for url in asked if not url.startswith(("data:", "chrome:", "chrome-"))]


def complaints(driver: Any) -> list[str]:
    """Return what was said on the console since the last call: errors, refusals by the policy."""
    return [str(entry["message"]) for entry in driver.get_log("browser")]


def scheme(driver: Any, name: str) -> None:
    """Let pages see a light or dark colour scheme from now on."""
    features = [{"name": "prefers-color-scheme", "value": name}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
