"""Loading a criteria file: rows with their lines, and every problem of their shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from helix.errors import SuiteError, did_you_mean
from helix.model.criterion import Criterion, Suite
from helix.suite.lineage import breaches
from helix.suite.problems import Finding, from_validation, known_keys, raise_errors
from helix.suite.source import Source, read

_IDS = ("criterion_id", "criterionId")


@dataclass(frozen=True, slots=True)
class Row:
    """A criterion that is well formed, its place in the list, and the line it starts on."""

    criterion: Criterion
    at: int
    line: int


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """A criteria file that was read: its well-formed rows, and what is wrong with the others.

    Problems are kept, not raised, so that `compile` can tell them together with its own; `broken`
    are the rows that have some, by their places.
    """

    source: Source
    name: str
    version: int | str
    rows: tuple[Row, ...]
    problems: tuple[Finding, ...]
    broken: tuple[tuple[int, Any], ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def suite(self) -> Suite:
        """The suite; SuiteError lists every problem of its shape."""
        raise_errors(self.problems)
        criteria = tuple(row.criterion for row in self.rows)
        return Suite(suite=self.name, version=self.version, tools=self.tools, criteria=criteria)

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """All rows in file order; SuiteError lists every problem of their shape."""
        return self.suite.criteria


def load(file: str | Path) -> SuiteFile:
    """Read a criteria file; SuiteError where it is no YAML, or no suite at all.

    What the history beside a living suite names and the suite has lost is one of its problems.
    """
    found = from_source(read(file))
    raws = enumerate(found.source.value["criteria"])
    statuses = {row_id(raw, at): isinstance(raw, dict) and raw.get("status") for at, raw in raws}
    return replace(found, problems=(*found.problems, *breaches(str(file), statuses)))


def from_source(source: Source) -> SuiteFile:
    """Return the rows of a parsed criteria file."""
    value = source.value
    if not isinstance(value, dict) or not isinstance(value.get("criteria"), list):
        raise SuiteError(
            f"{source.file}: a suite must be a mapping with suite, version and criteria "
            f"(a list of rows){_hint(value)}"
        )
    problems = [
        Finding("error", None, line, key, "stands twice in one mapping", source.file)
        for line, key in source.doubled
    ]
    rows: list[Row] = []
    broken: list[tuple[int, Any]] = []
    for at, raw in enumerate(value["criteria"]):
        row = _row(source, at, raw, problems)
        if row is None:
            broken.append((at, raw))
        else:
            rows.append(row)
    head = _head(source, value, problems)
    problems += _duplicates(source, value["criteria"])
    return SuiteFile(
        source=source,
        name=head.suite,
        version=head.version,
        rows=tuple(rows),
        problems=tuple(problems),
        broken=tuple(broken),
        tools=head.tools,
    )


def from_suite(suite: Suite) -> SuiteFile:
    """Return a suite that was built in Python; its rows have no lines."""
    source = Source("", None)
    rows = tuple(Row(criterion, at, 0) for at, criterion in enumerate(suite.criteria))
    ids = [{"criterion_id": criterion.criterion_id} for criterion in suite.criteria]
    problems = tuple(_duplicates(source, ids))
    return SuiteFile(source, suite.suite, suite.version, rows, problems, tools=suite.tools)


def row_id(raw: Any, at: int) -> str:
    """Return what a row is called in messages: its id, or its place."""
    found = next((raw[key] for key in _IDS if key in raw), None) if isinstance(raw, dict) else None
    return found if isinstance(found, str) and found else f"criteria[{at}]"


def _row(source: Source, at: int, raw: Any, problems: list[Finding]) -> Row | None:
    try:
        criterion = Criterion.model_validate(raw)
    except ValidationError as error:
        above = ("criteria", at)
        problems += from_validation(error, Criterion, source, above, row_id(raw, at))
        return None
    return Row(criterion, at, source.line("criteria", at))


def _head(source: Source, value: dict[str, Any], problems: list[Finding]) -> Suite:
    try:
        return Suite.model_validate({**value, "criteria": ()})
    except ValidationError as error:
        problems += from_validation(error, Suite, source, (), None)
        return Suite(suite=Path(source.file).stem or "suite", criteria=())


def _duplicates(source: Source, raws: list[Any]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for at, raw in enumerate(raws):
        name = row_id(raw, at)
        if name in first:
            line = source.line("criteria", first[name])
            where = f"the row at line {line}" if line else "an earlier row"
            text = f"'{name}' is taken by {where}; ids are unique: delete one of the two"
            line = source.line("criteria", at)
            yield Finding("error", name, line, "criterion_id", text, source.file)
        else:
            first[name] = at


def _hint(value: Any) -> str:
    if isinstance(value, list):
        return " (got a list: put it under `criteria:`)"
    if isinstance(value, dict):
        keys = known_keys(Suite)
        near = [f"'{key}'{did_you_mean(str(key), keys)}" for key in value if key not in keys]
        return f" (got the keys {', '.join(near)})" if near else " (criteria is missing or no list)"
    return f" (got {'nothing' if value is None else type(value).__name__})"
