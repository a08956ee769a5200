"""From gate to exit code: the one function that decides both the word and the number."""

from __future__ import annotations

from helix.errors import ExitCode
from helix.model.scorecard import GateState

_CODES: dict[GateState, ExitCode] = {
    "pass": ExitCode.PASS,
    "fail": ExitCode.FAIL,
    "incomplete": ExitCode.INCOMPLETE,
}


def exit_code(gate: GateState, *, advisory: bool = False, pending: int = 0) -> ExitCode:
    """Return the code of a finished run; waiting for dispatched verdicts outranks incomplete.

    `advisory` turns fail and incomplete into 0, and nothing else.
    """
    if pending and gate != "fail":
        return ExitCode.WAITING
    return ExitCode.PASS if advisory else _CODES[gate]
