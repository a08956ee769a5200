"""Damaged and hostile bytes: a failure that is named, never a crash and never a lost label."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes, registry

from helix.errors import HelixError
from helix.ingest import Input
from helix.model.canonical import canonical_text
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Match, Record

SAMPLES = (
    "tau_bench_airline_gpt4o/task39_trial2_reward0.json",
    "agentrx_tau_retail/task012_reward0.json",
)
EDITS = (b"", b"\x00", b"\xff", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\ud83d", b"NaN",
         b"null", b"1e999", b"\n", b"-", b"{}", b'"role"', b'"id"')  # fmt: skip


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Cut, copy or replace a few stretches of the bytes."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data))
        end = min(len(data), start + rng.choice((0, 1, 2, 30, 400)))
        data = data[:start] + rng.choice((*EDITS, data[start:end] * 2)) + data[end:]
    return data if rng.random() > 0.1 else data[: rng.randrange(len(data))]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("form", ["document", "lines", "list"])
def test_any_damage_to_a_real_run_is_a_failure_or_a_trace_that_can_be_used(
    shared: Path, tmp_path: Path, name: str, form: str
) -> None:
    run = json.loads((shared / "traces" / name).read_text(encoding="utf-8"))
    data = {
        "document": json.dumps(run, indent=1),
        "lines": "\n".join([json.dumps(run)] * 2),
        "list": json.dumps([run] * 2),
    }[form].encode()
    rng = random.Random(f"{name} {form}")
    formats = registry()
    failed = 0
    for _ in range(150):
        (tmp_path / "t.json").write_bytes(mutated(data, rng))
        items = list(Input.open(str(tmp_path), "auto", formats))
        assert items
        for item in items:
            if isinstance(item, Trace):
                json.loads(canonical_text(item.to_dict()))
            else:
                failed += 1
                assert item.reason
                assert item.line >= 0
                assert "cannot read it" not in item.reason, item.reason
    assert failed


STRANGE = (None, True, 0, -1.5, "", "x", [], {}, [None], ["x"], {"a": [1]})


@pytest.mark.parametrize("name", SAMPLES)
def test_any_value_in_any_kind_of_place_is_a_failure_or_a_trace(
    shared: Path, tmp_path: Path, name: str
) -> None:
    text = (shared / "traces" / name).read_text(encoding="utf-8")
    formats = registry()
    kinds = list(places(json.loads(text)))
    assert len(kinds) > 30
    for place in kinds:
        for strange in STRANGE:
            run = json.loads(text)
            *steps, last = place
            holder = run
            for step in steps:
                holder = holder[step]
            holder[last] = strange
            (tmp_path / "t.json").write_text(json.dumps(run), encoding="utf-8")
            for item in Input.open(str(tmp_path), "auto", formats):
                if isinstance(item, Trace):
                    json.loads(canonical_text(item.to_dict()))
                else:
                    assert "cannot read it" not in item.reason, (place, strange, item.reason)


def places(value: Any) -> list[tuple[Any, ...]]:
    """One address of each kind of place inside a value: positions in lists are one kind."""
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    pending: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while pending:
        at, holder = pending.pop()
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            address = (*at, key)
            found[tuple(0 if isinstance(s, int) else s for s in address)] = address
            if isinstance(holder[key], dict | list):
                pending.append((address, holder[key]))
    return list(found.values())


MARK = "the-right-answer"


@pytest.mark.parametrize("index", [None, 1])
def test_no_label_of_a_run_reaches_what_a_judge_or_criterion_can_see(
    tmp_path: Path, index: int | None
) -> None:
    numbered = {} if index is None else {"index": index}
    run = {
        "task_id": 1,
        "trial": 2,
        "reward": MARK,
        "info": {
            "task": {"actions": [MARK], "outputs": [MARK], "instruction": MARK, "user_id": MARK},
            "reward_info": {"reward": 1.0, "info": {"r_actions": MARK}, "actions": [MARK]},
            "source": "user",
            "ground_truth": MARK,
        },
        "scores": [MARK],
        "extra": [{"Final answer": MARK, "kept": 1}],
        "traj": [{"role": "user", "content": "hello", **numbered}],
    }
    traces, failures = read_bytes(json.dumps(run).encode(), tmp_path, "t.json")
    assert failures == []
    trace = traces[0]
    addressable = ("input", "output", "observations", "transcript", "metadata", "usage", "raw")
    assert MARK not in json.dumps([trace.part(root) for root in addressable])
    assert json.dumps(trace.labels).count(MARK) == json.dumps(run).count(MARK)
    assert trace.raw["info"] == {"source": "user"}
    assert trace.raw["extra"] == [{"kept": 1}]


def test_a_format_that_breaks_costs_its_record_and_nothing_else(tmp_path: Path) -> None:
    def read(records: Sequence[Record]) -> Any:
        if records[0].value["n"] == 2:
            raise KeyError("oops")
        return []

    fragile = Format(
        "fragile", "1", lambda v: Match("n", specificity=9) if "n" in v else None, read
    )
    _, failures = read_bytes(b'{"n": 1}\n{"n": 2}\n{"n": 3}', tmp_path, "t.jsonl", fragile)
    assert [(f.line, f.reason) for f in failures] == [
        (2, "fragile cannot read it (KeyError: 'oops')")
    ]


def test_a_format_that_cannot_look_is_named_where_nothing_else_fits(tmp_path: Path) -> None:
    def look(value: Any) -> Match | None:
        raise RuntimeError("blind")

    blind = Format("blind", "1", look, lambda records: [])
    good = b'[{"role": "user", "content": "x"}]'
    assert len(read_bytes(good, tmp_path, "t.json", blind)[0]) == 1
    _, failures = read_bytes(b'{"foo": 1}', tmp_path, "t.json", blind)
    assert "blind could not look at it (RuntimeError: blind)" in failures[0].reason


def test_two_formats_that_fit_equally_are_not_chosen_between(tmp_path: Path) -> None:
    def twin(name: str, specificity: int) -> Format:
        match = Match("a twin", specificity=specificity)
        return Format(name, "1", lambda value: match, lambda records: [])

    data = b'{"foo": 1}\n{"foo": 2}'
    _, failures = read_bytes(data, tmp_path, "t.jsonl", twin("x", 5), twin("y", 5))
    assert "several trace formats fit: x (a twin), y (a twin)" in failures[0].reason
    assert read_bytes(data, tmp_path, "t.jsonl", twin("x", 5), twin("y", 6))[1] == []


def test_a_format_of_the_whole_file_gets_every_record_at_once(tmp_path: Path) -> None:
    seen: list[list[int]] = []

    def read(records: Sequence[Record]) -> Any:
        seen.append([record.value["n"] for record in records])
        return [LoadFailure(file="f", line=0, reason="none")]

    whole = Format(
        "whole", "1", lambda v: Match("n", specificity=9) if "n" in v else None, read, True
    )
    _, failures = read_bytes(b'{"n": 1}\noops\n{"n": 3}', tmp_path, "t.jsonl", whole)
    assert seen == [[1, 3]]
    assert [f.line for f in failures] == [2, 0]


@pytest.mark.parametrize("form", ["list", "lines"])
def test_memory_follows_the_largest_record_and_not_the_file(tmp_path: Path, form: str) -> None:
    text = "x" * 60_000
    record = {"schemaVersion": "1.0", "input": {"prompt": text}, "output": {"response": "ok"}}
    path = tmp_path / "big.json"
    count = 1000
    opened, between, closed = ("[", ",", "]") if form == "list" else ("", "\n", "")
    with path.open("w", encoding="utf-8") as file:
        file.write(opened)
        for i in range(count):
            file.write((between if i else "") + json.dumps({**record, "id": f"t{i}"}))
        file.write(closed)
    assert path.stat().st_size > 60_000_000
    formats = registry()
    formats.items("formats")
    tracemalloc.start()
    try:
        read = sum(isinstance(item, Trace) for item in Input.open(str(path), "auto", formats))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read == count
    assert peak < 8 << 20


def test_one_error_type_leaves_ingest(tmp_path: Path) -> None:
    for data in (b"\xff\xfe\x00", b"[[[[", b"null", b"5", b'"text"', b"[1, 2]", b"[null]"):
        path = tmp_path / "t.json"
        path.write_bytes(data)
        with pytest.raises(HelixError):
            list(Input.open(str(path), "auto", registry()))


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        ('{"total": NaN}', ("non-finite-number",)),
        ("[1, -Infinity]", ("non-finite-number",)),
        ('{"name": "\\ud83d"}', ("lone-surrogate",)),
        ('{"name": "\\uD83D"}', ("lone-surrogate",)),
        ('{"name": "\\ud83d\\ude00", "NaN": 1}', ()),
        ("NaN is not a number, \\ud83d is text", ()),
    ],
)
def test_what_only_a_result_spells_is_flagged_though_nobody_read_it(
    tmp_path: Path, content: str, flags: tuple[str, ...]
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": content},
    ]
    traces, failures = read_bytes(json.dumps({"id": "t", "messages": messages}).encode(), tmp_path)
    assert failures == []
    assert traces[0].flags == flags
