"""Cases are read from what is typed or from files, and each fault is named by its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix.errors import ConfigError
from helix.improve.cases import read_cases
from helix.improve.mark import files_digest


def test_ids_rows_and_tables_give_the_same_cases(tmp_path: Path) -> None:
    lines, table = tmp_path / "cases.jsonl", tmp_path / "cases.csv"
    lines.write_text('{"id": "a", "text": "one\\u2028two"}\n\n{"id": 7}\n', "utf-8")
    table.write_text('﻿id,text\na,"one\ntwo"\n7,\n', "utf-8")
    assert [case.id for case in read_cases(("a", "7"))] == ["a", "7"]
    first, second = read_cases(str(lines))
    assert first.input == {"id": "a", "text": "one\u2028two"}
    assert second.input == {"id": "7"}
    assert [dict(c.input) for c in read_cases(str(table))] == [
        {"id": "a", "text": "one\ntwo"},
        {"id": "7", "text": ""},
    ]
    assert read_cases("alone")[0].input == {"id": "alone"}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("c.jsonl", "[1]\n", "c.jsonl:1 must be a JSON object"),
        ("c.jsonl", '{"id": "a"}\n{"id": ', "c.jsonl:2 must be one JSON object"),
        ("c.jsonl", '{"id": "a"}\n{"id": "a"}\n', "c.jsonl:2: id must be there once"),
        ("c.jsonl", '{"id": null}\n', "c.jsonl:1: id must be a text"),
        ("c.jsonl", "\n", "holds no case"),
        ("c.csv", "name\na\n", "must have a column id"),
        ("c.csv", f"id,x\na,{'x' * 200_000}\n", "c.csv:2 must be rows of CSV: field larger"),
        ("c.jsonl", '{"id": "a", "x": NaN}\n', "c.jsonl:1 must be one JSON object: Out of range"),
        ("c.jsonl", '{"id": "a", "x": 1e999}\n', "c.jsonl:1 must be one JSON object: Out of range"),
        ("c.jsonl", '{"id": "a", "x": ' + "[" * 100_000, "c.jsonl:1 must be one JSON object"),
    ],
)
def test_a_file_of_cases_that_is_wrong_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=told):
        read_cases(str(tmp_path / name))


def test_no_cases_and_a_file_that_is_not_there_are_told() -> None:
    nothings: tuple[tuple[str, ...] | None, ...] = (None, ())
    for nothing in nothings:
        with pytest.raises(ConfigError, match=r"add improve\.cases="):
            read_cases(nothing)
    with pytest.raises(ConfigError, match=r"there is no file gone\.jsonl"):
        read_cases("gone.jsonl")


def test_the_digest_of_the_subjects_files_tells_content_and_names_apart(tmp_path: Path) -> None:
    agent, out = tmp_path / "agent", tmp_path / "agent" / "outputs"
    out.mkdir(parents=True)
    (agent / "a.py").write_text("1", "utf-8")
    glob = [str(agent / "**")]
    first = files_digest(glob, [out])
    (out / "run.json").write_text("written by Helix", "utf-8")
    (agent / "__pycache__").mkdir()
    (agent / "__pycache__" / "a.pyc").write_text("written by Python", "utf-8")
    assert files_digest(glob, [out]) == first
    (agent / "b.py").write_text("1", "utf-8")
    second = files_digest(glob, [out])
    (agent / "b.py").rename(agent / "c.py")
    assert len({first, second, files_digest(glob, [out])}) == 3
    assert files_digest([], [out]) is None
    with pytest.raises(ConfigError, match="names no file"):
        files_digest([str(agent / "*.txt")], [out])
