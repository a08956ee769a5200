"""The line that a person who waits sees: what is done, waited for and spent, in any width."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helix.app import progress
from helix.app.progress import Progress, Status, fitted
from helix.engine.drive import Event, Job
from helix.engine.meter import Meter
from helix.model.request import Reply, Usage
from tests.moments import LIMIT_S, TOLD, until


def job(number: int) -> Job[Any]:
    """A job that is never started."""
    return Job(number, f"job {number}", lambda: (_ for _ in ()))


def used(calls: int, *usages: Usage) -> Meter:
    """What a run has used."""
    meter = Meter(calls=calls)
    for usage in usages:
        meter.spend(Reply("", usage=usage))
    return meter


def status(*events: Event, at: float = 100.0) -> Status:
    """How a run stands after the events, all of the same moment."""
    made = Status()
    for event in events:
        made.take(event, at)
    return made


BEGIN = Event("begin", total=500)
ASKING = [Event("asking", job(n), "judge") for n in range(7)]
VERIFYING = Event("asking", job(7), "verifier")
LIMITED = Event("waiting", job(3), "rate limit", 5.0)
LIMITED_TOO = Event("waiting", job(4), "rate limit", 4.0)
RETRY = Event("waiting", job(5), "retry", 2.0)
SPENT = Event("answered", job(6), "live", used=used(31, Usage(12_000, 345, 12_300)))
LOST = Event("answered", job(6), "live", used=replace(used(2, Usage(12_000, 345, 12_300)), lost=1))
PART = Event("answered", job(6), "live", used=used(2, Usage(12_000, 345), Usage()))
DONE = Event("done", job(6))
FULL = "0 of 500 traces; waiting for rate limit 5 s, judge 5"


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([DONE], "1 traces"),
        ([BEGIN, DONE], "1 of 500 traces"),
        ([BEGIN, *ASKING], "0 of 500 traces; waiting for judge 7"),
        ([BEGIN, *ASKING, VERIFYING], "0 of 500 traces; waiting for judge 7, verifier 1"),
        (
            [BEGIN, *ASKING, LIMITED, LIMITED_TOO, RETRY],
            "0 of 500 traces; waiting for rate limit 5 s, retry 2 s, judge 4",
        ),
        (
            [BEGIN, ASKING[6], SPENT, DONE],
            "1 of 500 traces; 31 calls, 12,345 tokens, $0.0123",
        ),
        ([BEGIN, ASKING[6], PART, DONE], "1 of 500 traces; 2 calls, 12,345+ tokens"),
        ([BEGIN, ASKING[6], LOST, DONE], "1 of 500 traces; 2 calls, 12,345+ tokens, $0.0123+"),
        ([BEGIN, ASKING[0], Event("answered", job(0), "cache")], "0 of 500 traces; 1 replies kept"),
        (
            [BEGIN, ASKING[0], Event("stopping")],
            "0 of 500 traces; ending what is in flight; Ctrl-C again ends at once; waiting for "
            "judge 1",
        ),
    ],
)
def test_the_line_says_what_is_done_waited_for_and_spent(
    events: Sequence[Event], text: str
) -> None:
    assert status(*events).text(100.0, 200) == text


def test_a_wait_that_is_over_is_a_question_again() -> None:
    shown = status(BEGIN, *ASKING[:5], LIMITED)
    assert shown.text(103.0, 80) == "0 of 500 traces; waiting for rate limit 2 s, judge 4"
    assert shown.text(106.0, 80) == "0 of 500 traces; waiting for judge 5"


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (90, f"{FULL}; 31 calls, 12,345 tokens, $0.0123"),
        (80, f"{FULL}; $0.0123"),
        (40, "0/500; rate limit 5 s, judge 5; $0.0123"),
        (35, "0/500; rate limit 5 s, judge 5"),
        (5, "0/500"),
        (3, "0/5"),
    ],
)
def test_the_line_fits_its_width_and_keeps_what_matters_most(width: int, text: str) -> None:
    shown = status(BEGIN, *ASKING, SPENT, LIMITED).text(100.0, width)
    assert shown == text
    assert len(shown) <= width


def test_no_width_is_ever_passed() -> None:
    parts = [("long words", "short"), ("more long words", "more"), ("and more", "m")]
    for width in range(60):
        assert len(fitted(parts, width)) <= width


@pytest.mark.parametrize(("terminal", "columns"), [(True, 40), (True, 80), (False, 40)])
def test_a_terminals_line_is_rewritten_and_a_logs_is_not(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, columns: int
) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    monkeypatch.setattr(progress, "EVERY_S_IN_A_LOG", 0.01)
    shown = Progress()
    for event in (BEGIN, *ASKING):
        shown(event)
    line = "0 of 500 traces; waiting for judge 7"
    until(lambda: line in stream.getvalue())
    shown.close()
    text = stream.getvalue()
    assert line in text
    if not terminal:
        assert text.endswith(f"{line}\n") and "\x1b" not in text
        return
    assert text.startswith("\x1b[?25l") and "\x1b[?25h" in text, "the cursor comes back"
    assert text.endswith("\x1b[1A\x1b[2K"), "no line is left"
    assert ("━" in text) is (columns == 80), "a bar where there is room"


def test_a_quiet_run_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "EVERY_S_IN_A_LOG", 0.001)
    shown = Progress("quiet")
    shown(BEGIN)
    time.sleep(0.05)
    shown.close()
    assert stream.getvalue() == ""


TRACE = '{"schemaVersion":"1.0","id":"t%d","input":{"prompt":"hi"},"output":{"response":"%d"}}'
SUITE = """\
suite: judged
version: 1
criteria:
  - criterion_id: fine
    statement: Pass = the response is fine.
    severity: HIGH
    class: judge
"""
# What was asked is noted, and that the run was told to end; an answer waits as the test says.
WAITING = (
    TOLD
    + """
from pathlib import Path
from helix.backends.scripted import abstain

async def judge(request):
    with open("asked", "a") as file:
        file.write(request.unit.trace_id + "\\n")
    if not Path("go").exists():
        await told()
        Path("told").touch()
        await asyncio.sleep({seconds})
    return dict(abstain(request))
"""
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    lines = [TRACE % (n, n) for n in range(12)]
    (tmp_path / "traces.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


def start(here: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a run whose answers come so many seconds after it was told to end."""
    (here / "judge.py").write_text(WAITING.format(seconds=seconds), encoding="utf-8")
    words = ["subject.traces=traces.jsonl", "criteria.file=suite.yaml", "hydra.run.dir=run"]
    judge = ["judge=scripted", "judge.model=m", "judge.script=judge.py", "limits.concurrency=3"]
    return subprocess.Popen(
        [sys.executable, "-m", "helix", "evaluate", *words, *judge],
        cwd=here,
        env={**os.environ, "CI": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def asked(here: Path) -> list[str]:
    """The traces that were asked about, in order."""
    file = here / "asked"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def test_an_interruption_writes_what_was_in_flight_and_the_same_command_goes_on(
    here: Path,
) -> None:
    process = start(here, 0)
    until(lambda: len(asked(here)) == 3, process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, told
    lines = (here / "run" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(asked(here)) == 3
    (here / "go").touch()
    again = start(here, 0)
    again.communicate(timeout=LIMIT_S)
    assert again.returncode == 3
    assert sorted(asked(here)) == sorted(f"t{n}" for n in range(12))


def test_a_second_interruption_ends_at_once(here: Path) -> None:
    process = start(here, 3_600)
    until(lambda: len(asked(here)) == 3, process)
    process.send_signal(signal.SIGINT)
    until((here / "told").exists, process)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, told
    assert not re.search("Traceback|never retrieved", told)
