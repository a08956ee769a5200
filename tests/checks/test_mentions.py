"""What a text mentions, whatever the spelling."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest

from helix.checks.mentions import keys_of, mentions


def told(text: str) -> list[tuple[str, str]]:
    return [(mention.kind, mention.text) for mention in mentions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no figures in here, nor names", []),
        ("", []),
        ("EUR 60.03 for order ORD-20007.", [("amount", "EUR 60.03"), ("id", "ORD-20007")]),
        ("12,50 € or $3", [("amount", "12,50 €"), ("amount", "$3")]),
        ("a 14-day window (55 days)", [("number", "14"), ("number", "55")]),
        ("15 % of 1,234,567", [("number", "15 %"), ("number", "1,234,567")]),
        ("the 3rd of them, 5kg", [("number", "5")]),
        ("1. first\n 2) second\nand 3", [("number", "3")]),
        ("W12, #20007, inv-2291, v1.2.3", [("id", "W12"), ("id", "#20007"), ("id", "inv-2291"),
                                           ("id", "v1.2.3")]),
        ("**[x](https://example.com/x)**", [("id", "https://example.com/x")]),
        ("Q3, B2B and MP3", []),
        ("a.b+c@example.com or https://example.com/x?y=1.", [("id", "a.b+c@example.com"),
                                                   ("id", "https://example.com/x?y=1")]),
        ("on 2024-05-05, May 5th, 2024, 5 May", [("date", "2024-05-05"), ("date", "May 5th, 2024"),
                                                 ("date", "5 May")]),
        ("am 5. März, den 05.03.2024", [("date", "5. März"), ("date", "05.03.2024")]),
        ("it costs 3.10.", [("number", "3.10")]),
        ("on 99/99/2024", [("number", "99"), ("number", "99"), ("number", "2024")]),
        ("at 14:30 or 2 pm on Tuesday, tomorrow", [("time", "14:30"), ("time", "2 pm"),
                                                   ("day", "Tuesday"), ("day", "tomorrow")]),
        ('the "Blue Shirt, L." and „so“', [("quote", "Blue Shirt, L"), ("quote", "so")]),
        ("it's the customer's", []),
    ],
)  # fmt: skip
def test_a_text_mentions(text: str, expected: list[tuple[str, str]]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("EUR 1,234.50", "1.234,50 €"),
        ("12'345", "12345"),
        ("1,234", "1234"),
        ("1.234", "1.234"),
        ("15%", "0.15"),
        ("5 May 2024", "2024-05-05"),
        ("03/04/2024", "3 April 2024"),
        ("03/04/2024", "March 4, 2024"),
        ("2:30 pm", "14:30"),
        ("12 am", "0:00"),
        ("Tuesdays", "tuesday"),
        ("5 May", "2024-05-05"),
        ("Sunday", "2024-05-05"),
        ("20007", "ORD-20007"),
    ],
)
def test_two_spellings_of_one_thing_share_a_key(one: str, other: str) -> None:
    (mention,) = mentions(one)
    assert set(mention.keys) & {key for key, _ in keys_of(other)}


def test_numbers_are_worth_what_is_written() -> None:
    assert list(keys_of(398.5)) == [(("number", Decimal("398.5")), None)]
    assert list(keys_of(True)) == list(keys_of(None)) == []


@pytest.mark.parametrize(
    "part",
    [
        "1",
        "1,",
        "a-",
        "EUR ",
        "may ",
        '"',
        "a@",
        "a.b",
        "#",
        "1a",
        "A1-",
        "5 ",
        "1:",
        "\n",
        "“",
        "€1,",
    ],
)
def test_a_hostile_text_takes_time_in_proportion_to_its_length(part: str) -> None:
    def taken(length: int) -> float:
        text = part * (length // len(part)) + "__1"
        start = time.process_time()
        mentions(text)
        return time.process_time() - start

    assert taken(80_000) < 12 * max(taken(20_000), 0.005)
