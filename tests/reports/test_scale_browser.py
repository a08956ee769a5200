"""The large page in Chromium, from the disk: parts that are packed, and pages beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix.reports.stream import Mode
from tests.reports.browsing import chromium, written
from tests.reports.test_scale import COUNT, large

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.ui import WebDriverWait

LISTED = "return document.getElementById('live').textContent"
OPEN = "return [...document.querySelectorAll('.traj[open]')].map((e) => e.dataset.trace).join()"
HIT = "return [...document.querySelectorAll('mark.hit')].map((e) => e.textContent).join('|')"
LINK = "#trace=outreach-001&criterion=claims-are-grounded&evidence=1"
MODES: tuple[Mode, ...] = ("auto", "single", "directory")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sample in each mode; for `single` it is too large to stand in the page as it is."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for mode in MODES:
            patch.setattr("helix.reports.scale.INLINE_TRACES", COUNT if mode == "auto" else 0)
            found[mode] = written(large(mode), tmp_path_factory.mktemp(mode))
    return found


def until(browser: Any, script: str, wanted: object) -> None:
    """Wait until a script returns what is wanted; say what it returned where it does not."""
    found: list[object] = []

    def met(driver: Any) -> bool:
        found.append(driver.execute_script(script))
        return found[-1] == wanted

    try:
        WebDriverWait(browser, 20).until(met)
    except Exception:
        raise AssertionError(f"{script}: {found[-1:]!r}, wanted {wanted!r}") from None


def opened(browser: Any, report: Path, fragment: str = "") -> None:
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(report.as_uri() + fragment)


def press(browser: Any, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


@pytest.mark.parametrize("mode", MODES)
def test_a_deep_link_leads_to_the_cited_words_in_every_mode(
    browser: Any, reports: dict[str, Path], mode: str
) -> None:
    opened(browser, reports[mode], LINK)
    until(browser, HIT, "offered 92 EUR per hour")
    until(browser, OPEN, "outreach-001")
    assert browser.execute_script("return location.hash") == LINK
    assert ("/report/" in browser.current_url) == (mode == "directory")
    assert browser.get_log("browser") == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_nothing_that_was_planted_runs_however_a_trace_is_opened(
    browser: Any, reports: dict[str, Path], mode: str
) -> None:
    for n in range(6):
        opened(browser, reports[mode], f"#trace=outreach-{n:03d}")
        until(browser, OPEN, f"outreach-{n:03d}")
        until(browser, "return document.querySelectorAll('.traj[open] .step').length > 5", True)
        assert "owned" not in browser.title
        strange = "main img, main iframe, main object, .traj script, [onerror], [onload]"
        assert browser.execute_script(f"return document.querySelectorAll('{strange}').length") == 0
        assert browser.get_log("browser") == []


def test_markup_that_is_set_by_hand_is_refused_by_the_page_itself(
    browser: Any, reports: dict[str, Path]
) -> None:
    for mode in MODES:
        opened(browser, reports[mode], LINK)
        until(browser, OPEN, "outreach-001")
        script = (
            "try { document.body.innerHTML = '<b>x</b>'; return 'set' }"
            "catch (error) { return error.name }"
        )
        assert browser.execute_script(script) == "TypeError", mode


@pytest.mark.parametrize("mode", MODES)
def test_keys_and_the_back_button_walk_from_trace_to_trace(
    browser: Any, reports: dict[str, Path], mode: str
) -> None:
    opened(browser, reports[mode], "#trajectories")
    until(browser, LISTED, f"{COUNT} of {COUNT} listed")
    order = browser.execute_script("return trajectories.shown().map((e) => e.data.trace)")
    for name in order[:3]:
        press(browser, "j")
        until(browser, OPEN, name)
    press(browser, "k")
    until(browser, OPEN, order[1])
    press(browser, "n", "n")
    until(browser, "return document.querySelectorAll('.step.at').length", 1)
    at = browser.execute_script("return location.href")
    press(browser, "j")
    until(browser, OPEN, order[2])
    browser.back()
    until(browser, "return location.href", at)
    until(browser, OPEN, order[1])
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("mode", ["single", "directory"])
def test_a_list_that_was_sifted_is_walked_as_it_is_listed(
    browser: Any, reports: dict[str, Path], mode: str
) -> None:
    opened(browser, reports[mode], "#trajectories")
    until(browser, LISTED, f"{COUNT} of {COUNT} listed")
    press(browser, "f")
    failing = browser.execute_script("return trajectories.shown().map((e) => e.data.trace)")
    assert 2 < len(failing) < COUNT
    until(browser, LISTED, f"{len(failing)} of {COUNT} listed")
    drawn = "return [...document.querySelectorAll('.traj')].map((e) => e.dataset.standing)"
    assert set(browser.execute_script(drawn)) == {"fail"}
    for name in (*failing, failing[-1]):
        press(browser, "j")
        until(browser, OPEN, name)


def test_a_search_reads_the_parts_that_are_packed(browser: Any, reports: dict[str, Path]) -> None:
    opened(browser, reports["single"], "#trajectories")
    until(browser, LISTED, f"{COUNT} of {COUNT} listed")
    script = (
        "const box = document.getElementById('search'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input'))"
    )
    # The last two stand in the steps of two traces, one of them a tag that is no tag.
    for words, found in (("mara linden", COUNT), ("<svg onload=", 2), ("outreach-008 <svg", 1)):
        browser.execute_script(script, words)
        until(browser, LISTED, f"{found} of {COUNT} listed")
    browser.execute_script(script, "no such words")
    until(browser, LISTED, "Nothing matches.")


def test_pages_are_searched_by_what_their_rows_say(browser: Any, reports: dict[str, Path]) -> None:
    opened(browser, reports["directory"], "#trajectories")
    until(browser, LISTED, f"{COUNT} of {COUNT} listed")
    assert "text" not in browser.execute_script(
        "return document.getElementById('search').placeholder"
    )
    press(browser, "/")
    press(browser, "outreach-007")
    until(browser, LISTED, f"1 of {COUNT} listed")


@pytest.mark.slow
def test_rows_are_drawn_only_near_what_is_seen(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helix.reports.scale.INLINE_TRACES", 0)
    report = written(large("single", 700), tmp_path)
    opened(browser, report, "#trajectories")
    until(browser, LISTED, "700 of 700 listed")
    rows = "return document.querySelectorAll('.traj').length"
    assert browser.execute_script(rows) < 200
    last = browser.execute_script("return trajectories.shown()[699].data.trace")
    browser.execute_script("scrollTo(0, document.documentElement.scrollHeight)")
    until(browser, f"return !!document.querySelector('.traj[data-trace=\"{last}\"]')", True)
    assert browser.execute_script(rows) < 300
