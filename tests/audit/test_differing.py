"""Every place where two runs differ, whose words it is, and in nothing but their order."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.audit import diff_runs
from helix.audit.differing import SAMPLES, differing
from helix.errors import ArtifactError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=8,
)
LINES = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from("xyz"), "more": VALUES}), min_size=1, max_size=4
)


def run(folder: Path, **artifacts: Any) -> Path:
    """Write a run; the artifact `verdicts` is lines, each other one a document."""
    folder.mkdir()
    for name, value in artifacts.items():
        lines = value if name in ("verdicts", "manifest") else [value]
        suffix = "jsonl" if lines is value else "json"
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8")
    return folder


def found(folder: Path, one: Any, other: Any, name: str = "subject") -> list[tuple[Any, ...]]:
    a, b = run(folder / "a", **{name: one}), run(folder / "b", **{name: other})
    return [(g.path, g.kind, g.count, g.line, g.samples[0]) for g in differing(a, b).values()]


def test_places_of_one_path_are_taken_together(tmp_path: Path) -> None:
    one = {"x": [{"y": 1, "z": 0}, {"y": 2, "z": 0}], "w": "same"}
    other = {"x": [{"y": 3, "z": 0}, {"y": 4, "z": 0}], "w": "same"}
    assert found(tmp_path, one, other) == [("x[*].y", "value", 2, None, ("1", "3"))]


@pytest.mark.parametrize(
    ("one", "other", "path", "kind"),
    [
        ({"x": [1, 2]}, {"x": [2, 1]}, "x", "order"),
        ({"x": [1, 2]}, {"x": [2, 2]}, "x[*]", "value"),
        ({"x": 1}, {}, "x", "missing"),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, "", "order"),
        ({"x": 1.0}, {"x": 1}, "x", "value"),
    ],
)
def test_what_a_place_is_like_is_told(
    tmp_path: Path, one: Any, other: Any, path: str, kind: str
) -> None:
    assert [(place[0], place[1]) for place in found(tmp_path, one, other)] == [(path, kind)]


def test_lines_in_another_order_differ_in_nothing_else(tmp_path: Path) -> None:
    lines = [{"id": name, "n": number} for number, name in enumerate("abcd")]
    assert found(tmp_path, lines, lines[::-1], "manifest") == [("", "order", 1, 1, ("a", "d"))]


def test_a_line_that_one_run_lacks_moves_no_other(tmp_path: Path) -> None:
    lines = [{"id": name, "n": number} for number, name in enumerate("abcd")]
    places = found(tmp_path, lines, lines[1:], "manifest")
    assert [(path, kind, line) for path, kind, _, line, _ in places] == [("", "missing", 1)]


def test_repeats_of_one_trace_are_told_apart_by_their_order(tmp_path: Path) -> None:
    lines = [{"trajectoryId": "a", "replicate": n, "x": n} for n in range(3)]
    other = [*lines[:2], {**lines[2], "x": 9}]
    assert found(tmp_path, lines, other, "verdicts") == [("x", "value", 1, 3, ("2", "9"))]


@pytest.mark.parametrize("end", ["", "\r\n", " \n", "\n\n"])
def test_what_ends_a_line_counts_too(tmp_path: Path, end: str) -> None:
    a, b = (run(tmp_path / name, verdicts=[{"id": "x"}, {"id": "y"}]) for name in "ab")
    lines = (b / "verdicts.jsonl").read_bytes()
    (b / "verdicts.jsonl").write_bytes(lines.removesuffix(b"\n") + end.encode())
    (group,) = differing(a, b).values()
    assert (group.artifact, group.count) == ("verdicts.jsonl", 1)
    assert [one.artifact for one in diff_runs(a, b).different] == ["verdicts.jsonl"]


def test_an_artifact_that_is_no_file_cannot_be_compared(tmp_path: Path) -> None:
    a, b = (run(tmp_path / name, subject={"x": 1}) for name in "ab")
    (b / "subject.json").unlink()
    os.mkfifo(b / "subject.json")
    with pytest.raises(ArtifactError, match=r"subject\.json cannot be read: it is no file"):
        differing(a, b)


def test_what_a_judge_said_is_told_from_what_code_said(tmp_path: Path) -> None:
    def line(mark: str) -> dict[str, Any]:
        verdicts = [
            {"criterionId": "c", "critique": mark, "producedBy": "code"},
            {"criterionId": "j", "critique": mark},
            {"criterionId": "h", "critique": mark, "producedBy": "hybrid"},
        ]
        cells = {"c": mark, "j": mark, "h": mark}
        return {"trajectoryId": "t", "verdicts": verdicts, "denseMap": cells, "judgeSteps": [mark]}

    a, b = (run(tmp_path / mark, verdicts=[line(mark)]) for mark in "ab")
    judged = {(g.path, g.judged): g.count for g in differing(a, b).values()}
    assert judged == {
        ("verdicts[*].critique", False): 1,
        ("verdicts[*].critique", True): 2,
        ("denseMap.c", False): 1,
        ("denseMap.j", True): 1,
        ("denseMap.h", True): 1,
        ("judgeSteps[*]", True): 1,
    }


def test_many_places_are_counted_and_some_are_kept(tmp_path: Path) -> None:
    a = run(tmp_path / "a", subject={"x": list(range(1000))})
    b = run(tmp_path / "b", subject={"x": list(range(1, 1001))})
    (group,) = differing(a, b).values()
    assert (group.count, len(group.samples)) == (1000, SAMPLES)


@given(VALUES, VALUES, LINES, LINES)
@settings(max_examples=60, derandomize=True)
def test_a_place_is_found_exactly_where_the_runs_are_not_the_same_bytes(
    one: Any, other: Any, ones: list[Any], others: list[Any]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        a = run(Path(folder) / "a", subject=one, manifest=ones)
        b = run(Path(folder) / "b", subject=other, manifest=others)
        places = {group.artifact for group in differing(a, b).values()}
        assert places == {artifact.artifact for artifact in diff_runs(a, b).different}
        assert differing(a, a) == {}
