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
    """One line of a label file: what one person says of one cell."""

    schema_version: str = LABEL_SCHEMA_VERSION
    trace: str = Field(min_length=1)
    """The id of the trace."""
    criterion: str = Field(min_length=1)
    """The id of the row."""
    label: Word
    """The person's word; case, space and underscores are forgiven."""
    refs: tuple[RefSpec, ...] = ()
    """What the rater saw it by."""
    note: str | None = None
    """What the rater adds; null for nothing."""
    rater: str = Field(min_length=1)
    """Who says it."""
    when: str | None = None
    """When, in ISO 8601; null where not recorded."""

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
