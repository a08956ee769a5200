"""`pytest --helix SUITE --helix-traces PATH`: one test for each trace and criterion.

The run is evaluated once, before anything is collected; processes of xdist read what came of it.
Without `--helix` the plugin does nothing, and imports nothing of Helix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import (
    ReprEntryNative,
    ReprExceptionInfo,
    ReprFileLocation,
    ReprTraceback,
)

if TYPE_CHECKING:
    from helix.app.cases import Case, Row, Tests

_NAME = "helix-run"
_CELLS, _SUITE = "helix_cells", "helix_suite"
_LONGEST = 120
_INCOMPLETE = "helix_incomplete"
_FIXED = {
    "gating": "a criterion that decides the gate",
    "CRIT": "a criterion of severity CRIT",
    "HIGH": "a criterion of severity HIGH",
    "MED": "a criterion of severity MED",
    "LOW": "a criterion of severity LOW",
    "code": "a criterion that code decides",
    "judge": "a criterion that a judge decides",
    "hybrid": "a criterion that code decides first, then a judge",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("helix", "what an LLM agent did, held against criteria")
    group.addoption("--helix", metavar="SUITE", help="evaluate this suite, one test per cell")
    group.addoption(
        "--helix-traces",
        metavar="PATH",
        action="append",
        default=[],
        help="the traces: file, folder or glob; may be given several times",
    )
    group.addoption(
        "--helix-set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a key or group of the configuration, as helix evaluate takes it; several times",
    )
    group.addoption(
        "--helix-config-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="a folder with config groups of your own",
    )
    group.addoption(
        "--helix-incomplete",
        choices=["fail", "xfail"],
        default="fail",
        help="what a cell that nobody decided does: fail (the default), or be an expected failure",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take part in this session if a suite is given."""
    suite, traces = config.getoption("--helix"), config.getoption("--helix-traces")
    if not suite:
        if traces or config.getoption("--helix-set"):
            raise pytest.UsageError("--helix-traces and --helix-set need --helix SUITE")
        return
    if not traces:
        raise pytest.UsageError("--helix needs the traces too: add --helix-traces PATH")
    plugin = HelixRun(config, suite, traces)
    config.pluginmanager.register(plugin, _NAME)
    for name, text in _FIXED.items():
        config.addinivalue_line("markers", f"{name}: {text} (Helix)")
    named = [os.path.abspath(arg.partition("::")[0]) for arg in config.args]
    if str(plugin.file) not in named:
        config.args.append(str(plugin.file))


class Undecided(Exception):
    """A cell that nobody decided, whatever the reason."""


class Failed(Exception):
    """A cell that fails."""


class HelixRun:
    """What the session knows of its one run."""

    def __init__(self, config: pytest.Config, suite: str, traces: list[str]) -> None:
        self._config, self._suite, self._traces = config, suite, traces
        self._given: dict[str, str] = getattr(config, "workerinput", {})
        self._cells: Path | None = None
        self.tests: Tests | None = None
        self.file = Path(self._given.get(_SUITE) or _suite_file(suite))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Evaluate, or read what the process that evaluated found."""
        from helix.app import cases

        given = self._given.get(_CELLS)
        self.tests = cases.read(given) if given else self._evaluated()
        for name in sorted({_tag(tag) for row in self.tests.rows for tag in row.tags}):
            self._config.addinivalue_line("markers", f"{name}: a tag of criteria (Helix)")

    def _evaluated(self) -> Tests:
        from helix.app import tested
        from helix.errors import HelixError

        capture = self._config.pluginmanager.getplugin("capturemanager")
        settings = self._config.getoption("--helix-set")
        folders = self._config.getoption("--helix-config-dir")
        look_only = bool(self._config.getoption("collectonly"))
        try:
            with capture.global_and_fixture_disabled():
                found, self._cells = tested.evaluate(
                    self._suite, self._traces, settings, folders, look_only=look_only
                )
        except HelixError as error:
            raise pytest.UsageError(f"helix: {error}") from None
        return found

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a process of xdist where the cells are."""
        node.workerinput |= {_CELLS: str(self._cells), _SUITE: str(self.file)}

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Collect the suite's file."""
        if file_path != self.file or self.tests is None:
            return None
        return SuiteFile.from_parent(parent, path=file_path, tests=self.tests)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Give cells that nobody decided a word of their own."""
        if not hasattr(report, _INCOMPLETE) or not report.failed:
            return None
        return "incomplete", "I", ("INCOMPLETE", {"yellow": True})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Mark what is incomplete, and let a skip stand where its criterion does."""
        report = yield
        if not isinstance(item, CellItem) or call.excinfo is None:
            return report
        if call.excinfo.errisinstance(Undecided):
            setattr(report, _INCOMPLETE, True)
            report.longrepr = item.repr_failure(call.excinfo)
        elif report.skipped and not hasattr(report, "wasxfail"):
            report.longrepr = (str(item.path), item.line + 1, f"na: {item.case.short}")
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what is incomplete, as pytest does what failed, and how the gate stands."""
        reports = terminalreporter.stats.get("incomplete", [])
        if reports and self._config.getoption("tbstyle") != "no":
            terminalreporter.section("INCOMPLETE", yellow=True)
            for report in reports:
                terminalreporter.section(report.nodeid, sep="_", yellow=True)
                report.toterminal(terminalreporter._tw)
        if self.tests is None or self._config.getoption("collectonly"):
            return
        terminalreporter.section("helix")
        for report in reports:
            terminalreporter.write_line(f"INCOMPLETE {report.nodeid} - {_first(report)}")
        for line in self.tests.told:
            terminalreporter.write_line(line)


class SuiteFile(pytest.File):
    """The suite: its traces, and the gate where no cell tells how it stands."""

    def __init__(self, *, tests: Tests, **rest: Any) -> None:
        super().__init__(**rest)
        self._tests = tests

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the traces in their order."""
        for cases in self._tests.traces:
            again = f"#{cases.replicate}" if cases.replicate else ""
            name = escaped(cases.trace) + again
            yield TraceNode.from_parent(
                self, name=name, trace=cases.trace, cases=cases.cases, rows=self._tests.rows
            )
        if self._tests.gate is not None:
            yield CellItem.from_parent(self, name="gate", case=self._tests.gate, row=None)


class TraceNode(pytest.Collector):
    """One trace: a test for each criterion."""

    def __init__(
        self, *, trace: str, cases: tuple[Case, ...], rows: tuple[Row, ...], **rest: Any
    ) -> None:
        super().__init__(**rest)
        self._cases, self._rows = cases, rows
        self.extra_keyword_matches.add(trace)

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the criteria in suite order."""
        for case in self._cases:
            row = self._rows[case.row]
            yield CellItem.from_parent(self, name=escaped(row.id), case=case, row=row)


class CellItem(pytest.Item):
    """One criterion on one trace; the run has decided it."""

    def __init__(self, *, case: Case, row: Row | None, **rest: Any) -> None:
        super().__init__(**rest)
        self.case, self.line = case, max(row.line - 1, 0) if row else 0
        self.user_properties.append(("helix.state", case.outcome))
        if row is None:
            self.add_marker("gating")
            return
        self.extra_keyword_matches.add(row.id)
        self.user_properties.append(("helix.severity", row.severity))
        marks = [row.severity, row.klass, *(["gating"] if row.gating else [])]
        for mark in [*(m for m in marks if m in _FIXED), *map(_tag, row.tags)]:
            self.add_marker(mark)

    def setup(self) -> None:
        """Stop here where nobody decided the cell, or where it does not apply."""
        case = self.case
        if case.outcome == "na":
            pytest.skip(case.short)
        if case.outcome == "incomplete":
            if self.config.getoption("--helix-incomplete") == "xfail":
                pytest.xfail(f"incomplete: {case.short}")
            raise Undecided(case.text)

    def runtest(self) -> None:
        """Pass or fail as the run did."""
        if self.case.outcome == "accepted":
            pytest.xfail(self.case.short)
        if self.case.outcome in ("fail", "accepted"):
            raise Failed(self.case.text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what the run says of the cell, and nothing of how this is made."""
        if not excinfo.errisinstance((Failed, Undecided)):
            return super().repr_failure(excinfo, style)
        word = "fail" if excinfo.errisinstance(Failed) else "incomplete"
        said = ReprEntryNative([f"{self.case.text}\n"])
        at = ReprFileLocation(str(self.path), self.line + 1, f"{word}: {self.case.short}")
        return ReprExceptionInfo(ReprTraceback([said], None, "native"), at)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the criterion stands in the suite."""
        return self.path, self.line, self.name


def _suite_file(suite: str) -> str:
    from helix.app.tried import suite_file
    from helix.errors import HelixError

    try:
        return os.path.abspath(suite_file(suite))
    except HelixError as error:
        raise pytest.UsageError(f"--helix: {error}") from None


def escaped(name: str) -> str:
    """Return an id as a part of a node id: printable, without spaces and what pytest splits at.

    `%` and the digits of each byte stand for the rest; an id too long for a line ends in a digest.
    """
    found = "".join(c if c.isprintable() and c not in " %:[]#/\\" else _bytes(c) for c in name)
    if 0 < len(found) <= _LONGEST:
        return found
    from helix.model.canonical import digest

    return f"{found[:_LONGEST]}%{digest(name)[:12]}"


def _bytes(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _tag(tag: str) -> str:
    """Return the marker of a tag; its prefix keeps it from being one that pytest acts on."""
    return "tag-" + re.sub(r"[^\w.+/-]+", "-", tag)


def _first(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message.removeprefix("incomplete: ") if crash is not None else ""
