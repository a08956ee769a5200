"""docs/scale.md: its commands run as they stand and give one run, whoever carries it out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.app.keys import find
from helix.app.preflight import LAUNCHERS
from helix.audit.masking import COMPARED, masked
from helix.demo.generator import write
from helix.registry import load
from tests.test_evaluate import SUITE


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "runs").mkdir()
    write(tmp_path / "runs" / "traces.jsonl")
    code = SUITE[: SUITE.index("  - criterion_id: polite")]
    (tmp_path / "suite.yaml").write_text(code, encoding="utf-8")
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
