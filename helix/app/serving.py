"""`helix report serve RUN`: a run's report with a page per trace, on this machine alone.

The pages are those in the run's folder, if its report is of that kind, else they are made in a
folder that is gone at the end. A run that is being written is told by how far it is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from helix.app import console, failures
from helix.app.rendering import write
from helix.app.tried import traces_path
from helix.errors import ArtifactError, ExitCode, HelixError, UsageError
from helix.files import has_folder
from helix.model.config import ReportConfig
from helix.registry import load
from helix.registry.leaf import Leaf
from helix.reports.again import run_again
from helix.reports.discovery_again import is_discovery
from helix.reports.scale import render_pages
from helix.reports.underway import Seen, Watch, render_underway
from helix.reports.visible import visible
from helix.runs import RunFiles

REPORT = "report.html"
_CRASHED = "Its pages could not be made; where this was typed it says why."
_LEAF = re.compile(r"(?:[0-9a-f]{24}\.html|report\.css|report\.js)", re.ASCII)


def run(argv: Sequence[str]) -> ExitCode:
    """Serve until Ctrl-C, which ends it with 0."""
    parser = argparse.ArgumentParser(
        prog="helix report serve",
        description="Serve the report of a run to this machine alone, with a page per trace. The "
        "address that is printed holds a token, without which nothing is told. While the run is "
        "being written, the page says how far it is, and renews itself. Nothing in the run's "
        "folder is changed. Needs the extra `serve`. Ctrl-C ends it; exits 0, 2 for usage.",
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    parser.add_argument("--port", type=int, default=0, help="on this port (any free one)")
    parser.add_argument("--traces", metavar="PATH", help="where the run's traces are now")
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    parser.add_argument("--json", action="store_true", help="print the address as JSON")
    args = parser.parse_args(argv)
    try:
        from helix.app import serving_pages as server
        from helix.labels import loopback
    except ModuleNotFoundError as error:
        raise failures.lacking(error, "helix report serve") from None
    folder = _folder(args.run)
    traces = traces_path(args.traces) if args.traces else None
    with tempfile.TemporaryDirectory(prefix="helix-") as made:
        pages = Pages(folder, Path(made), traces)
        address = server.listen(pages, args.port)
        with loopback.until_told():
            console.tell(visible(f"The report of {folder}. Ctrl-C ends it."))
            console.say(json.dumps({"url": address.url}) if args.json else address.url)
            if args.open:
                webbrowser.open(address.url)
            server.serve(address)
        pages.stop()
    return ExitCode.PASS


def _folder(name: str) -> Path:
    folder = Path(name)
    if is_discovery(folder):
        raise UsageError(f"{name} must be a run with verdicts (got a discovery, whose page is one)")
    if not any((folder / mark).is_file() for mark in ("scorecard.json", "events.jsonl")):
        raise ArtifactError(
            f"{name} must be the folder of a run (no scorecard.json, no events.jsonl): give the "
            "folder that a run named as its run directory, outputs/evaluate/TIME"
        )
    return folder


@dataclass(slots=True)
class Pages:
    """The pages of one run: where they stand, or how far they are."""

    folder: Path
    scratch: Path
    traces: str | tuple[str, ...] | None = None
    _watch: Watch = field(init=False)
    _maker: threading.Thread | None = None
    _ready: Path | None = None
    _fault: str | None = None
    _of: int = 0
    _stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._watch = Watch(self.folder)

    def ready(self) -> Path | None:
        """Return the folder with the report and its pages; None where they are not there yet.

        A run that was done again in the same folder gets new pages.
        """
        of = _written_at(self.folder / "scorecard.json")
        with self._lock:
            if not of:
                self._ready = None
            elif of != self._of and (self._maker is None or not self._maker.is_alive()):
                self._of, self._ready, self._fault = of, None, None
                self._maker = threading.Thread(target=self._make, daemon=True)
                self._maker.start()
            return self._ready

    def underway(self, *, still: bool = False) -> bytes:
        """Return the page that says how far the run, or the making of its pages, is."""
        if not (self.folder / "scorecard.json").is_file():
            with self._lock:
                seen = self._watch.look()
        elif self._fault is not None:
            seen = Seen("No report", self._fault, [], [])
        else:
            seen = Seen("The run has ended", "Its pages are being made.", [], [])
        return render_underway(os.fspath(self.folder), seen, still=still)

    def page(self, name: str) -> bytes | None:
        """Return a page by its name; None where there is none, and for what is no plain file."""
        folder = self.ready()
        if folder is None:
            return None
        if name == REPORT:
            return _plain(folder, REPORT)
        inner, _, leaf = name.partition("/")
        within = folder / "report"
        if inner != "report" or not _LEAF.fullmatch(leaf) or within.is_symlink():
            return None
        return _plain(within, leaf)

    def stop(self) -> None:
        """Make no more pages."""
        self._stopped = True
        if self._maker is not None:
            self._maker.join()

    def _make(self) -> None:
        own = self.folder / REPORT
        if self.traces is None and own.is_file() and has_folder(own):
            self._ready = self.folder
            return
        pages = self.scratch / str(self._of)
        pages.mkdir(exist_ok=True)
        try:
            found = run_again(RunFiles(self.folder), load(), traces=self.traces)
            run = replace(found.run, mode="directory", worst=ReportConfig().worst)
            write(pages / REPORT, self._until_stopped(render_pages(run)))
            self._ready = pages
        except _Stopped:
            return
        except Exception as error:
            failures.told(error, "report html")
            self._fault = str(error) if isinstance(error, HelixError) else _CRASHED

    def _until_stopped(self, parts: Iterator[bytes | Leaf]) -> Iterator[bytes | Leaf]:
        for part in parts:
            if self._stopped:
                raise _Stopped
            yield part


class _Stopped(Exception):
    """The server has ended, so nobody will see the pages."""


def _written_at(path: Path) -> int:
    """Return when a file was written, in nanoseconds; 0 where it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _plain(folder: Path, name: str) -> bytes | None:
    """Return the bytes of a plain file in a folder; a link is none."""
    try:
        handle = os.open(folder / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with open(handle, "rb") as file:
        return file.read()
