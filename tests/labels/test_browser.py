"""The labelling page in Chromium, by real keys; skipped where there is no driver for it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from helix.ingest import Input
from helix.labels.desk import Task
from helix.labels.record import Cell
from helix.model.criterion import Criterion
from helix.model.trace import Trace
from helix.registry import load
from tests.labels.page import (
    HOSTILE,
    Served,
    labels_in,
    row,
    served,
    trace,
    write_suite,
    write_traces,
)

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.common.exceptions import WebDriverException  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1440,1000",
)  # fmt: skip
WORDS = {"1": "pass", "2": "fail", "d": "cannot-decide"}

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="Chromium and its driver are not installed here"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def press(browser: Any, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def at(browser: Any) -> int:
    """The cell that the page shows, once it listens to keys."""
    script = (
        "return document.readyState === 'complete' && !document.body.classList.contains('busy')"
    )
    until(browser, lambda b: b.execute_script(script))
    return int(browser.execute_script("return document.body.dataset.at"))


def until(browser: Any, met: Any) -> Any:
    return WebDriverWait(
        browser, 20, poll_frequency=0.01, ignored_exceptions=[WebDriverException]
    ).until(met)


def moved(browser: Any, before: int) -> int:
    """Wait for another cell than that one."""
    until(browser, lambda b: b.execute_script("return document.body.dataset.at") != str(before))
    return at(browser)


def status(browser: Any) -> str:
    return str(browser.find_element(By.ID, "status").text)


def told(browser: Any, words: str) -> None:
    until(browser, lambda b: words in status(b))


def select(browser: Any, start: tuple[str, int], end: tuple[str, int]) -> None:
    """Select from a character of one element's text to one of another's, as a mouse does."""
    browser.execute_script(
        """
        const place = ([selector, at]) => {
          const texts = document.createTreeWalker(document.querySelector(selector), 4);
          while (texts.nextNode()) {
            if (at <= texts.currentNode.length) return [texts.currentNode, at];
            at -= texts.currentNode.length;
          }
        };
        getSelection().setBaseAndExtent(...place(arguments[0]), ...place(arguments[1]));
        document.querySelector(arguments[1][0])
          .dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
        """,
        list(start),
        list(end),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = list(HOSTILE.values())
    write_traces(
        tmp_path / "traces.jsonl",
        [trace(f"t{n:03d}", texts[n] if n < len(texts) else "Done.") for n in range(100)],
    )
    write_suite(tmp_path / "suite.yaml", [row("kind"), row("right")])
    return tmp_path


@pytest.mark.slow
def test_200_labels_by_keyboard_and_none_is_lost_though_the_server_is_killed_twice(
    browser: Any, folder: Path
) -> None:
    draw = random.Random(7)
    keys = [draw.choice("12d") for _ in range(200)]
    with ExitStack() as servers:
        server = servers.enter_context(served(folder))
        browser.get(server.address)
        for n, key in enumerate(keys):
            assert at(browser) == n
            if n in (67, 141):
                server = crash(browser, servers, server, folder, key, sent=n == 141)
                if at(browser) == n + 1:
                    continue
            press(browser, key)
            if n < 199:
                moved(browser, n)
        told(browser, "Every cell is labelled")
        # Not read before the server has ended: what it acknowledged was on disk.
        server.kill()
    found = {(line["trace"], line["criterion"]): line for line in labels_in(folder / "ada.jsonl")}
    cells = [(f"t{n:03d}", name) for n in range(100) for name in ("kind", "right")]
    assert len(labels_in(folder / "ada.jsonl")) == 200
    assert [found[cell]["label"] for cell in cells] == [WORDS[key] for key in keys]
    assert [
        entry for entry in browser.get_log("browser") if "ERR_CONN" not in entry["message"]
    ] == []


def crash(
    browser: Any, servers: ExitStack, server: Served, folder: Path, key: str, *, sent: bool
) -> Served:
    """Kill the server before or while a label is sent; return one that goes on from the file."""
    before = at(browser)
    if sent:
        press(browser, key)
    server.kill()
    kept = len(labels_in(folder / "ada.jsonl"))
    assert kept in ((before, before + 1) if sent else (before,))
    if not sent:
        press(browser, key)
        told(browser, "Not saved: the server does not answer")
        assert at(browser) == before
    again = servers.enter_context(served(folder))
    browser.get(again.address)
    assert at(browser) == kept
    return again


def test_hostile_text_is_shown_as_text_and_nothing_of_it_runs(browser: Any, folder: Path) -> None:
    with served(folder) as server:
        browser.get(server.address)
        for n, text in enumerate(HOSTILE.values()):
            browser.get(f"{server.origin}/cell/{2 * n}")
            assert "taken" not in browser.title
            assert browser.find_elements(By.CSS_SELECTOR, "main img, main script") == []
            shown = browser.execute_script(
                "return document.querySelectorAll('.message .v')[1].textContent"
            )
            if text.isascii() and text.isprintable() and len(text) < 200:
                assert shown == text
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= browser.execute_script("return innerWidth")
        assert browser.get_log("browser") == []


def test_selected_text_becomes_evidence_that_resolves(browser: Any, folder: Path) -> None:
    with served(folder) as server:
        browser.get(server.address)
        # Within one word on either side: a ref is cut where tokens end.
        browser.get(f"{server.origin}/cell/40")
        select(browser, (".message .v", 7), (".message .v", 13))
        told(browser, "Cited.")
        # Once is enough, however often it is cited.
        browser.find_element(By.ID, "cite").click()
        press(browser, "e")
        # A literal is cited as a whole.
        select(browser, (".call .v.literal", 0), (".call .v.literal", 1))
        until(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, "#refs li")) == 2)
        # An escape on the page stands for one character of the trace.
        press(browser, "1")
        moved(browser, 40)
        browser.get(f"{server.origin}/cell/4")
        select(browser, (".message:has(.esc) .v", 0), (".message:has(.esc) .v .esc", 3))
        told(browser, "Cited.")
        press(browser, "2")
        moved(browser, 4)
    lines = labels_in(folder / "ada.jsonl")
    refs = {Cell(line["trace"], line["criterion"]): line["refs"] for line in lines}
    assert refs[Cell("t020", "kind")] == [
        {"obs": "m0", "path": "text", "value": "is my parcel"},
        {"obs": "t020-call", "path": "input.deep.tries", "value": "2"},
    ]
    assert refs[Cell("t002", "kind")] == [{"obs": "m2", "path": "text", "value": "pay \u202e"}]
    source = Input.open(str(folder / "traces.jsonl"), "auto", load([]))
    traces = {item.id: item for item in source if isinstance(item, Trace)}
    assert Task(0, traces["t020"], Criterion.model_validate(row("kind"))).cell in refs


def test_a_selection_over_two_values_or_too_much_is_refused(browser: Any, folder: Path) -> None:
    with served(folder) as server:
        browser.get(server.address)
        browser.get(f"{server.origin}/cell/10")
        select(browser, (".message .v", 0), (".call .v", 2))
        told(browser, "Select within one value.")
        browser.execute_script("[...document.querySelectorAll('.message .v')].pop().id = 'long'")
        select(browser, ("#long", 0), ("#long", 700))
        told(browser, "Cite at most 200 characters.")
        assert browser.find_elements(By.CSS_SELECTOR, "#refs li") == []


def test_evidence_and_a_note_outlive_a_reload_and_an_undo(browser: Any, folder: Path) -> None:
    with served(folder) as server:
        browser.get(server.address)
        browser.get(f"{server.origin}/cell/50")
        press(browser, "j", "j", "e")
        told(browser, "Cited.")
        press(browser, "m")
        press(browser, "seen 1 time", Keys.ESCAPE)
        browser.refresh()
        assert at(browser) == 50
        assert browser.find_element(By.ID, "note").get_attribute("value") == "seen 1 time"
        press(browser, "d")
        moved(browser, 50)
        press(browser, "u")
        until(browser, lambda b: b.execute_script("return document.body.dataset.at") == "50")
        assert labels_in(folder / "ada.jsonl") == []
        assert len(browser.find_elements(By.CSS_SELECTOR, "#refs li")) == 1
        press(browser, "2")
        moved(browser, 50)
    (line,) = labels_in(folder / "ada.jsonl")
    assert (line["label"], line["note"]) == ("fail", "seen 1 time")
    assert line["refs"] == [{"obs": "m0", "path": "text", "value": "Where is my parcel?"}]


def test_keys_walk_search_and_are_held_back_while_typing(browser: Any, folder: Path) -> None:
    with served(folder) as server:
        browser.get(server.address)
        assert at(browser) == 0
        press(browser, "n")
        assert moved(browser, 0) == 1
        press(browser, "p")
        assert moved(browser, 1) == 0
        press(browser, "p")
        assert moved(browser, 0) == 199
        press(browser, "/")
        press(browser, "Oslo")
        until(browser, lambda b: b.find_element(By.ID, "found").text == "1 of 1")
        press(browser, Keys.ESCAPE, "m")
        press(browser, "12dun", Keys.ESCAPE)
        assert at(browser) == 199
        ActionChains(browser).key_down(Keys.CONTROL).send_keys("1").key_up(Keys.CONTROL).perform()
        press(browser, "?")
        until(browser, lambda b: b.find_element(By.ID, "help").is_displayed())
        press(browser, "1", Keys.ESCAPE)
        assert (at(browser), labels_in(folder / "ada.jsonl")) == (199, [])
        press(browser, "u")
        told(browser, "There is nothing to undo.")


def test_the_judges_word_is_hidden_until_the_cell_is_labelled(
    browser: Any, folder: Path, tmp_path: Path
) -> None:
    import helix

    done = helix.evaluate(
        str(folder / "traces.jsonl"), str(folder / "suite.yaml"), run_dir=str(tmp_path / "run")
    )
    assert done.scorecard.cells.total == 200
    with served(folder, "--run", str(tmp_path / "run")) as server:
        browser.get(server.address)
        judge = browser.find_element(By.CSS_SELECTOR, ".judge").text
        assert "Told once you have labelled this." in judge and "uncertain" not in judge
        assert "nobody adjudicated" not in browser.page_source
        press(browser, "1")
        moved(browser, 0)
        press(browser, "p")
        moved(browser, 1)
        assert "uncertain" in browser.find_element(By.CSS_SELECTOR, ".judge").text


def test_nothing_of_a_trace_stays_in_the_browser_once_it_is_labelled(
    browser: Any, folder: Path
) -> None:
    with served(folder) as server:
        browser.get(server.address)
        press(browser, "j", "j", "e")
        told(browser, "Cited.")
        drafts = "return Object.keys(sessionStorage).filter((k) => k.startsWith('draft ')).length"
        assert browser.execute_script(drafts) == 1
        press(browser, "1")
        moved(browser, 0)
        assert browser.execute_script(drafts) == 0
