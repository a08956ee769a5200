"""Two runs artifact by artifact: what differs, in how many places, where first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import helix
from helix.audit import COMPARED, diff_runs
from helix.demo.generator import write
from helix.errors import ArtifactError
from helix.model.audit import ArtifactDiff, Diff
from helix.runs import RunFiles

SUITE = """\
suite: small
version: 1
criteria:
  - criterion_id: answered
    statement: Pass = the run ends with a response.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two runs of the same traces, one of them broken, by absolute paths below two folders."""
    folders = []
    for name in ("here", "there"):
        place = tmp_path / name
        place.mkdir()
        monkeypatch.chdir(place)
        write(place / "traces.jsonl")
        with open(place / "traces.jsonl", "a", encoding="utf-8") as file:
            file.write("{broken\n")
        (place / "suite.yaml").write_text(SUITE, encoding="utf-8")
        helix.evaluate(place / "traces.jsonl", place / "suite.yaml", run_dir=place / "run")
        folders.append(place / "run")
    return folders[0], folders[1]


def of(diff: Diff, artifact: str) -> ArtifactDiff:
    return next(one for one in diff.artifacts if one.artifact == artifact)


def lines(run: Path, artifact: str, change: Callable[[list[bytes]], list[bytes]]) -> None:
    file = run / artifact
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))


def test_runs_of_one_source_in_two_folders_are_equal_after_masking(
    runs: tuple[Path, Path],
) -> None:
    found = diff_runs(*runs)
    assert [one.artifact for one in found.artifacts] == list(COMPARED)
    assert {one.status for one in found.artifacts} == {"equal"} and not found.different
    raw = [(run / "manifest.jsonl").read_bytes() for run in runs]
    assert raw[0] != raw[1], "the folders of the traces are in the manifest, and are masked"
    cards = [RunFiles(run).scorecard() for run in runs]
    assert cards[0].load.failures != cards[1].load.failures
    assert cards[0].gate.gaps == cards[1].gate.gaps, "no words hold a folder of this machine"
    assert "traces.jsonl:69" in cards[0].gate.gaps[-1] or "traces.jsonl:69" in cards[0].gate.gaps[0]


def test_the_first_place_is_named_with_line_path_and_both_values(runs: tuple[Path, Path]) -> None:
    def worse(found: list[bytes]) -> list[bytes]:
        third = json.loads(found[2])
        third["denseMap"]["answered"] = "uncertain"
        third["verdicts"][0]["result"] = "uncertain"
        found[2] = json.dumps(third, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        return found

    lines(runs[1], "verdicts.jsonl", worse)
    found = of(diff_runs(*runs), "verdicts.jsonl")
    assert (found.status, found.places) == ("different", 2)
    assert found.first is not None
    assert (found.first.line, found.first.path) == (3, "verdicts[0].result")
    assert (found.first.a, found.first.b) == ('"pass"', '"uncertain"')


@pytest.mark.parametrize(
    ("text", "other", "path", "a", "b"),
    [
        ('{"x": 0.1}', '{"x": 0.10}', "x", "0.1", "0.10"),
        ('{"x": 1}', '{"x": true}', "x", "1", "true"),
        ('{"x": 1}', '{"x": "1"}', "x", "1", '"1"'),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', "", '["a", "b"]', '["b", "a"]'),
        ('{"x": {}}', "{}", "x", "{}", None),
        ('{"x": [1]}', '{"x": [1, {"y z": 2}]}', "x[1]", None, '{"y z": 2}'),
        ('{"x": {"a b": null}}', '{"x": {"a b": 0}}', 'x["a b"]', "null", "0"),
        ('{"x":1}', '{"x": 1}', "", '{"x":1}', '{"x": 1}'),
        ('{"x":1}', '{"x":1}\n', "", '{"x":1}', '{"x":1}\n'),
        ("not JSON", "nor this", "", "not JSON", "nor this"),
        ('{"x": "\\u001b[2J"}', '{"x": ""}', "x", '"\\u001b[2J"', '""'),
    ],
)
def test_whatever_differs_is_told_where_it_stands(
    runs: tuple[Path, Path], text: str, other: str, path: str, a: str | None, b: str | None
) -> None:
    for run, content in zip(runs, (text, other), strict=True):
        (run / "subject.json").write_text(content, encoding="utf-8")
    found = of(diff_runs(*runs), "subject.json")
    assert (found.status, found.places) == ("different", 1)
    assert found.first is not None
    spot = found.first
    assert (spot.line, spot.path, spot.a, spot.b) == (None, path, a, b)


def test_long_values_are_cut_around_the_place_where_they_part(runs: tuple[Path, Path]) -> None:
    for run, end in zip(runs, ("one", "two"), strict=True):
        text = json.dumps({"x": "a" * 5000 + end + "z" * 5000})
        (run / "subject.json").write_text(text, encoding="utf-8")
    spot = of(diff_runs(*runs), "subject.json").first
    assert spot is not None and spot.a is not None and spot.b is not None
    assert "aone" in spot.a and "atwo" in spot.b
    assert all(len(text) < 200 and text[0] == text[-1] == "…" for text in (spot.a, spot.b))


def test_lines_that_one_run_has_more_are_a_place_each(runs: tuple[Path, Path]) -> None:
    lines(runs[0], "failures.jsonl", lambda found: [*found, b'{"a":1}\n', b'{"b":1}\n'])
    found = of(diff_runs(*runs), "failures.jsonl")
    assert found.places == 2 and found.first is not None
    assert (found.first.a, found.first.b, found.first.path) == ('{"a":1}\n', None, "")


@pytest.mark.parametrize(("gone", "status"), [(0, "missingInA"), (1, "missingInB")])
def test_an_artifact_that_one_run_lacks_is_a_difference(
    runs: tuple[Path, Path], gone: int, status: str
) -> None:
    (runs[gone] / "candidates.jsonl").unlink()
    found = diff_runs(*runs)
    assert [(one.artifact, one.status) for one in found.different] == [("candidates.jsonl", status)]


def test_an_artifact_that_both_lack_is_missing_and_not_equal(runs: tuple[Path, Path]) -> None:
    for run in runs:
        (run / "subject.json").unlink()
    found = diff_runs(*runs)
    assert of(found, "subject.json").status == "missing" and not found.different


def test_what_cannot_be_read_is_an_error_and_not_a_difference(runs: tuple[Path, Path]) -> None:
    (runs[1] / "plan.json").write_text("{broken", encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"plan\.json is damaged"):
        diff_runs(*runs)
    (runs[1] / "plan.json").unlink()
    (runs[1] / "plan.json").mkdir()
    with pytest.raises(ArtifactError, match=r"plan\.json cannot be read: it is no file"):
        diff_runs(*runs)
    (runs[1] / "plan.json").rmdir()
    os.mkfifo(runs[1] / "plan.json")
    with pytest.raises(ArtifactError, match=r"plan\.json cannot be read: it is no file"):
        diff_runs(*runs)
    empty = runs[0].parent / "empty"
    empty.mkdir()
    with pytest.raises(ArtifactError, match="must be the folder of a run"):
        diff_runs(runs[0], empty)
