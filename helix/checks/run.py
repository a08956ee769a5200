"""Running one compiled row's check: what goes wrong inside it becomes an abstention."""

from __future__ import annotations

import traceback
from pathlib import PurePath
from typing import Any, Protocol

from helix.model.lines import portable
from helix.model.trace import Trace
from helix.redaction import redacted
from helix.registry import Check, CheckContext, Decision


class Row(Protocol):
    """What is needed of a compiled row: its check and the parsed parameters."""

    @property
    def check(self) -> Check | None: ...

    @property
    def params(self) -> Any: ...


def decide(row: Row, trace: Trace, context: CheckContext) -> Decision:
    """Return what the row's check says of a trace; an exception is uncertain, cause check-error.

    So is an answer that no check may give: something other than a Decision, a pass or fail
    without a ref, anything without a reason, which is the critique (METHOD 3, 4, 28).
    """
    if row.check is None:
        raise ValueError("decide needs a row with a check (got a judge row)")
    try:
        decision = row.check.decide(trace, row.params, context)
    except (Exception, SystemExit) as error:
        return _broken(row.check, f"{_told(error)} at {_place(error)}")
    fault = _fault(decision)
    return _broken(row.check, fault) if fault else decision


def _fault(decision: Any) -> str | None:
    if not isinstance(decision, Decision):
        return f"returned {type(decision).__name__}; it must return a helix.checks.Decision"
    if decision.state in ("pass", "fail") and not decision.refs:
        return f"said {decision.state} without a ref; cite what decided it (helix.checks.cite)"
    if not decision.detail.strip():
        return f"said {decision.state} without a reason"
    return None


def _broken(check: Check, what: str) -> Decision:
    return Decision("uncertain", f"check {check.name}: {what}", cause="check-error")


def _told(error: BaseException) -> str:
    message = portable(redacted(str(error)))
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _place(error: BaseException) -> str:
    """Return file name and line of the innermost frame; the name alone, as verdicts travel."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    return f"{PurePath(last.filename).name}:{last.lineno}"
