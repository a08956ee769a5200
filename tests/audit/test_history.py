"""Determinism over time: lines that are only ever added, and a trend beside the gate."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helix
from helix.app.cli import main
from helix.audit import dimensions, score
from helix.audit.history import reading, remember, remembered, trend
from helix.errors import ArtifactError
from helix.model.audit import HISTORY, Reading
from helix.model.scorecard import Ratio
from helix.registry import load
from helix.reports.determinism import trend_recorded, trend_told
from helix.runs import RunFiles
from tests.audit.desk import SAYS_BOOKED, desk_trace, suite, write


def line(k: int, n: int = 10, suite: str = "desk", at: str | None = None) -> Reading:
    names = tuple(f"d{i}" for i in range(k))
    return Reading(at=at, subject="s", suite=suite, plan=None, runs=2,
                   variance=Ratio(k=k, n=n), different=names)  # fmt: skip


def test_the_history_only_grows_and_is_told_apart_by_subject_and_suite(tmp_path: Path) -> None:
    assert remembered(tmp_path, "s", "desk") == ()
    before = b""
    for one in (line(3), line(1, suite="other"), line(0)):
        now = remember(tmp_path, one).read_bytes()
        assert now.startswith(before) and len(now) > len(before)
        before = now
    assert remembered(tmp_path, "s", "desk") == (line(3), line(0))
    assert remembered(tmp_path, "nobody", "desk") == ()


def test_a_line_without_its_end_is_not_run_into_the_next(tmp_path: Path) -> None:
    file = remember(tmp_path, line(1))
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    remember(tmp_path, line(2))
    assert remembered(tmp_path, "s", "desk") == (line(1), line(2))


def test_a_damaged_history_is_named_with_its_line(tmp_path: Path) -> None:
    file = remember(tmp_path, line(1))
    file.write_bytes(file.read_bytes() + b"{broken\n")
    with pytest.raises(ArtifactError, match=r"history\.jsonl, line 2 is damaged"):
        remembered(tmp_path, "s", "desk")


def test_a_line_of_another_version_is_refused_and_not_read_as_if_it_were_known(
    tmp_path: Path,
) -> None:
    file = remember(tmp_path, line(1))
    remember(tmp_path, msgspec.structs.replace(line(2), schema_version="2.0"))
    with pytest.raises(ArtifactError, match=r"line 2 must have schemaVersion 1\.0 \(got 2\.0\)"):
        remembered(tmp_path, "s", "desk")
    assert file.read_bytes().count(b"\n") == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14))
def test_the_trend_is_that_of_the_last_two_and_keeps_nine(scores: list[tuple[int, int]]) -> None:
    found = trend([line(min(k, n), n) for k, n in scores])
    assert (found is None) == (not scores)
    if found is None:
        return
    assert found.readings == len(scores)
    assert len(found.earlier) == min(9, len(scores) - 1)
    measured = [n for _, n in scores[-2:]]
    known = len(measured) == 2 and measured[0] == measured[1] > 0
    assert (found.direction is not None) == known
    if known:
        a, b = (min(k, n) for k, n in scores[-2:])
        word = "same" if a == b else "better" if b < a else "worse"
        assert found.direction == word


def test_what_was_not_measured_this_time_is_no_improvement() -> None:
    before = line(3, 5)
    for now in (line(0, 2), msgspec.structs.replace(line(0, 5), not_measured=("awareness",))):
        found = trend([before, now])
        assert found is not None and found.direction is None
        assert all("than before" not in told for told in trend_told(found))
    same = trend([before, line(0, 5)])
    assert same is not None and same.direction == "better"


def test_the_trend_is_told_in_sentences_that_keep_it_beside_the_gate() -> None:
    told = trend_told(trend([line(2), line(5, at="2031-05-02T12:00:00+00:00")]))
    assert told == (
        "5 of 10 measured dimensions differ between 2 runs (d0, d1, d2 and 2 more), 2031-05-02",
        "worse than before (2 of 10)",
        "beside the gate, and no part of it",
    )
    assert trend_told(None) == () == trend_recorded(None) == trend_recorded({"latest": 3})


def test_a_run_shows_the_trend_in_every_report_and_its_scorecard_is_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    traces = write(tmp_path, desk_trace("a"), desk_trace("b", "I cannot book that, sorry."))
    rows = suite(tmp_path, SAYS_BOOKED)
    words = [
        f"subject.traces={traces}",
        f"criteria.file={rows}",
        "report.out=[terminal,html,markdown]",
    ]
    runs = []
    for name in ("one", "two", "three"):
        if name == "three":
            assert main(["audit", "diff", *runs, "--keep", ".helix"]) == 0
        capsys.readouterr()
        assert main(["evaluate", *words, f"hydra.run.dir={tmp_path / name}"]) == 1
        runs.append(str(tmp_path / name))
        out = capsys.readouterr().out
        page, text = (Path(name, f"report.{end}").read_text("utf-8") for end in ("html", "md"))
        shown = [" ".join(out.split()), " ".join(page.split()), text]
        told = ["0 of 13 measured dimensions differ between 2 runs" in one for one in shown]
        assert told == [name == "three"] * 3
    cards = [Path(run, "scorecard.json").read_bytes() for run in runs]
    assert cards[0] == cards[1] == cards[2], "the trend enters no scorecard"
    meta = json.loads(Path("three", "runmeta.json").read_text("utf-8"))
    assert meta["determinism"]["latest"]["variance"] == {"k": 0, "n": 13}
    assert main(["report", runs[2]]) == 0
    assert capsys.readouterr().out == out, "the trend of that run, whatever is added later"


def test_a_history_that_cannot_be_read_is_told_and_stops_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    (state / HISTORY).parent.mkdir(parents=True)
    (state / HISTORY).write_text("{broken\n", encoding="utf-8")
    traces, rows = write(tmp_path, desk_trace("a")), suite(tmp_path, SAYS_BOOKED)
    words = [f"subject.traces={traces}", f"criteria.file={rows}", f"paths.state={state}"]
    assert main(["evaluate", *words, f"hydra.run.dir={tmp_path / 'run'}"]) == 0
    assert "history.jsonl, line 1 is damaged" in capsys.readouterr().err


def test_a_reading_is_of_a_finished_run(tmp_path: Path) -> None:
    traces, rows = write(tmp_path, desk_trace("a")), suite(tmp_path, SAYS_BOOKED)
    for name in ("one", "two"):
        helix.evaluate(traces, rows, run_dir=tmp_path / name)
    runs = [RunFiles(tmp_path / name) for name in ("one", "two")]
    found = reading(score(runs, dimensions(load())), runs[0])
    assert found is not None and found.at is None and found.plan == runs[0].plan().digest
    (tmp_path / "two" / "scorecard.json").unlink()
    assert reading(score(runs, dimensions(load())), runs[1]) is None


def test_an_audit_adds_to_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    traces, rows = write(tmp_path, desk_trace("a")), suite(tmp_path, SAYS_BOOKED)
    for name in ("one", "two"):
        done = helix.evaluate(traces, rows, run_dir=tmp_path / name)
        meta = Path(name, "runmeta.json")
        told = {**json.loads(meta.read_text("utf-8")), "process": f"process {name}"}
        meta.write_text(json.dumps(told), encoding="utf-8")
    assert main(["audit", "audit.runs=[one,two]"]) == 0
    card = done.scorecard
    (found,) = remembered(".helix", card.subject, card.suite)
    assert found.variance.k == 0 and found.at is not None
