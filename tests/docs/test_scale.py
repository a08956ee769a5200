"""docs/scale.md: its commands run as they stand and give one run, whoever carries it out."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.app.keys import find
from helix.app.preflight import LAUNCHERS
from helix.audit.masking import COMPARED, masked
from helix.demo.generator import write
from helix.registry import load
from tests.test_evaluate import SUITE

SUITE_OF_CODE = SUITE[: SUITE.index("  - criterion_id: polite")]
PEAK = """\
import sys

import helix

helix.evaluate(*sys.argv[1:3], run_dir=sys.argv[3])
with open("/proc/self/status", encoding="ascii") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "runs").mkdir()
    write(tmp_path / "runs" / "traces.jsonl")
    (tmp_path / "suite.yaml").write_text(SUITE_OF_CODE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compared(run: Path) -> dict[str, bytes]:
    return {name: masked(name, (run / name).read_bytes()) for name in COMPARED}


@pytest.mark.slow
def test_its_commands_run_and_all_give_the_same_run(
    page: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cores, *rest = [shlex.split(line)[1:] for line in re.findall(r"^helix .+$", page, re.M)]
    assert main([*cores, "hydra.run.dir=cores"]) in (0, 1, 3)
    for words in rest:
        assert main(words) in (0, 1, 3), capsys.readouterr().err
    runs = [compared(folder / name) for name in ("cores", "whole", "merged")]
    assert runs[0] == runs[1] == runs[2]


def test_its_keys_executors_and_launchers_are_those_there_are(page: str) -> None:
    for key in set(re.findall(r"`((?:executor|shard|limits|paths|checks)\.[a-z_]+)", page)):
        assert find(key) is not None, key
    named = set(re.findall(r"`executor=(\w+)`", page))
    assert named - {"dask"} == set(load([]).items("executors"))
    launchers = set(re.findall(r"(?:hydra/launcher=|and `)((?:joblib|submitit)\w*)`", page))
    assert launchers | {"basic"} == set(LAUNCHERS.values())


def test_its_figures_on_paper_follow_from_the_measured_ones(page: str) -> None:
    figure = r"([\d,.]+) (\w+)"
    rows = re.findall(rf"^\| [^|]+ \| {figure} \| {figure} \| {figure} \|$", page, re.M)
    assert len(rows) > 5
    for each, unit, *extended in rows:
        by, wanted = {"ms": (3.6e6, "h"), "B": (1e9, "GB")}[unit]
        for traces, told, units in zip((1e6, 1e8), extended[::2], extended[1::2], strict=True):
            assert units == wanted
            value = float(each.replace(",", "")) * traces / by
            assert float(told.replace(",", "")) == pytest.approx(value, rel=0.01)


def peak(folder: Path, traces: int) -> int:
    """Return the most kilobytes that a process holds while it evaluates so many traces of 8 kB."""
    folder.mkdir()
    (folder / "suite.yaml").write_text(SUITE_OF_CODE, encoding="utf-8")
    with open(folder / "traces.jsonl", "w", encoding="utf-8") as file:
        for at in range(traces):
            output = {"response": f"Message {at}. " + "It is written. " * 530}
            trace = {"id": f"made-up-{at:06d}", "input": {"prompt": "Write."}, "output": output}
            file.write(json.dumps({"schemaVersion": "1.0", **trace}) + "\n")
    words = [str(folder / name) for name in ("traces.jsonl", "suite.yaml", "run")]
    command = [sys.executable, "-c", PEAK, *words]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc/self/status")
def test_a_trace_more_takes_a_fraction_of_its_size_in_memory(tmp_path: Path) -> None:
    few, many = 2_000, 20_000
    grown = peak(tmp_path / "many", many) - peak(tmp_path / "few", few)
    assert grown * 1024 / (many - few) < 1_000
