"""Label files: what is read and written, and what each bad row is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.errors import LabelError
from helix.labels import Label, load, read, write
from helix.labels.files import LONGEST_LINE
from helix.labels.record import WORDS
from helix.model.criterion import RefSpec


def row(**given: Any) -> dict[str, Any]:
    return {"trace": "t1", "criterion": "c1", "label": "pass", "rater": "ada", **given}


def written(path: Path, *rows: Any) -> Path:
    lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def problems(path: Path, **known: Any) -> list[str]:
    with pytest.raises(LabelError) as raised:
        load(path, **known)
    return [line.strip().removeprefix(f"{path}, ") for line in str(raised.value).splitlines()]


def test_a_label_is_read_as_it_was_written(tmp_path: Path) -> None:
    label = Label(
        trace="t1",
        criterion="c1",
        label="cannot-decide",
        refs=(RefSpec(obs="m3", path="text", value="yes, go ahead"),),
        note="the order is not shown",
        rater="ada",
        when="2026-05-04T09:30:00Z",
    )
    write(tmp_path / "labels.jsonl", [label])
    (line,) = (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {
        "schemaVersion": "1.0",
        "trace": "t1",
        "criterion": "c1",
        "label": "cannot-decide",
        "refs": [{"obs": "m3", "path": "text", "value": "yes, go ahead"}],
        "note": "the order is not shown",
        "rater": "ada",
        "when": "2026-05-04T09:30:00Z",
    }
    assert load(tmp_path / "labels.jsonl") == (label,)


texts = st.text(min_size=1, max_size=12)
labels = st.builds(
    Label,
    trace=texts,
    criterion=texts,
    label=st.sampled_from(WORDS),
    rater=texts,
    note=st.none() | st.text(st.characters(exclude_categories=())),
)


@given(st.lists(labels, max_size=8, unique_by=lambda label: (label.cell, label.rater)))
def test_any_labels_are_read_as_written_in_one_order(
    tmp_path_factory: pytest.TempPathFactory, found: list[Label]
) -> None:
    folder = tmp_path_factory.mktemp("labels")
    write(folder / "a", found)
    write(folder / "b", reversed(found))
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert sorted(map(repr, load(folder / "a"))) == sorted(map(repr, found))


def test_case_and_space_around_a_label_are_forgiven(tmp_path: Path) -> None:
    rows = [
        row(label=" Pass "),
        row(trace="t2", label="Cannot decide"),
        row(trace="t3", label="CANNOT_DECIDE"),
    ]
    found = load(written(tmp_path / "l", *rows))
    assert [label.label for label in found] == ["pass", "cannot-decide", "cannot-decide"]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (row(label="ok"), "label must be pass, fail or cannot-decide (got 'ok')"),
        (row(label=""), "label must be pass, fail or cannot-decide (got nothing)"),
        (row(label=None), "label must be pass, fail or cannot-decide (got nothing)"),
        (row(label=1), "label must be pass, fail or cannot-decide (got 1)"),
        ({"trace": "t1", "criterion": "c1", "label": "pass"}, "rater is missing"),
        (row(trace=12), "trace must be a text (got 12)"),
        (row(trace=""), "trace must not be empty"),
        (row(schemaVersion="2.0"), "schemaVersion must be 1.0 (got '2.0')"),
        (row(refs=[{"obs": "m1"}]), "refs.0.path is missing"),
        (row(sure=True), "a label has no key 'sure' (known: schemaVersion, trace, criterion, "),
        ("[1]", "must be an object (got [1])"),
        ('{"trace": ', "is no JSON ("),
        (json.dumps(row(label="x" * 10**6)), "label must be pass, fail or cannot-decide (got 'x"),
        (json.dumps(row())[:-1] + ', "label": "fail"}', "'label' must be said once"),
        (json.dumps(row(note=float("nan"))), "must not hold NaN or Infinity"),
        (json.dumps(row(note="x" * LONGEST_LINE)), "is longer than "),
    ],
    ids=lambda given: str(given)[:60],
)
def test_a_bad_row_says_what_is_wrong_and_where(bad: Any, told: str, tmp_path: Path) -> None:
    path = written(tmp_path / "labels.jsonl", row(trace="good"), bad)
    (problem,) = problems(path)
    assert problem.startswith(f"row 2: {told}") and len(problem) < 200
    assert [found.label.trace for found in read(path).rows] == ["good"]


def test_blank_lines_a_byte_order_mark_and_crlf_are_harmless(tmp_path: Path) -> None:
    text = "\ufeff" + json.dumps(row()) + "\r\n\r\n" + json.dumps(row(trace="t2")) + "\r\n"
    (tmp_path / "l").write_bytes(text.encode("utf-8"))
    assert [label.trace for label in load(tmp_path / "l")] == ["t1", "t2"]


def test_a_line_that_was_cut_off_is_told_as_such(tmp_path: Path) -> None:
    path = written(tmp_path / "l", row(), row(trace="t2"))
    path.write_bytes(path.read_bytes()[:-20])
    (problem,) = problems(path)
    assert problem.startswith("row 2: is no JSON (") and problem.endswith("it may be cut off")


def test_one_rater_labels_a_cell_once(tmp_path: Path) -> None:
    path = written(
        tmp_path / "l",
        row(),
        row(rater="ben", label="fail"),
        row(label="fail"),
        row(rater="ben", label="fail"),
    )
    assert problems(path) == [
        "2 problems in the labels:",
        "row 3: t1, c1 is labelled twice by ada, and differently: fail here, pass in row 1",
        "row 4: t1, c1 is labelled twice by ben: fail here and in row 2",
    ]


def test_two_files_of_one_rater_are_held_against_each_other(tmp_path: Path) -> None:
    one, other = written(tmp_path / "one", row()), written(tmp_path / "other", row(label="fail"))
    with pytest.raises(LabelError, match="other, row 1: t1, c1 is labelled twice by ada, and diff"):
        load([one, other])


def test_unknown_ids_are_problems_with_the_nearest_known_one(tmp_path: Path) -> None:
    path = written(tmp_path / "l", row(trace="outreach-01"), row(trace="zz", criterion="gaol"))
    assert problems(path, traces=["outreach-10", "outreach-001"], criteria=["c1", "goal"]) == [
        "3 problems in the labels:",
        "row 1: unknown trace 'outreach-01'; did you mean 'outreach-001'? (there are 2)",
        "row 2: unknown trace 'zz' (there are 2)",
        "row 2: unknown criterion 'gaol'; did you mean 'goal'? (there are 2)",
    ]


def test_many_problems_are_told_in_part_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "l", *[row(label="?") for _ in range(50)])
    told = problems(path)
    assert (told[0], len(told), told[-1]) == ("50 problems in the labels:", 22, "and 30 more")


def test_a_file_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match=r"none\.jsonl cannot be read: No such file"):
        load(tmp_path / "none.jsonl")


def test_after_a_line_that_is_too_long_reading_goes_on_with_the_next(tmp_path: Path) -> None:
    for size in (
        LONGEST_LINE - 1,
        LONGEST_LINE,
        LONGEST_LINE + 3,
        LONGEST_LINE + 4,
        LONGEST_LINE * 2,
    ):
        path = written(tmp_path / "l", row(), "x" * size, row(trace="t3"))
        found = read(path)
        assert [(item.label.trace, item.row) for item in found.rows] == [("t1", 1), ("t3", 3)]
        (problem,) = found.problems
        assert problem.text.startswith("is longer than") == (size >= LONGEST_LINE)
