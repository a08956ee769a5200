"""The canonical record: what is written reads back the same, what is left out is assigned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_of import read_bytes, read_value

from helix.errors import FormatError
from helix.ingest import from_dict, normalised_id
from helix.model.trace import FLAGS, Message, Observation, Source, Trace

SOURCE = Source("traces.jsonl", 1, "helix", "0" * 64)


def trace_of(record: dict[str, Any]) -> Trace:
    return from_dict({"output": {}, **record}, SOURCE)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ID = TEXT.map(str.strip).filter(bool)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
RECORD = OBJECT | st.lists(JSON, max_size=3)
FLAG = st.lists(st.sampled_from(FLAGS), unique=True, max_size=3)
TIME = st.none() | st.integers(0, 2**63)


@st.composite
def inputs(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.integers(0, 2))
    value = draw(RECORD)
    if kind == 0:
        return {"input": value}
    return {"input_text": json.dumps(value), **({"input": value} if kind == 1 else {})}


@st.composite
def outputs(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.integers(0, 3))
    value = draw(RECORD)
    return [{}, {"output": value}, {"output_text": draw(TEXT)}, {"output_text": json.dumps(value)}][
        kind
    ]


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    ids = draw(st.lists(ID, min_size=1, max_size=7, unique=True))
    trace_id, *rest = ids
    seqs = sorted(draw(st.sets(st.integers(0, 99), min_size=len(rest), max_size=len(rest))))
    observations, transcript = [], []
    for taken, seq in zip(rest, seqs, strict=True):
        if draw(st.booleans()):
            observations.append(
                Observation(
                    taken,
                    seq,
                    draw(TEXT),
                    draw(st.sampled_from(["TOOL", "EVENT", "SPAN"])),
                    **draw(inputs()),
                    **draw(outputs()),
                    error=draw(st.none() | TEXT),
                    level=draw(st.none() | TEXT),
                    status=draw(st.none() | TEXT),
                    start_time=draw(TIME),
                    end_time=draw(TIME),
                    parent_id=draw(st.none() | st.just(rest[0])) if taken != rest[0] else None,
                    flags=draw(FLAG),
                )
            )
        else:
            named = tuple(draw(st.lists(ID, max_size=2)))
            transcript.append(
                Message(taken, seq, draw(TEXT), draw(TEXT), named, draw(st.booleans()))
            )
    return Trace(
        id=trace_id,
        source=SOURCE,
        input=draw(JSON),
        output=draw(JSON),
        observations=observations,
        transcript=transcript,
        route=draw(st.none() | TEXT),
        metadata=draw(OBJECT),
        usage=draw(OBJECT),
        flags=tuple(draw(FLAG)),
        labels=draw(OBJECT),
        task=draw(st.none() | ID),
        _raw=draw(OBJECT),
    )


@settings(max_examples=150, deadline=None)
@given(traces())
def test_what_to_dict_writes_reads_back_the_same(trace: Trace) -> None:
    record = trace.to_dict()
    again = from_dict(json.loads(json.dumps(record)), SOURCE)
    assert again.to_dict() == record
    assert again.all_flags == trace.all_flags


def test_what_was_left_out_is_assigned_and_said(tmp_path: Path) -> None:
    record = {
        "transcript": [
            {"role": "user", "text": "go"},
            {"role": "assistant", "text": "", "observationIds": ["a"]},
            {"role": "assistant", "text": "done"},
        ],
        "observations": [{"id": "a", "name": "f"}],
    }
    trace = read_value(record, tmp_path)
    assert trace.id == f"trace-{trace.source.digest[:12]}"
    assert trace.flags == ("derived-id",)
    assert [(m.id, m.seq) for m in trace.transcript] == [("m0", 0), ("m1", 1), ("m2", 3)]
    assert [(o.seq, o.type, o.input, o.has_output) for o in trace.observations] == [
        (2, "TOOL", {}, False)
    ]
    assert trace.observations[0].flags == ()


def test_calls_that_no_message_names_have_no_certain_place_among_messages() -> None:
    said = [{"role": "user", "text": "yes"}]
    done = [{"id": "a", "name": "f"}, {"id": "b", "name": "g", "parentId": "m"}]
    trace = trace_of({"id": "t", "transcript": [{**said[0], "id": "m"}], "observations": done})
    assert {o.id: o.flags for o in trace.observations} == {"a": ("ambiguous-order",), "b": ()}
    assert trace_of({"id": "t", "observations": done[:1]}).all_flags == ()


@pytest.mark.parametrize(
    ("done", "order", "flags"),
    [
        ([("a", 2, None), ("b", 1, None)], ["b", "a"], {}),
        ([("a", 1, None), ("b", 1, None)], ["a", "b"], dict.fromkeys("ab", "ambiguous-order")),
        ([("a", 1, "b"), ("b", 1, None)], ["b", "a"], {}),
        ([("a", 1, "zz"), ("b", 2, None)], ["a", "b"], {"a": "parent-missing"}),
        ([("a", 1, "b"), ("b", 2, "a")], ["a", "b"], {"a": "parent-cycle", "b": "parent-cycle"}),
        ([("a", 1, "a")], ["a"], {"a": "parent-cycle"}),
        ([("b", None, None), ("a", 1, None)], ["b", "a"], {}),
    ],
)  # fmt: skip
def test_time_orders_then_parents_and_what_is_open_is_flagged(
    done: list[Any], order: list[str], flags: dict[str, str]
) -> None:
    observations = [{"id": i, "name": "f", "startTime": t, "parentId": p} for i, t, p in done]
    trace = trace_of({"id": "t", "observations": observations})
    assert [o.id for o in trace.observations] == order
    assert {o.id: o.flags[0] for o in trace.observations if o.flags} == flags


def test_equal_seqs_are_an_order_that_is_not_known() -> None:
    record = {
        "id": "t",
        "transcript": [{"role": "user", "text": "yes", "seq": 1}],
        "observations": [{"id": "a", "name": "f", "seq": 1}, {"id": "b", "name": "f", "seq": 2}],
    }
    assert [o.flags for o in trace_of(record).observations] == [("ambiguous-order",), ()]


def test_unknown_keys_are_kept_under_raw_and_ground_truth_under_labels() -> None:
    trace = trace_of(
        {
            "id": "t",
            "raw": {"own": 1},
            "vendor": {"x": 1},
            "reward": 1.0,
            "observations": [{"id": "a", "name": "f", "cost": 3}],
            "transcript": [{"role": "user", "text": "x", "mood": "good", "observationIds": ["a"]}],
        }
    )
    assert trace.raw == {
        "own": 1,
        "vendor": {"x": 1},
        "observations[0]": {"cost": 3},
        "transcript[0]": {"mood": "good"},
    }
    assert trace.labels == {"reward": 1.0}


def test_repeated_ids_get_a_suffix_and_a_flag() -> None:
    trace = trace_of(
        {"id": "t", "observations": [{"id": i, "name": "f"} for i in ("a", "a", "t", "a#2")]}
    )
    assert [o.id for o in trace.observations] == ["a", "a#2", "t#2", "a#2#2"]
    assert [o.flags for o in trace.observations] == [(), *[("duplicate-id",)] * 3]


def test_text_for_input_and_output_is_decoded_like_a_source() -> None:
    call = {"id": "a", "name": "f", "input": '{"q": 1}', "output": "22 m"}
    found = trace_of({"observations": [call]}).observations[0]
    assert (found.input, found.input_text) == ({"q": 1}, '{"q": 1}')
    assert (found.output, found.output_text) == ({"text": "22 m"}, "22 m")
    call = {"id": "a", "name": "f", "inputText": "{bad", "outputText": "[1]"}
    found = trace_of({"observations": [call]}).observations[0]
    assert (found.input, found.output, found.flags) == ("{bad", [1], ("invalid-arguments",))


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ([], "a trace must be an object with input, observations, output, transcript"),
        ({"id": "x"}, "an object with keys id"),
        ({"input": 1, "schemaVersion": "2.0"}, "schemaVersion must be 1.x (got '2.0')"),
        ({"input": 1, "schemaVersion": 1}, "schemaVersion must be 1.x (got 1)"),
        ({"input": 1, "flags": "truncated"}, "flags must be a list of text (got 'truncated')"),
        ({"input": 1, "metadata": []}, "metadata must be an object (got [])"),
        ({"observations": {}}, "observations must be a list of objects (got {})"),
        ({"observations": [1]}, "observations[0] must be an object (got 1)"),
        ({"observations": [{"id": "a"}]}, "observations[0].name must be text (got nothing)"),
        (
            {"observations": [{"name": "f", "seq": "1"}]},
            "observations[0].seq must be an integer (got '1')",
        ),
        (
            {"observations": [{"name": "f", "startTime": 1.5}]},
            "observations[0].startTime must be an integer (got 1.5)",
        ),
        (
            {"observations": [{"name": "f", "seq": 1}, {"name": "f"}]},
            "seq must be given for every message and observation or for none "
            "(missing: observations[1])",
        ),
        ({"transcript": [{"text": "x"}]}, "transcript[0].role must be text (got nothing)"),
        (
            {"transcript": [{"role": "user", "control": "no"}]},
            "transcript[0].control must be true or false (got 'no')",
        ),
    ],
)  # fmt: skip
def test_a_field_of_a_wrong_kind_is_named_with_what_it_must_be(record: Any, told: str) -> None:
    with pytest.raises(FormatError) as error:
        from_dict(record, SOURCE)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, "1"), ("1 ", "1"), ("\t1\n", "1"), ("", None), (None, None), (True, None), ([1], None)],
)
def test_an_id_is_stripped_text(value: Any, expected: str | None) -> None:
    assert normalised_id(value) == expected


def test_labels_of_the_record_stay_labels(tmp_path: Path) -> None:
    line = json.dumps({"schemaVersion": "1.0", "input": {}, "labels": {"ok": True}})
    traces, _ = read_bytes(line.encode(), tmp_path)
    assert traces[0].labels == {"ok": True}
    assert traces[0].raw is None


@pytest.mark.parametrize(
    "foreign",
    [
        {"trace": {}, "observations": []},
        {"observations": [{"id": "a", "traceId": "t", "name": "f"}], "scores": []},
        {"observations": [{"id": "a", "traceId": "t", "name": "f"}]},
        {"input": 1},
        {"id": "x", "output": 1},
    ],
)
def test_another_formats_envelope_is_not_taken_for_the_canonical_record(
    tmp_path: Path, foreign: Any
) -> None:
    assert read_bytes(json.dumps(foreign).encode(), tmp_path)[0] == []
