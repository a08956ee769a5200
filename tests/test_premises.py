"""What people vouch for is a fold of the log, and a broken log is refused by its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix.errors import ArtifactError
from helix.model.calibration import Action, Entry
from helix.model.lines import encode_line
from helix.model.packet import Premise
from helix.premises import log_path, premise_id, premises, read_log, version_of, vouched_for

OPEN = "The desk was open."


def entry(action: Action, text: str | None = OPEN, **more: Any) -> Entry:
    return Entry(criterion_id="a", action=action, text=text, by="ada", at="2026-01-02", **more)


def texts(*log: Entry) -> list[str]:
    return [premise.text for premise in premises(log)]


def test_norms_and_facts_are_premises_and_verdicts_are_none() -> None:
    log = [entry("ratify"), entry("verify", "It rained.", trace_id="t1"),
           entry("verify", None, trace_id="t1", result="pass"), entry("retire", None)]  # fmt: skip
    assert premises(log) == (
        Premise(id=premise_id("a", None, OPEN), text=OPEN, kind="normative", by="ada",
                at="2026-01-02", criterion_id="a"),
        Premise(id=premise_id("a", "t1", "It rained."), text="It rained.", kind="factual-intent",
                by="ada", at="2026-01-02", criterion_id="a", trace_id="t1"),
    )  # fmt: skip


def test_the_same_words_are_one_premise_and_their_order_changes_no_id() -> None:
    again = msgspec.structs.replace(entry("ratify"), by="ben")
    assert premises([entry("ratify"), again]) == premises([entry("ratify")])
    one, other = entry("ratify"), entry("ratify", "It rained.")
    assert {p.id for p in premises([one, other])} == {p.id for p in premises([other, one])}


def test_what_is_withdrawn_or_eliminated_no_longer_stands() -> None:
    assert (
        texts(entry("verify"), entry("withdraw", None, premise=premise_id("a", None, OPEN))) == []
    )
    assert texts(entry("verify"), entry("eliminate")) == [f"This does not hold: {OPEN}"]


@pytest.mark.parametrize("action", ["verify", "ratify"])
def test_what_is_vouched_for_after_it_was_eliminated_stands_alone(action: Action) -> None:
    assert texts(entry("eliminate"), entry(action)) == [OPEN]
    assert texts(entry("eliminate", trace_id="t1"), entry(action)) == [
        f"This does not hold: {OPEN}",
        OPEN,
    ], "what does not hold in one trace may be the norm"


def test_only_premises_of_the_criteria_at_hand_are_given(tmp_path: Path) -> None:
    other = Entry(criterion_id="b", action="ratify", text="So.", by="ada", at="2026-01-02")
    log_path(tmp_path).parent.mkdir()
    log_path(tmp_path).write_bytes(encode_line(entry("ratify")) + b"\n" + encode_line(other))
    assert [p.criterion_id for p in vouched_for(tmp_path, ["b", "c"])] == ["b"]
    assert vouched_for(tmp_path / "nowhere", ["b"]) == ()


def test_a_norm_is_a_new_version_of_its_criterion_and_a_fact_is_not() -> None:
    norm, fact = premises([entry("ratify"), entry("verify", trace_id="t1")])
    assert version_of("a", "d", [fact]) == "d"
    assert version_of("a", "d", [norm]) != "d"
    assert version_of("b", "d", [norm]) == "d"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{}", r"log\.jsonl:2: the line is no entry of the log"),
        (b'{"criterionId":"a","action":"forget"}', r"log\.jsonl:2: .*action"),
        (b'{"criterionId":"a","action":"retire","who":"ada"}', r"log\.jsonl:2: .*who"),
        (b"<<<<<<< HEAD", r"log\.jsonl:2: a merge conflict is left"),
        (b'{"schemaVersion":"2.0","criterionId":"a","action":"retire"}', r"\(got 2\.0\)"),
        (b"\xff", r"log\.jsonl:2: the line is no entry"),
    ],
)
def test_a_line_that_is_no_entry_is_refused(tmp_path: Path, line: bytes, told: str) -> None:
    log_path(tmp_path).parent.mkdir()
    log_path(tmp_path).write_bytes(encode_line(entry("ratify")) + b"\n" + line + b"\n")
    with pytest.raises(ArtifactError, match=told):
        read_log(tmp_path)
