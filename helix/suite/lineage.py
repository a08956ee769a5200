"""The history beside a living suite: its lines, and what a suite breaks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from helix.errors import SuiteError
from helix.model.history import HISTORY_SCHEMA_VERSION, Change
from helix.model.lines import decode_line
from helix.suite.problems import Finding
from helix.suite.source import marker_line, read_text

_SUITE, _HISTORY = ".suite.yaml", ".history.jsonl"
History = Sequence[tuple[int, Change]]


def history_path(suite: str | Path) -> Path:
    """Return where the history of a suite lies, which only a living suite has."""
    path = Path(suite)
    return path.with_name(path.name.removesuffix(_SUITE) + _HISTORY)


def read_history(path: Path) -> History:
    """Return the changes with their lines, none without a file; SuiteError for a bad line."""
    if not path.is_file():
        return []
    text = read_text(path)
    if at := marker_line(text):
        raise SuiteError(f"{path}:{at}: a merge conflict is left: keep the lines of both sides")
    lines = enumerate(text.split("\n"), 1)
    return [(at, _change(path, at, line)) for at, line in lines if line.strip()]


def breaches(suite: str, statuses: Mapping[str, object]) -> Iterator[Finding]:
    """Yield an error for each id of the history that the suite has lost or woken (METHOD 57).

    `statuses` are those of the suite's rows by their ids.
    """
    if not Path(suite).name.endswith(_SUITE):
        return
    path, told = history_path(suite), set()
    for at, change in read_history(path):
        name = change.criterion_id
        if name not in statuses:
            text = (
                f"was {change.event} and is lost: {suite} has no row of this id; put it back from "
                "git, and retire it where it is done with"
            )
        elif change.event == "retired" and statuses[name] != "retired":
            text = f"was retired and is active in {suite}: a tombstone stays one"
        else:
            continue
        if name not in told:
            told.add(name)
            yield Finding("error", name, at, None, text, str(path))


def _change(path: Path, at: int, line: str) -> Change:
    try:
        change = decode_line(line.encode("utf-8", "surrogatepass"), Change)
    except ValueError as error:
        raise SuiteError(f"{path}:{at}: the line is no change of a criterion: {error}") from None
    if change.schema_version.partition(".")[0] != HISTORY_SCHEMA_VERSION.partition(".")[0]:
        raise SuiteError(
            f"{path}:{at}: schemaVersion must be {HISTORY_SCHEMA_VERSION} "
            f"(got {change.schema_version})"
        )
    return change
