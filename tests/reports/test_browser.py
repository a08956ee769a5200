"""The page in Chromium: no script but its own runs, links and keys work, nothing is complained of.

Skipped where there is no Chromium. One start of the browser costs about a second, so few tests.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helix.reports.discovery_page import render_discovery
from tests.reports.findings import discovery
from tests.reports.pages import page_of
from tests.reports.sample import report, trace

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--virtual-time-budget=2000", "--window-size=1440,1000",
)  # fmt: skip

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed here")


def opened(page: str, folder: Path, fragment: str = "") -> tuple[str, list[str]]:
    """Open a page; return the document as it ended, and what was said on its console."""
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom",
         file.as_uri() + fragment],
        capture_output=True, encoding="utf-8", errors="replace", timeout=90, check=True,
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def pressing(page: str, *keys: str) -> str:
    """Return the page with a second script, allowed for the test, that presses keys."""
    presses = "".join(
        f"(document.activeElement || document.body).dispatchEvent(new KeyboardEvent('keydown', "
        f"{{key: '{key}', bubbles: true}}));"
        for key in keys
    )
    return doing(page, presses)


def doing(page: str, script: str) -> str:
    """Return the page with a second script, allowed for the test."""
    page = re.sub(r"script-src 'sha256-[^']+'", "script-src 'unsafe-inline'", page)
    return page.replace("</body>", f"<script>{script}</script></body>")


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(report(6), map(trace, range(6)))


def test_no_script_of_a_trace_runs_and_the_page_makes_no_complaint(
    page: str, tmp_path: Path
) -> None:
    document, console = opened(page, tmp_path)
    assert console == []
    assert "<title>fail: outreach, Helix run report</title>" in document
    assert '<html lang="en" class="scripted">' in document and "<img" not in document


def test_a_deep_link_opens_the_trace_and_highlights_the_cited_text(
    page: str, tmp_path: Path
) -> None:
    link = "#trace=outreach-001&criterion=claims-are-grounded&evidence=1"
    document, _ = opened(page, tmp_path, link)
    assert re.search(
        r'<details class="traj fail"[^>]*data-trace="outreach-001"[^>]* open=', document
    )
    assert re.findall(r'<mark[^>]*class="hit"[^>]*>([^<]*)', document) == [
        "offered 92 EUR per hour"
    ]
    assert document.count("ev held active") == 1


def test_keys_walk_trajectories_steps_and_evidence_and_filter(page: str, tmp_path: Path) -> None:
    document, console = opened(pressing(page, "f", "j", "j", "n", "n", "e"), tmp_path)
    assert console == []
    assert re.search(r'data-trace="outreach-002"[^>]* open=', document)
    assert re.findall(r'class="step \w+[^"]* at" id="([^"]+)"', document) == ["t2-s1"]
    assert re.findall(r'<mark[^>]*class="hit"[^>]*>([^<]*)', document) == ["mara@example.org"]
    assert re.search(r'data-filter="fail" aria-pressed="true"', document)
    assert re.search(r'data-trace="outreach-003"[^>]* hidden=', document)
    assert "5 of 6 listed" in document


def test_a_cell_of_the_matrix_leads_to_its_trajectory_from_its_head_on(
    page: str, tmp_path: Path
) -> None:
    script = (
        "document.querySelector('#matrix a[href=\"#t4-c2\"]').click();"
        "const seen = (e) => e.getBoundingClientRect();"
        "const cell = seen(document.querySelector('#t4-c2 > summary'));"
        "document.title = [document.querySelector('.traj[open]').id,"
        " Math.round(seen(document.querySelector('#t4')).top -"
        " seen(document.querySelector('.top')).bottom),"
        " cell.top > 0 && cell.bottom < innerHeight].join();"
    )
    document, console = opened(doing(page, script), tmp_path)
    assert console == []
    assert re.search("<title>(.*)</title>", document).group(1) == "t4,0,true"  # type: ignore[union-attr]


def test_a_search_without_a_hit_says_so(page: str, tmp_path: Path) -> None:
    script = (
        "const box = document.getElementById('search'); box.value = 'no such words';"
        "box.dispatchEvent(new Event('input'));"
    )
    document, _ = opened(doing(page, script), tmp_path)
    assert re.search(r'id="live"[^>]*>Nothing matches\.<', document)


def test_evidence_of_a_kind_opens_its_trace_and_highlights_the_words(tmp_path: Path) -> None:
    click = "document.querySelector('#k0 .ev a.to').click();"
    document, console = opened(doing(render_discovery(discovery()).decode(), click), tmp_path)
    assert console == []
    assert re.search(r'data-trace="outreach-000"[^>]* open=', document)
    assert re.findall(r'<mark[^>]*class="hit"[^>]*>([^<]*)', document) == ["mara@example.org"]
    assert document.count("ev held active") == 1
    assert "<img" not in document and "At least 3 of 6 traces fail" in document
