"""The words, symbols and next actions that every report uses for states and causes.

A state is never told by colour alone: it has a word, a symbol and a plain-text twin.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    # Every message to a terminal needs this module, and few need the shapes of verdicts.
    from helix.model.verdict import BlockKind, Cause

Standing = Literal["fail", "incomplete", "uncertain", "pass", "na"]
"""How a cell stands: its state, where `incomplete` is an uncertain cell nobody adjudicated."""

WORST_FIRST: Final[tuple[Standing, ...]] = ("fail", "incomplete", "uncertain", "pass", "na")
NOT_RECORDED: Final = "not recorded"
WIDTH: Final = 80
NARROWEST: Final = 40
LEAST_BESIDE: Final = 20
"""The fewest columns of text that are put beside other cells."""
SYMBOLS: Final[dict[str, str]] = {
    "fail": "✕",
    "incomplete": "◌",
    "uncertain": "?",
    "pass": "✓",
    "na": "–",
}
ASCII_SYMBOLS: Final[dict[str, str]] = {
    "fail": "x",
    "incomplete": "o",
    "uncertain": "?",
    "pass": "+",
    "na": "-",
}
_TYPOGRAPHY: Final = str.maketrans(
    {"“": '"', "”": '"', "’": "'", "–": "-", "—": "-", "…": "...", "·": "|", "→": "->", "×": "x"}
)
MEANINGS: Final[dict[Standing, str]] = {
    "fail": "the evidence shows that the criterion does not hold",
    "incomplete": "nobody adjudicated it, so nothing is known",
    "uncertain": "it was looked at, and the trace cannot decide it",
    "pass": "the evidence shows that the criterion holds",
    "na": "shown not to apply to this trace",
}
ACTIONS: Final[dict[Cause, str]] = {
    "unbound-term": "re-ground: point the term at something in this trace",
    "leap": "ratify the missing premise, or cite what grounds it",
    "dead-ref": "re-ground: cite text that stands where the ref points",
    "missing-field": "correct the path, or record the field",
    "ambiguous-order": "record times or a sequence, then run again",
    "unknown-tool": "declare the tool in subject.tools, or correct its name",
    "unresolved-route": "declare the route in subject.routes or subject.route_field",
    "unread": "raise judge.context_tokens, or narrow judgeInputs",
    "not-decidable": "check by hand, narrow the criterion, or retire it",
    "truncated": "capture the trace again, whole",
    "judge-error": "run again",
    "check-error": "mend the check, then run again",
    "refusal": "check by hand, or choose another judge",
    "timeout": "run again, or raise limits.unit_s",
    "budget": "raise the budget under limits, then run again",
    "malformed": "run again with cache.refresh=unusable",
    "unavailable": "choose a judge that can answer, then run again",
    "flapping": "check by hand: repeats disagree",
}
UNBLOCK: Final[dict[BlockKind, str]] = {
    "factual-intent": "re-ground it from the trace",
    "normative": "the operator ratifies a norm",
    "scope": "narrow it, retire it, or check by hand",
}
MATCHES: Final[dict[str, str]] = {
    "exact": "found there, the whole field",
    "contains": "found there, inside the field",
    "weak": "weak: too short or too common to prove much",
    "scan": "shown by a complete scan",
    "dead": "not found",
}
VERIFIED: Final[dict[str, str]] = {
    "notInScope": "not in its scope",
    "confirmed": "confirmed, the evidence entails it",
    "downgraded": "downgraded, the evidence does not entail it",
    "failed": "could not answer",
}


def next_action(cause: Cause | None, kind: BlockKind | None = None) -> str:
    """Return what would decide the cell: by its cause, else by who can unblock it (METHOD 9)."""
    if cause is not None:
        return ACTIONS[cause]
    return UNBLOCK[kind] if kind is not None else "check by hand"


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: `1 trace`, `1,200 traces`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def in_ascii(text: str) -> str:
    """Return the text in ASCII: signs of typography as their plain twins, the rest escaped."""
    return text.translate(_TYPOGRAPHY).encode("ascii", "backslashreplace").decode("ascii")


def columns(rows: Iterable[Sequence[str]], numbers: Container[int] = ()) -> list[str]:
    """Return the lines of rows, cells below each other; those at `numbers` stand to the right.

    All rows have the same number of cells. The last cell goes on below itself where the terminal
    ends, or below its row where too little room is left beside it.
    """
    held = list(rows)
    widths = [max(map(len, column)) for column in zip(*held, strict=True)]
    return [line for row in held for line in _lines(_padded(row, widths, numbers))]


def _padded(row: Sequence[str], widths: Sequence[int], numbers: Container[int]) -> list[str]:
    return [
        cell.rjust(width) if at in numbers else cell.ljust(width)
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _lines(cells: Sequence[str]) -> list[str]:
    whole = "  ".join(cells).rstrip()
    if len(whole) <= width():
        return [whole]
    *before, last = cells
    head = "  ".join([*before, ""])
    if width() - len(head) < LEAST_BESIDE:
        return [head.rstrip(), *wrapped(last, "    ")]
    first, *rest = wrapped(last, hang="", columns=width() - len(head))
    return [head + first, *(" " * len(head) + line for line in rest)]


def width() -> int:
    """Return how many columns a line may take: those of the terminal, but at most 80."""
    return max(min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns), NARROWEST)


def wrapped(text: str, indent: str = "", hang: str = "  ", columns: int = 0) -> list[str]:
    """Return the lines of a sentence on a terminal; names and paths are never broken."""
    return textwrap.wrap(
        text,
        columns or width(),
        initial_indent=indent,
        subsequent_indent=indent + hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def money(micro_usd: int | None) -> str:
    """Return a cost in US dollars, or that none was recorded (METHOD 86)."""
    if micro_usd is None:
        return NOT_RECORDED
    whole, rest = divmod(micro_usd, 1_000_000)
    digits = f"{rest:06d}"
    return f"${whole:,}.{digits[:2]}{digits[2:].rstrip('0')}"


def duration(seconds: float | None) -> str:
    """Return a time span in words, or that none was recorded."""
    if seconds is None:
        return NOT_RECORDED
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def recorded(value: object) -> str:
    """Return a value as text, or that it was not recorded."""
    return NOT_RECORDED if value is None or value == "" else str(value)
