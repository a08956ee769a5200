"""What a source recorded becomes labels: keys by rule, values by what the user says they mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import ValidationError

from helix.errors import UsageError
from helix.labels.files import Problem, Row, wrong
from helix.labels.record import WORDS, Cell, Label, Word, one_of, short, spelled

Found = Mapping[str, Any]

SKIP: Final = "skip"
# A verdict's word for a cell that the trace does not decide, and for one that does not apply.
_VERDICTS: Final[dict[str, Word | Literal["skip"]]] = {"uncertain": "cannot-decide", "na": "skip"}


@dataclass(frozen=True, slots=True)
class Rules:
    """How what a source recorded is read.

    `maps` are KEY=CRITERION and `values` VALUE=LABEL or KEY:VALUE=LABEL, as typed; `rater` is who
    said it where the source does not tell; `include` are kinds of raters that are taken although
    they are no people; `absent` is the label of a mapped criterion on a trace that the source
    speaks of without it; with `known_only`, labels of traces that are not `known` are left out.
    """

    maps: Sequence[str]
    values: Sequence[str] = ()
    rater: str | None = None
    include: Collection[str] = ()
    absent: Word | None = None
    known: Collection[str] | None = None
    known_only: bool = False


@dataclass(slots=True)
class Imported:
    """The labels that were found, the problems, and what was left out, counted by its reason."""

    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unmapped: Counter[str] = field(default_factory=Counter)
    unread: list[Problem] = field(default_factory=list)


def take(file: str, found: Iterable[Found], rules: Rules) -> Imported:
    """Return what a source's records say under the rules; problems name `file` and the row."""
    return _Import(file, rules).run(found)


def joined(rows: Sequence[Row], kept: Sequence[Row]) -> tuple[list[Row], int]:
    """Return kept rows and the new ones, and how many of these said what was already there."""
    said = {(row.label.cell, row.label.rater, row.label.label) for row in kept}
    new = [r for r in rows if (r.label.cell, r.label.rater, r.label.label) not in said]
    return [*kept, *new], len(rows) - len(new)


class _Import:
    """One import: its rules as functions, and what it has found so far."""

    def __init__(self, file: str, rules: Rules) -> None:
        self._file, self._rules = file, rules
        self._maps = [_map(text) for text in rules.maps]
        self._values = dict(_value(text) for text in rules.values)
        self._seen: dict[tuple[Cell, str], tuple[int, str]] = {}
        self._spoken_of: dict[str, Found] = {}
        self._puzzling: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], tuple[Found, Any]] = {}
        self.done = Imported()

    def run(self, found: Iterable[Found]) -> Imported:
        for record in found:
            if "unread" in record:
                self.done.unread.append(self._problem(record, str(record["unread"])))
            else:
                self._take(record)
        if self._rules.absent is not None:
            self._fill(self._rules.absent)
        for (key, token), (record, value) in self._first.items():
            more = self._puzzling[key, token] - 1
            text = (
                f"{key or 'its label'} must be {one_of(WORDS)} (got {short(value)}"
                f"{f', and in {more:,} more' if more else ''}); say what it means with "
                f"--value '{token}=LABEL'"
            )
            self.done.problems.append(self._problem(record, text))
        return self.done

    def _take(self, record: Found) -> None:
        by = record.get("by")
        if record.get("human") is False and by not in self._rules.include:
            self.done.left_out[f"given by {by or 'nobody knows whom'}, not by a person"] += 1
            return
        trace, key = record.get("trace"), record.get("key") or ""
        if not trace:
            self.done.left_out["about no trace"] += 1
            return
        if self._strange(trace):
            self.done.left_out["about a trace that is not among --traces"] += 1
            return
        self._spoken_of.setdefault(trace, record)
        criteria = [name for match in self._maps if (name := match(key)) is not None]
        if not criteria:
            self.done.unmapped[key] += 1
        for criterion in dict.fromkeys(criteria):
            self._label(record, trace, criterion, key)

    def _label(self, record: Found, trace: str, criterion: str, key: str) -> None:
        word = self._word(key, record.get("value"))
        if word == SKIP:
            self.done.left_out["said not to apply"] += 1
        elif word is None:
            self._unclear(record, trace, key)
        else:
            self._add(record, trace, criterion, key, word)

    def _add(self, record: Found, trace: str, criterion: str, key: str, word: str) -> None:
        rater = record.get("rater") or self._rules.rater
        if not rater:
            text = "no rater is recorded: say whose label it is with --rater NAME"
            self.done.problems.append(self._problem(record, text))
            return
        given = {name: record[name] for name in ("refs", "note", "when") if record.get(name)}
        try:
            label = Label.model_validate(
                {"trace": trace, "criterion": criterion, "label": word, "rater": rater, **given}
            )
        except ValidationError as error:
            self.done.problems += [self._problem(record, text) for text in wrong(error)]
            return
        at, before = self._seen.get((label.cell, rater), (None, None))
        if at is not None and before != key and self.done.rows[at].label.label == word:
            self.done.rows[at] = _with_note(self.done.rows[at], label.note)
            self.done.left_out["said already under another key"] += 1
            return
        self._seen.setdefault((label.cell, rater), (len(self.done.rows), key))
        self.done.rows.append(Row(label, *self._place(record)))

    def _fill(self, word: Word) -> None:
        labelled = {row.label.cell for row in self.done.rows}
        exact = [rule.rpartition("=") for rule in self._rules.maps if "*" not in rule]
        for trace, record in self._spoken_of.items():
            for key, _, criterion in exact:
                if Cell(trace, criterion) not in labelled:
                    bare = {k: record[k] for k in ("file", "row", "rater") if k in record}
                    self._add(bare, trace, criterion, key, word)

    def _word(self, key: str, value: Any) -> str | None:
        token = _token(value)
        said = self._values.get(spelled(f"{key}:{token}")) or self._values.get(token)
        return said or (token if token in WORDS else _VERDICTS.get(token))

    def _unclear(self, record: Found, trace: str, key: str) -> None:
        """Note a value that is no label; one that means nothing yet is told once, and counted."""
        value, what = record.get("value"), key or "its label"
        if value is None:
            text = f"{trace} has no label ({what} holds nothing)"
            self.done.problems.append(self._problem(record, text))
            return
        token = _token(value)
        self._puzzling[key, token] += 1
        self._first.setdefault((key, token), (record, value))

    def _strange(self, trace: str) -> bool:
        known = self._rules.known
        return self._rules.known_only and known is not None and trace not in known

    def _place(self, record: Found) -> tuple[str, int]:
        return str(record.get("file") or self._file), int(record.get("row") or 0)

    def _problem(self, record: Found, text: str) -> Problem:
        return Problem(*self._place(record), text)


def _with_note(row: Row, note: str | None) -> Row:
    if not note or note in (row.label.note or ""):
        return row
    joint = "\n".join(filter(None, (row.label.note, note)))
    return Row(row.label.model_copy(update={"note": joint}), row.file, row.row)


def _map(text: str) -> Callable[[str], str | None]:
    """Return what a rule KEY=CRITERION makes of a key: a criterion, or None where it is another."""
    key, equals, criterion = text.rpartition("=")
    if not equals or not key or not criterion:
        raise UsageError(f"--map must be KEY=CRITERION (got '{text}')")
    if key.count("*") > 1 or criterion.count("*") > key.count("*"):
        raise UsageError(f"--map takes one * in KEY, and one in CRITERION for it (got '{text}')")
    head, star, tail = key.partition("*")

    def matched(given: str) -> str | None:
        if not star:
            return criterion if given == key else None
        fits = len(given) >= len(head) + len(tail)
        if not fits or not given.startswith(head) or not given.endswith(tail):
            return None
        return criterion.replace("*", given[len(head) : len(given) - len(tail)])

    return matched


def _value(text: str) -> tuple[str, str]:
    value, equals, label = text.rpartition("=")
    word = spelled(label)
    if not equals or not value or word not in (*WORDS, SKIP):
        choices = one_of((*WORDS, SKIP))
        raise UsageError(f"--value must be VALUE=LABEL with {choices} as LABEL (got '{text}')")
    return spelled(value), word


def _token(value: Any) -> str:
    """Return a value as it is written in a rule: true, 1, 0.5, null, good-answer."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(spelled(value if isinstance(value, str) else str(value)))


def keys(imported: Imported, most: int = 8) -> Iterator[str]:
    """Yield the keys that no rule named, the commonest first, each with its count."""
    for key, count in imported.unmapped.most_common(most):
        yield f"{key} ({count})"
