"""Overrides keep what was typed: the shim quotes for Hydra's grammar, and Hydra reads it back."""

from __future__ import annotations

from typing import Any

import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import QuotedString
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.app.keys import Key
from helix.app.quoting import is_quoted, pieces, quoted, shaped

TEXT = Key("text")
NULLABLE = Key("text", nullable=True)
PATH = Key("path")
TEXTS = Key("texts")
OTHER = Key("other")

QUICK = settings(max_examples=100, deadline=None)
NASTY = st.text(st.sampled_from("'\"\\ ,#(){}[]~=é:$%a1.*\t"), max_size=12)
ANY_TEXT = NASTY | st.text(max_size=20)


def read(value: str) -> Any:
    """Return what Hydra reads behind `key=`."""
    (override,) = OverridesParser.create().parse_overrides([f"key={value}"])
    return plain(override.value())


def plain(value: Any) -> Any:
    if isinstance(value, QuotedString):
        return value.text
    return [plain(item) for item in value] if isinstance(value, list) else value


@QUICK
@given(ANY_TEXT)
def test_hydra_reads_quoted_text_as_it_was(text: str) -> None:
    assert read(quoted(text)) == text
    assert is_quoted(quoted(text))


@QUICK
@given(ANY_TEXT.filter(lambda text: not is_quoted(text)))
def test_one_text_is_everything_behind_the_equals_sign(text: str) -> None:
    assert read(shaped(text, TEXT, multirun=False)) == text


@QUICK
@given(ANY_TEXT.filter(lambda text: not is_quoted(text) and not text.startswith("[")))
def test_a_path_is_everything_behind_the_equals_sign(text: str) -> None:
    assert read(shaped(text, PATH, multirun=False)) == text


@QUICK
@given(st.lists(ANY_TEXT, min_size=1))
def test_a_list_of_quoted_texts_is_that_list(texts: list[str]) -> None:
    typed = ", ".join(map(quoted, texts))
    assert read(shaped(f"[{typed}]", TEXTS, multirun=False)) == texts
    assert read(shaped(f"[{typed}]", PATH, multirun=False)) == texts


@QUICK
@given(st.lists(ANY_TEXT, min_size=2))
def test_a_sweep_reaches_its_jobs_as_it_was_typed(texts: list[str]) -> None:
    typed = ",".join(map(quoted, texts))
    for key in (TEXT, PATH):
        swept = OverridesParser.create().parse_overrides(
            [f"key={shaped(typed, key, multirun=True)}"]
        )
        ((*jobs,),) = BasicSweeper.split_arguments(swept, max_batch_size=None)
        assert [read(job[0].removeprefix("key=")) for job in jobs] == texts


@pytest.mark.parametrize(
    ("typed", "key", "expected"),
    [
        ("runs (1)/día#2~.json", PATH, "runs (1)/día#2~.json"),
        ("runs/[ab]{1}.json", PATH, "runs/[ab]{1}.json"),
        ("a,b.json", PATH, "a,b.json"),
        ("[a.json,b c.json]", PATH, ["a.json", "b c.json"]),
        ("-", PATH, "-"),
        ("1e3", TEXT, "1e3"),
        ("007", TEXT, "007"),
        ("true", TEXT, "true"),
        ("null", TEXT, "null"),
        ("Null", NULLABLE, "Null"),
        ("null", NULLABLE, None),
        ("", TEXT, ""),
        ("'a b'", TEXT, "a b"),
        ('"it\'s"', TEXT, "it's"),
        ("it's", TEXT, "it's"),
        ("'a' and 'b'", TEXT, "'a' and 'b'"),
        ("[a,b]", TEXT, "[a,b]"),
        ("C-1", TEXTS, ["C-1"]),
        ("C-1,C-2", TEXTS, ["C-1", "C-2"]),
        ("'C-1,C-2'", TEXTS, ["C-1,C-2"]),
        ("[42, 007,a#b, 'c,d']", TEXTS, ["42", "007", "a#b", "c,d"]),
        ("[]", TEXTS, []),
        ("", TEXTS, []),
        ("1e3", OTHER, 1000.0),
        ("[1,2]", OTHER, [1, 2]),
    ],
)
def test_what_one_run_reads(typed: str, key: Key, expected: Any) -> None:
    assert read(shaped(typed, key, multirun=False)) == expected


@pytest.mark.parametrize(
    ("typed", "key", "expected"),
    [
        ("a,b", TEXT, "'a','b'"),
        ("'a,b'", TEXT, "'a,b'"),
        ("a (1).json,b#.json", PATH, "'a (1).json','b#.json'"),
        ("[a,b],[c]", PATH, "['a','b'],['c']"),
        ("C-1,C-2", TEXTS, "['C-1'],['C-2']"),
        ("null,m", NULLABLE, "null,'m'"),
        ("choice(a,b)", TEXT, "choice(a,b)"),
        ("1,2", OTHER, "1,2"),
    ],
)
def test_what_a_sweep_reads(typed: str, key: Key, expected: str) -> None:
    assert shaped(typed, key, multirun=True) == expected


@QUICK
@given(st.lists(st.text(st.sampled_from("ab (é#"), min_size=1), min_size=1))
def test_pieces_joined_by_commas_are_the_text(texts: list[str]) -> None:
    assert ",".join(pieces(",".join(texts))) == ",".join(texts)
