"""The states of a criterion in calibration, and every transition that there is (METHOD 63)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from helix.errors import UsageError
from helix.model.calibration import Action, Entry, State

_WAITS: Final[dict[Action, State]] = {
    "re-ground": "waiting",
    "ratify": "waiting",
    "re-scope": "waiting",
}
_AGAIN: Final[dict[Action, State]] = {"eliminate": "waiting", "withdraw": "waiting"}
_ENDS: Final[dict[Action, State]] = {"verify": "graduated", "retire": "retired"}
TABLE: Final[dict[State | None, dict[Action, State]]] = {
    None: {"found": "uncertain"},
    "uncertain": {"found": "uncertain", "settled": "decided", **_WAITS, **_AGAIN, **_ENDS},
    "waiting": {"found": "uncertain", "settled": "decided", **_WAITS, **_AGAIN, **_ENDS},
    "decided": {"found": "uncertain", **_AGAIN, **_ENDS},
    "graduated": {"found": "uncertain", **_AGAIN, **_ENDS},
    "retired": {},
}
"""State before (None: never found undecided) → action → state after; nothing else is possible."""

BY_CODE: Final[tuple[Action, ...]] = ("found", "settled")
ACTIONS: Final[tuple[Action, ...]] = tuple(a for a in get_args(Action) if a not in BY_CODE)
_NEEDS: Final[dict[Action, tuple[str, ...]]] = {
    "found": ("run", "kinds"),
    "settled": ("run",),
    "re-ground": ("fields",),
    "ratify": ("text",),
    "re-scope": ("fields",),
    "eliminate": ("text",),
    "withdraw": ("premise",),
}


class CalibrationError(UsageError):
    """A transition that the table does not have, or an entry that does not say what it must."""


def step(states: Mapping[str, State], entry: Entry) -> dict[str, State]:
    """Return the states after an entry; CalibrationError for what the table does not have."""
    before = states.get(entry.criterion_id)
    after = TABLE[before].get(entry.action)
    if after is None:
        may = ", ".join(TABLE[before]) or "nothing: it is retired"
        stands = f"is {before}" if before else "was not found undecided by any run yet"
        raise CalibrationError(
            f"'{entry.criterion_id}' {stands}, and cannot {entry.action} (possible: {may})"
        )
    _check(entry)
    return {**states, entry.criterion_id: after}


def replay(entries: Iterable[Entry]) -> dict[str, State]:
    """Return the state of every criterion of a log.

    CalibrationError names an entry that cannot be, as a log may hold that git merged from two.
    """
    states: dict[str, State] = {}
    for at, entry in enumerate(entries, 1):
        try:
            states = step(states, entry)
        except CalibrationError as error:
            raise CalibrationError(f"entry {at} of the calibration log: {error}") from None
    return states


def _check(entry: Entry) -> None:
    wanted = _NEEDS.get(entry.action, ())
    if entry.action == "verify" and entry.text is None:
        wanted = ("result", "trace_id")
    if entry.action not in BY_CODE:
        wanted = ("by", "why", *wanted)
    missing = [name for name in wanted if not _given(getattr(entry, name))]
    if missing:
        raise CalibrationError(f"{entry.action} must say {', '.join(missing)} (got none)")


def _given(value: object) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)
