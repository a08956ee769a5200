"""Take the pictures of this folder anew, of the demo alone: `make screenshots`.

Needs Chromium with its driver. Each picture is WebP, so that all of them stay small.
"""

from __future__ import annotations

import base64
import io
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from tests.chromium import browser, scheme
from tests.docs.blocks import blocks

HERE = Path(__file__).resolve().parent
QUALITY = 75
WIDE, NARROW = (1440, 1000, 1), (390, 844, 2)
TRACE = "#trace=opportunity-06&criterion=role-facts-true&evidence=1"
SHOTS = (
    ("run", "run/report.html", ""),
    ("trace", "run/report.html", TRACE),
    ("discovery", "found/report.html", ""),
)
DESK = "#trace=talk-4&criterion=yes-before-change&evidence=1"


def main() -> None:
    """Run the demo, open its pages, and write a picture of each in each form."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        terminal = _demo(folder)
        with browser(folder / "profile") as driver:
            for name, page, fragment in SHOTS:
                for width, size in (("1440", WIDE), ("390", NARROW)):
                    for colours in ("light", "dark"):
                        _sized(driver, size)
                        scheme(driver, colours)
                        _open(driver, (folder / page).as_uri() + fragment)
                        _take(driver, f"{name}-{width}-{colours}")
            _sized(driver, WIDE)
            scheme(driver, "light")
            _open(driver, _desk(folder / "desk").as_uri() + DESK)
            _take(driver, "tutorial")
            _open(driver, (folder / "run/report.html").as_uri())
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
            driver.execute_script("dispatchEvent(new Event('beforeprint'))")
            _take(driver, "run-print")
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen"})
            (folder / "terminal.html").write_text(_in_html(terminal), encoding="utf-8")
            _open(driver, (folder / "terminal.html").as_uri())
            high = driver.execute_script("return document.querySelector('pre').offsetHeight")
            _sized(driver, (760, high + 70, 1))
            _take(driver, "terminal")


def _demo(folder: Path) -> str:
    """Run the demo and a discovery; return what a terminal of 80 columns shows, with colours."""
    for words in (
        ["evaluate", "experiment=demo", "hydra.run.dir=run"],
        ["discover", "subject=outreach", "hydra.run.dir=found"],
    ):
        subprocess.run(
            [sys.executable, "-m", "helix", *words],
            cwd=folder, check=False, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    shown: list[bytes] = []

    def read(terminal: int) -> bytes:
        shown.append(os.read(terminal, 65_536))
        return b"."

    os.environ.update(COLUMNS="80", TERM="xterm-256color")
    pty.spawn([sys.executable, "-m", "helix", "report", str(folder / "run")], read)
    text = b"".join(shown).decode("utf-8").replace("\r\n", "\n")
    # As who has Helix on the path sees it, below a folder of their own.
    text = text.replace(f"{folder}/", "").replace(f"{sys.executable} -m helix", "helix")
    return f"$ helix evaluate experiment=demo\n{text}"


def _desk(folder: Path) -> Path:
    """Carry out the tutorial as far as its first report; return the report."""
    folder.mkdir()
    page = (HERE.parent / "tutorial.md").read_text(encoding="utf-8")
    for block in blocks("docs/tutorial.md", page):
        if block.title in ("agent.py", "desk.suite.yaml") and block.language != "diff":
            (folder / block.title).write_text(block.text, encoding="utf-8")
    with (folder / "traces.jsonl").open("wb") as traces:
        subprocess.run([sys.executable, "agent.py"], cwd=folder, check=True, stdout=traces)
    words = ["subject.traces=traces.jsonl", "criteria.file=desk.suite.yaml", "subject.name=desk"]
    subprocess.run(
        [sys.executable, "-m", "helix", "evaluate", *words, "hydra.run.dir=run"],
        cwd=folder, check=False, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return folder / "run" / "report.html"


def _in_html(ansi: str) -> str:
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text.from_ansi(ansi), soft_wrap=True)
    style = "margin:0;padding:20px 24px;background:#16181d;color:#e6e6e6;font:14px/1.35 monospace"
    page = f"<!doctype html><meta charset=utf-8><body style='{style}'><pre>{{code}}</pre>"
    return console.export_html(theme=SVG_EXPORT_THEME, inline_styles=True, code_format=page)


def _sized(driver: Any, size: tuple[int, int, int]) -> None:
    width, height, scale = size
    told = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", told)


def _open(driver: Any, address: str) -> None:
    driver.get("about:blank")
    driver.get(address)
    driver.execute_async_script(
        "const done = arguments[0];"
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 300)))"
    )


def _take(driver: Any, name: str) -> None:
    shot = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "webp", "quality": QUALITY, "optimizeForSpeed": False}
    )
    data = base64.b64decode(shot["data"])
    (HERE / f"{name}.webp").write_bytes(data)
    print(f"{name}.webp  {len(data):,} bytes")


if __name__ == "__main__":
    main()
