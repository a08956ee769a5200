"""axe-core in Chromium: no page has a serious barrier, in light or dark, closed or open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix.reports.discovery_page import render_discovery
from tests import chromium
from tests.chromium import scheme
from tests.conftest import PROJECT
from tests.labels.page import row, served, trace, write_suite, write_traces
from tests.reports import runs
from tests.reports.findings import discovery

AXE = PROJECT / ".node" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not here; `make node` installs it"),
]
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast", "link-in-text-block"]
# What the colour scheme changes is looked at in both, the rest once.
ONLY = {"light": {"type": "tag", "values": TAGS}, "dark": {"type": "rule", "values": COLOURS}}
RUN = """
const done = arguments[arguments.length - 1];
const told = (v, node) => [v.impact, v.id, node.target, node.failureSummary].join(" ");
axe.run(document, { runOnly: arguments[0], resultTypes: ["violations"] }).then(
  (found) => done(found.violations
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .flatMap((v) => v.nodes.slice(0, 5).map((node) => told(v, node)))),
  (error) => done([String(error)]),
);
"""
KEYS = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '?', bubbles: true}))"
# Of many traces the first: axe-core looks at every element that is drawn.
OPEN = """
const traces = [...document.querySelectorAll("details.traj")].slice(1);
document.querySelectorAll("details").forEach((one) => {
  one.open = !traces.some((trace) => trace.contains(one));
});
"""
STATES = {
    "as it opens": "",
    "a trace": "location.hash = document.querySelector('#matrix td a.fail, #matrix td a').hash",
    "everything": OPEN,
    "the keys": KEYS,
}


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium.browser(tmp_path_factory.mktemp("profile")) as started:
        started.set_script_timeout(300)
        yield started


def barriers(driver: Any, name: str) -> list[str]:
    """Return what axe-core finds on the page that is serious or critical: rule, place, why."""
    driver.execute_script(AXE.read_text(encoding="utf-8"))
    found: list[str] = driver.execute_async_script(RUN, ONLY[name])
    return found


def held(driver: Any, address: str, states: dict[str, str]) -> list[str]:
    found = []
    for name in ("light", "dark"):
        scheme(driver, name)
        for state, script in states.items():
            driver.get("about:blank")
            driver.get(address)
            driver.execute_script(script)
            found += [f"{name}, {state}: {one}" for one in barriers(driver, name)]
    return found


def test_the_page_of_a_run_has_no_serious_barrier(driver: Any, demo: Path) -> None:
    page = demo / "run" / "report.html"
    assert held(driver, page.as_uri(), STATES) == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the demo's run and of its discovery."""
    folder = tmp_path_factory.mktemp("demo")
    runs.typed(folder, "evaluate", "experiment=demo", "hydra.run.dir=run", codes=(0, 1, 3))
    runs.typed(folder, "discover", "subject=outreach", "hydra.run.dir=found", codes=(0,))
    return folder


def test_the_page_of_a_discovery_has_no_serious_barrier(
    driver: Any, demo: Path, tmp_path: Path
) -> None:
    shown = {state: STATES[state] for state in ("as it opens", "everything")}
    assert held(driver, (demo / "found" / "report.html").as_uri(), shown) == []
    page = tmp_path / "page.html"
    page.write_bytes(render_discovery(discovery()))
    assert held(driver, page.as_uri(), shown) == []


def test_the_page_to_label_on_has_no_serious_barrier(driver: Any, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
    write_traces(tmp_path / "traces.jsonl", [trace(name) for name in ("one", "two")])
    write_suite(tmp_path / "suite.yaml", [row("kind"), row("right")])
    with served(tmp_path) as page:
        states = {state: STATES[state] for state in ("as it opens", "the keys")}
        assert held(driver, page.address, states) == []


def test_a_barrier_is_seen_where_there_is_one(driver: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><html><body><img src='#'><p style='color:#eee'>Some words</p>", "utf-8"
    )
    found = " ".join(held(driver, page.as_uri(), {"": ""}))
    assert "image-alt" in found and "color-contrast" in found
