"""`helix discover` as it is typed: what it prints, how it exits, what the page on it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.demo import write
from helix.discover.findings import DETECTORS
from helix.discover.norms import LEAST_HOLDERS, LEAST_SHARE

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "discover.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    import contextlib
    import io
    import os

    folder = tmp_path_factory.mktemp("typed")
    here = os.getcwd()
    os.chdir(folder)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out):
            code = main(["discover", "subject=outreach", "hydra.run.dir=run"])
    finally:
        os.chdir(here)
    out.flush()
    return code, out.buffer.getvalue().decode("utf-8"), folder  # type: ignore[attr-defined]


def test_the_demo_needs_one_word_more_and_exits_with_0(printed: tuple[int, str, Path]) -> None:
    code, text, folder = printed
    assert code == 0
    meta = json.loads((folder / "run" / "runmeta.json").read_text(encoding="utf-8"))
    assert meta["exitCode"] == 0 and len(meta["grown"]) == 13
    assert ".helix/living-suite/eval.suite.yaml" in text


def test_the_suite_that_it_leaves_evaluates(
    printed: tuple[int, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(printed[2])
    words = ["subject=outreach", "criteria.file=.helix/living-suite/eval.suite.yaml", "judge=none"]
    assert main(["evaluate", *words, "hydra.run.dir=next"]) == 1
    card = json.loads(Path("next/scorecard.json").read_text(encoding="utf-8"))
    assert [c["result"] for c in card["criteria"]] == ["fail"] * 13


def test_the_page_says_what_is_found(printed: tuple[int, str, Path]) -> None:
    record = json.loads((printed[2] / "run" / "discovery.json").read_text(encoding="utf-8"))
    triage = record["triage"]
    assert f"examines the {triage['examined']} whole traces" in PAGE
    assert f"finds a fault in {triage['fail']} of them" in PAGE
    every = [*record["categories"], *record["folded"]]
    found = {(c["name"], f"{c['k']}/{c['n']}", c["class"]) for c in every}
    listed = re.findall(r"^\| (.+) \| (\d+/\d+) \| (\w+) \| criterion \|$", PAGE, re.MULTILINE)
    assert len(listed) == 5 and set(listed) <= found


def test_the_page_names_every_detector_and_every_threshold() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)
    sources = Path(__file__).resolve().parents[2] / "helix" / "discover"
    named = {
        name
        for path in sources.glob("*.py")
        for name in re.findall(r'detector="([a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    assert sorted(listed) == sorted(named)
    assert len(DETECTORS) <= len(listed)
    assert (LEAST_HOLDERS, LEAST_SHARE) == (
        {"failure": 1, "rule": 1, "habit": 8, "reading": 7},
        {"failure": 0.5, "rule": 0.6, "habit": 0.85, "reading": 0.8},
    )
    for said in (
        "and half of those",
        "one trace that keeps it, and 60 %",
        "eight traces and 85 %",
        "seven and 80 %",
    ):
        assert said in PAGE


def test_a_suite_is_not_asked_for_and_traces_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["discover"]) == 2
    assert "subject.traces" in capsys.readouterr().err
    write(tmp_path / "t.jsonl")
    assert main(["discover", "subject.traces=t.jsonl", "discover.living=false"]) == 0
    assert not (tmp_path / ".helix" / "living-suite").exists()


def test_a_dry_run_says_what_would_be_looked_at_and_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["subject=outreach", "run.dry=true", "sampling=balanced", "sampling.n=20"]
    assert main(["discover", *words, "judge=dispatch", "judge.model=m", "discover.batch=6"]) == 0
    said = capfd.readouterr().out
    assert "20 chosen of 68 read" in said and ", 6 at a time" in said
    assert not (tmp_path / ".helix" / "dispatch").exists() and not list(
        tmp_path.glob("outputs/*/*")
    )


def test_a_balanced_sample_has_traces_in_which_calls_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["subject=outreach", "sampling=balanced", "sampling.n=8", "hydra.run.dir=run"]
    assert main(["discover", *words, "discover.living=false"]) == 0
    lines = [json.loads(x) for x in Path("run/manifest.jsonl").read_text("utf-8").splitlines()]
    taken = [line for line in lines if line["selected"]]
    assert len(taken) == 8 and sum(line.get("failures", 0) > 0 for line in taken) == 4


def test_only_what_failed_in_a_run_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: tuple[int, str, Path]
) -> None:
    monkeypatch.chdir(tmp_path)
    suite = printed[2] / "run" / "criteria.suite.yaml"
    words = ["subject=outreach", f"criteria.file={suite}", "judge=none", "hydra.run.dir=before"]
    assert main(["evaluate", *words]) == 1
    again = ["subject=outreach", "select.failed_from=before", "hydra.run.dir=run"]
    assert main(["discover", *again, "discover.living=false"]) == 0
    record = json.loads(Path("run/discovery.json").read_text("utf-8"))
    assert 21 <= record["triage"]["sampled"] < 68
