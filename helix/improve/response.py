"""Responses to change requests: amended, or rejected with a note (METHOD 75)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from helix.errors import UsageError
from helix.model.criterion import Record
from helix.model.improvement import IMPROVEMENT_SCHEMA_VERSION, SubjectMark

MOST_BYTES = 1_000_000


class ResponseError(UsageError):
    """A response to a change request cannot be read, or answers another request."""


class ChangeResponse(Record):
    """What became of a change request."""

    schema_version: str = IMPROVEMENT_SCHEMA_VERSION
    request: str
    """The id of the request that it answers."""
    decision: Literal["amended", "rejected"]
    """amended: the subject has changed; rejected: it has not, and `note` says why."""
    note: str | None = None
    """What the engineer says; null for nothing, where it is amended."""
    subject_version: str | None = Field(default=None, pattern=r"\S")
    """The amended subject's version, where no files tell; null where they do."""

    @field_validator("schema_version")
    @classmethod
    def _of_this_version(cls, value: str) -> str:
        if value.partition(".")[0] != IMPROVEMENT_SCHEMA_VERSION.partition(".")[0]:
            raise ValueError(f"must be {IMPROVEMENT_SCHEMA_VERSION} (got {value!r:.40})")
        return value

    @model_validator(mode="after")
    def _a_rejection_says_why(self) -> Self:
        if self.decision == "rejected" and not (self.note or "").strip():
            raise ValueError("note must say why the request is rejected (got nothing)")
        return self


def read_response(data: bytes, request: str, where: Path) -> ChangeResponse:
    """Read a response to the request of an id; ResponseError says what is wrong, and where."""
    if len(data) > MOST_BYTES:
        raise ResponseError(f"{where} must be at most {MOST_BYTES:,} bytes (got more)")
    try:
        found = ChangeResponse.model_validate_json(data)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc'])) or 'the response'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        ]
        raise ResponseError(
            f"{where}: {'; '.join(faults[:5])} (its shape: helix schema change-response)"
        ) from None
    if found.request != request:
        raise ResponseError(
            f"{where}: request must be '{request}' (got {found.request!r:.80}): it answers "
            "another request"
        )
    return found


def unchanged(before: SubjectMark, after: SubjectMark) -> str | None:
    """Return why a subject that is said to be amended is the one that was measured, or None.

    Where files tell, they decide; else a new version has to be named. What nobody can tell apart
    is not measured again.
    """
    if after.files is not None:
        if after.files != before.files:
            return None
        return "no file that improve.subject_files names has changed since it was measured"
    if after.version is None:
        return (
            "nothing tells that the subject has changed: name subjectVersion in the response, or "
            "set improve.subject_files"
        )
    if after.version == before.version:
        return f"subjectVersion is '{after.version}', as it was when it was measured"
    return None
