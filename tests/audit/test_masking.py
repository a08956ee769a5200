"""What is masked, byte for byte: fields by artifact, never words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.audit import COMPARED, MASKS, masked
from helix.errors import ArtifactError


@pytest.mark.parametrize(
    ("artifact", "before", "after"),
    [
        ("plan.json", '{"digest": "d", "runs" : {"a": [1, {}]}}', '{"digest": "d", "runs" : null}'),
        ("scorecard.json", '{ "b":0.10,\n"usage":{},"a":1 }', '{ "b":0.10,\n"usage":null,"a":1 }'),
        ("scorecard.json", '{"usage": null}', '{"usage": null}'),
        ("scorecard.json", '{"notes": {"usage": 1}}', '{"notes": {"usage": 1}}'),
        ("manifest.jsonl", '{"file":"/a/b/t.jsonl","line":1}\n', '{"file":"t.jsonl","line":1}\n'),
        ("manifest.jsonl", '{"file":"C:\\\\runs\\\\t.jsonl"}\n', '{"file":"t.jsonl"}\n'),
        ("manifest.jsonl", '{"file":"runs/t.jsonl"}\n', '{"file":"runs/t.jsonl"}\n'),
        ("manifest.jsonl", '{"file":0}\n\n{"latencyMs":3}', '{"file":0}\n\n{"latencyMs":null}'),
        (
            "scorecard.json",
            '{"load":{"failures":[{"file":"/x/y"},{"file":"y"},7,{"reason":"/x/y"}]}}',
            '{"load":{"failures":[{"file":"y"},{"file":"y"},7,{"reason":"/x/y"}]}}',
        ),
        ("plan.json", '{"runs":1,"runs":2}', '{"runs":null,"runs":null}'),
        ("plan.json", '["runs"]', '["runs"]'),
        ("plan.json", "{}", "{}"),
        ("subject.json", "no JSON at all: /a/b", "no JSON at all: /a/b"),
    ],
)  # fmt: skip
def test_masked_fields_alone_change_and_every_other_byte_stays(
    artifact: str, before: str, after: str
) -> None:
    assert masked(artifact, before.encode()) == after.encode()
    assert masked(artifact, after.encode()) == after.encode(), "masking twice changes nothing"


@pytest.mark.parametrize(
    ("artifact", "text", "said"),
    [
        ("plan.json", '{"runs": 1', r"plan\.json is damaged: .*missing"),
        ("plan.json", '{"runs": 1} {}', r"plan\.json is damaged: more after its end"),
        ("plan.json", '{"runs": nope}', r"plan\.json is damaged"),
        ("manifest.jsonl", '{"file": "a"}\n{"file"}\n', r"manifest\.jsonl, line 2 is damaged"),
        ("plan.json", '{"decides": ' + "[" * 100_000, r"plan\.json is damaged"),
    ],
)
def test_what_cannot_be_masked_is_an_error_that_says_where(
    artifact: str, text: str, said: str
) -> None:
    with pytest.raises(ArtifactError, match=said):
        masked(artifact, text.encode())


def test_verdicts_have_no_mask_and_every_mask_is_of_a_compared_artifact() -> None:
    of = {mask.artifact for mask in MASKS}
    assert "verdicts.jsonl" not in of
    assert of <= set(COMPARED)
    assert all(mask.why for mask in MASKS)


def test_bytes_that_are_no_utf8_come_back_as_they_were() -> None:
    data = b'{"a":"\xff\xfe","runs":1,"\\ud800":2}'
    assert masked("plan.json", data) == b'{"a":"\xff\xfe","runs":null,"\\ud800":2}'


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.text(max_size=6), values, max_size=4), values, st.integers(0, 3))
def test_masking_hides_the_field_and_nothing_else(
    document: dict[str, object], usage: object, indent: int
) -> None:
    document = {**document, "usage": usage}
    found = masked("scorecard.json", json.dumps(document, indent=indent or None).encode())
    assert found == json.dumps({**document, "usage": None}, indent=indent or None).encode()
