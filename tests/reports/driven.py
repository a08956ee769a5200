"""A browser that drives report pages by real keys, and the runs whose pages are driven."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from helix.app.cli import main
from tests.reports.browsing import chromium

STATE = """
const text = (list) => [...list].map((e) => e.textContent.trim());
return {
  hash: decodeURIComponent(location.hash.slice(1)),
  sections: [...document.querySelectorAll("main > [data-view]")]
    .filter((s) => !s.hidden).map((s) => s.id),
  tab: text(document.querySelectorAll("nav [aria-current]")),
  open: [...document.querySelectorAll(".traj[open]")].map((t) => t.dataset.trace),
  listed: document.getElementById("live").textContent,
  hits: text(document.querySelectorAll("mark.hit")),
  focus: document.activeElement.tagName,
  help: document.getElementById("help").open,
};
"""


class Driven:
    """One page in a browser: what is pressed, and what can be seen of it."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def open(self, page: Path, fragment: str = "") -> None:
        """Open a page afresh."""
        self.browser.get("about:blank")
        self.browser.get(page.as_uri() + fragment)

    def press(self, *keys: str) -> dict[str, Any]:
        """Press keys one after the other, and return what is seen then."""
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()
        return self.seen()

    def seen(self) -> dict[str, Any]:
        """Return the page's address, parts, open traces and highlights."""
        found: dict[str, Any] = self.browser.execute_script(STATE)
        return found

    def run(self, script: str, *values: Any) -> Any:
        """Return what a script of the test says."""
        return self.browser.execute_script(script, *values)

    def until(self, met: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until something is seen."""
        WebDriverWait(self.browser, 20, poll_frequency=0.05).until(lambda _: met(self.seen()))
        return self.seen()

    def back(self) -> dict[str, Any]:
        """Press the browser's own back button, and return what is seen once it has worked."""
        before = self.seen()["hash"]
        self.browser.back()
        return self.until(lambda seen: seen["hash"] != before)

    @contextlib.contextmanager
    def sized(self, width: int, media: str = "") -> Iterator[None]:
        """See the page on a screen, or a sheet of paper, of so many pixels across."""
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
        try:
            yield
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def complaints(self) -> list[str]:
        """Return what the console was told since it was asked last."""
        return [entry["message"] for entry in self.browser.get_log("browser")]


def started(profile: Path) -> Iterator[Driven]:
    """Start a browser, and end it afterwards; skips where there is none."""
    with chromium(profile) as browser:
        yield Driven(browser)


def demo(folder: Path) -> Path:
    """Evaluate the demo, then again with four answers changed against the first as baseline."""
    state = f"paths.state={folder / 'state'}"
    main(["evaluate", "experiment=demo", state, f"hydra.run.dir={folder / 'first'}",
          "report.out=[html]"])  # fmt: skip
    (written,) = (folder / "state" / "demo").glob("*.jsonl")
    traces = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    for trace in traces:
        if trace["id"] in ("interview-03", "opportunity-01"):
            del trace["output"]["response"]
        if trace["id"] in ("outbound_guard-06", "interview-16"):
            trace["output"]["response"] = "Held: nothing of it is urgent."
    changed = folder / "changed.jsonl"
    changed.write_text("".join(json.dumps(t) + "\n" for t in traces), encoding="utf-8")
    main(["evaluate", "experiment=demo", state, f"hydra.run.dir={folder / 'second'}",
          f"subject.traces={changed}", f"gate.baseline={folder / 'first'}",
          "report.out=[html]"])  # fmt: skip
    return folder


SUITE = {
    "suite": "any-agent",
    "version": 1,
    "criteria": [
        {
            "criterion_id": name,
            "statement": f"Pass = {statement}.",
            "severity": severity,
            "class": "code",
            "may_not_apply": True,
            "code_eval": check,
        }
        for name, statement, severity, check in (
            ("ends-with-an-answer", "the run ends with an answer", "HIGH",
             {"primitive": "presence", "field": "output"}),
            ("no-call-declares-an-error", "no call declares an error", "CRIT",
             {"primitive": "error-spans"}),
            ("nothing-is-done-twice", "no call that succeeded is made again", "MED",
             {"primitive": "duplicate-writes", "tool": "*"}),
            ("names-a-booking", "the run records a booking", "LOW",
             {"primitive": "presence", "field": "metadata.booking"}),
        )
    ],
}  # fmt: skip


def evaluated(traces: Path, folder: Path) -> Path:
    """Evaluate traces of any agent against four rows that code decides; return the page."""
    suite = folder / "suite.yaml"
    suite.write_text(json.dumps(SUITE), encoding="utf-8")
    main(["evaluate", f"subject.traces={traces}", f"criteria.file={suite}", "judge=none",
          f"paths.state={folder / 'state'}", f"hydra.run.dir={folder / 'run'}",
          "report.out=[html]"])  # fmt: skip
    return folder / "run" / "report.html"


__all__ = ["Driven", "Keys", "demo", "evaluated", "started"]
