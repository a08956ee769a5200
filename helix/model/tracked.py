"""Tracked defects as people write them: what each is, and when it counts as mended (METHOD 71)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from helix.model.criterion import Record


class PassCondition(Record):
    """When a defect is mended; of several conditions all must hold, and null is none."""

    runs_identical: int | None = Field(default=None, ge=2, le=20)
    """So many executions are byte-identical after masking."""
    artifact_equal: str | None = None
    """This artifact is the same in all executions."""
    dimension_equal: str | None = None
    """This dimension is the same in all executions."""
    finding_ids: Literal["equal"] | None = None
    """All executions find the same failing cells."""
    gate_gaps: Literal["all-in-one-pass"] | None = None
    """The gate of each execution names every gap."""
    no_finding: str | None = None
    """The audit finds no difference of this mechanism."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not list(self.parts()):
            raise ValueError(f"must hold one of {', '.join(type(self).model_fields)} (got none)")
        return self

    def parts(self) -> Iterator[tuple[str, str | int]]:
        """Yield each condition by its name with what it asks for."""
        for name in type(self).model_fields:
            if (value := getattr(self, name)) is not None:
                yield name, value


class TrackedDefect(Record):
    """A defect that was found once, and the condition under which it counts as mended."""

    id: str = Field(min_length=1, max_length=200)
    """Its id, unique in the file."""
    what: str = Field(pattern=r"\S")
    """What the defect is, in a sentence."""
    passes_when: PassCondition
    """When it counts as mended."""


class TrackedDefects(Record):
    """A file of tracked defects."""

    schema_version: Literal["1.0"] = "1.0"
    defects: tuple[TrackedDefect, ...]
    """The defects."""

    @model_validator(mode="after")
    def _unique(self) -> Self:
        seen: set[str] = set()
        for defect in self.defects:
            if defect.id in seen:
                raise ValueError(f"defects must have ids of their own (got '{defect.id}' twice)")
            seen.add(defect.id)
        return self

    @property
    def executions(self) -> int:
        """How many executions the conditions need."""
        return max((d.passes_when.runs_identical or 0 for d in self.defects), default=0)
