"""How large the page of a large run is, and how long it takes to open, beside inspect's viewer.

    python benchmarks/pages.py [TRACES CRITERIA] [--inspect PYTHON]

Makes the run of reports.py, writes its page in each mode, and opens it in Chromium from the disk:
milliseconds from navigation to the first row of the list, from a choice to the steps of a trace,
and the frames of a scroll through the list. With the path of a Python that has inspect-ai, the same
traces become an evaluation log, bundled by `inspect view bundle` and served on loopback, since its
viewer does not run from the disk. Best of three starts.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import http.server
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reports import made

from helix.files import atomic_folder
from helix.registry import load
from helix.registry.leaf import Leaf
from helix.reports.again import run_again
from helix.reports.scale import render_pages
from helix.runs import RunFiles

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--window-size=1440,1000")  # fmt: skip
STARTS = 3
LISTED = """
(function look() {
  if (document.querySelector("ROW")) window.listedAt = performance.now();
  else requestAnimationFrame(look);
})();
"""
FRAMES = """
const done = arguments[arguments.length - 1], times = [];
const box = document.querySelector(arguments[0]) || document.scrollingElement;
let at = 0;
function frame(now) {
  times.push(now);
  box.scrollTop = (at += 400);
  if (times.length < 240) requestAnimationFrame(frame);
  else done(times.slice(1).map((time, n) => time - times[n]).sort((a, b) => a - b));
}
requestAnimationFrame(frame);
"""
LOG = """
import json, sys, datetime
from inspect_ai.log import EvalLog, EvalSpec, EvalDataset, EvalConfig, EvalSample, EvalPlan
from inspect_ai.log import EvalResults, EvalScore, EvalMetric, EvalStats, write_eval_log
from inspect_ai.model import ChatMessageUser, ChatMessageAssistant, ChatMessageTool, ModelOutput
from inspect_ai.tool import ToolCall
from inspect_ai.scorer import Score
samples = []
for line in open(sys.argv[1], encoding="utf-8"):
    trace = json.loads(line)
    messages = [ChatMessageUser(content=trace["input"]["prompt"])]
    for call in trace["observations"]:
        use = ToolCall(id=call["id"], function=call["name"], arguments=call["input"])
        messages.append(ChatMessageAssistant(content="", tool_calls=[use]))
        messages.append(ChatMessageTool(content=json.dumps(call["output"]), tool_call_id=call["id"],
                                        function=call["name"]))
    messages.append(ChatMessageAssistant(content=trace["output"]["response"]))
    scores = {f"row-{n:02d}": Score(value="I" if n % 4 else "C", explanation="it is false")
              for n in range(int(sys.argv[3]))}
    samples.append(EvalSample(id=trace["id"], epoch=1, input=trace["input"]["prompt"], target="",
                              messages=messages, scores=scores,
                              output=ModelOutput.from_content("none", trace["output"]["response"])))
now = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).isoformat()
log = EvalLog(status="success", samples=samples, plan=EvalPlan(), stats=EvalStats(),
              eval=EvalSpec(created=now, task="made-up", dataset=EvalDataset(samples=len(samples)),
                            model="none/none", config=EvalConfig()),
              results=EvalResults(total_samples=len(samples), completed_samples=len(samples)))
write_eval_log(log, sys.argv[2])
"""


def written(run: Path, mode: str, folder: Path) -> Path:
    """Write the page in one mode and return it."""
    found = run_again(RunFiles(run), load()).run
    folder.mkdir()
    report = folder / "report.html"
    with open(report, "wb") as page, atomic_folder(report) as leaf:
        for part in render_pages(dataclasses.replace(found, mode=mode)):  # type: ignore[arg-type]
            if isinstance(part, Leaf):
                leaf(part.name, part.data)
            else:
                page.write(part)
    return report


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium with a profile of its own."""
    from selenium import webdriver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        started = webdriver.Chrome(options=options, service=service)
        started.set_script_timeout(120)
        try:
            yield started
        finally:
            started.quit()


def until(driver: Any, script: str, seconds: float = 120) -> None:
    """Wait until a script is true."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if driver.execute_script(f"return !!({script})"):
            return
        time.sleep(0.005)
    raise TimeoutError(script)


def opened(address: str, row: str, choose: str, step: str, box: str) -> tuple[float, float, str]:
    """Return the milliseconds to the first row and to an opened trace, and the frames in words."""
    with browser() as driver:
        driver.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": LISTED.replace("ROW", row)}
        )
        driver.get(address)
        until(driver, "window.listedAt")
        listed = driver.execute_script("return window.listedAt")
        time.sleep(1)
        frames = driver.execute_async_script(FRAMES, box)
        driver.execute_script("scrollTo(0, 0)")
        time.sleep(0.5)
        before = time.perf_counter()
        driver.execute_script(choose)
        until(driver, f"document.querySelector({step!r})")
        reached = (time.perf_counter() - before) * 1000
    slow = sum(frame > 34 for frame in frames)
    middle, late = frames[len(frames) // 2], frames[int(len(frames) * 0.99)]
    return listed, reached, f"{middle:.0f} ms, 99 % {late:.0f} ms, {slow} of {len(frames)} over 34"


def best(measure: Callable[[], tuple[float, float, str]]) -> tuple[float, float, str]:
    """Return the start that listed soonest of three."""
    return min((measure() for _ in range(STARTS)), key=lambda one: one[0])


def size_of(folder: Path) -> tuple[float, int]:
    """Return the MB and the number of files in a folder."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6, len(files)


def told(
    name: str, folder: Path, page: Path, taken: float, found: tuple[float, float, str]
) -> None:
    """Print one line."""
    size, many = size_of(folder)
    listed, reached, frames = found
    print(
        f"{name:<16}{taken:6.1f} s{size:8.1f} MB in {many:6,} files, page "
        f"{page.stat().st_size / 1e6:5.1f} MB; list {listed:5.0f} ms, "
        f"trace {reached:5.0f} ms; frames {frames}",
        flush=True,
    )


def helix(run: Path, folder: Path, mode: str) -> None:
    """Measure the page in one mode."""
    began = time.perf_counter()
    report = written(run, mode, folder / mode)
    taken = time.perf_counter() - began
    choose = (
        "const rows = [...document.querySelectorAll('.traj > .row, .traj > summary')];"
        "rows[3].click()"
    )
    address = report.as_uri() + "#trajectories"
    found = best(lambda: opened(address, ".traj", choose, ".traj[open] .step", "none"))
    told(f"helix {mode}", report.parent, report, taken, found)


def inspect(python: str, run: Path, folder: Path, criteria: int) -> None:
    """Measure the bundle of inspect's viewer of the same traces, served on loopback."""
    logs, bundle = folder / "logs", folder / "bundle"
    logs.mkdir()
    log = logs / "2026-01-01T00-00-00_made-up_x.eval"
    traces = run.parent / "traces.jsonl"
    subprocess.run([python, "-c", LOG, traces, log, str(criteria)], check=True)
    began = time.perf_counter()
    tool = Path(python).with_name("inspect")
    subprocess.run([tool, "view", "bundle", "--log-dir", logs, "--output-dir", bundle],
                   check=True, capture_output=True)  # fmt: skip
    taken = time.perf_counter() - began
    handler = functools.partial(_Quiet, directory=str(bundle))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/index.html#/logs/{log.name}"
    row, box, step = "a[role=row]", "[role=grid]", "[class*=_toolPart_]"
    choose = "document.querySelectorAll('a[role=row]')[3].click()"
    found = best(lambda: opened(address, row, choose, step, box))
    told("inspect bundle", bundle, bundle / "index.html", taken, found)
    server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Make the run, then each page of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("traces", type=int, nargs="?", default=10_000)
    parser.add_argument("criteria", type=int, nargs="?", default=20)
    parser.add_argument("--inspect", metavar="PYTHON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        run = made(folder, args.traces, args.criteria)
        print(f"{args.traces:,} traces x {args.criteria} criteria")
        for mode in ("single", "directory"):
            helix(run, folder, mode)
        if args.inspect:
            inspect(args.inspect, run, folder, args.criteria)


if __name__ == "__main__":
    main()
