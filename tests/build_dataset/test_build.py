"""Datasets of real runs: which rows there are and why, and that nothing is lost or moved."""

from __future__ import annotations

import datetime
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.build_dataset.store import folder_of
from helix.demo import generator
from helix.discover import discover
from helix.errors import ArtifactError, ConfigError, LabelError, SelectionError, TraceError
from helix.files import held
from helix.ingest import Input
from helix.model.config import Config
from helix.model.dataset import DatasetRow
from helix.model.splits import PARTS, split_of
from helix.model.trace import Trace
from helix.registry import load
from tests.audit.desk import desk_trace
from tests.build_dataset.desk import booked, built, evaluated, of_split, write


def whys(rows: Any) -> list[tuple[str, str, str | None]]:
    return sorted((row.trace_id, row.why, row.criterion_id or row.about) for row in rows)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One trace that passes, one that fails, one whose state nobody recorded, one cut off."""
    cut = booked(4)
    cut.metadata["truncated"] = True
    return evaluated(tmp_path, "a", booked(1), booked(2, fails=True), booked(3, state=None), cut)


def test_a_row_for_each_cell_that_fails_or_the_trace_leaves_open(tmp_path: Path, run: Path) -> None:
    found = built(tmp_path, run)
    assert whys(found.rows) == [
        ("t-2", "failing", "says-booked"),
        ("t-3", "uncertain", "confirmed"),
    ]
    assert found.figures.traces == 2
    assert found.figures.left_out == {"truncated": 2}, "a cut recording says nothing of the subject"


def test_a_row_says_why_it_is_there_and_where_it_was_seen(tmp_path: Path, run: Path) -> None:
    row = next(r for r in built(tmp_path, run).rows if r.why == "uncertain")
    assert (row.cause, row.result) == ("missing-field", "uncertain")
    assert row.blocked_by is not None and row.critique
    (source,) = row.sources
    plan = json.loads((run / "plan.json").read_text(encoding="utf-8"))
    assert (source.run, source.plan) == ("a", plan["digest"])
    manifest = (run / "manifest.jsonl").read_text(encoding="utf-8")
    assert row.trace_digest in manifest


def test_what_a_judge_saw_is_taken_and_what_it_could_not_answer_is_not(tmp_path: Path) -> None:
    lost = desk_trace("outage")
    lost.output["state"] = "confirmed"
    run = evaluated(tmp_path, "a", booked(1), lost, judged=True)
    found = built(tmp_path, run)
    assert whys(found.rows) == [("t-1", "candidate", "no date was told")]
    assert found.figures.left_out == {"malformed": 1}
    (row,) = found.rows
    assert [ref.value for ref in row.refs] == ["Your table"]
    assert built(tmp_path, run, include=["failing"], name="other").rows == []


def test_repeats_that_disagree_are_left_out(tmp_path: Path, run: Path) -> None:
    lines = [json.loads(x) for x in (run / "verdicts.jsonl").read_text("utf-8").splitlines()]
    lines = [line for line in lines if line["trajectoryId"] == "t-2"]
    (first,), second = lines, json.loads(json.dumps(lines[0]))
    second["replicate"] = 1
    second["denseMap"]["says-booked"] = "pass"
    text = json.dumps(first) + "\n" + json.dumps(second) + "\n"
    (run / "verdicts.jsonl").write_text(text, encoding="utf-8")
    found = built(tmp_path, run)
    assert (found.rows, found.figures.left_out) == ([], {"flapping": 1, "not adjudicated yet": 6})


def test_a_repeat_that_was_answered_speaks_for_one_that_an_outage_kept_from_it(
    tmp_path: Path, run: Path
) -> None:
    lines = [json.loads(x) for x in (run / "verdicts.jsonl").read_text("utf-8").splitlines()]
    second = next(line for line in lines if line["trajectoryId"] == "t-3")
    first = json.loads(json.dumps(second))
    first["verdicts"] = [v for v in first["verdicts"] if v["criterionId"] != "confirmed"]
    first["notAdjudicated"] = {"confirmed": "timeout"}
    second["replicate"] = 1
    text = json.dumps(first) + "\n" + json.dumps(second) + "\n"
    (run / "verdicts.jsonl").write_text(text, encoding="utf-8")
    found = built(tmp_path, run)
    assert whys(found.rows) == [("t-3", "uncertain", "confirmed")]
    assert found.figures.left_out == {"not adjudicated yet": 6}, "the traces that have no line"


def test_the_traces_are_canonical_and_every_split_can_be_evaluated(
    tmp_path: Path, run: Path
) -> None:
    found = built(tmp_path, run)
    seen = {}
    for part in PARTS:
        path = found.folder / "traces" / f"{part}.jsonl"
        traces = list(Input.open(str(path), "auto", load([]))) if path.exists() else []
        seen |= {trace.id: part for trace in traces if isinstance(trace, Trace)}
    assert seen == {"t-2": split_of("t-2", 0), "t-3": split_of("t-3", 0)}
    again = evaluated(tmp_path, "b", *[booked(2, fails=True)],
                      subject={"traces": str(found.folder / "traces")})  # fmt: skip
    assert whys(built(tmp_path, again).held.values()) == whys(found.rows)


def test_the_same_call_again_changes_no_byte(tmp_path: Path, run: Path) -> None:
    first = built(tmp_path, run)
    before = files(first.folder)
    second = built(tmp_path, run)
    assert (second.rows, second.figures.traces) == ([], 0)
    assert files(second.folder) == before


def test_runs_in_any_order_make_the_same_dataset(tmp_path: Path) -> None:
    one = evaluated(tmp_path, "a", booked(2, fails=True), booked(3, state=None))
    two = evaluated(tmp_path, "b", booked(2, fails=True), booked(5, fails=True))
    first = files(built(tmp_path, one, two).folder)
    other = built(tmp_path, two, one, name="other").folder
    second = {name: data.replace(b'"other"', b'"desk"') for name, data in files(other).items()}
    assert first == second
    row = next(r for r in rows_of(other) if r["traceId"] == "t-2")
    assert [source["run"] for source in row["sources"]] == ["a", "b"]


numbers = st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True)


@settings(max_examples=8, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=3), st.integers(0, 2))
def test_growth_drops_no_row_and_moves_no_trace(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("grown")
    before: dict[str, DatasetRow] = {}
    for at, batch in enumerate(batches):
        traces = [booked(n, fails=n % 2 == 0, state=None) for n in batch]
        run = evaluated(folder, f"r{at}", *traces)
        data = built(folder, run, seed=seed, include=["failing", "uncertain", "passing"])
        assert before.keys() <= data.held.keys()
        assert all(data.held[name].split == row.split for name, row in before.items())
        assert all(row.split == split_of(row.trace_id, seed) for row in data.held.values())
        assert {row.trace_id for row in data.held.values()} == data.traces.keys()
        before = dict(data.held)
    held_in = [{r.trace_id for r in before.values() if r.split == part} for part in PARTS]
    assert sum(map(len, held_in)) == len(set().union(*held_in)), "the splits are disjoint"


def test_as_many_pass_as_fail_in_each_split(tmp_path: Path) -> None:
    dev, test = of_split("dev", 6), of_split("test", 3)
    failing = [booked(n, fails=True) for n in (*dev[:2], *test[:2])]
    passing = [booked(n) for n in (*dev[2:], *test[2:])]
    run = evaluated(tmp_path, "a", *failing, *passing)
    found = built(tmp_path, run, include=["failing", "passing"])
    counts = {(row.why, row.split): 0 for row in found.rows}
    for row in found.rows:
        assert row.criterion_id == "says-booked", "nothing fails on the other row"
        counts[row.why, row.split] += 1
    assert counts == {("failing", "dev"): 2, ("failing", "test"): 2,
                      ("passing", "dev"): 2, ("passing", "test"): 1}  # fmt: skip
    assert found.figures.short == ("says-booked in test",)
    assert built(tmp_path, run, include=["failing", "passing"]).rows == []


def test_a_cell_that_fails_in_one_run_is_no_passing_one_of_another(tmp_path: Path) -> None:
    number = of_split("dev", 1)[0]
    one = evaluated(tmp_path, "a", booked(number, fails=True))
    two = evaluated(tmp_path, "b", booked(number))
    with pytest.raises(TraceError, match="two runs speak of different traces"):
        built(tmp_path, one, two, include=["failing", "passing"], pick=["t-*"])


def test_a_trace_more_takes_little_of_its_size_in_memory(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        traces = [booked(n, fails=n % 3 == 0, state=None) for n in range(count)]
        for trace in traces:
            trace.output["notes"] = "It is written. " * 1_000
        run = evaluated(tmp_path, f"of-{count}", *traces)
        del traces
        tracemalloc.start()
        try:
            found = built(tmp_path, run, name=f"of-{count}", include=["uncertain", "passing"])
            taken = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert found.figures.traces == count
        return taken

    few, many = 100, 300
    built(tmp_path, evaluated(tmp_path, "first", booked(1, fails=True)))  # What is loaded once.
    assert (peak(many) - peak(few)) / (many - few) < 1_000


def test_what_a_killed_build_left_is_cleared_and_nothing_is_left_beside(
    tmp_path: Path, run: Path
) -> None:
    folder = built(tmp_path, run).folder
    before = files(folder)
    (folder / f".scratch.{'0' * 12}.tmp").write_bytes(b"half")
    built(tmp_path, run)
    assert files(folder) == before


def test_hand_picked_traces_come_from_runs_or_from_files(tmp_path: Path, run: Path) -> None:
    assert whys(built(tmp_path, run, include=[], pick=["t-1"]).rows) == [("t-1", "picked", None)]
    path = write(tmp_path / "more.jsonl", booked(7), booked(8), booked(17))
    found = built(tmp_path, pick=["t-?"], subject={"traces": str(path)})
    assert whys(found.rows) == [("t-7", "picked", None), ("t-8", "picked", None)]
    assert found.rows[0].sources == ()
    assert whys(found.held.values())[0] == ("t-1", "picked", None)
    with pytest.raises(SelectionError, match=r"dataset\.pick: no trace has the id 't-9'"):
        built(tmp_path, pick=["t-9"], subject={"traces": str(path)})


def test_a_trace_that_changed_since_the_run_is_refused(tmp_path: Path, run: Path) -> None:
    write(tmp_path / "a.jsonl", booked(2, fails=True, state="else"), booked(3, state=None))
    with pytest.raises(TraceError, match=r"'t-2' in .* has changed since the run a"):
        built(tmp_path, run)
    write(tmp_path / "a.jsonl", booked(3, state=None))
    with pytest.raises(ArtifactError, match="lacks traces of the runs: t-2"):
        built(tmp_path, run)
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(TraceError):
        built(tmp_path, run)
    assert not (tmp_path / "state" / "datasets" / "desk" / "rows.jsonl").exists()


def test_traces_that_moved_are_found_where_one_says(tmp_path: Path, run: Path) -> None:
    (tmp_path / "a.jsonl").rename(tmp_path / "moved.jsonl")
    found = built(tmp_path, run, subject={"traces": str(tmp_path / "moved.jsonl")})
    assert found.figures.traces == 2


def test_what_is_in_the_dataset_is_not_read_again(tmp_path: Path, run: Path) -> None:
    built(tmp_path, run)
    (tmp_path / "a.jsonl").unlink()
    assert built(tmp_path, run).rows == []


def test_another_trace_of_an_id_that_is_there_is_refused(tmp_path: Path, run: Path) -> None:
    before = files(built(tmp_path, run).folder)
    other = evaluated(tmp_path, "b", booked(2, fails=True, state="else"))
    with pytest.raises(ArtifactError, match="'t-2' is another than the one of that id"):
        built(tmp_path, other)
    assert files(tmp_path / "state" / "datasets" / "desk") == before


def test_labels_of_its_traces_are_kept_with_it_and_stand_beside_its_rows(
    tmp_path: Path, run: Path
) -> None:
    path = tmp_path / "labels.jsonl"
    rows = [("t-2", "says-booked", "fail", "ann"), ("t-1", "says-booked", "pass", "ann"),
            ("t-3", "confirmed", "pass", "ann"), ("t-3", "confirmed", "fail", "bo")]  # fmt: skip
    keys = ("trace", "criterion", "label", "rater")
    text = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    found = built(tmp_path, run, labels=[str(path)])
    words = {(row.trace_id, row.criterion_id): row.human for row in found.held.values()}
    assert words == {("t-2", "says-booked"): "fail", ("t-3", "confirmed"): None}, "one is disputed"
    assert found.figures.labels == 3, "t-1 is not in the dataset"
    before = files(found.folder)
    assert files(built(tmp_path, run).folder) == before
    path.write_text(text.replace('"fail", "rater": "ann"', '"pass", "rater": "ann"'), "utf-8")
    with pytest.raises(LabelError, match="labelled twice by ann, and differently"):
        built(tmp_path, run, labels=[str(path)])


def test_tasks_stay_as_somebody_filled_them(tmp_path: Path) -> None:
    first = built(tmp_path, dimensions={"who": ["new", "old"], "what": ["book", "cancel"]})
    assert first.figures.tasks == 4
    path = first.folder / "tasks.jsonl"
    path.write_text(path.read_text("utf-8").replace('"prompt":null', '"prompt":"Hi"'), "utf-8")
    second = built(tmp_path, dimensions={"who": ["new", "old", "lost"], "what": ["book", "cancel"]})
    assert second.figures.tasks == 2
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert sorted(str(line["prompt"]) for line in lines) == ["Hi"] * 4 + ["None"] * 2
    assert all(line["split"] == split_of(line["id"], 0) for line in lines)


def test_discovery_gives_rows_too(tmp_path: Path) -> None:
    generator.write(tmp_path / "demo.jsonl")
    config = Config.model_validate(
        {"subject": {"traces": str(tmp_path / "demo.jsonl")}, "judge": {"backend": "none"},
         "paths": {"state": str(tmp_path / "state")}}
    )  # fmt: skip
    now = datetime.datetime(2026, 5, 4, tzinfo=datetime.UTC)
    discover(config, run_dir=tmp_path / "found", now=now)
    found = built(tmp_path, tmp_path / "found")
    assert {row.why for row in found.rows} >= {"failing"}
    assert all(row.about or row.critique for row in found.rows)
    assert found.figures.record.runs[0].command == "discover"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"name": None}, r"dataset\.name must be .* \(got nothing\)"),
        ({"name": "../x"}, r"dataset\.name must be .* \(got '\.\./x'\)"),
        ({}, r"dataset\.runs must name a run's folder"),
        ({"pick": ["t-1"]}, r"dataset\.pick must have traces to pick from"),
        ({"dimensions": {"a": []}}, r"dataset\.dimensions\.a must list values"),
        ({"dimensions": {"a": ["x", "x"]}}, r"dataset\.dimensions\.a must list each value once"),
        ({"dimensions": {c: [str(n) for n in range(13)] for c in "abc"}}, "at most 2,000 tuples"),
    ],
)
def test_what_makes_no_dataset_is_told(tmp_path: Path, given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        built(tmp_path, **given)


def test_a_folder_that_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"dataset\.runs: .* \(no scorecard\.json\)"):
        built(tmp_path, tmp_path)


def test_a_dataset_keeps_its_seed_and_its_folder_is_held(tmp_path: Path, run: Path) -> None:
    found = built(tmp_path, run)
    with pytest.raises(ConfigError, match=r"dataset\.seed must be 0, .* \(got 1\)"):
        built(tmp_path, run, seed=1)
    with held(found.folder), pytest.raises(ConfigError.__base__, match="writing to the dataset"):
        built(tmp_path, run)


@pytest.mark.parametrize(
    ("file", "old", "new", "text"),
    [
        ("rows.jsonl", '"split":"', '"split":"x', r"rows\.jsonl:1 is damaged"),
        ("dataset.json", '"1.0"', '"2.0"', r"must have schemaVersion 1\.0 \(got 2\.0\)"),
        ("dataset.json", '"seed"', '"sead"', r"dataset\.json is damaged"),
        ("traces/{part}.jsonl", '"t-2"', '"t-99"', "'t-99' does not belong|is lost"),
        ("traces/{part}.jsonl", '{"', '{{"', r"jsonl:1 is damaged"),
    ],
)
def test_a_damaged_dataset_is_told_with_file_and_line(
    tmp_path: Path, run: Path, file: str, old: str, new: str, text: str
) -> None:
    folder = built(tmp_path, run).folder
    path = folder / file.format(part=split_of("t-2", 0))
    whole = path.read_text(encoding="utf-8")
    assert old in whole
    path.write_text(whole.replace(old, new), encoding="utf-8")
    with pytest.raises(ArtifactError, match=text):
        built(tmp_path, run)


def test_a_dataset_without_its_record_loses_no_row(tmp_path: Path, run: Path) -> None:
    folder = built(tmp_path, run, dimensions={"who": ["new", "old"], "what": ["book"]}).folder
    (tasks := folder / "tasks.jsonl").write_text(
        tasks.read_text(encoding="utf-8").replace('"notes":null', '"notes":"mine"'),
        encoding="utf-8",
    )
    names = ("rows.jsonl", "tasks.jsonl", *(f"traces/{p}.jsonl" for p in ("train", "dev", "test")))
    before = [(folder / n).read_bytes() for n in names if (folder / n).exists()]
    (folder / "dataset.json").unlink()
    built(tmp_path, dimensions={"who": ["new"], "what": ["book"]})
    assert [(folder / n).read_bytes() for n in names if (folder / n).exists()] == before
    assert (folder / "dataset.json").exists()


def test_a_row_that_was_moved_to_another_split_is_refused(tmp_path: Path, run: Path) -> None:
    path = built(tmp_path, run).folder / "rows.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[0]["split"] = "train"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"rows\.jsonl:1: split must be .* nothing moves"):
        built(tmp_path, run)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "A", "-a", "a" * 65, "a b", "ä"])
def test_a_name_that_could_be_another_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        folder_of(tmp_path, name)
