"""Only what a row reads is decoded: a result that no row asks for stays the text that it was."""

from __future__ import annotations

from typing import Any

import pytest

from helix.checks import decide
from helix.model.trace import Observation, Trace
from helix.registry import CheckContext
from tests.checks.builder import Row, said, trace


def two_tools() -> Trace:
    """A look and a purchase, results as texts, between two messages."""
    results = {"look": '{"success": true, "price": 3}', "buy": '{"success": true, "id": "B7"}'}
    calls = [
        Observation("", 0, name, input_text=f'{{"at": "{name}"}}', output_text=text)
        for name, text in results.items()
    ]
    return trace(said("user", "Yes."), *calls, said("assistant", "Done."))


@pytest.mark.parametrize(
    ("row", "decoded"),
    [
        ({"primitive": "presence", "field": "obs:buy.output.id"}, {"buy output"}),
        ({"primitive": "presence", "field": "obs:buy.name"}, set()),
        ({"primitive": "presence", "field": "obs:*.input.at"}, {"look input", "buy input"}),
        ({"primitive": "presence", "field": "observations[1].output.id"}, {"buy output"}),
        ({"primitive": "presence", "field": "observations[*].name"}, set()),
        ({"primitive": "presence", "field": "transcript[*].text"}, set()),
        (
            {"primitive": "tool-output-failure", "tool": "look", "success_path": "output.success"},
            {"look output"},
        ),
        (
            {"primitive": "required-order", "first": {"tool": "look"}, "then": {"tool": "buy"}},
            set(),
        ),
        ({"primitive": "error-spans"}, set()),
        ({"primitive": "caps", "calls": 5}, set()),
    ],
)
def test_a_row_decodes_what_it_reads_and_nothing_else(
    row: dict[str, Any], decoded: set[str]
) -> None:
    about = two_tools()
    decision = decide(Row(row.pop("primitive"), row), about, CheckContext())
    assert decision.state == "pass"
    texts = {
        f"{call.name} {side}": getattr(call, f"{side}_text")
        for call in about.observations
        for side in ("input", "output")
    }
    left = {text for call in about.observations for text in call.undecoded}
    assert {name for name, text in texts.items() if text not in left} == decoded
