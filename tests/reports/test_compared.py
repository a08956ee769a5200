"""Two runs side by side: what their plans say in a few words; cells are read, and none is held."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import helix
from helix.errors import ArtifactError
from helix.reports.compared import comparison_json, told_value
from helix.reports.comparison import ABSENT, compare
from helix.runs import RunFiles

PIN = {"backend": "dispatch", "model": "Ada", "temperature": 0.0}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "none"),
        (ABSENT, "not recorded"),
        (3, "3"),
        ("strict", '"strict"'),
        ("ab" * 32, "abababababab"),
        ({"pin": PIN, "contextTokens": 128000, "aliases": []}, "dispatch, Ada"),
        ({"pin": {**PIN, "model": "\x1b[2J"}}, "dispatch, \\x1b[2J"),
        ({"kind": "all"}, '{"kind": "all"}'),
    ],
)
def test_a_value_of_a_plan_is_told_in_a_few_words(value: Any, told: str) -> None:
    assert told_value(value) == told


ROWS = {
    "answered": {"primitive": "presence", "field": "output.response"},
    "greets": {"primitive": "format-validity", "field": "output.response", "pattern": "(?s)Hi.*"},
}


def evaluated(folder: Path, name: str, count: int, every: int) -> RunFiles:
    """Evaluate traces of which each that `every` divides greets nobody."""
    rows = [
        {"criterion_id": at, "statement": "Pass = so.", "severity": "HIGH", "class": "code",
         "code_eval": row} for at, row in ROWS.items()
    ]  # fmt: skip
    suite = {"suite": "desk", "version": 1, "criteria": rows}
    (folder / "suite.yaml").write_text(json.dumps(suite), encoding="utf-8")
    with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as file:
        for at in range(count):
            words = "Hello." if at % every == 0 else "Hi!"
            output = {"response": f"{words} {at} {'It is written. ' * 20}"}
            trace = {"id": f"made-up-{at:05d}", "input": {"prompt": "Write."}, "output": output}
            file.write(json.dumps({"schemaVersion": "1.0", **trace}) + "\n")
    helix.evaluate(folder / f"{name}.jsonl", folder / "suite.yaml", run_dir=folder / name)
    return RunFiles(folder / name)


def test_a_trace_more_takes_little_of_its_verdicts_in_memory(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        runs = evaluated(folder, "a", count, 5), evaluated(folder, "b", count, 6)
        tracemalloc.start()
        try:
            found = compare(*runs)
            cells = sum(len(part) > 500 for part in comparison_json(found, ("a", "b")))
            taken = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert cells > count // 5, "each cell that moved is told"
        return taken

    few, many = 100, 500
    compare(evaluated(tmp_path, "a", 9, 2), evaluated(tmp_path, "b", 9, 3))  # What is loaded once.
    assert (peak(many) - peak(few)) / (many - few) < 700


def test_its_json_comes_in_pieces_and_is_one_document(tmp_path: Path) -> None:
    runs = evaluated(tmp_path, "a", 8, 2), evaluated(tmp_path, "b", 8, 3)
    for pair in (runs, (runs[0], runs[0])):
        pieces = list(comparison_json(compare(*pair), ("a", "b")))
        text = "".join(pieces)
        told = json.loads(text)
        assert text == json.dumps(told, indent=2) + "\n"
        assert len(pieces) == len(told["cells"]) + 2
        moved = [(cell["trace"][-1], cell["change"]) for cell in told["cells"]]
        assert [m for m in moved if m[1] != "wording"] == (
            [("2", "fixed"), ("3", "broken"), ("4", "fixed")] if pair is runs else []
        )


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([0, 1, 0], "the lines of 'made-up-00000' stand in two places"),
        ([0, 1, 2], "the manifest lacks the trace 'made-up-00002'"),
    ],
)
def test_lines_that_belong_nowhere_are_refused(tmp_path: Path, lines: list[int], text: str) -> None:
    run = evaluated(tmp_path, "a", 3, 2)
    for name, places in (("verdicts.jsonl", lines), ("manifest.jsonl", [0, 1])):
        held = (run.folder / name).read_bytes().splitlines(keepends=True)
        (run.folder / name).write_bytes(b"".join(held[at] for at in places))
    with pytest.raises(ArtifactError, match=text):
        compare(run, run)
