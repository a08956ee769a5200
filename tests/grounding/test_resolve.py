"""Refs resolve where they point, or are dead (METHOD 4, 5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.grounding import assess, resolve_refs
from helix.grounding.texts import fold, leaves, stands_in
from helix.model.trace import Message, Observation, Source, Trace
from helix.model.verdict import Ref, Scan


def trace() -> Trace:
    source = '{"ok": false, "count": 7, "note": "kept  for\\n the desk", "tags": ["a", "b"]}'
    return Trace(
        id="t1",
        source=Source("t1.json", 0, "helix", "0" * 64),
        input={"prompt": "Extend L-204"},
        output={"response": "It is held until 2031-05-02."},
        observations=[
            Observation("o1", 1, "status", input={"loan": "L-204"}, output_text=source),
            Observation("o2", 3, "notes", output_text="held held held held, see the desk rules"),
        ],
        transcript=[Message("m1", 0, "user", "Extend  L-204,\nplease")],
    )


@pytest.mark.parametrize(
    ("obs", "path", "value", "match"),
    [
        ("o1", "output.note", "kept for the desk", "exact"),
        ("o1", "output.note", "for the desk", "contains"),
        ("o1", "output.note", "the desk", "contains"),
        ("o1", "output.note", "desk", "weak"),
        ("o1", "output.note", "for the des", "dead"),
        ("o1", "output.note", "kept … desk", "dead"),
        ("o1", "output.note", "kept ... desk", "dead"),
        ("o1", "output.ok", "false", "exact"),
        ("o1", "output.ok", "0", "dead"),
        ("o1", "output.count", "7", "exact"),
        ("o1", "output.count", "true", "dead"),
        ("o1", "output.tags", '["a","b"]', "exact"),
        ("o1", "output", '"note": "kept', "contains"),
        ("o1", "output.tags[1]", "b", "exact"),
        ("o1", "output.missing", "b", "dead"),
        ("m1", "text", "Extend L-204, please", "exact"),
        ("m1", "text", "L-204", "weak"),
        ("t1", "output.response", "held until 2031-05-02", "contains"),
        ("t1", "observations[0].output.count", "7", "exact"),
        ("t1", "transcript[0].text", "L-204, please", "contains"),
        ("o2", "output.text", "see the desk rules", "contains"),
        ("nobody", "text", "Extend L-204, please", "dead"),
        ("t1", "labels.reward", "1", "dead"),
        ("t1", "output.response[*]", "held", "dead"),
        ("o1", "output..note", "x", "dead"),
        ("o1", "output.note", "", "dead"),
        ("o1", "output.note", "k" * 201, "dead"),
        ("o1", "output.note", None, "dead"),
    ],
)
def test_a_ref_resolves_where_it_points_or_not_at_all(
    obs: str, path: str, value: str | None, match: str
) -> None:
    (found,) = resolve_refs(trace(), [Ref(obs=obs, path=path, value=value)])
    assert found.match == match, found.note
    assert (found.note is None) == (match != "dead")


def test_a_text_that_stands_more_than_three_times_is_weak() -> None:
    item = trace()
    item.transcript += [Message(f"m{i}", 4 + i, "user", "say the desk rules") for i in range(4)]
    (found,) = resolve_refs(item, [Ref(obs="o2", path="output.text", value="the desk rules")])
    assert found.match == "weak"


def test_a_dead_ref_says_where_the_text_really_stands() -> None:
    (found,) = resolve_refs(trace(), [Ref(obs="o1", path="output.note", value="2031-05-02")])
    assert found.note == "the text does not stand there; it stands in t1 output.response"


def test_a_text_that_is_cut_inside_of_a_word_is_told_so() -> None:
    item = trace()
    item.transcript.append(Message("m9", 9, "user", "the desk rules are old"))
    (found,) = resolve_refs(item, [Ref(obs="m9", path="text", value="the desk rul")])
    assert found.match == "dead"
    assert found.note == "the text stands there only inside of longer words; cite whole words"


def test_every_leaf_that_a_packet_prints_can_be_cited_by_its_address() -> None:
    item = trace()
    for leaf in leaves(item):
        (found,) = resolve_refs(item, [Ref(obs=leaf.obs, path=leaf.path, value=leaf.text[:200])])
        assert found.match in ("exact", "contains", "weak"), leaf


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_leaves_of_any_value_resolve_at_their_own_address(value: Any) -> None:
    item = trace()
    item.observations = [Observation("o1", 1, "any", input={}, output={"value": value})]
    for leaf in leaves(item):
        if leaf.obs == "o1" and leaf.path.startswith("output") and fold(leaf.text):
            ref = Ref(obs="o1", path=leaf.path, value=leaf.text[:200])
            (found,) = resolve_refs(item, [ref])
            assert found.match != "dead", (leaf, found.note)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_a_text_between_spaces_always_stands_on_token_boundaries(a: str, b: str, c: str) -> None:
    needle = fold(b)
    if needle:
        assert stands_in(needle, fold(f"{a} {needle} {c}"))


def test_one_result_that_was_cut_leaves_the_trace_judgeable() -> None:
    item = trace()
    item.observations[0].flags = ("truncated",)
    assert assess(item, ("truncated",), ()).complete


@pytest.mark.parametrize(
    ("change", "complete"),
    [
        ({}, True),
        ({"flags": ("truncated",)}, False),
        ({"metadata": {"truncated": True}}, False),
        ({"metadata": {"truncated": "no"}}, True),
        ({"observations": [], "transcript": [], "output": {}}, False),
        ({"observations": [], "transcript": [], "output": {"response": ""}}, False),
        ({"observations": [], "transcript": [], "output": {"response": "held"}}, True),
        ({"observations": []}, True),
    ],
)
def test_what_says_it_is_truncated_or_holds_nothing_cannot_be_judged(
    change: dict[str, Any], complete: bool
) -> None:
    item = trace()
    for name, value in change.items():
        setattr(item, name, value)
    assert assess(item, ("truncated",), ("metadata.truncated",)).complete is complete


@pytest.mark.parametrize(
    ("obs", "path", "value", "match"),
    [
        ("o1", "type", "TOOL", "weak"),
        ("o1", "seq", "1", "weak"),
        ("o1", "id", "o1", "weak"),
        ("m1", "role", "user", "weak"),
        ("m1", "observationIds", "[]", "weak"),
        ("t1", "observations[0].type", "TOOL", "weak"),
        ("t1", "transcript[0].id", "m1", "weak"),
        ("o1", "name", "status", "exact"),
        ("t1", "observations[0].name", "status", "exact"),
        ("o1", "output.note", "kept for the desk", "exact"),
        ("t1", "input.prompt", "Extend L-204", "exact"),
        ("o1", "kind", "TOOL", "dead"),
    ],
)
def test_the_bookkeeping_of_a_trace_is_weak_evidence_for_a_judge(
    obs: str, path: str, value: str, match: str
) -> None:
    ref = Ref(obs=obs, path=path, value=value)
    (found,) = resolve_refs(trace(), [ref], complete_channels=())
    assert found.match == match, found.note
    (computed,) = resolve_refs(trace(), [ref])
    assert computed.match == ("dead" if match == "dead" else "exact"), "a check may compute it"


def test_a_whole_list_of_steps_is_no_evidence_that_there_are_none() -> None:
    item = trace()
    item.observations = []
    (found,) = resolve_refs(
        item, [Ref(obs="t1", path="observations", value="[]")], complete_channels=()
    )
    assert found.match == "weak"


@pytest.mark.parametrize(
    ("obs", "channel", "pattern", "items", "match"),
    [
        ("t1", "observations[*].name", "refund", 2, "scan"),
        ("nobody", "observations[*].name", "refund", 2, "dead"),
        ("t1", "observations[*].name", "(", 2, "dead"),
        ("t1", "observations[*].name", "", 2, "dead"),
        ("t1", "output.notes[*]", "refund", 0, "dead"),
        ("t1", "output.calls[*]", "refund", 0, "scan"),
        ("t1", "obs:refund.input", "", 0, "scan"),
        ("t1", "obs:status.output.steps[*]", "", 0, "dead"),
    ],
)
def test_a_scan_grounds_an_absence_only_in_a_channel_that_is_there(
    obs: str, channel: str, pattern: str, items: int, match: str
) -> None:
    item = trace()
    item.output["calls"] = []
    scan = Scan(channel=channel, pattern=pattern, items=items, matches=0)
    ref = Ref(obs=obs, path=channel, scan=scan)
    (found,) = resolve_refs(item, [ref], complete_channels=(channel,))
    assert found.match == match, found.note


def test_a_scan_of_a_check_cites_an_owner_that_exists() -> None:
    scan = Scan(channel="observations[*].name", pattern="refund", items=2, matches=0)
    refs = [Ref(obs=obs, path=scan.channel, scan=scan) for obs in ("t1", "nobody")]
    assert [ref.match for ref in resolve_refs(trace(), refs)] == ["scan", "dead"]
