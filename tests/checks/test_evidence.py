"""Evidence: whatever a trace holds, what a check cites resolves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.checks.evidence import cite, excerpt
from helix.checks.parameters import compile_pattern
from helix.fieldpath import MISSING, parse, parse_relative
from helix.grounding import dead, resolve_refs
from helix.model.jsontext import NonFinite
from helix.model.select import at_address, select
from helix.model.trace import Message, Observation
from tests.checks.builder import ask, call, said, trace

TEXTS = st.one_of(
    st.text(max_size=30),
    st.text(st.sampled_from("ab é字_-. \n"), max_size=500),
    st.sampled_from(["", " ", "\ud800", "yes", "Error: no", "字" * 250, "word " * 90]),
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.sampled_from([NonFinite("NaN"), 2**80]),
)
KEYS = st.one_of(st.sampled_from(["id", "ok", "text", "a b", '"', "[0]"]), st.text(max_size=4))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
FLAGS = st.lists(st.sampled_from(["ambiguous-pairing", "ambiguous-order"]), max_size=1)
CALLS = st.builds(
    lambda name, given, result, flags, turn: call(name, given, result, flags=flags, turn=turn),
    st.sampled_from(["read", "write"]),
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.none() | st.dictionaries(KEYS, VALUES, max_size=4),
    FLAGS,
    st.sampled_from([None, "t"]),
)
MESSAGES = st.builds(said, st.sampled_from(["user", "assistant"]), TEXTS)
EVENTS = st.lists(CALLS | MESSAGES, max_size=8)
YES: dict[str, Any] = {"message": "user", "matches": "(?i)yes|é"}
OK: dict[str, Any] = {"tool": "read", "where": {"path": "output.ok", "exists": True}}
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("presence", {"field": "obs:read.output"}),
    ("presence", {"field": "output.response"}),
    ("presence", {"field": 'obs:*.input["a b"]', "on_missing": "fail"}),
    ("string-equality", {"field": "obs:read@any.output.ok", "expected": True}),
    ("format-validity", {"field": "transcript[*].text", "pattern": "[a-z字]"}),
    ("schema-conformance", {"field": "obs:read.output", "required_keys": ["id", "ok"]}),
    ("schema-conformance", {"field": "output", "json_schema": {"maxProperties": 1}}),
    ("ref-integrity", {"producer": ["obs:read.output", "input"], "consumer": "obs:write.input.id"}),
    ("tool-output-failure", {"tool": "*", "success_path": "output.ok"}),
    (
        "recovery-after-failure",
        {"fail_field": "output", "fail_matches": "Error|no", "recovery_tools": ["@same", "write"]},
    ),
    ("required-order", {"first": YES, "then": {"tool": "write"}}),
    ("required-order", {"first": OK, "then": {"tool": "*"}, "each": True, "same": "input.id"}),
    ("required-order", {"first": YES, "then": OK, "latest_of": {"message": "user"}}),
    ("required-order", {"first": OK, "then": {"message": "*"}, "mode": "before"}),
]


@pytest.mark.parametrize(("primitive", "params"), ROWS)
@settings(max_examples=40, deadline=None)
@given(events=EVENTS, ends=st.fixed_dictionaries({"input": VALUES, "output": VALUES}))
def test_every_ref_of_every_primitive_resolves(
    primitive: str,
    params: dict[str, Any],
    events: list[Observation | Message],
    ends: dict[str, Any],
) -> None:
    about = trace(said("assistant", "", id="t"), *events, **ends)
    ask(primitive, params, about, inventory=["read", "write"])


@settings(max_examples=150, deadline=None)
@given(value=VALUES, needle=TEXTS)
def test_any_value_can_be_cited(value: Any, needle: str) -> None:
    about = trace(call("read", output={"x": value}))
    for place in select(about, parse("obs:read.output.x")):
        at = str(value).find(needle)
        ref = cite(about, place, (at, at + len(needle)) if at >= 0 else None)
        assert dead(resolve_refs(about, [ref])) == []
        if ref.scan is None:
            found = at_address(about, ref.obs, ref.path)
            assert found is not MISSING
            assert parse_relative(ref.path).is_address


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.sampled_from("ab é字-. \n"), max_size=900), data=st.data())
def test_an_excerpt_is_part_of_its_text_and_holds_the_span(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 150)))
    part = excerpt(text, (start, end))
    if part is not None:
        assert len(part) <= 200
        assert part in text
        assert text[start:end] in part


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("é+", "caféé x", "éé"),
        ("x$", "é\ud800x", "x"),
        ("[^é]", "é\ud800a", "\ud800"),
        ("€ ?[0-9]+", "für €20 😀", "€20"),
        ("😀", "für €20 😀!", "😀"),
        ("$", "é", ""),
    ],
)
def test_a_pattern_is_found_at_offsets_of_characters(pattern: str, text: str, found: str) -> None:
    span = compile_pattern(pattern).find(text)
    assert span is not None
    assert text[slice(*span)] == found
