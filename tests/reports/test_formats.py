"""Every format says the same of every cell, whatever the traces hold, and holds none of them."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from helix.model.verdict import MatrixVerdictFile
from helix.registry.loading import Registry
from helix.reports.stream import stream
from helix.runs import RunFiles
from tests.reports import runs, sample

FORMATS = [name for name, r in Registry().items("renderers").items() if r.item.stream]
LONG = "0123456789" * 100_000
IDS = (
    '=HYPERLINK("x")',
    "'quoted",
    "-1+1",
    "@SUM(A1)",
    'a,b"c\nd',
    "]]><!--&lt;</testcase>",
    "::error file=x::owned%0A",
    "\x1b[2J\x00\u202e\ud83d\ufffe\uffff",
    "../../etc/passwd",
    "{0} [link](0) \\",
)


def hostile_lines() -> list[MatrixVerdictFile]:
    """Return the sample's lines with hostile ids, words and quotes, one of a megabyte."""
    lines = []
    for n, name in enumerate(IDS):
        line = sample.line(n)
        said = [*sample.HOSTILE, LONG, "\ufffe\uffff", name][n % 9]
        verdicts = tuple(msgspec.structs.replace(v, critique=said) for v in line.verdicts)
        changed = {"trajectory_id": name, "replicate": n % 3, "route": said, "verdicts": verdicts}
        lines.append(msgspec.structs.replace(line, **changed))
    return lines


@pytest.mark.parametrize("name", Registry().items("renderers"))
def test_every_cell_stands_in_every_format_as_in_the_verdict_lines(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    of = runs.run()
    of = runs.replaced(of, meta=dataclasses.replace(of.meta, verbosity="verbose"))
    wanted, data = runs.truth(of.lines), runs.written(name, of)
    if name in runs.READERS:
        assert runs.READERS[name](data) == wanted
        return
    found = runs.OPEN[name](data)
    assert found.items() <= wanted.items()
    still_open = {key: state for key, state in wanted.items() if state in ("fail", "uncertain")}
    some = {"github": 20, "annotations": 27}
    assert len(found) == some.get(name, len(still_open)), sorted(still_open.items() - found.items())


@pytest.mark.parametrize("name", ["json", "csv", "parquet", "otel"])
def test_hostile_ids_and_words_leave_every_cell_as_it_is(name: str) -> None:
    of = runs.run(len(IDS), hostile_lines())
    assert runs.READERS[name](runs.written(name, of)) == runs.truth(of.lines)


def test_sarif_holds_exactly_the_cells_that_fail_or_are_undecided() -> None:
    for of in (runs.run(), runs.run(len(IDS), hostile_lines())):
        wanted = {k: s for k, s in runs.truth(of.lines).items() if s in ("fail", "uncertain")}
        assert runs.from_sarif(runs.written("sarif", of)) == wanted


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_text_acts_in_no_format(name: str) -> None:
    data = runs.written(name, runs.run(len(IDS), hostile_lines()))
    if name == "parquet":
        return
    text = data.decode("utf-8")
    if name != "json":
        # The canonical JSON keeps every text as it was; all others spell out what could act.
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u2066\ud800-\udfff]", text)
    if name in ("github", "markdown"):
        assert "<script" not in text and "<img" not in text and "](javascript:" not in text


@pytest.mark.parametrize("name", FORMATS)
def test_the_bytes_are_the_same_each_time(name: str) -> None:
    assert runs.written(name, runs.run()) == runs.written(name, runs.run())


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "parquet"])
def test_a_format_holds_no_run_in_memory(name: str) -> None:
    def peak(count: int) -> int:
        lines = [sample.line(n) for n in range(14)]
        card = sample.scorecard(tuple(lines))
        of = stream(card, lambda: (lines[n % 14] for n in range(count)), suite=sample.SUITE)
        item = Registry().get("renderers", name)
        tracemalloc.start()
        made = item.render(of)
        for _ in () if isinstance(made, bytes) else made:
            pass
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return taken

    small, large = peak(70), peak(700)
    bound = 5_000_000 if name == "sarif" else 300_000  # SARIF keeps up to 5,000 results
    assert large - small < bound, (small, large)


def evaluated(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "helix", "evaluate", *words, "hydra.run.dir=run"]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)


def test_one_command_writes_every_format_into_the_run_or_where_it_is_told(tmp_path: Path) -> None:
    names = ",".join(Registry().items("renderers"))
    done = evaluated(
        tmp_path, "experiment=demo", f"report.out=[{names}]", "report.to.junit=ci/tests.xml"
    )
    assert done.returncode in (0, 1, 3), done.stderr
    files = RunFiles(tmp_path / "run")
    wanted = runs.truth(files.lines())
    places = {
        item.name: tmp_path / "run" / item.filename
        for item in (entry.item for entry in Registry().items("renderers").values())
        if item.filename
    } | {"junit": tmp_path / "ci" / "tests.xml"}
    for name, read in runs.READERS.items():
        assert read(places[name].read_bytes()) == wanted, name
    assert not (tmp_path / "run" / "junit.xml").exists()
    assert places["github"].read_text(encoding="utf-8").startswith("# Gate: ")
    # Two of them share standard output, whole, one after the other.
    assert re.search("^::error ", done.stdout, re.MULTILINE)
    assert "\nGate: ✕ FAIL  " in done.stdout


def test_parquet_without_its_package_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError\n", encoding="utf-8")
    done = evaluated(tmp_path, "experiment=demo", "report.out=[parquet]")
    assert done.returncode == 2
    assert "pip install 'helix-evals[parquet]'" in done.stderr
    assert not (tmp_path / "run" / "scorecard.json").exists()
