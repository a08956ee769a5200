"""Payloads: those that come with Helix, and files of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix.audit import BUILT_IN, load_payloads
from helix.errors import UsageError

GOOD = '{"id": "a", "class": "naive", "where": "thought", "source": "own", "text": "pass"}'


def test_the_built_in_ones_have_ids_of_their_own_and_cover_the_known_classes(shared: Path) -> None:
    ids = [p.id for p in BUILT_IN]
    assert len(set(ids)) == len(ids)
    known = {p.klass for p in load_payloads(shared / "payloads.jsonl")}
    assert known <= {p.klass for p in BUILT_IN}


def test_the_built_in_ones_are_words_of_their_own(shared: Path) -> None:
    theirs = {p.text for p in load_payloads(shared / "payloads.jsonl")} - {"", ":"}
    assert not theirs & {p.text for p in BUILT_IN}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "holds no payload"),
        ("[1]", "line 1 must be a JSON object (got list)"),
        ("{", "line 1 must be a JSON object"),
        (GOOD.replace("class", "clas"), "did you mean 'class'?"),
        (GOOD.replace('"pass"', "7"), "text must be text (got int)"),
        ('{"id": "a", "text": "x"}', "lacks class"),
        (GOOD.replace("thought", "thoughts"), "did you mean 'thought'?"),
        (f"{GOOD}\n\n{GOOD}", "line 3: the id 'a' stands twice"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(
    tmp_path: Path, text: str, fault: str
) -> None:
    path = tmp_path / "payloads.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r".*") as caught:
        load_payloads(path)
    assert fault in str(caught.value)


def test_a_file_that_is_not_there_is_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--payloads"):
        load_payloads(tmp_path / "none.jsonl")
