"""What a text mentions that can be looked up: amounts, numbers, dates, times, days, ids, quotes.

Spellings are folded: `1.234,50 €` and `EUR 1,234.50` are one amount, `May 5th` and `2024-05-05`
one day. Where a spelling can mean two things (`1.234`, `03/04/2024`), a mention has both keys.
Each expression is linear in the text: no part of it can match the same characters twice over.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal

from helix.checks.parameters import Span

Kind = Literal["number", "amount", "date", "time", "day", "id", "quote"]
Key = tuple[Any, ...]
_MONTHS = (
    "january januar jan|february februar feb|march märz mar|april apr|may mai|june juni jun|"
    "july juli jul|august aug|september sept sep|october oktober oct okt|november nov|"
    "december dezember dec dez"
)
_MONTH = {word: at for at, words in enumerate(_MONTHS.split("|"), 1) for word in words.split()}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SOON = "tomorrow|tonight|next week|next month|this week|this weekend|next weekend"
_CURRENCIES = {
    "€": "EUR", "euro": "EUR", "euros": "EUR", "$": "USD", "us$": "USD", "dollar": "USD",
    "dollars": "USD", "£": "GBP", "pound": "GBP", "pounds": "GBP", "¥": "JPY", "yen": "JPY",
    "₹": "INR", "rupees": "INR",
}  # fmt: skip
_CODES = "EUR USD GBP CHF JPY INR CAD AUD NZD SEK NOK DKK PLN CZK HUF RON TRY BRL MXN ZAR CNY HKD"
_CURRENCIES |= {code.casefold(): code for code in _CODES.split()}
_NUMBER = r"\d(?:[\d.,'’\u00a0\u202f]*\d)?"
_MONEY = "|".join(
    sorted((re.escape(w) + (r"\b" if w[-1].isalpha() else "") for w in _CURRENCIES), key=len)[::-1]
)
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_MEASURE = re.compile(r"\d+(?:[.,]\d+)?-?[a-z]+(?:-[a-z]+)*")


@dataclass(frozen=True, slots=True)
class Mention:
    """One thing that a text mentions: its kind, its place, its text, what it may be equal to."""

    kind: Kind
    span: Span
    text: str
    keys: tuple[Key, ...]
    currency: str | None = None


def mentions(text: str) -> list[Mention]:
    """Return what a text mentions, in order; nothing but a quote holds another mention."""
    taken = bytearray(len(text))
    found = list(_quotes(text))
    for pattern, read in _READERS if _RUN.search(text) else _wordy(text):
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            mention = None if read is None else read(match)
            if mention is not None:
                found.append(mention)
            if mention is not None or read is None:
                taken[start:end] = b"\1" * (end - start)
    return sorted(found, key=lambda mention: mention.span)


def _wordy(text: str) -> list[tuple[re.Pattern[str], _Reader | None]]:
    """Return the readers of what needs no digit, where the text may hold it."""
    addressed = "@" in text or "://" in text
    return (_ADDRESS if addressed else []) + (_DAY if _MAYBE_DAY.search(text) else [])


def keys_of(value: Any) -> Iterator[tuple[Key, str | None]]:
    """Yield (key, currency) of each thing that a text or number of a trace states.

    A number that is no amount is also any run of digits, in ids and dates too: who repeats the
    number of an order repeats what was there.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return
    if not isinstance(value, str):
        yield ("number", abs(Decimal(repr(value)))), None
        return
    for mention in mentions(value):
        for key in mention.keys:
            yield key, mention.currency
            if key[0] == "date":
                yield from _less_exact(key)
    for run in _RUN.findall(value):
        yield ("run", Decimal(run)), None


def _less_exact(key: Key) -> Iterator[tuple[Key, None]]:
    _, year, month, day = key
    if year is None:
        yield ("date", "any", month, day), None
        return
    yield ("date", None, month, day), None
    try:
        yield ("day", _DAYS[datetime.date(year, month, day).weekday()]), None
    except ValueError:
        return


@lru_cache(maxsize=4096)
def _readings(text: str) -> tuple[Decimal, ...]:
    """Return what a number may be worth: `1,234` is 1234 or 1.234."""
    plain = re.sub(r"['’\u00a0\u202f]", "", text)
    marks = [mark for mark in plain if mark in ".,"]
    if not marks:
        spelled = [plain]
    elif len(set(marks)) == 2:
        decimal = marks[-1]
        other = "," if decimal == "." else "."
        spelled = [plain.replace(other, "").replace(decimal, ".")]
    elif len(marks) > 1:
        spelled = [plain.replace(marks[0], "")]
    else:
        whole, _, part = plain.partition(marks[0])
        spelled = [f"{whole}.{part}"]
        if len(part) == 3 and len(whole) <= 3 and whole != "0":
            spelled.append(whole + part)
    try:
        return tuple(Decimal(one) for one in spelled)
    except InvalidOperation:
        return ()


def _numbers(text: str) -> tuple[Key, ...]:
    return tuple(("number", value) for value in _readings(text))


def _quotes(text: str) -> Iterator[Mention]:
    for match in _QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group is not None)
        words = inner.strip().rstrip(".,;:!?")
        if any(character.isalnum() for character in words):
            yield Mention("quote", match.span(), words, ())


def _an_amount(match: re.Match[str]) -> Mention | None:
    word = (match["before"] or match["after"]).casefold()
    return Mention(
        "amount", match.span(), match.group(), _numbers(match["n"] or match["m"]),
        _CURRENCIES[word],
    )  # fmt: skip


def _a_number(match: re.Match[str]) -> Mention | None:
    text = match["n"]
    keys = _numbers(text) + tuple(("run", value) for value in _readings(text))
    if match["percent"]:
        keys += tuple(("number", value / 100) for value in _readings(text))
    return Mention("number", match.span(), match.group().strip(), keys)


def _an_id(match: re.Match[str]) -> Mention | None:
    text = match.group()
    if text.startswith("#") and text[1:].isdigit():
        number = Decimal(text[1:])
        return Mention("id", match.span(), text, (("number", number), ("run", number)))
    digits = sum(map(str.isdigit, text))
    capital = any(map(str.isupper, text))
    if digits < (2 if capital else 3) or not any(map(str.isalpha, text)):
        return None
    if _MEASURE.fullmatch(text):
        return None
    return Mention("id", match.span(), text.lstrip("#"), ())


def _an_address(match: re.Match[str]) -> Mention | None:
    return Mention("id", match.span(), match.group().rstrip(".,;:!?)]}*_'"), ())


def _a_date(match: re.Match[str]) -> Mention | None:
    parts = match.groupdict()
    year = int(parts["y"]) if parts.get("y") else None
    if year is not None and year < 100:
        year += 2000
    name = parts.get("name")
    one, two = int(parts["d"]), _MONTH[name.casefold()] if name else int(parts["m"])
    pairs = [(two, one)]
    if parts.get("slash"):
        pairs.append((one, two))
    keys = tuple(("date", year, m, d) for m, d in dict.fromkeys(pairs) if m <= 12 and 0 < d <= 31)
    return Mention("date", match.span(), match.group(), keys) if keys else None


def _a_time(match: re.Match[str]) -> Mention | None:
    hour, minute, half = int(match["h"]), int(match["min"] or 0), match["half"]
    if half:
        hour = hour % 12 + (12 if half.casefold() == "p" else 0)
    if hour > 24 or minute > 59:
        return None
    return Mention("time", match.span(), match.group(), (("time", hour, minute),))


def _a_day(match: re.Match[str]) -> Mention | None:
    word = match.group().casefold().rstrip("s")
    return Mention("day", match.span(), match.group(), (("day", word),))


_QUOTED = re.compile(
    r'"([^"\n]{1,300})"|“([^“”\n]{1,300})”|„([^„“”\n]{1,300})[“”]|«([^«»\n]{1,300})»'
    r"|`([^`\n]{1,300})`"
)
_TIME = r"(?P<h>\d{1,2})(?::(?P<min>\d\d)(?::\d\d)?)"
_HALF = r"[ \u00a0\u202f]?(?P<half>[ap])\.?m\b"
_RUN = re.compile(r"\d+")
_MAYBE_DAY = re.compile(r"day|tomorrow|tonight|week|month", re.IGNORECASE)
_Reader = Callable[[re.Match[str]], Mention | None]
_READERS: tuple[tuple[re.Pattern[str], _Reader | None], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE if folds else 0), read)
    for pattern, folds, read in (
        (r"\b[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+|\bhttps?://[^\s<>\"]+", True, _an_address),
        (r"\b(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?!\d)", False, _a_date),
        (r"\b(?P<y>\d{4})/(?P<m>\d\d?)/(?P<d>\d\d?)\b", False, _a_date),
        (r"(?<![\w.])(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>\d{4}|\d\d)(?!\.?\d)", False, _a_date),
        (r"\b(?P<d>\d\d?)(?P<slash>/)(?P<m>\d\d?)/(?P<y>\d{4}|\d\d)\b", False, _a_date),
        (
            rf"\b(?P<d>\d\d?)(?:st|nd|rd|th|\.)?\s(?:of\s)?(?P<name>{_NAMES})\b\.?"
            r"(?:,?\s(?P<y>\d{4})\b)?", True, _a_date,
        ),
        (
            rf"\b(?P<name>{_NAMES})\b\.?\s(?P<d>\d\d?)(?:st|nd|rd|th)?\b(?![.,]\d)"
            r"(?:,?\s(?P<y>\d{4})\b)?", True, _a_date,
        ),
        (rf"\b{_TIME}{_HALF}", True, _a_time),
        (rf"\b(?P<h>\d{{1,2}})(?P<min>){_HALF}", True, _a_time),
        (rf"(?:\b|(?<=T)){_TIME}(?P<half>)(?![\d:])", False, _a_time),
        (rf"\b(?:{'|'.join(_DAYS)})s?\b|\b(?:{_SOON})\b", True, _a_day),
        (
            rf"(?:(?<!\w)(?P<before>{_MONEY})[ \u00a0\u202f]?(?P<n>{_NUMBER})"
            rf"|(?<![\w.,])(?P<m>{_NUMBER})[ \u00a0\u202f]?(?P<after>{_MONEY}))", True, _an_amount,
        ),
        (r"(?<!\w)#?[^\W_]+(?:[-_/.][^\W_]+)*", False, _an_id),
        (r"(?m)^[ \t]*\d{1,2}[.)](?=\s)", False, None),  # the number of an item in a list
        (
            rf"(?<![\w.,])(?P<n>{_NUMBER})(?!\d)(?!(?:st|nd|rd|th)\b)"
            r"(?P<percent>[ \u00a0\u202f]?%)?", False, _a_number,
        ),
    )
)  # fmt: skip
_ADDRESS = [entry for entry in _READERS if entry[1] is _an_address]
_DAY = [entry for entry in _READERS if entry[1] is _a_day]
