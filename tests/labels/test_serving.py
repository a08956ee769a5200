"""`helix labels serve` before it serves: what it needs, and what it says where that is missing."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import helix.labels
from helix.app.commands import labels as command
from helix.errors import LabelError, SelectionError, UsageError
from tests.labels.page import row, served, trace, write_suite, write_traces
from tests.moments import LIMIT_S


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_traces(tmp_path / "traces.jsonl", [trace("t1"), trace("t2")])
    check = {"primitive": "presence", "field": "output.response"}
    code = row("spoke", **{"class": "code", "code_eval": check})
    write_suite(tmp_path / "suite.yaml", [row("kind"), code, row("old", status="retired")])
    return tmp_path


def serve(folder: Path, *more: str, labels: str = "ada.jsonl", rater: str = "ada") -> None:
    command.run(
        ["serve", "--traces", str(folder / "traces.jsonl"), "--suite", str(folder / "suite.yaml"),
         "--labels", str(folder / labels), "--rater", rater, *more]
    )  # fmt: skip


def test_without_the_extra_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in ("server", "loopback"):
        monkeypatch.delitem(sys.modules, f"helix.labels.{name}", raising=False)
        monkeypatch.delattr(helix.labels, name, raising=False)
    with pytest.raises(UsageError, match=r"uvicorn: pip install 'helix-evals\[serve\]'"):
        serve(folder)


def test_every_other_command_needs_no_server() -> None:
    code = (
        "import sys; from helix.app.commands import labels; import helix.labels.importing;"
        "print([m for m in ('starlette', 'uvicorn', 'scipy', 'statsmodels') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_cannot_be_served_is_said(folder: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
    with pytest.raises(SelectionError, match="unknown criterion 'knid'; did you mean 'kind'"):
        serve(folder, "--criterion", "knid")
    with pytest.raises(SelectionError, match="unknown criterion 'old'"):
        serve(folder, "--criterion", "old")
    with pytest.raises(UsageError, match="--rater must be the name of who labels"):
        serve(folder, rater=" ")
    with pytest.raises(LabelError, match="cannot be opened"):
        serve(folder, labels="none/ada.jsonl")
    with pytest.raises(UsageError, match=r"--run: .* must be the folder of a finished run"):
        serve(folder, "--run", str(folder))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="cannot be used: Address already in use"):
            serve(folder, "--port", str(taken.getsockname()[1]))
    with pytest.raises(UsageError, match="--port must be between 0 and 65535"):
        serve(folder, "--port", "70000")
    write_traces(folder / "traces.jsonl", [trace("t1"), trace("t1")])
    with pytest.raises(UsageError, match="two traces have the id 't1'"):
        serve(folder)


def test_it_says_how_far_the_rater_is_at_the_start_and_at_the_end(folder: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
    line = {"trace": "t1", "criterion": "kind", "label": "pass", "rater": "ada"}
    (folder / "ada.jsonl").write_text(json.dumps(line) + '\n{"schemaV', encoding="utf-8")
    with served(folder) as running:
        running.ready()
        running.process.terminate()
        assert running.process.wait(timeout=LIMIT_S) == 0
        assert running.process.stderr is not None
        told = running.process.stderr.read()
    assert "the last line was cut off before it was saved, and is gone" in told
    # Two traces and one row that a judge decides.
    assert "1 of 2 cells labelled by ada" in told
    assert told.count("1 of 2 cells labelled") == 2
    with served(folder, "--criterion", "spoke", "--criterion", "kind") as running:
        running.ready()
        running.process.terminate()
        assert running.process.stderr is not None
        assert "1 of 4 cells labelled" in running.process.stderr.read()
