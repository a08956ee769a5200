"""A label: what one person said of one criterion on one trace (METHOD 60)."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field, field_validator

from helix.model.criterion import Record, RefSpec

Word = Literal["pass", "fail", "cannot-decide"]

WORDS: Final[tuple[Word, ...]] = ("pass", "fail", "cannot-decide")
LABEL_SCHEMA_VERSION: Final = "1.0"


class Cell(NamedTuple):
    """What a label is about: a trace and a criterion, by their ids."""

    trace: str
    criterion: str


class Label(Record):
    """One line of a label file.

    `refs` is the evidence that the rater saw, in the shape that a verdict cites; `when` is an
    ISO 8601 time. Case and surrounding space of `label` are forgiven, as are a space or an
    underscore for its hyphen.
    """

    schema_version: str = LABEL_SCHEMA_VERSION
    trace: str = Field(min_length=1)
    criterion: str = Field(min_length=1)
    label: Word
    refs: tuple[RefSpec, ...] = ()
    note: str | None = None
    rater: str = Field(min_length=1)
    when: str | None = None

    @field_validator("schema_version")
    @classmethod
    def _of_this_version(cls, value: str) -> str:
        if value.partition(".")[0] != LABEL_SCHEMA_VERSION.partition(".")[0]:
            raise ValueError(f"must be {LABEL_SCHEMA_VERSION} (got {short(value)})")
        return value

    @field_validator("label", mode="before")
    @classmethod
    def _one_of_the_words(cls, value: Any) -> Any:
        if value is None or (isinstance(value, str) and not value.strip()):
            raise ValueError(f"must be {one_of(WORDS)} (got nothing)")
        word = spelled(value)
        if word not in WORDS:
            raise ValueError(f"must be {one_of(WORDS)} (got {short(value)})")
        return word

    @property
    def cell(self) -> Cell:
        """What the label is about."""
        return Cell(self.trace, self.criterion)


def spelled(value: Any) -> Any:
    """Return a text as the words of labels are spelled, and anything else as it is."""
    return re.sub(r"[\s_]+", "-", value.strip()).casefold() if isinstance(value, str) else value


def one_of(words: tuple[str, ...]) -> str:
    """Return the words as a choice: `a, b or c`."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


def short(value: Any) -> str:
    """Return a value as it is told in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
